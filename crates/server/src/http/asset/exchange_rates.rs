//! `GET /v1/asset/exchange_rates`: the exchange rates that convert assets.

use market::{Market, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use trading::Currency;

use super::docs::REFUSALS;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::Query;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const EXCHANGE_RATES: Doc =
    Doc::new(Tag::Trade, "exchangeRates", "HKD and USD for one unit of other currencies, as of today")
        .answers(&[AnswerDoc::ok(
            "For either base currency, a row for each currency with a rate",
            &[data::<ExchangeRates>()],
        )])
        .refuses(REFUSALS);

/// Currencies that are listed if they have a rate.
const CURRENCIES: [&str; 8] = ["HKD", "CNH", "CNY", "EUR", "GBP", "JPY", "SGD", "USD"];
/// Base currencies of the listed rates. The published API has only HKD. The official command line
/// needs rates with base USD to convert amounts to USD.
const BASES: [Currency; 2] = [Currency::HKD, Currency::USD];
/// Rounds a computed rate to eight decimals, as many as a reported rate has.
const RATE_UNIT: f64 = 1e8;

#[derive(Debug, Serialize, JsonSchema)]
struct ExchangeRates {
    exchanges: Vec<ExchangeRate>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExchangeRate {
    base_currency: String,
    other_currency: String,
    /// Units of the base currency for one unit of the other currency.
    average_rate: f64,
    /// The same as `average_rate`: only one rate is stored.
    bid_rate: f64,
    /// The same.
    offer_rate: f64,
    /// Whether it is an approximate built-in rate, because none was reported.
    builtin: bool,
}

/// A currency's rate: HKD per unit.
struct Known {
    currency: Currency,
    rate: f64,
    builtin: bool,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    Query::parse(call.query)?;
    let known = known(site, admitted.now())?;
    let mut exchanges = Vec::new();
    for base in known.iter().filter(|one| BASES.contains(&one.currency)) {
        exchanges.extend(known.iter().map(|other| ExchangeRate::of(base, other)));
    }
    Ok(envelope::success(ExchangeRates { exchanges }))
}

fn known(site: &Site, now: Timestamp) -> Result<Vec<Known>, Problem> {
    // Conversions use the rate of the current date in Hong Kong.
    let today = site.core.history.venues().of(Market::Hk).zone().date(now);
    let mut known = Vec::with_capacity(CURRENCIES.len());
    for currency in CURRENCIES.iter().filter_map(|text| text.parse::<Currency>().ok()) {
        if currency == Currency::HKD {
            known.push(Known { currency, rate: 1.0, builtin: false });
            continue;
        }
        let rate = site.core.paper.rate(currency, today).map_err(Problem::from_paper)?;
        // SDKs expect floating-point numbers here. Conversions use the exact rate instead.
        if let Some((rate, builtin)) = rate
            && let Ok(rate) = rate.to_string().parse()
        {
            known.push(Known { currency, rate, builtin });
        }
    }
    Ok(known)
}

impl ExchangeRate {
    fn of(base: &Known, other: &Known) -> ExchangeRate {
        let rate = (other.rate / base.rate * RATE_UNIT).round() / RATE_UNIT;
        ExchangeRate {
            base_currency: base.currency.to_string(),
            other_currency: other.currency.to_string(),
            average_rate: rate,
            bid_rate: rate,
            offer_rate: rate,
            builtin: other.currency != base.currency && (base.builtin || other.builtin),
        }
    }
}
