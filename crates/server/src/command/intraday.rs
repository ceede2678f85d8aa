//! Commands 17 and 18: a security's latest individual trades, and its intraday prices by minute
//! with the running average price.

use access::Permit;
use history::{DayMinutes, HistoryError, LatestTrades, LinePoint, Sessions, TRADES_MAX};
use market::{FloorTable, Floors, Session, Symbol, Trade, TradeDirection};
use wire::quote::{self, IntradayLine, IntradayRequest, IntradayResponse, TradesRequest, TradesResponse};

use super::candles::{seen, sessions};
use super::definition::{Command, Context, Subject, symbol};
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

#[derive(Debug)]
pub(crate) struct LatestTradesCommand {
    symbol: Symbol,
    count: usize,
    sessions: Sessions,
    floors: Floors,
}

impl Command for LatestTradesCommand {
    const NUMBER: u8 = wire::command::TRADES;
    const LABEL: &'static str = "trades";
    type Request = TradesRequest;
    type Response = TradesResponse;

    fn parse(request: TradesRequest, context: &Context<'_>) -> Result<LatestTradesCommand, Refusal> {
        let symbol = symbol(&request.symbol)?;
        let count = match usize::try_from(request.count) {
            Ok(count) if count > TRADES_MAX => {
                return Err(Refusal::TooMany(format!(
                    "{count} trades in one request: the maximum is {TRADES_MAX}"
                )));
            }
            Ok(count) if count > 0 => count,
            _ => {
                return Err(Refusal::BadQuery(format!(
                    "count {} is outside 1 to {TRADES_MAX}",
                    request.count
                )));
            }
        };
        let floors = context.floors.of(symbol.market());
        Ok(LatestTradesCommand { symbol, count, sessions: Sessions::All, floors })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Trades(&self.symbol)
    }

    fn narrow(&mut self, caller: &Caller, floors: FloorTable) {
        self.sessions = seen(self.sessions, caller);
        self.floors = floors.of(self.symbol.market());
    }

    fn answer(self, caller: &Caller, _: &Permit, core: &Core) -> Result<TradesResponse, Refusal> {
        let LatestTradesCommand { symbol, count, sessions, floors } = self;
        let found = core.with_reader(|reader| {
            core.history.latest_trades(reader, &symbol, count, sessions, floors, caller.as_of)
        });
        let LatestTrades { decimals, trades } = found.map_err(|error: HistoryError| Refusal::from(error))?;
        let trades = trades.iter().map(|(trade, session)| message(trade, *session, decimals)).collect();
        Ok(TradesResponse { symbol: symbol.as_str().to_owned(), trades })
    }
}

fn message(trade: &Trade, session: Session, decimals: u32) -> quote::Trade {
    quote::Trade {
        price: trade.price.text(decimals).to_string(),
        volume: trade.volume,
        timestamp: trade.time.0,
        trade_type: trade.kind.to_string(),
        direction: match trade.direction {
            // The protocol has no value for an unknown direction.
            TradeDirection::Neutral | TradeDirection::Untold => 0,
            TradeDirection::Down => 1,
            TradeDirection::Up => 2,
        },
        trade_session: i32::from(session.code()),
    }
}
