//! Commands 19 and 27: candles, the latest or of any past day.

use bytes::Bytes;
use history::{
    Adjust, Anchor, Answer, AsOf, COUNT_MAX, Direction, HistoryError, Paged, Paging, Plan, Query, Select,
    Sessions, Slices,
};
use market::{FloorTable, Period, Price};
use serde_json::{Value, json};
use wire::quote;

use super::symbols::symbol;
use crate::caller::Caller;
use crate::core::Core;
use crate::encoded_page::rows;
use crate::refusal::Refusal;

/// Candles that one request over HTTP may ask for, beyond the thousand of the protocol.
pub(crate) const PAGED_MAX: usize = 10_000;

/// What the session selector of a request means.
const INTRADAY: i32 = 0;
const ALL: i32 = 100;

/// Candles to be sent: columns, or pages that are bytes already.
#[derive(Debug)]
pub(crate) enum CandleReply {
    Columns(Answer),
    Pages { symbol: market::Symbol, slices: Slices<Bytes> },
}

impl CandleReply {
    pub(crate) fn len(&self) -> usize {
        match self {
            CandleReply::Columns(answer) => answer.candles.len(),
            CandleReply::Pages { slices, .. } => slices.rows,
        }
    }

    pub(crate) fn encode(self) -> Vec<Bytes> {
        let mut head = Vec::new();
        match self {
            CandleReply::Columns(answer) => {
                wire::encode_candles(
                    answer.symbol.as_str(),
                    answer.decimals,
                    rows(&answer.candles),
                    &mut head,
                );
                vec![head.into()]
            }
            CandleReply::Pages { symbol, slices } => {
                wire::encode_symbol(symbol.as_str(), &mut head);
                let mut pieces = slices.pieces;
                pieces.insert(0, head.into());
                pieces
            }
        }
    }

    /// Only ever asked of columns: whoever wants JSON asks for them.
    pub(crate) fn json(&self) -> Value {
        let CandleReply::Columns(answer) = self else { return Value::Null };
        let price = |price: Price| price.text(answer.decimals).to_string();
        let candles: Vec<Value> = answer
            .candles
            .iter()
            .map(|candle| {
                json!({
                    "close": price(candle.close),
                    "open": price(candle.open),
                    "low": price(candle.low),
                    "high": price(candle.high),
                    "volume": candle.volume,
                    "turnover": candle.turnover.text().to_string(),
                    "timestamp": candle.time.0,
                    "trade_session": candle.session.code(),
                })
            })
            .collect();
        json!({"symbol": answer.symbol.as_str(), "candlesticks": candles})
    }
}

/// Command 27.
pub(super) fn history(
    request: &quote::SecurityHistoryCandlestickRequest,
    caller: &Caller,
    floors: FloorTable,
) -> Result<Query, Refusal> {
    let symbol = symbol(&request.symbol)?;
    let floors = floors.of(symbol.market());
    let period = period(request.period)?;
    let select = match (request.query_type, &request.offset_request, &request.date_request) {
        (1, Some(offset), _) => {
            Select::offset(period, offset.direction.into(), &offset.date, &offset.minute, offset.count.into())
        }
        (2, _, Some(dates)) => Select::dates(period, floors, &dates.start_date, &dates.end_date),
        (1, None, _) => return Err(bad("query_type 1 needs offset_request")),
        (2, _, None) => return Err(bad("query_type 2 needs date_request")),
        (other, ..) => {
            return Err(bad(&format!("query_type {other} is neither 1 (by offset) nor 2 (by date)")));
        }
    };
    let select = select.map_err(|error| Refusal::BadQuery(error.to_string()))?;
    let sessions = sessions(request.trade_session, caller)?;
    Ok(Query { symbol, period, adjust: adjust(request.adjust_type)?, sessions, floors, select })
}

/// Command 19: the latest candles, the one that is forming included.
pub(super) fn latest(
    request: &quote::SecurityCandlestickRequest,
    caller: &Caller,
    floors: FloorTable,
) -> Result<Query, Refusal> {
    let symbol = symbol(&request.symbol)?;
    let floors = floors.of(symbol.market());
    let period = period(request.period)?;
    let count = match usize::try_from(request.count) {
        Ok(count @ 1..=COUNT_MAX) => count,
        Ok(0) | Err(_) => return Err(bad(&format!("count {} is outside 1 to {COUNT_MAX}", request.count))),
        Ok(count) => {
            return Err(Refusal::TooMany(format!(
                "{count} candlesticks in one request: {COUNT_MAX} are the most"
            )));
        }
    };
    let select = Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count };
    let sessions = sessions(request.trade_session, caller)?;
    Ok(Query { symbol, period, adjust: adjust(request.adjust_type)?, sessions, floors, select })
}

/// The trading hours that a selector names; overnight ones only for whoever asked for them when signing in and may.
pub(super) fn sessions(selector: i32, caller: &Caller) -> Result<Sessions, Refusal> {
    match selector {
        INTRADAY => Ok(Sessions::Intraday),
        ALL if caller.overnight => Ok(Sessions::All),
        ALL => Ok(Sessions::Extended),
        other => Err(bad(&format!("trade_session {other} is neither 0 (intraday) nor 100 (all)"))),
    }
}

/// A period by its number on the wire.
pub(crate) fn period(number: i32) -> Result<Period, Refusal> {
    let of_number = |period: &Period| period_number(*period) == number;
    Period::all().find(of_number).ok_or_else(|| bad(&format!("period {number} is unknown")))
}

/// Minutes are their own number; the rest has numbers by convention.
pub(crate) fn period_number(period: Period) -> i32 {
    match period {
        Period::Clock(minutes) => i32::from(minutes.get()),
        Period::Calendar(market::Span::Day) => 1000,
        Period::Calendar(market::Span::Week) => 2000,
        Period::Calendar(market::Span::Month) => 3000,
        Period::Calendar(market::Span::Quarter) => 3500,
        Period::Calendar(market::Span::Year) => 4000,
    }
}

fn adjust(number: i32) -> Result<Adjust, Refusal> {
    match number {
        0 => Ok(Adjust::None),
        1 => Ok(Adjust::Forward),
        other => Err(bad(&format!("adjust_type {other} is neither 0 (none) nor 1 (forward)"))),
    }
}

fn bad(text: &str) -> Refusal {
    Refusal::BadQuery(text.to_owned())
}

/// Candles for the wire: pages where the question is a plain one, columns else.
pub(super) fn answer(query: &Query, core: &Core) -> Result<CandleReply, Refusal> {
    let as_of = core.as_of();
    let plan = Plan::of(query, core.history.venue(&query.symbol), as_of);
    answer_plan(query, &plan, core, as_of)
}

/// The answer out of memory, or by the one short read that a plain question takes.
pub(super) fn at_once(query: &Query, core: &Core, version: i64) -> Option<Result<CandleReply, Refusal>> {
    if query.adjust != Adjust::None {
        return None;
    }
    let as_of = core.as_of();
    let plan = Plan::of(query, core.history.venue(&query.symbol), as_of);
    plan.stored()?;
    // What goes wrong here goes wrong again below, where it is told.
    if let Ok(Some(slices)) = core.shelf.slices_in_memory(version, &plan) {
        core.metrics.cache_hit();
        return Some(Ok(CandleReply::Pages { symbol: query.symbol.clone(), slices }));
    }
    // What is made of minutes takes longer, and no memory has it.
    if plan.edge.is_some() {
        return None;
    }
    core.metrics.cache_miss();
    Some(answer_plan(query, &plan, core, as_of))
}

fn answer_plan(query: &Query, plan: &Plan, core: &Core, as_of: AsOf) -> Result<CandleReply, Refusal> {
    // Pages that nobody keeps are not worth making.
    let is_paged = query.adjust == Adjust::None && !query.symbol.is_us_option() && !core.shelf.is_off();
    let found = core.with_reader(|reader| {
        if is_paged
            && let Some(slices) = core.shelf.slices(reader, core.history.venue(&query.symbol), plan)?
        {
            return Ok(CandleReply::Pages { symbol: query.symbol.clone(), slices });
        }
        core.history.answer(reader, query, plan, as_of).map(CandleReply::Columns)
    });
    found.map_err(Refusal::from)
}

/// Candles as columns, for whoever does not speak protobuf.
pub(crate) fn columns(query: &Query, core: &Core) -> Result<Answer, Refusal> {
    let as_of = core.as_of();
    core.with_reader(|reader| core.history.candles(reader, query, as_of))
        .map_err(|error: HistoryError| Refusal::from(error))
}

/// The same beyond the thousand of one answer, and where to go on.
pub(crate) fn pages(query: &Query, paging: Paging, core: &Core) -> Result<Paged, Refusal> {
    let as_of = core.as_of();
    core.with_reader(|reader| core.history.paged(reader, query, paging, as_of))
        .map_err(|error: HistoryError| Refusal::from(error))
}
