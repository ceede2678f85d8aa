//! Infers the corporate action between two adjacent segments, a split or a cash dividend, from the
//! quotient of their adjustment factors.

use market::Price;
use market::adjust::Amount;

use super::derived::{Cause, Problem};
use super::interval::{Exact, Interval, decimal, exact, one, zero};

/// Maximum number of decimals of a cash amount. No announcement has more.
pub(super) const CASH_DIGITS_MAX: usize = 6;
/// Number of decimals of a bare factor, as many as an [`Amount`] has.
const FACTOR_DIGITS: u32 = 12;
/// Number of decimals of a stored width.
const WIDTH_DIGITS: u32 = 9;
/// Largest term of a split if other fractions fit as well. Any interval contains some fraction with
/// larger terms, so such a fit proves nothing.
const SMALL_TERM_MAX: i64 = 10;
/// Maximum number of decimals of a cash amount above 5 % of the price.
const LARGE_CASH_DIGITS_MAX: usize = 2;

/// The factor of one event and its cause.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) cause: Cause,
    pub(super) factor: Exact,
    pub(super) problem: Option<fn(market::Date) -> Problem>,
}

/// Returns the factor of a split as a fraction. Returns `None` if the interval contains no such
/// fraction, or several of which the simplest has a term above [`SMALL_TERM_MAX`].
pub(super) fn split_in(factor: &Interval) -> Option<(i64, i64)> {
    let (numer, denom, others) = factor.fraction()?;
    (!others || numer.max(denom) <= SMALL_TERM_MAX).then_some((numer, denom))
}

pub(super) fn split((numer, denom): (i64, i64)) -> Option<Cause> {
    // The factor of a split is old shares per new share.
    Amount::parse(&format!("{denom}/{numer}")).ok().map(Cause::Split)
}

/// Returns a cash amount from the interval `wide`, preferably one that is also in `narrow`, the
/// interval that agrees with the events already found.
pub(super) fn cash_in(wide: &Interval, narrow: &Interval) -> Option<(Exact, usize)> {
    let shortest = wide.shortest_decimal(CASH_DIGITS_MAX);
    shortest.filter(|(cash, _)| narrow.contains(cash)).or_else(|| narrow.shortest_decimal(CASH_DIGITS_MAX))
}

pub(super) fn cash_cause(cash: &Exact, digits: usize, wide: &Interval) -> Option<Cause> {
    let amount = Amount::parse(&decimal(cash, u32::try_from(digits).unwrap_or(0))).ok()?;
    let width = (&wide.high - cash).max(cash - &wide.low);
    // Rounded up, so that the interval contains the true amount.
    let unit = exact(1, 10_i128.pow(WIDTH_DIGITS));
    let width = (width / &unit).ceil() * unit;
    let width = Amount::parse(&decimal(&width, WIDTH_DIGITS)).ok()?;
    Some(Cause::Cash { amount, width })
}

/// Returns the cash amount that explains a factor, or a bare factor if no amount does.
pub(super) fn cash_or_bare(close: Price, wide: &Interval, narrow: &Interval) -> Found {
    let price = exact(i128::from(close.0), i128::from(market::PRICE_UNIT));
    let of = |factor: &Interval| factor.subtracted_from(&one()).times(&price);
    let (wide_cash, narrow_cash) = (of(wide), of(narrow));
    let is_large = wide.high < exact(19, 20) || wide.low > exact(21, 20);
    let found = cash_in(&wide_cash, &narrow_cash).filter(|(_, digits)| {
        // A large change that is not a split may be a split and a dividend on one date. The amount
        // must therefore have few decimals, and the interval must be too narrow to contain such an
        // amount by chance.
        let chance = wide_cash.width() * exact(10_i128.pow(u32::try_from(*digits).unwrap_or(0)), 1);
        !is_large || (*digits <= LARGE_CASH_DIGITS_MAX && chance <= exact(1, 4))
    });
    if let Some((cash, digits)) = found
        && price > zero()
        && let Some(cause) = cash_cause(&cash, digits, &wide_cash)
    {
        return Found { cause, factor: one() - cash / price, problem: None };
    }
    let problem: Option<fn(market::Date) -> Problem> =
        if is_large { Some(Problem::Unexplained) } else { None };
    bare(narrow.middle(), problem)
}

/// Returns a factor without a cause.
pub(super) fn bare(factor: Exact, problem: Option<fn(market::Date) -> Problem>) -> Found {
    let unit = exact(1, 10_i128.pow(FACTOR_DIGITS));
    let rounded = ((factor / &unit).round() * &unit).max(unit);
    let amount = Amount::parse(&decimal(&rounded, FACTOR_DIGITS)).unwrap_or(Amount::ONE);
    Found { cause: Cause::Bare(amount), factor: rounded, problem }
}

/// Returns the cash amount that explains the factor of a split as well. In that case the prices are
/// certain, but the number of shares is not.
pub(super) fn also_cash(close: Price, factor: &Interval) -> Option<Amount> {
    // A dividend of more than a quarter of the price is unlikely.
    if factor.low < exact(3, 4) || factor.high > one() {
        return None;
    }
    let price = exact(i128::from(close.0), i128::from(market::PRICE_UNIT));
    let cash = factor.subtracted_from(&one()).times(&price);
    let (cash, digits) = cash.shortest_decimal(LARGE_CASH_DIGITS_MAX)?;
    Amount::parse(&decimal(&cash, u32::try_from(digits).ok()?)).ok()
}
