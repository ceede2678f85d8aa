//! The account during a command or an advance. Each event is applied and recorded immediately.

use market::Timestamp;

use crate::account::Account;
use crate::attached::{Cause, follow};
use crate::event::{Entry, Event};
use crate::feed::Feed;
use crate::push::Push;
use crate::refusal::Refusal;
use crate::tables::Tables;
use crate::view::MarketView;

/// The result of an operation: entries to store, and pushes to send after the entries are stored.
/// Both are in chronological order.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub entries: Vec<Entry>,
    pub pushes: Vec<Push>,
    /// Reason why the command was refused. Entries from advancing the account are still valid.
    pub refusal: Option<Refusal>,
}

impl Outcome {
    /// Returns the last entry, or the entry of the main order if the last ones are the attached
    /// orders submitted with it.
    pub fn last_entry(&self) -> Option<&Entry> {
        let is_attached =
            |entry: &&Entry| matches!(&entry.event, Event::Accepted(accepted) if accepted.attached.is_some());
        self.entries.iter().rev().find(|entry| !is_attached(entry))
    }

    /// Prepends the entries and pushes of an earlier outcome.
    pub fn follow(&mut self, before: Outcome) {
        self.entries.splice(0..0, before.entries);
        self.pushes.splice(0..0, before.pushes);
    }
}

pub(crate) struct Work<'a> {
    pub(crate) account: &'a mut Account,
    pub(crate) feed: &'a dyn Feed,
    pub(crate) tables: &'a Tables,
    pub(crate) outcome: Outcome,
}

impl<'a> Work<'a> {
    pub(crate) fn new(account: &'a mut Account, feed: &'a dyn Feed, tables: &'a Tables) -> Work<'a> {
        Work { account, feed, tables, outcome: Outcome::default() }
    }

    /// Applies and records an event, followed by the events that it causes on attached orders.
    pub(crate) fn record(&mut self, at: Option<Timestamp>, event: Event) {
        let follows = Cause::of(&event);
        let version = event.version();
        let entry = Entry { version, number: self.account.entries + 1, at, event };
        let mut pushes = self.account.take_in(&entry);
        // Fast path: most outcomes have a single entry, whose pushes are moved instead of copied.
        if self.outcome.pushes.is_empty() {
            self.outcome.pushes = pushes;
        } else {
            self.outcome.pushes.append(&mut pushes);
        }
        self.outcome.entries.push(entry);
        // Nothing follows from entries made before the first request.
        if let (Some(at), Some(cause)) = (at, follows) {
            follow(self, at, cause);
        }
    }

    /// Returns the market view before the rolls at an instant, for candles, releases and expiries.
    pub(crate) fn before_roll(&self, at: Timestamp) -> MarketView<'a> {
        MarketView::before_roll(self.feed, self.tables, at)
    }

    pub(crate) fn after_roll(&self, at: Timestamp) -> MarketView<'a> {
        MarketView::new(self.feed, self.tables, at)
    }
}
