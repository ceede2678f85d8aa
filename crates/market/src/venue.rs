use crate::calendar::CalendarError;
use crate::session::MINUTES_A_DAY;
use crate::{
    Calendar, Date, DayKind, Floors, Market, Minutes, Period, Segment, Session, SessionTable, Timestamp, Zone,
};

/// Rules of one market: time zone, calendar and session tables. [`Floors`] are separate, because
/// they depend on the account.
#[derive(Clone, Debug)]
pub struct Venue {
    market: Market,
    zone: Zone,
    calendar: Calendar,
    sessions: SessionTable,
}

/// Venues of all markets.
#[derive(Clone, Debug)]
pub struct Venues {
    hk: Venue,
    us: Venue,
    cn: Venue,
}

/// One trading day: its midnight and its segments.
#[derive(Clone, Copy, Debug)]
pub struct Day<'a> {
    pub date: Date,
    pub kind: DayKind,
    midnight: i64,
    pub segments: &'a [Segment],
}

/// Position of an instant in the trading hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub day: Date,
    pub segment: Segment,
    midnight: i64,
}

const HK_DAYS: &str = include_str!("../calendars/hk.csv");
const US_DAYS: &str = include_str!("../calendars/us.csv");
const CN_DAYS: &str = include_str!("../calendars/cn.csv");
const SESSIONS: &str = include_str!("../calendars/sessions.csv");

impl Venue {
    pub fn new(market: Market, calendar: Calendar, sessions: SessionTable) -> Venue {
        Venue { market, zone: Zone::of(market), calendar, sessions }
    }

    /// Returns the built-in rules of one market. Returns an error if a built-in table does not
    /// parse.
    pub fn built_in(market: Market) -> Result<Venue, CalendarError> {
        let days = Venue::built_in_calendar(market);
        Ok(Venue::new(market, Calendar::parse(days)?, SessionTable::parse(SESSIONS, market)?))
    }

    /// Returns the text of the built-in calendar, which operators can use as a template.
    pub fn built_in_calendar(market: Market) -> &'static str {
        match market {
            Market::Hk => HK_DAYS,
            Market::Us => US_DAYS,
            Market::Cn => CN_DAYS,
        }
    }

    /// Returns the text of the built-in session tables.
    pub fn built_in_sessions() -> &'static str {
        SESSIONS
    }

    pub fn market(&self) -> Market {
        self.market
    }

    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    pub fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    /// Returns the trading day of a date, or `None` if the market is closed.
    pub fn day(&self, date: Date) -> Option<Day<'_>> {
        let kind = self.calendar.kind(date)?;
        Some(Day { date, kind, midnight: self.origin(date), segments: self.sessions.segments(date, kind) })
    }

    /// Returns the instant from which the segment minutes of a date are counted. The result is
    /// twelve hours before noon, not local midnight: clock changes are on Sundays before dawn, so
    /// noon has the same UTC offset as every minute of the trading day, including the overnight
    /// hours of the previous evening.
    fn origin(&self, date: Date) -> i64 {
        const NOON: i64 = 43_200;
        self.zone.instant(date, NOON).0 - NOON
    }

    /// Returns the trading hours of a date. Uses full-day hours if the market is closed.
    pub fn hours(&self, date: Date) -> &[Segment] {
        self.sessions.segments(date, self.calendar.kind(date).unwrap_or(DayKind::Full))
    }

    /// Returns the full-day hours in effect on a date, regardless of the calendar.
    pub fn full_hours(&self, date: Date) -> &[Segment] {
        self.sessions.segments(date, DayKind::Full)
    }

    /// Returns the end of a date's regular hours, including the closing tail. Full-day hours apply
    /// if the market is closed, so that candles stored for that date do not become visible earlier.
    pub fn day_end(&self, date: Date) -> Timestamp {
        let regular = self.hours(date).iter().filter(|segment| segment.session == Session::Intraday);
        let end = regular.map(|segment| segment.end + segment.tail).max().unwrap_or(MINUTES_A_DAY);
        Timestamp(self.origin(date) + i64::from(end) * 60)
    }

    /// Returns the stamp of the closing candle that is forming at an instant, which is the case
    /// from the end of a segment until its tail is over. Returns `None` at other times.
    pub fn closing(&self, at: Timestamp) -> Option<Timestamp> {
        let day = self.day(self.zone.date(at))?;
        let stamps = day.segments.iter().filter(|segment| segment.tail > 0).map(|segment| {
            let stamp = day.midnight + i64::from(segment.end) * 60;
            (stamp, stamp + i64::from(segment.tail) * 60)
        });
        stamps.filter(|(stamp, end)| (*stamp..*end).contains(&at.0)).map(|(stamp, _)| Timestamp(stamp)).next()
    }

    /// Returns the slot that contains an instant, or `None` if no one-minute candle can have that
    /// stamp.
    pub fn slot(&self, at: Timestamp) -> Option<Slot> {
        let date = self.zone.date(at);
        let today = self.day(date).and_then(|day| day.slot(at));
        // If the market trades overnight, an evening belongs to the next trading day.
        today.or_else(|| self.day(date.tomorrow().ok()?)?.slot(at))
    }

    /// Returns the stamp of the candle of length `minutes` that ends at an instant, or `None` if no
    /// such candle exists.
    pub fn ended(&self, minutes: Minutes, end: Timestamp) -> Option<Timestamp> {
        let last = Timestamp(end.0.checked_sub(60)?);
        let slot = self.slot(last)?;
        let (stamp, limit) = slot.bucket(minutes, last);
        // In end-stamped data, a candle that includes the closing minute may end at the segment's
        // end.
        let is_end = limit == end || slot.is_tail(end);
        (is_end && end.0.rem_euclid(60) == 0).then_some(stamp)
    }

    /// Returns the trading day of an instant, even outside trading hours. The trading day is the
    /// local date, or the next date in the evening of a market with overnight sessions. Returns
    /// `None` if the market is closed on that date.
    pub fn trading_day(&self, at: Timestamp) -> Option<Date> {
        let (date, seconds) = self.zone.local(at);
        let next = date.tomorrow().ok()?;
        let night = self.sessions.night_start(next, DayKind::Full);
        let date = if night.is_some_and(|start| seconds >= i64::from(start) * 60) { next } else { date };
        self.calendar.kind(date).map(|_| date)
    }

    /// Returns the instant at which the trading date changes to `date`: its midnight, or the
    /// previous evening if the market trades overnight.
    pub fn roll(&self, date: Date) -> Timestamp {
        let evening = self.sessions.night_start(date, DayKind::Full);
        Timestamp(self.origin(date) + evening.map_or(0, |start| i64::from(start - MINUTES_A_DAY) * 60))
    }

    /// Returns the latest trading day that has begun by an instant.
    pub fn rolled(&self, at: Timestamp) -> Option<Date> {
        let (date, seconds) = self.zone.local(at);
        let next = date.tomorrow().ok()?;
        let night = self.sessions.night_start(next, DayKind::Full);
        let evening = night.is_some_and(|start| seconds >= i64::from(start) * 60);
        self.calendar.on_or_before(if evening { next } else { date })
    }

    /// Returns the first instant from which a period's source candles are served. Floors apply to
    /// trading days, and a US trading day begins on the previous evening.
    pub fn served_from(&self, floors: Floors, period: Period) -> Timestamp {
        let Some(floor) = floors.of(period) else { return Timestamp(i64::MIN) };
        if !period.is_clock() {
            return self.zone().midnight(floor);
        }
        let first = self.day(floor).and_then(|day| day.minutes().next().map(|(at, _)| at));
        first.unwrap_or_else(|| self.zone().midnight(floor))
    }

    /// Returns the latest trading day for queries. Today is included from the time at which the
    /// service rolls its quotes.
    pub fn latest_trading_day(&self, now: Timestamp) -> Option<Date> {
        let (date, seconds) = self.zone.local(now);
        let roll = match self.market {
            Market::Hk => 8 * 60 + 50,
            Market::Cn => 9 * 60,
            Market::Us => 9 * 60 + 20,
        };
        let today = if seconds >= roll * 60 { date } else { date.yesterday().ok()? };
        self.calendar.on_or_before(today)
    }
}

impl Venues {
    pub fn new(hk: Venue, us: Venue, cn: Venue) -> Venues {
        Venues { hk, us, cn }
    }

    pub fn built_in() -> Result<Venues, CalendarError> {
        let of = Venue::built_in;
        Ok(Venues { hk: of(Market::Hk)?, us: of(Market::Us)?, cn: of(Market::Cn)? })
    }

    pub fn of(&self, market: Market) -> &Venue {
        match market {
            Market::Hk => &self.hk,
            Market::Us => &self.us,
            Market::Cn => &self.cn,
        }
    }
}

impl Day<'_> {
    /// Converts minutes after midnight of this trading day to an instant. Negative minutes are on
    /// the previous evening.
    pub fn at(&self, minute: i32) -> Timestamp {
        Timestamp(self.midnight + i64::from(minute) * 60)
    }

    fn slot(&self, at: Timestamp) -> Option<Slot> {
        let minute = i32::try_from((at.0 - self.midnight).div_euclid(60)).ok()?;
        let segment = self.segments.iter().find(|s| s.start <= minute && minute <= s.last_minute())?;
        Some(Slot { day: self.date, segment: *segment, midnight: self.midnight })
    }

    /// Returns all possible one-minute stamps of this day, ascending, with their slots.
    pub fn minutes(&self) -> impl Iterator<Item = (Timestamp, Slot)> + '_ {
        let Day { date, midnight, .. } = *self;
        self.segments.iter().flat_map(move |segment| {
            let slot = Slot { day: date, segment: *segment, midnight };
            (segment.start..=segment.last_minute())
                .map(move |minute| (Timestamp(midnight + i64::from(minute) * 60), slot))
        })
    }
}

impl Slot {
    /// Returns whether a stamp is in the same segment. This is true for most consecutive candles,
    /// so that callers can skip the lookup.
    pub fn holds(&self, at: Timestamp) -> bool {
        self.first() <= at.0 && at.0 <= self.midnight + i64::from(self.segment.last_minute()) * 60 + 59
    }

    /// Returns whether a stamp in this segment is the stamp of the closing candle.
    pub fn is_tail(&self, at: Timestamp) -> bool {
        self.segment.tail > 0 && at.0 >= self.midnight + i64::from(self.segment.end) * 60
    }

    /// Returns the start of the segment.
    pub fn begins_at(&self) -> Timestamp {
        Timestamp(self.first())
    }

    fn first(&self) -> i64 {
        self.midnight + i64::from(self.segment.start) * 60
    }

    /// Returns the stamp and the exclusive end of the bucket with length `minutes` that contains
    /// `at`, a stamp in this segment. Buckets are counted from the segment's start, so a new bucket
    /// begins after lunch, at each session start and at midnight.
    pub fn bucket(&self, minutes: Minutes, at: Timestamp) -> (Timestamp, Timestamp) {
        let length = i64::from(minutes.get()) * 60;
        let start = self.first();
        let stamp = start + (at.0 - start).div_euclid(length) * length;
        let end = self.midnight + i64::from(self.segment.end) * 60;
        // A short last bucket extends to the segment's end, including the closing minute if the
        // segment has a tail.
        let limit = if stamp + length <= end {
            stamp + length
        } else {
            self.midnight + i64::from(self.segment.last_minute()) * 60 + 60
        };
        (Timestamp(stamp), Timestamp(limit))
    }
}
