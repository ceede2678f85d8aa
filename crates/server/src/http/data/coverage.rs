//! Coverage, for operators: what is stored compared with what the calendar expects. A letter for each security and day, and the gaps of one
//! security.

use history::{DayCoverage, DayState, Expected, Gap, GapReason, HistoryError};
use market::{Date, DayKind, Market, Symbol, Zone};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use store::TradeDay;

use crate::command;
use crate::kit::Site;
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data, one_of};
use crate::kit::envelope::{self, Problem};
use crate::kit::named::QueryParameters;
use crate::kit::{Admitted, Answer, Call};
use crate::refusal::Refusal;
use crate::written::{Day, Instant};

/// The longest quarter.
const DAYS_MAX: u32 = 92;
const DAYS_DEFAULT: u32 = 91;
const ROWS_MAX: u32 = 100;
const GAPS_MAX: usize = 50;

pub(super) const ROWS: Doc = Doc::new(
    Tag::Admin,
    "coverage",
    "A letter for each security and day: what is stored against the calendar",
)
.parameters(&[
    Parameter::query("end", Kind::Date, "The last day; without it today, by Hong Kong's clock"),
    Parameter::query("days", Kind::Between(1, DAYS_MAX), "How many up to the end")
        .or(Word::Number(DAYS_DEFAULT)),
    Parameter::query("after", Kind::Text, "The last symbol of the answer before"),
    Parameter::query("limit", Kind::Between(1, ROWS_MAX), "How many securities").or(Word::Number(ROWS_MAX)),
])
.answers(&[AnswerDoc::ok("By symbol", &[data::<CoverageRows>()])])
.refuses(&[BAD_REQUEST]);

pub(super) const DAYS: Doc =
    Doc::new(Tag::Admin, "coverageDays", "The days of one security, with what is missing and why")
        .parameters(&[
            Parameter::path("symbol", "As 700.HK"),
            Parameter::query("start", Kind::Date, "Without it 92 days up to the end"),
            Parameter::query("end", Kind::Date, "Without it today"),
        ])
        .answers(&[AnswerDoc::ok("The days, ascending", &[data::<CoverageDays>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND]);

#[derive(Debug, Serialize, JsonSchema)]
struct CoverageRows {
    start: Day,
    end: Day,
    today: Day,
    rows: Vec<CoverageRow>,
    /// Send it as after, to go on; null if there is nothing more.
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CoverageRow {
    symbol: String,
    /// c complete, p partial, m missing, - closed, . nothing is expected.
    days: String,
    /// t for each of these days of which single trades are stored, else a dot; absent if there are none.
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
    /// Why there is no daily candle; null if there is one, or while the day is not over.
    daily_missing: Option<&'static str>,
    /// What the intraday candles of the day are: 1m, or 5m, 15m, 30m or 60m of a coarse file.
    period: &'static str,
    minutes: u32,
    expected: u32,
    extended: u32,
    /// How many single trades are stored; null while the day goes on.
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

pub(super) fn rows(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["end", "days", "after", "limit"])?;
    let as_of = site.core.as_of();
    // One date for all markets: that of Hong Kong, as for the months of quotas.
    let today = site.core.history.venues().of(Market::Hk).zone().date(as_of.now());
    let end = named.date("end")?.unwrap_or(today);
    let start = earlier(end, named.number("days", 1..=DAYS_MAX, DAYS_DEFAULT)?)?;
    let limit = usize::try_from(named.number("limit", 1..=ROWS_MAX, ROWS_MAX)?).unwrap_or(usize::MAX);
    let after = named.get("after").map(command::symbol).transpose()?;
    let directory = site.directory()?;
    let behind = directory.behind(after.as_ref());
    let expected = Market::ALL
        .map(|market| (market, Expected::of(site.core.history.venues().of(market), (start, end), as_of)));
    let rows = site.core.with_reader(|reader| {
        let mut rows = Vec::new();
        for one in behind.iter().take(limit) {
            let of_market = expected.iter().find(|(market, _)| *market == one.symbol.market());
            let Some((_, expected)) = of_market else { continue };
            let states = expected.states(reader, &one.symbol)?;
            let days: String = states.into_iter().map(DayState::letter).collect();
            let traded = site.core.history.traded_days_back(reader, &one.symbol, end, DAYS_MAX, as_of)?;
            let trades = trade_letters((start, end), &traded);
            rows.push(CoverageRow { symbol: one.symbol.as_str().to_owned(), days, trades });
        }
        Ok(rows)
    });
    let rows = rows.map_err(|error: HistoryError| Refusal::from(error))?;
    let last = behind.get(limit.saturating_sub(1)).filter(|_| behind.len() > limit);
    Ok(envelope::success(CoverageRows {
        start: Day(start),
        end: Day(end),
        today: Day(today),
        rows,
        next: last.map(|one| one.symbol.as_str().to_owned()),
    }))
}

/// `None` if no day of the range has trades.
fn trade_letters((start, end): (Date, Date), traded: &[TradeDay]) -> Option<String> {
    let has_trades = |date: Date| traded.iter().any(|traded| traded.day == date);
    let dates = std::iter::successors(Some(start), |date| date.tomorrow().ok());
    let letters: String =
        dates.take_while(|date| *date <= end).map(|date| if has_trades(date) { 't' } else { '.' }).collect();
    letters.contains('t').then_some(letters)
}

/// The first of `days` days up to `end`.
fn earlier(end: Date, days: u32) -> Result<Date, Refusal> {
    let span = jiff::Span::new().days(i64::from(days.saturating_sub(1)));
    end.checked_sub(span).map_err(|_| Refusal::BadQuery(format!("there are no {days} days before {end}")))
}

pub(super) fn days(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["start", "end"])?;
    let symbol: Symbol = command::symbol(call.path_value("symbol"))?;
    let as_of = site.core.as_of();
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
    // Of a day that goes on beyond now, how much it has is not known.
    let trades = |date: Date| match traded.iter().find(|traded| traded.day == date) {
        None => Some(0),
        Some(traded) => (traded.last <= as_of.now()).then_some(traded.rows),
    };
    let days = found.days.iter().map(|day| described(day, trades(day.date), venue.zone())).collect();
    Ok(envelope::success(CoverageDays {
        symbol: symbol.as_str().to_owned(),
        start: Day(start),
        end: Day(end),
        days,
    }))
}

fn described(day: &DayCoverage, trades: Option<u64>, zone: &Zone) -> CoverageDay {
    let gap = |gap: &Gap| CoverageGap {
        first: Instant::local(gap.first, zone),
        last: Instant::local(gap.last, zone),
        minutes: gap.minutes,
        reason: gap.reason.as_str(),
    };
    // Gaps that make the day partial come first: a thinly traded security has a gap without trades every few minutes.
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
        extended: day.extended,
        trades,
        gaps: gaps.into_iter().take(GAPS_MAX).map(gap).collect(),
        gaps_omitted: day.gaps.len().saturating_sub(GAPS_MAX),
    }
}
