//! The candles of one symbol in the order in which they take effect, scanned piece by piece. Only
//! those that may affect the symbol's orders are stored.

use market::{Symbol, Timestamp};

use crate::feed::{EffectiveCandle, Feed};
use crate::reach::Reach;

#[derive(Debug)]
pub(crate) struct Tape {
    reach: Reach,
    /// Relevant candles, each with its index among all candles of its instant.
    candles: Vec<(usize, EffectiveCandle)>,
    next: usize,
    /// End of the scanned range.
    through: Timestamp,
}

/// Fixed cost of a scan, in candles: a feed looks up each day, even an empty one.
const SCAN_COST: u64 = 100;

impl Tape {
    pub(crate) fn new(reach: Reach, after: Timestamp) -> Tape {
        Tape { reach, candles: Vec::new(), next: 0, through: after }
    }

    /// Restarts the search at `now` if the reach of the orders has changed.
    pub(crate) fn aim(&mut self, reach: Reach, now: Timestamp) {
        if self.reach != reach {
            self.reach = reach;
            self.candles.clear();
            self.next = 0;
            self.through = now;
        }
    }

    /// Returns when the next relevant candle after `after`, and up to `through`, takes effect. Adds
    /// the cost of the search.
    pub(crate) fn peek(
        &mut self,
        feed: &dyn Feed,
        symbol: &Symbol,
        (now, through): (Timestamp, Timestamp),
        cost: &mut u64,
    ) -> Option<Timestamp> {
        loop {
            while let Some((_, effective)) = self.candles.get(self.next) {
                if effective.at > now {
                    return (effective.at <= through).then_some(effective.at);
                }
                self.next += 1;
            }
            let from = self.through.max(now);
            if from >= through {
                return None;
            }
            let scanned = self.look(feed, symbol, from, through);
            *cost = cost.saturating_add(scanned).saturating_add(SCAN_COST);
        }
    }

    /// Collects the relevant candles between two instants. Returns the number of candles scanned.
    fn look(&mut self, feed: &dyn Feed, symbol: &Symbol, after: Timestamp, through: Timestamp) -> u64 {
        let Tape { reach, candles, .. } = self;
        candles.clear();
        let mut scanned: u64 = 0;
        let mut last: Option<(Timestamp, usize)> = None;
        feed.scan(symbol, after, through, &mut |effective| {
            scanned = scanned.saturating_add(1);
            let place = last.filter(|(at, _)| *at == effective.at).map_or(0, |(_, place)| place + 1);
            last = Some((effective.at, place));
            // If several candles take effect at one instant, the first may move the base of a grid,
            // which can make the later ones relevant.
            let follows = candles.last().is_some_and(|(_, stored)| stored.at == effective.at);
            if follows || reach.holds(effective) {
                candles.push((place, *effective));
            }
        });
        self.next = 0;
        self.through = through;
        scanned
    }

    /// Returns the candles at an instant that `peek` has just returned, each with its index among
    /// all candles of that instant.
    pub(crate) fn at(&self, at: Timestamp) -> impl Iterator<Item = &(usize, EffectiveCandle)> {
        let rest = self.candles.get(self.next..).unwrap_or_default();
        rest.iter().take_while(move |(_, effective)| effective.at == at)
    }
}
