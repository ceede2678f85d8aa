//! `GET /v1/asset/account`: cash, credit, margins and the remaining buying power.

use schemars::JsonSchema;
use serde::Serialize;
use trading::{Balance, Currency, Money, Report, report};

use super::docs::REFUSALS;
use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::query::Query;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const ACCOUNT: Doc =
    Doc::new(Tag::Trade, "accountBalance", "Cash, credit, margins and what they leave")
        .parameters(&[Parameter::query(
            "currency",
            Kind::OneOf(&["HKD", "USD", "CNH"]),
            "In which the figures are told",
        )
        .or(Word::Text("HKD"))])
        .answers(&[AnswerDoc::ok("One row", &[data::<Accounts>()])])
        .refuses(REFUSALS);

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

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
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
