use std::fmt;
use std::str::FromStr;

use crate::Date;
use crate::time::{date_of_days, days_of_date};

/// Length of a candle. Clock periods divide a session, and calendar periods group trading days.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Period {
    Clock(Minutes),
    Calendar(Span),
}

/// One of the thirteen served minute periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minutes(u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Span {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// Granularity of stored candles. `Minute` and `Day` candles are imported. `Minute15` and
/// `Minute60` are rolled up from one-minute candles on import, because a thousand four-hour candles
/// span 195,000 one-minute candles, too many to decode for one query. The `Own` grains are separate
/// series for imported files of 5, 15, 30 or 60 minute candles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Grain {
    Minute,
    Minute15,
    Minute60,
    Own5,
    Own15,
    Own30,
    Own60,
    Day,
}

impl Minutes {
    const SERVED: [u16; 13] = [1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240];
    pub const ONE: Minutes = Minutes(1);

    pub fn new(minutes: u16) -> Option<Minutes> {
        Minutes::SERVED.contains(&minutes).then_some(Minutes(minutes))
    }

    pub fn get(self) -> u16 {
        self.0
    }
}

impl Span {
    const ALL: [Span; 5] = [Span::Day, Span::Week, Span::Month, Span::Quarter, Span::Year];

    fn as_str(self) -> &'static str {
        match self {
            Span::Day => "day",
            Span::Week => "week",
            Span::Month => "month",
            Span::Quarter => "quarter",
            Span::Year => "year",
        }
    }

    /// Returns the first calendar day of the span that contains `day`.
    pub fn floor(self, day: Date) -> Date {
        match self {
            Span::Day => day,
            Span::Week => date_of_days(monday(days_of_date(day))),
            Span::Month => day.first_of_month(),
            Span::Quarter => Date::new(day.year(), (day.month() - 1) / 3 * 3 + 1, 1).unwrap_or(day),
            Span::Year => day.first_of_year(),
        }
    }

    /// Returns an upper bound for the number of trading days in a span, which is also the maximum
    /// number of daily candles folded into one candle.
    pub fn days_max(self) -> usize {
        match self {
            Span::Day => 1,
            Span::Week => 7,
            Span::Month => 31,
            Span::Quarter => 92,
            Span::Year => 366,
        }
    }
}

/// Returns the Monday on or before a day, both as days since 1970-01-01, which was a Thursday. ISO
/// week numbers are not used, because a calendar year paired with an ISO week number names the
/// wrong week around New Year.
pub(crate) fn monday(day: i64) -> i64 {
    day - (day + 3).rem_euclid(7)
}

impl Grain {
    pub const ALL: [Grain; 8] = [
        Grain::Minute,
        Grain::Minute15,
        Grain::Minute60,
        Grain::Own5,
        Grain::Own15,
        Grain::Own30,
        Grain::Own60,
        Grain::Day,
    ];
    /// Grains that are rolled up from one-minute candles.
    pub const ROLLED_UP: [Grain; 2] = [Grain::Minute15, Grain::Minute60];
    /// Grains of imported files that are coarser than one minute, finest first.
    pub const OWN: [Grain; 4] = [Grain::Own5, Grain::Own15, Grain::Own30, Grain::Own60];

    /// Returns the grain in which imported candles of this period are stored, or `None` if they
    /// cannot be imported.
    pub fn of_rows(period: Period) -> Option<Grain> {
        let mut stored = [Grain::Minute, Grain::Day].into_iter().chain(Grain::OWN);
        stored.find(|grain| grain.period() == period)
    }

    /// Returns whether this is an `Own` grain, used for imported files that are coarser than one
    /// minute.
    pub fn is_own(self) -> bool {
        Grain::OWN.contains(&self)
    }

    /// Returns the length of this grain's candles, or `None` for daily candles.
    pub fn length(self) -> Option<Minutes> {
        match self.period() {
            Period::Clock(minutes) => Some(minutes),
            Period::Calendar(_) => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Grain::Minute => "1m",
            Grain::Minute15 => "15m",
            Grain::Minute60 => "60m",
            Grain::Own5 => "own5m",
            Grain::Own15 => "own15m",
            Grain::Own30 => "own30m",
            Grain::Own60 => "own60m",
            Grain::Day => "1d",
        }
    }

    /// Returns the period of this grain's candles as text, such as `15m`, without the `own` prefix.
    pub fn written(self) -> &'static str {
        let name = self.as_str();
        name.strip_prefix("own").unwrap_or(name)
    }

    pub fn period(self) -> Period {
        match self {
            Grain::Minute => Period::Clock(Minutes(1)),
            Grain::Own5 => Period::Clock(Minutes(5)),
            Grain::Minute15 | Grain::Own15 => Period::Clock(Minutes(15)),
            Grain::Own30 => Period::Clock(Minutes(30)),
            Grain::Minute60 | Grain::Own60 => Period::Clock(Minutes(60)),
            Grain::Day => Period::Calendar(Span::Day),
        }
    }
}

impl Period {
    pub const DAY: Period = Period::Calendar(Span::Day);
    pub const MINUTE: Period = Period::Clock(Minutes::ONE);

    /// Returns all eighteen periods, shortest first.
    pub fn all() -> impl Iterator<Item = Period> {
        let clocks = Minutes::SERVED.into_iter().map(|n| Period::Clock(Minutes(n)));
        clocks.chain(Span::ALL.into_iter().map(Period::Calendar))
    }

    pub fn is_clock(self) -> bool {
        matches!(self, Period::Clock(_))
    }

    /// Returns the coarsest grain from which this period can be folded. Buckets of all lengths are
    /// counted from the same segment start, so folding in two steps gives the same result as
    /// folding in one.
    pub fn source(self) -> Grain {
        match self {
            Period::Clock(Minutes(n)) if n % 60 == 0 => Grain::Minute60,
            Period::Clock(Minutes(n)) if n % 15 == 0 => Grain::Minute15,
            Period::Clock(_) => Grain::Minute,
            Period::Calendar(_) => Grain::Day,
        }
    }

    /// Returns the `Own` grains that divide this period, finest first. The finest stored grain is
    /// the source where no one-minute candles are stored.
    pub fn own_sources(self) -> impl Iterator<Item = Grain> {
        Grain::OWN.into_iter().filter(move |grain| self.is_tiled_by(*grain))
    }

    /// Returns whether candles of an `Own` grain can be folded into whole candles of this period.
    fn is_tiled_by(self, grain: Grain) -> bool {
        match (self, grain.period()) {
            (Period::Clock(Minutes(n)), Period::Clock(Minutes(own))) => n % own == 0,
            _ => false,
        }
    }

    /// Returns an upper bound for the number of source candles in one candle of this period.
    pub fn sources_max(self) -> usize {
        match (self, self.source().period()) {
            (Period::Clock(Minutes(n)), Period::Clock(Minutes(source))) => {
                // Adds one to the quotient, because the last bucket may include the closing minute.
                if n == source { 1 } else { usize::from(n / source) + 1 }
            }
            (Period::Calendar(span), _) => span.days_max(),
            (Period::Clock(_), Period::Calendar(_)) => 1,
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Period::Clock(Minutes(n)) => f.pad(&format!("{n}m")),
            Period::Calendar(span) => f.pad(span.as_str()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParsePeriodError {
    #[error("{:?} is not a period: {}", .0, served())]
    Unknown(String),
    /// A number followed by a capital M, which charts use for months. Minutes are usually written
    /// with a lowercase m.
    #[error("{text:?} may mean minutes or months: did you mean {meant}?")]
    Ambiguous { text: String, meant: String },
}

/// Lists all periods for an error message: `1m 2m … 240m (or 1h …), day, week, …`.
fn served() -> String {
    let join = |names: &mut dyn Iterator<Item = String>, by: &str| names.collect::<Vec<_>>().join(by);
    let minutes = join(&mut Minutes::SERVED.iter().map(|n| format!("{n}m")), " ");
    let hours =
        join(&mut Minutes::SERVED.iter().filter(|n| *n % 60 == 0).map(|n| format!("{}h", n / 60)), " ");
    let spans = join(&mut Span::ALL.iter().map(|span| span.as_str().to_owned()), ", ");
    format!("{minutes} (or {hours}), {spans}")
}

/// Returns an error that lists the possible meanings of a number followed by a capital M. Returns
/// `None` if no served period matches.
fn ambiguous(text: &str) -> Option<ParsePeriodError> {
    let digits = text.strip_suffix('M').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let number: u16 = digits.parse().ok()?;
    let minutes = Minutes::new(number).map(|_| format!("{number}m"));
    let months = match number {
        1 => Some("month".to_owned()),
        3 => Some("quarter".to_owned()),
        12 => Some("year".to_owned()),
        _ => None,
    };
    let meant: Vec<String> = [minutes, months].into_iter().flatten().collect();
    let text = text.chars().take(20).collect();
    (!meant.is_empty()).then(|| ParsePeriodError::Ambiguous { text, meant: meant.join(" or ") })
}

impl FromStr for Period {
    type Err = ParsePeriodError;

    fn from_str(text: &str) -> Result<Period, ParsePeriodError> {
        let wrong = || ParsePeriodError::Unknown(text.chars().take(20).collect());
        if let Some(error) = ambiguous(text) {
            return Err(error);
        }
        let lower = text.to_ascii_lowercase();
        let span = match lower.as_str() {
            "day" | "1d" | "d" | "daily" => Some(Span::Day),
            "week" | "1w" | "w" | "weekly" => Some(Span::Week),
            "month" | "1mo" | "mo" | "monthly" => Some(Span::Month),
            "quarter" | "1q" | "q" | "quarterly" => Some(Span::Quarter),
            "year" | "1y" | "y" | "yearly" => Some(Span::Year),
            _ => None,
        };
        if let Some(span) = span {
            return Ok(Period::Calendar(span));
        }
        let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        // The integer parser accepts a leading plus sign, which is not valid here.
        let number: u16 = digits.parse().ok().filter(|_| !digits.starts_with('+')).ok_or_else(wrong)?;
        let minutes = match lower.strip_prefix(digits).unwrap_or("") {
            "m" | "min" | "minute" | "minutes" => Some(number),
            "h" | "hour" | "hours" => number.checked_mul(60),
            _ => None,
        };
        minutes.and_then(Minutes::new).map(Period::Clock).ok_or_else(wrong)
    }
}
