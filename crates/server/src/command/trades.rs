//! Command 17: the latest individual trades in a security.

use access::Permit;
use history::{HistoryError, LatestTrades, Sessions, TRADES_MAX};
use market::{FloorTable, Floors, Session, Symbol, Trade, TradeDirection};
use wire::quote::{self, TradesRequest, TradesResponse};

use super::candles::seen;
use super::definition::symbol;
use super::definition::{Command, Context, Subject};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

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
                    "{count} trades in one request: {TRADES_MAX} are the most"
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
