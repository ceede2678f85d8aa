//! One connection of a follower: reads the candles of each security, subscribes to it, and adds the
//! pushes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use history::mirror::MirrorStore;
use market::{Candle, Symbol, Timestamp, Venue};
use mirror::{Forming, PAGE_ROWS, Print};
use source::{Answer, Feed, Push, Request, SourceError};

use super::{FollowError, Follower, LEFT_OUT_MAX, Place, now_of};
use crate::error::CollectError;
use crate::link::{Link, Received};
use crate::{Settings, today};

/// Minimum time between two requests for candles. A run of the same mirror sends at most 8 per
/// second, and a source permits 10.
const REQUEST_EVERY_MS: i64 = 500;
/// The same for some time after the source has refused a request as too fast.
const SLOW_EVERY_MS: i64 = 2_000;
/// Pause after such a refusal, and the time for which requests are slower.
const TOO_FAST_MS: (i64, i64) = (30_000, 600_000);
/// Interval at which the candles of a security with pushes are read again, because a source does
/// not push corrections, and at which a security without pushes is tried again.
const READ_EVERY_MS: i64 = 600_000;
/// Interval at which the list is read again and the state is stored.
const STATE_EVERY_MS: i64 = 60_000;
/// Time for which changes are collected into one batch.
const GATHER_MS: i64 = 100;
/// Maximum time to wait for a push, so that the thread ends soon after it is stopped.
const WAIT_MAX_MS: i64 = 500;
/// Number of candles that a repeated request has in addition to the minutes since the last one.
const OVERLAP: i64 = 10;
/// Maximum number of changed candles that wait to be stored.
const CHANGED_MAX: usize = 50_000;

/// Security of the list.
#[derive(Debug, Default)]
struct Followed {
    forming: Forming,
    is_subscribed: bool,
    /// Whether a push was received since the candles were read.
    has_news: bool,
    /// When the candles were requested last on this connection.
    tried_ms: Option<i64>,
}

#[derive(Clone, Debug)]
enum Asked {
    Candles(Symbol),
    Subscription(Symbol),
}

pub(super) struct Session<'a> {
    follower: &'a mut Follower,
    place: &'a Place<'a>,
    data: MirrorStore,
    list: BTreeMap<Symbol, Followed>,
    due: VecDeque<Symbol>,
    pending: Option<(u32, Asked)>,
    left_out: BTreeMap<Symbol, String>,
    /// Days that are recorded as incomplete.
    recorded: BTreeSet<(Symbol, market::Date)>,
    not_before_ms: i64,
    slow_until_ms: i64,
    changed_ms: Option<i64>,
    state_ms: i64,
}

impl<'a> Session<'a> {
    pub(super) fn new(follower: &'a mut Follower, place: &'a Place<'a>) -> Result<Session<'a>, FollowError> {
        Ok(Session {
            follower,
            place,
            data: MirrorStore::open(place.store, place.venues).map_err(CollectError::from)?,
            list: BTreeMap::new(),
            due: VecDeque::new(),
            pending: None,
            left_out: BTreeMap::new(),
            recorded: BTreeSet::new(),
            not_before_ms: 0,
            slow_until_ms: 0,
            changed_ms: None,
            state_ms: 0,
        })
    }

    /// Follows until the connection is lost, or the follower is stopped.
    pub(super) fn run(mut self, link: &mut dyn Link) -> Result<(), FollowError> {
        let now = now_of(self.place.time);
        self.follower.shared.update(|state| {
            state.is_connected = true;
            state.since = Some(now.0);
            state.error = None;
            state.connections += 1;
        });
        let ended = self.follow(link);
        // The received changes are stored, so that the next session needs only later ones.
        self.deliver();
        ended
    }

    fn follow(&mut self, link: &mut dyn Link) -> Result<(), FollowError> {
        while !self.follower.shared.is_stopped() {
            let now_ms = self.place.time.now_ms();
            if now_ms - self.state_ms >= STATE_EVERY_MS {
                self.every_minute(now_ms)?;
            }
            self.send(link, now_ms)?;
            if self.changed_ms.is_some_and(|since| now_ms - since >= GATHER_MS) {
                self.deliver();
            }
            let wait = match (self.changed_ms, self.pending.is_none() && !self.due.is_empty()) {
                (Some(since), _) => since + GATHER_MS - now_ms,
                (None, true) => self.not_before_ms - now_ms,
                (None, false) => WAIT_MAX_MS,
            };
            let wait = u64::try_from(wait.clamp(1, WAIT_MAX_MS)).unwrap_or(1);
            let wait = self.place.time.pass(Duration::from_millis(wait));
            match link.next(wait).map_err(CollectError::from)? {
                Some(Received::Push(push)) => self.pushed(&push)?,
                Some(Received::Answer((id, answer))) => self.answered(link, id, answer)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Reads the list, orders candles that are due, and stores the state.
    fn every_minute(&mut self, now_ms: i64) -> Result<(), FollowError> {
        if !self.follower.has_lock() {
            return Err(CollectError::LockLost(self.follower.shared.mirror.clone()).into());
        }
        let name = self.follower.shared.mirror.clone();
        let view = self.data.view();
        let row = view.mirror(&name).map_err(CollectError::from)?;
        let row = row.ok_or_else(|| CollectError::Removed(name))?;
        let settings: Settings = serde_json::from_str(&row.settings).map_err(CollectError::from)?;
        if settings != self.place.settings {
            return Err(FollowError::Changed);
        }
        let list = view.mirror_securities(row.id).map_err(CollectError::from)?;
        for security in list {
            self.list.entry(security.symbol).or_default();
        }
        let waiting: BTreeSet<Symbol> = self.due.iter().cloned().collect();
        for (symbol, followed) in &self.list {
            let is_due = match followed.tried_ms {
                None => true,
                Some(at) => now_ms - at >= READ_EVERY_MS && (followed.has_news || !followed.is_subscribed),
            };
            if is_due && !waiting.contains(symbol) {
                self.due.push_back(symbol.clone());
            }
        }
        self.state_ms = now_ms;
        self.show();
        let now = now_of(self.place.time);
        self.follower.store_state((self.place.store, self.place.venues), now);
        Ok(())
    }

    /// Updates the counts of the state.
    fn show(&mut self) {
        let subscribed = self.list.values().filter(|followed| followed.is_subscribed).count();
        let left_out = self.left_out.iter().take(LEFT_OUT_MAX);
        let left_out: BTreeMap<String, String> =
            left_out.map(|(symbol, reason)| (symbol.to_string(), reason.clone())).collect();
        let securities = self.list.len();
        self.follower.shared.update(|state| {
            (state.securities, state.subscribed, state.left_out) = (securities, subscribed, left_out);
        });
    }

    /// Requests the candles of the next security.
    fn send(&mut self, link: &mut dyn Link, now_ms: i64) -> Result<(), FollowError> {
        if self.pending.is_some() || now_ms < self.not_before_ms {
            return Ok(());
        }
        let Some(symbol) = self.due.pop_front() else { return Ok(()) };
        let Some(followed) = self.list.get_mut(&symbol) else { return Ok(()) };
        followed.tried_ms = Some(now_ms);
        followed.has_news = false;
        let minutes = self.follower.read_at.get(&symbol).map(|at| (now_ms - at).max(0) / 60_000 + OVERLAP);
        let count = minutes.and_then(|minutes| usize::try_from(minutes).ok()).unwrap_or(PAGE_ROWS as usize);
        let request = Request::Candles {
            symbol: symbol.clone(),
            period: source::Period::Minute,
            adjust: source::Adjust::Actual,
            sessions: self.sessions(),
            count: source::Count::of(count),
        };
        let id = link.send(&request).map_err(CollectError::from)?;
        self.pending = Some((id, Asked::Candles(symbol)));
        self.not_before_ms =
            now_ms + if now_ms < self.slow_until_ms { SLOW_EVERY_MS } else { REQUEST_EVERY_MS };
        Ok(())
    }

    fn sessions(&self) -> source::Sessions {
        match self.place.settings.list.all_sessions {
            true => source::Sessions::All,
            false => source::Sessions::Regular,
        }
    }

    fn answered(
        &mut self,
        link: &mut dyn Link,
        id: u32,
        answer: Result<Answer, SourceError>,
    ) -> Result<(), FollowError> {
        let Some((_, asked)) = self.pending.take_if(|(pending, _)| *pending == id) else { return Ok(()) };
        self.follower.failures = 0;
        match (asked, answer) {
            (Asked::Candles(symbol), Ok(Answer::Candles(page))) => {
                self.read(&symbol, &page.candles)?;
                let is_subscribed = self.list.get(&symbol).is_some_and(|followed| followed.is_subscribed);
                if !is_subscribed {
                    // Directly after the response: the source pushes what comes after it.
                    let feed = self.feed_of(&symbol)?;
                    let request = Request::Subscribe { symbol: symbol.clone(), feed };
                    let id = link.send(&request).map_err(CollectError::from)?;
                    self.pending = Some((id, Asked::Subscription(symbol)));
                }
            }
            (Asked::Subscription(symbol), Ok(Answer::Subscribed(is_subscribed))) => {
                match is_subscribed {
                    true => drop(self.left_out.remove(&symbol)),
                    false => {
                        drop(self.left_out.insert(symbol.clone(), "the source does not push it".to_owned()))
                    }
                }
                if let Some(followed) = self.list.get_mut(&symbol) {
                    followed.is_subscribed = is_subscribed;
                }
            }
            (Asked::Candles(symbol) | Asked::Subscription(symbol), Err(error)) => {
                if error.ends_connection() {
                    return Err(CollectError::from(error).into());
                }
                let now_ms = self.place.time.now_ms();
                if matches!(error.kind(), Some(source::Kind::TooFast | source::Kind::Server)) {
                    self.not_before_ms = now_ms + TOO_FAST_MS.0;
                    self.slow_until_ms = now_ms + TOO_FAST_MS.1;
                    self.due.push_front(symbol.clone());
                }
                self.left_out.insert(symbol, error.to_string());
            }
            _ => {}
        }
        self.show();
        Ok(())
    }

    /// Takes the received candles: those of today, or those since the last request.
    fn read(&mut self, symbol: &Symbol, candles: &[Candle]) -> Result<(), FollowError> {
        let venue = self.place.venues.of(symbol.market());
        let now_ms = self.place.time.now_ms();
        let now = now_of(self.place.time);
        let Some(today) = venue.rolled(now) else { return Ok(()) };
        let since = self.follower.read_at.get(symbol).map(|at| at / 1_000 - 2 * 60);
        let is_new = |candle: &Candle| match since {
            Some(since) => candle.time.0 >= since,
            None => venue.slot(candle.time).is_some_and(|slot| slot.day == today),
        };
        let new: Vec<Candle> =
            candles.iter().filter(|candle| candle.time <= now && is_new(candle)).copied().collect();
        let Some(followed) = self.list.get_mut(symbol) else { return Ok(()) };
        if followed.is_subscribed {
            // Pushes of the newest minute may be on their way, and would be counted twice.
            let is_complete = |candle: &&Candle| minute_end(venue, candle.time).0 < now.0;
            for candle in new.iter().filter(is_complete) {
                self.follower.outbox.add(symbol, *candle, None);
            }
        } else {
            followed.forming = Forming::after(candles);
            for candle in &new {
                self.follower.outbox.add(symbol, *candle, None);
            }
        }
        self.follower.read_at.insert(symbol.clone(), now_ms);
        if !new.is_empty() {
            self.record_incomplete(symbol, today)?;
            self.changed()?;
        }
        Ok(())
    }

    /// Records that the minutes of the current day may be incomplete, before they are stored.
    fn record_incomplete(&mut self, symbol: &Symbol, day: market::Date) -> Result<(), FollowError> {
        if !self.recorded.insert((symbol.clone(), day)) {
            return Ok(());
        }
        let sessions = self.place.settings.list.sessions();
        let now = now_of(self.place.time);
        today::mark_incomplete((&mut self.data, self.place.id), self.place.venues, (symbol, sessions), now)?;
        Ok(())
    }

    fn pushed(&mut self, push: &Push) -> Result<(), FollowError> {
        let now = now_of(self.place.time);
        self.follower.failures = 0;
        self.follower.shared.update(|state| {
            state.pushes += 1;
            state.last_push_at = Some(now.0);
        });
        let has_all = self.place.settings.list.all_sessions;
        let venue = self.place.venues.of(push.symbol.market());
        let Some(followed) = self.list.get_mut(&push.symbol) else { return Ok(()) };
        followed.has_news = true;
        let mut has_changed = false;
        for trade in &push.trades {
            if !has_all && trade.session != market::Session::Intraday {
                continue;
            }
            let source::PushedTrade { time, session, price, volume, turnover, effect } = *trade;
            let print = Print { time, session, price, volume, turnover, effect };
            if let Some(candle) = followed.forming.add(venue, &print) {
                self.follower.outbox.add(&push.symbol, candle, Some(false));
                has_changed = true;
            }
        }
        if has_changed {
            if let Some(day) = venue.rolled(now) {
                self.record_incomplete(&push.symbol, day)?;
            }
            self.changed()?;
        }
        Ok(())
    }

    fn changed(&mut self) -> Result<(), FollowError> {
        if self.follower.outbox.len() > CHANGED_MAX {
            return Err(FollowError::Behind(CHANGED_MAX));
        }
        self.changed_ms.get_or_insert(self.place.time.now_ms());
        Ok(())
    }

    /// Sends the changed candles to the ingest.
    fn deliver(&mut self) {
        let now_ms = self.place.time.now_ms();
        let sent = self.follower.outbox.send(self.place.sink, now_ms);
        self.changed_ms = (!self.follower.outbox.is_empty()).then_some(now_ms);
        self.follower.shared.update(|state| match sent {
            Ok(0) => {}
            Ok(rows) => {
                state.rows += rows as u64;
                state.error = None;
            }
            Err(reason) => state.error = Some(reason),
        });
    }

    /// Returns the pushes from which the candles of a security are built.
    fn feed_of(&mut self, symbol: &Symbol) -> Result<Feed, FollowError> {
        let known = self.data.view().security(symbol).map_err(CollectError::from)?;
        let board = known.and_then(|known| known.board).unwrap_or_default();
        Ok(match feed::Board::of_name(&board) {
            feed::Board::Index => Feed::Quotes,
            feed::Board::Security => Feed::Trades,
        })
    }
}

/// Returns the exclusive end of a one-minute candle, or of a closing auction.
fn minute_end(venue: &Venue, stamp: Timestamp) -> Timestamp {
    feed::Minute::of(venue, stamp).map_or(Timestamp(stamp.0 + 60), |minute| minute.acts_at())
}
