//! What paper accounts contribute to levels: what each was worth at the end of days in Hong Kong, and on which days its orders were
//! first filled. An account that nobody asks about is played on in memory alone, so that it stays where it is.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use market::{Date, Market, Timestamp};
use store::{AccountId, JournalHead, PaperAssets, PaperTally, Reader, TallyDays};
use trading::{Account, Currency, Engine, Entry, Feed, MarketView, Money};

use crate::PaperError;
use crate::service::{Moment, Paper};

impl Paper {
    /// Works out what accounts contribute, and keeps it, all of them in one transaction. One of which that cannot be done is told to the
    /// log, and hinders no other.
    pub fn tally(
        &self,
        ids: &[AccountId],
        days: &TallyDays,
        (reader, moment): (&mut Reader, Moment),
    ) -> Result<(), PaperError> {
        let mut tallies = Vec::new();
        for id in ids {
            match self.tally_of(*id, days, (&mut *reader, moment)) {
                Ok(tally) => tallies.extend(tally),
                Err(error) => tracing::error!(%error, account = id.0, "cannot tally a paper account"),
            }
        }
        if !tallies.is_empty() {
            self.accounts.put_paper_tallies(&tallies)?;
        }
        Ok(())
    }

    /// Accounts that are to be tallied on a day: those after a number, at most so many.
    pub fn untallied(&self, today: Date, after: AccountId, limit: u32) -> Result<Vec<AccountId>, PaperError> {
        Ok(self.accounts.untallied_journals(today, after, limit)?)
    }

    /// Whether there is nothing to be tallied of an account on a day.
    pub fn is_tallied(&self, id: AccountId, today: Date) -> Result<bool, PaperError> {
        Ok(self.accounts.is_tallied(id, today)?)
    }

    /// Forgets all tallies: paper accounts contribute nothing.
    pub fn drop_tallies(&self) -> Result<(), PaperError> {
        Ok(self.accounts.drop_paper_tallies()?)
    }

    fn tally_of(
        &self,
        id: AccountId,
        days: &TallyDays,
        (reader, moment): (&mut Reader, Moment),
    ) -> Result<Option<PaperTally>, PaperError> {
        let Some(head) = self.accounts.journal_head(id)? else { return Ok(None) };
        let feed = self.feed(reader, moment)?;
        let engine = Engine::new(&feed, self.tables());
        let ends: Vec<(Date, Timestamp)> =
            days.ends.iter().filter_map(|day| Some((*day, end_of(*day, &feed)?))).collect();
        let mut replay = self.replay(id, head, ends.first().map(|(_, at)| *at))?;
        let mut assets = Vec::new();
        for (day, at) in ends {
            if replay.play_to(&engine, at) {
                assets.push(PaperAssets { day, amounts: worth(&replay.account, &engine.view(at)) });
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

    /// The account before the first of some instants.
    fn replay(
        &self,
        id: AccountId,
        head: JournalHead,
        first: Option<Timestamp>,
    ) -> Result<Replay, PaperError> {
        let horizon = head.horizon;
        if first.is_some_and(|first| horizon <= first) {
            // As it is, it has not come so far, and its journal need not be read.
            let account = self.described(id)?;
            if account.entries() == head.last_number {
                return Ok(Replay { account, rest: Vec::new().into_iter().peekable(), horizon });
            }
        }
        let mut entries = self.journal(id)?;
        // What is added meanwhile is not looked at.
        entries.truncate(usize::try_from(head.last_number).unwrap_or(usize::MAX));
        Ok(Replay { account: Account::default(), rest: entries.into_iter().peekable(), horizon })
    }
}

/// An account on its way through its journal, and beyond the end of it as the market has it.
struct Replay {
    account: Account,
    rest: Peekable<IntoIter<Entry>>,
    /// How far the account has come by itself.
    horizon: Timestamp,
}

impl Replay {
    /// Whether the account had begun by an instant.
    fn play_to(&mut self, engine: &Engine<'_>, at: Timestamp) -> bool {
        while let Some(entry) = self.rest.next_if(|entry| entry.at.is_none_or(|then| then <= at)) {
            self.account.apply(&entry);
        }
        if self.account.began().is_none() {
            return false;
        }
        if self.rest.peek().is_none() && self.horizon < at {
            self.account.set_horizon(Some(self.horizon));
            engine.advance(&mut self.account, at);
        }
        true
    }
}

/// The last second of a day in Hong Kong. The next one is that of the roll, which may pay dividends on prices that are still with them.
fn end_of(day: Date, feed: &dyn Feed) -> Option<Timestamp> {
    let midnight = feed.venue(Market::Hk).zone().midnight(day.tomorrow().ok()?);
    Some(Timestamp(midnight.0 - 1))
}

/// Cash and positions by currency, in ten-thousandths. Not converted: the rate of a day may come later.
fn worth(account: &Account, view: &MarketView<'_>) -> Vec<(String, i64)> {
    let mut totals: BTreeMap<Currency, Money> = account.currencies().collect();
    totals.entry(Currency::HKD).or_default();
    for (symbol, position) in account.positions() {
        let value = position.value(view.mark(symbol), account.settings().cost);
        *totals.entry(position.currency).or_default() += value;
    }
    totals.into_iter().map(|(currency, total)| (currency.to_string(), total.to_ten_thousandths())).collect()
}

/// How many orders have their first fill booked on each day, from one on: an order counts once, however many fills it has.
fn first_fills(account: &Account, from: Date) -> Vec<(Date, u32)> {
    let mut counts: BTreeMap<Date, u32> = BTreeMap::new();
    let filled = account.orders().iter().filter_map(|order| order.fills.first());
    for fill in filled.filter(|fill| fill.day >= from) {
        *counts.entry(fill.day).or_default() += 1;
    }
    counts.into_iter().collect()
}
