//! `GET /v1/asset/portfolio`: assets and positions with current prices in one small response, for
//! pages that poll. No SDK calls this endpoint.

use std::collections::BTreeMap;

use market::Symbol;
use paper::{Waiting, waiting};
use schemars::JsonSchema;
use serde::Serialize;
use trading::{
    Account, Balance, Currency, MarketView, Money, Position, Report, balances, exact_price, report,
};

use crate::kit::doc::refusals::{TRADE_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::query::Query;
use crate::kit::trader::Trader;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};

pub(super) const PORTFOLIO: Doc = Doc::new(
    Tag::Trade,
    "portfolio",
    "Assets by currency, and positions with price, value and unrealised profit",
)
.about("Assets in a currency without an exchange rate are listed, but then the totals are null.")
.answers(&[AnswerDoc::ok("The current portfolio", &[data::<Portfolio>()])])
.refuses(&[TRADE_REFUSED, TRADE_TOO_FAST]);

/// A paper account at a market time.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Portfolio {
    /// Market time in Unix seconds.
    at: String,
    /// Number of the last journal entry. The account has not changed while this number stays the
    /// same.
    entries: u64,
    /// Whether the account may read its orders but not change them.
    read_only: bool,
    /// Totals in HKD; null if a currency has no rate.
    totals: Option<Totals>,
    /// Currency without a rate, because of which `totals` is null; null otherwise.
    missing: Option<String>,
    /// Whether the totals contain an amount that was converted at an approximate built-in rate.
    approximate: bool,
    currencies: Vec<CurrencyAssets>,
    positions: Vec<PricedPosition>,
    /// Open orders that wait for candles, at most 100.
    waiting: Vec<WaitingOrder>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct WaitingOrder {
    order_id: String,
    #[serde(flatten)]
    waiting: Waiting,
}

/// Maximum number of waiting orders in a response.
const WAITING_MAX: usize = 100;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PortfolioTotals")]
struct Totals {
    currency: String,
    net_assets: String,
    total_cash: String,
    market_value: String,
    buy_power: String,
    init_margin: String,
    maintenance_margin: String,
    /// Risk level from 0 (safe) to 3 (danger).
    risk_level: u8,
}

/// Assets in one currency.
#[derive(Debug, Serialize, JsonSchema)]
struct CurrencyAssets {
    currency: String,
    cash: String,
    available_cash: String,
    frozen_cash: String,
    settling_cash: String,
    market_value: String,
    /// Sum of cash and market value.
    total: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PricedPosition {
    symbol: String,
    name: String,
    market: &'static str,
    currency: String,
    /// Number of shares held; negative for a short position.
    quantity: String,
    available_quantity: String,
    cost_price: String,
    /// Total cost of the position.
    cost: String,
    /// Market price; null if the security has no price, in which case the position is valued at
    /// cost.
    price: Option<String>,
    market_value: String,
    unrealised: Option<String>,
    #[serde(skip)]
    security: Symbol,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let trader = Trader::open(site, &admitted);
    Query::parse(call.query)?;
    let mut portfolio = trader.read(|reading| Ok(Portfolio::of(reading.account, &reading.view)))?;
    let names = trader.names(portfolio.positions.iter().map(|position| &position.security))?;
    for position in &mut portfolio.positions {
        position.name = names.get(&position.security);
    }
    portfolio.read_only = trader.is_read_only();
    Ok(envelope::success(portfolio))
}

impl Portfolio {
    fn of(account: &Account, view: &MarketView<'_>) -> Portfolio {
        let method = account.settings().cost;
        let mut held: BTreeMap<Currency, Money> = BTreeMap::new();
        let mut positions = Vec::new();
        for (symbol, position) in account.positions() {
            *held.entry(position.currency).or_default() += position.value(view.mark(symbol), method);
            positions.push(PricedPosition::of(account, view, symbol, position));
        }
        let assets = |(currency, balance): (Currency, Balance)| {
            CurrencyAssets::of(currency, &balance, held.get(&currency).copied().unwrap_or_default())
        };
        let report = report(account, view, None);
        let is_approximate = report.as_ref().is_ok_and(|report| is_approximate(report, &held, view));
        Portfolio {
            at: view.at.0.to_string(),
            entries: account.entries(),
            read_only: false,
            missing: report.as_ref().err().map(|refusal| refusal.text.clone()),
            approximate: is_approximate,
            totals: report.ok().as_ref().map(Totals::of),
            currencies: balances(account, view).into_iter().map(assets).collect(),
            positions,
            waiting: waiting_orders(account, view),
        }
    }
}

fn waiting_orders(account: &Account, view: &MarketView<'_>) -> Vec<WaitingOrder> {
    let orders = account.open_orders().filter_map(|order| {
        let waiting = waiting(account, view, order)?;
        Some(WaitingOrder { order_id: order.id.to_string(), waiting })
    });
    orders.take(WAITING_MAX).collect()
}

fn is_approximate(report: &Report, held: &BTreeMap<Currency, Money>, view: &MarketView<'_>) -> bool {
    let with_cash = report.balances.iter().filter(|(_, balance)| !balance.cash.is_zero());
    let with_value = held.iter().filter(|(_, value)| !value.is_zero());
    let currencies = with_cash.map(|(currency, _)| currency).chain(with_value.map(|(currency, _)| currency));
    currencies.into_iter().any(|currency| view.is_rate_builtin(*currency))
}

impl Totals {
    fn of(report: &Report) -> Totals {
        Totals {
            currency: report.currency.to_string(),
            net_assets: text(report.net_assets),
            total_cash: text(report.total_cash),
            market_value: text(report.market_value),
            buy_power: text(report.buy_power),
            init_margin: text(report.init_margin),
            maintenance_margin: text(report.maintenance_margin),
            risk_level: report.risk_level,
        }
    }
}

impl CurrencyAssets {
    fn of(currency: Currency, balance: &Balance, market_value: Money) -> CurrencyAssets {
        CurrencyAssets {
            currency: currency.to_string(),
            cash: text(balance.cash),
            available_cash: text(balance.available()),
            frozen_cash: text(balance.frozen()),
            settling_cash: text(balance.settling()),
            market_value: text(market_value),
            total: text(balance.cash + market_value),
        }
    }
}

impl PricedPosition {
    fn of(account: &Account, view: &MarketView<'_>, symbol: &Symbol, position: &Position) -> PricedPosition {
        let (method, mark) = (account.settings().cost, view.mark(symbol));
        PricedPosition {
            symbol: symbol.to_string(),
            name: String::new(),
            market: symbol.market().as_str(),
            currency: position.currency.to_string(),
            quantity: position.quantity.to_string(),
            available_quantity: account.available_quantity(symbol, None).to_string(),
            cost_price: position.cost_price(method).to_string(),
            cost: text(position.value(None, method)),
            price: mark.map(|mark| exact_price(mark, position.decimals).to_string()),
            market_value: text(position.value(mark, method)),
            unrealised: mark.map(|mark| text(position.unrealised(mark, method))),
            security: symbol.clone(),
        }
    }
}

fn text(money: Money) -> String {
    money.text().to_string()
}
