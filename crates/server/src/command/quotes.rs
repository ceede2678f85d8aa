//! Command 11: quotes derived from the newest candles.

use access::Permit;
use history::{HistoryError, Quote, SessionQuote, Sessions, TradeStatus};
use market::{Price, Symbol};
use wire::quote::{self, PrePost, QuoteResponse, SymbolsRequest};

use super::candles::seen;
use super::definition::{Command, Context, Subject, symbols};
use crate::caller::Caller;
use crate::core::Core;
use crate::refusal::Refusal;

#[derive(Debug)]
pub(crate) struct Quotes {
    symbols: Vec<Symbol>,
}

impl Command for Quotes {
    const NUMBER: u8 = wire::command::QUOTE;
    const LABEL: &'static str = "quotes";
    type Request = SymbolsRequest;
    type Response = QuoteResponse;

    fn parse(request: SymbolsRequest, _: &Context<'_>) -> Result<Quotes, Refusal> {
        Ok(Quotes { symbols: symbols(&request.symbol)? })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Prices
    }

    /// Omits securities that are unknown, have no candles, or that the account may not see.
    fn answer(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<QuoteResponse, Refusal> {
        let as_of = caller.as_of;
        let sessions = seen(Sessions::All, caller);
        let found = core.with_reader(|reader| {
            let mut quotes = Vec::with_capacity(self.symbols.len());
            for symbol in self.symbols.iter().filter(|symbol| permit.holds(symbol.market().into())) {
                let floors = core.floors_of(permit.account()).of(symbol.market());
                let quote = core.history.quote(reader, symbol, sessions, floors, as_of)?;
                quotes.extend(quote.as_ref().map(message));
            }
            Ok(quotes)
        });
        let secu_quote = found.map_err(|error: HistoryError| Refusal::from(error))?;
        Ok(QuoteResponse { secu_quote })
    }
}

fn message(quote: &Quote) -> quote::Quote {
    let price = |price: Price| price.text(quote.decimals).to_string();
    let beside = |SessionQuote { state, prev_close }: SessionQuote| PrePost {
        last_done: price(state.last),
        timestamp: state.time.0,
        volume: state.volume,
        turnover: state.turnover.text().to_string(),
        high: price(state.high),
        low: price(state.low),
        prev_close: price(prev_close),
    };
    let SessionQuote { state, prev_close } = quote.regular;
    quote::Quote {
        symbol: quote.symbol.as_str().to_owned(),
        last_done: price(state.last),
        prev_close: price(prev_close),
        open: price(state.open),
        high: price(state.high),
        low: price(state.low),
        timestamp: state.time.0,
        volume: state.volume,
        turnover: state.turnover.text().to_string(),
        trade_status: match quote.trade_status {
            TradeStatus::Normal => quote::TradeStatus::Normal.into(),
        },
        pre_market_quote: quote.pre.map(beside),
        post_market_quote: quote.post.map(beside),
        over_night_quote: quote.overnight.map(beside),
    }
}
