use crate::Date;
use crate::time::{date_of_days, days_of_date};

/// Number of days before the end of a calendar at which the first warning is reported. Operators
/// have time to act, but the warning is not shown so early that it is ignored.
pub const CALENDAR_WARNING_DAYS: i32 = 30;

/// Whether a trading day has full or shortened hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DayKind {
    Full,
    Half,
}

/// Trading days of one market, stored as one kind per calendar day so that each lookup is one
/// index.
///
/// Outside the covered dates ([`Calendar::covers`]), every weekday is a trading day.
#[derive(Clone, Debug)]
pub struct Calendar {
    first: i64,
    days: Vec<Option<DayKind>>,
    valid_through: Date,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct CalendarError {
    pub line: usize,
    pub problem: String,
}

impl CalendarError {
    pub(crate) fn at(line: usize, problem: impl Into<String>) -> CalendarError {
        CalendarError { line, problem: problem.into() }
    }
}

/// Maximum length of a calendar in days, about three centuries. A longer range indicates a mistyped
/// date.
const DAYS_MAX: i64 = 110_000;

impl Calendar {
    /// Parses `date,kind` rows in ascending order. `#` starts a comment. The comment `# valid
    /// through: DATE` gives the last official date, which defaults to the date of the last row.
    pub fn parse(text: &str) -> Result<Calendar, CalendarError> {
        let mut first = None;
        let mut days: Vec<Option<DayKind>> = Vec::new();
        let mut valid_through = None;
        for (index, line) in text.lines().enumerate() {
            let (number, line) = (index + 1, line.trim());
            if let Some(comment) = line.strip_prefix('#') {
                if let Some(date) = comment.trim().strip_prefix("valid through:") {
                    let date = date.trim();
                    let date: Date = date
                        .parse()
                        .map_err(|_| CalendarError::at(number, format!("{date:?} is not a date")))?;
                    valid_through = Some((number, date));
                }
                continue;
            }
            if line.is_empty() || line == "date,kind" {
                continue;
            }
            let (date, kind) =
                line.split_once(',').ok_or_else(|| CalendarError::at(number, "expected date,kind"))?;
            let date: Date =
                date.parse().map_err(|_| CalendarError::at(number, format!("{date:?} is not a date")))?;
            let kind = match kind {
                "full" => DayKind::Full,
                "half" => DayKind::Half,
                _ => return Err(CalendarError::at(number, format!("{kind:?} is neither full nor half"))),
            };
            let at = days_of_date(date);
            let start = *first.get_or_insert(at);
            let offset = at - start;
            if offset > DAYS_MAX {
                return Err(CalendarError::at(number, "more than three centuries after the first date"));
            }
            match usize::try_from(offset) {
                Ok(offset) if offset >= days.len() => {
                    days.resize(offset, None);
                    days.push(Some(kind));
                }
                _ => return Err(CalendarError::at(number, "dates must ascend, each once")),
            }
        }
        let first = first.ok_or_else(|| CalendarError::at(0, "no trading day in the file"))?;
        let last = date_of_days(first + days.len() as i64 - 1);
        let valid_through = match valid_through {
            // Every weekday after `valid_through` is a trading day, so later rows would be silently
            // ignored.
            Some((number, date)) if date < last => {
                return Err(CalendarError::at(
                    number,
                    format!("rows continue to {last}, after the date they are valid through"),
                ));
            }
            Some((_, date)) => date,
            None => last,
        };
        Ok(Calendar { first, days, valid_through })
    }

    /// Returns the last date for which the calendar is official.
    pub fn valid_through(&self) -> Date {
        self.valid_through
    }

    pub fn first(&self) -> Date {
        date_of_days(self.first)
    }

    pub fn covers(&self, date: Date) -> bool {
        date <= self.valid_through && days_of_date(date) >= self.first
    }

    /// Returns the kind of a trading day, or `None` if the market is closed. Weekdays outside the
    /// covered dates are full days.
    pub fn kind(&self, date: Date) -> Option<DayKind> {
        match usize::try_from(days_of_date(date) - self.first) {
            Ok(offset) if date <= self.valid_through => self.days.get(offset).copied().flatten(),
            _ => {
                let weekday = date.weekday().to_monday_zero_offset() < 5;
                weekday.then_some(DayKind::Full)
            }
        }
    }

    /// Returns the last trading day on or before a date. Searches the three weeks before the date,
    /// because no market is closed for longer, and returns `None` if they have no trading day.
    pub fn on_or_before(&self, date: Date) -> Option<Date> {
        std::iter::successors(Some(date), |d| d.yesterday().ok()).take(22).find(|d| self.kind(*d).is_some())
    }

    /// Returns the first trading day after a date, or `None` if there is none within three weeks.
    pub fn after(&self, date: Date) -> Option<Date> {
        std::iter::successors(date.tomorrow().ok(), |d| d.tomorrow().ok())
            .take(22)
            .find(|d| self.kind(*d).is_some())
    }

    /// Returns all trading days in an inclusive range of dates, ascending.
    pub fn days(&self, from: Date, through: Date) -> impl Iterator<Item = (Date, DayKind)> + '_ {
        std::iter::successors(Some(from), |d| d.tomorrow().ok())
            .take_while(move |d| *d <= through)
            .filter_map(|d| self.kind(d).map(|kind| (d, kind)))
    }
}
