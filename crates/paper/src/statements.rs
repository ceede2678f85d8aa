//! Creates account statements from journals when they are due, and stores, lists and reads them.
//!
//! A statement is created only once the journal's horizon has reached the statement's instant,
//! because no entry before that instant can then be added. The background runner creates the
//! statements of accounts that have reached a due date. A request for the list first advances the
//! account to now. An idle account is not advanced, so its statements are not created until its
//! next request.

use std::ops::ControlFlow;

use market::{Date, Market, Symbol, Timestamp, Zone};
use store::{
    AccountId, JournalHead, NewStatement, Reader, Security, StatementBatch, StatementKey, StatementQuery,
};
use trading::statement::{Statement, StatementKind, made_at, statements};
use trading::{Feed, Outcome};

use crate::PaperError;
use crate::account::book::{self, TRIES_MAX};
use crate::account::{PaperAccount, RequestOptions};
use crate::clock::Clock;
use crate::feed::StoreFeed;
use crate::service::Paper;
use crate::statement_document::{self, Holder, SecurityNames, StatementDocument};

/// Maximum number of statements written in one transaction.
const TOGETHER_MAX: usize = 256;

/// Identifies one of an account's statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementId {
    pub kind: StatementKind,
    pub date: Date,
}

/// Selects statements. Results are sorted newest first.
#[derive(Clone, Copy, Debug)]
pub struct StatementList {
    pub kind: StatementKind,
    /// Earliest date, inclusive.
    pub from: Date,
    pub skip: u32,
    pub limit: u32,
}

/// Statements as of an instant, including statements that are not stored yet.
#[derive(Clone, Debug)]
pub(crate) struct SeenStatements {
    /// Statement ids, newest first.
    pub(crate) listed: Vec<StatementId>,
    made: Vec<(StatementId, StatementDocument)>,
}

impl PaperAccount<'_> {
    /// Lists the account's statements as of now, after creating the statements that are due. Does
    /// nothing for an account that has had no request.
    pub fn statements(&mut self, list: &StatementList) -> Result<Vec<StatementId>, PaperError> {
        if self.paper.only_looks {
            return Ok(self.look_at_statements(list)?.listed);
        }
        let moment = self.clock.moment(self.id, None);
        let now = moment.as_of.now();
        if self.paper.accounts.statement_due(self.id)?.is_none_or(|due| due <= now) {
            let mut account = self.paper.at(self.id, self.reader, &moment);
            account.bring_to()?;
            account.make_statements()?;
        }
        self.paper.listed(self.id, list, now)
    }

    /// Returns the content of a statement as of now, or `None` if the statement had not been
    /// created by then.
    pub fn statement(&mut self, of: StatementId) -> Result<Option<Vec<u8>>, PaperError> {
        let moment = self.clock.moment(self.id, None);
        let (paper, id, now) = (self.paper, self.id, moment.as_of.now());
        if !paper.only_looks {
            return paper.stored_statement(id, of, now);
        }
        let list = StatementList { kind: of.kind, from: of.date, skip: 0, limit: u32::MAX };
        let seen = paper.at(id, self.reader, &moment).look_at_statements(&list)?;
        paper.seen_statement(id, of, &seen, now)
    }

    /// Like [`PaperAccount::statements`], but creates missing statements only in memory.
    pub(crate) fn look_at_statements(&mut self, list: &StatementList) -> Result<SeenStatements, PaperError> {
        let (paper, id, moment) = (self.paper, self.id, self.clock.moment(self.id, None));
        let now = moment.as_of.now();
        let all = StatementList { kind: StatementKind::Daily, from: Date::ZERO, skip: 0, limit: 1 };
        let last = paper.listed(id, &all, now)?.first().map(|last| last.date);
        let from = last.and_then(|date| date.tomorrow().ok());
        let made: Vec<Statement> = if paper.standing(id)?.horizon.is_none() {
            Vec::new()
        } else {
            paper.at(id, self.reader, &moment).look(|seen| {
                let mut made = Vec::new();
                let view = &seen.reading.view;
                statements(seen.entries, (view.feed, view.tables), from, now, &mut |together| {
                    made.extend(together);
                    ControlFlow::Continue(())
                });
                made
            })?
        };
        let (holder, zone) = (paper.holder(id)?, Zone::of(Market::Hk));
        let mut documents = Vec::new();
        for statement in made.iter().filter(|made| made.kind == list.kind && made.date >= list.from) {
            let known = names_of(statement, self.reader)?;
            let names = |symbol: &Symbol| {
                let found = known.iter().find(|security| security.symbol == *symbol);
                security_names(found, symbol)
            };
            let of = StatementId { kind: statement.kind, date: statement.date };
            documents.push((of, StatementDocument::of(statement, &holder, &zone, &names)));
        }
        documents.reverse();
        let mut listed: Vec<StatementId> = documents.iter().map(|(of, _)| *of).collect();
        let stored = StatementList { skip: 0, limit: list.skip.saturating_add(list.limit), ..*list };
        listed.extend(paper.listed(id, &stored, now)?);
        let listed = listed.into_iter().skip(list.skip as usize).take(list.limit as usize).collect();
        Ok(SeenStatements { listed, made: documents })
    }

    /// Advances the account to now and stores its horizon. Does nothing before the account's first
    /// request.
    fn bring_to(&mut self) -> Result<(), PaperError> {
        let request = RequestOptions { is_read: true, keeps_head: true, ..RequestOptions::default() };
        let changed = self.change(&request, |engine, account, now| {
            let has_begun = account.began().is_some();
            Ok((if has_begun { engine.advance(account, now) } else { Outcome::default() }, ()))
        });
        changed.map(drop)
    }

    /// Creates every statement that is due by the journal's horizon.
    fn make_statements(&mut self) -> Result<(), PaperError> {
        let (paper, id, moment) = (self.paper, self.id, self.clock.moment(self.id, None));
        for _ in 0..TRIES_MAX {
            let Some((head, entries)) = book::read_all(&paper.accounts, id)? else { return Ok(()) };
            let last = paper.accounts.last_statement(id, StatementKind::Daily.number())?;
            let holder = paper.holder(id)?;
            let feed = self.feed(moment)?;
            let mut maker = Maker { paper, feed: &feed, id, holder, head, last, made: Vec::new() };
            let mut broken = None;
            let from = last.and_then(|date| date.tomorrow().ok());
            let next =
                statements(
                    &entries,
                    (&feed, paper.tables()),
                    from,
                    head.horizon,
                    &mut |together| match maker.add(together) {
                        Ok(true) => ControlFlow::Continue(()),
                        stopped => {
                            broken = Some(stopped);
                            ControlFlow::Break(())
                        }
                    },
                );
            let is_kept = match (broken, next) {
                (Some(stopped), _) => stopped?,
                (None, Some(next)) => maker.write_due(next)?,
                (None, None) => true,
            };
            if is_kept {
                return Ok(());
            }
        }
        Err(PaperError::Contended { account: id.0 })
    }
}

impl Paper {
    /// Creates the statements that are due by each journal's horizon, without advancing the
    /// accounts. A failure is logged and does not affect other accounts.
    pub fn make_due_statements(&self, ids: &[AccountId], reader: &mut Reader, clock: &dyn Clock) {
        for id in ids {
            if let Err(error) = self.at(*id, reader, clock).make_statements() {
                tracing::error!(%error, account = id.0, "cannot create the statements of a paper account");
            }
        }
    }

    /// Returns up to `limit` accounts with due statements, in order of id, starting after `after`.
    pub fn with_statements_due(&self, after: AccountId, limit: u32) -> Result<Vec<AccountId>, PaperError> {
        Ok(self.accounts.accounts_with_statements_due(after, limit)?)
    }

    /// Returns the content of a stored statement, or `None` if the statement was not created by the
    /// given instant.
    pub(crate) fn stored_statement(
        &self,
        id: AccountId,
        of: StatementId,
        made_by: Timestamp,
    ) -> Result<Option<Vec<u8>>, PaperError> {
        let key = StatementKey { kind: of.kind.number(), date: of.date };
        let stored = self.accounts.statement(id, key)?.filter(|(made_at, _)| *made_at <= made_by);
        let unreadable = || PaperError::Statement { account: id.0, date: of.date };
        stored.map(|(_, packed)| statement_document::decode(&packed).ok_or_else(unreadable)).transpose()
    }

    /// Returns the content of a statement that [`PaperAccount::look_at_statements`] listed.
    pub(crate) fn seen_statement(
        &self,
        id: AccountId,
        of: StatementId,
        seen: &SeenStatements,
        made_by: Timestamp,
    ) -> Result<Option<Vec<u8>>, PaperError> {
        match seen.made.iter().find(|(known, _)| *known == of) {
            Some((_, document)) => Ok(serde_json::to_vec(document).ok()),
            None => self.stored_statement(id, of, made_by),
        }
    }

    fn listed(
        &self,
        id: AccountId,
        list: &StatementList,
        made_by: Timestamp,
    ) -> Result<Vec<StatementId>, PaperError> {
        let StatementList { kind, from, skip, limit } = *list;
        let query = StatementQuery { kind: kind.number(), from, made_by, skip, limit };
        let listed = self.accounts.statements(id, &query)?;
        Ok(listed.into_iter().map(|(date, _)| StatementId { kind, date }).collect())
    }

    fn holder(&self, id: AccountId) -> Result<Holder, PaperError> {
        let name = self.accounts.account(id)?.map(|account| account.name).unwrap_or_default();
        Ok(Holder { number: id.0, name })
    }
}

/// Collects statements and stores them in batches.
struct Maker<'a, 'f> {
    paper: &'a Paper,
    feed: &'a StoreFeed<'f>,
    id: AccountId,
    holder: Holder,
    head: JournalHead,
    /// Date of the last stored daily statement.
    last: Option<Date>,
    made: Vec<NewStatement>,
}

impl Maker<'_, '_> {
    /// Adds the statements of one date. Returns `false` if the journal was truncated concurrently
    /// or another process stored statements.
    fn add(&mut self, together: Vec<Statement>) -> Result<bool, PaperError> {
        let (feed, account) = (self.feed, self.id.0);
        let zone = feed.venue(Market::Hk).zone();
        let names = |symbol: &Symbol| security_names(feed.stored_security(symbol).as_ref(), symbol);
        let mut date = None;
        for statement in &together {
            let document = StatementDocument::of(statement, &self.holder, zone, &names);
            let long = || PaperError::StatementLong { account, date: statement.date };
            let document = statement_document::encode(&document).ok_or_else(long)?;
            let key = StatementKey { kind: statement.kind.number(), date: statement.date };
            self.made.push(NewStatement { key, made_at: statement.made_at, document });
            date = Some(statement.date);
        }
        match date.and_then(|date| date.tomorrow().ok()) {
            Some(next) if self.made.len() >= TOGETHER_MAX => self.write_due(next),
            _ => Ok(true),
        }
    }

    /// Stores the collected statements. `next` is the first date that was not examined. Returns
    /// `false` if another process changed the journal or the statements.
    fn write_due(&mut self, next: Date) -> Result<bool, PaperError> {
        // If reading a price failed, the statements are wrong and must not be stored.
        self.feed.checked(())?;
        let daily = StatementKind::Daily.number();
        let batch = StatementBatch {
            account: self.id,
            of: self.head,
            after: (daily, self.last),
            statements: &self.made,
            next_at: made_at(self.feed.venue(Market::Hk).zone(), next),
        };
        let is_kept = self.paper.accounts.put_statements(&batch)?;
        let dailies = self.made.iter().filter(|made| made.key.kind == daily);
        self.last = dailies.map(|made| made.key.date).max().or(self.last);
        self.made.clear();
        Ok(is_kept)
    }
}

/// Returns the names of a security. A missing English name falls back to another language, then to
/// the ticker.
fn security_names(security: Option<&Security>, symbol: &Symbol) -> SecurityNames {
    let Some(Security { name_en, name_cn, name_hk, .. }) = security else {
        return SecurityNames { en: symbol.ticker().to_owned(), ..SecurityNames::default() };
    };
    let [en, cn, hk] = [name_en, name_cn, name_hk].map(|name| name.clone().unwrap_or_default());
    let known = [&en, &cn, &hk].into_iter().find(|name| !name.is_empty()).cloned();
    SecurityNames { en: known.unwrap_or_else(|| symbol.ticker().to_owned()), cn, hk }
}

/// Returns the stored security records of a statement's holdings.
fn names_of(statement: &Statement, reader: &mut Reader) -> Result<Vec<Security>, PaperError> {
    let mut known = Vec::new();
    for line in &statement.holdings {
        known.extend(reader.view().security(&line.symbol)?);
    }
    Ok(known)
}
