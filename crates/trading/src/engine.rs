//! The door to everything: feed and tables at hand, accounts are advanced and given commands.
//!
//! Both change the account in memory and return the entries that did it. Whoever keeps journals writes those entries first and
//! answers then; if they cannot be written, the account is thrown away and folded again from what was. The horizon is kept
//! beside the journal: entries do not tell how far nothing happened.

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

    /// What may be known at an instant; reads take it.
    pub fn view(&self, at: Timestamp) -> MarketView<'a> {
        MarketView::new(self.feed, self.tables, at)
    }

    /// Lets everything happen to an account that happens up to an instant. An account that is further already stays so.
    pub fn advance(&self, account: &mut Account, to: Timestamp) -> Outcome {
        self.advance_within(account, to, AdvanceLimit::NONE)
    }

    /// The same in portions: stops when it has done so much work. [`Account::horizon`] says how far it came; going on from there gives
    /// what one step would have given.
    pub fn advance_within(&self, account: &mut Account, to: Timestamp, limit: AdvanceLimit) -> Outcome {
        let mut work = Work::new(account, self.feed, self.tables);
        if work.account.horizon.is_none_or(|horizon| horizon <= to) {
            advance(&mut work, to, limit);
        }
        work.outcome
    }

    /// Advances an account to an instant and carries a command out. An operator may prepare an account before its first
    /// request; what is entered then has no instant.
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
