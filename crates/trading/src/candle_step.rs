//! Applies the candles of one instant to open orders, which are filled or released in order of
//! sequence number.

use market::{Price, Symbol, Timestamp};

use crate::event::{Event, FillRule, Trigger};
use crate::feed::EffectiveCandle;
use crate::filling::{Offer, fill};
use crate::matching::{budget, is_eligible, price_in};
use crate::order::OrderId;
use crate::quantity::Quantity;
use crate::sessions::trades_in;
use crate::triggers::{Observation, look, release, stop_beside};
use crate::words::{OrderStatus, OrderType};
use crate::work::Work;

/// Work deferred until the candles of an instant have been applied.
#[derive(Debug, Default)]
pub(crate) struct Aftermath {
    /// Orders triggered inside a candle, each with its sequence number, candle and best price.
    inside: Vec<(u64, OrderId, EffectiveCandle, Option<Price>)>,
    /// Special limit orders that have had their first candle. If still open, they are cancelled.
    pub(crate) spent: Vec<OrderId>,
}

/// An order's position in a candle's queue.
#[derive(Clone, Copy)]
struct Place {
    sequence: u64,
    id: OrderId,
    candle: usize,
    /// Whether the order was released at the open of this candle, so that the whole candle can fill
    /// it.
    is_fresh: bool,
}

/// One symbol's candle and its remaining volume budget.
struct Stage {
    effective: EffectiveCandle,
    lot: Option<Quantity>,
    left: Option<Quantity>,
}

/// Applies at most one candle per symbol to an account's open orders.
pub(crate) fn act(
    work: &mut Work<'_>,
    at: Timestamp,
    candles: &[(usize, &Symbol, EffectiveCandle)],
    after: &mut Aftermath,
) {
    let mut stages: Vec<Stage> = Vec::with_capacity(candles.len());
    let mut queue: Vec<Place> = Vec::new();
    let takes_days = work.account.settings.coarse_fills;
    let counts =
        |effective: &EffectiveCandle| effective.candle.volume > 0 && (takes_days || !effective.is_day());
    for (_, symbol, effective) in candles.iter().filter(|(.., effective)| counts(effective)) {
        let candle = stages.len();
        let orders = work.account.open_orders_of(symbol);
        let there = orders.filter(|order| trades_in(order.outside_rth(), effective.candle.session));
        queue.extend(there.map(|order| Place {
            sequence: order.sequence,
            id: order.id,
            candle,
            is_fresh: false,
        }));
        stages.push(Stage { effective: *effective, lot: None, left: None });
    }
    queue.sort_unstable_by_key(|place| place.sequence);
    let mut next = 0;
    while let Some(place) = queue.get(next).copied() {
        next += 1;
        let Some(stage) = stages.get_mut(place.candle) else { continue };
        if try_place(work, at, place, stage, after) {
            // An order released by a gap moves to the end of this candle's queue.
            queue.push(Place { is_fresh: true, ..place });
        }
    }
}

/// Releases or fills an order. Returns whether the order was released at the open, and must be
/// queued again.
fn try_place(
    work: &mut Work<'_>,
    at: Timestamp,
    place: Place,
    stage: &mut Stage,
    after: &mut Aftermath,
) -> bool {
    let Some(order) = work.account.order(place.id) else { return false };
    let effective = stage.effective;
    if order.status() == OrderStatus::VarietiesNotReported {
        let is_pending = after.inside.iter().any(|(_, id, _, _)| *id == place.id);
        if is_pending || !order.since.allows(effective.candle.time) {
            return false;
        }
        let seen = look(order, &effective);
        // Only the open is certain to precede a stop loss in the same candle.
        let is_behind_stop = match stop_beside(work.account, order, &effective) {
            None => false,
            Some(Trigger::Gap) => true,
            Some(Trigger::Inside) => seen.released != Some(Trigger::Gap),
        };
        if is_behind_stop {
            return false;
        }
        return watch(work, at, place, &effective, seen, after);
    }
    if !place.is_fresh && !is_eligible(order, &effective) {
        return false;
    }
    if order.terms.order_type == OrderType::SpecialLimit && !effective.is_tail() {
        if after.spent.contains(&place.id) {
            return false;
        }
        after.spent.push(place.id);
    }
    let ticks = || work.tables.ticks.of(order.symbol(), order.facts.kind, effective.day);
    let Some((price, rule)) = price_in(order, &effective, &work.account.settings, ticks) else {
        return false;
    };
    let is_at_open = matches!(rule, FillRule::Open | FillRule::MarketOpen);
    match stop_beside(work.account, order, &effective) {
        None => {}
        Some(Trigger::Inside) if is_at_open => {}
        Some(_) => return false,
    }
    let lot = match stage.lot {
        Some(lot) => lot,
        None => {
            let known = work.feed.security(order.symbol(), effective.day);
            let lot = known.map_or(Quantity::whole(1), |security| security.lot.max(Quantity::whole(1)));
            stage.lot = Some(lot);
            stage.left = budget(&work.account.settings, &effective, lot);
            lot
        }
    };
    let taken = fill(work, at, place.id, &effective, Offer { price, rule, budget: stage.left, lot });
    stage.left = stage.left.map(|left| left - taken);
    false
}

/// Records a conditional order's new best price or its release. Returns whether the order was
/// released at the open.
fn watch(
    work: &mut Work<'_>,
    at: Timestamp,
    place: Place,
    effective: &EffectiveCandle,
    seen: Observation,
    after: &mut Aftermath,
) -> bool {
    let id = place.id;
    if let Some(best) = seen.began {
        work.record(Some(at), Event::Watching { id, best });
    }
    let is_market = work.account.order(id).is_some_and(|order| order.fills_as() == OrderType::Market);
    match seen.released {
        // Market orders do not fill in a closing auction, so they are released at the end of the
        // auction.
        Some(Trigger::Gap) if !(effective.is_tail() && is_market) => {
            release(work, at, id, effective, Trigger::Gap, seen.best)
        }
        Some(_) => {
            after.inside.push((place.sequence, id, *effective, seen.best));
            false
        }
        None => {
            if let Some(best) = seen.best {
                work.record(Some(at), Event::BestMoved { id, best });
            }
            false
        }
    }
}

/// Releases the orders triggered inside this instant's candles, in order of their previous sequence
/// numbers.
pub(crate) fn release_inside(work: &mut Work<'_>, at: Timestamp, after: &mut Aftermath) {
    after.inside.sort_by_key(|(sequence, ..)| *sequence);
    for (_, id, effective, best) in std::mem::take(&mut after.inside) {
        release(work, at, id, &effective, Trigger::Inside, best);
    }
}
