//! Security search by code or name, and a security's facts, corporate actions and figures. These
//! endpoints return no history, so they cost no quota. Only the figures are rate-limited as calls.
//!
//! The figures are share counts, per-share figures, and ratios computed from these figures and the
//! last price. The ratios equal those of command 26.

use access::{Demand, Permit};
use history::{AsOf, HistoryError};
use market::{Action, Grain, Period, Segment, Session, Symbol, Timestamp, Venue};
use schemars::JsonSchema;
use serde::Serialize;
use store::{Lane, Reader, Security, SeriesInfo, StoreError};
use wire::quote::{CalcIndex, CalcIndexes as Row, CalcIndexesRequest};

use crate::command::{self, CalcIndexes};
use crate::directory::ListedSecurity;
use crate::dispatch;
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND, TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::fields::QueryParameters;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::refusal::Refusal;
use crate::written::{Day, Instant};

/// Maximum length of the search text, in characters. Company names are shorter.
const QUERY_MAX: usize = 64;
const FOUND_MAX: u32 = 50;
const FOUND_DEFAULT: u32 = 20;
const ACTIONS_MAX: usize = 2_000;
const MINUTES_A_DAY: i32 = 1_440;

pub(super) const SEARCH: Doc = Doc::new(
    Tag::Candles,
    "securities",
    "Search securities with candles by code or name, in the account's markets",
)
.parameters(&[
    Parameter::query(
        "query",
        Kind::TextUpTo(QUERY_MAX),
        "Part of a code or a name; default: suggested securities",
    ),
    Parameter::query("limit", Kind::Between(1, FOUND_MAX), "Maximum number of securities")
        .or(Word::Number(FOUND_DEFAULT)),
])
.answers(&[AnswerDoc::ok("Best match first", &[data::<FoundSecurities>()])])
.refuses(&[BAD_REQUEST, TOO_FAST]);

pub(super) const SHOW: Doc =
    Doc::new(Tag::Candles, "security", "Static information and trading hours of a security")
        .parameters(&[SYMBOL])
        .answers(&[AnswerDoc::ok("The security", &[data::<SecurityFacts>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND]);

pub(super) const ACTIONS: Doc = Doc::new(
    Tag::Candles,
    "actions",
    "Corporate actions with an ex-date up to today, at most the last 2,000",
)
.parameters(&[SYMBOL])
.answers(&[AnswerDoc::ok("By ex-date", &[data::<CorporateActions>()])])
.refuses(&[BAD_REQUEST, NOT_FOUND]);

pub(super) const SYMBOL: Parameter = Parameter::path("symbol", "Symbol such as 700.HK");

#[derive(Debug, Serialize, JsonSchema)]
struct FoundSecurities {
    securities: Vec<FoundSecurity>,
    more: bool,
    /// Whether the store has no candles at all. False if candles are stored but the account may not
    /// see them.
    store_is_empty: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FoundSecurity {
    symbol: String,
    name_en: String,
    name_cn: String,
    name_hk: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SecurityFacts {
    symbol: String,
    name_en: String,
    name_cn: String,
    name_hk: String,
    market: &'static str,
    zone: &'static str,
    exchange: String,
    currency: String,
    lot: i64,
    decimals: u32,
    #[serde(flatten)]
    figures: StoredFigures,
    sessions: Vec<SecuritySession>,
    /// Current market time.
    now: Instant,
    /// Periods with candles, named as in the `period` parameter of the candle endpoint: 1m, 5m,
    /// 60m, day. If only candles of a coarser period were imported, that period and its multiples
    /// are listed.
    periods: Vec<String>,
    /// Imported series of regular hours, shortest period first.
    stored: Vec<StoredCandles>,
    capital_flow: CapitalFlowState,
}

/// Whether `GET /v1/quote/capital-flow` has data for the security.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CapitalFlowState {
    Known,
    /// No trades are stored.
    NoTrades,
    /// The security is a warrant or an option, which have no capital flow.
    Unavailable,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StoredCandles {
    /// Candle period, such as 1m or day.
    period: String,
    /// Date of the first candle.
    first: Day,
    /// Date of the last candle at the current market time.
    last: Day,
    /// Version of the series, which changes with every import that modifies it.
    version: i64,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SecuritySession {
    /// Trading session: 0 regular, 1 pre-market, 2 post-market, 3 overnight.
    session: u8,
    /// HH:MM in the market's time zone.
    start: String,
    /// HH:MM in the market's time zone, up to 24:00.
    end: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CorporateActions {
    symbol: String,
    actions: Vec<CorporateAction>,
}

/// A corporate action. Amounts are per old share, as decimals or fractions.
#[derive(Debug, Serialize, JsonSchema)]
struct CorporateAction {
    ex_date: Day,
    cash: String,
    split: String,
    bonus: String,
    rights: String,
    rights_price: String,
}

pub(super) fn search(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let named = QueryParameters::parse(call.query, &["query", "limit"])?;
    let typed = named.get("query").unwrap_or_default();
    if typed.chars().count() > QUERY_MAX {
        return Err(Refusal::BadQuery(format!("query is longer than {QUERY_MAX} characters")).into());
    }
    let limit = named.number("limit", 1..=FOUND_MAX, FOUND_DEFAULT)?;
    let permit = admitted.permit;
    let directory = site.directory(admitted.caller.as_of)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let (found, more) = directory.search(typed, |symbol| permit.holds(symbol.market().into()), limit);
    let securities = found.into_iter().map(listed).collect();
    // If there are no results, the page must distinguish an account without rights from an empty
    // store.
    let store_is_empty = directory.is_empty();
    Ok(envelope::success(FoundSecurities { securities, more, store_is_empty }))
}

fn listed(one: &ListedSecurity) -> FoundSecurity {
    FoundSecurity {
        symbol: one.symbol.as_str().to_owned(),
        name_en: one.name_en.clone(),
        name_cn: one.name_cn.clone(),
        name_hk: one.name_hk.clone(),
    }
}

/// Returns the security in the path. Returns an error if the security is unknown or the account may
/// not see it.
pub(super) fn found(
    call: &Call<'_>,
    site: &Site,
    admitted: &Admitted,
) -> Result<(Security, Permit), Problem> {
    QueryParameters::parse(call.query, &[])?;
    let symbol: Symbol = command::symbol(call.path_value("symbol"))?;
    visible(&symbol, site, admitted)
}

/// Returns a security, or an error if the security is unknown or the account may not see it.
pub(super) fn visible(
    symbol: &Symbol,
    site: &Site,
    admitted: &Admitted,
) -> Result<(Security, Permit), Problem> {
    let security = site.core.with_reader(|reader| reader.view().security(symbol)).map_err(failed)?;
    let security = security.ok_or_else(Problem::not_found)?;
    let demand = Demand::Quotes { caller: admitted.who(), market: symbol.market().into() };
    let permit = site.core.access.admit(demand, admitted.now()).map_err(Refusal::from)?;
    Ok((security, permit))
}

pub(super) fn failed(error: StoreError) -> Problem {
    tracing::error!(%error, "cannot read a security");
    Refusal::Internal.into()
}

pub(super) fn show(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (security, permit) = found(call, site, &admitted)?;
    let venue = site.core.history.venue(&security.symbol);
    let as_of = admitted.caller.as_of;
    let now = as_of.now();
    let today = venue.zone().date(now);
    let mut segments: Vec<&Segment> = venue.full_hours(today).iter().collect();
    segments.retain(|segment| segment.session != Session::Overnight || permit.overnight());
    // Overnight hours start on the evening before the trading day, and are listed last.
    segments.sort_by_key(|segment| (segment.session == Session::Overnight, segment.start));
    let market = security.symbol.market();
    let history = &site.core.history;
    let series = site.core.with_reader(|reader| known_series(reader, venue, &security.symbol, as_of));
    let series = series.map_err(Refusal::from)?;
    let periods = site.core.with_reader(|reader| history.periods(reader, &security.symbol, as_of));
    let periods = periods.map_err(Refusal::from)?;
    let security = security.on(today);
    let figures = StoredFigures::of(&security);
    Ok(envelope::success(SecurityFacts {
        symbol: security.symbol.as_str().to_owned(),
        name_en: security.name_en.unwrap_or_default(),
        name_cn: security.name_cn.unwrap_or_default(),
        name_hk: security.name_hk.unwrap_or_default(),
        market: market.as_str(),
        zone: venue.zone().name(),
        exchange: security.exchange.unwrap_or_default(),
        currency: security.currency.unwrap_or_else(|| market.currency().to_owned()),
        lot: security.lot_size.unwrap_or(1),
        decimals: security.decimals,
        figures,
        sessions: segments.into_iter().map(hours).collect(),
        now: Instant::local(now, venue.zone()),
        periods: periods.iter().map(Period::to_string).collect(),
        stored: stored(&series, venue, now),
        capital_flow: capital_flow(site, &security.symbol, as_of)?,
    }))
}

fn capital_flow(site: &Site, symbol: &Symbol, as_of: AsOf) -> Result<CapitalFlowState, Refusal> {
    let history = &site.core.history;
    match site.core.with_reader(|reader| history.has_capital_flow(reader, symbol, as_of)) {
        Ok(()) => Ok(CapitalFlowState::Known),
        // A security without candles has no trades either.
        Err(HistoryError::NoTrades(_) | HistoryError::UnknownSecurity(_)) => Ok(CapitalFlowState::NoTrades),
        Err(HistoryError::Warrant(_) | HistoryError::Option(_)) => Ok(CapitalFlowState::Unavailable),
        Err(error) => Err(error.into()),
    }
}

/// Returns a security's series as of the market clock. The daily candle of an unfinished day is
/// excluded.
fn known_series(
    reader: &mut Reader,
    venue: &Venue,
    symbol: &Symbol,
    as_of: AsOf,
) -> Result<Vec<SeriesInfo>, HistoryError> {
    let snapshot = reader.snapshot_of(symbol)?;
    let all = snapshot.series_of(symbol)?.into_iter();
    all.filter_map(|info| history::known_part(&snapshot, venue, info, as_of).transpose()).collect()
}

/// Returns the series that were imported from files. Series rolled up from one-minute candles are
/// omitted.
fn stored(series: &[SeriesInfo], venue: &Venue, now: Timestamp) -> Vec<StoredCandles> {
    let from_files = series.iter().filter(|info| !Grain::ROLLED_UP.contains(&info.series.grain));
    let seen = from_files.filter(|info| info.series.lane == Lane::Regular && info.first <= now);
    seen.map(|info| StoredCandles {
        period: info.series.grain.period().to_string(),
        first: Day(venue.zone().date(info.first)),
        last: Day(venue.zone().date(info.last.min(now))),
        version: info.version,
    })
    .collect()
}

fn hours(segment: &Segment) -> SecuritySession {
    let clock = |minutes: i32| format!("{:02}:{:02}", minutes / 60, minutes % 60);
    let end = match segment.end.rem_euclid(MINUTES_A_DAY) {
        0 => MINUTES_A_DAY,
        end => end,
    };
    SecuritySession {
        session: segment.session.code(),
        start: clock(segment.start.rem_euclid(MINUTES_A_DAY)),
        end: clock(end),
    }
}

/// Returns the corporate actions whose ex-date has been reached. If there are too many for one
/// response, the oldest actions are omitted.
pub(super) fn actions(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (security, _) = found(call, site, &admitted)?;
    let symbol = &security.symbol;
    let today = site.core.history.venue(symbol).zone().date(admitted.now());
    let mut actions = site.core.with_reader(|reader| reader.view().actions(symbol)).map_err(failed)?;
    actions.retain(|action| action.ex_date <= today);
    let extra = actions.len().saturating_sub(ACTIONS_MAX);
    let actions = actions.iter().skip(extra).map(action).collect();
    Ok(envelope::success(CorporateActions { symbol: symbol.as_str().to_owned(), actions }))
}

fn action(action: &Action) -> CorporateAction {
    CorporateAction {
        ex_date: Day(action.ex_date),
        cash: action.cash.to_string(),
        split: action.split.to_string(),
        bonus: action.bonus.to_string(),
        rights: action.rights.to_string(),
        rights_price: action.rights_price.to_string(),
    }
}

pub(super) const FIGURES: Doc = Doc::new(
    Tag::Candles,
    "figures",
    "Share counts and figures of a security, and ratios based on its last price",
)
.about(
    "As of the market clock. Unknown figures are null, and so are ratios without a price or with a \
     denominator that is not positive.",
)
.parameters(&[SYMBOL])
.answers(&[AnswerDoc::ok("The figures", &[data::<SecurityFigures>()])])
.refuses(&[BAD_REQUEST, NOT_FOUND]);

const INDEXES: [CalcIndex; 6] = [
    CalcIndex::LastDone,
    CalcIndex::TotalMarketValue,
    CalcIndex::PeTtmRatio,
    CalcIndex::PbRatio,
    CalcIndex::TurnoverRate,
    CalcIndex::DividendRatioTtm,
];

/// Imported figures as of the current market date; null if unknown.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StoredFigures {
    total_shares: Option<i64>,
    circulating_shares: Option<i64>,
    hk_shares: Option<i64>,
    /// Earnings per share in the last fiscal year, as a decimal.
    eps: Option<String>,
    /// Earnings per share over the last twelve months, as a decimal.
    eps_ttm: Option<String>,
    /// Net assets per share, as a decimal.
    bps: Option<String>,
    /// Dividend per share as an amount, not a percentage.
    dividend_yield: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SecurityFigures {
    symbol: String,
    /// Currency of the price, the market value and the figures per share.
    currency: String,
    /// Last price in regular hours.
    last_done: Option<String>,
    total_market_value: Option<String>,
    /// Price divided by `eps_ttm`.
    pe_ttm_ratio: Option<String>,
    /// Price divided by `bps`.
    pb_ratio: Option<String>,
    /// The day's volume as a percentage of the circulating shares.
    turnover_rate: Option<String>,
    /// Dividend per share as a percentage of the price.
    dividend_ratio_ttm: Option<String>,
    #[serde(flatten)]
    stored: StoredFigures,
}

impl StoredFigures {
    /// Copies the figures of a security. `security` must have been read for the current market
    /// date.
    pub(super) fn of(security: &Security) -> StoredFigures {
        StoredFigures {
            total_shares: security.total_shares,
            circulating_shares: security.circulating_shares,
            hk_shares: security.hk_shares,
            eps: security.eps.clone(),
            eps_ttm: security.eps_ttm.clone(),
            bps: security.bps.clone(),
            dividend_yield: security.dividend_yield.clone(),
        }
    }
}

pub(super) fn figures(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (security, _) = found(call, site, &admitted)?;
    let today = site.core.history.venue(&security.symbol).zone().date(admitted.now());
    let security = security.on(today);
    let row = indexes(&security, site, &admitted)?;
    let known = |text: String| Some(text).filter(|text| !text.is_empty());
    let stored = StoredFigures::of(&security);
    Ok(envelope::success(SecurityFigures {
        currency: security.currency.unwrap_or_else(|| security.symbol.market().currency().to_owned()),
        symbol: security.symbol.as_str().to_owned(),
        last_done: known(row.last_done),
        total_market_value: known(row.total_market_value),
        pe_ttm_ratio: known(row.pe_ttm_ratio),
        pb_ratio: known(row.pb_ratio),
        turnover_rate: known(row.turnover_rate),
        dividend_ratio_ttm: known(row.dividend_ratio_ttm),
        stored,
    }))
}

/// Runs command 26 for one security. The row is empty if the security has no price.
fn indexes(security: &Security, site: &Site, admitted: &Admitted) -> Result<Row, Refusal> {
    let request = CalcIndexesRequest {
        symbols: vec![security.symbol.as_str().to_owned()],
        calc_index: INDEXES.map(i32::from).to_vec(),
    };
    let answer = dispatch::answer::<CalcIndexes>(&site.core, &admitted.caller, &admitted.permit, request)?;
    Ok(answer.security_calc_index.into_iter().next().unwrap_or_default())
}
