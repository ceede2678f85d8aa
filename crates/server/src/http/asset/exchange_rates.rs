//! `GET /v1/asset/exchange_rates`: the exchange rates by which assets are converted.

use market::Market;
use schemars::JsonSchema;
use serde::Serialize;

use super::docs::REFUSALS;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::Query;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const EXCHANGE_RATES: Doc =
    Doc::new(Tag::Trade, "exchangeRates", "HKD for one unit of other currencies, as of today")
        .answers(&[AnswerDoc::ok("A row for each currency with a rate", &[data::<ExchangeRates>()])])
        .refuses(REFUSALS);

/// The currencies that rates are looked for.
const CURRENCIES: [&str; 7] = ["CNH", "CNY", "EUR", "GBP", "JPY", "SGD", "USD"];
/// The rate of today is looked for among so many days.
const DAYS_MAX: u32 = 1_000;
const BASE: &str = "HKD";

#[derive(Debug, Serialize, JsonSchema)]
struct ExchangeRates {
    exchanges: Vec<ExchangeRate>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExchangeRate {
    base_currency: &'static str,
    other_currency: &'static str,
    /// Of the other currency for one unit of the base currency.
    average_rate: f64,
    /// One rate is stored: as `average_rate`.
    bid_rate: f64,
    /// The same.
    offer_rate: f64,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, _: Admitted) -> Result<Answer, Problem> {
    Query::parse(call.query)?;
    // Assets are converted by the day of Hong Kong.
    let today = site.core.history.venues().of(Market::Hk).zone().date(site.core.market_now());
    let mut exchanges = Vec::new();
    for currency in CURRENCIES {
        let rates = site.core.access.rates(Some(currency), DAYS_MAX).map_err(Problem::from_access)?;
        let known = rates.into_iter().find(|entry| entry.day <= today);
        // SDKs read binary numbers here. Nothing is converted by them.
        if let Some(rate) = known.and_then(|entry| entry.rate.parse().ok()) {
            exchanges.push(ExchangeRate {
                base_currency: currency,
                other_currency: BASE,
                average_rate: rate,
                bid_rate: rate,
                offer_rate: rate,
            });
        }
    }
    Ok(envelope::success(ExchangeRates { exchanges }))
}
