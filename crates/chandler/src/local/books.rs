//! Operator access to paper accounts in the local store. A server may use the same store
//! concurrently.

use std::sync::Arc;

use access::Account;
use history::History;
use market::Timestamp;
use paper::{Audit, Done, JournalOperation, NoListener, Opening, Paper, PaperAccount, PaperError};
use store::Reader;
use trading::Command;

use super::account_clock::AccountClock;
use super::open_accounts;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::field_flags::to_failure;

/// Actor name of the command line in the audit log.
const OPERATOR: &str = "operator";

pub(crate) struct Books {
    pub(crate) paper: Paper,
    reader: Reader,
    clock: AccountClock,
}

impl Books {
    pub(crate) fn open(context: &CommandContext) -> Result<Books, Failure> {
        let reader = context.open(store::Access::Read)?.reader()?;
        let access = open_accounts(context)?;
        let history = History::new(context.history.venues().clone());
        // No listener is needed, because a running server reads the journal and notifies its own
        // listeners.
        let paper = Paper::new(access.database(), history, context.tables()?, Arc::new(NoListener));
        Ok(Books { paper: paper.for_command_line(), reader, clock: AccountClock::of(context) })
    }

    /// Runs an operator's commands in one transaction and records an audit entry.
    pub(crate) fn operate(
        &mut self,
        account: &Account,
        event: &'static str,
        reason: String,
        commands: &[Command],
    ) -> Result<Done, Failure> {
        self.clock.check(account, &self.paper)?;
        let audit = Audit { event, actor: OPERATOR.to_owned(), reason };
        let done = self.at(account).commands(commands, None, Some(audit)).map_err(to_failure)?;
        self.clock.leave();
        Ok(done)
    }

    /// Returns the time up to which an account has been processed.
    pub(crate) fn horizon(&self, account: &Account) -> Result<Option<Timestamp>, Failure> {
        Ok(self.paper.standing(account.id).map_err(to_failure)?.horizon)
    }

    /// Moves the market clock to another instant.
    pub(crate) fn go_to(&mut self, at: Timestamp) {
        self.clock.go_to(at);
    }

    /// Runs a client's command. Returns false if the command is rejected.
    pub(crate) fn offer(&mut self, account: &Account, command: &Command) -> Result<bool, Failure> {
        match self.at(account).command(command, None, None) {
            Ok(_) => Ok(true),
            Err(PaperError::Refused(_)) => Ok(false),
            Err(error) => Err(to_failure(error)),
        }
    }

    /// Checks whether a paper account could be opened with this cash and these settings. Called
    /// before the account is created.
    pub(crate) fn check_opening(&mut self, opening: &Opening) -> Result<(), Failure> {
        self.paper.check_opening(opening, &mut self.reader, &self.clock.moment).map_err(to_failure)
    }

    /// Opens a paper account with the given cash and settings. Returns false if the paper account
    /// is already open.
    pub(crate) fn begin(&mut self, account: &Account, opening: &Opening) -> Result<bool, Failure> {
        self.at(account).open(opening).map_err(to_failure)
    }

    /// Returns the parameters for an operation on a whole journal: actor, reason, and the name of
    /// the archived part.
    pub(crate) fn operation<'a>(&self, name: &'a str, reason: &'a str) -> JournalOperation<'a> {
        JournalOperation { name, actor: OPERATOR, reason, machine: self.clock.moment.machine }
    }

    fn at(&mut self, account: &Account) -> PaperAccount<'_> {
        self.paper.at(account.id, &mut self.reader, &self.clock.moment)
    }
}
