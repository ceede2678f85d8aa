//! Publishes what the market clock has reached: under a set clock, the pushes of all stored candles
//! between the last published instant and now.

use std::collections::{HashMap, HashSet};
use std::thread::sleep;
use std::time::{Duration, Instant};

use access::Demand;
use feed::{Board, ConnectionId, Due, FirstPush, Push, QuotePush, Replay, SubType, SubTypes};
use history::ingest::IngestError;
use history::{AsOf, HistoryError};
use market::{Candles, Session, Symbol, Timestamp, Trades, Venue};
use store::Reader;

use super::arrivals::Arrivals;
use super::subscriptions::{Recipient, Sent};
use crate::core::Core;
use crate::ingest::Ingest;
use crate::market_clock::ClockSpeed;
use crate::quote_push::encode;
use crate::refusal::Refusal;

/// Longest time from the start of a trading day to the stamp of one of its minutes, and a margin.
const DAY_BEFORE: i64 = 30 * 3_600;
/// Window of one step of a movement, so that a long movement does not read years at once.
const WINDOW: i64 = 86_400;
/// Queue length at which a stepped clock waits for the client.
const QUEUE_HIGH: usize = feed::PUSHES_MAX / 2;
/// Maximum time that a stepped clock waits for slow clients during one movement.
const SLOW_MAX: Duration = Duration::from_secs(5);
/// Interval between checks of a slow client's queue.
const SLOW_PAUSE: Duration = Duration::from_millis(1);
/// Maximum number of overnight sessions to skip in search of a visible price.
const NIGHTS_MAX: usize = 16;
const MICROSECONDS: i64 = 1_000_000;
/// Maximum number of pushes of trades that are sent again after a reconnect.
const RESENT_MAX: usize = 4_000;
/// Maximum age of a candle request whose following pushes are sent again, in market seconds.
const PULL_MAX: i64 = 86_400;

/// What has been published, and the last quotes of subscribed securities.
#[derive(Debug, Default)]
pub(super) struct Publisher {
    /// All pushes up to this instant have been sent.
    until: Option<Timestamp>,
    /// Store version of the cached quotes.
    version: i64,
    latest: HashMap<Symbol, Latest>,
    arrivals: Arrivals,
}

/// The last quote push of a security, which later subscribers get first.
#[derive(Clone, Debug, Default)]
struct Latest {
    of_any_session: Option<QuotePush>,
    /// For connections that do not get overnight pushes.
    without_overnight: Option<QuotePush>,
}

/// The result of publishing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) quotes: usize,
    pub(crate) trades: usize,
    /// The next market time at which something may be published, or `None` without subscribers.
    pub(crate) next: Option<Timestamp>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PublishError {
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("cannot read an ingested batch: {0}")]
    Ingest(IngestError),
}

impl From<PublishError> for Refusal {
    fn from(error: PublishError) -> Refusal {
        match error {
            PublishError::History(error) => error.into(),
            PublishError::Ingest(error) => {
                tracing::error!(%error, "cannot publish");
                Refusal::Internal
            }
        }
    }
}

/// Publishes everything up to the current market time. Blocks on disk I/O.
pub(crate) fn publish(core: &Core) -> Result<Published, PublishError> {
    let published = core.live.publisher().publish(core)?;
    if core.market_clock().pace() == ClockSpeed::Standing {
        core.live.subscriptions().wake_streams();
    }
    Ok(published)
}

impl Publisher {
    fn publish(&mut self, core: &Core) -> Result<Published, PublishError> {
        let as_of = core.market_now();
        let mut published = Published::default();
        end_without_right(core, as_of);
        let AsOf::Replay(now) = as_of else {
            self.publish_arrivals(core, &mut published)?;
            return Ok(published);
        };
        let symbols: Vec<Symbol> = core.live.subscriptions().registry.symbols().cloned().collect();
        if symbols.is_empty() {
            *self = Publisher { until: Some(now), ..Publisher::default() };
            return Ok(published);
        }
        self.forget(&symbols);
        let mut movement = Movement::new(core);
        let mut next = None;
        while let Some(from) = self.until.filter(|until| *until < now) {
            let until = Timestamp(from.0.saturating_add(WINDOW)).min(now);
            let mut dues = Vec::new();
            core.with_reader(|reader| {
                self.refresh(reader.version()?);
                for symbol in &symbols {
                    let stored = Stored::read(core, reader, symbol, from, until)?;
                    dues.extend(stored.replay().between(from, until));
                    next = next.into_iter().chain(stored.next_trade(until)).min();
                }
                Ok::<_, HistoryError>(())
            })?;
            // By instant and phase; securities ascending within a phase.
            dues.sort_by(|a, b| (a.at, a.phase, &a.symbol).cmp(&(b.at, b.phase, &b.symbol)));
            for due in dues {
                self.send(core, due, &mut movement);
            }
            self.until = Some(until);
        }
        self.until.get_or_insert(now);
        self.send_final_states(core, &movement, as_of);
        published.quotes = movement.quotes;
        published.trades = movement.trades;
        // Candles open and act at whole minutes.
        let minute = Timestamp(now.0.saturating_add(60 - now.0.rem_euclid(60)));
        published.next = next.into_iter().filter(|next| *next > now).chain([minute]).min();
        Ok(published)
    }

    /// Publishes ingested batches that were merged since the last call.
    fn publish_arrivals(&mut self, core: &Core, published: &mut Published) -> Result<(), PublishError> {
        let symbols: Vec<Symbol> = core.live.subscriptions().registry.symbols().cloned().collect();
        let through = core.ingest.merged_through();
        let Some(after) = self.arrivals.through.filter(|_| !symbols.is_empty()) else {
            self.arrivals = Arrivals::after(through);
            return Ok(());
        };
        self.arrivals.forget(&symbols);
        if through == after {
            return Ok(());
        }
        let commits = core.with_reader(|reader| Ingest::commits(reader, after, through));
        let commits = commits.map_err(PublishError::Ingest)?;
        let dues = core.with_reader(|reader| {
            let mut dues = Vec::new();
            for commit in &commits {
                let is_subscribed = |symbol: &Symbol| symbols.binary_search(symbol).is_ok();
                dues.extend(self.arrivals.commit(&core.history, reader, commit, is_subscribed)?);
            }
            Ok::<_, HistoryError>(dues)
        })?;
        self.arrivals.through = Some(through);
        let mut movement = Movement::new(core);
        for due in dues {
            self.send(core, due, &mut movement);
        }
        (published.quotes, published.trades) = (movement.quotes, movement.trades);
        Ok(())
    }

    /// Reads the state of a security under the machine clock before it is subscribed to.
    pub(super) fn load(&mut self, core: &Core, symbol: &Symbol, as_of: AsOf) -> Result<(), Refusal> {
        let AsOf::Live(now) = as_of else { return Ok(()) };
        let loaded = core.with_reader(|reader| self.arrivals.load(&core.history, reader, symbol, now));
        loaded.map_err(|error: HistoryError| error.into())
    }

    /// Prepares for a subscription at `now`. For the first subscriber, pushes begin after `now`.
    pub(super) fn begin(&mut self, core: &Core, now: Timestamp, is_first: bool) {
        if is_first || self.until.is_none() {
            let arrivals = Arrivals::after(core.ingest.merged_through());
            *self = Publisher { until: Some(now), arrivals, ..Publisher::default() };
        }
    }

    /// Drops cached quotes if the store has changed.
    fn refresh(&mut self, version: i64) {
        if self.version != version {
            self.version = version;
            self.latest.clear();
        }
    }

    /// Drops cached quotes of securities without subscribers.
    fn forget(&mut self, symbols: &[Symbol]) {
        self.latest.retain(|symbol, _| symbols.binary_search(symbol).is_ok());
    }

    /// Sends the pushes of one security at one instant.
    fn send(&mut self, core: &Core, due: Due, movement: &mut Movement) {
        let subscriptions = &mut *core.live.subscriptions();
        let arrivals = subscriptions.registry.arrive(&due.symbol);
        let is_new: HashSet<ConnectionId> = arrivals.iter().map(|arrival| arrival.connection).collect();
        for push in due.pushes {
            if let (Push::Quote(quote), Some(latest)) = (&push, self.latest.get_mut(&due.symbol)) {
                latest.update(quote);
            }
            let last = match &push {
                Push::Quote(quote) if !is_new.is_empty() => Some(quote.clone()),
                _ => None,
            };
            let kind = push.sub_type();
            let sent = subscriptions.send(push, encode, |connection| {
                !is_new.contains(&connection) && movement.may_get(connection)
            });
            movement.count(kind, &sent);
            // A connection that waited for the security gets its state, and later pushes as usual.
            for arrival in &arrivals {
                let wants = arrival.first_push == FirstPush::Wanted && arrival.types.contains(SubType::Quote);
                let sees = |quote: &QuotePush| {
                    quote.session != Session::Overnight || subscriptions.sees_overnight(arrival.connection)
                };
                if let Some(quote) = last.clone().filter(|quote| wants && sees(quote)) {
                    subscriptions.send_to(arrival.connection, Push::Quote(quote.first()), encode);
                }
            }
            if let Some(mailbox) = sent.slowest.filter(|_| sent.longest_queue >= QUEUE_HIGH) {
                movement.wait(|| mailbox.quotes_waiting() < QUEUE_HIGH / 2 || mailbox.has_ended());
            }
        }
    }

    /// Sends the current states to connections that a movement had too many pushes for.
    fn send_final_states(&mut self, core: &Core, movement: &Movement, as_of: AsOf) {
        for connection in movement.jumped() {
            let symbols: Vec<Symbol> = {
                let subscriptions = core.live.subscriptions();
                let list = subscriptions.registry.list(connection);
                list.filter(|(_, types)| types.contains(SubType::Quote))
                    .map(|(symbol, _)| symbol.clone())
                    .collect()
            };
            for symbol in symbols {
                let overnight = core.live.subscriptions().sees_overnight(connection);
                match self.latest(core, &symbol, overnight, as_of) {
                    Ok(Some(push)) => {
                        core.live.subscriptions().send_to(connection, Push::Quote(push.first()), encode)
                    }
                    Ok(None) => {}
                    Err(error) => tracing::error!(%error, "cannot push a final state"),
                }
            }
        }
    }

    /// Queues the last quote of a security for a connection that has just subscribed.
    pub(super) fn first_push(
        &mut self,
        core: &Core,
        to: &Recipient,
        symbol: &Symbol,
        as_of: AsOf,
    ) -> Result<(), Refusal> {
        if let Some(push) = self.latest(core, symbol, to.overnight, as_of).map_err(Refusal::from)? {
            core.live.subscriptions().send_to(to.id, Push::Quote(push.first()), encode);
        }
        Ok(())
    }

    /// Queues the pushes between a candle request and the subscription that followed it. `types`
    /// are those that the connection did not have before.
    pub(super) fn catch_up(
        &mut self,
        core: &Core,
        to: &Recipient,
        symbol: &Symbol,
        types: SubTypes,
        (since, as_of): (Option<Timestamp>, AsOf),
    ) -> Result<(), Refusal> {
        let AsOf::Replay(now) = as_of else { return Ok(()) };
        let until = *self.until.get_or_insert(now);
        let Some(since) = since.filter(|since| *since < until && since.0 + PULL_MAX > until.0) else {
            return Ok(());
        };
        let dues = core.with_reader(|reader| {
            let stored = Stored::read(core, reader, symbol, since, until)?;
            let needed = if stored.board == Board::Index { SubType::Quote } else { SubType::Trades };
            let dues =
                if types.contains(needed) { stored.replay().between(since, until) } else { Vec::new() };
            Ok::<_, HistoryError>((needed, dues))
        });
        let (needed, dues) = dues.map_err(Refusal::from)?;
        let pushes = dues.into_iter().flat_map(|due| due.pushes);
        let visible = |push: &Push| to.overnight || push.session() != Session::Overnight;
        for push in pushes.filter(|push| push.sub_type() == needed && visible(push)) {
            core.live.subscriptions().send_to(to.id, push, encode);
        }
        Ok(())
    }

    /// Queues the trades that an earlier connection of the client did not get. `missing` is the
    /// first sequence number. The connection then has all trades up to the published instant.
    pub(super) fn resend(
        &mut self,
        core: &Core,
        to: &Recipient,
        symbol: &Symbol,
        missing: Option<i64>,
        as_of: AsOf,
    ) -> Result<(), Refusal> {
        let AsOf::Replay(now) = as_of else { return Ok(()) };
        let until = *self.until.get_or_insert(now);
        if let Some(missing) = missing {
            let from = Timestamp(missing.div_euclid(MICROSECONDS).saturating_sub(1))
                .max(Timestamp(until.0 - PULL_MAX));
            let stored = core.with_reader(|reader| {
                Ok::<_, HistoryError>(
                    Stored::read(core, reader, symbol, from, until)?.replay().between(from, until),
                )
            });
            let pushes = stored.map_err(Refusal::from)?.into_iter().flat_map(|due| due.pushes);
            let is_missing = |push: &Push| push.sub_type() == SubType::Trades && push.sequence() >= missing;
            let visible = |push: &Push| to.overnight || push.session() != Session::Overnight;
            for push in pushes.filter(|push| is_missing(push) && visible(push)).take(RESENT_MAX) {
                core.live.subscriptions().send_to(to.id, push, encode);
            }
        }
        let last = until.0.saturating_mul(MICROSECONDS).saturating_add(MICROSECONDS - 1);
        core.live.subscriptions().has_trades(to.id, symbol, last);
        Ok(())
    }

    /// Returns the last quote push of a security, computed from its candles unless it is cached.
    fn latest(
        &mut self,
        core: &Core,
        symbol: &Symbol,
        overnight: bool,
        as_of: AsOf,
    ) -> Result<Option<QuotePush>, HistoryError> {
        let at = match as_of {
            AsOf::Replay(now) => *self.until.get_or_insert(now),
            AsOf::Live(now) => now,
        };
        let latest = core.with_reader(|reader| {
            self.refresh(reader.version()?);
            let is_live = matches!(as_of, AsOf::Live(_));
            let sees = |session: Session| overnight || session != Session::Overnight;
            if let Some(quote) = self.arrivals.last(symbol, sees).filter(|_| is_live) {
                return Ok(Latest { of_any_session: Some(quote.clone()), without_overnight: Some(quote) });
            }
            if let Some(latest) = self.latest.get(symbol).filter(|_| !is_live) {
                return Ok(latest.clone());
            }
            let of_any_session = last_quote(core, reader, symbol, at, |_| true)?;
            let without_overnight = match &of_any_session {
                Some(quote) if quote.session == Session::Overnight => {
                    last_quote(core, reader, symbol, at, |session| session != Session::Overnight)?
                }
                other => other.clone(),
            };
            let latest = Latest { of_any_session, without_overnight };
            self.latest.insert(symbol.clone(), latest.clone());
            Ok::<_, HistoryError>(latest)
        })?;
        Ok(if overnight { latest.of_any_session } else { latest.without_overnight })
    }
}

impl Latest {
    fn update(&mut self, quote: &QuotePush) {
        self.of_any_session = Some(quote.clone());
        if quote.session != Session::Overnight {
            self.without_overnight = Some(quote.clone());
        }
    }
}

/// Ends subscriptions whose account was revoked or has lost the right to a market.
fn end_without_right(core: &Core, as_of: AsOf) {
    let callers = core.live.subscriptions().callers();
    if callers.is_empty() || core.version_check().is_err() {
        return;
    }
    for (connection, who) in callers {
        let permit = match core.access.admit(Demand::Open { caller: &who }, as_of.now()) {
            Ok(permit) => Some(permit),
            Err(access::Refusal::Revoked) => None,
            // The account cannot be looked up at the moment.
            Err(_) => continue,
        };
        let holds =
            |symbol: &Symbol| permit.as_ref().is_some_and(|permit| permit.holds(symbol.market().into()));
        let overnight = permit.as_ref().is_some_and(|permit| permit.overnight());
        let ended = core.live.subscriptions().restrict(ConnectionId(connection.number()), holds, overnight);
        if !ended.is_empty() {
            core.access.release_subscriptions(connection, Some(&ended));
        }
    }
}

/// Returns the last quote push of a security up to an instant, in the sessions that `sees` admits.
fn last_quote(
    core: &Core,
    reader: &mut Reader,
    symbol: &Symbol,
    at: Timestamp,
    sees: impl Fn(Session) -> bool,
) -> Result<Option<QuotePush>, HistoryError> {
    let venue = core.history.venue(symbol);
    let (mut from, mut has_minute) = (at, false);
    for _ in 0..NIGHTS_MAX {
        let Some(minute) = core.history.last_minute(reader.view(), symbol, from)? else { break };
        from = minute.time;
        has_minute = sees(minute.session);
        if has_minute {
            break;
        }
        // The minutes before this night.
        let night = venue.trading_day(from).map_or(from, |day| venue.roll(day));
        from = Timestamp(night.min(from).0.saturating_sub(1));
    }
    // Today's daily candle is in every window; an earlier one may be newer than the last minute.
    let day = core.history.last_day(reader.view(), symbol, venue.zone().date(at))?;
    let from = match (has_minute, day) {
        (true, Some(day)) => from.max(day.time),
        (false, Some(day)) => day.time,
        (_, None) => from,
    };
    Ok(Stored::read(core, reader, symbol, from, at)?.replay().latest(at, sees))
}

/// Candles of one security for a window of time.
struct Stored<'a> {
    symbol: &'a Symbol,
    board: Board,
    venue: &'a Venue,
    minutes: Candles,
    days: Candles,
    /// All trades of the days that the window touches, later ones included.
    trades: Option<Trades>,
}

impl<'a> Stored<'a> {
    fn read(
        core: &'a Core,
        reader: &mut Reader,
        symbol: &'a Symbol,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Stored<'a>, HistoryError> {
        let venue = core.history.venue(symbol);
        let trades = Timestamp(from.0.saturating_sub(3_600))..Timestamp(until.0.saturating_add(1));
        let trades = core.history.trades_around(reader, symbol, trades)?;
        let view = reader.view();
        let board = view.security(symbol)?.and_then(|security| security.board);
        let window = Timestamp(from.0.saturating_sub(DAY_BEFORE))..Timestamp(until.0.saturating_add(1));
        Ok(Stored {
            symbol,
            board: board.as_deref().map_or(Board::Security, Board::of_name),
            venue,
            minutes: core.history.minutes(view, symbol, window.clone())?,
            days: core.history.days(view, symbol, window)?,
            trades,
        })
    }

    /// Returns the second of the first trade after an instant.
    fn next_trade(&self, after: Timestamp) -> Option<Timestamp> {
        let times = &self.trades.as_ref()?.time;
        times.get(times.partition_point(|time| *time <= after.0)).map(|time| Timestamp(*time))
    }

    fn replay(&self) -> Replay<'_> {
        let Stored { symbol, board, venue, minutes, days, trades } = self;
        Replay { symbol, board: *board, venue, minutes, days, trades: trades.as_ref() }
    }
}

/// One movement of a clock: what it has sent, and how long it waited for slow clients.
struct Movement {
    /// Whether the clock waits for clients.
    waits: bool,
    /// Maximum number of pushes to a connection.
    jump_max: usize,
    began: Instant,
    sent: HashMap<ConnectionId, usize>,
    quotes: usize,
    trades: usize,
}

impl Movement {
    fn new(core: &Core) -> Movement {
        let waits = core.market_clock().pace() == ClockSpeed::Standing;
        let jump_max = core.limits.push_jump;
        Movement { waits, jump_max, began: Instant::now(), sent: HashMap::new(), quotes: 0, trades: 0 }
    }

    /// Counts a push for a connection. Returns whether it gets the push.
    fn may_get(&mut self, connection: ConnectionId) -> bool {
        let sent = self.sent.entry(connection).or_default();
        *sent += 1;
        *sent <= self.jump_max
    }

    /// Returns the connections that had too many pushes.
    fn jumped(&self) -> impl Iterator<Item = ConnectionId> {
        self.sent.iter().filter(|(_, sent)| **sent > self.jump_max).map(|(connection, _)| *connection)
    }

    fn count(&mut self, kind: SubType, sent: &Sent) {
        match kind {
            SubType::Trades => self.trades += sent.count,
            _ => self.quotes += sent.count,
        }
    }

    /// Waits until a client has read most of its queue. Only a stepped clock waits, because others
    /// must not be delayed by one client.
    fn wait(&self, is_ready: impl Fn() -> bool) {
        while self.waits && self.began.elapsed() < SLOW_MAX && !is_ready() {
            sleep(SLOW_PAUSE);
        }
    }
}
