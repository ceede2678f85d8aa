//! Contributions of paper accounts to levels: account values at the end of days in Hong Kong, and
//! the days on which orders were first filled. An idle account is advanced only in memory, and its
//! journal does not change.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use market::{Date, Market, Timestamp};
use store::{AccountId, JournalHead, PaperAssets, PaperTally, Reader, TallyDays};
use trading::{Account, Currency, Engine, Entry, Feed, MarketView, Money};

use crate::PaperError;
use crate::account::{PaperAccount, book};
use crate::clock::Clock;
use crate::service::Paper;

impl Paper {
    /// Computes the contributions of accounts and stores them in one transaction. A failure is
    /// logged and does not affect other accounts. May read whole journals, one page at a time, so
    /// call it only from a background job.
    pub fn tally(
        &self,
        ids: &[AccountId],
        days: &TallyDays,
        reader: &mut Reader,
        clock: &dyn Clock,
    ) -> Result<(), PaperError> {
        let mut tallies = Vec::new();
        for id in ids {
            tallies.extend(self.at(*id, reader, clock).logged_tally(days, TallyLimit::NONE));
        }
        self.put_tallies(&tallies)
    }

    fn put_tallies(&self, tallies: &[PaperTally]) -> Result<(), PaperError> {
        if !tallies.is_empty() {
            self.accounts.put_paper_tallies(tallies)?;
        }
        Ok(())
    }

    /// Returns up to `limit` accounts without a tally on a day, in order of id, starting after
    /// `after`.
    pub fn untallied(&self, today: Date, after: AccountId, limit: u32) -> Result<Vec<AccountId>, PaperError> {
        Ok(self.accounts.untallied_journals(today, after, limit)?)
    }

    /// Returns whether an account needs no tally on a day, because it has a tally for that day or
    /// no journal.
    pub fn is_tallied(&self, id: AccountId, today: Date) -> Result<bool, PaperError> {
        Ok(self.accounts.is_tallied(id, today)?)
    }

    /// Deletes all tallies, so that paper accounts contribute nothing.
    pub fn drop_tallies(&self) -> Result<(), PaperError> {
        Ok(self.accounts.drop_paper_tallies()?)
    }

    /// Creates a replay whose state is not later than the instant `first`. Returns `None` if the
    /// journal has more entries than the limit.
    fn replay(
        &self,
        id: AccountId,
        head: JournalHead,
        first: Option<Timestamp>,
        limit: TallyLimit,
    ) -> Result<Option<Replay<'_>>, PaperError> {
        let page = Vec::new().into_iter().peekable();
        let portions = limit.portions;
        if first.is_some_and(|first| head.horizon <= first) {
            // The account has not passed the first instant, so the replay starts from the current
            // state and does not read the journal.
            let account = self.described(id)?;
            if account.entries() == head.last_number {
                return Ok(Some(Replay {
                    paper: self,
                    id,
                    account,
                    page,
                    read: head.last_number,
                    head,
                    portions,
                }));
            }
        }
        let account = Account::default();
        let is_short = head.last_number <= limit.entries;
        Ok(is_short.then_some(Replay { paper: self, id, account, page, read: 0, head, portions }))
    }
}

impl PaperAccount<'_> {
    /// Like [`Paper::tally`], but for one account, and limited to the work of one request. Returns
    /// `false` if the limit was exceeded or the tally failed; the background job then computes the
    /// tally.
    pub fn tally_within_request(&mut self, days: &TallyDays) -> Result<bool, PaperError> {
        let portion = &self.paper.portion;
        let limit = TallyLimit { entries: portion.replayed, portions: portion.each_request };
        let tally = self.logged_tally(days, limit);
        self.paper.put_tallies(tally.as_slice())?;
        Ok(tally.is_some())
    }

    fn logged_tally(&mut self, days: &TallyDays, limit: TallyLimit) -> Option<PaperTally> {
        let id = self.id;
        self.tally_of(days, limit).unwrap_or_else(|error| {
            tracing::error!(%error, account = id.0, "cannot tally a paper account");
            None
        })
    }

    /// Computes a tally. Returns `None` if there is nothing to tally or the limit is exceeded.
    fn tally_of(&mut self, days: &TallyDays, limit: TallyLimit) -> Result<Option<PaperTally>, PaperError> {
        let (paper, id, moment) = (self.paper, self.id, self.clock.moment(self.id, None));
        let Some(head) = paper.accounts.journal_head(id)? else { return Ok(None) };
        let feed = self.feed(moment)?;
        let engine = Engine::new(&feed, paper.tables());
        let ends: Vec<(Date, Timestamp)> =
            days.ends.iter().filter_map(|day| Some((*day, end_of(*day, &feed)?))).collect();
        let first = ends.first().map(|(_, at)| *at);
        let Some(mut replay) = paper.replay(id, head, first, limit)? else { return Ok(None) };
        let mut assets = Vec::new();
        for (day, at) in ends {
            match replay.play_to(&engine, at)? {
                Played::Begun => {
                    assets.push(PaperAssets { day, amounts: worth(&replay.account, &engine.view(at)) });
                }
                Played::NotBegun => {}
                Played::Unfinished => return Ok(None),
            }
        }
        let tally = PaperTally {
            account: id,
            today: days.today,
            revision: head.revision,
            assets,
            orders_from: days.orders_from,
            orders: first_fills(&replay.account, days.orders_from),
        };
        Ok(Some(feed.checked(tally)?))
    }
}

/// Maximum work for one tally.
#[derive(Clone, Copy, Debug)]
struct TallyLimit {
    /// Maximum number of journal entries to read.
    entries: u64,
    /// Maximum number of portions by which to advance the account past its journal.
    portions: u32,
}

impl TallyLimit {
    const NONE: TallyLimit = TallyLimit { entries: u64::MAX, portions: u32::MAX };
}

/// Replays an account's journal, with one page in memory at a time, and then advances the account
/// past the end of the journal.
struct Replay<'a> {
    paper: &'a Paper,
    id: AccountId,
    account: Account,
    page: Peekable<IntoIter<Entry>>,
    /// Number of the last entry that was read.
    read: u64,
    /// Journal head at the start. Entries appended after this head are ignored.
    head: JournalHead,
    /// Remaining portions of work.
    portions: u32,
}

/// Whether an account had its first request by an instant.
enum Played {
    Begun,
    NotBegun,
    /// The work limit was exceeded, or the journal was truncated concurrently.
    Unfinished,
}

impl Replay<'_> {
    fn play_to(&mut self, engine: &Engine<'_>, at: Timestamp) -> Result<Played, PaperError> {
        loop {
            if !self.fill_page()? {
                return Ok(Played::Unfinished);
            }
            let Some(entry) = self.page.next_if(|entry| entry.at.is_none_or(|then| then <= at)) else {
                break;
            };
            self.account.apply(&entry);
        }
        if self.account.began().is_none() {
            return Ok(Played::NotBegun);
        }
        if self.page.peek().is_none() && self.head.horizon < at {
            self.account.set_horizon(Some(self.head.horizon));
            while self.account.horizon() < Some(at) {
                let Some(left) = self.portions.checked_sub(1) else { return Ok(Played::Unfinished) };
                self.portions = left;
                self.paper.portion.advance(engine, &mut self.account, at);
            }
        }
        Ok(Played::Begun)
    }

    /// Reads the next page if the current page is exhausted. Does nothing at the end of the
    /// journal. Returns `false` if the journal was truncated.
    fn fill_page(&mut self) -> Result<bool, PaperError> {
        if self.page.peek().is_some() || self.read >= self.head.last_number {
            return Ok(true);
        }
        let mut entries = book::read(&self.paper.accounts, self.id, self.read)?;
        entries.retain(|entry| entry.number <= self.head.last_number);
        let Some(last) = entries.last() else {
            let is_whole =
                self.paper.accounts.journal_head(self.id)?.is_some_and(|now| now.follows(&self.head));
            let short = PaperError::Short { account: self.id.0, number: self.read };
            return if is_whole { Err(short) } else { Ok(false) };
        };
        self.read = last.number;
        self.page = entries.into_iter().peekable();
        Ok(true)
    }
}

/// Returns the last second of a day in Hong Kong. The daily roll runs in the next second, and may
/// pay dividends that the prices still include.
fn end_of(day: Date, feed: &dyn Feed) -> Option<Timestamp> {
    let midnight = feed.venue(Market::Hk).zone().midnight(day.tomorrow().ok()?);
    Some(Timestamp(midnight.0 - 1))
}

/// Returns the value of cash and positions by currency, in ten-thousandths. Amounts are not
/// converted, because a day's exchange rate may be reported later.
fn worth(account: &Account, view: &MarketView<'_>) -> Vec<(String, i64)> {
    let mut totals: BTreeMap<Currency, Money> = account.currencies().collect();
    totals.entry(Currency::HKD).or_default();
    for (symbol, position) in account.positions() {
        let value = position.value(view.mark(symbol), account.settings().cost);
        *totals.entry(position.currency).or_default() += value;
    }
    totals.into_iter().map(|(currency, total)| (currency.to_string(), total.to_ten_thousandths())).collect()
}

/// Counts orders by the day on which their first fill is booked, starting at `from`. Each order is
/// counted once, regardless of its number of fills.
fn first_fills(account: &Account, from: Date) -> Vec<(Date, u32)> {
    let mut counts: BTreeMap<Date, u32> = BTreeMap::new();
    let filled = account.orders().iter().filter_map(|order| order.fills.first());
    for fill in filled.filter(|fill| fill.day >= from) {
        *counts.entry(fill.day).or_default() += 1;
    }
    counts.into_iter().collect()
}
