//! Growth and drawdown of an account's value. Money that is put in or taken out changes neither.

use super::ratio::Ratio;
use crate::money::Money;

/// A running curve. Each point is compared with the first value and with the highest one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Curve {
    /// The first value and the highest value so far, scaled by the capital movements since then.
    /// `None` while the account has no value to grow from.
    base: Option<(Money, Money)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurvePoint {
    /// Value relative to the first value.
    pub growth: Ratio,
    /// Loss since the highest value so far, as a positive ratio.
    pub drawdown: Ratio,
}

impl Curve {
    /// Starts at a value.
    pub fn from(opening: Money) -> Curve {
        Curve { base: Some((opening, opening)) }
    }

    /// Adds the value at the next instant. `capital` is the net amount put in since the previous
    /// value. Returns `None` while nothing was put in. If the account had no value before `capital`
    /// was put in, the curve starts again.
    pub fn push(&mut self, value: Money, capital: Money) -> Option<CurvePoint> {
        let before = value - capital;
        self.base = match self.base {
            Some(base) if capital.is_zero() => Some(base),
            Some((first, peak)) if before > Money::ZERO && value > Money::ZERO => {
                Some((first.scaled_by(value, before), peak.scaled_by(value, before)))
            }
            _ if capital > Money::ZERO => Some((capital, capital)),
            _ => None,
        };
        let (first, peak) = self.base?;
        let peak = peak.max(value);
        self.base = Some((first, peak));
        Some(CurvePoint {
            growth: Ratio::of(value, first).unwrap_or_default(),
            drawdown: Ratio::of(peak - value, peak).unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn money(text: &str) -> Money {
        text.parse().unwrap()
    }

    fn pushed(curve: &mut Curve, value: &str, capital: &str) -> Option<(String, String)> {
        let point = curve.push(money(value), money(capital))?;
        Some((point.growth.to_string(), point.drawdown.to_string()))
    }

    fn shown(growth: &str, drawdown: &str) -> Option<(String, String)> {
        Some((growth.to_owned(), drawdown.to_owned()))
    }

    #[test]
    fn drawdown_is_measured_from_the_highest_value() {
        let mut curve = Curve::from(money("100"));
        assert_eq!(pushed(&mut curve, "110", "0"), shown("110.00%", "0.00%"));
        assert_eq!(pushed(&mut curve, "88", "0"), shown("88.00%", "20.00%"));
        assert_eq!(pushed(&mut curve, "99", "0"), shown("99.00%", "10.00%"));
    }

    /// 110 becomes 121 by profit, then 79 are taken out, which leaves 42 of 121, and 42 becomes 21.
    #[test]
    fn capital_movements_change_neither_growth_nor_drawdown() {
        let mut curve = Curve::default();
        assert_eq!(pushed(&mut curve, "0", "0"), None, "nothing was put in");
        assert_eq!(pushed(&mut curve, "110", "100"), shown("110.00%", "0.00%"));
        assert_eq!(pushed(&mut curve, "121", "0"), shown("121.00%", "0.00%"));
        assert_eq!(pushed(&mut curve, "42", "-79"), shown("121.00%", "0.00%"));
        assert_eq!(pushed(&mut curve, "21", "0"), shown("60.50%", "50.00%"));
        assert_eq!(pushed(&mut curve, "1021", "1000"), shown("60.50%", "50.00%"));
        assert_eq!(pushed(&mut curve, "2042", "0"), shown("121.00%", "0.00%"));
    }

    #[test]
    fn an_account_without_value_starts_a_new_curve_with_the_next_deposit() {
        let mut curve = Curve::from(money("100"));
        assert_eq!(pushed(&mut curve, "0", "-100"), None);
        assert_eq!(pushed(&mut curve, "50", "50"), shown("100.00%", "0.00%"));
        // Debt of 10 is paid by a deposit of 110.
        assert_eq!(pushed(&mut curve, "-10", "0"), shown("-20.00%", "120.00%"));
        assert_eq!(pushed(&mut curve, "100", "110"), shown("90.91%", "9.09%"));
    }
}
