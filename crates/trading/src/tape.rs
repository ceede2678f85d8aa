//! Candles of one symbol in the order in which they act, looked through in steps of a day. Only those that may do something to the
//! symbol's orders are kept.

use market::{Symbol, Timestamp};

use crate::feed::{EffectiveCandle, Feed};
use crate::reach::Reach;

#[derive(Debug)]
pub(crate) struct Tape {
    reach: Reach,
    /// Those within reach, each with its place among all candles of its instant.
    candles: Vec<(usize, EffectiveCandle)>,
    next: usize,
    /// Up to where has been looked.
    through: Timestamp,
}

const STEP: i64 = 86_400;

impl Tape {
    pub(crate) fn new(reach: Reach, after: Timestamp) -> Tape {
        Tape { reach, candles: Vec::new(), next: 0, through: after }
    }

    /// Looks for other candles from an instant on, since the orders are others.
    pub(crate) fn aim(&mut self, reach: Reach, now: Timestamp) {
        if self.reach != reach {
            self.reach = reach;
            self.candles.clear();
            self.next = 0;
            self.through = now;
        }
    }

    /// When the next candle after an instant acts that may matter, up to another.
    pub(crate) fn peek(
        &mut self,
        feed: &dyn Feed,
        symbol: &Symbol,
        now: Timestamp,
        to: Timestamp,
    ) -> Option<Timestamp> {
        loop {
            while let Some((_, effective)) = self.candles.get(self.next) {
                if effective.at > now {
                    return (effective.at <= to).then_some(effective.at);
                }
                self.next += 1;
            }
            let from = self.through.max(now);
            if from >= to {
                return None;
            }
            self.look(feed, symbol, from, Timestamp(from.0.saturating_add(STEP)).min(to));
        }
    }

    fn look(&mut self, feed: &dyn Feed, symbol: &Symbol, after: Timestamp, through: Timestamp) {
        let Tape { reach, candles, .. } = self;
        candles.clear();
        let mut last: Option<(Timestamp, usize)> = None;
        feed.scan(symbol, after, through, &mut |effective| {
            let place = last.filter(|(at, _)| *at == effective.at).map_or(0, |(_, place)| place + 1);
            last = Some((effective.at, place));
            // Of candles that came together, one may move the base of a grid, and so bring those behind it into reach.
            let follows = candles.last().is_some_and(|(_, kept)| kept.at == effective.at);
            if follows || reach.holds(effective) {
                candles.push((place, *effective));
            }
        });
        self.next = 0;
        self.through = through;
    }

    /// The candles of an instant which `peek` has just named, each with its place among all of that instant.
    pub(crate) fn at(&self, at: Timestamp) -> impl Iterator<Item = &(usize, EffectiveCandle)> {
        let rest = self.candles.get(self.next..).unwrap_or_default();
        rest.iter().take_while(move |(_, effective)| effective.at == at)
    }
}
