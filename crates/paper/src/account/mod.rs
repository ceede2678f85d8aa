//! Access to one account for the duration of a request: [`Paper::at`].
//!
//! `attempt.rs` decides a request under the account's lock, `book.rs` holds the account in memory,
//! and `commit/` writes the decisions of concurrent requests in one transaction.
//! [`PaperAccount::change`] runs these states:
//!
//! ```text
//!             +------------------- retry, at most TRIES_MAX times -------------------+
//!             v                                                                      |
//!          LOCKED    the account is locked; its book is at the journal head          |
//!             |                                                                      |
//!             +-- idempotency key known ---> REPEATED --- written ----> ANSWERED     |
//!             |                                 +------ unwritten: wait for it ------+
//!             +-- horizon after the clock -> AHEAD: past state -------> ANSWERED     |
//!             |                                                                      |
//!             | advance by one portion; if that is enough, decide                    |
//!             v                                                                      |
//!           MADE     unlocked; the book is ahead of the journal, and the next        |
//!             |      request builds on it                                            |
//!             |                                                                      |
//!             | wait for the ticket: the leader commits all queued decisions         |
//!             +-- another process wrote first ----> VOID, and all dependent appends -+
//!             +-- the store failed ---------------> VOID -------------> error
//!             v
//!          WRITTEN --- only a portion is done ---> LOCKED, or `CatchingUp`
//!             |
//!             v
//!         ANSWERED   with the result, or with a refusal
//! ```
//!
//! A decision without new entries has no ticket, and waits for the ticket of the append on which it
//! builds. A refusal also waits, because the state that caused it may not be durable yet.

mod attempt;
pub(crate) mod book;
pub(crate) mod commit;

use std::fmt;

use market::Timestamp;
use store::{AccountId, Reader, StoreError};
use trading::{Account, Command, Engine, GridId, MarketView, OrderId, Outcome};

use crate::PaperError;
use crate::clock::{Clock, Moment};
use crate::commands::{Made, Opening, carry_out, check_texts, ensure_open, open};
use crate::feed::StoreFeed;
use crate::operator_words::Exchanged;
use crate::service::Paper;
use attempt::{Behind, Finished};
pub(crate) use attempt::{NAMES_KEPT_S, RequestOptions};
use book::TRIES_MAX;
use commit::Audited;

/// Event, actor and reason of an audited command.
#[derive(Clone, Debug)]
pub struct Audit {
    /// Kind of change, such as `paper.deposited`.
    pub event: &'static str,
    pub actor: String,
    pub reason: String,
}

/// Result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Order that the command created or changed, if any.
    pub order: Option<OrderId>,
    /// Grid that the command created or changed, if any.
    pub grid: Option<GridId>,
    pub exchanged: Option<Exchanged>,
    /// Whether an earlier request with the same idempotency key produced this result.
    pub is_repeated: bool,
}

/// Accounts that [`Paper::advance`] did not advance completely.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advanced {
    /// Accounts that are still behind.
    pub behind: Vec<AccountId>,
    /// Accounts that could not be advanced. The errors are logged.
    pub failed: Vec<AccountId>,
}

/// An account and its market data as of one instant.
#[derive(Debug)]
pub struct Reading<'a> {
    pub account: &'a Account,
    pub view: MarketView<'a>,
}

/// Result of [`PaperAccount::change`].
#[derive(Debug)]
pub(crate) enum Changed<T> {
    Made(T),
    /// An earlier request with the same idempotency key created or changed this order.
    Repeated(Option<OrderId>),
    /// The account's horizon is later than this moment, so only a past state can be returned.
    Ahead(Moment),
}

/// Handle to one account, with the store reader and the clock of a request.
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
    /// Returns a handle to an account for one request.
    pub fn at<'a>(&'a self, id: AccountId, reader: &'a mut Reader, clock: &'a dyn Clock) -> PaperAccount<'a> {
        PaperAccount { paper: self, id, reader, clock }
    }

    /// Advances each account by at most one portion, and stores when the account must next be
    /// advanced. All accounts share one group commit. A failure is logged and does not affect other
    /// accounts.
    pub fn advance(&self, ids: &[AccountId], reader: &mut Reader, clock: &dyn Clock) -> Advanced {
        let request = RequestOptions { is_read: true, keeps_head: true, ..RequestOptions::default() };
        let mut attempts = Vec::new();
        let mut advanced = Advanced::default();
        for id in ids {
            let attempt = self.at(*id, reader, clock).attempt(&request, |engine, account, now| {
                // An account begins with its first client request, so the background runner must
                // not begin it.
                let has_begun = account.began().is_some();
                Ok((if has_begun { engine.advance(account, now) } else { Outcome::default() }, ()))
            });
            attempts.push((*id, attempt));
        }
        for (id, attempt) in attempts {
            match attempt.and_then(|attempt| self.finish(id, attempt)) {
                Ok(Some(Finished::Behind(_))) => advanced.behind.push(id),
                // If another process wrote first, the next run does the remaining work.
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
    /// Returns the market time and machine time of the request. `account` provides the horizon.
    pub(crate) fn moment(&self, account: &Account) -> Moment {
        self.clock.moment(self.id, account.horizon()).not_before(account.horizon())
    }

    /// Opens the account with the given balances. Returns `false` if the account was already open.
    pub fn open(&mut self, opening: &Opening) -> Result<bool, PaperError> {
        let id = self.id;
        let opened = self.change(&RequestOptions::default(), |engine, account, now| {
            if account.entries() > 0 {
                return Ok((Outcome::default(), false));
            }
            Ok((open(engine, account, id, opening, now)?, true))
        })?;
        Ok(matches!(opened, Changed::Made(true)))
    }

    /// Executes a command. `name` is the idempotency key: a retry with the same key has no effect,
    /// and is refused if it submits an order with different terms.
    pub fn command(
        &mut self,
        command: &Command,
        name: Option<&str>,
        audit: Option<Audit>,
    ) -> Result<Done, PaperError> {
        self.commands(std::slice::from_ref(command), name, audit)
    }

    /// Executes several commands atomically, with an optional idempotency key.
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

    /// Reads the account as of now. If the clock is before the account's horizon, reads the past
    /// state at the clock's time.
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

    /// Advances the account to now, in portions, so that the next request has little catch-up work.
    /// Does nothing before the account's first request.
    pub fn catch_up(&mut self) -> Result<(), PaperError> {
        if self.paper.only_looks {
            return Ok(());
        }
        let request = RequestOptions { is_read: true, ..RequestOptions::default() };
        self.change(&request, |_, _, _| Ok((Outcome::default(), ()))).map(drop)
    }

    /// Runs `work` on the account while holding the account's lock, and returns once the result is
    /// durable. Retries if another process writes first.
    pub(crate) fn change<T>(
        &mut self,
        request: &RequestOptions<'_>,
        work: impl Fn(&Engine<'_>, &mut Account, Timestamp) -> Result<(Outcome, T), PaperError>,
    ) -> Result<Changed<T>, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let (mut tries, mut portions) = (0, 0);
        while tries < TRIES_MAX {
            // Reads rarely write, so they take the cross-process lock only on a retry. If the lock
            // cannot be taken, the attempt proceeds without it.
            let lock = (!request.is_read || tries > 0).then(|| paper.accounts.journal_lock(id).ok());
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
            drop(lock);
        }
        Err(PaperError::Contended { account: id.0 })
    }

    /// Returns the market data feed as of a moment.
    pub(crate) fn feed(&mut self, moment: Moment) -> Result<StoreFeed<'_>, StoreError> {
        self.paper.feed(self.reader, moment)
    }
}
