//! Endpoints that a client calls before its first grid. `GET /v1/orders/info` returns the facts
//! about a security that a client needs to create a grid. `POST /v1/record/questionnaire`, which
//! SDKs before 5.3 call, records that the client accepts the risks of a strategy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trading::{Command, GridSymbolInfo, TickBand, exact_price, grid_symbol_info, plain_price};

use super::docs::REFUSALS;
use super::grid_row::price_text;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, data};
use crate::kit::json_fields::{Field, body};
use crate::kit::query::{Query, missing, unknown};
use crate::kit::trader::{Nothing, Trader};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const SYMBOL_INFO: Doc = Doc::new(
    Tag::Trade,
    "gridSymbolInfo",
    "Price, lot size and tick sizes of a security, for creating a grid",
)
.parameters(&[Parameter::query("symbol", Kind::Text, "Symbol such as 700.HK").required()])
.answers(&[AnswerDoc::ok("The security", &[data::<SymbolInfo>()])])
.refuses(REFUSALS);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridSymbolInfo")]
pub(super) struct SymbolInfo {
    name: String,
    last_done: String,
    lot_size: String,
    buy_lot_size: String,
    sell_lot_size: String,
    bid_sizes: Vec<BidSize>,
    // A single object despite the plural name: one SDK cannot parse a list here.
    channel_infos: ChannelInfo,
}

/// Tick size within a price range.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridBidSize")]
struct BidSize {
    str_proceed: String,
    /// Upper end of the price range; empty for the last range.
    end_proceed: String,
    bid_size: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GridChannelInfo")]
struct ChannelInfo {
    /// Whether the account has accepted the risks of grid strategies.
    strategy_granted: bool,
    /// Whether grids can run in pre-market and post-market hours.
    support_rth: bool,
    currency: String,
    settlement_currency: Vec<String>,
}

pub(super) fn symbol_info(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let symbol = Query::parse(call.query)?.symbol()?.ok_or_else(|| missing("symbol"))?;
    let info = trader.read(|reading| grid_symbol_info(reading.account, &reading.view, &symbol))?;
    let name = trader.names([&symbol])?.get(&symbol);
    Ok(envelope::success(SymbolInfo::of(&info, name)))
}

impl SymbolInfo {
    fn of(info: &GridSymbolInfo, name: String) -> SymbolInfo {
        let (lot, currency) = (info.lot.to_string(), info.currency.to_string());
        let last = info.last_done.map(|price| exact_price(price, info.decimals).to_string());
        SymbolInfo {
            name,
            last_done: last.unwrap_or_default(),
            buy_lot_size: lot.clone(),
            sell_lot_size: lot.clone(),
            lot_size: lot,
            bid_sizes: info.ticks.iter().map(|band| BidSize::of(band, info.decimals)).collect(),
            channel_infos: ChannelInfo {
                strategy_granted: info.is_granted,
                support_rth: info.has_extended_hours,
                settlement_currency: vec![currency.clone()],
                currency,
            },
        }
    }
}

impl BidSize {
    fn of(band: &TickBand, decimals: u32) -> BidSize {
        BidSize {
            str_proceed: plain_price(band.over).to_string(),
            end_proceed: price_text(band.to),
            bid_size: exact_price(band.tick, decimals).to_string(),
        }
    }
}

pub(super) const QUESTIONNAIRE: Doc =
    Doc::new(Tag::Trade, "agreeToStrategy", "Accept the risks of grid strategies")
        .body(&[Media::json::<Body>()])
        .answers(&[AnswerDoc::ok("The consent was recorded", &[data::<Nothing>()])])
        .refuses(REFUSALS);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Questionnaire")]
#[serde(default)]
pub(super) struct Body {
    /// Kind of the questionnaire, which is always strategy.
    r#type: Field,
    /// The client's answers, which must be {"agree": "true"}.
    items: Map<String, Value>,
}

pub(super) fn questionnaire(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let body: Body = body(call)?;
    match body.r#type.required("type")? {
        "strategy" => {}
        other => return Err(unknown("type", other)),
    }
    let agrees = match body.items.get("agree") {
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        Some(Value::Bool(agrees)) => *agrees,
        _ => false,
    };
    if !agrees {
        return Err(Problem::trade_parameter("agree must be true"));
    }
    trader.command(&Command::AgreeToStrategy, None)?;
    Ok(envelope::success(Nothing {}))
}
