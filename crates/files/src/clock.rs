//! Converts a file's time column to instants, once the format of the whole file is known.

use market::{Date, Grain, Market, Minutes, Timestamp, Venues, Zone};

use crate::time::{DAY, DayCount, RawTime, TimeFault, clock_of_number, date_of_number};
use crate::time_words::in_order;
use crate::{DateOrder, Stamp};

/// The unit of a numeric time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Unix time, with this many units per second.
    PerSecond(i64),
    /// `YYYYMMDD`.
    Days,
    /// `YYYYMMDDHHMM`.
    Minutes,
    /// `YYYYMMDDHHMMSS`.
    Seconds,
    /// `YYYYMMDDHHMMSSfff`.
    Thousandths,
}

/// How the instant of a daily row determines its date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DayOf {
    /// The UTC date. Chosen if every sampled row is at 00:00 UTC.
    Utc,
    /// The instant is used unchanged. The caller rejects instants other than local midnight.
    Stamp,
    /// The local date of the instant, regardless of the time of day. Chosen if the user has set the
    /// period to days.
    Local,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub grain: Grain,
    pub unit: Unit,
    /// Order of month and day in dates like `11/5/2019`; `None` if the file has no such dates.
    pub order: Option<DateOrder>,
    pub day_of: DayOf,
    pub stamp: Stamp,
}

/// The markets' time zones, each with its most recent day cached, because rows are mostly sorted by
/// day.
#[derive(Debug)]
pub(crate) struct Clock {
    zones: [(Zone, Option<CachedDay>); 3],
    days: DayCount,
    venues: Venues,
}

#[derive(Clone, Copy, Debug)]
struct CachedDay {
    date: Date,
    midnight: i64,
    /// Whether the day has no clock change.
    even: bool,
}

impl Clock {
    pub(crate) fn new(venues: &Venues) -> Clock {
        let zone = |market| (venues.of(market).zone().clone(), None);
        let zones = [zone(Market::Hk), zone(Market::Us), zone(Market::Cn)];
        Clock { zones, days: DayCount::new(), venues: venues.clone() }
    }

    #[inline]
    pub(crate) fn resolve(
        &mut self,
        reading: &Reading,
        time: RawTime,
        market: Market,
    ) -> Result<Timestamp, TimeFault> {
        let at = match self.settle(reading.unit, reading.order, time)? {
            RawTime::Date(date) if reading.grain == Grain::Day => self.wall(market, date, 0),
            RawTime::Date(_) | RawTime::Number(_) | RawTime::Ordered { .. } => return Err(TimeFault::Form),
            RawTime::Wall { date, .. } if reading.day_of == DayOf::Local => self.wall(market, date, 0),
            RawTime::Wall { date, seconds } => self.wall(market, date, i64::from(seconds)),
            RawTime::Instant(at) => match reading.day_of {
                DayOf::Stamp => at,
                DayOf::Local => self.wall(market, self.zone(market).0.date(Timestamp(at)), 0),
                DayOf::Utc if at.rem_euclid(DAY) != 0 => return Err(TimeFault::Form),
                DayOf::Utc => {
                    let date = self.days.date(at.div_euclid(DAY))?;
                    self.wall(market, date, 0)
                }
            },
        };
        match (reading.stamp, reading.grain.length()) {
            (Stamp::Start, _) | (Stamp::End, None) => Ok(Timestamp(at)),
            (Stamp::End, Some(Minutes::ONE)) => Ok(Timestamp(at - 60)),
            // The last candle of a segment may be shorter, so its start cannot be computed from its
            // length.
            (Stamp::End, Some(minutes)) => {
                self.venues.of(market).ended(minutes, Timestamp(at)).ok_or(TimeFault::End)
            }
        }
    }

    /// Resolves a number by the file's unit, and an ambiguous date by the file's date order.
    /// Returns other times unchanged. Fails for fractions of a second and instants outside 1900 to
    /// 2100.
    #[inline]
    pub(crate) fn settle(
        &mut self,
        unit: Unit,
        order: Option<DateOrder>,
        time: RawTime,
    ) -> Result<RawTime, TimeFault> {
        let settled = match (time, unit) {
            (RawTime::Number(number), Unit::PerSecond(1)) => RawTime::Instant(number),
            (RawTime::Number(number), Unit::PerSecond(per)) => {
                if number % per != 0 {
                    return Err(TimeFault::Fraction);
                }
                RawTime::Instant(number / per)
            }
            (RawTime::Number(number), Unit::Days) => RawTime::Date(date_of_number(number)?),
            (RawTime::Number(number), Unit::Minutes) => wall_of_number(number.saturating_mul(100))?,
            (RawTime::Number(number), Unit::Seconds) => wall_of_number(number)?,
            (RawTime::Number(number), Unit::Thousandths) if number % 1000 == 0 => {
                wall_of_number(number / 1000)?
            }
            (RawTime::Number(_), Unit::Thousandths) => return Err(TimeFault::Fraction),
            (RawTime::Ordered { first, year, seconds, .. }, _) => {
                let date = in_order(first, year, order)?;
                seconds.map_or(RawTime::Date(date), |seconds| RawTime::Wall { date, seconds })
            }
            (time, _) => time,
        };
        match settled {
            // No supported exchange has data before 1900, and times after 2100 are errors.
            RawTime::Instant(at) if !(-2_208_988_800..4_102_444_800).contains(&at) => Err(TimeFault::Range),
            settled => Ok(settled),
        }
    }

    /// Converts an instant to local wall-clock time, in seconds since 1970-01-01 00:00 local time.
    pub(crate) fn local(&self, market: Market, at: i64) -> i64 {
        at + self.zone(market).0.offset(Timestamp(at))
    }

    pub(crate) fn days(&mut self) -> &mut DayCount {
        &mut self.days
    }

    fn wall(&mut self, market: Market, date: Date, seconds: i64) -> i64 {
        let (zone, last) = self.zone_mut(market);
        let day = match last {
            Some(day) if day.date == date => *day,
            _ => {
                let midnight = zone.midnight(date).0;
                let even = zone.instant(date, DAY - 1).0 - midnight == DAY - 1;
                *last.insert(CachedDay { date, midnight, even })
            }
        };
        if day.even { day.midnight + seconds } else { zone.instant(date, seconds).0 }
    }

    fn zone(&self, market: Market) -> &(Zone, Option<CachedDay>) {
        let [hk, us, cn] = &self.zones;
        match market {
            Market::Hk => hk,
            Market::Us => us,
            Market::Cn => cn,
        }
    }

    fn zone_mut(&mut self, market: Market) -> (&Zone, &mut Option<CachedDay>) {
        let [hk, us, cn] = &mut self.zones;
        let (zone, last) = match market {
            Market::Hk => hk,
            Market::Us => us,
            Market::Cn => cn,
        };
        (zone, last)
    }
}

fn wall_of_number(number: i64) -> Result<RawTime, TimeFault> {
    let date = date_of_number(number / 1_000_000)?;
    Ok(RawTime::Wall { date, seconds: clock_of_number(number % 1_000_000)? })
}
