//! The effect of a candle on a grid: which levels the candle certainly reached, in which order, and
//! the trigger at each.

use market::{Price, Symbol, Timestamp};

use super::id::{GridId, GridOrigin};
use super::levels::Levels;
use super::rule::GridRule;
use super::state::Grid;
use super::sub_order::{BY_BOUND, cancellations, of_close, of_trigger};
use crate::event::{Bar, Event, GridTrigger};
use crate::feed::{CandleKind, EffectiveCandle};
use crate::quantity::Quantity;
use crate::sessions::trades_in;
use crate::words::{BoundEvent, GridTriggerKind, Side, SleepingReason};
use crate::work::Work;

/// Maximum number of levels that one candle may trigger, in addition to a gap.
const LEVELS_MAX: usize = 20;

/// Applies an instant's candles to the watching grids, round by round, and within a round in order
/// of grid number.
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

/// Puts the grids that watched a coarse day to sleep. A daily candle does not show the order in
/// which levels were reached, so it triggers nothing.
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

/// Returns whether a candle can affect a grid. Auction, daily and overnight candles cannot, and a
/// candle that arrives again is ignored.
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
    /// Returns the bound that a price has crossed, and the configured action.
    fn left(&self, price: Price) -> Option<(Price, BoundEvent)> {
        match price {
            price if price > self.upper => Some((self.upper, self.upper_event)),
            price if price < self.lower => Some((self.lower, self.lower_event)),
            _ => None,
        }
    }
}

/// One candle applied to one grid.
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

    /// Puts the grid to sleep, so that it creates no orders. Records nothing if the reason is
    /// unchanged.
    fn sleep(&mut self, reason: SleepingReason) {
        let Some(grid) = self.work.account.grid(self.id) else { return };
        if grid.sleeping_reason != Some(reason) {
            let candle = Bar::of(self.effective);
            self.work.record(Some(self.at), Event::GridSlept { grid: self.id, candle, reason });
        }
    }

    /// Returns why the grid may not trigger, if so. Triggers with an order and skipped triggers
    /// have the same limit but separate counts: skipped triggers do not reduce the number of
    /// orders, but both take a journal entry.
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

    /// Returns the base, the rule, and the levels for the tick sizes of the candle's day.
    fn look(&self) -> Option<(Price, GridRule, Levels)> {
        let grid = self.work.account.grid(self.id)?;
        let ticks = self.work.tables.ticks.of(&grid.symbol, grid.facts.kind, self.effective.day);
        Some((grid.base, grid.rule.clone(), grid.rule.step.levels(grid.base, ticks)))
    }

    /// If the open is at or beyond a level, triggers once at the open, for all the steps in the
    /// gap.
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

    /// Triggers level by level from the open to one extreme. If levels are reached on both sides,
    /// only the path to the nearer extreme is certain.
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

    /// Moves the base, and creates an order unless the account cannot place it. If the grid may not
    /// trigger, puts it to sleep and returns `false`.
    fn trigger(&mut self, kind: GridTriggerKind, side: Side, quantity: Quantity, price: Price) -> bool {
        // Skip the work if the grid may trigger neither with an order nor without.
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

    /// Ends a grid that has crossed a bound: cancels its open orders and sells its position.
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
