//! `GET /v1/asset/stock`: positions in stocks and options. `GET /v1/asset/fund`: positions in
//! funds, which are always empty.

use market::Symbol;
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Account, Position};

use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::kit::query::Query;
use crate::kit::trader::{CHANNEL, Trader};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

const SYMBOLS: Parameter = Parameter::query("symbol", Kind::Text, "Symbol such as 700.HK; may be repeated");

pub(super) const STOCK: Doc = Doc::new(Tag::Trade, "stockPositions", "Stock and option positions")
    .parameters(&[SYMBOLS])
    .answers(&[AnswerDoc::ok("One channel", &[data::<Channels>()])])
    .refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StockPositions")]
pub(super) struct Channels {
    list: [Channel; 1],
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "StockChannel")]
struct Channel {
    account_channel: &'static str,
    stock_info: Vec<StockInfo>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StockInfo {
    symbol: String,
    symbol_name: String,
    quantity: String,
    available_quantity: String,
    currency: String,
    cost_price: String,
    market: &'static str,
    init_quantity: String,
    #[serde(skip)]
    security: Symbol,
}

pub(super) fn stock(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let symbols = Query::parse(call.query)?.symbols()?;
    let mut held: Vec<StockInfo> = trader.read(|reading| {
        let account = reading.account;
        let wanted = account.positions().filter(|(symbol, _)| symbols.is_empty() || symbols.contains(symbol));
        Ok(wanted.map(|(symbol, position)| StockInfo::of(account, symbol, position)).collect())
    })?;
    let names = trader.names(held.iter().map(|info| &info.security))?;
    for info in &mut held {
        info.symbol_name = names.get(&info.security);
    }
    Ok(envelope::success(Channels { list: [Channel { account_channel: CHANNEL, stock_info: held }] }))
}

impl StockInfo {
    fn of(account: &Account, symbol: &Symbol, position: &Position) -> StockInfo {
        let init = position.init_quantity;
        StockInfo {
            symbol: symbol.to_string(),
            symbol_name: String::new(),
            quantity: position.quantity.to_string(),
            available_quantity: account.available_quantity(symbol, None).to_string(),
            currency: position.currency.to_string(),
            cost_price: position.cost_price(account.settings().cost).to_string(),
            market: symbol.market().as_str(),
            init_quantity: if init.is_zero() { String::new() } else { init.to_string() },
            security: symbol.clone(),
        }
    }
}

pub(super) const FUND: Doc = Doc::new(Tag::Trade, "fundPositions", "Fund positions; always empty")
    .parameters(&[SYMBOLS])
    .answers(&[AnswerDoc::ok("One channel", &[data::<FundChannels>()])])
    .refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FundPositions")]
pub(super) struct FundChannels {
    list: [FundChannel; 1],
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "FundChannel")]
struct FundChannel {
    account_channel: &'static str,
    fund_info: [(); 0],
}

pub(super) fn fund(call: &Call<'_>, _: &Site, _: Admitted) -> Result<Answer, Problem> {
    // The symbols select funds. No account holds funds, so only the syntax of the query is checked.
    Query::parse(call.query)?;
    Ok(envelope::success(FundChannels { list: [FundChannel { account_channel: CHANNEL, fund_info: [] }] }))
}
