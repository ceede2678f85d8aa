//! Position of a one-minute candle within the trading hours: its trading day and session, the times
//! at which it is published, and the times of its prints.

use market::{Date, Market, Session, Timestamp, TradeType, Venue};

const MINUTE: i64 = 60;
/// Time of a closing auction's prints under a simulated clock, in seconds after the candle's stamp.
/// Hong Kong's closing auction matches at 16:08 at the earliest.
const TAIL_PRINT: i64 = 480;

/// Clock from which prints take their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A simulated market clock. Print times depend only on the candle, so replaying the same
    /// candles produces the same pushes.
    Set,
    /// The machine clock. Prints are dated `now`, clamped to the time range of the candle.
    Machine { now: Timestamp },
}

/// Position of a one-minute candle within the trading hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minute {
    pub market: Market,
    /// Trading day of the candle.
    pub day: Date,
    pub session: Session,
    pub stamp: Timestamp,
    pub is_tail: bool,
    /// Duration of the candle in seconds: 60, or the length of the closing auction.
    seconds: i64,
}

impl Minute {
    /// Returns the position of the candle with this stamp, or `None` if the market has no candle at
    /// that time.
    pub fn of(venue: &Venue, stamp: Timestamp) -> Option<Minute> {
        let slot = venue.slot(stamp)?;
        let is_tail = slot.is_tail(stamp);
        let seconds = if is_tail { i64::from(slot.segment.tail) * MINUTE } else { MINUTE };
        let session = slot.segment.session;
        Some(Minute { market: venue.market(), day: slot.day, session, stamp, is_tail, seconds })
    }

    /// Returns when the opening price is published under a simulated clock, or `None` for a tail
    /// (the candle of a closing auction), which is published only when complete.
    pub fn opens_at(&self) -> Option<Timestamp> {
        (!self.is_tail).then_some(self.stamp)
    }

    /// Returns when the complete candle is published under a simulated clock: at the end of its
    /// minute or tail.
    pub fn acts_at(&self) -> Timestamp {
        Timestamp(self.stamp.0.saturating_add(self.seconds))
    }

    /// Returns the time of a print. Under a simulated clock this is `offset` seconds after the
    /// stamp, or `TAIL_PRINT` seconds for a tail. Under the machine clock it is `now`, clamped to
    /// the candle, because clients would assign a later print to the next candle or discard it.
    pub(crate) fn second(&self, clock: Clock, offset: i64) -> Timestamp {
        let last = self.seconds - 1;
        let offset = match clock {
            Clock::Set if self.is_tail => TAIL_PRINT.min(last),
            Clock::Set => offset,
            Clock::Machine { now } => now.0.saturating_sub(self.stamp.0).clamp(0, last),
        };
        Timestamp(self.stamp.0.saturating_add(offset))
    }

    /// Returns the trade type of prints that change the price: `U` (auction) for Hong Kong's
    /// closing auction, and blank otherwise.
    pub(crate) fn price_type(&self) -> TradeType {
        match self.market {
            Market::Hk if self.is_tail => letter(b'U'),
            _ => TradeType::BLANK,
        }
    }

    /// Returns the trade type of prints that add volume without changing the price, or `None` if
    /// the market has no such type.
    pub(crate) fn volume_type(&self) -> Option<TradeType> {
        match self.market {
            Market::Hk => Some(letter(b'M')),
            Market::Us => Some(letter(b'W')),
            Market::Cn => None,
        }
    }
}

fn letter(code: u8) -> TradeType {
    TradeType::from_code(code).unwrap_or_default()
}
