//! Applies corporate actions to a position: the dividends, splits, bonus shares and rights of one
//! ex-date. All amounts are per old share.

use market::adjust::Amount;
use market::{Date, PRICE_UNIT, Price, Symbol};

use crate::event::{Dividend, Event};
use crate::feed::CorporateAction;
use crate::money::{Fraction, Money};
use crate::position::Position;
use crate::quantity::Quantity;
use crate::settings::SHARE_UNIT;

/// A position on an ex-date, with the data needed to apply its corporate actions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entitlement<'a> {
    pub(crate) symbol: &'a Symbol,
    pub(crate) position: &'a Position,
    pub(crate) ex_date: Date,
    /// Last close before the ex-date.
    pub(crate) close: Option<Price>,
    /// Fraction of a dividend left after tax, in millionths.
    pub(crate) after_tax: i64,
}

/// Combined effect of all actions with one ex-date.
struct Terms {
    cash: Fraction,
    /// New shares per old share, excluding rights.
    shares: Fraction,
    /// Rights with a positive value, each as the number per old share and the subscription price.
    rights: Vec<(Fraction, Fraction)>,
    reference: Fraction,
}

fn fraction(amount: &Amount) -> Fraction {
    let (above, below) = amount.fraction();
    Fraction::new(above, below)
}

fn minus(a: Fraction, b: Fraction) -> Fraction {
    let (above, below) = b.parts();
    a.plus(Fraction::new(-above, below))
}

fn product(a: Fraction, b: Fraction) -> Fraction {
    let (above, below) = b.parts();
    a.times(above, below)
}

fn is_above(a: Fraction, b: Fraction) -> bool {
    minus(a, b).parts().0 > 0
}

/// Combines the actions of one ex-date. Returns `None` if no shares would be left, which is an
/// error in the data.
fn terms(actions: &[CorporateAction], close: Option<Price>) -> Option<Terms> {
    let close = Fraction::new(i128::from(close.unwrap_or_default().0), i128::from(PRICE_UNIT));
    let mut cash = Fraction::ZERO;
    let mut split = Fraction::whole(1);
    let mut bonus = Fraction::ZERO;
    let mut rights = Vec::new();
    for CorporateAction { action, .. } in actions {
        cash = cash.plus(fraction(&action.cash));
        bonus = bonus.plus(fraction(&action.bonus));
        split = product(split, fraction(&action.split));
        let price = fraction(&action.rights_price);
        // Rights with a subscription price at or above the last close have no value and are
        // ignored.
        if !action.rights.is_zero() && is_above(close, price) {
            rights.push((fraction(&action.rights), price));
        }
    }
    let shares = split.plus(bonus);
    let further = rights.iter().fold(Fraction::ZERO, |sum, (count, _)| sum.plus(*count));
    let paid = rights.iter().fold(Fraction::ZERO, |sum, (count, price)| sum.plus(product(*count, *price)));
    let (above, below) = shares.plus(further).parts();
    if shares.parts().0 <= 0 {
        return None;
    }
    let worth = minus(close.plus(paid), cash);
    let reference = if worth.parts().0 > 0 { worth.times(below, above) } else { Fraction::ZERO };
    Some(Terms { cash, shares, rights, reference })
}

/// Returns a quantity times an amount per share, rounded once, to the cent.
fn money(quantity: Fraction, per_share: Fraction) -> Money {
    // A share is 10^4 units of quantity, and a cent is 10^8 units of money.
    const CENT: i128 = 10i128.pow(10 - 2);
    let cents = product(quantity, per_share).times(1, 10i128.pow(4 - 2)).round();
    Money::from_units(cents.saturating_mul(CENT))
}

/// Returns the events of a position's corporate actions on one ex-date, at the roll to `date`.
/// Returns no events if the actions would leave no shares.
pub(crate) fn events(of: &Entitlement<'_>, actions: &[CorporateAction], date: Date) -> Vec<Event> {
    let Some(terms) = terms(actions, of.close) else { return Vec::new() };
    let Entitlement { symbol, position, ex_date, .. } = *of;
    let (currency, held) = (position.currency, position.quantity);
    let quantity = Fraction::whole(i128::from(held.units()));
    let mut events = Vec::new();
    if !terms.cash.is_zero() {
        events.extend(dividends(of, actions, date));
    }
    let sold = terms.rights.iter().fold(Money::ZERO, |sum, (count, price)| {
        let gain = minus(terms.reference, *price);
        if gain.parts().0 > 0 { sum + money(product(quantity, *count), gain) } else { sum }
    });
    if terms.shares != Fraction::whole(1) {
        let (above, below) = product(quantity, terms.shares).parts();
        let exact = Quantity::from_units(i64::try_from(above / below).unwrap_or(i64::MAX));
        let after = exact.down_to(Quantity::whole(1));
        let rest = minus(Fraction::new(above, below), Fraction::whole(i128::from(after.units())));
        let cash_in_lieu = money(rest, terms.reference);
        let ratio = terms.shares;
        events.push(Event::SharesChanged {
            symbol: symbol.clone(),
            ex_date,
            before: held,
            after,
            ratio,
            cash_in_lieu,
            currency,
        });
    }
    if !sold.is_zero() {
        events.push(Event::RightsSold { symbol: symbol.clone(), ex_date, amount: sold, currency });
    }
    events
}

/// Returns one event per cash dividend: paid if the pay date is `date` or earlier, due otherwise.
fn dividends(of: &Entitlement<'_>, actions: &[CorporateAction], date: Date) -> Vec<Event> {
    let quantity = of.position.quantity;
    let shares = Fraction::whole(i128::from(quantity.units()));
    let paying = actions.iter().filter(|action| !action.action.cash.is_zero());
    let one = |action: &CorporateAction| {
        let per_share = fraction(&action.action.cash).times(i128::from(of.after_tax), i128::from(SHARE_UNIT));
        let pay_date = action.pay_date.unwrap_or(of.ex_date);
        let dividend = Dividend {
            symbol: of.symbol.clone(),
            ex_date: of.ex_date,
            pay_date,
            quantity,
            amount: money(shares, per_share),
            currency: of.position.currency,
            period: of.position.period,
        };
        if pay_date <= date { Event::DividendPaid(dividend) } else { Event::DividendDue(dividend) }
    };
    paying.map(one).collect()
}
