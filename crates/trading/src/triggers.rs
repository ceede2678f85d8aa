//! Decides when conditional orders are released. A candle triggers an order only if every price
//! path within the candle reaches the trigger. Prices after the trigger within the same candle are
//! unknown and are not used.

use market::{Price, Timestamp};

use crate::account::Account;
use crate::attached::make_way;
use crate::checks::{Failure, check_account};
use crate::event::{Bar, Event, Release, Trigger};
use crate::feed::EffectiveCandle;
use crate::matching::{Stop, depth_price, market_reserve};
use crate::order::{Direction, Order, OrderId, Watch};
use crate::refusal::Refusal;
use crate::terms::Terms;
use crate::view::MarketView;
use crate::words::{AttachedLeg, OrderStatus, OrderType, Side};
use crate::work::Work;

/// Effect of a candle on a conditional order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Observation {
    /// Initial best price, if a trailing order started to track the best price in this candle.
    pub(crate) began: Option<Price>,
    /// Best price after the candle if it changed, or the best price at the release.
    pub(crate) best: Option<Price>,
    pub(crate) released: Option<Trigger>,
}

pub(crate) fn look(order: &Order, effective: &EffectiveCandle) -> Observation {
    match order.standing.watch {
        None => Observation::default(),
        Some(Watch::Touch(direction)) => touch(&order.terms, direction, effective),
        Some(Watch::Monitor(direction)) => monitor(&order.terms, direction, effective),
        Some(Watch::Trail(best)) => trail(&order.terms, best, effective, true),
    }
}

/// Returns how a candle triggers the stop loss beside a take profit. Returns `None` if it does not,
/// or if the order is not a take profit.
pub(crate) fn stop_beside(account: &Account, order: &Order, effective: &EffectiveCandle) -> Option<Trigger> {
    order.attached.filter(|attached| attached.leg == AttachedLeg::ProfitTaker)?;
    let stop = account.beside(order)?;
    let candle = &effective.candle;
    let watches = stop.status() == OrderStatus::VarietiesNotReported
        && stop.since.allows(candle.time)
        && stop.trades_in(candle.session);
    if watches { look(stop, effective).released } else { None }
}

fn is_beyond(direction: Direction, price: Price, level: Price) -> bool {
    match direction {
        Direction::Rise => price >= level,
        Direction::Fall => price <= level,
    }
}

/// Returns the high of a candle for a rise, and the low for a fall.
fn extreme(direction: Direction, effective: &EffectiveCandle) -> Price {
    match direction {
        Direction::Rise => effective.candle.high,
        Direction::Fall => effective.candle.low,
    }
}

fn touch(terms: &Terms, direction: Direction, effective: &EffectiveCandle) -> Observation {
    let Some(level) = terms.trigger_price else { return Observation::default() };
    let is_gap = is_beyond(direction, effective.candle.open, level);
    let is_touched = is_gap || is_beyond(direction, extreme(direction, effective), level);
    // The number of touches within a candle is unknown. A close at or beyond the trigger counts as
    // the last required touch, and the open is ignored.
    let counts = terms.trigger_count >= 2;
    let released = match () {
        () if !is_touched || (counts && !is_beyond(direction, effective.candle.close, level)) => None,
        () if is_gap && !counts => Some(Trigger::Gap),
        () => Some(Trigger::Inside),
    };
    Observation { released, ..Observation::default() }
}

fn monitor(terms: &Terms, direction: Direction, effective: &EffectiveCandle) -> Observation {
    let Some(level) = terms.monitor_price else { return Observation::default() };
    let open = effective.candle.open;
    if is_beyond(direction, open, level) {
        return Observation { began: Some(open), ..trail(terms, open, effective, false) };
    }
    let is_touched = is_beyond(direction, extreme(direction, effective), level);
    Observation { began: is_touched.then_some(level), ..Observation::default() }
}

/// Applies one candle to a trailing order. `from_open` is false if tracking started at this
/// candle's open. The open is then not compared with the stop.
fn trail(terms: &Terms, best: Price, effective: &EffectiveCandle, from_open: bool) -> Observation {
    let (side, candle) = (terms.side, &effective.candle);
    let (better, worse) = match side {
        Side::Sell => (best.max(candle.high), candle.low),
        Side::Buy => (best.min(candle.low), candle.high),
    };
    let stop = Stop::of(terms, best);
    if from_open && stop.is_reached(side, candle.open) {
        return Observation { best: Some(best), released: Some(Trigger::Gap), began: None };
    }
    if stop.is_reached(side, worse) {
        return Observation { best: Some(best), released: Some(Trigger::Inside), began: None };
    }
    // On every price path, the close comes after the best price.
    let released = Stop::of(terms, better).is_reached(side, candle.close).then_some(Trigger::Inside);
    let moved = better != best || released.is_some();
    Observation { best: moved.then_some(better), released, began: None }
}

/// Releases an order, or rejects it if one of checks 10 to 12 fails. Returns whether the order was
/// released.
pub(crate) fn release(
    work: &mut Work<'_>,
    at: Timestamp,
    id: OrderId,
    effective: &EffectiveCandle,
    how: Trigger,
    best: Option<Price>,
) -> bool {
    let is_waiting = |order: &Order| order.status() == OrderStatus::VarietiesNotReported;
    // A release at the same instant may have ended the order, if both are attached to one order.
    if !work.account.order(id).is_some_and(is_waiting) || !make_way(work, at, id) {
        return false;
    }
    let Some(order) = work.account.order(id) else { return false };
    let view = work.before_roll(at);
    let event = match prepare(work, &view, order, effective, how, best) {
        Ok(release) => Event::Released(Box::new(release)),
        Err(refusal) => Event::Rejected { id, refusal, order: None },
    };
    let is_released = matches!(event, Event::Released(_));
    work.record(Some(at), event);
    is_released
}

fn prepare(
    work: &Work<'_>,
    view: &MarketView<'_>,
    order: &Order,
    effective: &EffectiveCandle,
    how: Trigger,
    best: Option<Price>,
) -> Result<Release, Refusal> {
    let terms = &order.terms;
    let ticks = view.ticks(&terms.symbol, order.facts.kind, effective.day);
    let mark = match how {
        Trigger::Gap => effective.candle.open,
        Trigger::Inside => view.mark(&terms.symbol).unwrap_or(effective.candle.close),
    };
    let price = match best {
        Some(_) if order.fills_as() == OrderType::Market => None,
        Some(_) if terms.depth_level != 0 => Some(depth_price(mark, terms.depth_level, terms.side, ticks)),
        Some(best) => Some(Stop::of(terms, best).limit(terms, ticks)),
        None => terms.price,
    };
    if price.is_some_and(|price| price.0 <= 0) {
        return Err(Refusal::plain("released price must be above 0"));
    }
    let reserve_price =
        price.unwrap_or_else(|| market_reserve(mark, work.account.settings.market_reserve, ticks));
    let mut candidate = order.clone();
    candidate.terms.price = price;
    candidate.standing.reserve_price = Some(reserve_price);
    check_account(work.account, view, &candidate, reserve_price).map_err(Failure::into_refusal)?;
    Ok(Release {
        id: order.id,
        sequence: work.account.next_sequence(),
        price,
        reserve_price,
        candle: Bar::of(effective),
        how,
        watch: best.map(Watch::Trail),
    })
}
