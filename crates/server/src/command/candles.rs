//! What the two commands for candles share: a question for them, its answers out of the store or the shelf, and the numbers that
//! messages have for periods, adjustment and hours.

use bytes::Bytes;
use history::{Adjust, Answer, AsOf, COUNT_MAX, HistoryError, Paged, Paging, Plan, Query, Sessions, Slices};
use market::{FloorTable, Period, Price, Symbol};
use serde_json::{Value, json};

use super::definition::{Reply, Response};
use crate::caller::Caller;
use crate::core::Core;
use crate::encoded_page::rows;
use crate::refusal::Refusal;

/// Candles that one request over HTTP may ask for, beyond those of one answer of the protocol.
pub(crate) const PAGED_MAX: usize = 10_000;

/// What the session selector of a request means.
const INTRADAY: i32 = 0;
const ALL: i32 = 100;

/// A question for candles.
#[derive(Debug)]
pub(super) struct CandleQuestion {
    pub(super) query: Query,
    /// How it is to be answered, if that was decided before there was time to do so: nothing is planned twice.
    planned: Option<Planned>,
}

/// A plan, and the instant it was made for.
#[derive(Debug)]
struct Planned {
    plan: Plan,
    as_of: AsOf,
}

impl CandleQuestion {
    pub(super) fn new(query: Query) -> CandleQuestion {
        CandleQuestion { query, planned: None }
    }

    /// Nothing before the floors of the account is in the answer, and no overnight hours without the right to them.
    pub(super) fn narrow(&mut self, caller: &Caller, floors: FloorTable) {
        let Query { symbol, sessions, .. } = &self.query;
        let (sessions, floors) = (seen(*sessions, caller), floors.of(symbol.market()));
        self.query.sessions = sessions;
        self.query.floors = floors;
    }

    /// The answer out of memory, or by the one short read that a plain question takes.
    pub(super) fn reply_at_once(&mut self, core: &Core, version: i64) -> Option<Result<Reply, Refusal>> {
        let query = &self.query;
        if query.adjust != Adjust::None {
            return None;
        }
        let planned = Planned::now(query, core);
        let is_plain = planned.plan.stored().is_some();
        // What goes wrong here goes wrong again below, where it is told.
        if is_plain && let Ok(Some(slices)) = core.shelf.slices_in_memory(version, &planned.plan) {
            core.metrics.cache_hit();
            return Some(Ok(put_together(&query.symbol, slices)));
        }
        // What is folded, or made of minutes, takes longer, and no memory has it.
        if !is_plain || planned.plan.edge.is_some() {
            self.planned = Some(planned);
            return None;
        }
        core.metrics.cache_miss();
        Some(planned.reply(query, core))
    }

    /// For the wire: pages that are bytes already where the question is a plain one, columns else.
    pub(super) fn reply(self, core: &Core) -> Result<Reply, Refusal> {
        let planned = self.planned.unwrap_or_else(|| Planned::now(&self.query, core));
        planned.reply(&self.query, core)
    }

    /// Columns, for those who do not speak protobuf.
    pub(super) fn columns(&self, core: &Core) -> Result<CandleResponse, Refusal> {
        let as_of = core.as_of();
        let answer = core.with_reader(|reader| core.history.candles(reader, &self.query, as_of));
        answer.map(CandleResponse).map_err(|error: HistoryError| Refusal::from(error))
    }

    /// The same beyond the thousand of one answer, and where to go on.
    pub(super) fn pages(&self, paging: Paging, core: &Core) -> Result<Paged, Refusal> {
        let as_of = core.as_of();
        core.with_reader(|reader| core.history.paged(reader, &self.query, paging, as_of))
            .map_err(|error: HistoryError| Refusal::from(error))
    }
}

impl Planned {
    fn now(query: &Query, core: &Core) -> Planned {
        let as_of = core.as_of();
        Planned { plan: Plan::of(query, core.history.venue(&query.symbol), as_of), as_of }
    }

    fn reply(&self, query: &Query, core: &Core) -> Result<Reply, Refusal> {
        let Planned { plan, as_of } = self;
        // Pages that nobody keeps are not worth making.
        let is_paged = query.adjust == Adjust::None && !query.symbol.is_us_option() && !core.shelf.is_off();
        let found = core.with_reader(|reader| {
            if is_paged
                && let Some(slices) = core.shelf.slices(reader, core.history.venue(&query.symbol), plan)?
            {
                return Ok(put_together(&query.symbol, slices));
            }
            let answer = core.history.answer(reader, query, plan, *as_of)?;
            Ok(CandleResponse(answer).encode())
        });
        found.map_err(|error: HistoryError| Refusal::from(error))
    }
}

/// A response out of pages that are bytes already.
fn put_together(symbol: &Symbol, slices: Slices<Bytes>) -> Reply {
    let Slices { pieces: mut body, rows } = slices;
    let mut head = Vec::new();
    wire::encode_symbol(symbol.as_str(), &mut head);
    body.insert(0, head.into());
    Reply { body, candles: rows }
}

/// Candles in columns.
#[derive(Debug)]
pub(crate) struct CandleResponse(Answer);

impl Response for CandleResponse {
    fn encode(self) -> Reply {
        let CandleResponse(Answer { symbol, decimals, candles, .. }) = &self;
        let mut body = Vec::new();
        wire::encode_candles(symbol.as_str(), *decimals, rows(candles), &mut body);
        Reply { body: vec![body.into()], candles: candles.len() }
    }

    fn json(&self) -> Value {
        let CandleResponse(answer) = self;
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

    fn candles(&self) -> usize {
        self.0.candles.len()
    }
}

/// Calls of the rate window that an answer is worth: one for each [`COUNT_MAX`] candles begun.
pub(crate) fn calls(candles: usize) -> u32 {
    u32::try_from(candles.div_ceil(COUNT_MAX)).unwrap_or(u32::MAX)
}

/// The trading hours that a selector names; overnight ones only for a caller who asked for them when signing in.
pub(super) fn sessions(selector: i32, caller: &Caller) -> Result<Sessions, Refusal> {
    match selector {
        INTRADAY => Ok(Sessions::Intraday),
        ALL => Ok(seen(Sessions::All, caller)),
        other => Err(bad(format!("trade_session {other} is neither 0 (intraday) nor 100 (all)"))),
    }
}

/// What a caller sees of some trading hours.
pub(super) fn seen(sessions: Sessions, caller: &Caller) -> Sessions {
    match sessions {
        Sessions::All if !caller.overnight => Sessions::Extended,
        sessions => sessions,
    }
}

/// A period by its number on the wire.
pub(crate) fn period(number: i32) -> Result<Period, Refusal> {
    let of_number = |period: &Period| period_number(*period) == number;
    Period::all().find(of_number).ok_or_else(|| bad(format!("period {number} is unknown")))
}

/// Minutes are their own number; the rest has numbers by convention.
fn period_number(period: Period) -> i32 {
    match period {
        Period::Clock(minutes) => i32::from(minutes.get()),
        Period::Calendar(market::Span::Day) => 1000,
        Period::Calendar(market::Span::Week) => 2000,
        Period::Calendar(market::Span::Month) => 3000,
        Period::Calendar(market::Span::Quarter) => 3500,
        Period::Calendar(market::Span::Year) => 4000,
    }
}

pub(super) fn adjust(number: i32) -> Result<Adjust, Refusal> {
    match number {
        0 => Ok(Adjust::None),
        1 => Ok(Adjust::Forward),
        other => Err(bad(format!("adjust_type {other} is neither 0 (none) nor 1 (forward)"))),
    }
}

pub(super) fn bad(text: String) -> Refusal {
    Refusal::BadQuery(text)
}
