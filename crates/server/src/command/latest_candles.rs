//! Command 19: the latest candles, including the one still forming.

use access::Permit;
use history::{Anchor, COUNT_MAX, Direction, Query, Select};
use market::FloorTable;
use wire::quote::SecurityCandlestickRequest;

use super::candles::{CandleQuestion, CandleResponse, adjust, bad, period, sessions};
use super::definition::symbol;
use super::definition::{Command, Context, Reply, Subject};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

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
                    "{count} candlesticks in one request: {COUNT_MAX} are the most"
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
