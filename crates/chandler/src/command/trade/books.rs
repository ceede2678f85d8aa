//! Paper accounts of the store here: their journals, and the market they are played on. A server may serve the same store meanwhile.

use std::cell::RefCell;
use std::sync::Arc;

use access::{Access, Account};
use anyhow::anyhow;
use history::History;
use market::{Symbol, Timestamp};
use paper::{
    Audit, Done, GridPreview, Moment, NoListener, Opening, Paper, PaperError, Preview, Reason, Seen,
    SeenStatements, StatementId, StatementList, Travel,
};
use store::{Reader, Store};
use trading::{Command, Submit, SubmitGrid, Terms};

use super::words::in_flags;
use crate::clock::Clock;
use crate::command::account::named;
use crate::command::serve::open_accounts;
use crate::failure::{Failure, usage};
use crate::output;
use crate::surroundings::Surroundings;

/// By the machine's clock, an account that was last at work longer ago than this may well be one of a replayed past.
const LONG_AGO_S: i64 = 40 * 86_400;
/// Whoever is at this command line, in the audit.
const OPERATOR: &str = "operator";

pub(crate) struct Books {
    pub(crate) access: Access,
    pub(crate) paper: Paper,
    store: Store,
    reader: Reader,
    moment: Moment,
    clock: Clock,
}

impl Books {
    pub(crate) fn open(surroundings: &Surroundings) -> Result<Books, Failure> {
        let store = surroundings.open(store::Access::Read)?;
        let reader = store.reader()?;
        let access = open_accounts(surroundings)?;
        let machine = Clock::Machine.now();
        let history = History::new(surroundings.history.venues().clone());
        // Nobody listens here: a server that has listeners sees the journal.
        let paper =
            Paper::new(access.journals(), history, surroundings.tables()?, Arc::new(NoListener)).patient();
        let moment = Moment { as_of: surroundings.as_of(), machine };
        Ok(Books { access, paper, store, reader, moment, clock: surroundings.clock })
    }

    /// The account of a name, or the only one there is. That of the user of this machine, which was made for the pages, counts only where
    /// there is no other.
    pub(crate) fn account(&self, name: Option<&str>) -> Result<Account, Failure> {
        if let Some(name) = name {
            return named(&self.access, name);
        }
        let mut accounts: Vec<Account> =
            self.access.list()?.into_iter().filter(|account| account.revoked_at.is_none()).collect();
        if !accounts.iter().all(Account::is_local) {
            accounts.retain(|account| !account.is_local());
        }
        match (accounts.pop(), accounts.as_slice()) {
            (Some(account), []) => Ok(account),
            (Some(_), _) => Err(usage(
                "there are several accounts: add --account NAME; `chandler account list` shows them",
            )),
            (None, _) => Err(anyhow!("there is no account: `chandler account create NAME` makes one").into()),
        }
    }

    /// Shows an account as of now. Nothing is written.
    pub(crate) fn look<T>(
        &mut self,
        account: &Account,
        look: impl FnOnce(&Seen<'_>) -> T,
    ) -> Result<T, Failure> {
        let seen = self.paper.look(account.id, (&mut self.reader, self.moment), look);
        seen.map_err(told)
    }

    /// The statements of an account as of now, newest first. Nothing is written.
    pub(crate) fn statements(
        &mut self,
        account: &Account,
        list: &StatementList,
    ) -> Result<SeenStatements, Failure> {
        let seen = self.paper.look_at_statements(account.id, list, (&mut self.reader, self.moment));
        seen.map_err(told)
    }

    /// The text of one of them.
    pub(crate) fn statement(
        &self,
        account: &Account,
        of: StatementId,
        seen: &SeenStatements,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let text = self.paper.seen_statement(account.id, of, seen, self.moment.as_of.now());
        text.map_err(told)
    }

    pub(crate) fn preview(&mut self, account: &Account, terms: &Terms) -> Result<Preview, Failure> {
        check_may_trade(account)?;
        let preview =
            self.paper.preview(account.id, &Submit::of(terms.clone()), (&mut self.reader, self.moment));
        preview.map_err(told)
    }

    pub(crate) fn preview_grid(
        &mut self,
        account: &Account,
        asked: &SubmitGrid,
    ) -> Result<GridPreview, Failure> {
        check_may_trade(account)?;
        let preview = self.paper.preview_grid(account.id, asked, (&mut self.reader, self.moment));
        preview.map_err(told)
    }

    /// What a client asks for.
    pub(crate) fn order(
        &mut self,
        account: &Account,
        command: &Command,
        name: Option<&str>,
    ) -> Result<Done, Failure> {
        check_may_trade(account)?;
        self.run(account, std::slice::from_ref(command), name, None)
    }

    /// What an operator does, all of it or nothing, which the audit is told.
    pub(crate) fn operate(
        &mut self,
        account: &Account,
        event: &'static str,
        reason: String,
        commands: &[Command],
    ) -> Result<Done, Failure> {
        let audit = Audit { event, actor: OPERATOR.to_owned(), reason };
        self.run(account, commands, None, Some(audit))
    }

    /// Goes on at another instant of the market.
    pub(crate) fn go_to(&mut self, at: Timestamp) {
        self.clock = Clock::Fixed(at);
        self.moment.as_of = self.clock.as_of();
    }

    /// What a client asks for and may be refused: whether it was not.
    pub(crate) fn offer(&mut self, account: &Account, command: &Command) -> Result<bool, Failure> {
        match self.paper.command(account.id, command, None, None, (&mut self.reader, self.moment)) {
            Ok(_) => Ok(true),
            Err(PaperError::Refused(_)) => Ok(false),
            Err(error) => Err(told(error)),
        }
    }

    /// Opens an account with settings and cash of its own.
    pub(crate) fn begin(&mut self, account: &Account, opening: &Opening) -> Result<bool, Failure> {
        let opened = self.paper.open(account.id, opening, (&mut self.reader, self.moment));
        opened.map_err(told)
    }

    /// What is done to a whole journal: by whom, why, and what the part that is cut will be called.
    pub(crate) fn travel<'a>(&self, name: &'a str, reason: &'a str) -> Travel<'a> {
        Travel { name, actor: OPERATOR, reason, machine: self.moment.machine }
    }

    fn run(
        &mut self,
        account: &Account,
        commands: &[Command],
        name: Option<&str>,
        audit: Option<Audit>,
    ) -> Result<Done, Failure> {
        let before = self.paper.standing(account.id).map_err(told)?.horizon;
        let done = self.paper.commands(account.id, commands, name, audit, (&mut self.reader, self.moment));
        let done = done.map_err(told)?;
        let now = self.moment.as_of.now();
        if let (Clock::Machine, Some(before)) = (self.clock, before)
            && now.0.saturating_sub(before.0) > LONG_AGO_S
        {
            output::tell(format_args!(
                "note: account {:?} was at {before} and is at {now} now, by the machine's clock; --clock sets another, and \
                 `chandler account rewind {} {before}` goes back",
                account.name, account.id.0
            ));
        }
        Ok(done)
    }

    /// What securities are called. A name is for reading: one that cannot be read is none.
    pub(crate) fn names(&self) -> Result<impl Fn(&Symbol) -> String + use<>, Failure> {
        let reader = RefCell::new(self.store.reader()?);
        Ok(move |symbol: &Symbol| {
            let found = reader.borrow_mut().view().security(symbol).ok().flatten();
            found.and_then(|one| one.name_en.or(one.name_hk).or(one.name_cn)).unwrap_or_default()
        })
    }
}

/// Refuses what an account may not have done in its name, also where it is only tried.
fn check_may_trade(account: &Account) -> Result<(), Failure> {
    let name = &account.name;
    if account.revoked_at.is_some() {
        return Err(anyhow!("account {name:?} is revoked: nothing is traded in its name").into());
    }
    if account.terms.read_only {
        let id = account.id.0;
        return Err(anyhow!(
            "account {name:?} is read-only: `chandler account set {id} --read-only off` lets it trade"
        )
        .into());
    }
    Ok(())
}

/// What could not be done, with the check that failed and its numbers.
pub(crate) fn told(error: PaperError) -> Failure {
    match error {
        PaperError::Refused(refusal) => anyhow!(in_flags(&Reason::of(&refusal).words)).into(),
        error => error.into(),
    }
}
