//! Pushes of one security under a simulated clock, computed from its stored candles for a time
//! window.

use std::borrow::Cow;

use market::{Candle, Candles, Date, Session, Symbol, Timestamp, Trades, Venue};

use crate::minute::{Clock, Minute};
use crate::prints::Growth;
use crate::publish::{Published, Traded, Update, end_of_day, opening, single_trades};
use crate::push::{Board, Figures, Push, QuotePush, StatusChange, TradeStatus};
use crate::sequence::Sequence;
use crate::traded::with_traded_minutes;

/// Maximum time between a candle's stamp and its completion, in seconds. A tail lasts at most one
/// hour.
const ACTS_WITHIN: i64 = 3_600;
const DAY: i64 = 86_400;

/// Stored candles of one security, from which its pushes are computed.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    pub symbol: &'a Symbol,
    pub board: Board,
    pub venue: &'a Venue,
    /// One-minute candles of all sessions in ascending order. Every trading day that overlaps a
    /// requested window must be complete.
    pub minutes: &'a Candles,
    /// Daily candles in ascending order.
    pub days: &'a Candles,
    /// Single trades, ascending. `None` if none are stored, or if they are published only with
    /// their complete minute. Minutes that overlap a requested window must be complete.
    pub trades: Option<&'a Trades>,
    /// All changes of the security's status, ascending.
    pub statuses: &'a [StatusChange],
    /// The last quote push before a requested window, excluding the overnight session. A change of
    /// the status before the first quote of the window repeats its figures. Without this push, such
    /// a change is not pushed.
    pub last: Option<&'a QuotePush>,
}

/// Pushes of one security that are due at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub at: Timestamp,
    pub phase: Phase,
    pub symbol: Symbol,
    pub pushes: Vec<Push>,
    /// Whether clients cannot build the candle of this minute, because the complete candle does not
    /// continue the state built from its trades.
    pub is_unreachable: bool,
}

/// Order of pushes that are due at the same time. Within a phase, pushes are sorted by symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// A one-minute candle is complete.
    Acts,
    /// The status of the security changes.
    Status,
    /// Minutes that begin, and single trades.
    Opens,
    EndOfDay,
}

/// An event to publish.
#[derive(Clone, Copy, Debug)]
struct Event {
    at: Timestamp,
    phase: Phase,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A one-minute candle, and its row in `minutes`.
    Minute(Candle, usize),
    Day(Candle),
    Status,
}

/// Accumulated figures of a session, so that consecutive rows need not be folded again.
#[derive(Clone, Copy, Debug)]
struct Lane {
    day: Date,
    figures: Option<Figures>,
    /// First row that is not included in `figures`.
    next: usize,
}

impl<'a> Replay<'a> {
    /// Returns the replay of a security that is not an index, without single trades and status
    /// changes.
    pub fn new(symbol: &'a Symbol, venue: &'a Venue, minutes: &'a Candles, days: &'a Candles) -> Replay<'a> {
        let board = Board::Security;
        Replay { symbol, board, venue, minutes, days, trades: None, statuses: &[], last: None }
    }
}

impl Replay<'_> {
    /// Returns the pushes due after `after` and up to `until`, inclusive, in order. Two adjacent
    /// windows return the same pushes as one window that covers both.
    pub fn between(&self, after: Timestamp, until: Timestamp) -> Vec<Due> {
        self.with_traded(|replay| replay.pushes(after, until))
    }

    /// Calls `replay` with a replay that also has candles for minutes with trades only. Such a
    /// candle is the fold of the trades.
    fn with_traded<T>(&self, replay: impl FnOnce(&Replay<'_>) -> T) -> T {
        let minutes = match self.trades.filter(|_| self.board == Board::Security) {
            Some(trades) => with_traded_minutes(self.venue, self.minutes, trades),
            None => Cow::Borrowed(self.minutes),
        };
        replay(&Replay { minutes: &minutes, ..*self })
    }

    fn pushes(&self, after: Timestamp, until: Timestamp) -> Vec<Due> {
        let mut lanes: [Option<Lane>; Session::ALL.len()] = [None; Session::ALL.len()];
        let mut instant = None;
        let mut sequence = Sequence::default();
        let mut last = self.last.cloned();
        let mut dues = Vec::new();
        for event in self.events(after, until) {
            if instant != Some(event.at) {
                instant = Some(event.at);
                sequence = Sequence::at_set_clock(event.at);
            }
            let status = self.status(event.at);
            let (mut pushes, is_unreachable) = match event.kind {
                Kind::Day(candle) => {
                    let push = end_of_day(self.symbol, self.board, self.venue, &candle, &mut sequence);
                    (push.map(Push::Quote).into_iter().collect(), false)
                }
                Kind::Status => {
                    let push = last.clone().map(|last| last.with_status(status, &mut sequence));
                    (push.map(Push::Quote).into_iter().collect(), false)
                }
                Kind::Minute(candle, row) => self.minute(&event, (candle, row), &mut lanes, &mut sequence),
            };
            for push in &mut pushes {
                if let Push::Quote(quote) = push {
                    quote.status = status;
                    if quote.session != Session::Overnight {
                        last = Some(quote.clone());
                    }
                }
            }
            if !pushes.is_empty() {
                let symbol = self.symbol.clone();
                dues.push(Due { at: event.at, phase: event.phase, symbol, pushes, is_unreachable });
            }
        }
        dues
    }

    /// Returns the security's status at an instant.
    fn status(&self, at: Timestamp) -> TradeStatus {
        let changes = self.statuses.partition_point(|change| change.at <= at);
        let last = changes.checked_sub(1).and_then(|last| self.statuses.get(last));
        last.map_or(TradeStatus::Normal, |change| change.status)
    }

    /// Returns the first push for a connection that subscribes at `at`: the last quote push up to
    /// that time, without growth, in a session that `sees` accepts. Returns `None` if no such quote
    /// was pushed.
    pub fn latest(&self, at: Timestamp, sees: impl Fn(Session) -> bool) -> Option<QuotePush> {
        self.with_traded(|replay| replay.last_quote(at, sees))
    }

    fn last_quote(&self, at: Timestamp, sees: impl Fn(Session) -> bool) -> Option<QuotePush> {
        let rows = self.minutes.time.partition_point(|time| *time <= at.0);
        let acted = |row: &usize| {
            let candle = self.minutes.get(*row)?;
            let minute = Minute::of(self.venue, candle.time).filter(|minute| sees(minute.session))?;
            let traded = self.traded(&minute).map(|_| minute.stamp);
            let shown = traded.or(minute.opens_at()).unwrap_or(minute.acts_at());
            (shown <= at).then_some(shown)
        };
        let day = self.ends(Timestamp(i64::MIN), at).map(|(end, _)| end).next_back();
        let last_since = |from: Timestamp| {
            let dues = self.pushes(Timestamp(from.0.saturating_sub(1)), at);
            let pushes = dues.into_iter().flat_map(|due| due.pushes);
            let quotes = pushes.filter_map(|push| match push {
                Push::Quote(quote) if sees(quote.session) => Some(quote),
                _ => None,
            });
            quotes.last()
        };
        // A minute that has begun but has no trade yet has no push.
        let minutes = (0..rows).rev().filter_map(|row| acted(&row)).map(Some);
        let quote = minutes.chain([None]).find_map(|minute| last_since(minute.max(day)?));
        quote.map(QuotePush::first)
    }

    /// Returns the events after `after` and up to `until`, inclusive, in order.
    fn events(&self, after: Timestamp, until: Timestamp) -> Vec<Event> {
        let is_due = |event: &Event| after < event.at && event.at <= until;
        let first = after.0.saturating_sub(ACTS_WITHIN);
        let rows = self.minutes.time.partition_point(|time| *time <= first)..self.minutes.len();
        let mut events = Vec::new();
        for row in rows {
            let Some(candle) = self.minutes.get(row).filter(|candle| candle.time <= until) else { break };
            let Some(minute) = Minute::of(self.venue, candle.time) else { continue };
            let kind = Kind::Minute(candle, row);
            let acts = Event { at: minute.acts_at(), phase: Phase::Acts, kind };
            let opens = |at: Timestamp| Event { at, phase: Phase::Opens, kind };
            match self.traded(&minute) {
                None => events.extend(minute.opens_at().map(opens).filter(is_due)),
                Some(trades) => {
                    let mut seconds = trades.time;
                    seconds.dedup();
                    events.extend(seconds.into_iter().map(|at| opens(Timestamp(at))).filter(is_due));
                }
            }
            events.extend([acts].into_iter().filter(is_due));
        }
        let ends = self.ends(after, until);
        let ends = ends.map(|(at, candle)| Event { at, phase: Phase::EndOfDay, kind: Kind::Day(candle) });
        events.extend(ends);
        let statuses = self.statuses.iter();
        let statuses =
            statuses.map(|change| Event { at: change.at, phase: Phase::Status, kind: Kind::Status });
        events.extend(statuses.filter(is_due));
        events.sort_by_key(|event| (event.at, event.phase));
        events
    }

    /// Returns the daily candles whose trading day ends after `after` and up to `until`, inclusive,
    /// each with the end of its day, in ascending order.
    fn ends(
        &self,
        after: Timestamp,
        until: Timestamp,
    ) -> impl DoubleEndedIterator<Item = (Timestamp, Candle)> {
        // A trading day ends at most 24 hours after its candle's stamp, which is midnight.
        let row = |time: i64| self.days.time.partition_point(|stamp| *stamp < time);
        let rows = row(after.0.saturating_sub(DAY))..row(until.0);
        let ends = rows.filter_map(|row| self.days.get(row)).filter_map(|candle| {
            let day = self.venue.day(self.venue.zone().date(candle.time))?;
            Some((self.venue.day_end(day.date), candle))
        });
        ends.filter(move |(end, _)| after < *end && *end <= until)
    }

    /// Returns the pushes of a one-minute candle that opens or completes, and whether clients
    /// cannot build it from its trades.
    fn minute(
        &self,
        event: &Event,
        (candle, row): (Candle, usize),
        lanes: &mut [Option<Lane>; Session::ALL.len()],
        sequence: &mut Sequence,
    ) -> (Vec<Push>, bool) {
        let Some(minute) = Minute::of(self.venue, candle.time) else { return (Vec::new(), false) };
        let Some(lane) = lanes.get_mut(usize::from(minute.session.code())) else {
            return (Vec::new(), false);
        };
        let start = match lane {
            Some(lane) if lane.day == minute.day => *lane,
            _ => {
                let roll = self.venue.roll(minute.day).0;
                let next = self.minutes.time.partition_point(|time| *time < roll);
                Lane { day: minute.day, figures: None, next }
            }
        };
        let rows = (start.next..row).filter_map(|row| self.minutes.get(row));
        let earlier = rows.filter(|candle| candle.session == minute.session);
        let figures = earlier.fold(start.figures, |figures, candle| Some(Figures::then(figures, &candle)));
        *lane = Some(Lane { figures, next: row.max(start.next), ..start });

        let traded = self.traded(&minute);
        let (published, counted, known) = match (event.phase, &traded) {
            (Phase::Acts, None) => (Published::opening(&minute, &candle), Growth::default(), candle),
            (Phase::Acts, Some(trades)) => {
                let Traded { published, counted, .. } = Traded::of_trades(self.venue, &minute, trades);
                (published, counted, candle)
            }
            (_, None) => (None, Growth::default(), opening(&candle)),
            (_, Some(trades)) => {
                return (self.of_second(event.at, &minute, figures, trades, sequence), false);
            }
        };
        let update = Update {
            symbol: self.symbol,
            board: self.board,
            minute,
            before: figures,
            published,
            counted,
            known,
            clock: Clock::Set,
        };
        let outcome = update.publish(sequence);
        (outcome.pushes, outcome.is_correction && traded.is_some())
    }

    /// Returns the stored trades of a minute, or `None` if none are stored. Clients build candles
    /// of index boards only from quotes.
    fn traded(&self, minute: &Minute) -> Option<Trades> {
        let trades = self.trades.filter(|_| self.board == Board::Security)?;
        let rows = trades.within(minute.stamp.0..minute.acts_at().0);
        let mut of_minute = Trades::default();
        of_minute.append_rows(trades, rows);
        (!of_minute.is_empty()).then_some(of_minute)
    }

    /// Returns the pushes of the stored trades of one second: the trades unchanged, and a quote if
    /// they change it. Before the first price of the minute, trades do not change the quote.
    fn of_second(
        &self,
        at: Timestamp,
        minute: &Minute,
        before: Option<Figures>,
        of_minute: &Trades,
        sequence: &mut Sequence,
    ) -> Vec<Push> {
        let until = |time: i64| {
            let mut trades = of_minute.clone();
            trades.truncate(of_minute.within(i64::MIN..time).end);
            Traded::of_trades(self.venue, minute, &trades).published
        };
        let rows = of_minute.within(at.0..at.0.saturating_add(1));
        let trades = rows.filter_map(|row| of_minute.get(row));
        let mut pushes = single_trades(self.symbol, minute.session, trades, sequence);
        let published = until(at.0);
        if let Some(known) = until(at.0.saturating_add(1)).filter(|known| Some(*known) != published) {
            let update = Update {
                symbol: self.symbol,
                board: self.board,
                minute: *minute,
                before,
                published,
                counted: Growth::default(),
                known: known.candle,
                clock: Clock::Set,
            };
            pushes.push(update.after_trades(known.last_at, sequence));
        }
        pushes
    }
}
