//! `GET /v1/asset/account`: cash, credit, margins and the remaining buying power.
//! `GET /v1/asset/exchange_rates`: the exchange rates used to convert assets.

use market::{Market, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{Balance, Currency, Money, Report, report};

use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::query::Query;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const ACCOUNT: Doc =
    Doc::new(Tag::Trade, "accountBalance", "Cash, credit, margins and buying power")
        .parameters(&[Parameter::query(
            "currency",
            Kind::OneOf(&["HKD", "USD", "CNH"]),
            "Currency of the figures",
        )
        .or(Word::Text("HKD"))])
        .answers(&[AnswerDoc::ok("One row", &[data::<Accounts>()])])
        .refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountBalances")]
pub(super) struct Accounts {
    list: [Row; 1],
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "AccountBalance")]
struct Row {
    total_cash: String,
    max_finance_amount: String,
    remaining_finance_amount: String,
    risk_level: String,
    margin_call: String,
    currency: String,
    net_assets: String,
    init_margin: String,
    maintenance_margin: String,
    buy_power: String,
    cash_infos: Vec<CashInfo>,
    frozen_transaction_fees: Vec<FrozenFee>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CashInfo {
    withdraw_cash: String,
    available_cash: String,
    frozen_cash: String,
    settling_cash: String,
    currency: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct FrozenFee {
    currency: String,
    frozen_transaction_fee: String,
}

pub(super) fn account(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    let query = Query::parse(call.query)?;
    // SDKs support three currencies; the command line accepts every currency that has a rate.
    let requested =
        if admitted.who().is_in_process() { query.word("currency")? } else { query.currency()? };
    let report = trader.read(|reading| report(reading.account, &reading.view, requested))?;
    Ok(envelope::success(Accounts { list: [Row::of(&report)] }))
}

impl Row {
    fn of(report: &Report) -> Row {
        let fees = report.balances.iter().filter(|(_, balance)| !balance.reserved_fees.is_zero());
        Row {
            total_cash: text(report.total_cash),
            max_finance_amount: text(report.max_finance_amount),
            remaining_finance_amount: text(report.remaining_finance_amount),
            risk_level: report.risk_level.to_string(),
            margin_call: text(report.margin_call),
            currency: report.currency.to_string(),
            net_assets: text(report.net_assets),
            init_margin: text(report.init_margin),
            maintenance_margin: text(report.maintenance_margin),
            buy_power: text(report.buy_power),
            cash_infos: report
                .balances
                .iter()
                .map(|(currency, balance)| CashInfo::of(*currency, balance))
                .collect(),
            frozen_transaction_fees: fees
                .map(|(currency, balance)| FrozenFee::of(*currency, balance))
                .collect(),
        }
    }
}

impl CashInfo {
    fn of(currency: Currency, balance: &Balance) -> CashInfo {
        CashInfo {
            withdraw_cash: text(balance.withdrawable()),
            available_cash: text(balance.available()),
            frozen_cash: text(balance.frozen()),
            settling_cash: text(balance.settling()),
            currency: currency.to_string(),
        }
    }
}

impl FrozenFee {
    fn of(currency: Currency, balance: &Balance) -> FrozenFee {
        FrozenFee { currency: currency.to_string(), frozen_transaction_fee: text(balance.reserved_fees) }
    }
}

fn text(money: Money) -> String {
    money.text().to_string()
}

pub(super) const EXCHANGE_RATES: Doc =
    Doc::new(Tag::Trade, "exchangeRates", "Current exchange rates of all currencies to HKD and USD")
        .answers(&[AnswerDoc::ok(
            "One row per base currency and currency with a known rate",
            &[data::<ExchangeRates>()],
        )])
        .refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

/// Currencies that are listed if they have a rate.
const CURRENCIES: [&str; 8] = ["HKD", "CNH", "CNY", "EUR", "GBP", "JPY", "SGD", "USD"];
/// Base currencies of the listed rates. The published API has only HKD. The official command line
/// needs rates with base USD to convert amounts to USD.
const BASES: [Currency; 2] = [Currency::HKD, Currency::USD];
/// Number of rate units in 1. Computed rates are rounded to eight decimals, the precision of
/// reported rates.
const RATE_UNIT: f64 = 1e8;

#[derive(Debug, Serialize, JsonSchema)]
struct ExchangeRates {
    exchanges: Vec<ExchangeRate>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ExchangeRate {
    base_currency: String,
    other_currency: String,
    /// Units of the base currency per unit of the other currency.
    average_rate: f64,
    /// Equal to `average_rate`, because only one rate is stored.
    bid_rate: f64,
    /// Equal to `average_rate`, because only one rate is stored.
    offer_rate: f64,
    /// Whether this is an approximate built-in rate, used because none was reported.
    builtin: bool,
}

/// Exchange rate of a currency, in HKD per unit.
struct Known {
    currency: Currency,
    rate: f64,
    builtin: bool,
}

pub(super) fn exchange_rates(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
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
