//! Command 18: the intraday line, minute by minute, with the average price so far.

use access::Permit;
use history::{Adjust, Answer, AsOf, HistoryError, Keep, Plan, Query, Select, Sessions};
use market::{Date, FloorTable, Floors, Period, Price, Symbol, Timestamp, Turnover};
use store::Reader;
use wire::quote::{IntradayLine, IntradayRequest, IntradayResponse};

use super::candles::{seen, sessions};
use super::definition::symbol;
use super::definition::{Command, Context, Subject};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

/// Decimals of average prices.
const AVERAGE_DECIMALS: u32 = 6;
/// More minutes than any trading day has, overnight included.
const MINUTES_MAX: usize = 2000;

#[derive(Debug)]
pub(crate) struct Intraday {
    symbol: Symbol,
    sessions: Sessions,
    floors: Floors,
}

impl Command for Intraday {
    const NUMBER: u8 = wire::command::INTRADAY;
    const LABEL: &'static str = "intraday";
    type Request = IntradayRequest;
    type Response = IntradayResponse;

    fn parse(request: IntradayRequest, context: &Context<'_>) -> Result<Intraday, Refusal> {
        let symbol = symbol(&request.symbol)?;
        let floors = context.floors.of(symbol.market());
        Ok(Intraday { symbol, sessions: sessions(request.trade_session, context.caller)?, floors })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Security(&self.symbol)
    }

    fn narrow(&mut self, caller: &Caller, floors: FloorTable) {
        self.sessions = seen(self.sessions, caller);
        self.floors = floors.of(self.symbol.market());
    }

    fn answer(self, _: &Caller, _: &Permit, core: &Core) -> Result<IntradayResponse, Refusal> {
        let query = minutes(&self.symbol, self.sessions, self.floors);
        let as_of = core.as_of();
        let found = core.with_reader(|reader| match last_day(&query, core, reader, as_of)? {
            Some(day) => day_minutes(&query, day, core, reader, as_of).map(Some),
            None => Ok(None),
        });
        let found = found.map_err(|error: HistoryError| Refusal::from(error))?;
        Ok(IntradayResponse {
            symbol: self.symbol.as_str().to_owned(),
            lines: found.map(|answer| lines(&answer)).unwrap_or_default(),
        })
    }
}

fn lines(answer: &Answer) -> Vec<IntradayLine> {
    let (mut volume, mut turnover) = (0i128, 0i128);
    let line = |candle: market::Candle| {
        volume += i128::from(candle.volume);
        turnover += candle.turnover.0;
        let average = average(turnover, volume).unwrap_or(candle.close);
        IntradayLine {
            price: candle.close.text(answer.decimals).to_string(),
            timestamp: candle.time.0,
            volume: candle.volume,
            turnover: candle.turnover.text().to_string(),
            avg_price: average.text(AVERAGE_DECIMALS).to_string(),
        }
    };
    answer.candles.iter().map(line).collect()
}

/// Turnover divided by volume, rounded; `None` if the source has no turnover, or nothing was
/// traded.
fn average(turnover: i128, volume: i128) -> Option<Price> {
    if turnover <= 0 || volume <= 0 {
        return None;
    }
    i64::try_from((turnover + volume / 2) / volume).ok().map(Price)
}

/// The trading day of the newest minute in these sessions. Before regular hours begin, pre-market
/// or overnight hours may already belong to the next day.
pub(super) fn last_day(
    query: &Query,
    core: &Core,
    reader: &mut Reader,
    as_of: AsOf,
) -> Result<Option<Date>, HistoryError> {
    let venue = core.history.venue(&query.symbol);
    let plan = Plan::over(query, venue, as_of, Timestamp(i64::MIN)..Timestamp(i64::MAX), Keep::Last(1));
    let answer = core.history.answer(reader, query, &plan, as_of)?;
    Ok(answer.candles.time.last().and_then(|time| venue.trading_day(Timestamp(*time))))
}

/// The minutes of one trading day, which may begin on the evening before.
pub(super) fn day_minutes(
    query: &Query,
    day: Date,
    core: &Core,
    reader: &mut Reader,
    as_of: AsOf,
) -> Result<Answer, HistoryError> {
    let venue = core.history.venue(&query.symbol);
    let stamps: Vec<Timestamp> =
        venue.day(day).map(|day| day.minutes().map(|(at, _)| at).collect()).unwrap_or_default();
    let window = match (stamps.first(), stamps.last()) {
        (Some(first), Some(last)) => *first..Timestamp(last.0 + 1),
        _ => as_of.now()..as_of.now(),
    };
    let plan = Plan::over(query, venue, as_of, window, Keep::Last(MINUTES_MAX));
    core.history.answer(reader, query, &plan, as_of)
}

/// The one-minute candles of a security.
pub(super) fn minutes(symbol: &Symbol, sessions: Sessions, floors: Floors) -> Query {
    let select = Select::Dates { start: None, end: None };
    Query { symbol: symbol.clone(), period: Period::MINUTE, adjust: Adjust::None, sessions, floors, select }
}

/// A day's candle, made from its minutes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub(super) open: Price,
    pub(super) high: Price,
    pub(super) low: Price,
    pub(super) close: Price,
    pub(super) volume: i64,
    pub(super) turnover: Turnover,
    pub(super) last: Timestamp,
}

/// Folds the candles of one session into one; `None` if there are none.
pub(super) fn sum(answer: &Answer, session: market::Session) -> Option<Sum> {
    let mut sum: Option<Sum> = None;
    for candle in answer.candles.iter().filter(|candle| candle.session == session) {
        let next = sum.get_or_insert(Sum {
            open: candle.open,
            high: candle.high,
            low: candle.low,
            close: candle.close,
            volume: 0,
            turnover: Turnover(0),
            last: candle.time,
        });
        next.high = next.high.max(candle.high);
        next.low = next.low.min(candle.low);
        next.close = candle.close;
        next.volume = next.volume.saturating_add(candle.volume);
        next.turnover = Turnover(next.turnover.0.saturating_add(candle.turnover.0));
        next.last = candle.time;
    }
    sum
}
