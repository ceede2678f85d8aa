//! Order checks, in the sequence in which they run. Checks 1 to 9 examine the order, and a failure
//! refuses it without storing it. Checks 10 to 12 examine the account, and a failure stores the
//! order as rejected.

use market::{Date, Market, Price, Symbol};

use crate::account::Account;
use crate::command::Submit;
use crate::decimal::plain_price;
use crate::feed::Security;
use crate::figures::figures;
use crate::funds::{Demand, check_funds};
use crate::money::Money;
use crate::order::Order;
use crate::quantity::Quantity;
use crate::refusal::{Code, Refusal};
use crate::sessions::{Hours, Placement, place};
use crate::settings::Settings;
use crate::terms::Terms;
use crate::timers::option_end;
use crate::view::MarketView;
use crate::words::{Kind, OrderType, OutsideRth, TimeInForce};

/// Normalized terms that have passed checks 1 to 7.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    pub(crate) terms: Terms,
    pub(crate) security: Security,
    pub(crate) placement: Placement,
}

pub(crate) const NO_QUOTES: &str = "no quotes";
const NOT_TRADABLE: &str = "symbol not tradable";
const ORDER_TYPE: &str = "order type not support";
const TIME_IN_FORCE: &str = "time in force not support";
const TOO_LARGE: &str = "order too large";

const REMARK_MAX: usize = 255;
const DEPTH_MAX: i32 = 5;
const TRIGGER_COUNT_MAX: i32 = 3;
const LOTS_MAX: i64 = 3000;
const GOOD_TIL_DAYS_MAX: i32 = 366;
const DELAY_MAX: i64 = 90 * 86_400;

/// Runs checks 1 to 7 on an order that is being submitted, or whose delay has just ended.
pub(crate) fn admit(
    settings: &Settings,
    view: &MarketView<'_>,
    request: &Submit,
) -> Result<Admission, Refusal> {
    let requested = &request.terms;
    let security = check_symbol(view, &requested.symbol)?;
    check_type(request, security.kind)?;
    let terms = shaped(requested, security.kind);
    check_fields(&terms)?;
    let placement = check_times(view, &terms, requested.outside_rth, security.kind)?;
    // Use the lot and the ticks of the first day on which the order can trade.
    let security = view.security_on(&terms.symbol, placement.day).unwrap_or(security);
    check_quantity(settings, &terms, &security)?;
    check_ticks(view, &terms, security.kind, placement.day)?;
    Ok(Admission { terms, security, placement })
}

/// Check 1: the security can be traded. Returns the security.
pub(crate) fn check_symbol(view: &MarketView<'_>, symbol: &Symbol) -> Result<Security, Refusal> {
    let security = view.security(symbol);
    let has_ended = option_end(symbol, view.feed).is_some_and(|end| end <= view.at);
    let has_candles = || security.is_some() && view.mark(symbol).is_some();
    if symbol.is_us_option() && !has_ended && !has_candles() {
        return Err(Refusal::check(1, NO_QUOTES));
    }
    let is_traded = |security: &Security| security.kind != Kind::Index && !security.is_delisted && !has_ended;
    match security {
        Some(security) if symbol.market() != Market::Cn && is_traded(&security) => Ok(security),
        _ => Err(Refusal::check(1, NOT_TRADABLE)),
    }
}

/// Check 2: the order type is available for the security.
fn check_type(request: &Submit, kind: Kind) -> Result<(), Refusal> {
    use OrderType::*;
    let terms = &request.terms;
    let is_offered = match (terms.order_type, terms.symbol.market()) {
        (TrailingMarketAmount | TrailingMarketPercent, _) => request.takes_withdrawn && kind != Kind::Option,
        (Limit | Market | LimitIfTouched | MarketIfTouched | TrailingAmount | TrailingPercent, _) => true,
        (_, market) => market == market::Market::Hk,
    };
    if is_offered { Ok(()) } else { Err(Refusal::check(2, ORDER_TYPE)) }
}

/// Returns whether a submission has the same terms as an accepted order. `kind` is the kind of the
/// security. The comparison uses normalized terms, so ignored fields and explicit defaults make no
/// difference.
pub fn has_same_terms(requested: &Terms, accepted: &Terms, kind: Kind) -> bool {
    shaped(requested, kind) == *accepted
}

/// Normalizes terms: removes the fields that the order type ignores, and sets the lanes in which
/// the order can trade.
fn shaped(requested: &Terms, kind: Kind) -> Terms {
    let order_type = requested.order_type;
    let is_trailing = order_type.is_trailing();
    let only = |price: Option<Price>, has: bool| price.filter(|_| has);
    Terms {
        price: only(requested.price, order_type.has_limit()),
        trigger_price: only(requested.trigger_price, order_type.is_touch()),
        limit_offset: only(requested.limit_offset, order_type.trails_to_limit()),
        trailing_amount: only(requested.trailing_amount, order_type.trails_by_amount()),
        trailing_percent: requested.trailing_percent.filter(|_| order_type.trails_by_percent()),
        monitor_price: only(requested.monitor_price, is_trailing),
        expire_date: requested.expire_date.filter(|_| requested.time_in_force == TimeInForce::GoodTilDate),
        outside_rth: Some(lanes(requested, kind)),
        attached: requested.attached.as_ref().map(|attached| Box::new(attached.normalized())),
        ..requested.clone()
    }
}

fn lanes(requested: &Terms, kind: Kind) -> OutsideRth {
    let is_market = requested.order_type.is_market();
    match requested.outside_rth {
        _ if requested.symbol.market() != Market::Us => OutsideRth::NotApplicable,
        _ if kind == Kind::Option => OutsideRth::RegularOnly,
        // Market orders trade only in regular hours, so the stored terms state regular hours.
        Some(OutsideRth::AnyTime) if is_market => OutsideRth::RegularOnly,
        Some(OutsideRth::NotApplicable) | None => OutsideRth::RegularOnly,
        Some(requested) => requested,
    }
}

/// Check 3: the required fields of the order type are present, and all fields are in range.
pub(crate) fn check_fields(terms: &Terms) -> Result<(), Refusal> {
    let order_type = terms.order_type;
    let required = |field: &str| Refusal::check(3, format!("{field} required"));
    let positive = |field: &str| Refusal::check(3, format!("{field} must be above 0"));
    let needs = [
        ("submitted_price", order_type.has_limit(), terms.price.is_some()),
        ("trigger_price", order_type.is_touch(), terms.trigger_price.is_some()),
        ("trailing_amount", order_type.trails_by_amount(), terms.trailing_amount.is_some()),
        ("trailing_percent", order_type.trails_by_percent(), terms.trailing_percent.is_some()),
        (
            "limit_offset",
            order_type.trails_to_limit() && terms.depth_level == 0,
            terms.limit_offset.is_some(),
        ),
        ("expire_date", terms.time_in_force == TimeInForce::GoodTilDate, terms.expire_date.is_some()),
    ];
    if let Some((field, _, _)) = needs.iter().find(|(_, is_needed, is_there)| *is_needed && !is_there) {
        return Err(required(field));
    }
    let prices = [
        ("submitted_price", terms.price),
        ("trigger_price", terms.trigger_price),
        ("monitor_price", terms.monitor_price),
    ];
    if let Some((field, _)) = prices.iter().find(|(_, price)| price.is_some_and(|price| price.0 <= 0)) {
        return Err(positive(field));
    }
    if !terms.quantity.is_positive() {
        return Err(positive("submitted_quantity"));
    }
    let outside =
        |field: &str, from: i32, to: i32| Refusal::check(3, format!("{field} must be from {from} to {to}"));
    if !(-DEPTH_MAX..=DEPTH_MAX).contains(&terms.depth_level) {
        return Err(outside("limit_depth_level", -DEPTH_MAX, DEPTH_MAX));
    }
    if !(0..=TRIGGER_COUNT_MAX).contains(&terms.trigger_count) {
        return Err(outside("trigger_count", 0, TRIGGER_COUNT_MAX));
    }
    if terms.remark.chars().count() > REMARK_MAX {
        return Err(Refusal::check(3, format!("remark must have at most {REMARK_MAX} characters")));
    }
    Ok(())
}

/// Check 4: the time in force suits the order type and the lane, and the dates are valid. Returns
/// the order's placement in the calendar.
fn check_times(
    view: &MarketView<'_>,
    terms: &Terms,
    requested: Option<OutsideRth>,
    kind: Kind,
) -> Result<Placement, Refusal> {
    use OrderType::*;
    let wrong = |detail: String| Refusal::check(4, TIME_IN_FORCE).because(detail);
    let is_day = terms.time_in_force == TimeInForce::Day;
    if matches!(terms.order_type, Market | Auction | SpecialLimit | OddLot) && !is_day {
        return Err(wrong(format!("{} must be a day order", terms.order_type)));
    }
    let is_stock = terms.symbol.market() == market::Market::Us && kind != Kind::Option;
    match requested {
        Some(OutsideRth::Overnight) if is_stock && (terms.order_type != Limit || !is_day) => {
            return Err(wrong("overnight sessions accept only limit day orders".to_owned()));
        }
        Some(OutsideRth::OptionPreMarket) if is_stock => {
            return Err(wrong(format!("{} is for options", OutsideRth::OptionPreMarket)));
        }
        _ => {}
    }
    if kind == Kind::Option && terms.time_in_force == TimeInForce::GoodTilDate {
        return Err(wrong("option orders cannot be good until a date".to_owned()));
    }
    let starts_at = match terms.delayed_until {
        None => view.at,
        Some(at) if at > view.at && at.0.saturating_sub(view.at.0) <= DELAY_MAX => at,
        Some(_) => return Err(Refusal::check(4, "delayed_until must lie within the next 90 days")),
    };
    let venue = view.venue(terms.symbol.market());
    let no_day = || wrong("the calendar has no day on which the order could trade".to_owned());
    let placement = place(venue, hours(terms), starts_at).ok_or_else(no_day)?;
    if let Some(date) = terms.expire_date {
        let today = venue.zone().date(starts_at);
        let days = today.until(date).map_or(i32::MAX, |span| span.get_days());
        if date < placement.day {
            let first = placement.day;
            return Err(wrong(format!("it ends on {date}, and {first} is the first day it could trade on")));
        }
        if days > GOOD_TIL_DAYS_MAX {
            return Err(wrong(format!("{date} is more than {GOOD_TIL_DAYS_MAX} days after {today}")));
        }
    }
    Ok(placement)
}

pub(crate) fn hours(terms: &Terms) -> Hours {
    Hours {
        order_type: terms.order_type,
        outside_rth: terms.outside_rth.unwrap_or(OutsideRth::NotApplicable),
        time_in_force: terms.time_in_force,
        expire_date: terms.expire_date,
    }
}

/// Returns the step of which an order's quantity must be a multiple.
pub(crate) fn quantity_step(settings: &Settings, terms: &Terms, security: &Security) -> Quantity {
    let is_us = terms.symbol.market() == Market::Us;
    let takes_fractions = matches!(terms.order_type, OrderType::Limit | OrderType::Market)
        && terms.outside_rth.is_none_or(|lanes| lanes == OutsideRth::RegularOnly);
    match () {
        () if terms.order_type == OrderType::OddLot => Quantity::whole(1),
        () if is_us && security.kind != Kind::Option && settings.fractional && takes_fractions => {
            Quantity::SMALLEST
        }
        () if is_us => Quantity::whole(1),
        () => security.lot,
    }
}

/// Checks 5 and 6: the quantity is a multiple of the step, and the order does not exceed the
/// maximum size.
pub(crate) fn check_quantity(settings: &Settings, terms: &Terms, security: &Security) -> Result<(), Refusal> {
    let step = quantity_step(settings, terms, security);
    if terms.order_type == OrderType::OddLot {
        if !terms.quantity.is_multiple_of(step) || terms.quantity >= security.lot {
            return Err(Refusal::check(
                5,
                format!("quantity must be a multiple of 1 below {}", security.lot),
            ));
        }
    } else if !terms.quantity.is_multiple_of(step) {
        let text = format!("quantity must be a multiple of {step}");
        return Err(Refusal::check(5, text).with("lot", step, terms.quantity));
    }
    let most = security.lot.times(LOTS_MAX);
    if terms.symbol.market() == Market::Hk && terms.quantity > most {
        let lots = format!("{LOTS_MAX} lots of {}", security.lot);
        return Err(Refusal::check(6, TOO_LARGE).with(&lots, most, terms.quantity));
    }
    let price = terms.price.or(terms.trigger_price).unwrap_or_default();
    if Money::of(price, terms.quantity, security.multiplier()) > Money::INPUT_MAX {
        return Err(Refusal::check(6, TOO_LARGE));
    }
    Ok(())
}

/// Returns the maximum quantity of one order: [`LOTS_MAX`] lots in Hong Kong, and [`Quantity::MAX`]
/// elsewhere.
pub(crate) fn quantity_most(terms: &Terms, security: &Security) -> Quantity {
    if terms.symbol.market() == Market::Hk { security.lot.times(LOTS_MAX) } else { Quantity::MAX }
}

/// Check 7: all prices are multiples of the tick size.
pub(crate) fn check_ticks(
    view: &MarketView<'_>,
    terms: &Terms,
    kind: Kind,
    day: Date,
) -> Result<(), Refusal> {
    let ticks = view.ticks(&terms.symbol, kind, day);
    for price in [terms.price, terms.trigger_price, terms.monitor_price].into_iter().flatten() {
        if !ticks.holds(price) {
            let tick = plain_price(ticks.tick(price));
            let text = format!("price must be a multiple of {tick}");
            return Err(Refusal::check(7, text).with("tick", tick, plain_price(price)));
        }
    }
    let is_above = |amount: Option<i64>| amount.is_none_or(|amount| amount > 0);
    let wrong = |text: &str| Err(Refusal::check(7, text));
    if !is_above(terms.trailing_amount.map(|amount| amount.0)) {
        return wrong("trailing_amount must be above 0");
    }
    if !is_above(terms.trailing_percent.map(|percent| percent.units())) {
        return wrong("trailing_percent must be above 0");
    }
    if terms.limit_offset.is_some_and(|offset| offset.0 < 0) {
        return wrong("limit_offset must not be below 0");
    }
    Ok(())
}

/// Checks 8 and 9: a Hong Kong limit price is between a ninth and nine times the mark, and the
/// trigger price differs from the mark. Without a mark, only order types that do not need one pass.
pub(crate) fn check_mark(terms: &Terms, mark: Option<Price>) -> Result<(), Refusal> {
    let Some(mark) = mark else {
        let needs = terms.order_type.needs_mark();
        return if needs { Err(Refusal::check(9, NO_QUOTES)) } else { Ok(()) };
    };
    if let (Some(limit), Market::Hk) = (terms.price, terms.symbol.market()) {
        let (price, mark_units) = (i128::from(limit.0), i128::from(mark.0));
        if price >= 9 * mark_units || price * 9 <= mark_units {
            let refusal = Refusal::check(8, format!("price too far from {}", plain_price(mark)));
            return Err(refusal.with(
                "a ninth to nine times the mark",
                plain_price(mark),
                plain_price(limit),
            ));
        }
    }
    if terms.trigger_price == Some(mark) {
        return Err(Refusal::check(9, format!("trigger_price must differ from {}", plain_price(mark))));
    }
    Ok(())
}

/// How an order failed: refused and not stored, or stored and rejected.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    Refused(Refusal),
    Rejected(Refusal),
}

impl Failure {
    pub(crate) fn into_refusal(self) -> Refusal {
        match self {
            Failure::Refused(refusal) | Failure::Rejected(refusal) => refusal,
        }
    }
}

/// Converts a failed account check. If a missing exchange rate prevents the check, the order is
/// refused instead of rejected.
fn failed(refusal: Refusal) -> Failure {
    if refusal.check.is_some() { Failure::Rejected(refusal) } else { Failure::Refused(refusal) }
}

pub(crate) const HOLDINGS: &str = "insufficient holdings";

/// Runs checks 10 to 12 on the remaining quantity of an order at its reserve price. An open order's
/// own reserve is not deducted.
pub(crate) fn check_account(
    account: &Account,
    view: &MarketView<'_>,
    order: &Order,
    price: Price,
) -> Result<(), Failure> {
    let quantity = order.remaining();
    let demand = Demand { order, quantity, price };
    if order.terms.side.is_buy() {
        check_funds(account, view, demand).map_err(failed)?;
    } else {
        check_holdings(account, view, demand)?;
    }
    check_risk(account, view, order, quantity).map_err(failed)
}

fn check_holdings(account: &Account, view: &MarketView<'_>, demand: Demand<'_>) -> Result<(), Failure> {
    let Demand { order, quantity, .. } = demand;
    let symbol = order.symbol();
    let short_of = |available: Quantity| Refusal::check(11, HOLDINGS).with("holdings", quantity, available);
    if account.held(symbol).is_positive() {
        let available = account.available_quantity(symbol, Some(order.id));
        return if quantity <= available { Ok(()) } else { Err(Failure::Rejected(short_of(available))) };
    }
    if order.facts.kind == Kind::Option {
        return Err(Failure::Rejected(short_of(Quantity::ZERO)));
    }
    if !account.settings.may_short(symbol.market()) {
        return Err(Failure::Refused(short_of(Quantity::ZERO).coded(Code::ShortSale)));
    }
    check_funds(account, view, demand).map_err(failed)
}

/// Check 12: an order must not open or increase a position while the account's risk level is 2 or
/// 3.
fn check_risk(
    account: &Account,
    view: &MarketView<'_>,
    order: &Order,
    quantity: Quantity,
) -> Result<(), Refusal> {
    let held = account.held(order.symbol());
    let is_smaller = if order.terms.side.is_buy() {
        held + quantity <= Quantity::ZERO
    } else {
        held - quantity >= Quantity::ZERO
    };
    let owes = account.currencies().any(|(_, cash)| cash.is_negative());
    let is_short = account.positions().any(|(_, position)| position.quantity.is_negative());
    if is_smaller || !(owes || is_short) {
        return Ok(());
    }
    match figures(account, view)?.risk_level() {
        level @ (2 | 3) => Err(Refusal::check(12, "margin").with("risk level", 1, level)),
        _ => Ok(()),
    }
}
