//! Commands 10 and 11: static information about securities, and quotes derived from the newest
//! candles.

use access::Permit;
use collect::Wants;
use history::{AsOf, HistoryError, Quote, SessionQuote, SessionState, Sessions};
use market::{Price, Region, Symbol};
use store::{Security, StoreError};
use wire::quote::{self, PrePost, QuoteResponse, StaticInfoResponse, SymbolsRequest};
use world::Reserved;

use super::candles::seen;
use super::definition::{Command, Context, Subject, symbols};
use crate::caller::Caller;
use crate::core::Core;
use crate::quote_push::trade_status;
use crate::refusal::Refusal;
use crate::world_changes::{self, ClockQuote, Target};

#[derive(Debug)]
pub(crate) struct Quotes {
    symbols: Vec<Symbol>,
    clock: Option<ClockRequest>,
}

/// A request for the clock in the form of a quote, or for a step of the clock.
#[derive(Debug)]
struct ClockRequest {
    /// The symbol as sent by the client, which the response repeats.
    symbol: String,
    step: Option<Target>,
}

impl Command for Quotes {
    const NUMBER: u8 = wire::command::QUOTE;
    const LABEL: &'static str = "quotes";
    type Request = SymbolsRequest;
    type Response = QuoteResponse;

    fn parse(request: SymbolsRequest, _: &Context<'_>) -> Result<Quotes, Refusal> {
        let clock = request.symbol.iter().find_map(|symbol| {
            let step = match Reserved::parse(symbol)? {
                Reserved::Clock => None,
                Reserved::StepNext => Some(Target::Next),
                Reserved::StepBy(seconds) => Some(Target::By(i64::from(seconds))),
            };
            Some(ClockRequest { symbol: symbol.clone(), step })
        });
        // It would be unclear whether other quotes are as of the instant before or after the step.
        if clock.as_ref().is_some_and(|clock| clock.step.is_some()) && request.symbol.len() > 1 {
            return Err(Refusal::BadQuery("a step is requested alone, without other symbols".to_owned()));
        }
        Ok(Quotes { symbols: symbols(&request.symbol)?, clock })
    }

    fn subject(&self) -> Subject<'_> {
        Subject::Prices
    }

    /// Omits securities that are unknown, have no candles, or that the account may not see.
    fn answer(self, caller: &Caller, permit: &Permit, core: &Core) -> Result<QuoteResponse, Refusal> {
        world_changes::note_reads(core, caller, &self.symbols);
        let as_of = caller.as_of;
        let sessions = seen(Sessions::All, caller);
        let found = core.with_reader(|reader| {
            let mut quotes = Vec::with_capacity(self.symbols.len());
            for symbol in self.symbols.iter().filter(|symbol| permit.holds(symbol.market().into())) {
                let floors = core.floors_of(permit.account()).of(symbol.market());
                let mut quote = core.history.quote(reader, symbol, sessions, floors, as_of)?;
                if let (Some(quote), AsOf::Live(_)) = (&mut quote, as_of) {
                    core.live.set_times(quote);
                }
                quotes.extend(quote.as_ref().map(quote_message));
            }
            Ok(quotes)
        });
        let mut secu_quote = found.map_err(|error: HistoryError| Refusal::from(error))?;
        if let Some(ClockRequest { symbol, step }) = self.clock {
            let quote = match step {
                None => world_changes::clock_quote(core, caller)?,
                Some(target) => world_changes::step_quote(core, caller, target)?,
            };
            secu_quote.push(of_clock(symbol, &quote));
        }
        Ok(QuoteResponse { secu_quote })
    }
}

/// Returns the clock in the form of a quote, whose prices are zero.
fn of_clock(symbol: String, clock: &ClockQuote) -> quote::Quote {
    let none = || "0".to_owned();
    let status = if clock.has_ended { quote::TradeStatus::Expired } else { quote::TradeStatus::Normal };
    quote::Quote {
        symbol,
        last_done: none(),
        prev_close: none(),
        open: none(),
        high: none(),
        low: none(),
        timestamp: clock.now.0,
        volume: clock.volume,
        turnover: none(),
        trade_status: status.into(),
        pre_market_quote: None,
        post_market_quote: None,
        over_night_quote: None,
    }
}

/// Returns the message of a quote.
pub fn quote_message(quote: &Quote) -> quote::Quote {
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
        trade_status: trade_status(quote.trade_status),
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

    fn wants(&self) -> Wants<'_> {
        Wants::Statics(&self.symbols)
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
