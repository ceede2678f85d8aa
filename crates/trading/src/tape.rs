//! Candles of one symbol in the order in which they act, read ahead in steps of a day.

use market::{Symbol, Timestamp};

use crate::feed::{ActingCandle, Feed};

#[derive(Debug)]
pub(crate) struct Tape {
    candles: Vec<ActingCandle>,
    next: usize,
    /// All candles that act up to here are, or were, in `candles`.
    loaded: Timestamp,
}

const STEP: i64 = 86_400;

impl Tape {
    pub(crate) fn new(after: Timestamp) -> Tape {
        Tape { candles: Vec::new(), next: 0, loaded: after }
    }

    /// When the next candle after an instant acts, up to another.
    pub(crate) fn peek(
        &mut self,
        feed: &dyn Feed,
        symbol: &Symbol,
        after: Timestamp,
        through: Timestamp,
    ) -> Option<Timestamp> {
        loop {
            while let Some(acting) = self.candles.get(self.next) {
                if acting.at > after {
                    return (acting.at <= through).then_some(acting.at);
                }
                self.next += 1;
            }
            let from = self.loaded.max(after);
            if from >= through {
                return None;
            }
            let to = Timestamp(from.0.saturating_add(STEP)).min(through);
            self.candles.clear();
            self.next = 0;
            feed.candles(symbol, from, to, &mut self.candles);
            self.loaded = to;
        }
    }

    /// The candles that act at an instant which `peek` has just named.
    pub(crate) fn at(&self, at: Timestamp) -> impl Iterator<Item = &ActingCandle> {
        let rest = self.candles.get(self.next..).unwrap_or_default();
        rest.iter().take_while(move |acting| acting.at == at)
    }
}
