//! The place of a trade in the trading hours: its trading day, its session, and its minute candle.

use crate::{Date, Market, Session, Timestamp, TradeFlaw, Venue};

/// Hong Kong and mainland exchanges report auctions before the first segment and late trades after the last one.
const AROUND_SECONDS: i64 = 30 * 60;
const MINUTE: i64 = 60;

/// The place of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradePlace {
    /// The trading day.
    pub day: Date,
    pub session: Session,
    /// The stamp of its minute candle. Auctions before the open, and trades reported at lunch or
    /// late, are in no minute, only in the day.
    pub minute: Option<Timestamp>,
}

/// Finds the places of trades. Most trades are in the same stretch of hours as the one before.
#[derive(Clone, Debug)]
pub struct TradeHours<'a> {
    venue: &'a Venue,
    last: Option<Stretch>,
}

/// Instants `from..until` with the same kind of place.
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
    /// All of it is in the closing candle.
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

    /// The same, with the instant up to which the place is valid.
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
        // Up to the nearest edges of segments and tails.
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
