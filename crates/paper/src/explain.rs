//! Explanations of one order or grid for the server: reads only the journal between its first and
//! last event, and decodes only entries that contain its id.

use market::Timestamp;
use store::{AccountId, JournalEntry};
use trading::{Entry, GridId, Order, OrderId};

use crate::PaperError;
use crate::account::PaperAccount;
use crate::account::book::parsed;
use crate::explained::{Ending, explained};
use crate::explanation::{OrderExplanation, explanation_of};
use crate::grid_explanation::{GridExplanation, grid_explanation, grid_steps};
use crate::service::Paper;

/// Maximum number of entries read by one request.
const ENTRIES_MAX: u64 = 100_000;
/// Maximum number of steps in a grid's explanation. Older steps are dropped.
const GRID_STEPS_MAX: usize = 1_000;
/// Event tag of a grid trigger in a stored entry. The next entry is the order that the trigger
/// created.
const TRIGGER: &str = "\"grid_triggered\"";

/// Time range in which an order changed, both ends inclusive.
struct Life {
    range: (Timestamp, Timestamp),
    /// Instants of its status changes, ascending.
    instants: Vec<Timestamp>,
}

impl Life {
    fn of(order: &Order, now: Timestamp) -> Life {
        let last = if order.is_open() { now } else { order.updated_at };
        let mut instants: Vec<Timestamp> = order.history.iter().map(|row| row.at).collect();
        instants.push(order.submitted_at);
        instants.sort_unstable();
        instants.dedup();
        Life { range: (order.submitted_at, last), instants }
    }
}

impl PaperAccount<'_> {
    /// Explains an order, or returns `None` if it does not exist. For an order that was open during
    /// more than 100,000 journal entries, only status changes are included, not every move of a
    /// trailing stop.
    pub fn order_explanation(&mut self, order: OrderId) -> Result<Option<OrderExplanation>, PaperError> {
        let (paper, id) = (self.paper, self.id);
        if paper.only_looks {
            return self.look(|seen| explained(seen, order));
        }
        // An explanation must not begin an account that has had no request.
        if paper.standing(id)?.horizon.is_none() {
            return Ok(None);
        }
        let found = self.read(|reading| {
            let known = reading.account.order(order)?;
            let ending = Ending::of(reading.account, &reading.view, order);
            Some((Life::of(known, reading.view.at), reading.account.participations().to_vec(), ending))
        })?;
        let Some((life, participations, ending)) = found else { return Ok(None) };
        let names = [order.to_string()];
        let numbers = paper.numbers(id, life.range)?;
        let mut entries = Vec::new();
        if numbers.1.saturating_sub(numbers.0) <= ENTRIES_MAX {
            paper.add_about(id, numbers, &names, &mut entries)?;
        } else {
            for at in life.instants {
                let numbers = paper.numbers(id, (at, at))?;
                paper.add_about(id, numbers, &names, &mut entries)?;
            }
        }
        let share = |entry: &Entry| {
            let before = participations.iter().rev().find(|(number, _)| *number < entry.number);
            before.and_then(|(_, share)| *share)
        };
        Ok(explanation_of(&entries, order, share).map(|explanation| ending.of_explanation(explanation)))
    }

    /// Explains the newest steps of a grid, or returns `None` if it does not exist.
    pub fn grid_explanation(&mut self, grid: GridId) -> Result<Option<GridExplanation>, PaperError> {
        let (paper, id) = (self.paper, self.id);
        if paper.only_looks {
            return self.look(|seen| grid_explanation(seen.entries, grid));
        }
        if paper.standing(id)?.horizon.is_none() {
            return Ok(None);
        }
        let found = self.read(|reading| {
            let known = reading.account.grid(grid)?;
            let last = if known.is_open() { reading.view.at } else { known.updated_at };
            Some(((known.created_at, last), known.symbol.clone()))
        })?;
        let Some((range, symbol)) = found else { return Ok(None) };
        let (first, last) = paper.numbers(id, range)?;
        let first = first.max(last.saturating_sub(ENTRIES_MAX));
        let mut entries = Vec::new();
        paper.add_about(id, (first, last), &[grid.to_string()], &mut entries)?;
        let mut steps = grid_steps(&entries, grid, symbol.market());
        steps.drain(..steps.len().saturating_sub(GRID_STEPS_MAX));
        Ok(Some(GridExplanation { order_id: grid.to_string(), symbol: symbol.to_string(), steps }))
    }
}

impl Paper {
    /// Returns the number of the last entry before a time range and of the last one in it.
    fn numbers(
        &self,
        id: AccountId,
        (from, through): (Timestamp, Timestamp),
    ) -> Result<(u64, u64), PaperError> {
        let before = Timestamp(from.0.saturating_sub(1));
        Ok((self.accounts.journal_number_at(id, before)?, self.accounts.journal_number_at(id, through)?))
    }

    /// Adds the entries in a number range that contain one of `names`, and the trigger before each
    /// grid order.
    fn add_about(
        &self,
        id: AccountId,
        (mut after, last): (u64, u64),
        names: &[String],
        entries: &mut Vec<Entry>,
    ) -> Result<(), PaperError> {
        let mut before: Option<JournalEntry> = None;
        while after < last {
            let rows = self.accounts.journal_entries(id, after)?;
            let Some(end) = rows.last().map(|row| row.number) else { break };
            after = end;
            for row in rows.into_iter().take_while(|row| row.number <= last) {
                if names.iter().any(|name| row.text.contains(name.as_str())) {
                    if let Some(trigger) = before.take().filter(|before| before.text.contains(TRIGGER)) {
                        entries.push(parsed(id, &trigger)?);
                    }
                    entries.push(parsed(id, &row)?);
                } else {
                    before = Some(row);
                }
            }
        }
        Ok(())
    }
}
