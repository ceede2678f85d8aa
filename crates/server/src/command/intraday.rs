//! Command 18: the intraday price line by minute, with the running average price.

use access::Permit;
use history::{DayMinutes, HistoryError, LinePoint, Sessions};
use market::{FloorTable, Floors, Symbol};
use wire::quote::{IntradayLine, IntradayRequest, IntradayResponse};

use super::candles::{seen, sessions};
use super::definition::symbol;
use super::definition::{Command, Context, Subject};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

/// Number of decimals in average prices.
const AVERAGE_DECIMALS: u32 = 6;

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

    fn answer(self, caller: &Caller, _: &Permit, core: &Core) -> Result<IntradayResponse, Refusal> {
        let Intraday { symbol, sessions, floors } = self;
        let as_of = caller.as_of;
        let found = core
            .with_reader(|reader| core.history.newest_day_minutes(reader, &symbol, sessions, floors, as_of));
        let found = found.map_err(|error: HistoryError| Refusal::from(error))?;
        Ok(IntradayResponse {
            symbol: symbol.as_str().to_owned(),
            lines: found.map(|minutes| lines(&minutes)).unwrap_or_default(),
        })
    }
}

fn lines(minutes: &DayMinutes) -> Vec<IntradayLine> {
    let line = |point: LinePoint| IntradayLine {
        price: point.price.text(minutes.decimals).to_string(),
        timestamp: point.time.0,
        volume: point.volume,
        turnover: point.turnover.text().to_string(),
        avg_price: point.average.text(AVERAGE_DECIMALS).to_string(),
    };
    minutes.line().map(line).collect()
}
