//! Profit of an account: of the day, realised and unrealised, for each security and in total, and
//! its closed round trips. `performance_log.rs` caches what is computed from the journal.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use market::{Date, Market, Symbol, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use store::AccountId;
use trading::performance::{Profit, RoundTrip, SecurityProfit};
use trading::{Currency, Engine, Entry, Feed, HkdAmount, MarketView, Money, Rate, Refusal, exact_price};

use crate::PaperError;
use crate::account::PaperAccount;
use crate::commands::ensure_open;
use crate::feed::StoreFeed;
use crate::performance_log::{PerformanceLog, TRIPS_MAX};
use crate::service::Paper;

/// Maximum number of journal entries read by one request. The next request reads the entries after
/// them.
const ENTRIES_EACH_REQUEST: u64 = 50_000;
/// Maximum number of securities in a response. Those with a position come first.
const SECURITIES_MAX: usize = 1_000;

/// Profit of an account at a market time. Amounts are text with two decimals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Performance {
    /// Market time in Unix seconds.
    pub at: String,
    /// Sums in HKD, at the current rates. Null if a currency has no rate.
    pub totals: Option<ProfitRow>,
    /// Why there are no totals, which is always a missing exchange rate.
    pub missing: Option<String>,
    /// Whether the totals contain an amount that was converted at an approximate built-in rate.
    pub approximate: bool,
    pub currencies: Vec<CurrencyProfit>,
    /// Securities that were ever held, those with a position first; at most 1,000.
    pub securities: Vec<SecurityRow>,
    /// Number of trades that were closed since the account was opened or reset.
    pub trades_closed: u64,
    /// Number of closed trades with a profit after all charges.
    pub trades_won: u64,
    /// `trades_won` divided by `trades_closed`, such as 0.5. Null without closed trades.
    pub win_rate: Option<String>,
    /// The newest closed trades, newest first.
    pub trades: Vec<TradeRow>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProfitRow {
    pub currency: String,
    /// Profit since the last close before the market's current trading date.
    pub day: String,
    /// Profit of closed quantities at average cost, dividends and debit interest, less all charges
    /// paid so far.
    pub realised: String,
    /// Market value less average cost, before charges.
    pub unrealised: String,
    /// Sum of realised and unrealised.
    pub total: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CurrencyProfit {
    #[serde(flatten)]
    pub profit: ProfitRow,
    /// Debit interest booked so far, which is negative and part of `realised`.
    pub interest: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecurityRow {
    pub symbol: String,
    /// Number of shares held; negative for a short position, 0 for a closed one.
    pub quantity: String,
    /// Average price of the shares held. Null without a position.
    pub average_cost: Option<String>,
    /// Market price. Null if the security has none, in which case it is valued at cost.
    pub price: Option<String>,
    #[serde(flatten)]
    pub profit: ProfitRow,
}

/// A closed trade: from a position of zero to a position of zero. Partial closes belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TradeRow {
    pub symbol: String,
    /// `long` or `short`.
    pub side: &'static str,
    /// Number of shares bought for a long position, or sold for a short one. Shares before a split
    /// count as shares after it.
    pub quantity: String,
    /// Average price of the opening fills.
    pub entry_price: String,
    /// Average price of the closing fills.
    pub exit_price: String,
    /// Time of the first fill, in Unix seconds.
    pub opened_at: String,
    /// Time of the last fill, in Unix seconds.
    pub closed_at: String,
    /// Seconds from the first fill to the last one.
    pub held_s: i64,
    pub currency: String,
    pub charges: String,
    /// Dividends, cash for fractions, and rights.
    pub income: String,
    /// Result with all charges and income.
    pub profit: String,
    /// `profit` divided by the value of the opening fills, such as 0.0312.
    pub gain: Option<String>,
}

impl PaperAccount<'_> {
    /// Returns the profit of the account, and its newest `trades` closed trades. Does not write to
    /// the journal.
    pub fn performance(&mut self, trades: usize) -> Result<Performance, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let mut account = paper.described(id)?;
        let ticket = paper.place(id).lock().last_ticket;
        if let Some(ticket) = ticket {
            // The entries are read from the journal, so wait until the pending entries are durable.
            paper.committer.wait_for(&paper.accounts, ticket);
        }
        let moment = self.moment(&account);
        let now = moment.as_of.now();
        let is_past = account.horizon().is_some_and(|horizon| horizon > now);
        let feed = self.feed(moment)?;
        let engine = Engine::new(&feed, paper.tables());
        let mut unwritten = Vec::new();
        if !is_past {
            unwritten = ensure_open(&engine, &mut account, id, now)?.entries;
            unwritten.extend(engine.advance(&mut account, now).entries);
        }
        let performance = paper.with_performance(id, now, &unwritten, |log| {
            Performance::of(log, (&feed, &engine.view(now)), trades)
        })?;
        Ok(feed.checked(performance)?)
    }

    /// Returns the number of journal entries that are not in the cache of
    /// [`PaperAccount::performance`] yet.
    pub fn performance_left(&self) -> Result<u64, PaperError> {
        let Some(head) = self.paper.accounts.journal_head(self.id)? else { return Ok(0) };
        let log = self.paper.performance_logs.of_account(self.id);
        let log = log.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(log.left(&head))
    }
}

impl Paper {
    /// Runs `look` on the log of an account as of `now`, including entries that exist only in
    /// memory.
    pub(crate) fn with_performance<T>(
        &self,
        id: AccountId,
        now: Timestamp,
        unwritten: &[Entry],
        look: impl FnOnce(&PerformanceLog) -> T,
    ) -> Result<T, PaperError> {
        let head = self.accounts.journal_head(id)?;
        if head.as_ref().is_some_and(|head| head.horizon > now) {
            // The past state is read from the whole journal, and not cached.
            let mut entries = self.journal(id)?;
            let known = entries.iter().take_while(|entry| entry.at.is_none_or(|at| at <= now)).count();
            entries.truncate(known);
            let mut log = PerformanceLog::default();
            log.take(&entries, &self.markets);
            return Ok(look(&log));
        }
        let log = self.performance_logs.of_account(id);
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(head) = head {
            let most = if self.portion.is_patient() { u64::MAX } else { ENTRIES_EACH_REQUEST };
            if let Some(at) = log.catch_up((&self.accounts, id, &head), &self.markets, most)? {
                return Err(PaperError::CatchingUp { at, to: now });
            }
        }
        if unwritten.is_empty() {
            return Ok(look(&log));
        }
        // Add the entries that exist only in memory to a copy, so that they are not cached.
        let mut longer = log.clone();
        drop(log);
        longer.take(unwritten, &self.markets);
        Ok(look(&longer))
    }
}

impl Performance {
    fn of(
        log: &PerformanceLog,
        (feed, view): (&StoreFeed<'_>, &MarketView<'_>),
        trades: usize,
    ) -> Performance {
        let book = &log.book;
        let mut sums: BTreeMap<Currency, Profit> = BTreeMap::new();
        let mut interest: BTreeMap<Currency, Money> = BTreeMap::new();
        for (currency, profit) in book.interest(view.dates.of(Market::Hk)) {
            interest.insert(currency, profit.realised);
            sums.insert(currency, profit);
        }
        let mut rows = Vec::new();
        for (symbol, held) in book.securities() {
            let profit = profit_of(symbol, held, feed, view);
            let sum = sums.entry(held.facts.currency).or_default();
            *sum = sum.plus(profit);
            rows.push((held.quantity.is_zero(), SecurityRow::of(symbol, held, profit, view)));
        }
        // Stable, so that both parts remain in the order of their symbols.
        rows.sort_by_key(|(is_closed, _)| *is_closed);
        let totals = totals(&sums, view);
        let is_approximate =
            sums.iter().any(|(currency, sum)| *sum != Profit::default() && view.is_rate_builtin(*currency));
        let stats = book.stats();
        Performance {
            at: view.at.0.to_string(),
            missing: totals.as_ref().err().map(|refusal| refusal.text.clone()),
            approximate: totals.is_ok() && is_approximate,
            totals: totals.ok(),
            currencies: sums
                .iter()
                .map(|(currency, sum)| CurrencyProfit {
                    profit: ProfitRow::of(*currency, *sum),
                    interest: text(interest.get(currency).copied().unwrap_or_default()),
                })
                .collect(),
            securities: rows.into_iter().take(SECURITIES_MAX).map(|(_, row)| row).collect(),
            trades_closed: stats.closed,
            trades_won: stats.won,
            win_rate: stats.win_rate().map(|rate| rate.text().to_string()),
            trades: book.closed_trips().take(trades.min(TRIPS_MAX)).map(TradeRow::of).collect(),
        }
    }
}

fn profit_of(symbol: &Symbol, held: &SecurityProfit, feed: &StoreFeed<'_>, view: &MarketView<'_>) -> Profit {
    let today: Date = view.dates.of(symbol.market());
    let close = match held.quantity_at_open(today).is_zero() {
        true => None,
        // The price at the beginning of the date stands in for a missing close.
        false => feed.close_in(symbol, today, (today, today)).or_else(|| {
            let roll = feed.venue(symbol.market()).roll(today);
            feed.mark(symbol, roll)
        }),
    };
    held.profit(view.mark(symbol), close, today)
}

/// Returns the sums in HKD, rounded once for each part.
fn totals(sums: &BTreeMap<Currency, Profit>, view: &MarketView<'_>) -> Result<ProfitRow, Refusal> {
    let (mut day, mut realised, mut total) = (HkdAmount::ZERO, HkdAmount::ZERO, HkdAmount::ZERO);
    for (currency, sum) in sums.iter().filter(|(_, sum)| **sum != Profit::default()) {
        let rate = view.rate(*currency)?;
        day = day.plus(rate.convert(sum.day));
        realised = realised.plus(rate.convert(sum.realised));
        total = total.plus(rate.convert(sum.total()));
    }
    let [day, realised, total] = [day, realised, total].map(|amount| amount.to(Rate::ONE));
    Ok(ProfitRow::of(Currency::HKD, Profit { day, realised, unrealised: total - realised }))
}

impl ProfitRow {
    fn of(currency: Currency, profit: Profit) -> ProfitRow {
        ProfitRow {
            currency: currency.to_string(),
            day: text(profit.day),
            realised: text(profit.realised),
            unrealised: text(profit.unrealised),
            total: text(profit.total()),
        }
    }
}

impl SecurityRow {
    fn of(symbol: &Symbol, held: &SecurityProfit, profit: Profit, view: &MarketView<'_>) -> SecurityRow {
        SecurityRow {
            symbol: symbol.to_string(),
            quantity: held.quantity.to_string(),
            average_cost: held.average_cost().map(|cost| cost.to_string()),
            price: view.mark(symbol).map(|mark| exact_price(mark, held.facts.decimals).to_string()),
            profit: ProfitRow::of(held.facts.currency, profit),
        }
    }
}

impl TradeRow {
    fn of(trip: &RoundTrip) -> TradeRow {
        TradeRow {
            symbol: trip.symbol.to_string(),
            side: if trip.is_long { "long" } else { "short" },
            quantity: trip.quantity.to_string(),
            entry_price: trip.entry_price().to_string(),
            exit_price: trip.exit_price().to_string(),
            opened_at: trip.opened_at.0.to_string(),
            closed_at: trip.closed_at.0.to_string(),
            held_s: trip.held_s(),
            currency: trip.currency().to_string(),
            charges: text(trip.charges),
            income: text(trip.income),
            profit: text(trip.profit),
            gain: trip.gain().map(|gain| gain.text().to_string()),
        }
    }
}

fn text(amount: Money) -> String {
    amount.text().to_string()
}
