//! The time grid of a series: valid stamps, and when candles end.

use market::{Candle, Flaw, Minutes, Period, Session, Slot, Timestamp, Venue};

use crate::Series;

/// Checks the candles of a page.
#[derive(Debug)]
pub(super) struct Grid<'a> {
    venue: &'a Venue,
    series: &'a Series,
    /// Segment of the last candle, cached because the next candle is nearly always in the same
    /// segment.
    slot: Option<Slot>,
}

impl<'a> Grid<'a> {
    pub(super) fn new(venue: &'a Venue, series: &'a Series) -> Grid<'a> {
        Grid { venue, series, slot: None }
    }

    /// Checks a candle in the same way as an import. An adjusted price may be zero or negative,
    /// because some servers subtract dividends.
    pub(super) fn check(&mut self, candle: &Candle) -> Result<(), Flaw> {
        match candle.check() {
            Err(Flaw::Price) if self.series.adjust == crate::Adjust::Forward => {}
            result => result?,
        }
        match self.series.period() {
            Period::Clock(minutes) => self.minute(candle, minutes),
            Period::Calendar(_) if self.venue.zone().local(candle.time).1 != 0 => Err(Flaw::NotADay),
            Period::Calendar(_) if candle.session != Session::Intraday => Err(Flaw::Session),
            Period::Calendar(_) => Ok(()),
        }
    }

    fn minute(&mut self, candle: &Candle, minutes: Minutes) -> Result<(), Flaw> {
        let at = candle.time;
        if at.0.rem_euclid(60) != 0 {
            return Err(Flaw::NotAMinute);
        }
        let slot = match self.slot {
            Some(slot) if slot.holds(at) => slot,
            _ => *self.slot.insert(self.venue.slot(at).ok_or(Flaw::NoSession)?),
        };
        if slot.bucket(minutes, at).0 != at {
            return Err(Flaw::OffGrid(minutes));
        }
        if slot.segment.session == candle.session { Ok(()) } else { Err(Flaw::Session) }
    }
}

/// Returns whether a candle may still change during normal trading.
pub(super) fn is_forming(venue: &Venue, series: &Series, at: Timestamp, now: Timestamp) -> bool {
    let ends = match series.period() {
        Period::Calendar(_) => venue.day_end(venue.zone().date(at)),
        Period::Clock(minutes) => {
            let Some(slot) = venue.slot(at) else { return false };
            let (_, end) = slot.bucket(minutes, at);
            let last = Timestamp(end.0 - 60);
            // Trades of the closing auction are reported during the tail.
            if slot.is_tail(last) { Timestamp(last.0 + i64::from(slot.segment.tail) * 60) } else { end }
        }
    };
    now < ends
}
