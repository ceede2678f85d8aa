//! The OpenAPI descriptions of candles and the other pull commands. The bodies of commands are the messages of the protocol.

use schemars::JsonSchema;
use wire::quote;

use crate::command::PAGED_MAX;
use crate::kit::allowance;
use crate::kit::doc::refusals::{
    BAD_REQUEST, NO_QUOTES, NOT_ACCEPTABLE, NOT_OFFERED, TOO_FAST, UNSATISFIABLE,
};
use crate::kit::doc::{AnswerDoc, Doc, HeaderDoc, Kind, Media, Parameter, RefusalDoc, Tag, Word, data};
use crate::kit::envelope::Empty;
use crate::written::Instant;

pub(super) const ANNOUNCE: Doc =
    Doc::new(Tag::Service, "announce", "Some clients announce a command here; nothing is done with it")
        .answers(&[AnswerDoc::ok("Nothing", &[data::<Empty>()])]);

/// The data of an answer in JSON, which `format.rs` writes candle by candle.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its shape alone is used")]
struct CandlestickPage {
    symbol: String,
    /// As in the parameter: 5m, day, week …
    period: String,
    /// Oldest first.
    candlesticks: Vec<TimedCandlestick>,
    /// Send it as the parameter next, all others unchanged, to go on; null if there is nothing more.
    next: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "its shape alone is used")]
struct TimedCandlestick {
    #[schemars(flatten)]
    candle: quote::Candlestick,
    /// The timestamp in the time of the market.
    time: Instant,
}

const CANDLES_HEADERS: [HeaderDoc; 8] = {
    let [limit, remaining, reset, quota, used, month] = allowance::HEADERS;
    [
        HeaderDoc::new("x-next", "Next", "How to go on; absent if there is nothing more", Kind::Text),
        HeaderDoc::new(
            "link",
            "Link",
            "The address of the next answer, rel=\"next\"; absent if there is nothing more",
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
    HeaderDoc::new("content-range", "ContentRange", "Which bytes, of how many", Kind::Text);

const DAY: Kind = Kind::Pattern(r"^\d{4}-?\d{2}-?\d{2}$");
const MINUTE: Kind = Kind::Pattern(r"^\d{2}:?\d{2}$");
const COUNT: Kind = Kind::Between(1, PAGED_MAX as u32);
const _: () = assert!(PAGED_MAX <= u32::MAX as usize);

pub(super) const CANDLES: Doc = Doc::new(
    Tag::Candles,
    "history",
    "Candles of a security, for people without an SDK",
)
.about(
    "Ask by dates (start, end) or for so many candles from a point (before, after; the latest if neither is there). \
     Unknown, repeated and contradictory parameters are refused by name. The first answer for a security in a month \
     counts toward the quota.",
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
    AnswerDoc::status("206", "A piece of the answer, as the header range asks", &[])
        .headers(&[CONTENT_RANGE]),
])
.refuses(&[BAD_REQUEST, NO_QUOTES, NOT_ACCEPTABLE, UNSATISFIABLE, TOO_FAST]);

const CANDLES_PARAMETERS: &[Parameter] = &[
    Parameter::query("symbol", Kind::Text, "The security: 700.HK, AAPL.US, 600519.SH")
        .required()
        .such_as("700.HK"),
    Parameter::query(
        "period",
        Kind::Text,
        "1m 2m 3m 5m 10m 15m 20m 30m 45m 60m 120m 180m 240m, day, week, month, quarter, year; or the number of the \
         protocol: minutes, 1000, 2000, 3000, 3500, 4000",
    )
    .or(Word::Text("day"))
    .such_as("5m"),
    Parameter::query(
        "adjust",
        Kind::OneOf(&["none", "forward"]),
        "Whether earlier prices are brought to today's basis",
    )
    .or(Word::Text("none")),
    Parameter::query("adjust_type", Kind::NumberOf(&[0, 1]), "The same by number: 0 none, 1 forward"),
    Parameter::query(
        "session",
        Kind::OneOf(&["intraday", "extended", "all"]),
        "Trading hours of US minutes: regular, with pre and post, or all with overnight where the account may see it",
    )
    .or(Word::Text("intraday")),
    Parameter::query(
        "trade_session",
        Kind::NumberOf(&[0, 100]),
        "The same by number: 0 regular hours, 100 with pre and post market",
    ),
    Parameter::query("start", DAY, "The first date of a range, included, in the time of the market"),
    Parameter::query(
        "end",
        DAY,
        "The last date of a range, included. With an end the last candles of the range come first, and next goes back",
    ),
    Parameter::query(
        "before",
        Kind::Text,
        "The newest candles up to and including a date (2026-11-13), a time of the market (2026-11-13T09:30) or an \
         instant (2026-11-13T01:30:00Z)",
    ),
    Parameter::query("after", Kind::Text, "The oldest candles from such a point on"),
    Parameter::query(
        "limit",
        COUNT,
        "Candles in this answer; 1000 by dates and 10 from a point if it is left out. It is worth one call of the rate \
         for each thousand begun",
    ),
    Parameter::query(
        "format",
        Kind::OneOf(&["json", "csv", "arrow", "parquet"]),
        "Instead of the accept header",
    ),
    Parameter::query(
        "next",
        Kind::Text,
        "Goes on where an answer ended: the other parameters as they were, but limit and format may change",
    ),
    Parameter::query(
        "query_type",
        Kind::NumberOf(&[1, 2]),
        "1 from a point, 2 by dates; otherwise the other parameters decide",
    ),
    Parameter::query("start_date", DAY, "start by the name of the protocol"),
    Parameter::query("end_date", DAY, "end by the name of the protocol"),
    Parameter::query(
        "direction",
        Kind::NumberOf(&[0, 1]),
        "With date and minute: 0 toward the past, 1 toward the present",
    ),
    Parameter::query("date", DAY, "Where to begin, by the name of the protocol"),
    Parameter::query("minute", MINUTE, "HHMM of that date"),
    Parameter::query("count", COUNT, "limit by the name of the protocol"),
];

const fn mirror(id: &'static str, summary: &'static str, body: &'static [Media]) -> Doc {
    Doc::new(Tag::Mirrors, id, summary).body(body).refuses(&[BAD_REQUEST])
}

/// A command that asks for the prices of one security.
const fn quotes_of_one(id: &'static str, summary: &'static str, body: &'static [Media]) -> Doc {
    mirror(id, summary, body).refuses(&[BAD_REQUEST, NO_QUOTES])
}

pub(super) const HISTORY: Doc = mirror(
    "historyCandlesticks",
    "Command 27: candles of any past day, at most 1000",
    &[Media::json::<quote::SecurityHistoryCandlestickRequest>()],
)
.answers(&[
    AnswerDoc::ok("The answer", &[data::<quote::SecurityCandlestickResponse>()]).headers(&allowance::HEADERS)
])
.refuses(HISTORY_REFUSALS);
const HISTORY_REFUSALS: &[RefusalDoc] = &[BAD_REQUEST, NO_QUOTES, TOO_FAST];

pub(super) const CANDLESTICKS: Doc = quotes_of_one(
    "candlesticks",
    "Command 19: the latest candles, at most 1000",
    &[Media::json::<quote::SecurityCandlestickRequest>()],
)
.answers(&[AnswerDoc::ok("The answer", &[data::<quote::SecurityCandlestickResponse>()])]);

pub(super) const INTRADAY: Doc = quotes_of_one(
    "intraday",
    "Command 18: the minutes of the latest trading day",
    &[Media::json::<quote::IntradayRequest>()],
)
.answers(&[AnswerDoc::ok("The answer", &[data::<quote::IntradayResponse>()])]);

pub(super) const QUOTES: Doc = mirror(
    "quotes",
    "Command 11: the latest prices of up to 500 securities",
    &[Media::json::<quote::SymbolsRequest>()],
)
.answers(&[AnswerDoc::ok("The answer", &[data::<quote::QuoteResponse>()])]);

pub(super) const STATIC_INFO: Doc = mirror(
    "staticInfo",
    "Command 10: names, currencies and lots of up to 500 securities",
    &[Media::json::<quote::SymbolsRequest>()],
)
.answers(&[AnswerDoc::ok("The answer", &[data::<quote::StaticInfoResponse>()])]);

pub(super) const TRADING_SESSIONS: Doc =
    mirror("tradingSessions", "Command 8: the trading hours of the markets", NOTHING)
        .answers(&[AnswerDoc::ok("The answer", &[data::<quote::TradingSessionsResponse>()])]);

pub(super) const TRADING_DAYS: Doc = mirror(
    "tradingDays",
    "Command 9: the trading days of a market",
    &[Media::json::<quote::TradingDaysRequest>()],
)
.answers(&[AnswerDoc::ok("The answer", &[data::<quote::TradingDaysResponse>()])]);

pub(super) const PROFILE: Doc =
    mirror("profile", "Command 4: what the account may do", &[Media::json::<quote::QuoteProfileRequest>()])
        .answers(&[AnswerDoc::ok("The answer", &[data::<quote::QuoteProfileResponse>()])]);

const NOTHING: &[Media] = &[Media::json::<Empty>()];

const fn not_offered(id: &'static str) -> Doc {
    Doc::new(Tag::NotOffered, id, "Not offered").body(NOTHING).refuses(&[BAD_REQUEST, NOT_OFFERED])
}

pub(super) const OPTION_QUOTES: Doc = not_offered("optionQuotes");
pub(super) const WARRANT_QUOTES: Doc = not_offered("warrantQuotes");
pub(super) const DEPTH: Doc = not_offered("depth");
pub(super) const BROKERS: Doc = not_offered("brokers");
pub(super) const PARTICIPANTS: Doc = not_offered("participants");
pub(super) const TRADES: Doc = not_offered("trades");
pub(super) const OPTION_EXPIRY_DATES: Doc = not_offered("optionExpiryDates");
pub(super) const OPTION_STRIKES: Doc = not_offered("optionStrikes");
pub(super) const WARRANT_ISSUERS: Doc = not_offered("warrantIssuers");
pub(super) const WARRANTS: Doc = not_offered("warrants");
pub(super) const CAPITAL_FLOW: Doc = not_offered("capitalFlow");
pub(super) const CAPITAL_DISTRIBUTION: Doc = not_offered("capitalDistribution");
pub(super) const CALC_INDEXES: Doc = not_offered("calcIndexes");
