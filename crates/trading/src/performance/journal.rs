//! Books the entries of a journal.

use market::{Date, Market};

use super::book::{Book, Trade};
use crate::event::{Entry, Event, Execution};
use crate::money::{Currency, Money};

impl Book {
    /// Applies the next entry of a journal. `date_of` returns the trading date of a market at the
    /// time of the entry.
    pub fn apply(&mut self, entry: &Entry, date_of: impl Fn(Market) -> Option<Date>) {
        let (at, date) = (entry.at, |market: Market| entry.at.and_then(|_| date_of(market)));
        match &entry.event {
            Event::Began => self.begin(at.unwrap_or_default()),
            Event::PositionEntered { symbol, quantity, cost, facts, .. } => {
                let entered = Trade { symbol, facts: *facts, at, change: *quantity, price: *cost };
                self.enter(&entered, date(symbol.market()));
            }
            Event::Filled(filled) => {
                let Execution { symbol, side, quantity, price, facts, day, fees, .. } = filled.as_ref();
                let change = if side.is_buy() { *quantity } else { -*quantity };
                let charges: Money = fees.iter().map(|fee| fee.amount).sum();
                self.trade(&Trade { symbol, facts: *facts, at, change, price: *price }, charges, Some(*day));
            }
            Event::DividendPaid(dividend) => {
                let market = dividend.symbol.market();
                self.income(&dividend.symbol, dividend.period, dividend.amount, date(market));
            }
            Event::RightsSold { symbol, amount, .. } => {
                self.income(symbol, self.period(symbol), *amount, date(symbol.market()));
            }
            Event::SharesChanged { symbol, after, ratio, cash_in_lieu, .. } => {
                let date = date(symbol.market());
                self.change_shares(symbol, (*after, *ratio), date);
                self.income(symbol, self.period(symbol), *cash_in_lieu, date);
                self.end_if_empty(symbol, at.unwrap_or_default());
            }
            Event::OptionExpired { symbol, quantity, intrinsic, .. } => {
                let Some(facts) = self.facts(symbol) else { return };
                let expired = Trade { symbol, facts, at, change: -*quantity, price: *intrinsic };
                // Expiry does not begin a holding period.
                let periods = self.periods;
                self.trade(&expired, Money::ZERO, date(symbol.market()));
                self.periods = periods;
            }
            Event::InterestBooked { currency, amount } => {
                self.interest.entry(*currency).or_default().add(date(Market::Hk), *amount);
            }
            _ => {}
        }
    }
}

/// Returns the capital that an entry puts into the account, negative for a withdrawal. An entered
/// position counts at its cost. Exchanges between currencies are not capital.
pub fn capital(entry: &Entry) -> Option<(Currency, Money)> {
    match &entry.event {
        Event::Deposited { currency, amount } | Event::Adjusted { currency, amount, .. } => {
            Some((*currency, *amount))
        }
        Event::Withdrawn { currency, amount } => Some((*currency, -*amount)),
        Event::PositionEntered { change, cost, facts, .. } => {
            Some((facts.currency, Money::of(*cost, *change, facts.multiplier)))
        }
        _ => None,
    }
}
