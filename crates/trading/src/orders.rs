//! The orders of an account, by number.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer};
use serde::{Serialize, Serializer};

use crate::order::Order;

/// Number of orders per shared chunk.
const CHUNK: usize = 128;

/// All orders of an account, oldest first, in copy-on-write chunks. Only the latest orders change,
/// so clones of an account share the other chunks, and a preview does not copy years of orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// All chunks but the last are full, and none is empty.
    chunks: Vec<Arc<Vec<Order>>>,
}

impl Orders {
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Order> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Order> {
        self.chunks.iter_mut().flat_map(|chunk| Arc::make_mut(chunk).iter_mut())
    }

    pub fn last(&self) -> Option<&Order> {
        self.chunks.last()?.last()
    }

    pub(crate) fn by_number(&self, number: u64) -> Option<&Order> {
        self.get(self.index_of(number)?)
    }

    pub(crate) fn by_number_mut(&mut self, number: u64) -> Option<&mut Order> {
        let index = self.index_of(number)?;
        Arc::make_mut(self.chunks.get_mut(index / CHUNK)?).get_mut(index % CHUNK)
    }

    fn index_of(&self, number: u64) -> Option<usize> {
        index_of(number, self.len(), |index| self.get(index).map(|order| order.id.number()))
    }

    fn get(&self, index: usize) -> Option<&Order> {
        self.chunks.get(index / CHUNK)?.get(index % CHUNK)
    }

    pub(crate) fn push(&mut self, order: Order) {
        match self.chunks.last_mut().filter(|last| last.len() < CHUNK) {
            Some(last) => Arc::make_mut(last).push(order),
            None => {
                // The first chunk starts small, because most accounts never fill it.
                let mut chunk = Vec::with_capacity(if self.chunks.is_empty() { 1 } else { CHUNK });
                chunk.push(order);
                self.chunks.push(Arc::new(chunk));
            }
        }
    }
}

impl<'a> IntoIterator for &'a Orders {
    type Item = &'a Order;
    type IntoIter = Box<dyn Iterator<Item = &'a Order> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.iter())
    }
}

impl Serialize for Orders {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Orders {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Orders, D::Error> {
        let mut orders = Orders::default();
        for order in Vec::<Order>::deserialize(from)? {
            orders.push(order);
        }
        Ok(orders)
    }
}

/// Returns the index of `number` in an ascending list of numbers that start at 1, or `None` if the
/// number is missing. A truncated journal leaves gaps, so the index is at most `number - 1`.
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
    fn numbers_are_found_despite_gaps() {
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
