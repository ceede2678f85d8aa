//! Coverage endpoints, which compare stored data with the trading calendar. Coverage is returned as
//! one letter per security and day, or as the list of gaps in one security. An account sees its own
//! markets after its history floors; an operator sees everything.

use history::{AsOf, DayCoverage, DayState, Gap, GapReason, HistoryError};
use market::{Date, DayKind, Floors, Market, Symbol, Zone};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use store::{Reader, TradeDay};

use super::listing::{self, DayCounts, HiddenDays, Listing, Sight, sort_by_gaps, unknown_word};
use super::securities;
use crate::caller::Caller;
use crate::command;
use crate::directory::ListedSecurity;
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data, one_of};
use crate::kit::envelope::{self, Problem};
use crate::kit::fields::{QueryParameters, echo};
use crate::kit::{Admitted, Answer, Call, Site};
use crate::refusal::Refusal;
use crate::written::{Day, Instant};

/// Maximum number of days per request, which is the length of the longest quarter.
const DAYS_MAX: u32 = 92;
pub(super) const DAYS_DEFAULT: u32 = 91;
const ROWS_MAX: u32 = 100;
const GAPS_MAX: usize = 50;

const ORDER: Parameter = Parameter::query(
    "order",
    Kind::OneOf(&["symbol", "worst"]),
    "Sort by symbol, or by number of missing days, largest first",
)
.or(Word::Text("symbol"));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Symbol,
    /// Most missing days first, then most partial days.
    Worst,
}

impl Order {
    fn parse(named: &QueryParameters) -> Result<Order, Refusal> {
        match named.get("order") {
            None | Some("symbol") => Ok(Order::Symbol),
            Some("worst") => Ok(Order::Worst),
            Some(text) => Err(unknown_word("order", text, "symbol or worst")),
        }
    }
}

pub(super) const ROWS: Doc = Doc::new(
    Tag::Candles,
    "coverage",
    "Stored data compared with the trading calendar, one character per security and day",
)
.about("Limited to the account's markets and history range; operators see everything.")
.parameters(&[
    listing::QUERY,
    listing::MARKET,
    ORDER,
    Parameter::query("end", Kind::Date, "Last day; default: the current date in Hong Kong"),
    Parameter::query("days", Kind::Between(1, DAYS_MAX), "Number of days up to end")
        .or(Word::Number(DAYS_DEFAULT)),
    Parameter::query("after", Kind::Text, "`next` of the previous page; in symbol order, any symbol"),
    Parameter::query("limit", Kind::Between(1, ROWS_MAX), "Maximum number of securities")
        .or(Word::Number(ROWS_MAX)),
])
.answers(&[AnswerDoc::ok("The securities in the requested order", &[data::<CoverageRows>()])])
.refuses(&[BAD_REQUEST, TOO_FAST]);

pub(super) const DAYS: Doc =
    Doc::new(Tag::Candles, "coverageDays", "The days of one security, with gaps and their reasons")
        .parameters(&[
            Parameter::path("symbol", "Symbol such as 700.HK"),
            Parameter::query("start", Kind::Date, "First day; default: 92 days up to end"),
            Parameter::query("end", Kind::Date, "Last day; default: today"),
        ])
        .answers(&[AnswerDoc::ok("The days, oldest first", &[data::<CoverageDays>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND, TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
struct CoverageRows {
    start: Day,
    end: Day,
    today: Day,
    rows: Vec<CoverageRow>,
    /// Number of securities on all pages.
    total: usize,
    /// Number of securities not yet compared with the calendar, which are listed last. Each request
    /// compares some of them. Always 0 in symbol order.
    uncounted: usize,
    /// Value of `after` for the next page; null on the last page.
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CoverageRow {
    symbol: String,
    /// One character per day: c complete, p partial, m missing, - closed, . nothing expected.
    days: String,
    /// One character per day: t if trades are stored, otherwise a dot; absent if no day has trades.
    #[serde(skip_serializing_if = "Option::is_none")]
    trades: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CoverageDays {
    symbol: String,
    start: Day,
    end: Day,
    days: Vec<CoverageDay>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CoverageDay {
    date: Day,
    day: DayWord,
    daily: bool,
    /// Reason why the daily candle is missing; null if it is stored or the day has not ended.
    daily_missing: Option<&'static str>,
    /// Period of the day's intraday candles: 1m, or 5m, 15m, 30m or 60m if only coarser candles
    /// were imported.
    period: &'static str,
    minutes: u32,
    expected: u32,
    /// Number of minutes outside regular hours; null if these may include overnight minutes, which
    /// the account has no right to.
    extended: Option<u32>,
    /// Number of stored trades; null if the day has not ended.
    trades: Option<u64>,
    gaps: Vec<CoverageGap>,
    gaps_omitted: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum DayWord {
    Full,
    Half,
    Closed,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CoverageGap {
    first: Instant,
    last: Instant,
    minutes: u32,
    #[schemars(schema_with = "reasons")]
    reason: &'static str,
}

fn reasons(_: &mut SchemaGenerator) -> Schema {
    one_of(&[GapReason::NoTrades, GapReason::NotLoaded, GapReason::Unknown].map(GapReason::as_str))
}

pub(super) fn rows(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let known = ["query", "market", "order", "end", "days", "after", "limit"];
    let named = QueryParameters::parse(call.query, &known)?;
    let (listing, order) = (Listing::parse(&named)?, Order::parse(&named)?);
    let today = today(site, &admitted.caller);
    let end = named.date("end")?.unwrap_or(today);
    let start = earlier(end, named.number("days", 1..=DAYS_MAX, DAYS_DEFAULT)?)?;
    let limit = usize::try_from(named.number("limit", 1..=ROWS_MAX, ROWS_MAX)?).unwrap_or(usize::MAX);
    let (sight, directory) = (Sight::of(&admitted, site), site.directory(admitted.caller.as_of)?);
    let mut found = listing.found(&directory, &sight, true);
    let uncounted = match order {
        Order::Symbol => 0,
        Order::Worst => sort_by_gaps(&mut found, (start, end), &sight, site, DayCounts::holes, false)
            .map_err(Refusal::from)?,
    };
    let from = first_place(&named, order, &found)?;
    let page: Vec<&ListedSecurity> = found.iter().skip(from).take(limit).copied().collect();
    let rows = coverage_rows(&page, (start, end), &sight, site).map_err(Refusal::from)?;
    let through = from.saturating_add(page.len());
    let next = page.last().filter(|_| through < found.len()).map(|last| match order {
        Order::Symbol => last.symbol.as_str().to_owned(),
        Order::Worst => through.to_string(),
    });
    Ok(envelope::success(CoverageRows {
        start: Day(start),
        end: Day(end),
        today: Day(today),
        rows,
        total: found.len(),
        uncounted,
        next,
    }))
}

/// Returns the current date in Hong Kong. All markets use this date, as quota months do.
pub(super) fn today(site: &Site, caller: &Caller) -> Date {
    site.core.history.venues().of(Market::Hk).zone().date(caller.now())
}

/// Returns the index of the page's first security.
fn first_place(named: &QueryParameters, order: Order, found: &[&ListedSecurity]) -> Result<usize, Refusal> {
    let Some(text) = named.get("after") else { return Ok(0) };
    match order {
        Order::Symbol => {
            let after = command::symbol(text)?;
            Ok(found.partition_point(|one| one.symbol <= after))
        }
        Order::Worst => text.parse().map_err(|_| {
            Refusal::BadQuery(format!("after {:?} is not the `next` of a page sorted by worst", echo(text)))
        }),
    }
}

fn coverage_rows(
    page: &[&ListedSecurity],
    days: (Date, Date),
    sight: &Sight<'_>,
    site: &Site,
) -> Result<Vec<CoverageRow>, HistoryError> {
    let as_of = sight.as_of;
    let letters = site.coverage.of(&site.core, days, page, as_of)?;
    site.core.with_reader(|reader| {
        let mut rows = Vec::with_capacity(page.len());
        for (one, letters) in page.iter().zip(letters) {
            let symbol = &one.symbol;
            let floors = sight.floors(symbol.market());
            let days_shown =
                shown(&letters.unwrap_or_default(), symbol, (days, floors), site, reader, as_of)?;
            let mut traded = site.core.history.traded_days_back(reader, symbol, days.1, DAYS_MAX, as_of)?;
            traded.retain(|traded| floors.minute.is_none_or(|floor| floor <= traded.day));
            let trades = trade_letters(days, &traded);
            rows.push(CoverageRow { symbol: symbol.as_str().to_owned(), days: days_shown, trades });
        }
        Ok(rows)
    })
}

/// Masks the letters that the account may not see. No data is expected before the daily floor, and
/// only the daily candle before the minute floor.
fn shown(
    letters: &str,
    symbol: &Symbol,
    (days, floors): ((Date, Date), Floors),
    site: &Site,
    reader: &mut Reader,
    as_of: AsOf,
) -> Result<String, HistoryError> {
    let hidden = HiddenDays::of(days.0, floors);
    let partial = DayState::Partial.letter();
    let is_in_doubt = letters.chars().take(hidden.minutes).skip(hidden.all).any(|letter| letter == partial);
    let found = match is_in_doubt {
        true => {
            let range = (Some(days.0), Some(days.1));
            history::coverage(&site.core.history, reader, symbol, range, as_of)?.days
        }
        false => Vec::new(),
    };
    let has_daily = |date: Date| found.iter().any(|day| day.date == date && day.daily);
    let dates = std::iter::successors(Some(days.0), |date| date.tomorrow().ok());
    let letter = |(place, (letter, date)): (usize, (char, Date))| match letter {
        _ if place < hidden.all => DayState::NothingExpected.letter(),
        letter if letter == partial && place < hidden.minutes => {
            if has_daily(date) {
                DayState::Complete.letter()
            } else {
                DayState::Missing.letter()
            }
        }
        letter => letter,
    };
    Ok(letters.chars().zip(dates).enumerate().map(letter).collect())
}

/// Returns `t` for each day with trades and a dot for each day without, or `None` if no day in the
/// range has trades.
fn trade_letters((start, end): (Date, Date), traded: &[TradeDay]) -> Option<String> {
    let has_trades = |date: Date| traded.iter().any(|traded| traded.day == date);
    let dates = std::iter::successors(Some(start), |date| date.tomorrow().ok());
    let letters: String =
        dates.take_while(|date| *date <= end).map(|date| if has_trades(date) { 't' } else { '.' }).collect();
    letters.contains('t').then_some(letters)
}

/// Returns the first day of the range of `days` days that ends with `end`.
pub(super) fn earlier(end: Date, days: u32) -> Result<Date, Refusal> {
    let span = jiff::Span::new().days(i64::from(days.saturating_sub(1)));
    end.checked_sub(span).map_err(|_| Refusal::BadQuery(format!("there are no {days} days before {end}")))
}

pub(super) fn days(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["start", "end"])?;
    let symbol: Symbol = command::symbol(call.path_value("symbol"))?;
    let sight = Sight::of(&admitted, site);
    if !sight.is_operator {
        securities::visible(&symbol, site, &admitted).map(drop)?;
    }
    let as_of = sight.as_of;
    let venue = site.core.history.venue(&symbol);
    let end = named.date("end")?.unwrap_or_else(|| venue.zone().date(as_of.now()));
    let first = earlier(end, DAYS_MAX)?;
    let start = named.date("start")?.unwrap_or(first);
    if start > end {
        return Err(Refusal::BadQuery(format!("start {start} is after end {end}")).into());
    }
    if start < first {
        return Err(Refusal::BadQuery(format!("{start} to {end} are more than {DAYS_MAX} days")).into());
    }
    let range = (Some(start), Some(end));
    let found = site.core.with_reader(|reader| -> Result<_, HistoryError> {
        let found = history::coverage(&site.core.history, reader, &symbol, range, as_of)?;
        let traded = site.core.history.traded_days_back(reader, &symbol, end, DAYS_MAX, as_of)?;
        Ok((found, traded))
    });
    let (found, traded) = match found {
        Err(HistoryError::UnknownSecurity(_)) => return Err(Problem::not_found()),
        found => found.map_err(Refusal::from)?,
    };
    // Under a replay clock, the number of trades of an unfinished date would reveal how many trades
    // are yet to come.
    let has_passed = |date: Date| match as_of {
        AsOf::Live(_) => true,
        AsOf::Replay(now) => date < venue.zone().date(now),
    };
    let trades = |date: Date| match traded.iter().find(|traded| traded.day == date) {
        None => Some(0),
        Some(traded) => has_passed(date).then_some(traded.rows),
    };
    let floors = sight.floors(symbol.market());
    let seen = found.days.iter().filter(|day| floors.day.is_none_or(|floor| floor <= day.date));
    let describe = |day: &DayCoverage| {
        let hides_minutes = floors.minute.is_some_and(|floor| day.date < floor);
        let trades = if hides_minutes { Some(0) } else { trades(day.date) };
        let mut describe = if hides_minutes {
            described(&without_minutes(day), trades, venue.zone())
        } else {
            described(day, trades, venue.zone())
        };
        // Only US securities have overnight hours.
        if symbol.market() == Market::Us && !sight.shows_overnight() {
            describe.extended = None;
        }
        describe
    };
    let days = seen.map(describe).collect();
    Ok(envelope::success(CoverageDays {
        symbol: symbol.as_str().to_owned(),
        start: Day(start),
        end: Day(end),
        days,
    }))
}

/// Removes the intraday data of a day that is before the minute floor.
fn without_minutes(day: &DayCoverage) -> DayCoverage {
    DayCoverage { expected: 0, stored: 0, extended: 0, gaps: Vec::new(), ..day.clone() }
}

fn described(day: &DayCoverage, trades: Option<u64>, zone: &Zone) -> CoverageDay {
    let gap = |gap: &Gap| CoverageGap {
        first: Instant::local(gap.first, zone),
        last: Instant::local(gap.last, zone),
        minutes: gap.minutes,
        reason: gap.reason.as_str(),
    };
    // Gaps that make the day partial are listed first, because a thinly traded security has a gap
    // without trades every few minutes.
    let mut gaps: Vec<&Gap> = day.gaps.iter().collect();
    gaps.sort_by_key(|gap| gap.reason == GapReason::NoTrades);
    CoverageDay {
        date: Day(day.date),
        day: match day.kind {
            Some(DayKind::Full) => DayWord::Full,
            Some(DayKind::Half) => DayWord::Half,
            None => DayWord::Closed,
        },
        daily: day.daily,
        daily_missing: day.daily_gap.map(GapReason::as_str),
        period: day.grain.written(),
        minutes: day.stored,
        expected: day.expected,
        extended: Some(day.extended),
        trades,
        gaps: gaps.into_iter().take(GAPS_MAX).map(gap).collect(),
        gaps_omitted: day.gaps.len().saturating_sub(GAPS_MAX),
    }
}
