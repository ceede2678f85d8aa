//! Greatest common divisor of a column. Testing divisibility and dividing would cost two divisions
//! per number; with the modular inverse of the divisor, each is a multiplication.

/// Numbers tested together. A divisor of the first ones nearly always divides all of them.
const RUN: usize = 64;

/// A nonzero divisor, with the inverse modulo 2^64 of its odd part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Divisor {
    shift: u32,
    inverse: u64,
    quotient_max: u64,
}

impl Divisor {
    pub(crate) fn of(number: u64) -> Divisor {
        let number = number.max(1);
        let shift = number.trailing_zeros();
        let odd = number >> shift;
        // An odd number is its own inverse in the lowest three bits, and each round of Newton's
        // method doubles the number of correct bits.
        let inverse =
            (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))));
        Divisor { shift, inverse, quotient_max: u64::MAX / number }
    }

    /// Returns whether `value` is a multiple. Only a multiple gives a product no larger than the
    /// largest possible quotient: otherwise the product wraps, or the remainder's bits are rotated
    /// to the top.
    #[inline]
    fn divides(self, value: u64) -> bool {
        value.wrapping_mul(self.inverse).rotate_right(self.shift) <= self.quotient_max
    }

    /// Returns the quotient of a multiple.
    #[inline]
    pub(crate) fn divide(self, multiple: u64) -> u64 {
        (multiple >> self.shift).wrapping_mul(self.inverse)
    }

    /// Returns the quotient of a multiple of either sign.
    #[inline]
    pub(crate) fn divide_signed(self, multiple: i64) -> i64 {
        (multiple >> self.shift).wrapping_mul(self.inverse as i64)
    }
}

/// Returns the greatest common divisor of the magnitudes of all numbers; 1 if all are zero or it
/// does not fit in an `i64`.
pub(crate) fn common_unit(columns: &[&[i64]]) -> i64 {
    let unit = columns.iter().fold(0, |unit, column| common_divisor(unit, column, i64::unsigned_abs));
    i64::try_from(unit).unwrap_or(1).max(1)
}

/// Returns the greatest common divisor of `unit` and the magnitudes of all numbers.
pub(crate) fn common_divisor(mut unit: u64, numbers: &[i64], magnitude: impl Fn(i64) -> u64) -> u64 {
    let mut divisor = Divisor::of(unit);
    for run in numbers.chunks(RUN) {
        if unit == 1 {
            break;
        }
        // No early exit, because the branch-free loop is faster.
        let holds = |holds: bool, number: &i64| holds & divisor.divides(magnitude(*number));
        if unit == 0 || !run.iter().fold(true, holds) {
            unit = run.iter().fold(unit, |unit, number| gcd(unit, magnitude(*number)));
            divisor = Divisor::of(unit);
        }
    }
    unit
}

pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn common_unit_is_the_greatest_common_divisor() {
        assert_eq!(common_unit(&[]), 1);
        assert_eq!(common_unit(&[&[0, 0]]), 1);
        assert_eq!(common_unit(&[&[0, -30], &[45]]), 15);
        assert_eq!(common_unit(&[&[i64::MIN]]), 1);
        assert_eq!(common_unit(&[&[i64::MIN, 1 << 40]]), 1 << 40);
        let mut long = vec![600; 1000];
        long.push(450);
        assert_eq!(common_unit(&[&long]), 150);
    }

    proptest! {
        #[test]
        fn divisor_matches_division(number in 1..=u64::MAX, small in 1..10_000u64, value: u64, quotient: i32) {
            for number in [number, small, 1 << (number % 64)] {
                let divisor = Divisor::of(number);
                prop_assert_eq!(divisor.divides(value), value % number == 0);
                let multiple = value / number * number;
                prop_assert!(divisor.divides(multiple));
                prop_assert_eq!(divisor.divide(multiple), value / number);
            }
            let multiple = i64::from(quotient) * small as i64;
            prop_assert_eq!(Divisor::of(small).divide_signed(multiple), i64::from(quotient));
        }

        #[test]
        fn common_unit_matches_euclid(numbers in prop::collection::vec(any::<i32>(), 0..300), factor in 1..100_000i64) {
            let numbers: Vec<i64> = numbers.iter().map(|&number| i64::from(number) * factor).collect();
            let expected = numbers.iter().fold(0, |unit, number| gcd(unit, number.unsigned_abs())).max(1);
            prop_assert_eq!(common_unit(&[&numbers]) as u64, expected);
        }
    }
}
