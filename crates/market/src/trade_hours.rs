//! Assigns trades to a trading day, a session and a one-minute candle.

use crate::{Date, Market, Session, Timestamp, TradeFlaw, Venue};

/// Number of seconds before the first segment, and after the last segment, in which trades are also
/// accepted. Hong Kong and mainland exchanges report auctions before the open and late trades after
/// the close.
const AROUND_SECONDS: i64 = 30 * 60;
const MINUTE: i64 = 60;

/// Trading day, session and one-minute candle of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradePlace {
    pub day: Date,
    pub session: Session,
    /// Stamp of the one-minute candle. `None` for opening auctions, and for trades reported at
    /// lunch or after the close; such trades are only part of the daily candle.
    pub minute: Option<Timestamp>,
}

/// Assigns trades to trading hours. Caches the last time range, because most trades are in the same
/// range as the previous trade.
#[derive(Clone, Debug)]
pub struct TradeHours<'a> {
    venue: &'a Venue,
    last: Option<Stretch>,
}

/// Time range `from..until` in which all trades are assigned by the same rule.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: i64,
    until: i64,
    day: Date,
    session: Session,
    holds: Holds,
}

#[derive(Clone, Copy, Debug)]
enum Holds {
    /// Each minute has its own candle.
    Minutes,
    /// All trades belong to the closing candle with this stamp.
    Closing(i64),
    Nothing,
}

impl<'a> TradeHours<'a> {
    pub fn new(venue: &'a Venue) -> TradeHours<'a> {
        TradeHours { venue, last: None }
    }

    #[inline]
    pub fn place(&mut self, at: Timestamp) -> Result<TradePlace, TradeFlaw> {
        self.place_until(at).map(|(place, _)| place)
    }

    /// Like `place`, but also returns the exclusive end of the time range in which the result is
    /// valid.
    #[inline]
    pub(crate) fn place_until(&mut self, at: Timestamp) -> Result<(TradePlace, Timestamp), TradeFlaw> {
        let stretch = match self.last {
            Some(stretch) if (stretch.from..stretch.until).contains(&at.0) => stretch,
            _ => *self.last.insert(self.find(at)?),
        };
        let (minute, until) = match stretch.holds {
            Holds::Minutes => {
                let minute = at.0 - at.0.rem_euclid(MINUTE);
                (Some(Timestamp(minute)), stretch.until.min(minute + MINUTE))
            }
            Holds::Closing(stamp) => (Some(Timestamp(stamp)), stretch.until),
            Holds::Nothing => (None, stretch.until),
        };
        Ok((TradePlace { day: stretch.day, session: stretch.session, minute }, Timestamp(until)))
    }

    fn find(&self, at: Timestamp) -> Result<Stretch, TradeFlaw> {
        let date = self.venue.trading_day(at).ok_or(TradeFlaw::Closed)?;
        let day = self.venue.day(date).ok_or(TradeFlaw::Closed)?;
        let second = |minute: i32| day.at(minute).0;
        for segment in day.segments {
            let (from, until) = (second(segment.start), second(segment.end));
            if (from..until).contains(&at.0) {
                return Ok(Stretch {
                    from,
                    until,
                    day: date,
                    session: segment.session,
                    holds: Holds::Minutes,
                });
            }
            let tail = until..second(segment.end + segment.tail);
            if tail.contains(&at.0) {
                let holds = Holds::Closing(until);
                return Ok(Stretch {
                    from: until,
                    until: tail.end,
                    day: date,
                    session: segment.session,
                    holds,
                });
            }
        }
        let around = (self.venue.market() != Market::Us).then_some(AROUND_SECONDS).ok_or(TradeFlaw::Hours)?;
        let first = day.segments.first().ok_or(TradeFlaw::Hours)?;
        let last = day.segments.last().ok_or(TradeFlaw::Hours)?;
        let whole = second(first.start) - around..second(last.end) + around;
        if !whole.contains(&at.0) {
            return Err(TradeFlaw::Hours);
        }
        // Shrink the range to the nearest boundaries of segments and tails.
        let edges = day.segments.iter().flat_map(|segment| {
            [second(segment.start), second(segment.end), second(segment.end + segment.tail)]
        });
        let (mut from, mut until) = (whole.start, whole.end);
        for edge in edges {
            if edge <= at.0 { from = from.max(edge) } else { until = until.min(edge) }
        }
        Ok(Stretch { from, until, day: date, session: Session::Intraday, holds: Holds::Nothing })
    }
}
