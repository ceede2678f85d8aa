//! Command 27: historical candles.

use access::Permit;
use history::{Paged, Paging, Query, Select, Sessions};
use market::FloorTable;
use wire::quote::SecurityHistoryCandlestickRequest;

use super::candles::{CandleQuestion, CandleResponse, adjust, bad, period, sessions};
use super::definition::symbol;
use super::definition::{Command, Context, Pace, Reply, Subject};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

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

    /// Returns candles in columns, possibly more than one protocol response may hold, and the start
    /// of the next page.
    pub(crate) fn pages(&self, paging: Paging, caller: &Caller, core: &Core) -> Result<Paged, Refusal> {
        self.0.pages(paging, caller.as_of, core)
    }

    /// Returns whether the response may contain overnight candles.
    pub(crate) fn has_overnight(&self) -> bool {
        self.0.query.sessions == Sessions::All
    }
}
