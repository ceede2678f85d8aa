//! A security's share counts and per-share figures, and the ratios computed from them and the last
//! price. The ratios are the ones that command 26 returns.

use schemars::JsonSchema;
use serde::Serialize;
use store::Security;
use wire::quote::{CalcIndex, CalcIndexes as Row, CalcIndexesRequest};

use super::securities::{SYMBOL, found};
use crate::command::CalcIndexes;
use crate::dispatch;
use crate::kit::doc::refusals::{BAD_REQUEST, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::envelope::{self, Problem};
use crate::kit::{Admitted, Answer, Call, Site};
use crate::refusal::Refusal;

pub(super) const SHOW: Doc = Doc::new(
    Tag::Candles,
    "figures",
    "Shares and figures of a security, and the ratios to its last price",
)
.about(
    "As of the market clock. A figure that is not known is null; so is a ratio without a price, or to \
             an amount that is not above 0.",
)
.parameters(&[SYMBOL])
.answers(&[AnswerDoc::ok("The figures", &[data::<SecurityFigures>()])])
.refuses(&[BAD_REQUEST, NOT_FOUND]);

const INDEXES: [CalcIndex; 6] = [
    CalcIndex::LastDone,
    CalcIndex::TotalMarketValue,
    CalcIndex::PeTtmRatio,
    CalcIndex::PbRatio,
    CalcIndex::TurnoverRate,
    CalcIndex::DividendRatioTtm,
];

/// The figures as they were imported, as of today by the market's clock. One that is not known is null.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StoredFigures {
    total_shares: Option<i64>,
    circulating_shares: Option<i64>,
    hk_shares: Option<i64>,
    /// Earnings per share of the last year, as a decimal.
    eps: Option<String>,
    /// Of the last twelve months.
    eps_ttm: Option<String>,
    /// Net assets per share.
    bps: Option<String>,
    /// The dividend of a share, not a percentage.
    dividend_yield: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SecurityFigures {
    symbol: String,
    /// That of the price, of the market value and of the figures for one share.
    currency: String,
    /// The last price of regular hours.
    last_done: Option<String>,
    total_market_value: Option<String>,
    /// The price as a multiple of `eps_ttm`.
    pe_ttm_ratio: Option<String>,
    /// The price as a multiple of `bps`.
    pb_ratio: Option<String>,
    /// The volume of the day in percent of the circulating shares.
    turnover_rate: Option<String>,
    /// The dividend in percent of the price.
    dividend_ratio_ttm: Option<String>,
    #[serde(flatten)]
    stored: StoredFigures,
}

impl StoredFigures {
    /// Copies the figures of a security, which are as of the date it was read for.
    pub(super) fn of(security: &Security) -> StoredFigures {
        StoredFigures {
            total_shares: security.total_shares,
            circulating_shares: security.circulating_shares,
            hk_shares: security.hk_shares,
            eps: security.eps.clone(),
            eps_ttm: security.eps_ttm.clone(),
            bps: security.bps.clone(),
            dividend_yield: security.dividend_yield.clone(),
        }
    }
}

pub(super) fn show(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (security, _) = found(call, site, &admitted)?;
    let today = site.core.history.venue(&security.symbol).zone().date(admitted.now());
    let security = security.on(today);
    let row = indexes(&security, site, &admitted)?;
    let known = |text: String| Some(text).filter(|text| !text.is_empty());
    let stored = StoredFigures::of(&security);
    Ok(envelope::success(SecurityFigures {
        currency: security.currency.unwrap_or_else(|| security.symbol.market().currency().to_owned()),
        symbol: security.symbol.as_str().to_owned(),
        last_done: known(row.last_done),
        total_market_value: known(row.total_market_value),
        pe_ttm_ratio: known(row.pe_ttm_ratio),
        pb_ratio: known(row.pb_ratio),
        turnover_rate: known(row.turnover_rate),
        dividend_ratio_ttm: known(row.dividend_ratio_ttm),
        stored,
    }))
}

/// Runs command 26 for one security. The row is empty if the security has no price.
fn indexes(security: &Security, site: &Site, admitted: &Admitted) -> Result<Row, Refusal> {
    let request = CalcIndexesRequest {
        symbols: vec![security.symbol.as_str().to_owned()],
        calc_index: INDEXES.map(i32::from).to_vec(),
    };
    let answer = dispatch::answer::<CalcIndexes>(&site.core, &admitted.caller, &admitted.permit, request)?;
    Ok(answer.security_calc_index.into_iter().next().unwrap_or_default())
}
