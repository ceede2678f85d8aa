use crate::calendar::CalendarError;
use crate::session::MINUTES_A_DAY;
use crate::{
    Calendar, Date, DayKind, Floors, Market, Minutes, Period, Segment, Session, SessionTable, Timestamp, Zone,
};

/// One market's rules: zone, calendar and session tables. The floors of accounts are separate: see
/// [`Floors`](crate::Floors).
#[derive(Clone, Debug)]
pub struct Venue {
    market: Market,
    zone: Zone,
    calendar: Calendar,
    sessions: SessionTable,
}

/// The venues of all markets.
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

/// The place of an instant in the trading hours.
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

    /// The compiled-in rules of one market.
    pub fn built_in(market: Market) -> Result<Venue, CalendarError> {
        let days = Venue::built_in_calendar(market);
        Ok(Venue::new(market, Calendar::parse(days)?, SessionTable::parse(SESSIONS, market)?))
    }

    /// The text of the compiled-in calendar, for an operator to start from.
    pub fn built_in_calendar(market: Market) -> &'static str {
        match market {
            Market::Hk => HK_DAYS,
            Market::Us => US_DAYS,
            Market::Cn => CN_DAYS,
        }
    }

    /// The text of the compiled-in session tables.
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

    /// The trading day of a date, or `None` when the market is closed.
    pub fn day(&self, date: Date) -> Option<Day<'_>> {
        let kind = self.calendar.kind(date)?;
        Some(Day { date, kind, midnight: self.origin(date), segments: self.sessions.segments(date, kind) })
    }

    /// The origin of a date's segment minutes. Clock changes fall on Sundays before dawn. Noon
    /// therefore has the offset of every minute of the trading day, the eve's overnight hours
    /// included, and midnight computed from noon is a safe origin.
    fn origin(&self, date: Date) -> i64 {
        const NOON: i64 = 43_200;
        self.zone.instant(date, NOON).0 - NOON
    }

    /// The hours of a date; those of a full day if the market is closed.
    pub fn hours(&self, date: Date) -> &[Segment] {
        self.sessions.segments(date, self.calendar.kind(date).unwrap_or(DayKind::Full))
    }

    /// The hours of a full day at a date, whether or not that date is one.
    pub fn full_hours(&self, date: Date) -> &[Segment] {
        self.sessions.segments(date, DayKind::Full)
    }

    /// When the regular hours of a date are over, the closing tail included. A date on which the
    /// market is closed has the hours of a full day: candles stored for it are not known any
    /// earlier.
    pub fn day_end(&self, date: Date) -> Timestamp {
        let regular = self.hours(date).iter().filter(|segment| segment.session == Session::Intraday);
        let end = regular.map(|segment| segment.end + segment.tail).max().unwrap_or(MINUTES_A_DAY);
        Timestamp(self.origin(date) + i64::from(end) * 60)
    }

    /// The stamp of the closing candle that is forming at an instant, from the end of the last
    /// segment until its tail is over.
    pub fn closing(&self, at: Timestamp) -> Option<Timestamp> {
        let day = self.day(self.zone.date(at))?;
        let stamps = day.segments.iter().filter(|segment| segment.tail > 0).map(|segment| {
            let stamp = day.midnight + i64::from(segment.end) * 60;
            (stamp, stamp + i64::from(segment.tail) * 60)
        });
        stamps.filter(|(stamp, end)| (*stamp..*end).contains(&at.0)).map(|(stamp, _)| Timestamp(stamp)).next()
    }

    /// The slot of a minute in the trading hours; `None` for minutes that cannot stamp a candle.
    pub fn slot(&self, at: Timestamp) -> Option<Slot> {
        let date = self.zone.date(at);
        let today = self.day(date).and_then(|day| day.slot(at));
        // An evening belongs to tomorrow's trading day where the market trades overnight.
        today.or_else(|| self.day(date.tomorrow().ok()?)?.slot(at))
    }

    /// The stamp of the candle of this many minutes that ends at an instant; `None` if none does.
    pub fn ended(&self, minutes: Minutes, end: Timestamp) -> Option<Timestamp> {
        let last = Timestamp(end.0.checked_sub(60)?);
        let slot = self.slot(last)?;
        let (stamp, limit) = slot.bucket(minutes, last);
        // In end-stamped data, a candle that includes the closing minute ends with its segment.
        let is_end = limit == end || slot.is_tail(end);
        (is_end && end.0.rem_euclid(60) == 0).then_some(stamp)
    }

    /// The trading day of an instant, whether or not there is trading at that minute: the local
    /// date, or the next one in the evening hours of a market with overnight sessions.
    pub fn trading_day(&self, at: Timestamp) -> Option<Date> {
        let (date, seconds) = self.zone.local(at);
        let next = date.tomorrow().ok()?;
        let night = self.sessions.night_start(next, DayKind::Full);
        let date = if night.is_some_and(|start| seconds >= i64::from(start) * 60) { next } else { date };
        self.calendar.kind(date).map(|_| date)
    }

    /// When the trading date changes to `date`: its midnight, or the evening before it where a market trades overnight.
    pub fn roll(&self, date: Date) -> Timestamp {
        let evening = self.sessions.night_start(date, DayKind::Full);
        Timestamp(self.origin(date) + evening.map_or(0, |start| i64::from(start - MINUTES_A_DAY) * 60))
    }

    /// The trading day that has rolled last at an instant.
    pub fn rolled(&self, at: Timestamp) -> Option<Date> {
        let (date, seconds) = self.zone.local(at);
        let next = date.tomorrow().ok()?;
        let night = self.sessions.night_start(next, DayKind::Full);
        let evening = night.is_some_and(|start| seconds >= i64::from(start) * 60);
        self.calendar.on_or_before(if evening { next } else { date })
    }

    /// The first instant from which the source candles of a period are served. The floor cuts them
    /// by trading day, and a US trading day begins on the evening before.
    pub fn served_from(&self, floors: Floors, period: Period) -> Timestamp {
        let Some(floor) = floors.of(period) else { return Timestamp(i64::MIN) };
        if !period.is_clock() {
            return self.zone().midnight(floor);
        }
        let first = self.day(floor).and_then(|day| day.minutes().next().map(|(at, _)| at));
        first.unwrap_or_else(|| self.zone().midnight(floor))
    }

    /// The latest trading day as queries see it: today counts from the time the service rolls its quotes.
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
    /// The instant of a minute after the midnight of this trading day; negative on the evening
    /// before it.
    pub fn at(&self, minute: i32) -> Timestamp {
        Timestamp(self.midnight + i64::from(minute) * 60)
    }

    fn slot(&self, at: Timestamp) -> Option<Slot> {
        let minute = i32::try_from((at.0 - self.midnight).div_euclid(60)).ok()?;
        let segment = self.segments.iter().find(|s| s.start <= minute && minute <= s.last_minute())?;
        Some(Slot { day: self.date, segment: *segment, midnight: self.midnight })
    }

    /// Every minute that may stamp a candle of this day, ascending, with its slot.
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
    /// Whether another stamp is in the same segment: consecutive candles mostly are, and need no
    /// new look-up.
    pub fn holds(&self, at: Timestamp) -> bool {
        self.first() <= at.0 && at.0 <= self.midnight + i64::from(self.segment.last_minute()) * 60 + 59
    }

    /// Whether a stamp of this segment is that of its closing tail.
    pub fn is_tail(&self, at: Timestamp) -> bool {
        self.segment.tail > 0 && at.0 >= self.midnight + i64::from(self.segment.end) * 60
    }

    fn first(&self) -> i64 {
        self.midnight + i64::from(self.segment.start) * 60
    }

    /// The bucket of `minutes` that holds a stamp of this segment: its stamp and its exclusive end.
    /// Counted from the segment's start, so the afternoon, each session kind and midnight begin a
    /// new bucket.
    pub fn bucket(&self, minutes: Minutes, at: Timestamp) -> (Timestamp, Timestamp) {
        let length = i64::from(minutes.get()) * 60;
        let start = self.first();
        let stamp = start + (at.0 - start).div_euclid(length) * length;
        let end = self.midnight + i64::from(self.segment.end) * 60;
        // A short last bucket reaches to the segment's end, and includes the closing minute where
        // there is one.
        let limit = if stamp + length <= end {
            stamp + length
        } else {
            self.midnight + i64::from(self.segment.last_minute()) * 60 + 60
        };
        (Timestamp(stamp), Timestamp(limit))
    }
}
