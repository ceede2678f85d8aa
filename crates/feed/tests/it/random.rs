//! Random candles, and the turnover that clients compute from their prints.

use feed::{Growth, Minute};
use market::{Candle, Date, Market, Price, Turnover, Venue};
use proptest::prelude::*;

/// A small random number generator. A test needs only its seed, so proptest shrinks a whole day of
/// candles to one number.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    pub(crate) fn number(&mut self, below: i64) -> i64 {
        self.roll(below as u64) as i64
    }

    pub(crate) fn is(&mut self, of_ten: u64) -> bool {
        self.roll(10) < of_ten
    }

    /// Returns a price near 100 with 2, 3, 4 or 6 decimals.
    pub(crate) fn price(&mut self) -> Price {
        let step = [10_000, 1_000, 100, 1][self.roll(4) as usize];
        Price((99_000_000 + self.number(2_000_000)) / step * step)
    }

    /// Returns a turnover whose average price is usually within the candle's range, and sometimes
    /// outside the range.
    pub(crate) fn turnover(&mut self, candle: &Candle, market: Market) -> Turnover {
        let spread = candle.high.0 - candle.low.0;
        let average = match self.roll(8) {
            0 => candle.high.0 + self.number(1_000_000),
            1 => (candle.low.0 - self.number(1_000_000)).max(1),
            _ => candle.low.0 + self.number(spread + 1),
        };
        let unit = if market == Market::Cn && self.is(8) { 100 } else { 1 };
        let exact = i128::from(average) * i128::from(candle.volume) * unit;
        let step = [1_000_000, 1_000, 10, 1][self.roll(4) as usize];
        Turnover((exact + i128::from(self.number(1_000))) / step * step)
    }

    pub(crate) fn candle(&mut self, minute: &Minute) -> Candle {
        let [open, a, b, close] = [0; 4].map(|_| self.price());
        let (high, low) = (open.max(a).max(b).max(close), open.min(a).min(b).min(close));
        let volume = if self.is(2) { 0 } else { 1 + self.number(5_000) };
        let turnover = Turnover(0);
        let (time, session) = (minute.stamp, minute.session);
        let flat = Candle { time, open, high: open, low: open, close: open, volume, turnover, session };
        let mut candle = if self.is(1) { flat } else { Candle { high, low, close, ..flat } };
        if volume > 0 {
            candle.turnover = self.turnover(&candle, minute.market);
        }
        candle
    }

    /// Returns a later state of the same minute.
    pub(crate) fn grown(&mut self, candle: &Candle, market: Market) -> Candle {
        let mut next = *candle;
        if self.is(5) {
            next.high = next.high.max(self.price());
        }
        if self.is(5) {
            next.low = next.low.min(self.price());
        }
        next.close = Price(next.low.0 + self.number(next.high.0 - next.low.0 + 1));
        let mut added = next;
        added.volume = if self.is(3) { 0 } else { self.number(3_000) };
        next.volume += added.volume;
        next.turnover.0 += match self.roll(10) {
            0 => 0,
            1 => i128::from(self.number(1_000_000)),
            _ => self.turnover(&added, market).0,
        };
        next
    }
}

pub(crate) fn markets() -> impl Strategy<Value = Market> {
    prop::sample::select(Market::ALL.to_vec())
}

/// Relation between the printed turnover and the candle's turnover, according to the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exact {
    /// The sum of price × volume, multiplied by this unit, equals the turnover.
    Unit(i128),
    /// The candle has no turnover, so the volume is printed at the close.
    AtClose,
    /// Turnover without volume is not printed.
    Unprinted,
    /// In mainland China, an average price outside the candle's range is clamped to the range.
    Moved,
}

pub(crate) fn exact(market: Market, known: &Candle, growth: Growth) -> Exact {
    let (volume, turnover) = (i128::from(growth.volume), growth.turnover.0);
    let is_inside = |unit: i128| {
        let value = |price: Price| i128::from(price.0) * volume * unit;
        (value(known.low)..=value(known.high)).contains(&turnover)
    };
    match (growth.volume, turnover, market) {
        (0, ..) => Exact::Unprinted,
        (_, 0, _) => Exact::AtClose,
        (.., Market::Cn) if is_inside(100) => Exact::Unit(100),
        (.., Market::Cn) if !is_inside(1) => Exact::Moved,
        _ => Exact::Unit(1),
    }
}

pub(crate) fn growth(before: Option<&Candle>, known: &Candle) -> Growth {
    let (volume, turnover) = before.map_or((0, 0), |old| (old.volume, old.turnover.0));
    Growth { volume: known.volume - volume, turnover: Turnover(known.turnover.0 - turnover) }
}

/// Returns a random minute of a full or half trading day.
pub(crate) fn random_minute(venue: &Venue, dice: &mut Dice) -> Minute {
    let days =
        ["2026-03-18", "2026-02-16", "2025-11-28", "2026-07-15"].map(|day| day.parse::<Date>().unwrap());
    let days: Vec<_> = days.into_iter().filter_map(|day| venue.day(day)).collect();
    let day = &days[dice.roll(days.len() as u64) as usize];
    let count = day.minutes().count() as u64;
    // If the market has a closing auction, its candle is the last of the day.
    let place = if dice.is(2) { count - 1 } else { dice.roll(count) };
    let (stamp, _) = day.minutes().nth(place as usize).unwrap();
    Minute::of(venue, stamp).unwrap()
}
