//! Applies events to a grid.

use market::{Market, Timestamp};

use super::state::{Grid, GridHistoryRow};
use crate::account::Account;
use crate::event::{Event, Execution, GridTrigger};
use crate::order::{OrderId, Since};
use crate::words::{GridStatus, GridTriggerKind, SleepingReason};

/// Reason text of the history row of a replacement.
const REPLACED: &str = "replaced";
/// Reason text of the history row of a grid that a candle has ended by crossing a bound.
const BOUND: &str = "bound";

impl Account {
    /// Applies an event to a grid. Returns whether listeners must be notified, which is `false`
    /// only if the grid does not exist.
    pub(crate) fn apply_to_grid(&mut self, event: &Event, at: Timestamp) -> bool {
        if let Event::GridSubmitted(new) = event {
            let mut grid = new.as_grid(at);
            grid.note(at, "");
            self.grids.push(grid);
            return true;
        }
        let Some(grid) = event.grid().and_then(|id| self.grids.get_mut(id.number())) else { return false };
        grid.updated_at = at;
        match event {
            Event::GridReplaced { rule, ends_at, .. } => {
                grid.base = rule.base;
                grid.rule = rule.as_ref().clone();
                grid.ends_at = *ends_at;
                grid.sleeping_reason = None;
                grid.since = Since::Client(at);
                grid.note(at, REPLACED);
            }
            Event::GridTriggered(trigger) => grid.trigger(trigger, at),
            Event::GridSlept { candle, reason, .. } => {
                grid.last_candle = grid.last_candle.max(Some(candle.time));
                grid.sleep(Some(*reason), at);
            }
            Event::GridSuspended { reason, .. } => {
                grid.suspend_reason = Some(*reason);
                grid.enter(GridStatus::Suspended, "", at);
            }
            Event::GridRestarted { .. } => {
                grid.suspend_reason = None;
                grid.since = Since::Client(at);
                grid.enter(GridStatus::Performing, "", at);
            }
            Event::GridCanceled { bound, .. } => {
                grid.last_candle = bound.as_ref().map(|candle| candle.time).or(grid.last_candle);
                grid.enter(GridStatus::Canceled, if bound.is_some() { BOUND } else { "" }, at);
            }
            Event::GridExpired { .. } => grid.enter(GridStatus::Expired, "", at),
            _ => {}
        }
        let (number, is_open) = (grid.id.number(), grid.is_open());
        if !is_open {
            self.grids.close(number);
        }
        true
    }

    /// Updates the grid that created an order after the order was accepted or filled. Does nothing
    /// if no grid created the order.
    pub(crate) fn apply_to_grid_of(&mut self, id: OrderId, event: &Event) {
        let Some(origin) = self.by_number(id.number()).and_then(|order| order.grid) else { return };
        let Some(grid) = self.grids.get_mut(origin.grid.number()) else { return };
        match event {
            Event::Accepted(_) => {
                grid.orders.push(id);
                grid.trigger_times += u64::from(origin.kind != GridTriggerKind::Close);
            }
            Event::Filled(filled) => {
                let Execution { side, quantity, price, .. } = filled.as_ref();
                grid.book(*side, *quantity, *price);
            }
            _ => {}
        }
    }
}

/// Returns a candle's trading day as days since 1970-01-01, computed in standard time all year.
/// Grids do not trade overnight, so their trading hours do not cross midnight even in summer.
fn trading_day(market: Market, candle: Timestamp) -> i64 {
    let hours_east = match market {
        Market::Hk | Market::Cn => 8,
        Market::Us => -5,
    };
    candle.0.saturating_add(hours_east * 3_600).div_euclid(86_400)
}

impl Grid {
    fn trigger(&mut self, trigger: &GridTrigger, at: Timestamp) {
        self.base_before = Some(trigger.base);
        self.base_after = Some(trigger.price);
        self.base = trigger.price;
        self.last_candle = Some(trigger.candle.time);
        let day = trading_day(self.market(), trigger.candle.time);
        if self.triggered_on.replace(day) != Some(day) {
            (self.triggers, self.skips) = (0, 0);
        }
        let count = if trigger.skipped.is_some() { &mut self.skips } else { &mut self.triggers };
        *count = count.saturating_add(1);
        self.sleep(trigger.skipped, at);
    }

    /// Returns the number of triggers on a candle's trading day that created an order, and the
    /// number that were skipped.
    pub(super) fn triggers_on(&self, candle: Timestamp) -> (u32, u32) {
        let day = trading_day(self.market(), candle);
        if self.triggered_on == Some(day) { (self.triggers, self.skips) } else { (0, 0) }
    }

    /// Sets or clears the sleeping reason, and adds a history row if the reason changed.
    fn sleep(&mut self, reason: Option<SleepingReason>, at: Timestamp) {
        if self.sleeping_reason != reason {
            self.sleeping_reason = reason;
            self.note(at, reason.map_or("", SleepingReason::as_str));
        }
    }

    /// Sets the status and adds a history row. Clears the sleeping reason, because it applies to
    /// the previous status.
    fn enter(&mut self, status: GridStatus, reason: &str, at: Timestamp) {
        self.status = status;
        self.sleeping_reason = None;
        if status.is_final() {
            self.suspend_reason = None;
        }
        self.note(at, reason);
    }

    fn note(&mut self, at: Timestamp, reason: &str) {
        let number = self.history.len() as u64 + 1;
        let (status, suspend_reason) = (self.status, self.suspend_reason);
        self.history.push(GridHistoryRow { number, at, status, suspend_reason, reason: reason.to_owned() });
    }
}
