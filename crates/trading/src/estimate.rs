//! Estimates the maximum quantity that could be bought or sold now.

use market::{Price, Symbol};

use crate::account::Account;
use crate::checks::{NO_QUOTES, check_symbol, hours, quantity_most, quantity_step};
use crate::event::AcceptedOrder;
use crate::fold::new_order;
use crate::funds::{Demand, check_cash, check_funds, largest};
use crate::matching::market_reserve;
use crate::order::{Facts, OrderId, Standing};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::sessions::{Auction, Placement, place};
use crate::terms::Terms;
use crate::view::MarketView;
use crate::words::{Kind, OrderStatus, OrderType, Side};

/// Parameters of an estimate.
#[derive(Clone, Debug)]
pub struct EstimateQuery {
    pub symbol: Symbol,
    pub side: Side,
    pub order_type: OrderType,
    /// Limit price. Defaults to the current mark, and is ignored for a market order.
    pub price: Option<Price>,
    /// An order to be replaced, whose reserve is not deducted.
    pub order: Option<OrderId>,
    pub fractional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    pub cash_max: Quantity,
    pub margin_max: Quantity,
}

pub fn estimate(
    account: &Account,
    view: &MarketView<'_>,
    query: &EstimateQuery,
) -> Result<Estimate, Refusal> {
    let EstimateQuery { symbol, side, order_type, .. } = query;
    let security = check_symbol(view, symbol)?;
    if query.order.is_some_and(|id| account.order(id).is_none()) {
        return Err(Refusal::plain("order not found"));
    }
    let terms =
        Terms { price: query.price, ..Terms::new(symbol.clone(), *side, *order_type, Quantity::ZERO) };
    // Like the order checks, use the lot, ticks and fees of the first day on which an order could
    // trade.
    let placed = place(view.venue(symbol.market()), hours(&terms), view.at);
    let day = placed.map_or_else(|| view.date(symbol.market()), |placement| placement.day);
    let security = view.security_on(symbol, day).unwrap_or(security);
    let ticks = view.ticks(symbol, security.kind, day);
    let price = match query.price {
        Some(price) if price.0 <= 0 => return Err(Refusal::plain("price must be above 0")),
        Some(price) if !order_type.is_market() => price,
        _ => {
            let mark = view.mark(symbol).ok_or_else(|| Refusal::plain(NO_QUOTES))?;
            let is_limit = order_type.has_limit();
            if is_limit { mark } else { market_reserve(mark, account.settings.market_reserve, ticks) }
        }
    };
    let placement = Placement { day, reports_at: view.at, expires_at: None, auction: None::<Auction> };
    let standing = Standing { status: OrderStatus::New, placement, reserve_price: Some(price), watch: None };
    let id = query.order.unwrap_or_else(|| account.next_order());
    let facts = Facts::of(&security);
    let accepted = AcceptedOrder {
        id,
        sequence: 0,
        terms,
        facts,
        standing,
        by_engine: false,
        is_forced: false,
        grid: None,
        attached: None,
    };
    let order = new_order(&accepted, view.at);
    let mut settings = account.settings.clone();
    settings.fractional &= query.fractional;
    let step = quantity_step(&settings, &order.terms, &security);
    let most = quantity_most(&order.terms, &security);
    let demand = |quantity: Quantity| Demand { order: &order, quantity, price };
    if side.is_buy() {
        return Ok(Estimate {
            cash_max: largest(step, most, |quantity| check_cash(account, view, demand(quantity))),
            margin_max: largest(step, most, |quantity| check_funds(account, view, demand(quantity))),
        });
    }
    let available = account.available_quantity(symbol, query.order).or_zero().min(most);
    let may_short = account.settings.may_short(symbol.market()) && security.kind != Kind::Option;
    let margin_max = if account.held(symbol).is_positive() || !may_short {
        available
    } else {
        largest(step, most, |quantity| check_funds(account, view, demand(quantity)))
    };
    Ok(Estimate { cash_max: available, margin_max })
}
