//! Commands 19 and 27: the latest candles, including the candle still forming, and historical
//! candles. Both commands share the query, the answer from the store or the page cache, and the
//! wire numbers of periods, adjustments and trading sessions.

use access::Permit;
use bytes::Bytes;
use collect::Wants;
use history::{
    Adjust, Anchor, Answer, AsOf, COUNT_MAX, Direction, HistoryError, Paged, Paging, Plan, Query, Select,
    Sessions, Slices,
};
use market::{FloorTable, Period, Price, Symbol};
use serde_json::{Value, json};
use wire::quote::{SecurityCandlestickRequest, SecurityHistoryCandlestickRequest};

use super::definition::{Command, Context, Pace, Subject, symbol};
use crate::caller::Caller;
use crate::core::Core;
use crate::encoded_page::rows;
use crate::message::{Reply, Response};
use crate::refusal::Refusal;

/// Maximum number of candles per HTTP request. A response on a long connection has at most
/// [`COUNT_MAX`].
pub const PAGED_MAX: usize = 10_000;

/// Wire value of the session selector for regular hours.
const INTRADAY: i32 = 0;
/// Wire value of the session selector for all sessions.
const ALL: i32 = 100;

/// A candle query and, once computed, its plan.
#[derive(Debug)]
struct CandleQuestion {
    query: Query,
    /// Plan of the query, if it was computed before the request moved to a worker thread.
    plan: Option<Plan>,
    /// Limits of a response over HTTP.
    paging: Option<Paging>,
}

impl CandleQuestion {
    fn new(query: Query) -> CandleQuestion {
        CandleQuestion { query, plan: None, paging: None }
    }

    fn wants(&self) -> Wants<'_> {
        Wants::Candles { query: &self.query, paging: self.paging }
    }

    /// Restricts the query to candles after the account's history floor, and drops overnight
    /// candles if the account lacks the overnight right.
    fn narrow(&mut self, caller: &Caller, floors: FloorTable) {
        let Query { symbol, sessions, .. } = &self.query;
        let (sessions, floors) = (seen(*sessions, caller), floors.of(symbol.market()));
        self.query.sessions = sessions;
        self.query.floors = floors;
    }

    /// Answers from the page cache, or with the single short read that unfolded stored candles
    /// need. Returns `None` for slower queries, which need a worker thread.
    fn reply_at_once(&mut self, as_of: AsOf, core: &Core, version: i64) -> Option<Result<Reply, Refusal>> {
        let query = &self.query;
        if query.adjust != Adjust::None {
            return None;
        }
        let plan = plan(query, as_of, core);
        let is_plain = plan.stored().is_some();
        // Cache errors are ignored here, because the read below returns the same error.
        if is_plain && let Ok(Some(slices)) = core.page_cache.slices_in_memory(version, &plan, as_of) {
            core.metrics.cache_hit();
            return Some(Ok(put_together(&query.symbol, slices)));
        }
        // Candles that are folded or built from one-minute candles are slower to read and are never
        // cached.
        if !is_plain || plan.edge.is_some() {
            self.plan = Some(plan);
            return None;
        }
        core.metrics.cache_miss();
        Some(reply(query, &plan, as_of, core))
    }

    /// Returns the encoded response. The candles come from cached encoded pages if they are stored
    /// in the requested form, and are encoded from columns otherwise.
    fn reply(self, as_of: AsOf, core: &Core) -> Result<Reply, Refusal> {
        let plan = self.plan.unwrap_or_else(|| plan(&self.query, as_of, core));
        reply(&self.query, &plan, as_of, core)
    }

    /// Returns the response in columns, for transports that do not send protobuf.
    fn columns(&self, as_of: AsOf, core: &Core) -> Result<CandleResponse, Refusal> {
        let answer = core.with_reader(|reader| core.history.candles(reader, &self.query, as_of));
        answer.map(CandleResponse).map_err(|error: HistoryError| Refusal::from(error))
    }

    /// Like [`columns`](Self::columns), but may exceed the protocol's candle limit, and also
    /// returns the start of the next page.
    fn pages(&self, paging: Paging, as_of: AsOf, core: &Core) -> Result<Paged, Refusal> {
        core.with_reader(|reader| core.history.paged(reader, &self.query, paging, as_of))
            .map_err(|error: HistoryError| Refusal::from(error))
    }
}

fn plan(query: &Query, as_of: AsOf, core: &Core) -> Plan {
    Plan::of(query, core.history.venue(&query.symbol), as_of)
}

fn reply(query: &Query, plan: &Plan, as_of: AsOf, core: &Core) -> Result<Reply, Refusal> {
    // Encoding whole pages is worthwhile only if they are cached.
    let is_paged = query.adjust == Adjust::None && !query.symbol.is_us_option() && !core.page_cache.is_off();
    let found = core.with_reader(|reader| {
        if is_paged && let Some(slices) = core.page_cache.slices(reader, &core.history, plan, as_of)? {
            return Ok(put_together(&query.symbol, slices));
        }
        let answer = core.history.answer(reader, query, plan, as_of)?;
        Ok(CandleResponse(answer).encode())
    });
    found.map_err(|error: HistoryError| Refusal::from(error))
}

/// Builds a response from slices of encoded pages.
fn put_together(symbol: &Symbol, slices: Slices<Bytes>) -> Reply {
    let Slices { pieces: mut body, rows } = slices;
    let mut head = Vec::new();
    wire::encode_symbol(symbol.as_str(), &mut head);
    body.insert(0, head.into());
    Reply { body, candles: rows }
}

/// A candle response in columns.
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

/// Returns how many calls a response counts for in the rate window: one per [`COUNT_MAX`] candles,
/// rounded up.
pub(crate) fn calls(candles: usize) -> u32 {
    u32::try_from(candles.div_ceil(COUNT_MAX)).unwrap_or(u32::MAX)
}

/// Maps a wire session selector to trading sessions. Overnight hours are included only if the
/// caller requested them at sign-in.
pub(super) fn sessions(selector: i32, caller: &Caller) -> Result<Sessions, Refusal> {
    match selector {
        INTRADAY => Ok(Sessions::Intraday),
        ALL => Ok(seen(Sessions::All, caller)),
        other => Err(bad(format!("trade_session {other} is neither 0 (intraday) nor 100 (all)"))),
    }
}

/// Returns `sessions` without the overnight session if the caller may not see it.
pub(super) fn seen(sessions: Sessions, caller: &Caller) -> Sessions {
    match sessions {
        Sessions::All if !caller.overnight => Sessions::Extended,
        sessions => sessions,
    }
}

/// Returns the period with this wire number, or an error if the number is unknown.
pub(crate) fn period(number: i32) -> Result<Period, Refusal> {
    let of_number = |period: &Period| period_number(*period) == number;
    Period::all().find(of_number).ok_or_else(|| bad(format!("period {number} is unknown")))
}

/// Returns a period's wire number, which is the length in minutes for minute periods and an
/// assigned number for longer periods.
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

fn adjust(number: i32) -> Result<Adjust, Refusal> {
    match number {
        0 => Ok(Adjust::None),
        1 => Ok(Adjust::Forward),
        other => Err(bad(format!("adjust_type {other} is neither 0 (none) nor 1 (forward)"))),
    }
}

fn bad(text: String) -> Refusal {
    Refusal::BadQuery(text)
}

#[derive(Debug)]
pub(crate) struct LatestCandles(CandleQuestion);

impl Command for LatestCandles {
    const NUMBER: u8 = wire::command::CANDLESTICKS;
    const LABEL: &'static str = "candlesticks";
    type Request = SecurityCandlestickRequest;
    type Response = CandleResponse;

    fn parse(request: SecurityCandlestickRequest, context: &Context<'_>) -> Result<LatestCandles, Refusal> {
        let symbol = symbol(&request.symbol)?;
        let floors = context.floors.of(symbol.market());
        let period = period(request.period)?;
        let count = match usize::try_from(request.count) {
            Ok(count @ 1..=COUNT_MAX) => count,
            Ok(0) | Err(_) => {
                return Err(bad(format!("count {} is outside 1 to {COUNT_MAX}", request.count)));
            }
            Ok(count) => {
                return Err(Refusal::TooMany(format!(
                    "{count} candlesticks in one request: the maximum is {COUNT_MAX}"
                )));
            }
        };
        let select = Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count };
        let sessions = sessions(request.trade_session, context.caller)?;
        let adjust = adjust(request.adjust_type)?;
        let query = Query { symbol, period, adjust, sessions, floors, select };
        Ok(LatestCandles(CandleQuestion::new(query)))
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Security(&self.0.query.symbol)
    }

    fn wants(&self) -> Wants<'_> {
        self.0.wants()
    }

    fn narrow(&mut self, caller: &Caller, floors: FloorTable) {
        self.0.narrow(caller, floors);
    }

    fn answer(self, caller: &Caller, _: &Permit, core: &Core) -> Result<CandleResponse, Refusal> {
        self.0.columns(caller.as_of, core)
    }

    fn reply(self, caller: &Caller, _: &Permit, core: &Core) -> Result<Reply, Refusal> {
        self.0.reply(caller.as_of, core)
    }

    fn reply_at_once(
        &mut self,
        caller: &Caller,
        core: &Core,
        version: i64,
    ) -> Option<Result<Reply, Refusal>> {
        self.0.reply_at_once(caller.as_of, core, version)
    }
}

#[derive(Debug)]
pub(crate) struct HistoryCandles(CandleQuestion);

impl Command for HistoryCandles {
    const NUMBER: u8 = wire::command::HISTORY;
    const LABEL: &'static str = "history_candlesticks";
    const PACE: Pace = Pace::History;
    type Request = SecurityHistoryCandlestickRequest;
    type Response = CandleResponse;

    fn parse(
        request: SecurityHistoryCandlestickRequest,
        context: &Context<'_>,
    ) -> Result<HistoryCandles, Refusal> {
        let symbol = symbol(&request.symbol)?;
        let floors = context.floors.of(symbol.market());
        let period = period(request.period)?;
        let select = match (request.query_type, &request.offset_request, &request.date_request) {
            (1, Some(offset), _) => {
                let (direction, count) = (offset.direction.into(), offset.count.into());
                Select::offset(period, direction, &offset.date, &offset.minute, count)
            }
            (2, _, Some(dates)) => Select::dates(period, floors, &dates.start_date, &dates.end_date),
            (1, None, _) => return Err(bad("query_type 1 needs offset_request".to_owned())),
            (2, _, None) => return Err(bad("query_type 2 needs date_request".to_owned())),
            (other, ..) => {
                return Err(bad(format!("query_type {other} is neither 1 (by offset) nor 2 (by date)")));
            }
        };
        let select = select.map_err(|error| bad(error.to_string()))?;
        let sessions = sessions(request.trade_session, context.caller)?;
        let adjust = adjust(request.adjust_type)?;
        Ok(HistoryCandles::new(Query { symbol, period, adjust, sessions, floors, select }))
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Security(&self.0.query.symbol)
    }

    fn wants(&self) -> Wants<'_> {
        self.0.wants()
    }

    fn narrow(&mut self, caller: &Caller, floors: FloorTable) {
        self.0.narrow(caller, floors);
    }

    fn answer(self, caller: &Caller, _: &Permit, core: &Core) -> Result<CandleResponse, Refusal> {
        self.0.columns(caller.as_of, core)
    }

    fn reply(self, caller: &Caller, _: &Permit, core: &Core) -> Result<Reply, Refusal> {
        self.0.reply(caller.as_of, core)
    }

    fn reply_at_once(
        &mut self,
        caller: &Caller,
        core: &Core,
        version: i64,
    ) -> Option<Result<Reply, Refusal>> {
        self.0.reply_at_once(caller.as_of, core, version)
    }
}

impl HistoryCandles {
    /// Creates the command from a query that was not decoded from a message.
    pub(crate) fn new(query: Query) -> HistoryCandles {
        HistoryCandles(CandleQuestion::new(query))
    }

    /// Creates the command for a response over HTTP.
    pub(crate) fn paged(query: Query, paging: Paging) -> HistoryCandles {
        HistoryCandles(CandleQuestion { paging: Some(paging), ..CandleQuestion::new(query) })
    }

    /// Returns candles in columns, possibly more than one protocol response may hold, together with
    /// the start of the next page.
    pub(crate) fn pages(&self, paging: Paging, caller: &Caller, core: &Core) -> Result<Paged, Refusal> {
        self.0.pages(paging, caller.as_of, core)
    }

    /// Returns whether the response may contain overnight candles.
    pub(crate) fn has_overnight(&self) -> bool {
        self.0.query.sessions == Sessions::All
    }
}
