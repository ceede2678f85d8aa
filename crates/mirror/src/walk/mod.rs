//! Reads one series backward, page by page.
//!
//! Every page but the first repeats the oldest candle of the previous page. This proves that no
//! candle is missing between the two pages and that the history was not revised between them. The
//! [`Position`] is stored in the same transaction as the rows of the page, so a crash loses no page
//! and repeats none.

mod grid;
mod position;

use market::{Candle, Date, Flaw, Floors, Period, Timestamp, Venue};

use position::{Anchors, Oldest, State};
pub use position::{End, ParsePositionError, Position};

use crate::{Anchor, DateRange, PAGE_ROWS, Request, Series};

/// Maximum number of times that a series is read again from the newest candle because its history
/// was revised between two pages.
pub const RESTARTS_MAX: u8 = 3;
/// Largest accepted difference between the clocks of the two servers, in seconds. Later candles are
/// rejected.
const CLOCK_DIFFERENCE_MAX: i64 = 300;

/// Maximum time, in seconds, by which a candle of the first page may be newer than the newest
/// requested candle. The anchor of that page is one step later.
const ANCHOR_ABOVE_MINUTE: i64 = 120;
const ANCHOR_ABOVE_DAY: i64 = 2 * 86_400;

/// Stamps of the candles to read, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub oldest: Timestamp,
    /// `None` begins with the newest candle.
    pub newest: Option<Timestamp>,
}

/// Progress of reading one series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    series: Series,
    bounds: Bounds,
    position: Position,
}

/// Contents of a page. The caller stores them and the new position in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// New complete candles, ascending.
    pub rows: Vec<Candle>,
    /// Candles that were incomplete when they were received.
    pub forming: Vec<Candle>,
    pub quarantined: Vec<Quarantined>,
    pub outcome: Outcome,
}

/// A received candle that is not stored, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quarantined {
    pub candle: Candle,
    pub reason: Reason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("{0}")]
    Flaw(Flaw),
    #[error("not after the candle before it in the page")]
    NotAscending,
    #[error("newer than the requested candles")]
    NotRequested,
    #[error("in the future")]
    Future,
}

/// What to do after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Send the next request.
    Continue,
    /// The history was revised since the last page. The next request is for the newest candles
    /// again. Stored candles are replaced where they differ.
    Restarted,
    Done(End),
}

impl Bounds {
    /// Returns the bounds of all candles down to a floor.
    pub fn of_floors(venue: &Venue, floors: Floors, period: Period) -> Bounds {
        Bounds { oldest: venue.served_from(floors, period), newest: None }
    }

    /// Returns the bounds of all candles down to the published floor of the service.
    pub fn published(venue: &Venue, period: Period) -> Bounds {
        Bounds::of_floors(venue, Floors::published(venue.market()), period)
    }

    /// Returns the bounds of the candles of a date range, down to the published floor. A range that
    /// includes the latest trading day begins with the newest candle.
    pub fn of_dates(venue: &Venue, period: Period, dates: DateRange, now: Timestamp) -> Bounds {
        let begins =
            |date: Date| if period.is_clock() { venue.roll(date) } else { venue.zone().midnight(date) };
        let oldest = begins(dates.from).max(Bounds::published(venue, period).oldest);
        let is_current = venue.rolled(now).is_none_or(|latest| dates.through >= latest);
        let next = dates.through.tomorrow().ok().filter(|_| !is_current);
        Bounds { oldest, newest: next.map(|next| Timestamp(begins(next).0 - 1)) }
    }
}

impl Walk {
    pub fn new(series: Series, bounds: Bounds) -> Walk {
        Walk { series, bounds, position: Position::START }
    }

    /// Resumes at a stored position.
    pub fn resumed(series: Series, bounds: Bounds, position: Position) -> Walk {
        Walk { series, bounds, position }
    }

    pub fn series(&self) -> &Series {
        &self.series
    }

    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Returns the next request, or `None` if the walk is done.
    pub fn request(&self, venue: &Venue) -> Option<Request> {
        let period = self.series.period();
        let anchor = match &self.position.state {
            State::Done(_) => return None,
            // One step later than the newest candle, because the other server may exclude the
            // anchor.
            State::Start => self.bounds.newest.map(|newest| Anchor::after(venue, period, newest)),
            State::At(oldest) => {
                let at = oldest.candle.time;
                Some(match self.position.anchors {
                    Anchors::Included => Anchor::including(venue, period, at),
                    Anchors::Excluded => Anchor::after(venue, period, at),
                })
            }
        };
        Some(Request { series: self.series.clone(), anchor, count: PAGE_ROWS })
    }

    /// Processes the response to the last request, whose candles are in the order in which they
    /// were received, and advances the position. `now` decides which candles are incomplete.
    pub fn take(&mut self, venue: &Venue, page: &[Candle], now: Timestamp) -> Taken {
        let before = match &self.position.state {
            State::Done(end) => return Taken::nothing(Outcome::Done(*end)),
            State::Start => None,
            State::At(oldest) => Some(*oldest),
        };
        let sorted = self.sort(venue, page, before.map(|oldest| oldest.candle.time), now);
        let mut taken = Taken::nothing(Outcome::Continue);
        if let Some(before) = before {
            match sorted.repeated {
                Some(again) if again == before.candle => {}
                // An incomplete candle may change without a revision.
                Some(again) if before.is_forming => taken.push(venue, &self.series, again, now),
                Some(_) => return self.restart(),
                // Either the other server excludes the anchor, or the candle no longer exists. The
                // response to a request with an anchor one step later shows which.
                None if self.position.anchors == Anchors::Included => {
                    self.position.anchors = Anchors::Excluded;
                    return taken;
                }
                None => return self.restart(),
            }
        }
        let oldest = self.bounds.oldest;
        let is_below = sorted.good.first().is_some_and(|candle| candle.time <= oldest);
        for candle in sorted.good.iter().filter(|candle| candle.time >= oldest) {
            taken.push(venue, &self.series, *candle, now);
        }
        taken.rows.sort_unstable_by_key(|candle| candle.time);
        let next = if is_below { None } else { sorted.next(oldest) };
        for bad in sorted.bad {
            // The next page repeats the candles that are older than its anchor.
            let is_final = next.is_none_or(|next| bad.candle.time >= next.time);
            if bad.reason == Reason::NotAscending || (is_final && bad.candle.time >= oldest) {
                taken.quarantined.push(bad);
            }
        }
        self.position.state = match next {
            Some(candle) => State::At(Oldest {
                candle,
                is_forming: grid::is_forming(venue, &self.series, candle.time, now),
            }),
            None => State::Done(if is_below { End::Floor } else { End::Exhausted }),
        };
        if let State::Done(end) = self.position.state {
            taken.outcome = Outcome::Done(end);
        }
        taken
    }

    fn restart(&mut self) -> Taken {
        if self.position.restarts >= RESTARTS_MAX {
            self.position.state = State::Done(End::Revised);
            return Taken::nothing(Outcome::Done(End::Revised));
        }
        let restarts = self.position.restarts + 1;
        self.position = Position { restarts, ..Position::START };
        Taken::nothing(Outcome::Restarted)
    }

    /// Classifies the candles of a page.
    fn sort(&self, venue: &Venue, page: &[Candle], before: Option<Timestamp>, now: Timestamp) -> Sorted {
        let mut sorted = Sorted::default();
        let mut previous = None;
        let mut grid = grid::Grid::new(venue, &self.series);
        let above = if self.series.period().is_clock() { ANCHOR_ABOVE_MINUTE } else { ANCHOR_ABOVE_DAY };
        for candle in page.iter().take(PAGE_ROWS as usize) {
            let at = candle.time;
            let is_new = before.is_none_or(|before| at < before);
            let is_ascending = previous.is_none_or(|previous| at > previous);
            let reason = if !is_ascending {
                Some(Reason::NotAscending)
            } else if !is_new {
                None
            } else if self.bounds.newest.is_some_and(|newest| at.0 > newest.0.saturating_add(above)) {
                Some(Reason::NotRequested)
            } else if self.bounds.newest.is_some_and(|newest| at > newest) {
                previous = Some(at);
                continue;
            } else if at.0 > now.0.saturating_add(CLOCK_DIFFERENCE_MAX) {
                Some(Reason::Future)
            } else {
                grid.check(candle).err().map(Reason::Flaw)
            };
            // An invalid stamp must not invalidate the following candles.
            if !matches!(reason, Some(Reason::NotAscending | Reason::Future)) {
                previous = Some(at);
            }
            match reason {
                Some(reason) if is_new => sorted.bad.push(Quarantined { candle: *candle, reason }),
                Some(_) => {}
                None if is_new => sorted.good.push(*candle),
                None if Some(at) == before => sorted.repeated = Some(*candle),
                // Newer than the repeated candle, so it is stored already.
                None => {}
            }
        }
        sorted
    }
}

/// Candles of one page by kind.
#[derive(Debug, Default)]
struct Sorted {
    repeated: Option<Candle>,
    /// New candles, ascending.
    good: Vec<Candle>,
    /// New candles that are not stored.
    bad: Vec<Quarantined>,
}

impl Sorted {
    /// Returns the candle that the next page must repeat, which is the oldest valid one. If all
    /// candles are quarantined, the oldest of them serves, so that such a page does not end the
    /// walk.
    fn next(&self, oldest: Timestamp) -> Option<Candle> {
        let bad = || {
            let in_range = self.bad.iter().map(|bad| bad.candle).filter(|candle| candle.time >= oldest);
            in_range.min_by_key(|candle| candle.time)
        };
        self.good.first().copied().or_else(bad)
    }
}

impl Taken {
    fn nothing(outcome: Outcome) -> Taken {
        Taken { rows: Vec::new(), forming: Vec::new(), quarantined: Vec::new(), outcome }
    }

    fn push(&mut self, venue: &Venue, series: &Series, candle: Candle, now: Timestamp) {
        if grid::is_forming(venue, series, candle.time, now) {
            self.forming.push(candle);
        } else {
            self.rows.push(candle);
        }
    }
}
