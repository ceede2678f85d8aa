//! Commands 10 and 11: static information about securities, and quotes derived from the newest
//! candles.

use access::Permit;
use history::{HistoryError, Quote, SessionQuote, SessionState, Sessions, TradeStatus};
use market::{Price, Region, Symbol};
use store::{Security, StoreError};
use wire::quote::{self, PrePost, QuoteResponse, StaticInfoResponse, SymbolsRequest};

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
    let beside = |SessionQuote { state: SessionState { figures, time, .. }, prev_close }| PrePost {
        last_done: price(figures.last),
        timestamp: time.0,
        volume: figures.volume,
        turnover: figures.turnover.text().to_string(),
        high: price(figures.high),
        low: price(figures.low),
        prev_close: price(prev_close),
    };
    let SessionQuote { state: SessionState { figures, time, .. }, prev_close } = quote.regular;
    quote::Quote {
        symbol: quote.symbol.as_str().to_owned(),
        last_done: price(figures.last),
        prev_close: price(prev_close),
        open: price(figures.open),
        high: price(figures.high),
        low: price(figures.low),
        timestamp: time.0,
        volume: figures.volume,
        turnover: figures.turnover.text().to_string(),
        trade_status: match quote.trade_status {
            TradeStatus::Normal => quote::TradeStatus::Normal.into(),
            TradeStatus::Delisted => quote::TradeStatus::Delisted.into(),
            TradeStatus::Suspended => quote::TradeStatus::Suspended.into(),
        },
        pre_market_quote: quote.pre.map(beside),
        post_market_quote: quote.post.map(beside),
        over_night_quote: quote.overnight.map(beside),
    }
}

#[derive(Debug)]
pub(crate) struct StaticInfo {
    symbols: Vec<Symbol>,
}

impl Command for StaticInfo {
    const NUMBER: u8 = wire::command::STATIC_INFO;
    const LABEL: &'static str = "static_info";
    type Request = SymbolsRequest;
    type Response = StaticInfoResponse;

    fn parse(request: SymbolsRequest, _: &Context<'_>) -> Result<StaticInfo, Refusal> {
        Ok(StaticInfo { symbols: symbols(&request.symbol)? })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Open
    }

    /// Omits unknown securities and preserves the request order.
    fn answer(self, caller: &Caller, _: &Permit, core: &Core) -> Result<StaticInfoResponse, Refusal> {
        let found = core.with_reader(|reader| -> Result<Vec<Security>, StoreError> {
            let view = reader.view();
            let mut found = Vec::with_capacity(self.symbols.len());
            for symbol in &self.symbols {
                found.extend(view.security(symbol)?);
            }
            Ok(found)
        });
        let found = found.map_err(|error| {
            tracing::error!(%error, "cannot read securities");
            Refusal::Internal
        })?;
        let today = |security: &Security| core.history.venue(&security.symbol).zone().date(caller.now());
        let infos = found.into_iter().map(|security| {
            let today = today(&security);
            info(security.on(today))
        });
        Ok(StaticInfoResponse { secu_static_info: infos.collect() })
    }
}

fn info(security: Security) -> quote::StaticInfo {
    let region = security.symbol.region();
    // An option without imported static data is named by its contract terms.
    let terms = security.symbol.option().map(|terms| terms.to_string()).unwrap_or_default();
    let board = if security.symbol.is_us_option() { OPTION_BOARD } else { board(region) };
    quote::StaticInfo {
        symbol: security.symbol.as_str().to_owned(),
        name_cn: security.name_cn.unwrap_or_else(|| terms.clone()),
        name_en: security.name_en.unwrap_or_else(|| terms.clone()),
        name_hk: security.name_hk.unwrap_or(terms),
        listing_date: security
            .listing_date
            .map(|date| date.strftime("%Y%m%d").to_string())
            .unwrap_or_default(),
        exchange: security.exchange.unwrap_or_default(),
        currency: security.currency.unwrap_or_else(|| region.market().currency().to_owned()),
        lot_size: security.lot_size.and_then(|size| i32::try_from(size).ok()).unwrap_or(1),
        total_shares: security.total_shares.unwrap_or_default(),
        circulating_shares: security.circulating_shares.unwrap_or_default(),
        hk_shares: security.hk_shares.unwrap_or_default(),
        eps: security.eps.unwrap_or_default(),
        eps_ttm: security.eps_ttm.unwrap_or_default(),
        bps: security.bps.unwrap_or_default(),
        dividend_yield: security.dividend_yield.unwrap_or_default(),
        stock_derivatives: Vec::new(),
        board: security.board.unwrap_or_else(|| board.to_owned()),
    }
}

const OPTION_BOARD: &str = "USOption";

/// Returns a region's main board. The board is never empty, because clients repeat the request if
/// it is.
fn board(region: Region) -> &'static str {
    match region {
        Region::Hk => "HKEquity",
        Region::Us => "USMain",
        Region::Sh => "SHMainConnect",
        Region::Sz => "SZMainConnect",
    }
}
