//! `GET /v1/quote/market-status`: whether each market is trading.

use market::Market;
use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::market_status;

pub(super) const STATUS: Doc =
    Doc::new(Tag::Candles, "marketStatus", "Current trading status of the markets")
        .answers(&[AnswerDoc::ok("One row per market with a calendar", &[data::<MarketStatus>()])]);

#[derive(Debug, Serialize, JsonSchema)]
struct MarketStatus {
    market_time: Vec<MarketTime>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MarketTime {
    market: &'static str,
    /// 105 trading, 106 midday break, 107 closing auction, 108 closed. US: 201 pre-market, 202
    /// regular hours, 203 post-market, 207 overnight, 204 closed.
    trade_status: i32,
    /// Market time in Unix seconds.
    timestamp: String,
    /// Equal to `trade_status`, because quotes are never delayed.
    delay_trade_status: i32,
    delay_timestamp: String,
    sub_status: i32,
    delay_sub_status: i32,
}

pub(super) fn answer(_: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let now = admitted.now();
    let row = |market: Market| {
        let trade_status = market_status::trade_status(site.core.history.venues().of(market), now);
        MarketTime {
            market: market.as_str(),
            trade_status,
            timestamp: now.0.to_string(),
            delay_trade_status: trade_status,
            delay_timestamp: now.0.to_string(),
            sub_status: 0,
            delay_sub_status: 0,
        }
    };
    Ok(envelope::success(MarketStatus { market_time: Market::ALL.into_iter().map(row).collect() }))
}
