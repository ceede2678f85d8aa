//! Builds explanations of one order or grid for the server. Reads only the journal entries between
//! the first and last event of the order or grid, and decodes only entries that contain its id.
//! Adds notes on missing candles to an order's explanation.

use market::Timestamp;
use store::{AccountId, JournalEntry};
use trading::{Account, Entry, GridId, MarketView, Order, OrderId};

use crate::PaperError;
use crate::account::PaperAccount;
use crate::account::book::{ending_of, parsed};
use crate::explanation::{OrderExplanation, Step, explanation, explanation_of, local};
use crate::grid_explanation::{GridExplanation, grid_explanation, grid_steps};
use crate::look::Seen;
use crate::outlook::{after_expiry, waiting};
use crate::service::Paper;

/// Maximum number of entries read by one request.
const ENTRIES_MAX: u64 = 100_000;
/// Maximum number of steps in a grid's explanation. Older steps are dropped.
const GRID_STEPS_MAX: usize = 1_000;
/// Event tag of a grid trigger in a stored entry. The next entry is the order that the trigger
/// created.
const TRIGGER: &str = "\"grid_triggered\"";

/// Explains an order as of the instant at which its account was read. Returns `None` if the order
/// does not exist.
pub fn explained(seen: &Seen<'_>, id: OrderId) -> Option<OrderExplanation> {
    let (account, view) = (seen.reading.account, &seen.reading.view);
    explanation(seen.entries, id).map(|explanation| Ending::of(account, view, id).of_explanation(explanation))
}

/// Notes on missing candles at the end of an explanation.
#[derive(Default)]
struct Ending {
    /// Reason why the order expired without a fill.
    expired: Option<String>,
    /// Final `waiting` step of an open order that has no candles to fill it.
    waiting: Option<Step>,
}

impl Ending {
    fn of(account: &Account, view: &MarketView<'_>, id: OrderId) -> Ending {
        let Some(order) = account.order(id) else { return Ending::default() };
        let waiting = waiting(account, view, order).map(|waiting| Step {
            at: view.at.0.to_string(),
            local: local(view.feed.venue(order.market()).zone(), view.at),
            event: "waiting",
            words: "not filled so far".to_owned(),
            because: vec![waiting.words],
            candle: None,
            fill: None,
            reason: None,
        });
        Ending { expired: after_expiry(account, view, order), waiting }
    }

    fn of_explanation(self, mut explanation: OrderExplanation) -> OrderExplanation {
        if let Some(step) = explanation.steps.last_mut() {
            step.because.extend(self.expired);
        }
        explanation.steps.extend(self.waiting);
        explanation
    }
}

/// When an order could change, which selects its journal entries.
struct Life {
    /// From submission to the last possible change, both ends inclusive.
    range: (Timestamp, Timestamp),
    /// Instants of the order's status changes, ascending.
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
    /// Explains an order, or returns `None` if the order does not exist. If the order was open
    /// during more than 100,000 journal entries, the explanation includes only status changes, not
    /// every move of a trailing stop.
    pub fn order_explanation(&mut self, order: OrderId) -> Result<Option<OrderExplanation>, PaperError> {
        let (paper, id) = (self.paper, self.id);
        if paper.only_looks {
            return self.look(|seen| explained(seen, order));
        }
        // A request for an explanation must not begin an account that has had no other request.
        if paper.standing(id)?.horizon.is_none() {
            return Ok(None);
        }
        let found = self.read(|reading| {
            let known = reading.account.order(order)?;
            let ending = Ending::of(reading.account, &reading.view, order);
            Some((Life::of(known, reading.view.at), reading.account.participations().to_vec(), ending))
        })?;
        let Some((life, participations, ending)) = found else { return Ok(None) };
        let name = ending_of(order.with_account(0));
        let numbers = paper.numbers(id, life.range)?;
        let mut entries = Vec::new();
        if numbers.1.saturating_sub(numbers.0) <= ENTRIES_MAX {
            paper.add_about(id, numbers, &name, &mut entries)?;
        } else {
            for at in life.instants {
                let numbers = paper.numbers(id, (at, at))?;
                paper.add_about(id, numbers, &name, &mut entries)?;
            }
        }
        let share = |entry: &Entry| {
            let before = participations.iter().rev().find(|(number, _)| *number < entry.number);
            before.and_then(|(_, share)| *share)
        };
        Ok(explanation_of(&entries, order, share).map(|explanation| ending.of_explanation(explanation)))
    }

    /// Explains the newest steps of a grid, or returns `None` if the grid does not exist.
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
        let name = ending_of(grid.with_account(0));
        paper.add_about(id, (first, last), &name, &mut entries)?;
        let mut steps = grid_steps(&entries, grid, symbol.market());
        steps.drain(..steps.len().saturating_sub(GRID_STEPS_MAX));
        Ok(Some(GridExplanation { order_id: grid.to_string(), symbol: symbol.to_string(), steps }))
    }
}

impl Paper {
    /// Returns the number of the last entry before a time range, and the number of the last entry
    /// in the range.
    fn numbers(
        &self,
        id: AccountId,
        (from, through): (Timestamp, Timestamp),
    ) -> Result<(u64, u64), PaperError> {
        let before = Timestamp(from.0.saturating_sub(1));
        Ok((self.accounts.journal_number_at(id, before)?, self.accounts.journal_number_at(id, through)?))
    }

    /// Adds the entries in a number range that contain a text. Also adds the trigger before each
    /// grid order.
    fn add_about(
        &self,
        id: AccountId,
        (mut after, last): (u64, u64),
        name: &str,
        entries: &mut Vec<Entry>,
    ) -> Result<(), PaperError> {
        let mut before: Option<JournalEntry> = None;
        while after < last {
            let rows = self.accounts.journal_entries(id, after)?;
            let Some(end) = rows.last().map(|row| row.number) else { break };
            after = end;
            for row in rows.into_iter().take_while(|row| row.number <= last) {
                if row.text.contains(name) {
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
