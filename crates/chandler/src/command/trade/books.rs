//! Paper accounts of the local store: their journals and their market data. A server may serve the
//! same store concurrently.

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
use crate::clock::{Clock, IsServed, NoticePath};
use crate::command::account::named;
use crate::command::serve::open_accounts;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};

/// An account whose last activity is longer ago than this, by the machine's clock, may be in a
/// replayed past.
const LONG_AGO_S: i64 = 40 * 86_400;
/// The user of this command line, in the audit.
const OPERATOR: &str = "operator";

pub(crate) struct Books {
    pub(crate) access: Access,
    pub(crate) paper: Paper,
    store: Store,
    reader: Reader,
    moment: Moment,
    clock: Clock,
    source: ClockSource,
    notice: Option<NoticePath>,
}

/// The source of the accounts' clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockSource {
    /// A flag or a variable.
    Named,
    /// A running server of this store.
    Server,
    /// The machine's clock, by default. `was_set` if the accounts were last changed under another
    /// clock.
    Default { was_set: bool },
}

impl Books {
    pub(crate) fn open(context: &CommandContext) -> Result<Books, Failure> {
        let store = context.open(store::Access::Read)?;
        let reader = store.reader()?;
        let access = open_accounts(context)?;
        let machine = Clock::Machine.now();
        let history = History::new(context.history.venues().clone());
        // Events need no listener in this process: a server with listeners reads the journal.
        let paper = Paper::new(access.journals(), history, context.tables()?, Arc::new(NoListener))
            .for_command_line();
        let notice = context.clock_notice().ok();
        let (clock, source) = match notice.as_ref().and_then(NoticePath::read) {
            _ if context.is_clock_named => (context.clock, ClockSource::Named),
            Some((noted, IsServed::Yes)) => (noted.clock(), ClockSource::Server),
            noted => {
                let was_set = noted.is_some_and(|(noted, _)| !matches!(noted.clock(), Clock::Machine));
                (Clock::Machine, ClockSource::Default { was_set })
            }
        };
        let moment = Moment { as_of: clock.as_of(), machine };
        Ok(Books { access, paper, store, reader, moment, clock, source, notice })
    }

    /// The account with this name, or the only one. The account of the machine's user, which was
    /// created for the pages, counts only if there is no other.
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

    /// Reads an account as of now. Nothing is written.
    pub(crate) fn look<T>(
        &mut self,
        account: &Account,
        look: impl FnOnce(&Seen<'_>) -> T,
    ) -> Result<T, Failure> {
        let seen = self.paper.look(account.id, (&mut self.reader, self.moment), look);
        seen.map_err(told)
    }

    /// Lists the statements of an account as of now, newest first. Nothing is written.
    pub(crate) fn statements(
        &mut self,
        account: &Account,
        list: &StatementList,
    ) -> Result<SeenStatements, Failure> {
        let seen = self.paper.look_at_statements(account.id, list, (&mut self.reader, self.moment));
        seen.map_err(told)
    }

    /// The text of a statement.
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

    /// Runs a command of a client.
    pub(crate) fn order(
        &mut self,
        account: &Account,
        command: &Command,
        name: Option<&str>,
    ) -> Result<Done, Failure> {
        check_may_trade(account)?;
        self.run(account, std::slice::from_ref(command), name, None)
    }

    /// Runs commands of an operator, all or none, with an audit entry.
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

    /// Moves to another instant of the market.
    pub(crate) fn go_to(&mut self, at: Timestamp) {
        self.clock = Clock::Fixed(at);
        self.source = ClockSource::Named;
        self.moment.as_of = self.clock.as_of();
    }

    /// Runs a command of a client. Returns false if it is refused.
    pub(crate) fn offer(&mut self, account: &Account, command: &Command) -> Result<bool, Failure> {
        match self.paper.command(account.id, command, None, None, (&mut self.reader, self.moment)) {
            Ok(_) => Ok(true),
            Err(PaperError::Refused(_)) => Ok(false),
            Err(error) => Err(told(error)),
        }
    }

    /// Whether an account could be opened like this, before it is created.
    pub(crate) fn check_opening(&mut self, opening: &Opening) -> Result<(), Failure> {
        self.paper.check_opening(opening, (&mut self.reader, self.moment)).map_err(told)
    }

    /// Opens an account with the given settings and cash.
    pub(crate) fn begin(&mut self, account: &Account, opening: &Opening) -> Result<bool, Failure> {
        let opened = self.paper.open(account.id, opening, (&mut self.reader, self.moment));
        opened.map_err(told)
    }

    /// The parameters of an operation on a whole journal: actor, reason, and the name of the
    /// archived part.
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
        self.check_time(account)?;
        let done = self.paper.commands(account.id, commands, name, audit, (&mut self.reader, self.moment));
        let done = done.map_err(told)?;
        if let (ClockSource::Named, Some(notice)) = (self.source, &self.notice) {
            // If the folder is not writable, no server of this user uses it.
            notice.leave(&self.clock).ok();
        }
        Ok(done)
    }

    /// Refuses to move an account to the machine's time if it may follow another clock. Nothing is
    /// refused if the clock was given, or is that of a running server.
    fn check_time(&self, account: &Account) -> Result<(), Failure> {
        let ClockSource::Default { was_set } = self.source else { return Ok(()) };
        let (horizon, now) = (self.paper.standing(account.id).map_err(told)?.horizon, self.moment.machine);
        let why = match horizon {
            Some(at) if at < account.created_at => "which is before it was created",
            Some(at) if now.0.saturating_sub(at.0) > LONG_AGO_S => "which is long ago",
            _ if was_set => "and this store was last used with a clock that was set",
            _ => return Ok(()),
        };
        let (name, stays) = (&account.name, horizon.map(|at| format!("--clock {at}")));
        let at = horizon.map_or_else(|| "has no time yet".to_owned(), |at| format!("is at {at}"));
        Err(usage(format!(
            "account {name:?} {at}, {why}: add {} for the market's time, or --clock now to go on at {now}, by the machine's clock",
            stays.as_deref().unwrap_or("--clock INSTANT")
        )))
    }

    /// The names of securities. A name that cannot be read is empty, since it is only for display.
    pub(crate) fn names(&self) -> Result<impl Fn(&Symbol) -> String + use<>, Failure> {
        let reader = RefCell::new(self.store.reader()?);
        Ok(move |symbol: &Symbol| {
            let found = reader.borrow_mut().view().security(symbol).ok().flatten();
            found.and_then(|one| one.name_en.or(one.name_hk).or(one.name_cn)).unwrap_or_default()
        })
    }
}

/// Refuses an account that may not trade, also for a preview.
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

/// Converts an error, with the check that failed and its numbers.
pub(crate) fn told(error: PaperError) -> Failure {
    match error {
        PaperError::Refused(refusal) => anyhow!(in_flags(&Reason::of(&refusal).words)).into(),
        error => error.into(),
    }
}
