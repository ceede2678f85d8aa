//! Account-wide figures: assets, margins, buying power, risk.

use std::collections::BTreeMap;

use market::Symbol;

use crate::account::Account;
use crate::balance::{Balance, balances};
use crate::feed::FACTOR_UNIT;
use crate::money::Currency;
use crate::money::{HkdAmount, Money, Rate};
use crate::position::Position;
use crate::refusal::Refusal;
use crate::view::MarketView;

/// Account-wide figures in HKD, before rounding.
#[derive(Clone, Debug)]
pub struct Figures {
    pub balances: BTreeMap<Currency, Balance>,
    pub total_cash: HkdAmount,
    pub market_value: HkdAmount,
    pub init_margin: HkdAmount,
    pub maintenance_margin: HkdAmount,
    /// Net assets below this amount trigger forced liquidation.
    pub forced_margin: HkdAmount,
    pub debt: HkdAmount,
    pub has_short: bool,
}

/// Account-wide figures in one currency, rounded to the cent for a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub currency: Currency,
    pub total_cash: Money,
    pub max_finance_amount: Money,
    pub remaining_finance_amount: Money,
    pub risk_level: u8,
    pub margin_call: Money,
    pub market_value: Money,
    pub net_assets: Money,
    pub init_margin: Money,
    pub maintenance_margin: Money,
    pub buy_power: Money,
    pub balances: BTreeMap<Currency, Balance>,
}

/// A position's value and margins in HKD.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Valuation {
    pub(crate) value: HkdAmount,
    pub(crate) init: HkdAmount,
    pub(crate) maintenance: HkdAmount,
    pub(crate) forced: HkdAmount,
}

pub(crate) fn value(
    account: &Account,
    view: &MarketView<'_>,
    symbol: &Symbol,
    position: &Position,
) -> Result<Valuation, Refusal> {
    let amount = position.value(view.mark(symbol), account.settings.cost);
    let value = view.convert(position.currency, amount)?;
    let factors = view.factors(symbol, position.quantity);
    let part = |factor: i64| value.abs().share(factor, FACTOR_UNIT);
    Ok(Valuation { value, init: part(factors.im), maintenance: part(factors.mm), forced: part(factors.fm) })
}

/// Computes the figures of an account at an instant. Returns a refusal if a held currency has no
/// exchange rate.
pub fn figures(account: &Account, view: &MarketView<'_>) -> Result<Figures, Refusal> {
    let mut figures = Figures {
        balances: balances(account, view),
        total_cash: HkdAmount::ZERO,
        market_value: HkdAmount::ZERO,
        init_margin: HkdAmount::ZERO,
        maintenance_margin: HkdAmount::ZERO,
        forced_margin: HkdAmount::ZERO,
        debt: HkdAmount::ZERO,
        has_short: false,
    };
    for (currency, balance) in &figures.balances {
        let cash = view.convert(*currency, balance.cash)?;
        figures.total_cash = figures.total_cash.plus(cash);
        figures.debt = figures.debt.plus(HkdAmount::ZERO.minus(cash).or_zero());
    }
    for (symbol, position) in account.positions() {
        let valued = value(account, view, symbol, position)?;
        figures.market_value = figures.market_value.plus(valued.value);
        figures.init_margin = figures.init_margin.plus(valued.init);
        figures.maintenance_margin = figures.maintenance_margin.plus(valued.maintenance);
        figures.forced_margin = figures.forced_margin.plus(valued.forced);
        figures.has_short |= position.quantity.is_negative();
    }
    Ok(figures)
}

/// Returns the figures of an account in the requested currency, or in HKD by default. No exchange
/// rate is needed if the account holds only the requested currency and has no credit line.
pub fn report(
    account: &Account,
    view: &MarketView<'_>,
    requested: Option<Currency>,
) -> Result<Report, Refusal> {
    let in_unit = |view: &MarketView<'_>| figures(account, view)?.report(account, view, requested);
    match requested.map(|currency| (currency, view.rate(currency))) {
        // The credit line is in HKD, so converting it requires a rate.
        Some((currency, Err(refusal))) if account.usable_credit().is_zero() => {
            in_unit(&view.within(currency)).map_err(|_| refusal)
        }
        Some((_, Err(refusal))) => Err(refusal),
        Some((_, Ok(_))) | None => in_unit(view),
    }
}

impl Figures {
    pub fn net_assets(&self) -> HkdAmount {
        self.total_cash.plus(self.market_value)
    }

    pub fn buy_power(&self) -> HkdAmount {
        self.net_assets().minus(self.init_margin)
    }

    /// Returns the risk level, from 0 (safe) to 3 (danger).
    pub fn risk_level(&self) -> u8 {
        let net = self.net_assets();
        match () {
            () if self.debt <= HkdAmount::ZERO && !self.has_short => 0,
            () if net <= self.maintenance_margin => 3,
            () if net <= self.init_margin => 2,
            () => 1,
        }
    }

    fn report(
        self,
        account: &Account,
        view: &MarketView<'_>,
        requested: Option<Currency>,
    ) -> Result<Report, Refusal> {
        let currency = requested.unwrap_or(Currency::HKD);
        let rate = view.rate(currency)?;
        let credit = Rate::ONE.convert(account.usable_credit());
        let mut remaining = credit;
        for (of, balance) in &self.balances {
            if requested.is_none_or(|requested| requested == *of) {
                remaining = remaining.plus(view.convert(*of, balance.available())?);
            }
        }
        let level = self.risk_level();
        let short_of = self.maintenance_margin.minus(self.net_assets());
        Ok(Report {
            currency,
            total_cash: self.total_cash.to(rate),
            max_finance_amount: credit.to(rate),
            remaining_finance_amount: remaining.to(rate),
            risk_level: level,
            margin_call: if level == 3 { short_of.to(rate) } else { Money::ZERO },
            market_value: self.market_value.to(rate),
            net_assets: self.net_assets().to(rate),
            init_margin: self.init_margin.to(rate),
            maintenance_margin: self.maintenance_margin.to(rate),
            buy_power: self.buy_power().to(rate),
            balances: self.balances,
        })
    }
}
