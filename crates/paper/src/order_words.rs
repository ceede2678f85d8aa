//! Describes order terms, and the reason why a grid created an order.

use market::{Market, Price};
use trading::{
    Attached, AttachedLeg, GridOrigin, GridTriggerKind, OrderType, OutsideRth, Terms, TimeInForce,
    plain_price,
};

/// Describes terms, such as `buy 200 700.HK, limit 305.2, for the day`.
pub(crate) fn in_words(terms: &Terms) -> String {
    let side = if terms.side.is_buy() { "buy" } else { "sell" };
    let price =
        |price: Option<Price>| price.map_or_else(|| "?".to_owned(), |price| plain_price(price).to_string());
    let (limit, trigger) = (price(terms.price), price(terms.trigger_price));
    let offset = terms.limit_offset.map(|offset| format!(", limit {} beyond the stop", plain_price(offset)));
    let offset = offset.unwrap_or_default();
    let kind = match terms.order_type {
        OrderType::Limit => format!("limit {limit}"),
        OrderType::EnhancedLimit => format!("enhanced limit {limit}"),
        OrderType::Market => "at the market".to_owned(),
        OrderType::Auction => "in the auction".to_owned(),
        OrderType::AuctionLimit => format!("in the auction, limit {limit}"),
        OrderType::OddLot => format!("odd lot, limit {limit}"),
        OrderType::SpecialLimit => format!("special limit {limit}"),
        OrderType::LimitIfTouched => format!("limit {limit} once {trigger} is touched"),
        OrderType::MarketIfTouched => format!("at the market once {trigger} is touched"),
        OrderType::TrailingMarketAmount => {
            format!("trailing by {}, then at the market", price(terms.trailing_amount))
        }
        OrderType::TrailingMarketPercent => {
            let percent = terms.trailing_percent.map(|percent| percent.to_string()).unwrap_or_default();
            format!("trailing by {percent} %, then at the market")
        }
        OrderType::TrailingAmount => format!("trailing by {}{offset}", price(terms.trailing_amount)),
        OrderType::TrailingPercent => {
            let percent = terms.trailing_percent.map(|percent| percent.to_string()).unwrap_or_default();
            format!("trailing by {percent} %{offset}")
        }
    };
    let time = match (terms.time_in_force, terms.expire_date) {
        (TimeInForce::Day, _) => "for the day".to_owned(),
        (TimeInForce::GoodTilDate, Some(date)) => format!("until {date}"),
        _ => "until it is cancelled".to_owned(),
    };
    let lanes = match terms.outside_rth {
        Some(OutsideRth::AnyTime) => ", before and after regular hours too",
        Some(OutsideRth::Overnight) => ", overnight",
        Some(OutsideRth::RegularOnly) if terms.symbol.market() == Market::Us => ", in regular hours",
        _ => "",
    };
    format!("{side} {} {}, {kind}, {time}{lanes}", terms.quantity, terms.symbol)
}

pub(crate) fn leg(leg: AttachedLeg) -> &'static str {
    match leg {
        AttachedLeg::ProfitTaker => "take profit",
        AttachedLeg::StopLoss => "stop loss",
    }
}

/// Describes the attached orders of a submission, such as `attached: take profit at 310, stop loss
/// at 290`.
pub(crate) fn attached(attached: &Attached) -> String {
    let legs = AttachedLeg::ALL.iter().filter_map(|of| {
        let (trigger, limit) = attached.prices(*of);
        let limit = limit.map(|limit| format!(", limit {}", plain_price(limit))).unwrap_or_default();
        trigger.map(|trigger| format!("{} at {}{limit}", leg(*of), plain_price(trigger)))
    });
    format!("attached: {}", legs.collect::<Vec<_>>().join(", "))
}

/// Explains why a grid created an order. `seen` is the triggering candle and its prices.
pub(crate) fn because(origin: &GridOrigin, seen: Option<(String, String)>) -> Vec<String> {
    let way = way(origin.price, origin.base);
    let (price, base) = (plain_price(origin.price), plain_price(origin.base));
    let (candle, prices) = seen.unwrap_or_else(|| ("candle behind it".to_owned(), "its prices".to_owned()));
    match origin.kind {
        GridTriggerKind::Gap => vec![
            format!("the {candle} ({prices}) opened at the grid's level {way} the base {base}, or beyond it"),
            format!("so its open {price} is what triggered, and the base from then on"),
        ],
        GridTriggerKind::Level => vec![
            format!("the {candle} ({prices}) went to the grid's level {price}, {way} the base {base}"),
            format!("so {price} is the base from then on, whether or not this is filled"),
        ],
        GridTriggerKind::Close => {
            vec![format!("the price left the bound {price} of the grid: its position is closed")]
        }
    }
}

/// Returns whether a price is `above` or `below` the base.
pub(crate) fn way(price: Price, base: Price) -> &'static str {
    if price > base { "above" } else { "below" }
}
