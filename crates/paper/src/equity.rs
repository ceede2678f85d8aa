//! End-of-day account values: the holdings from `equity_log.rs`, valued at each day's closing
//! prices.
//!
//! Values are not stored. Holdings are cached until the journal is truncated, and closes
//! (`caches.rs`) for one store version. A request reads the journal entries added since the
//! previous request, and computes a value for each point.

use std::iter::successors;
use std::sync::PoisonError;

use market::{Date, Market, Price, Symbol, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use store::AccountId;
use trading::performance::{Curve, CurvePoint, Ratio};
use trading::{
    Account, CostMethod, Currency, Engine, Entry, Fraction, HkdAmount, MarketView, Money, Position, Rate,
    Refusal,
};

use crate::PaperError;
use crate::account::PaperAccount;
use crate::clock::Moment;
use crate::commands::ensure_open;
use crate::equity_log::{EquityDates, Holdings};
use crate::feed::StoreFeed;
use crate::performance_log::PerformanceLog;
use crate::service::Paper;

/// Markets that accounts can trade in.
const MARKETS: [Market; 2] = [Market::Hk, Market::Us];
/// Maximum number of journal entries read by one request. The next request reads the entries after
/// them.
const ENTRIES_EACH_REQUEST: u64 = 50_000;

/// Daily values of an account, in HKD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Equity {
    pub currency: &'static str,
    /// One point per past date on which a market was open, oldest first, followed by a point for
    /// now.
    pub points: Vec<EquityPoint>,
    /// Why some dates have no point, which is always a missing exchange rate.
    pub missing: Option<String>,
    /// Largest drawdown of the points. Null while nothing was put into the account.
    pub max_drawdown: Option<String>,
    /// Whether the points begin on the date of the account's first request.
    #[serde(skip)]
    pub begins_with_account: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EquityPoint {
    pub date: String,
    /// Valuation time in Unix seconds: 09:00 in Hong Kong on the next date, or now.
    pub at: String,
    /// Whether the date is over, so that the value uses closing prices.
    pub is_over: bool,
    pub net_assets: String,
    pub cash: String,
    pub market_value: String,
    /// Value relative to the first one, such as 1.05. Deposits, withdrawals, corrections and entered
    /// positions do not change it. Null while nothing was put into the account.
    pub growth: Option<String>,
    /// Loss since the highest value so far, such as 0.2, computed like `growth`.
    pub drawdown: Option<String>,
    /// Adjusted close of the requested benchmark relative to its first one. Null without a
    /// benchmark, and on dates before its first close.
    pub benchmark: Option<String>,
}

impl PaperAccount<'_> {
    /// Returns the account's value on each of the last `days` dates, starting no earlier than the
    /// date of its first request. Does not write to the journal.
    pub fn equity(&mut self, days: u32) -> Result<Equity, PaperError> {
        let (paper, id) = (self.paper, self.id);
        let mut account = paper.described(id)?;
        let ticket = paper.place(id).lock().last_ticket;
        if let Some(ticket) = ticket {
            // The entries are read from the journal, so wait until the pending entries are durable.
            paper.committer.wait_for(&paper.accounts, ticket);
        }
        let moment = self.moment(&account);
        let now = moment.as_of.now();
        let mut unwritten = Vec::new();
        let is_past = account.horizon().is_some_and(|horizon| horizon > now);
        if is_past {
            account = Account::fold_until(&paper.journal(id)?, now);
        }
        let feed = self.feed(moment)?;
        let engine = Engine::new(&feed, paper.tables());
        if !is_past {
            unwritten = ensure_open(&engine, &mut account, id, now)?.entries;
            unwritten.extend(engine.advance(&mut account, now).entries);
        }
        let Some(began) = account.began() else { return Ok(Equity::none()) };
        let equity = paper.with_performance(id, now, &unwritten, |performance| {
            paper.points(id, (&feed, moment), (&account, began, days), (unwritten.as_slice(), performance))
        })??;
        Ok(feed.checked(equity)?)
    }

    /// Returns the number of journal entries that are not in the cache of [`PaperAccount::equity`]
    /// yet.
    pub fn equity_left(&self) -> Result<u64, PaperError> {
        let Some(head) = self.paper.accounts.journal_head(self.id)? else { return Ok(0) };
        let log = self.paper.equity_logs.of_account(self.id);
        let log = log.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(log.left(&head))
    }
}

impl Paper {
    fn points(
        &self,
        id: AccountId,
        (feed, moment): (&StoreFeed<'_>, Moment),
        (account, began, days): (&Account, Timestamp, u32),
        (unwritten, performance): (&[Entry], &PerformanceLog),
    ) -> Result<Equity, PaperError> {
        let now = moment.as_of.now();
        let of = EquityDates::of(&self.markets);
        let (first, today) = (of.date(began), of.date(now));
        let back = successors(Some(today), |date| date.yesterday().ok()).take(days as usize);
        let mut dates: Vec<Date> = back.take_while(|date| *date >= first).collect();
        dates.reverse();
        let over = today.yesterday().map_or(now, |yesterday| of.over_at(yesterday));
        let log = self.equity_logs.of_account(id);
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(head) = self.accounts.journal_head(id)? {
            let most = if self.portion.is_patient() { u64::MAX } else { ENTRIES_EACH_REQUEST };
            if let Some(at) = log.catch_up((&self.accounts, id, &head), of, over, most)? {
                return Err(PaperError::CatchingUp { at, to: over });
            }
        }
        // Add the entries that exist only in memory to a copy, so that they are not cached.
        let unwritten: Vec<Entry> =
            unwritten.iter().filter(|entry| entry.at.is_none_or(|at| at <= over)).cloned().collect();
        let log = match unwritten.is_empty() {
            true => log,
            false => {
                let mut longer = log.clone();
                drop(log);
                longer.take(&unwritten, of);
                let held = |date| longer.at_end(date).map(|held| &**held);
                return Ok(self.valued(feed, (account, now), (dates.as_slice(), first, performance), held));
            }
        };
        let held = |date| log.at_end(date).map(|held| &**held);
        Ok(self.valued(feed, (account, now), (dates.as_slice(), first, performance), held))
    }

    /// Computes one point per past date on which a market was open, and one point for now. `first`
    /// is the date of the account's first request.
    fn valued<'h>(
        &self,
        feed: &StoreFeed<'_>,
        (account, now): (&Account, Timestamp),
        (dates, first, performance): (&[Date], Date, &PerformanceLog),
        held: impl Fn(Date) -> Option<&'h Holdings>,
    ) -> Equity {
        let of = EquityDates::of(&self.markets);
        let today = of.date(now);
        let mut equity = Equity::none();
        let range = (dates.first().copied().unwrap_or(today), today);
        let mut growth = Growth { performance, curve: Curve::default(), last: None, deepest: None };
        for date in dates {
            let is_over = *date < today;
            let is_open = MARKETS
                .iter()
                .any(|market| self.markets.history.venues().of(*market).calendar().kind(*date).is_some());
            if is_over && !is_open {
                continue;
            }
            let at = of.over_at(*date).min(now);
            let view = MarketView::new(feed, self.tables(), at);
            let worth = match held(*date).filter(|_| is_over) {
                Some(held) => at_close(held, &view, feed, *date, range),
                None => at_mark(account, &view),
            };
            match worth {
                Ok((cash, market_value)) => {
                    let point = EquityPoint::of(*date, at, is_over, cash, market_value);
                    let value = cash.plus(market_value).to(Rate::ONE);
                    let curve = growth.of(&view, *date, value, range.0 == first);
                    equity.points.push(point.on(curve));
                }
                Err(refusal) => equity.missing = Some(refusal.text),
            }
        }
        equity.begins_with_account = range.0 == first;
        equity.max_drawdown = growth.deepest.map(|drawdown| drawdown.text().to_string());
        equity
    }
}

impl Equity {
    fn none() -> Equity {
        Equity {
            currency: "HKD",
            points: Vec::new(),
            missing: None,
            max_drawdown: None,
            begins_with_account: false,
        }
    }
}

/// The curve of the account's value without capital movements.
struct Growth<'a> {
    performance: &'a PerformanceLog,
    curve: Curve,
    /// Date of the last point.
    last: Option<Date>,
    deepest: Option<Ratio>,
}

impl Growth<'_> {
    /// Adds a point. If the points do not begin with the account (`is_whole`), the first one is the
    /// start of the curve.
    fn of(&mut self, view: &MarketView<'_>, date: Date, value: Money, is_whole: bool) -> Option<CurvePoint> {
        let last = self.last.replace(date);
        if last.is_none() && !is_whole {
            self.curve = Curve::from(value);
            return self.curve.push(value, Money::ZERO);
        }
        let amounts = self.performance.capital_between(last, date);
        // A currency without a rate has no amount left, because the account has a value.
        let in_hkd = amounts.filter_map(|(currency, amount)| Some(view.rate(currency).ok()?.convert(amount)));
        let capital = in_hkd.fold(HkdAmount::ZERO, HkdAmount::plus).to(Rate::ONE);
        let point = self.curve.push(value, capital);
        self.deepest = self.deepest.max(point.map(|point| point.drawdown));
        point
    }
}

impl EquityPoint {
    fn of(date: Date, at: Timestamp, is_over: bool, cash: HkdAmount, market_value: HkdAmount) -> EquityPoint {
        let text = |amount: HkdAmount| amount.to(Rate::ONE).text().to_string();
        EquityPoint {
            date: date.to_string(),
            at: at.0.to_string(),
            is_over,
            net_assets: text(cash.plus(market_value)),
            cash: text(cash),
            market_value: text(market_value),
            growth: None,
            drawdown: None,
            benchmark: None,
        }
    }

    fn on(self, curve: Option<CurvePoint>) -> EquityPoint {
        EquityPoint {
            growth: curve.map(|point| point.growth.text().to_string()),
            drawdown: curve.map(|point| point.drawdown.text().to_string()),
            ..self
        }
    }
}

/// Returns the cash, and the value of the holdings at a date's closes. When a date is over, the
/// next day has begun in both markets: splits on that day are applied and dividends are booked. The
/// closes are adjusted for both.
fn at_close(
    held: &Holdings,
    view: &MarketView<'_>,
    feed: &StoreFeed<'_>,
    date: Date,
    range: (Date, Date),
) -> Result<(HkdAmount, HkdAmount), Refusal> {
    let next = date.tomorrow().unwrap_or(date);
    let price = |symbol: &Symbol| {
        let close = feed.close_in(symbol, next, range).or_else(|| view.mark(symbol))?;
        let of_symbol =
            held.changes.iter().filter(|change| change.ex_date > date && change.symbol == *symbol);
        let units = of_symbol.fold(Fraction::whole(close.0.into()), |units, change| change.applied(units));
        i64::try_from(units.round()).ok().map(Price)
    };
    let positions = held.positions.iter().map(|(symbol, position)| (symbol, position));
    valued(view, (held.cash.iter().copied(), positions, held.cost), price)
}

/// Returns the cash, and the value of the holdings at the current marks.
fn at_mark(account: &Account, view: &MarketView<'_>) -> Result<(HkdAmount, HkdAmount), Refusal> {
    let held = (account.currencies(), account.positions(), account.settings().cost);
    valued(view, held, |symbol| view.mark(symbol))
}

fn valued<'p>(
    view: &MarketView<'_>,
    (currencies, positions, cost): (
        impl Iterator<Item = (Currency, Money)>,
        impl Iterator<Item = (&'p Symbol, &'p Position)>,
        CostMethod,
    ),
    price: impl Fn(&Symbol) -> Option<Price>,
) -> Result<(HkdAmount, HkdAmount), Refusal> {
    let mut cash = HkdAmount::ZERO;
    for (currency, amount) in currencies.filter(|(_, amount)| !amount.is_zero()) {
        cash = cash.plus(view.rate(currency)?.convert(amount));
    }
    let mut market_value = HkdAmount::ZERO;
    for (symbol, position) in positions {
        let value = position.value(price(symbol), cost);
        market_value = market_value.plus(view.rate(position.currency)?.convert(value));
    }
    Ok((cash, market_value))
}
