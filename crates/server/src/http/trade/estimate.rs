//! Order limits. `GET /v1/trade/estimate/buy_limit` returns the maximum quantity that could be
//! bought or sold. `GET /v1/risk/margin-ratio` returns the fraction of a position's value that must
//! be covered.

use market::MarginFactor;
use paper::PaperError;
use schemars::JsonSchema;
use serde::Serialize;
use trading::{EstimateQuery, OrderType, Side, parse_price};

use super::docs::{ORDER_ID, REFUSALS, SIDE, SYMBOL};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, data};
use crate::kit::query::{Query, echo, missing};
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const ESTIMATE: Doc =
    Doc::new(Tag::Trade, "estimateBuyLimit", "Estimate the maximum quantity that can be bought or sold")
        .parameters(&[
            SYMBOL.required(),
            Parameter::query("order_type", Kind::Text, "Order type, such as LO or MO").required(),
            SIDE.required(),
            Parameter::query("price", Kind::Text, "Limit price; default: the last price"),
            Parameter::query("currency", Kind::OneOf(&["HKD", "USD", "CNH"]), "Settlement currency"),
            ORDER_ID,
            Parameter::query(
                "fractional_shares",
                Kind::OneOf(&["true", "false"]),
                "Whether fractional shares are allowed, if the account may hold them",
            ),
        ])
        .answers(&[AnswerDoc::ok("Maximum quantity with cash, and with margin", &[data::<Estimated>()])])
        .refuses(REFUSALS);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "BuyLimit")]
pub(super) struct Estimated {
    cash_max_qty: String,
    margin_max_qty: String,
}

pub(super) fn estimate(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    let requested = parse_request(&query)?;
    let estimate = trader.read(|reading| trading::estimate(reading.account, &reading.view, &requested))?;
    Ok(envelope::success(Estimated {
        cash_max_qty: estimate.cash_max.to_string(),
        margin_max_qty: estimate.margin_max.to_string(),
    }))
}

fn parse_request(query: &Query) -> Result<EstimateQuery, Problem> {
    let order_type = query.required("order_type")?;
    let order_type: OrderType =
        order_type.parse().map_err(|_| Problem::trade_parameter("order type not support"))?;
    let side: Option<Side> = query.word("side")?;
    query.currency()?;
    let wrong = |text: &str, error| Problem::trade_parameter(format!("price {:?} {error}", echo(text)));
    let price = query.get("price").map(|text| parse_price(text).map_err(|error| wrong(text, error)));
    Ok(EstimateQuery {
        symbol: query.symbol()?.ok_or_else(|| missing("symbol"))?,
        side: side.ok_or_else(|| missing("side"))?,
        order_type,
        price: price.transpose()?,
        order: query.order()?,
        fractional: query.is_true("fractional_shares"),
    })
}

pub(super) const MARGIN_RATIO: Doc = Doc::new(Tag::Trade, "marginRatio", "Margin ratios of a security")
    .parameters(&[SYMBOL.required()])
    .answers(&[AnswerDoc::ok("Initial, maintenance and forced liquidation ratios", &[data::<Ratios>()])])
    .refuses(REFUSALS);

/// Ratio for a security without stored margin factors, which must be fully covered.
const WHOLE: &str = "1";

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MarginRatios")]
pub(super) struct Ratios {
    im_factor: String,
    mm_factor: String,
    fm_factor: String,
}

pub(super) fn margin_ratio(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let symbol = Query::parse(call.query)?.symbol()?.ok_or_else(|| missing("symbol"))?;
    let stored = trader.site().core.with_reader(|reader| {
        let view = reader.view();
        Ok::<_, PaperError>((view.security(&symbol)?, view.margin(&symbol)?))
    });
    let (security, margin) = stored.map_err(Problem::from_paper)?;
    if security.is_none() && !symbol.is_us_option() {
        return Err(Problem::trade_parameter("symbol not tradable"));
    }
    let text =
        |factor: Option<MarginFactor>| factor.map_or_else(|| WHOLE.to_owned(), |factor| factor.to_string());
    Ok(envelope::success(Ratios {
        im_factor: text(margin.as_ref().map(|margin| margin.im)),
        mm_factor: text(margin.as_ref().map(|margin| margin.mm)),
        fm_factor: text(margin.as_ref().map(|margin| margin.fm)),
    }))
}
