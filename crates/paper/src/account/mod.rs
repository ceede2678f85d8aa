//! One account for the time of a request: [`Paper::at`].
//!
//! `attempt.rs` decides a request under the account's lock, `book.rs` is the account in memory, and
//! `commit.rs` writes the decisions of many requests together.
//! [`PaperAccount::change`] calls them:
//!
//! ```text
//!             +------------------- again, at most TRIES_MAX times -------------------+
//!             v                                                                      |
//!          LOCKED    the account is locked, its book is at the head of the journal   |
//!             |                                                                      |
//!             +-- idempotency key known ---> REPEATED --- written ----> ANSWERED     |
//!             |                                 +------ unwritten: wait for it ------+
//!             +-- horizon after the clock -> AHEAD: the past ---------> ANSWERED     |
//!             |                                                                      |
//!             | advance by one portion; if that is enough, decide                    |
//!             v                                                                      |
//!           MADE     unlocked; the book is ahead of the journal, and the next        |
//!             |      request builds on it                                            |
//!             |                                                                      |
//!             | wait for the ticket: one thread writes the decisions of all          |
//!             +-- another process wrote first ----> VOID, with all that builds on it-+
//!             +-- the store failed ---------------> VOID -------------> error
//!             v
//!          WRITTEN --- only a portion is done ---> LOCKED, or `CatchingUp`
//!             |
//!             v
//!         ANSWERED   with the result, or with a refusal
//! ```
//!
//! A decision without new entries has no ticket, and waits for the one that it builds on. So does a
//! refusal: the reason for it may not be written yet.

mod attempt;
pub(crate) mod book;
pub(crate) mod commit;

use std::fmt;

use market::Timestamp;
use store::{AccountId, Reader, StoreError};
use trading::{Account, Command, Engine, GridId, MarketView, OrderId, Outcome};

use crate::PaperError;
use crate::clock::{Clock, Moment};
use crate::feed::StoreFeed;
use crate::opening::{self, Opening, ensure_open};
use crate::operator_words::Exchanged;
use crate::orders::{Made, carry_out, check_texts};
use crate::service::Paper;
use attempt::{Behind, Finished};
pub(crate) use attempt::{NAMES_KEPT_S, RequestOptions};
use book::TRIES_MAX;
use commit::Audited;

/// Who gives an audited command, and why.
#[derive(Clone, Debug)]
pub struct Audit {
    /// The kind of change, such as `paper.deposited`.
    pub event: &'static str,
    pub actor: String,
    pub reason: String,
}

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The order that the command concerned.
    pub order: Option<OrderId>,
    /// The grid that the command concerned.
    pub grid: Option<GridId>,
    pub exchanged: Option<Exchanged>,
    /// Whether an earlier request with the same idempotency key did it.
    pub is_repeated: bool,
}

/// The result of advancing accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// Accounts that are still behind.
    pub behind: Vec<AccountId>,
    /// Accounts that could not be advanced; the log has the reasons.
    pub failed: Vec<AccountId>,
}

/// An account as of an instant.
#[derive(Debug)]
pub struct Reading<'a> {
    pub account: &'a Account,
    pub view: MarketView<'a>,
}

/// The result of a request.
#[derive(Debug)]
pub(crate) enum Changed<T> {
    Made(T),
    /// A request with the same idempotency key concerned this order.
    Repeated(Option<OrderId>),
    /// The account's horizon is later than this moment, so that only the past can be shown.
    Ahead(Moment),
}

/// One account, with what a request about it needs: a reader of the store and a clock.
pub struct PaperAccount<'a> {
    pub(crate) paper: &'a Paper,
    pub(crate) id: AccountId,
    pub(crate) reader: &'a mut Reader,
    pub(crate) clock: &'a dyn Clock,
}

impl fmt::Debug for PaperAccount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaperAccount").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Paper {
    /// An account, for one request.
    pub fn at<'a>(&'a self, id: AccountId, reader: &'a mut Reader, clock: &'a dyn Clock) -> PaperAccount<'a> {
        PaperAccount { paper: self, id, reader, clock }
    }

    /// Advances accounts by at most one portion each, and stores when each is due next. All of them
    /// share the wait for the disk. A failure is logged, and does not affect other accounts.
    pub fn advance(&self, ids: &[AccountId], reader: &mut Reader, clock: &dyn Clock) -> Advanced {
        let request = RequestOptions { is_read: true, keeps_head: true, ..RequestOptions::default() };
        let mut attempts = Vec::new();
        let mut advanced = Advanced::default();
        for id in ids {
            let attempt = self.at(*id, reader, clock).attempt(&request, |engine, account, now| {
                // The clock alone does not begin an account.
                let has_begun = account.began().is_some();
                Ok((if has_begun { engine.advance(account, now) } else { Outcome::default() }, ()))
            });
            attempts.push((*id, attempt));
        }
        for (id, attempt) in attempts {
            match attempt.and_then(|attempt| self.finish(id, attempt)) {
                Ok(Some(Finished::Behind(_))) => advanced.behind.push(id),
                // If another process wrote first, the next run finds any work that is left.
                Ok(_) => {}
                Err(error) => {
                    tracing::error!(%error, account = id.0, "cannot advance a paper account");
                    advanced.failed.push(id);
                }
            }
        }
        advanced
    }
}

impl PaperAccount<'_> {
    /// The times of the request for the account in this state.
    pub(crate) fn moment(&self, account: &Account) -> Moment {
        self.clock.moment(self.id, account.horizon()).not_before(account.horizon())
    }

    /// Opens the account with the given balances. Returns whether it was not open before.
    pub fn open(&mut self, opening: &Opening) -> Result<bool, PaperError> {
        let id = self.id;
        let opened = self.change(&RequestOptions::default(), |engine, account, now| {
            if account.entries() > 0 {
                return Ok((Outcome::default(), false));
            }
            Ok((opening::open(engine, account, id, opening, now)?, true))
        })?;
        Ok(matches!(opened, Changed::Made(true)))
    }

    /// Executes a command. `name` is its idempotency key: repeating the key does nothing, and is
    /// refused for an order on other terms.
    pub fn command(
        &mut self,
        command: &Command,
        name: Option<&str>,
        audit: Option<Audit>,
    ) -> Result<Done, PaperError> {
        self.commands(std::slice::from_ref(command), name, audit)
    }

    /// Executes several commands: all of them, or none.
    pub fn commands(
        &mut self,
        commands: &[Command],
        name: Option<&str>,
        audit: Option<Audit>,
    ) -> Result<Done, PaperError> {
        let id = self.id;
        let name = name.filter(|name| !name.is_empty());
        check_texts(commands, name)?;
        let audit = audit.map(|Audit { event, actor, reason }| Audited {
            event,
            at: self.clock.moment(self.id, None).machine,
            actor,
            reason,
        });
        let terms = match commands {
            [Command::Submit(request)] => Some(&request.terms),
            _ => None,
        };
        let options = RequestOptions { name, terms, audit, ..RequestOptions::default() };
        let changed =
            self.change(&options, |engine, account, now| carry_out(engine, account, (id, commands), now))?;
        match changed {
            Changed::Made(Made { order, grid, exchanged }) => {
                Ok(Done { order, grid, exchanged, is_repeated: false })
            }
            Changed::Repeated(order) => Ok(Done { order, grid: None, exchanged: None, is_repeated: true }),
            Changed::Ahead(_) => Err(PaperError::Contended { account: id.0 }),
        }
    }

    /// Shows the account as of now, or in the past if the clock is before the account's horizon.
    pub fn read<T>(&mut self, look: impl Fn(&Reading<'_>) -> T) -> Result<T, PaperError> {
        let (paper, id) = (self.paper, self.id);
        if paper.only_looks {
            return self.look(|seen| look(&seen.reading));
        }
        let request = RequestOptions { is_read: true, ..RequestOptions::default() };
        let changed = self.change(&request, |engine, account, now| {
            let mut outcome = ensure_open(engine, account, id, now)?;
            let advanced = engine.advance(account, now);
            outcome.entries.extend(advanced.entries);
            outcome.pushes.extend(advanced.pushes);
            let seen = look(&Reading { account, view: engine.view(now) });
            Ok((outcome, seen))
        })?;
        match changed {
            Changed::Made(seen) => Ok(seen),
            Changed::Repeated(_) => Err(PaperError::Contended { account: id.0 }),
            Changed::Ahead(moment) => {
                let now = moment.as_of.now();
                let account = Account::fold_until(&paper.journal(id)?, now);
                let feed = self.feed(moment)?;
                let view = MarketView::new(&feed, paper.tables(), now);
                let seen = look(&Reading { account: &account, view });
                Ok(feed.checked(seen)?)
            }
        }
    }

    /// Advances an account that has begun to now, in portions, so that the next request has little
    /// left to do.
    pub fn catch_up(&mut self) -> Result<(), PaperError> {
        if self.paper.only_looks {
            return Ok(());
        }
        let request = RequestOptions { is_read: true, ..RequestOptions::default() };
        self.change(&request, |_, _, _| Ok((Outcome::default(), ()))).map(drop)
    }

    /// Changes the account under its account lock, and returns when the change is on the disk.
    pub(crate) fn change<T>(
        &mut self,
        request: &RequestOptions<'_>,
        work: impl Fn(&Engine<'_>, &mut Account, Timestamp) -> Result<(Outcome, T), PaperError>,
    ) -> Result<Changed<T>, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let (mut tries, mut portions) = (0, 0);
        while tries < TRIES_MAX {
            // Reads rarely write, so they take the account lock only for a retry. If it cannot be
            // taken, the attempt is made without it.
            let turn = (!request.is_read || tries > 0).then(|| paper.accounts.journal_turn(id).ok());
            let attempt = self.attempt(request, &work)?;
            match paper.finish(id, attempt)? {
                Some(Finished::Changed(changed)) => return Ok(changed),
                Some(Finished::Behind(Behind { at, to })) => {
                    portions += 1;
                    if portions >= paper.portion.each_request {
                        return Err(PaperError::CatchingUp { at, to });
                    }
                }
                None => tries += 1,
            }
            drop(turn);
        }
        Err(PaperError::Contended { account: id.0 })
    }

    /// The market data as of a moment.
    pub(crate) fn feed(&mut self, moment: Moment) -> Result<StoreFeed<'_>, StoreError> {
        self.paper.feed(self.reader, moment)
    }
}
