//! The entry point: advances accounts and executes commands, using a feed and tables.
//!
//! Advancing an account and executing a command both change the account in memory and return the
//! new entries. The caller must make these entries durable before it replies. If the write fails,
//! the caller must discard the account and fold the journal again. The horizon is stored next to
//! the journal, because entries do not show how far an account advanced without events.

use market::Timestamp;

use crate::account::Account;
use crate::advance::{AdvanceLimit, advance};
use crate::command::Command;
use crate::decide::decide;
use crate::feed::Feed;
use crate::tables::Tables;
use crate::view::MarketView;
use crate::work::{Outcome, Work};

#[derive(Clone, Copy)]
pub struct Engine<'a> {
    pub feed: &'a dyn Feed,
    pub tables: &'a Tables,
}

impl std::fmt::Debug for Engine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl<'a> Engine<'a> {
    pub fn new(feed: &'a dyn Feed, tables: &'a Tables) -> Engine<'a> {
        Engine { feed, tables }
    }

    /// Returns a view of the market data known at an instant, for reads.
    pub fn view(&self, at: Timestamp) -> MarketView<'a> {
        MarketView::new(self.feed, self.tables, at)
    }

    /// Advances an account to an instant, and returns the new entries. Does nothing if the
    /// account's horizon is already later.
    pub fn advance(&self, account: &mut Account, to: Timestamp) -> Outcome {
        self.advance_within(account, to, AdvanceLimit::NONE)
    }

    /// Like [`Engine::advance`], but stops at a work limit. [`Account::horizon`] is then the
    /// instant reached. A later call continues from the horizon with the same result as a single
    /// call.
    pub fn advance_within(&self, account: &mut Account, to: Timestamp, limit: AdvanceLimit) -> Outcome {
        let mut work = Work::new(account, self.feed, self.tables);
        if work.account.horizon.is_none_or(|horizon| horizon <= to) {
            advance(&mut work, to, limit);
        }
        work.outcome
    }

    /// Advances an account to an instant and executes a command. An operator may prepare an account
    /// before its first request. Entries created by the preparation have no instant.
    pub fn handle(&self, account: &mut Account, command: &Command, now: Timestamp) -> Outcome {
        let mut work = Work::new(account, self.feed, self.tables);
        let is_preparing = work.account.horizon.is_none() && !command.is_of_client();
        if !is_preparing && work.account.horizon.is_none_or(|horizon| horizon <= now) {
            advance(&mut work, now, AdvanceLimit::NONE);
        }
        match decide(work.account, command, &self.view(now)) {
            Ok(events) => {
                for event in events {
                    work.record((!is_preparing).then_some(now), event);
                }
            }
            Err(refusal) => work.outcome.refusal = Some(refusal),
        }
        work.outcome
    }
}
