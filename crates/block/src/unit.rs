//! Greatest common divisor of a column. Testing divisibility and dividing would take two divisions
//! per number; with the modular inverse of the divisor, each operation takes one multiplication.

/// Number of values tested together. A common divisor of the first values nearly always divides the
/// whole column.
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

    /// Returns whether `value` is a multiple of the divisor. Only a multiple gives a product no
    /// larger than the largest possible quotient: otherwise the product wraps, or the rotation
    /// moves nonzero remainder bits to the top.
    #[inline]
    fn divides(self, value: u64) -> bool {
        value.wrapping_mul(self.inverse).rotate_right(self.shift) <= self.quotient_max
    }

    /// Returns `multiple` divided by the divisor. `multiple` must be divisible.
    #[inline]
    pub(crate) fn divide(self, multiple: u64) -> u64 {
        (multiple >> self.shift).wrapping_mul(self.inverse)
    }

    /// Returns the signed `multiple` divided by the divisor. `multiple` must be divisible.
    #[inline]
    pub(crate) fn divide_signed(self, multiple: i64) -> i64 {
        (multiple >> self.shift).wrapping_mul(self.inverse as i64)
    }
}

/// Returns the greatest common divisor of the magnitudes of all numbers, or 1 if all numbers are
/// zero or the divisor does not fit in an `i64`.
pub(crate) fn common_unit(columns: &[&[i64]]) -> i64 {
    let unit = columns.iter().fold(0, |unit, column| common_divisor(unit, column, i64::unsigned_abs));
    i64::try_from(unit).unwrap_or(1).max(1)
}

/// Returns the greatest common divisor of `unit` and the magnitudes of all numbers, or 0 if `unit`
/// and all numbers are zero.
pub(crate) fn common_divisor(mut unit: u64, numbers: &[i64], magnitude: impl Fn(i64) -> u64) -> u64 {
    let mut divisor = Divisor::of(unit);
    for run in numbers.chunks(RUN) {
        if unit == 1 {
            break;
        }
        // The loop does not exit early, because it is faster without branches.
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
