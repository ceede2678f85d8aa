//! `GET /v1/quote/history-candlesticks`: the history command for clients without an SDK, in several
//! formats. Responses may be longer than the binary protocol allows.

use bytes::Bytes;
use history::{COUNT_MAX, Paged, Paging, Sessions};
use hyper::Method;
use hyper::body::Body;
use hyper::header::{HeaderName, HeaderValue, LINK, VARY};
use schemars::JsonSchema;
use serde::Serialize;
use wire::quote;

use super::format::Format;
use super::parameters::{Parameters, Question};
use crate::caller::Caller;
use crate::command::{HistoryCandles, PAGED_MAX};
use crate::kit::allowance::{self, may_see};
use crate::kit::doc::refusals::{BAD_REQUEST, NO_QUOTES, NOT_ACCEPTABLE, TOO_FAST, UNSATISFIABLE};
use crate::kit::doc::{AnswerDoc, Doc, HeaderDoc, Kind, Media, Parameter, Tag, Word, data, described_only};
use crate::kit::envelope::{self, Problem};
use crate::kit::packed::{accepts_gzip, packed};
use crate::kit::pieces::{self, AnswerScope, WholeAnswer};
use crate::kit::{Admitted, Answer, Call, Site};
use crate::refusal::Refusal;
use crate::route::{self, Memory, Work};
use crate::written::{Day, Instant};

const NEXT: HeaderName = HeaderName::from_static("x-next");

described_only! {
    /// A page of candles.
    struct CandlestickPage {
        symbol: String,
        /// Candle period, in the form of the `period` parameter, such as 5m, day or week.
        period: String,
        /// Candles of the page, oldest first.
        candlesticks: Vec<TimedCandlestick>,
        /// Value of the parameter `next` for the following page, with all other parameters
        /// unchanged; null on the last page.
        next: Option<String>,
        /// Quota cost of candles that were omitted because of charge=no; absent if no candles were
        /// omitted.
        #[schemars(with = "QuotaCost", skip_serializing_if = "Option::is_none")]
        would_charge: Option<QuotaCost>,
    }
}

/// A response without candles, because returning them would be charged.
#[derive(Debug, Serialize)]
struct UnchargedPage<'a> {
    symbol: &'a str,
    period: String,
    candlesticks: [(); 0],
    next: Option<&'a str>,
    would_charge: QuotaCost,
}

#[derive(Debug, Serialize, JsonSchema)]
struct QuotaCost {
    /// Number of securities that would be charged, which is always 1.
    cost: u32,
    /// Whether the remaining quota covers the cost. If it does not, the request with charge=yes is
    /// refused (403, 301607).
    fits: bool,
    /// Number of securities charged this month.
    used: u32,
    /// Maximum number of securities per month.
    limit: u32,
    /// First day of the next month, in Hong Kong.
    resets: Day,
}

described_only! {
    struct TimedCandlestick {
        #[schemars(flatten)]
        candle: quote::Candlestick,
        /// Time of the candle in the market's time zone.
        time: Instant,
    }
}

const CANDLES_HEADERS: [HeaderDoc; 8] = {
    let [limit, remaining, reset, quota, used, month] = allowance::HEADERS;
    [
        HeaderDoc::new(
            "x-next",
            "Next",
            "Value of the parameter next for the following page; absent on the last page",
            Kind::Text,
        ),
        HeaderDoc::new(
            "link",
            "Link",
            "URL of the next page, rel=\"next\"; absent on the last page",
            Kind::Text,
        ),
        limit,
        remaining,
        reset,
        quota,
        used,
        month,
    ]
};
const CONTENT_RANGE: HeaderDoc =
    HeaderDoc::new("content-range", "ContentRange", "Byte range and total length", Kind::Text);

const DAY: Kind = Kind::Pattern(r"^\d{4}-?\d{2}-?\d{2}$");
const MINUTE: Kind = Kind::Pattern(r"^\d{2}:?\d{2}$");
const COUNT: Kind = Kind::Between(1, PAGED_MAX as u32);
const _: () = assert!(PAGED_MAX <= u32::MAX as usize);

pub(super) const CANDLES: Doc = Doc::new(
    Tag::Candles,
    "history",
    "Candles of a security, as JSON, CSV, Arrow or Parquet",
)
.about(
    "Select candles by date range (start, end), or a number of candles relative to a point in time (before, \
     after; default: the latest). Unknown, repeated and conflicting parameters are refused by name. The first \
     response for a security in a month counts toward the quota.",
)
.parameters(CANDLES_PARAMETERS)
.answers(&[
    AnswerDoc::ok(
        "Candles, oldest first",
        &[
            data::<CandlestickPage>(),
            Media::text("text/csv").such_as(
                "symbol,time,open,high,low,close,volume,turnover,session\n\
                 700.HK,2026-11-13T00:00:00+08:00,123.000,125.000,122.000,123.500,1000,123000,intraday\n",
            ),
            Media::binary("application/vnd.apache.arrow.stream"),
            Media::binary("application/vnd.apache.parquet"),
        ],
    )
    .headers(&CANDLES_HEADERS),
    AnswerDoc::status("206", "Part of the response, as requested by the header range", &[])
        .headers(&[CONTENT_RANGE]),
])
.refuses(&[BAD_REQUEST, NO_QUOTES, NOT_ACCEPTABLE, UNSATISFIABLE, TOO_FAST]);

const CANDLES_PARAMETERS: &[Parameter] = &[
    Parameter::query("symbol", Kind::Text, "Symbol: 700.HK, AAPL.US, 600519.SH").required().such_as("700.HK"),
    Parameter::query(
        "period",
        Kind::Text,
        "1m 2m 3m 5m 10m 15m 20m 30m 45m 60m 120m 180m 240m, day, week, month, quarter, year; or the \
         protocol number: minutes, 1000, 2000, 3000, 3500, 4000",
    )
    .or(Word::Text("day"))
    .such_as("5m"),
    Parameter::query(
        "adjust",
        Kind::OneOf(&["none", "forward"]),
        "Whether earlier prices are adjusted for corporate actions",
    )
    .or(Word::Text("none")),
    Parameter::query(
        "adjust_type",
        Kind::NumberOf(&[0, 1]),
        "Adjustment by protocol number: 0 none, 1 forward",
    ),
    Parameter::query(
        "session",
        Kind::OneOf(&["intraday", "extended", "all"]),
        "Sessions of US minute candles: regular, including pre-market and post-market, or also overnight if \
         the account has the right",
    )
    .or(Word::Text("intraday")),
    Parameter::query(
        "trade_session",
        Kind::NumberOf(&[0, 100]),
        "Sessions by protocol number: 0 regular, 100 including pre-market and post-market",
    ),
    Parameter::query("start", DAY, "First date of a range, inclusive, in the market's time zone"),
    Parameter::query(
        "end",
        DAY,
        "Last date of a range, inclusive. If given, the first page has the newest candles of the range, and \
         next pages go backwards",
    ),
    Parameter::query(
        "before",
        Kind::Text,
        "Newest candles up to and including a date (2026-11-13), a local market time (2026-11-13T09:30) or \
         an instant (2026-11-13T01:30:00Z)",
    ),
    Parameter::query("after", Kind::Text, "Oldest candles from such a point in time, inclusive"),
    Parameter::query(
        "limit",
        COUNT,
        "Maximum number of candles per page; default: 1000 by dates, 10 from a point in time. Every started \
         thousand counts as one call toward the rate limit",
    ),
    Parameter::query(
        "format",
        Kind::OneOf(&["json", "csv", "arrow", "parquet"]),
        "Response format; overrides the accept header",
    ),
    Parameter::query(
        "next",
        Kind::Text,
        "Continues after the previous page. The other parameters must be unchanged, except for limit and \
         format",
    ),
    Parameter::query(
        "charge",
        Kind::OneOf(&["yes", "no"]),
        "no: charge nothing. Candles that would be charged are omitted, and would_charge in the JSON \
         response has their cost; other formats are refused (403, 301607). Has no effect for an account \
         without a quota limit",
    )
    .or(Word::Text("yes")),
    Parameter::query(
        "query_type",
        Kind::NumberOf(&[1, 2]),
        "1 from a point in time, 2 by dates; default: inferred from the other parameters",
    ),
    Parameter::query("start_date", DAY, "Protocol name of start"),
    Parameter::query("end_date", DAY, "Protocol name of end"),
    Parameter::query(
        "direction",
        Kind::NumberOf(&[0, 1]),
        "Direction from date and minute: 0 backwards, 1 forwards",
    ),
    Parameter::query("date", DAY, "Protocol name of the start date of a query from a point in time"),
    Parameter::query("minute", MINUTE, "Time of that date as HHMM"),
    Parameter::query("count", COUNT, "Protocol name of limit"),
];

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let mut answer = reply(call, &admitted, site).unwrap_or_else(Problem::answer);
    answer.headers_mut().insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
    Ok(answer)
}

fn reply(call: &Call<'_>, admitted: &Admitted, site: &Site) -> Result<Answer, Problem> {
    let caller = &admitted.caller;
    let parameters = Parameters::parse(call.query)?;
    let question = parameters.question(site.core.history.venues())?;
    let format = match question.format {
        Some(format) => format,
        None => Format::accepted(call.headers)?,
    };
    let whole = match taken_apart(call, &question, format, caller, site)? {
        Some(whole) => whole,
        None => match admit(&question, format, admitted, site)? {
            Some(work) => whole(call, &question, format, admitted, work, site)?,
            None => return uncharged(&question, admitted, site),
        },
    };
    let (mut reply, candles) = pieces::cut(&whole, call.method, call.headers)?;
    if format == Format::Json && !pieces::is_piecewise(call) && accepts_gzip(call.headers) {
        reply = packed(reply, &whole.body);
    }
    if pieces::is_piecewise(call) {
        let sent = if call.method == Method::HEAD { 0 } else { reply.body().size_hint().lower() };
        let sent = usize::try_from(sent).unwrap_or(usize::MAX);
        site.pieces.spend(caller.who.account(), &key(call, format), sent);
    }
    call.note.candles(candles);
    if let Some(token) = whole.next {
        let (base, path) = (site.base(), call.path.trim_start_matches('/'));
        let link = format!("<{base}/{path}?{}>; rel=\"next\"", parameters.with_next(&token));
        for (name, value) in [(LINK, link), (NEXT, token)] {
            reply.headers_mut().insert(name, HeaderValue::from_str(&value).map_err(|_| Problem::internal())?);
        }
    }
    Ok(reply)
}

/// Returns a cached response from which the account has already fetched a byte range, or `None`.
/// The first request was charged, so further ranges are not. The account's rights are checked
/// again.
fn taken_apart(
    call: &Call<'_>,
    question: &Question,
    format: Format,
    caller: &Caller,
    site: &Site,
) -> Result<Option<WholeAnswer>, Problem> {
    if !pieces::is_piecewise(call) {
        return Ok(None);
    }
    let key = key(call, format);
    let Some(whole) = site.pieces.find(caller.who.account(), &key, site.core.uptime()) else {
        return Ok(None);
    };
    let visible = may_see(&question.symbol, caller, site)?;
    let has_overnight = question.sessions == Sessions::All && visible.widest == Sessions::All;
    let scope = AnswerScope { has_overnight, floors: visible.floors };
    Ok(Some(whole).filter(|whole| whole.scope == scope))
}

fn whole(
    call: &Call<'_>,
    question: &Question,
    format: Format,
    admitted: &Admitted,
    work: Work<HistoryCandles>,
    site: &Site,
) -> Result<WholeAnswer, Problem> {
    let (has_overnight, floors) = (work.has_overnight(), work.floors(&site.core));
    let Paged { answer, next } =
        work.pages(Paging { limit: question.limit, from: question.from }, &site.core)?;
    let scope = AnswerScope { has_overnight, floors: floors.of(answer.symbol.market()) };
    let candles = answer.candles.len();
    let next = next.map(|at| question.token(at));
    let zone = site.core.history.venue(&answer.symbol).zone();
    let body: Bytes = format.encode(&answer, zone, next.as_deref())?;
    let whole = WholeAnswer { body, content_type: format.content_type(), next, candles, scope };
    if pieces::is_piecewise(call) {
        let (whose, now) = (admitted.account().id, site.core.uptime());
        site.pieces.store(whose, key(call, format), now, whole.clone());
    }
    Ok(whole)
}

/// Returns the response to `charge=no` if candles would be charged. The response is never cached,
/// because the next request may allow the charge.
fn uncharged(question: &Question, admitted: &Admitted, site: &Site) -> Result<Answer, Problem> {
    let usage = site.core.access.usage(admitted.account().id, admitted.caller.quota_time);
    let usage = usage.map_err(Problem::from_access)?.ok_or_else(Problem::not_found)?;
    Ok(envelope::success(UnchargedPage {
        symbol: question.symbol.as_str(),
        period: question.period()?.to_string(),
        candlesticks: [],
        next: None,
        would_charge: QuotaCost {
            cost: 1,
            fits: usage.remaining() >= 1,
            used: usage.used,
            limit: usage.limit,
            resets: Day(usage.resets),
        },
    }))
}

/// Returns the cache key. Requests with the same key have the same response. Tokens must already
/// have been removed from the query.
fn key(call: &Call<'_>, format: Format) -> String {
    format!("{} {}", format.name(), call.query)
}

/// Refuses a request that counts as more calls than the account's rate limit can ever allow.
fn affordable(question: &Question, caller: &Caller, site: &Site) -> Result<(), Problem> {
    let allowance =
        site.core.access.allowance(&caller.who, site.core.uptime()).map_err(Problem::from_access)?;
    match allowance {
        Some(rule) if question.calls() > rule.limit => {
            let (calls, limit, seconds) = (question.calls(), rule.limit, rule.seconds);
            Err(Problem::from(Refusal::BadQuery(format!(
                "limit {} counts as {calls} calls, and this account has {limit} in any {seconds} s: request \
                 at most {}",
                question.limit,
                u64::from(limit).saturating_mul(COUNT_MAX as u64)
            ))))
        }
        _ => Ok(()),
    }
}

/// Admits a request. Returns `None` if the candles would be charged and the request has
/// `charge=no`.
fn admit(
    question: &Question,
    format: Format,
    admitted: &Admitted,
    site: &Site,
) -> Result<Option<Work<HistoryCandles>>, Problem> {
    affordable(question, &admitted.caller, site)?;
    // `route::admit` checks the overnight right, as it does for a long connection that requested
    // overnight hours.
    let caller = Caller { overnight: question.sessions == Sessions::All, ..admitted.caller };
    let memory = &mut Memory::of(&caller, &admitted.permit);
    let work = route::admit(&site.core, &caller, question.calls(), memory, |context| {
        let paging = Paging { limit: question.limit, from: question.from };
        question.query(context.floors).map(|query| HistoryCandles::paged(query, paging))
    });
    let work = match work {
        Ok(work) if question.keeps_quota && work.takes_of_quota() => Err(Refusal::QuotaSpent(format!(
            "{} would count toward the monthly quota, which charge=no forbids",
            question.symbol
        ))),
        work => work,
    };
    match work {
        Ok(work) => Ok(Some(work)),
        Err(Refusal::QuotaSpent(_)) if question.keeps_quota && format == Format::Json => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}
