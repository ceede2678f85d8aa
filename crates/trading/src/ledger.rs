//! Double-entry bookkeeping. The legs of a journal entry sum to zero per currency and security.
//! Cash flows are derived from the legs.

use market::{Date, Symbol, Timestamp};

use crate::event::{Entry, Event, Execution};
use crate::money::Currency;
use crate::money::Money;
use crate::quantity::Quantity;

/// A ledger account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LedgerAccount {
    Cash,
    Stock(Symbol),
    /// The counterparty of every trade.
    Market,
    Fees(String),
    Dividends,
    Interest,
    Capital,
    Exchange,
    Corporate,
}

impl std::fmt::Display for LedgerAccount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LedgerAccount::Cash => f.write_str("cash"),
            LedgerAccount::Stock(symbol) => write!(f, "stock:{symbol}"),
            LedgerAccount::Market => f.write_str("market"),
            LedgerAccount::Fees(code) => write!(f, "fees:{code}"),
            LedgerAccount::Dividends => f.write_str("dividends"),
            LedgerAccount::Interest => f.write_str("interest"),
            LedgerAccount::Capital => f.write_str("capital"),
            LedgerAccount::Exchange => f.write_str("exchange"),
            LedgerAccount::Corporate => f.write_str("corporate"),
        }
    }
}

/// Asset and amount of a leg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Amount {
    Money(Currency, Money),
    Shares(Symbol, Quantity),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leg {
    pub account: LedgerAccount,
    pub amount: Amount,
    pub settles_on: Option<Date>,
}

/// One row of an account's cash flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashFlow {
    pub name: &'static str,
    pub currency: Currency,
    /// Negative for outgoing amounts.
    pub amount: Money,
    pub symbol: Option<Symbol>,
    pub description: String,
    /// `None` for entries made before the first request.
    pub at: Option<Timestamp>,
}

struct Legs(Vec<Leg>);

impl Legs {
    /// Adds two legs that move money into `cash` from another ledger account.
    fn cash(&mut self, currency: Currency, amount: Money, from: LedgerAccount, settles_on: Option<Date>) {
        if amount.is_zero() {
            return;
        }
        let money = |amount: Money| Amount::Money(currency, amount);
        self.0.push(Leg { account: LedgerAccount::Cash, amount: money(amount), settles_on });
        self.0.push(Leg { account: from, amount: money(-amount), settles_on });
    }

    /// Adds two legs that move shares into the holding from another ledger account.
    fn shares(&mut self, symbol: &Symbol, change: Quantity, from: LedgerAccount, settles_on: Option<Date>) {
        if change.is_zero() {
            return;
        }
        let shares = |change: Quantity| Amount::Shares(symbol.clone(), change);
        self.0.push(Leg {
            account: LedgerAccount::Stock(symbol.clone()),
            amount: shares(change),
            settles_on,
        });
        self.0.push(Leg { account: from, amount: shares(-change), settles_on });
    }
}

/// Returns the legs of an entry. Empty if the entry moves neither money nor shares.
pub fn legs(entry: &Entry) -> Vec<Leg> {
    let mut legs = Legs(Vec::new());
    match &entry.event {
        Event::Deposited { currency, amount } | Event::Adjusted { currency, amount, .. } => {
            legs.cash(*currency, *amount, LedgerAccount::Capital, None);
        }
        Event::Withdrawn { currency, amount } => legs.cash(*currency, -*amount, LedgerAccount::Capital, None),
        Event::Exchanged { from, paid, to, received, .. } => {
            legs.cash(*from, -*paid, LedgerAccount::Exchange, None);
            legs.cash(*to, *received, LedgerAccount::Exchange, None);
        }
        Event::PositionEntered { symbol, change, .. } => {
            legs.shares(symbol, *change, LedgerAccount::Capital, None)
        }
        Event::Filled(filled) => fill_legs(&mut legs, filled),
        Event::DividendPaid(dividend) => {
            legs.cash(dividend.currency, dividend.amount, LedgerAccount::Dividends, None);
        }
        Event::SharesChanged { symbol, before, after, cash_in_lieu, currency, .. } => {
            legs.shares(symbol, *after - *before, LedgerAccount::Corporate, None);
            legs.cash(*currency, *cash_in_lieu, LedgerAccount::Corporate, None);
        }
        Event::RightsSold { amount, currency, .. } => {
            legs.cash(*currency, *amount, LedgerAccount::Corporate, None)
        }
        Event::InterestBooked { currency, amount } => {
            legs.cash(*currency, *amount, LedgerAccount::Interest, None)
        }
        Event::OptionExpired { symbol, quantity, amount, currency, settles_on, .. } => {
            legs.shares(symbol, -*quantity, LedgerAccount::Market, Some(*settles_on));
            legs.cash(*currency, *amount, LedgerAccount::Market, Some(*settles_on));
        }
        _ => {}
    }
    legs.0
}

fn fill_legs(legs: &mut Legs, filled: &Execution) {
    let amount = Money::of(filled.price, filled.quantity, filled.facts.multiplier);
    let (paid, change) =
        if filled.side.is_buy() { (-amount, filled.quantity) } else { (amount, -filled.quantity) };
    let settles_on = Some(filled.settles_on);
    legs.cash(filled.facts.currency, paid, LedgerAccount::Market, settles_on);
    legs.shares(&filled.symbol, change, LedgerAccount::Market, settles_on);
    for fee in &filled.fees {
        legs.cash(filled.facts.currency, -fee.amount, LedgerAccount::Fees(fee.code.clone()), settles_on);
    }
}

/// Returns the cash flows of an entry, one for each cash leg.
pub fn cash_flows(entry: &Entry) -> Vec<CashFlow> {
    let symbol = match &entry.event {
        Event::Filled(filled) => Some(filled.symbol.clone()),
        Event::DividendPaid(dividend) => Some(dividend.symbol.clone()),
        Event::SharesChanged { symbol, .. }
        | Event::RightsSold { symbol, .. }
        | Event::OptionExpired { symbol, .. } => Some(symbol.clone()),
        _ => None,
    };
    let legs = legs(entry);
    // Each cash leg is followed by its balancing leg.
    let pairs = legs.windows(2).filter_map(|pair| match pair {
        [Leg { account: LedgerAccount::Cash, amount: Amount::Money(currency, amount), .. }, other] => {
            Some((*currency, *amount, &other.account))
        }
        _ => None,
    });
    let row = |(currency, amount, other): (Currency, Money, &LedgerAccount)| {
        let description = match (&entry.event, other, &symbol) {
            (Event::Adjusted { note, .. }, _, _) => note.clone(),
            (_, LedgerAccount::Fees(code), _) => code.clone(),
            (_, _, Some(symbol)) => symbol.ticker().to_owned(),
            _ => String::new(),
        };
        let name = flow_name(&entry.event, other, amount);
        CashFlow { name, currency, amount, symbol: symbol.clone(), description, at: entry.at }
    };
    pairs.map(row).collect()
}

fn flow_name(event: &Event, other: &LedgerAccount, amount: Money) -> &'static str {
    match (event, other) {
        (_, LedgerAccount::Fees(_)) => "Fee",
        (Event::Filled(filled), _) if filled.side.is_buy() => "BuyStock",
        (Event::Filled(_), _) => "SellStock",
        (Event::Deposited { .. }, _) => "Deposit",
        (Event::Withdrawn { .. }, _) => "Withdrawal",
        (Event::Exchanged { .. }, _) if amount.is_negative() => "ExchangeOut",
        (Event::Exchanged { .. }, _) => "ExchangeIn",
        (Event::DividendPaid(_), _) => "Dividend",
        (Event::SharesChanged { .. }, _) => "CashInLieu",
        (Event::RightsSold { .. }, _) => "RightsValue",
        (Event::InterestBooked { .. }, _) => "Interest",
        (Event::OptionExpired { .. }, _) => "OptionExpiry",
        _ => "Adjustment",
    }
}
