//! Applies candles to grids: determines which levels a candle certainly reached, in which order,
//! and triggers the grid at each level. Also expires grids, and suspends grids after a corporate
//! action, because their prices are then no longer valid. The step arithmetic is at the end of the
//! file.

use market::{Price, Symbol, Timestamp};

use super::rule::{GridRule, GridStep};
use super::state::Grid;
use super::sub_order::{BY_BOUND, BY_EXPIRY, cancellations, of_close, of_trigger};
use crate::event::{Bar, Event, GridTrigger};
use crate::feed::{CandleKind, EffectiveCandle};
use crate::order::{GridId, GridOrigin};
use crate::quantity::Quantity;
use crate::sessions::trades_in;
use crate::tables::Ticks;
use crate::terms::{PERCENT_WHOLE, Percent};
use crate::view::MarketView;
use crate::words::{BoundEvent, GridTriggerKind, Side, SleepingReason, SuspendReason};
use crate::work::Work;

/// Maximum number of levels that one candle may trigger, in addition to a gap.
const LEVELS_MAX: usize = 20;

/// Applies an instant's candles to the active grids, one round at a time, and within a round in
/// order of grid number.
pub(crate) fn play(work: &mut Work<'_>, at: Timestamp, candles: &[(usize, &Symbol, EffectiveCandle)]) {
    if !work.account.grids.has_open() {
        return;
    }
    for round in candles.chunk_by(|(a, ..), (b, ..)| a == b) {
        let acting_on = |grid: &Grid| {
            let (.., effective) = round.iter().find(|(_, symbol, _)| **symbol == grid.symbol)?;
            watches(grid, effective).then_some((grid.id, *effective))
        };
        let found: Vec<(GridId, EffectiveCandle)> = work.account.grids.open().filter_map(acting_on).collect();
        for (id, effective) in found {
            Turn { work, at, id, effective: &effective }.take();
        }
        sleep_through(work, at, round);
    }
}

/// Puts the active grids on a symbol to sleep after a coarse day. A daily candle does not show the
/// order in which levels were reached, so it triggers nothing.
fn sleep_through(work: &mut Work<'_>, at: Timestamp, round: &[(usize, &Symbol, EffectiveCandle)]) {
    for (_, symbol, effective) in
        round.iter().filter(|(.., effective)| effective.is_day() && effective.candle.volume > 0)
    {
        let end = work.feed.venue(symbol.market()).day_end(effective.day);
        let is_new = |grid: &&Grid| {
            grid.symbol == **symbol
                && grid.is_watching()
                && grid.since.at() < end
                && grid.sleeping_reason != Some(SleepingReason::Minutes)
        };
        let asleep: Vec<GridId> = work.account.grids.open().filter(is_new).map(|grid| grid.id).collect();
        for grid in asleep {
            work.record(
                Some(at),
                Event::GridSlept { grid, candle: Bar::of(effective), reason: SleepingReason::Minutes },
            );
        }
    }
}

/// Returns whether a candle can affect a grid: it is a one-minute candle with volume in the grid's
/// trading hours, and newer than the grid's last change and the last candle that affected it.
fn watches(grid: &Grid, effective: &EffectiveCandle) -> bool {
    let candle = &effective.candle;
    grid.is_watching()
        && candle.volume > 0
        && effective.kind == CandleKind::Minute
        && trades_in(grid.outside_rth(), candle.session)
        && grid.since.allows(candle.time)
        && grid.last_candle.is_none_or(|last| last < candle.time)
}

impl GridRule {
    /// Returns the bound that a price has crossed and the action configured for that bound, or
    /// `None` if the price is within the bounds.
    fn left(&self, price: Price) -> Option<(Price, BoundEvent)> {
        match price {
            price if price > self.upper => Some((self.upper, self.upper_event)),
            price if price < self.lower => Some((self.lower, self.lower_event)),
            _ => None,
        }
    }
}

/// Applies one candle to one grid.
struct Turn<'t, 'w> {
    work: &'t mut Work<'w>,
    at: Timestamp,
    id: GridId,
    effective: &'t EffectiveCandle,
}

impl Turn<'_, '_> {
    fn take(&mut self) {
        let Some(grid) = self.work.account.grid(self.id) else { return };
        let open = self.effective.candle.open;
        match grid.rule.left(open) {
            Some((bound, BoundEvent::Close)) => return self.close(bound),
            Some((_, BoundEvent::Ignore)) => {
                self.sleep(SleepingReason::Price);
                return;
            }
            None => {}
        }
        self.gap();
        self.leg();
    }

    /// Puts the grid to sleep. Records nothing if the grid already sleeps for the same reason.
    fn sleep(&mut self, reason: SleepingReason) {
        let Some(grid) = self.work.account.grid(self.id) else { return };
        if grid.sleeping_reason != Some(reason) {
            let candle = Bar::of(self.effective);
            self.work.record(Some(self.at), Event::GridSlept { grid: self.id, candle, reason });
        }
    }

    /// Returns the reason why the grid must not trigger, or `None` if it may. Triggers with an
    /// order and skipped triggers have the same limit but separate counts: a skipped trigger does
    /// not reduce the number of possible orders, but it does take a journal entry.
    fn spent(&self, is_skipped: bool) -> Option<SleepingReason> {
        let account = &*self.work.account;
        if account.is_full() {
            return Some(SleepingReason::Journal);
        }
        let counts = account.grid(self.id).map(|grid| grid.triggers_on(self.effective.candle.time));
        let (triggers, skips) = counts.unwrap_or_default();
        let count = if is_skipped { skips } else { triggers };
        (count >= account.settings.limits.grid_triggers).then_some(SleepingReason::Triggers)
    }

    /// Returns the grid's base, rule and levels, using the tick sizes of the candle's day.
    fn look(&self) -> Option<(Price, GridRule, Levels)> {
        let grid = self.work.account.grid(self.id)?;
        let ticks = self.work.tables.ticks.of(&grid.symbol, grid.facts.kind, self.effective.day);
        Some((grid.base, grid.rule.clone(), grid.rule.step.levels(grid.base, ticks)))
    }

    /// If the open is at or beyond a level, triggers once at the open. With `multiple_trigger`, the
    /// quantity is multiplied by the number of steps in the gap.
    fn gap(&mut self) {
        let Some((base, rule, levels)) = self.look() else { return };
        let open = self.effective.candle.open;
        let side = match () {
            () if open >= levels.up => Side::Sell,
            () if open <= levels.down => Side::Buy,
            () => return,
        };
        let count = if rule.multiple_trigger { rule.step.count(base, open) } else { 1 };
        self.trigger(GridTriggerKind::Gap, side, rule.quantity.times(count), open);
    }

    /// Triggers at each level from the open to one extreme. If the candle reached levels on both
    /// sides, only the path to the nearer extreme is certain.
    fn leg(&mut self) {
        let Some((_, rule, levels)) = self.look() else { return };
        let candle = self.effective.candle;
        let (rise, fall) = (candle.high.0 - candle.open.0, candle.open.0 - candle.low.0);
        let side = match (candle.high >= levels.up, candle.low <= levels.down) {
            (true, true) if rise < fall => Side::Sell,
            (true, false) => Side::Sell,
            (_, true) => Side::Buy,
            (false, false) => return,
        };
        for _ in 0..LEVELS_MAX {
            let Some((_, rule, levels)) = self.look() else { return };
            let (level, is_reached) = match side {
                Side::Sell => (levels.up, levels.up <= candle.high.min(rule.upper)),
                Side::Buy => (levels.down, levels.down >= candle.low.max(rule.lower)),
            };
            if !is_reached {
                break;
            }
            if !self.trigger(GridTriggerKind::Level, side, rule.quantity, level) {
                break;
            }
        }
        let extreme = if side.is_buy() { candle.low } else { candle.high };
        if let Some((bound, BoundEvent::Close)) = rule.left(extreme) {
            self.close(bound);
        }
    }

    /// Triggers the grid: moves its base, and creates an order unless a check fails. If no trigger
    /// is allowed, puts the grid to sleep and returns `false`.
    fn trigger(&mut self, kind: GridTriggerKind, side: Side, quantity: Quantity, price: Price) -> bool {
        // Return early if neither a trigger with an order nor a skipped trigger is allowed.
        if let (Some(reason), Some(_)) = (self.spent(false), self.spent(true)) {
            self.sleep(reason);
            return false;
        }
        let account = &*self.work.account;
        let Some(grid) = account.grid(self.id) else { return false };
        let base = grid.base;
        let origin = GridOrigin { grid: self.id, kind, price, base };
        let view = self.work.before_roll(self.at);
        let (order, skip) = match of_trigger(account, &view, grid, (side, quantity, origin)) {
            Ok(order) => (Some(order), None),
            Err(skip) => (None, Some(skip)),
        };
        if let Some(reason) = self.spent(skip.is_some()) {
            self.sleep(reason);
            return false;
        }
        let candle = Bar::of(self.effective);
        let (skipped, refusal) = skip.map_or((None, None), |skip| (Some(skip.reason), skip.refusal));
        let grid = self.id;
        let trigger = GridTrigger { grid, kind, side, quantity, price, base, candle, skipped, refusal };
        self.work.record(Some(self.at), Event::GridTriggered(Box::new(trigger)));
        if let Some(order) = order {
            self.work.record(Some(self.at), Event::Accepted(Box::new(order)));
        }
        true
    }

    /// Ends a grid after the price crossed a bound: cancels the grid's open orders and sells its
    /// position.
    fn close(&mut self, bound: Price) {
        let Some(grid) = self.work.account.grid(self.id) else { return };
        for event in cancellations(self.work.account, grid, BY_BOUND) {
            self.work.record(Some(self.at), event);
        }
        let Some(grid) = self.work.account.grid(self.id) else { return };
        let origin =
            GridOrigin { grid: self.id, kind: GridTriggerKind::Close, price: bound, base: grid.base };
        let view = self.work.before_roll(self.at);
        if let Some(order) = of_close(self.work.account, &view, grid, origin) {
            self.work.record(Some(self.at), Event::Accepted(Box::new(order)));
        }
        let candle = Bar::of(self.effective);
        self.work.record(Some(self.at), Event::GridCanceled { grid: self.id, bound: Some(candle) });
    }
}

/// Ends expired grids after cancelling their open orders.
pub(crate) fn expire(work: &mut Work<'_>, at: Timestamp) {
    let due = work.account.grids.open().filter(|grid| grid.ends_at.is_some_and(|end| end <= at));
    let due: Vec<GridId> = due.map(|grid| grid.id).collect();
    for id in due {
        let Some(grid) = work.account.grid(id) else { continue };
        for event in cancellations(work.account, grid, BY_EXPIRY) {
            work.record(Some(at), event);
        }
        work.record(Some(at), Event::GridExpired { grid: id });
    }
}

/// Suspends the active grids on a symbol after a corporate action.
pub(crate) fn suspend_for_action(work: &mut Work<'_>, at: Timestamp, symbol: &Symbol) {
    let watching = work.account.grids.open().filter(|grid| grid.is_watching() && grid.symbol == *symbol);
    let watching: Vec<GridId> = watching.map(|grid| grid.id).collect();
    for grid in watching {
        work.record(Some(at), Event::GridSuspended { grid, reason: SuspendReason::CorporateAction });
    }
}

/// The prices that trigger the next sale (`up`) and the next purchase (`down`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    pub up: Price,
    pub down: Price,
}

/// Factor that converts a price to units of `10^-14`. A price has six decimals, and a percentage
/// adds eight.
const EXACT: i128 = PERCENT_WHOLE as i128;

impl GridStep {
    /// Returns the exact distances from a base to the next levels above and below, in units of
    /// `10^-14`.
    fn exact(self, base: Price) -> (i128, i128) {
        let share = |percent: Percent| i128::from(base.0) * i128::from(percent.units());
        match self {
            GridStep::Spread { up, down } => (i128::from(up.0) * EXACT, i128::from(down.0) * EXACT),
            GridStep::Percent { up, down } => (share(up), share(down)),
        }
    }

    /// Returns the levels before rounding to the tick, rounded to the millionth towards the base. A
    /// candle between these prices reaches neither level, regardless of the day's tick sizes.
    pub(crate) fn inner(self, base: Price) -> Levels {
        let (up, down) = self.exact(base);
        let base = i128::from(base.0) * EXACT;
        Levels { up: price((base + up).div_euclid(EXACT)), down: price(-(down - base).div_euclid(EXACT)) }
    }

    /// Returns the levels rounded to the tick, `up` upwards and `down` downwards.
    pub(crate) fn levels(self, base: Price, ticks: &Ticks) -> Levels {
        let (up, down) = self.exact(base);
        let base = i128::from(base.0) * EXACT;
        let above = -(-(base + up)).div_euclid(EXACT);
        Levels { up: ticks.up(price(above)), down: ticks.down(price((base - down).div_euclid(EXACT))) }
    }

    /// Returns the number of whole steps between a base and a price, but at least one.
    pub(crate) fn count(self, base: Price, price: Price) -> i64 {
        let (up, down) = self.exact(base);
        let away = i128::from(price.0 - base.0) * EXACT;
        let step = if away < 0 { down } else { up };
        i64::try_from(away.abs() / step.max(1)).unwrap_or(i64::MAX).max(1)
    }
}

fn price(units: i128) -> Price {
    Price(i64::try_from(units).unwrap_or(if units < 0 { i64::MIN / 2 } else { i64::MAX / 2 }))
}

impl Grid {
    /// Returns the grid's next levels, rounded to the current day's tick sizes.
    pub fn levels(&self, view: &MarketView<'_>) -> Levels {
        let ticks = view.ticks(&self.symbol, self.facts.kind, view.date(self.market()));
        self.rule.step.levels(self.base, ticks)
    }
}
