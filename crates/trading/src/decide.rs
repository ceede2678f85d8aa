//! Turns commands into events. Functions in this module do not change the account, so previews also
//! use them.

use market::{Market, Symbol};

use crate::account::Account;
use crate::balance::balance;
use crate::command::Command;
use crate::event::Event;
use crate::feed::Security;
use crate::grid;
use crate::money::Currency;
use crate::money::Money;
use crate::order::Facts;
use crate::place_order::{cancel, replace, submit};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::view::MarketView;
use crate::words::Kind;

/// Returns the events of a command at an instant, or a refusal. The account must have been advanced
/// to that instant.
pub fn decide(account: &Account, command: &Command, view: &MarketView<'_>) -> Result<Vec<Event>, Refusal> {
    if let Some(horizon) = account.horizon.filter(|horizon| *horizon > view.at) {
        return Err(Refusal::behind(horizon, view.at));
    }
    if account.is_full() && command.adds() {
        let text = format!(
            "the journal of this account is full, it has {} entries: its operator can raise journal_entries, or reset it",
            account.entries
        );
        return Err(Refusal::plain(text));
    }
    let event = match command {
        Command::Open { account: number, settings } => open(account, *number, settings)?,
        Command::Submit(request) => return submit(account, view, request),
        Command::Replace { id, changes } => return replace(account, view, *id, changes),
        Command::Cancel { id } => cancel(account, view, *id)?,
        Command::SubmitGrid(requested) => return grid::submit(account, view, requested),
        Command::ReplaceGrid { id, rule } => return grid::replace(account, view, *id, rule),
        Command::CancelGrid { id } => return grid::cancel(account, view, *id),
        Command::SuspendGrid { id } => return grid::suspend(account, *id),
        Command::RestartGrid { id } => return grid::restart(account, *id),
        Command::AgreeToStrategy => return Ok(grid::agree(account)),
        Command::Set(setting) => {
            Settings::check(*setting)?;
            Event::Set { setting: *setting }
        }
        Command::SetCredit(credit) if credit.is_negative() => {
            return Err(Refusal::plain("credit must not be below 0"));
        }
        Command::SetCredit(credit) => Event::CreditSet { credit: *credit },
        Command::Deposit { currency, amount } => {
            check_amount(account, *currency, *amount)?;
            check_currency(view, *currency)?;
            Event::Deposited { currency: *currency, amount: *amount }
        }
        Command::Withdraw { currency, amount } => withdraw(account, view, *currency, *amount)?,
        Command::Exchange { from, amount, to } => exchange(account, view, *from, *amount, *to)?,
        Command::Adjust { currency, amount, note } => {
            check_amount(account, *currency, amount.abs())?;
            if !amount.is_negative() {
                check_currency(view, *currency)?;
            }
            Event::Adjusted { currency: *currency, amount: *amount, note: note.clone() }
        }
        Command::EnterPosition { symbol, quantity, cost } => {
            if cost.0 < 0 {
                return Err(Refusal::plain("cost must not be below 0"));
            }
            let facts = entry_facts(view, symbol)?;
            if Money::of(*cost, quantity.abs(), facts.multiplier) > Money::INPUT_MAX {
                return Err(Refusal::plain("quantity is too large"));
            }
            let change = *quantity - account.held(symbol);
            Event::PositionEntered { symbol: symbol.clone(), quantity: *quantity, change, cost: *cost, facts }
        }
    };
    Ok(vec![event])
}

fn open(account: &Account, number: u64, settings: &Settings) -> Result<Event, Refusal> {
    if account.entries > 0 {
        return Err(Refusal::plain("account is already open"));
    }
    Ok(Event::Opened { account: number, settings: settings.clone() })
}

/// Maximum cash per currency, in whole units of the currency. Low enough that sums cannot overflow.
const CASH_MAX: i64 = 1_000_000_000_000_000;

fn check_amount(account: &Account, currency: Currency, amount: Money) -> Result<(), Refusal> {
    if amount <= Money::ZERO {
        return Err(Refusal::plain("amount must be above 0"));
    }
    // Amounts are displayed with two decimals, and the booked amount must equal the displayed one.
    if amount.to_cents() != amount {
        return Err(Refusal::plain("amount has more than 2 decimals"));
    }
    if amount > Money::INPUT_MAX || account.cash(currency).abs() + amount > Money::whole(CASH_MAX) {
        return Err(Refusal::plain("amount is too large"));
    }
    Ok(())
}

/// Refuses a currency that has no exchange rate. HKD, USD and CNH are accepted even without a rate.
fn check_currency(view: &MarketView<'_>, currency: Currency) -> Result<(), Refusal> {
    if ![Currency::HKD, Currency::USD, Currency::CNH].contains(&currency) {
        view.rate(currency)?;
    }
    Ok(())
}

fn withdraw(
    account: &Account,
    view: &MarketView<'_>,
    currency: Currency,
    amount: Money,
) -> Result<Event, Refusal> {
    check_amount(account, currency, amount)?;
    let there = balance(account, view, currency, None).withdrawable();
    if amount > there {
        let rule = format!("withdrawable cash in {currency}");
        return Err(Refusal::plain("insufficient funds").with(&rule, amount.text(), there.text()));
    }
    Ok(Event::Withdrawn { currency, amount })
}

fn exchange(
    account: &Account,
    view: &MarketView<'_>,
    from: Currency,
    amount: Money,
    to: Currency,
) -> Result<Event, Refusal> {
    check_amount(account, from, amount)?;
    if from == to {
        return Err(Refusal::plain("the currencies are the same"));
    }
    let there = balance(account, view, from, None).available();
    if amount > there {
        let rule = format!("available cash in {from}");
        return Err(Refusal::plain("insufficient funds").with(&rule, amount.text(), there.text()));
    }
    let (sold, bought) = (view.rate(from)?, view.rate(to)?);
    let received = sold.convert(amount).to(bought);
    // Record the rate of the currency that is not HKD, or of `from` if neither is HKD.
    let rate = if from == Currency::HKD { bought } else { sold };
    Ok(Event::Exchanged { from, paid: amount, to, received, rate })
}

/// Returns the facts of a security whose position an operator enters. An unknown US option has
/// default facts, so it needs no stored candles.
fn entry_facts(view: &MarketView<'_>, symbol: &Symbol) -> Result<Facts, Refusal> {
    let option =
        Security { kind: Kind::Option, lot: Quantity::whole(1), currency: Currency::USD, is_delisted: false };
    let known = view.security(symbol).or_else(|| symbol.is_us_option().then_some(option));
    match known {
        Some(security) if symbol.market() != Market::Cn && security.kind != Kind::Index => {
            Ok(Facts::of(&security))
        }
        _ => Err(Refusal::plain("symbol not tradable")),
    }
}
