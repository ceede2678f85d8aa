//! The position of a one-minute candle in the trading hours: when it opens, when it acts, and the
//! seconds of its prints.

use market::{Date, Market, Session, Timestamp, TradeType, Venue};

const MINUTE: i64 = 60;
/// Prints of a closing tail are dated this many seconds after its stamp under a set clock: Hong
/// Kong's closing auction matches at 16:08 at the earliest.
const TAIL_PRINT: i64 = 480;

/// The clock that dates prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// A market clock that was set: seconds follow from the candle alone, so equal runs have equal
    /// pushes.
    Set,
    /// The present: prints are dated `now`, clamped to the minute.
    Machine { now: Timestamp },
}

/// The position of a one-minute candle in the trading hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minute {
    pub market: Market,
    /// The trading day.
    pub day: Date,
    pub session: Session,
    pub stamp: Timestamp,
    pub is_tail: bool,
    /// How long trades belong to this candle, in seconds: 60, or the length of the tail.
    seconds: i64,
}

impl Minute {
    /// The position of the candle with this stamp; `None` if no candle can have it.
    pub fn of(venue: &Venue, stamp: Timestamp) -> Option<Minute> {
        let slot = venue.slot(stamp)?;
        let is_tail = slot.is_tail(stamp);
        let seconds = if is_tail { i64::from(slot.segment.tail) * MINUTE } else { MINUTE };
        let session = slot.segment.session;
        Some(Minute { market: venue.market(), day: slot.day, session, stamp, is_tail, seconds })
    }

    /// When the opening price is published under a set clock; `None` for a tail, which is published
    /// only when it acts.
    pub fn opens_at(&self) -> Option<Timestamp> {
        (!self.is_tail).then_some(self.stamp)
    }

    /// When the whole candle is published under a set clock: at the end of its minute or tail.
    pub fn acts_at(&self) -> Timestamp {
        Timestamp(self.stamp.0.saturating_add(self.seconds))
    }

    /// The second of a print that a set clock places `offset` seconds after the stamp. A later
    /// second than the candle's last would fall into the client's next candle, or into none.
    pub(crate) fn second(&self, clock: Clock, offset: i64) -> Timestamp {
        let last = self.seconds - 1;
        let offset = match clock {
            Clock::Set if self.is_tail => TAIL_PRINT.min(last),
            Clock::Set => offset,
            Clock::Machine { now } => now.0.saturating_sub(self.stamp.0).clamp(0, last),
        };
        Timestamp(self.stamp.0.saturating_add(offset))
    }

    /// The type of prints that move the price: auction trades in Hong Kong's closing tail, blank
    /// otherwise.
    pub(crate) fn price_type(&self) -> TradeType {
        match self.market {
            Market::Hk if self.is_tail => letter(b'U'),
            _ => TradeType::BLANK,
        }
    }

    /// The type of prints that clients count as volume without moving the price; `None` where the
    /// market has no such type.
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
