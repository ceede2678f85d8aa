//! Lookup of orders and grids by number.

use std::cmp::Ordering;

/// The index of a number among ascending ones that begin at 1. A cut journal leaves a gap, so the
/// index is at most `number - 1`.
pub(crate) fn index_of(number: u64, len: usize, number_at: impl Fn(usize) -> Option<u64>) -> Option<usize> {
    let last = usize::try_from(number.checked_sub(1)?).ok()?;
    if number_at(last) == Some(number) {
        return Some(last);
    }
    let (mut from, mut until) = (0, last.min(len));
    while from < until {
        let middle = from.midpoint(until);
        match number_at(middle)?.cmp(&number) {
            Ordering::Less => from = middle + 1,
            Ordering::Equal => return Some(middle),
            Ordering::Greater => until = middle,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_before_and_after_gaps_and_not_in_them() {
        for numbers in [&[][..], &[1, 2, 3], &[4, 5], &[1, 2, 7, 8, 20], &[10]] {
            for number in 0..25 {
                let found = index_of(number, numbers.len(), |index| numbers.get(index).copied());
                assert_eq!(
                    found,
                    numbers.iter().position(|known| *known == number),
                    "{number} of {numbers:?}"
                );
            }
        }
    }
}
