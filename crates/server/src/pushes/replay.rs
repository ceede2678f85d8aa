//! Publishes pushes up to the market time. Under a set clock, these are the pushes of all stored
//! candles between the last published instant and now.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::Demand;
use feed::{Arrival, ConnectionId, Due, FirstPush, Push, QuotePush, SubType, SubTypes};
use history::ingest::IngestError;
use history::{AsOf, HistoryError};
use market::{Session, Symbol, Timestamp};
use store::Reader;

use super::Channel;
use super::request::record_pending;
use crate::core::Core;
use crate::live::{
    Ahead, Arrivals, Change, Latest, Missed, Movement, Publisher, Pull, Recipient, Scheduled, SlowReaders,
    Stored, is_by_day, last_quote, next_trade, scheduled,
};
use crate::mailbox::Mailbox;
use crate::market_clock::ClockSpeed;
use crate::quote_push::{ClockPush, encode, encode_clock, header};
use crate::refusal::Refusal;
use crate::suspect::Suspect;
use crate::worlds::{PushHash, World};

/// Length in seconds of the parts into which a long movement is split, so that it does not read
/// years of candles into memory.
const WINDOW: i64 = 86_400;
/// Maximum number of minutes, over all securities, whose pushes a world precomputes: about 8 MB.
const AHEAD_MINUTES_MAX: i64 = 6_000;
const MICROSECONDS: i64 = 1_000_000;
/// Maximum number of attempts to read the states of newly subscribed securities. An attempt is
/// repeated if a batch was merged in the meantime.
const LOADS_MAX: usize = 4;
/// Minimum interval at which pushes are precomputed, because the subscriptions may change often.
const PREPARE_EVERY: Duration = Duration::from_millis(500);
/// Number of free entries that repeated pushes leave in the queue of a new subscriber, mainly for
/// the first pushes of a request.
pub(super) const RESENT_ROOM: usize = 596;
/// Maximum age in market seconds of a candle request whose subsequent pushes are repeated.
const PULL_MAX: i64 = 86_400;

/// The result of publishing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Published {
    pub(crate) quotes: usize,
    pub(crate) trades: usize,
    /// Number of pushes for the connection that requested the movement of the clock.
    pub(crate) of_mover: usize,
    /// The next market time at which something may be published, or `None` without subscribers.
    pub(crate) next: Option<Timestamp>,
    /// Whether a connection received only the latest states, because there were too many pushes.
    pub(crate) has_jumped: bool,
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

/// Publishes everything up to the server's market time. Blocks on disk I/O.
pub(crate) fn publish(core: &Core) -> Result<Published, PublishError> {
    let channel = Channel::of_server(core);
    let mut publisher = channel.live.publisher();
    let before = publisher.until;
    let mut published = publisher.publish(&channel)?;
    if channel.pace() != ClockSpeed::Machine {
        let now = channel.as_of().now();
        publisher.steps += u64::from(publisher.until != before);
        let subscriptions = channel.live.subscriptions();
        if publisher.until != before {
            let pushes = published.quotes + published.trades + subscriptions.clocks();
            let until = publisher.until.unwrap_or(now);
            subscriptions
                .send_clock(encode_clock(&ClockPush { now: until, step: publisher.steps, pushes }), None);
        }
        if subscriptions.clocks() > 0 {
            published.next = published.next.or(Some(next_minute(now)));
        }
    }
    drop(publisher);
    if channel.pace() == ClockSpeed::Standing {
        channel.live.wake_streams();
    }
    Ok(published)
}

/// Precomputes the pushes of the next minute of the server's clock, if the clock is set. Returns how
/// long to wait until this may be done. Blocks on disk I/O.
pub(crate) fn prepare(core: &Core) -> Result<Option<Duration>, PublishError> {
    let channel = Channel::of_server(core);
    let AsOf::Replay(_) = channel.as_of() else { return Ok(None) };
    let mut publisher = channel.live.publisher();
    let since = publisher.prepared.map(|at| at.elapsed());
    if let Some(wait) = since.and_then(|since| PREPARE_EVERY.checked_sub(since)) {
        return Ok(Some(wait));
    }
    publisher.prepare(&channel)?;
    Ok(None)
}

/// Returns the instant up to which everything was published in a world, or `None` if no connection of
/// this server has subscribed.
pub(crate) fn published_until(core: &Core, account: access::AccountId) -> Option<Timestamp> {
    core.world_lives.known(account)?.publisher().until
}

/// Publishes everything up to the instant to which the clock of a world moves, and then the clock
/// itself with the number of the step and the number of its pushes. Returns the hash of the pushes
/// since the last step. The push of the clock is not hashed, because its counter differs between
/// connections. Blocks on disk I/O.
pub(crate) fn publish_step(
    core: &Core,
    world: &Arc<World>,
    (now, step): (Timestamp, u64),
    mover: Option<access::ConnectionId>,
    slow: SlowReaders,
) -> Result<(Published, PushHash), PublishError> {
    let Some(live) = core.world_lives.known(world.account) else { return Ok(Default::default()) };
    let mover = mover.map(|connection| ConnectionId(connection.number()));
    let moves_to = Some(now);
    let channel = Channel { mover, moves_to, ..Channel::of_world(core, &live, world, slow) };
    let mut publisher = live.publisher();
    let mut published = publisher.publish(&channel)?;
    let subscriptions = live.subscriptions();
    published.quotes += subscriptions.clocks();
    published.of_mover += usize::from(mover.is_some_and(|mover| subscriptions.has_clock(mover)));
    let body = encode_clock(&ClockPush { now, step, pushes: published.quotes + published.trades });
    subscriptions.send_clock(body, None);
    Ok((published, std::mem::take(&mut publisher.hash)))
}

impl Publisher {
    /// Publishes due pushes before a subscription. Otherwise the client could count a change twice,
    /// because it may already have read candles of an instant whose pushes were not sent yet.
    pub(super) fn publish_due(&mut self, core: &Channel<'_>) -> Result<(), PublishError> {
        let is_due = match core.as_of() {
            AsOf::Replay(now) => self.next.is_none_or(|next| next <= now),
            AsOf::Live(_) => self.arrivals.through != Some(core.ingest.merged_through()),
        };
        if is_due {
            self.publish(core)?;
        }
        Ok(())
    }

    fn publish(&mut self, core: &Channel<'_>) -> Result<Published, PublishError> {
        let as_of = core.as_of();
        let mut published = Published::default();
        self.end_without_right(core, as_of);
        let now = match as_of {
            AsOf::Replay(now) => now,
            AsOf::Live(now) => {
                let through = core.ingest.merged_through();
                self.publish_arrivals(core, (now, through), &mut published)?;
                return Ok(published);
            }
        };
        let symbols: Vec<Symbol> = core.live.subscriptions().registry.symbols().cloned().collect();
        if symbols.is_empty() {
            let hash = std::mem::take(&mut self.hash);
            let steps = self.steps;
            *self = Publisher { until: Some(now), hash, steps, ..Publisher::default() };
            return Ok(published);
        }
        self.forget(&symbols);
        let mut movement = Movement::new(core.slow, core.limits.push_jump);
        let mut next = None;
        while let Some(from) = self.until.filter(|until| *until < now) {
            let until = Timestamp(from.0.saturating_add(WINDOW)).min(now);
            let dues = self.due(core, &symbols, (from, until), as_of)?;
            next = self.ahead.next_after(until);
            for due in dues {
                self.send(core, due, &mut movement);
            }
            self.until = Some(until);
        }
        self.until.get_or_insert(now);
        published.has_jumped = movement.jumped().next().is_some();
        self.send_final_states(core, &mut movement, as_of);
        published.of_mover = core.mover.map_or(0, |mover| movement.of_connection(mover));
        published.quotes = movement.quotes;
        published.trades = movement.trades;
        let known = next.into_iter().chain(self.next).filter(|next| *next > now);
        self.next = known.chain([next_minute(now)]).min();
        published.next = self.next;
        Ok(published)
    }

    /// Precomputes the pushes of the minute after the last published instant.
    fn prepare(&mut self, core: &Channel<'_>) -> Result<(), PublishError> {
        let Some(from) = self.until else { return Ok(()) };
        let symbols: Vec<Symbol> = core.live.subscriptions().registry.symbols().cloned().collect();
        let through = next_minute(from);
        core.with_reader(|reader| {
            let version = reader.version()?;
            if !symbols.is_empty() && !self.ahead.knows(&symbols, version, through) {
                self.ahead = read_ahead(core, reader, &symbols, (from, through))?;
                self.ahead.version = version;
                self.prepared = Some(Instant::now());
            }
            Ok::<_, HistoryError>(())
        })?;
        Ok(())
    }

    /// Returns the pushes of a window in the order of instant, phase and security.
    fn due(
        &mut self,
        core: &Channel<'_>,
        symbols: &[Symbol],
        (from, until): (Timestamp, Timestamp),
        as_of: AsOf,
    ) -> Result<Vec<Due>, PublishError> {
        core.with_reader(|reader| {
            let version = reader.version()?;
            self.refresh(version, as_of);
            if !self.ahead.knows(symbols, version, until) {
                let further = if core.world().is_some() { ahead_s(symbols.len()) } else { 0 };
                let through = until.max(Timestamp(from.0.saturating_add(further)));
                self.ahead = read_ahead(core, reader, symbols, (from, through))?;
                self.ahead.version = version;
            }
            Ok::<_, HistoryError>(())
        })?;
        Ok(self.ahead.take(until))
    }

    /// Ends subscriptions whose account has lost the right to them. The check runs after a change
    /// of accounts, and every minute, because a right may expire. It takes a few microseconds per
    /// connection.
    fn end_without_right(&mut self, core: &Channel<'_>, as_of: AsOf) {
        let Ok(version) = core.access.version_check() else { return };
        let state = Some((version, as_of.now().0.div_euclid(60)));
        if self.checked != state {
            end_without_right(core, as_of);
            self.checked = state;
        }
    }

    /// Publishes ingested batches that were merged since the last call, up to `through`, and the
    /// scheduled changes of the machine clock.
    fn publish_arrivals(
        &mut self,
        core: &Channel<'_>,
        (now, through): (Timestamp, i64),
        published: &mut Published,
    ) -> Result<(), PublishError> {
        let (Some(after), Some(from)) = (self.arrivals.through, self.until) else { return Ok(()) };
        let through = through.max(after);
        if core.live.subscriptions().registry.symbols().next().is_none() {
            core.live.subscriptions().forget_quotes(&[]);
            *self = Publisher::default();
            return Ok(());
        }
        published.next = Some(next_minute(now));
        let scheduled = scheduled(core.history.venues(), from, now);
        self.until = Some(from.max(now));
        if through == after && scheduled.is_empty() {
            return Ok(());
        }
        let symbols: Vec<Symbol> = core.live.subscriptions().registry.symbols().cloned().collect();
        self.arrivals.forget(&symbols);
        core.live.subscriptions().forget_quotes(&symbols);
        let commits = core.with_reader(|reader| core.ingest.commits(reader, after, through));
        let commits = commits.map_err(PublishError::Ingest)?;
        let mut batches = Vec::new();
        let dues = core.with_reader(|reader| {
            let mut scheduled = scheduled.into_iter().peekable();
            let mut dues = Vec::new();
            for commit in &commits {
                while let Some(one) = scheduled.next_if(|one| one.at.0 <= commit.at_us / MICROSECONDS) {
                    self.publish_scheduled(core, reader, (one, &symbols), &mut dues)?;
                }
                let is_subscribed = |symbol: &Symbol| symbols.binary_search(symbol).is_ok();
                let of_commit = self.arrivals.commit(&core.history, reader, commit, is_subscribed)?;
                if !of_commit.is_empty() {
                    batches.push(commit.id);
                }
                dues.extend(of_commit);
            }
            for one in scheduled {
                self.publish_scheduled(core, reader, (one, &symbols), &mut dues)?;
            }
            Ok::<_, HistoryError>(dues)
        })?;
        self.arrivals.through = Some(through);
        let mut movement = Movement::new(core.slow, core.limits.push_jump);
        for due in dues {
            self.send(core, due, &mut movement);
        }
        for lag in core.ingest.lags(&batches) {
            core.metrics.pushes.lagged(lag);
        }
        (published.quotes, published.trades) = (movement.quotes, movement.trades);
        Ok(())
    }

    /// Adds the pushes that are due without a batch.
    fn publish_scheduled(
        &mut self,
        core: &Channel<'_>,
        reader: &mut Reader,
        (Scheduled { at, change, market }, symbols): (Scheduled, &[Symbol]),
        dues: &mut Vec<Due>,
    ) -> Result<(), HistoryError> {
        for symbol in symbols.iter().filter(|symbol| symbol.market() == market) {
            let due = match change {
                Change::Status => {
                    let before = Timestamp(at.0.saturating_sub(1));
                    let last =
                        |reader: &mut Reader| last_quote(&core.history, reader, symbol, before, is_by_day);
                    self.arrivals.new_status(&core.history, reader, symbol, at, last)
                }
                Change::EndOfDay(day) => self.arrivals.end_day(&core.history, reader, symbol, day),
            };
            let due = self.arrivals.unless_damaged(reader, symbol, due)?.flatten();
            dues.extend(due.filter(|due| !due.pushes.is_empty()));
        }
        Ok(())
    }

    /// Loads the state of securities before a subscription.
    pub(super) fn load_all(
        &mut self,
        core: &Channel<'_>,
        symbols: &[&Symbol],
        as_of: AsOf,
    ) -> Result<(), Refusal> {
        for _ in 0..LOADS_MAX {
            for symbol in symbols {
                self.load(core, symbol, as_of)?;
            }
            let AsOf::Live(now) = as_of else { return Ok(()) };
            // A state may include a batch that was merged in the meantime. That batch must be
            // published before the subscription, so that no push has a lower number than the first
            // push.
            let merged = core.with_reader(|reader| Ok::<_, HistoryError>(reader.view().ingest_applied()?))?;
            if self.arrivals.through >= Some(merged) {
                return Ok(());
            }
            let is_first = core.live.subscriptions().registry.symbols().next().is_none();
            if is_first {
                self.begin_after(core, as_of, merged)?;
            } else {
                self.publish_arrivals(core, (now, merged), &mut Published::default())?;
            }
        }
        symbols.iter().try_for_each(|symbol| self.load(core, symbol, as_of))
    }

    /// Loads the state of a security before a subscription. Under the machine clock, reads its
    /// published state. Under a set clock, reads the time of its next trade.
    fn load(&mut self, core: &Channel<'_>, symbol: &Symbol, as_of: AsOf) -> Result<(), Refusal> {
        let loaded = match as_of {
            AsOf::Live(now) => {
                core.with_reader(|reader| self.arrivals.load(&core.history, reader, symbol, now))
            }
            AsOf::Replay(now) => {
                let until = *self.until.get_or_insert(now);
                let minute = next_minute(until);
                let trades = core.with_reader(|reader| {
                    let window = until..Timestamp(minute.0.saturating_add(1));
                    core.history.trades_around(reader, symbol, window)
                });
                trades.map(|trades| {
                    let trade = trades.and_then(|trades| next_trade(&trades, until));
                    self.next = self.next.into_iter().chain(trade).chain([minute]).min();
                })
            }
        };
        Ok(unless_damaged(loaded)?)
    }

    /// Returns the number of movements of the server's clock.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Prepares the publisher for a subscription. For the first subscriber, pushes begin after now.
    /// For a later subscriber under the machine clock, due pushes are first sent to the other
    /// subscribers, so that the new subscriber begins with the stored state.
    pub(super) fn begin(&mut self, core: &Channel<'_>, as_of: AsOf, is_first: bool) -> Result<(), Refusal> {
        let through = core.ingest.merged_through();
        if is_first || self.until.is_none() {
            self.begin_after(core, as_of, through)?;
        } else if let AsOf::Live(now) = as_of {
            self.publish_arrivals(core, (now, through), &mut Published::default())?;
        }
        Ok(())
    }

    /// Starts publishing at pushes after now and at batches after `through`.
    fn begin_after(&mut self, core: &Channel<'_>, as_of: AsOf, through: i64) -> Result<(), Refusal> {
        let last = core.with_reader(|reader| core.ingest.commits(reader, through.saturating_sub(1), through));
        let last = last.map_err(PublishError::Ingest)?;
        let arrivals = Arrivals::after(through, last.last().map(Arc::as_ref));
        // The clock of a world may have moved since the request began.
        let before = core.world().and(self.until);
        let (until, steps) = (before.max(Some(as_of.now())), self.steps);
        let hash = std::mem::take(&mut self.hash);
        *self = Publisher { until, arrivals, steps, hash, ..Publisher::default() };
        Ok(())
    }

    /// Drops cached quotes if the store has changed or, under the machine clock, a new minute has
    /// begun.
    fn refresh(&mut self, version: i64, as_of: AsOf) {
        let minute = match as_of {
            AsOf::Live(now) => now.0.div_euclid(60),
            AsOf::Replay(_) => 0,
        };
        if (self.version, self.minute) != (version, minute) {
            (self.version, self.minute) = (version, minute);
            self.latest.clear();
        }
    }

    /// Drops cached quotes of securities without subscribers.
    fn forget(&mut self, symbols: &[Symbol]) {
        self.latest.retain(|symbol, _| symbols.binary_search(symbol).is_ok());
    }

    /// Sends the pushes of one security at one instant.
    fn send(&mut self, core: &Channel<'_>, due: Due, movement: &mut Movement) {
        if due.is_unreachable {
            core.metrics.pushes.unreachable();
        }
        // Pending subscriptions to the security become active with these pushes.
        let arrivals = core.live.subscriptions().registry.arrive(&due.symbol);
        for push in due.pushes {
            // The subscriptions are not locked during the wait, because other connections of the
            // world may close.
            if let Some(mailbox) = self.send_one(core, push, (&due.symbol, &arrivals), movement) {
                let low = core.limits.push_queue / 4;
                movement.wait(|| mailbox.quotes_waiting() < low || mailbox.has_ended());
            }
        }
    }

    /// Sends a push, and adds it to the hash of a world if any connection has subscribed to it.
    /// Returns the mailbox of a client that reads too slowly.
    fn send_one(
        &mut self,
        core: &Channel<'_>,
        push: Push,
        (symbol, arrivals): (&Symbol, &[Arrival]),
        movement: &mut Movement,
    ) -> Option<Mailbox> {
        let mut subscriptions = core.live.subscriptions();
        let is_new = |connection| arrivals.iter().any(|arrival| arrival.connection == connection);
        if let (Push::Quote(quote), ClockSpeed::Machine) = (&push, core.pace()) {
            subscriptions.note_quote(quote);
        }
        if let (Push::Quote(quote), Some(latest)) = (&push, self.latest.get_mut(symbol)) {
            latest.update(quote);
        }
        let last = match &push {
            Push::Quote(quote) if !arrivals.is_empty() => Some(quote.clone()),
            _ => None,
        };
        let kind = push.sub_type();
        let mut wakeups = std::mem::take(&mut movement.wakeups);
        let may_get = |connection| !is_new(connection) && movement.may_get(connection);
        let sent = subscriptions.send(push, encode, may_get, &mut wakeups);
        movement.wakeups = wakeups;
        movement.count(kind, &sent);
        if let Some(encoded) = sent.encoded.as_ref().filter(|_| core.world().is_some()) {
            let frame = encoded.bytes();
            self.hash.add(frame.get(header(frame)..).unwrap_or_default());
        }
        core.metrics.pushes.queued(kind, sent.count);
        // A connection whose pending subscription becomes active gets the current state instead of
        // this push, and later pushes as usual.
        for arrival in arrivals {
            let wants = arrival.first_push == FirstPush::Wanted && arrival.types.contains(SubType::Quote);
            let sees = |quote: &QuotePush| {
                quote.session != Session::Overnight || subscriptions.sees_overnight(arrival.connection)
            };
            if let Some(quote) = last.clone().filter(|quote| wants && sees(quote)) {
                subscriptions.send_to(arrival.connection, Push::Quote(quote.first()), encode);
                movement.count_state(arrival.connection);
            }
        }
        // A stepped clock waits for a client whose queue is half full.
        sent.slowest.filter(|_| sent.longest_queue >= core.limits.push_queue / 2)
    }

    /// Sends the current states to the connections that exceeded the maximum number of pushes of a
    /// movement.
    fn send_final_states(&mut self, core: &Channel<'_>, movement: &mut Movement, as_of: AsOf) {
        for connection in movement.jumped().collect::<Vec<_>>() {
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
                        core.live.subscriptions().send_to(connection, Push::Quote(push.first()), encode);
                        movement.count_state(connection);
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
        core: &Channel<'_>,
        to: &Recipient,
        symbol: &Symbol,
        as_of: AsOf,
    ) -> Result<(), Refusal> {
        if let Some(push) = unless_damaged(self.latest(core, symbol, to.overnight, as_of))? {
            let mut subscriptions = core.live.subscriptions();
            if matches!(as_of, AsOf::Live(_)) {
                subscriptions.note_quote(&push);
            }
            subscriptions.send_to(to.id, Push::Quote(push.first()), encode);
        }
        Ok(())
    }

    /// Queues the pushes between a candle request and the subscription after it. `types` are the
    /// newly subscribed types.
    pub(super) fn catch_up(
        &mut self,
        core: &Channel<'_>,
        to: &Recipient,
        symbol: &Symbol,
        types: SubTypes,
        (pull, as_of): (Option<&Pull>, AsOf),
    ) -> Result<(), Refusal> {
        let AsOf::Replay(now) = as_of else {
            let board = self.arrivals.board(symbol);
            let pull = pull.filter(|pull| Some(pull.through) < self.arrivals.through);
            return match pull.filter(|_| types.contains(board.candle_pushes())) {
                Some(pull) => self.send_missed(core, to, symbol, Missed::After(pull.through)),
                None => Ok(()),
            };
        };
        let since = pull.map(|pull| pull.at);
        let until = *self.until.get_or_insert(now);
        let Some(since) = since.filter(|since| *since < until && since.0 + PULL_MAX > until.0) else {
            return Ok(());
        };
        let dues = core.with_reader(|reader| {
            let stored = Stored::read(&core.history, reader, symbol, since, until)?;
            let needed = stored.board.candle_pushes();
            let dues =
                if types.contains(needed) { stored.replay().between(since, until) } else { Vec::new() };
            Ok::<_, HistoryError>((needed, dues))
        });
        let Some((needed, dues)) = unless_damaged(dues.map(Some))? else { return Ok(()) };
        let pushes = dues.into_iter().flat_map(|due| due.pushes);
        let visible = |push: &Push| to.overnight || push.session() != Session::Overnight;
        for push in pushes.filter(|push| push.sub_type() == needed && visible(push)) {
            if to.mailbox.quotes_waiting() >= resent_max(to) {
                break;
            }
            core.live.subscriptions().send_to(to.id, push, encode);
        }
        Ok(())
    }

    /// Queues the trades that a client's previous connection did not receive, starting at the
    /// sequence number `missing`. Afterwards, the connection has all trades up to the published
    /// instant.
    pub(super) fn resend(
        &mut self,
        core: &Channel<'_>,
        to: &Recipient,
        symbol: &Symbol,
        missing: Option<i64>,
        as_of: AsOf,
    ) -> Result<(), Refusal> {
        let AsOf::Replay(now) = as_of else {
            if let Some(missing) = missing {
                self.send_missed(core, to, symbol, Missed::From(missing))?;
            }
            core.live.subscriptions().has_trades(to.id, symbol, self.arrivals.numbered);
            return Ok(());
        };
        let until = *self.until.get_or_insert(now);
        if let Some(missing) = missing {
            let from = Timestamp(missing.div_euclid(MICROSECONDS).saturating_sub(1))
                .max(Timestamp(until.0 - PULL_MAX));
            let stored = core.with_reader(|reader| {
                Ok::<_, HistoryError>(
                    Stored::read(&core.history, reader, symbol, from, until)?.replay().between(from, until),
                )
            });
            let pushes = unless_damaged(stored)?.into_iter().flat_map(|due| due.pushes);
            let is_missing = |push: &Push| push.sub_type() == SubType::Trades && push.sequence() >= missing;
            let visible = |push: &Push| to.overnight || push.session() != Session::Overnight;
            for push in pushes.filter(|push| is_missing(push) && visible(push)) {
                if to.mailbox.quotes_waiting() >= resent_max(to) {
                    break;
                }
                core.live.subscriptions().send_to(to.id, push, encode);
            }
        }
        let last = until.0.saturating_mul(MICROSECONDS).saturating_add(MICROSECONDS - 1);
        core.live.subscriptions().has_trades(to.id, symbol, last);
        Ok(())
    }

    /// Queues pushes of ingested rows that a client missed.
    fn send_missed(
        &mut self,
        core: &Channel<'_>,
        to: &Recipient,
        symbol: &Symbol,
        missed: Missed,
    ) -> Result<(), Refusal> {
        let Some(through) = self.arrivals.through else { return Ok(()) };
        let read = core.with_reader(|reader| self.recent.read(&core.ingest, reader, through));
        read.map_err(PublishError::Ingest)?;
        let board = self.arrivals.board(symbol);
        let pushes =
            core.with_reader(|reader| self.recent.pushes(&core.history, reader, (symbol, board), missed));
        let pushes: Vec<Push> = unless_damaged(pushes)?;
        let visible = |push: &Push| to.overnight || push.session() != Session::Overnight;
        for push in pushes.into_iter().filter(visible).take(resent_max(to)) {
            core.live.subscriptions().send_to(to.id, push, encode);
        }
        Ok(())
    }

    /// Returns the last quote push of a security, computed from its candles unless it is cached.
    fn latest(
        &mut self,
        core: &Channel<'_>,
        symbol: &Symbol,
        overnight: bool,
        as_of: AsOf,
    ) -> Result<Option<QuotePush>, HistoryError> {
        let at = match as_of {
            AsOf::Replay(now) => *self.until.get_or_insert(now),
            AsOf::Live(now) => now,
        };
        let latest = core.with_reader(|reader| {
            self.refresh(reader.version()?, as_of);
            let is_live = matches!(as_of, AsOf::Live(_));
            let sees = |session: Session| overnight || session != Session::Overnight;
            if let Some(quote) = self.arrivals.last(symbol, sees).filter(|_| is_live) {
                return Ok(Latest { of_any_session: Some(quote.clone()), without_overnight: Some(quote) });
            }
            if let Some(latest) = self.latest.get(symbol) {
                return Ok(latest.clone());
            }
            let venue = core.history.venue(symbol);
            let of_any_session = last_quote(&core.history, reader, symbol, at, |_| true)?;
            let without_overnight = match &of_any_session {
                Some(quote) if quote.session == Session::Overnight => {
                    last_quote(&core.history, reader, symbol, at, |session| session != Session::Overnight)?
                }
                other => other.clone(),
            };
            // Under the machine clock, a partial state of the current minute or day may be stored.
            let running = |last: Option<QuotePush>, sees: fn(Session) -> bool| {
                let running = self.arrivals.running(venue, symbol, at, sees).filter(|_| is_live);
                let sequence = last.as_ref().map_or(0, |last| last.sequence);
                running.map(|quote| QuotePush { sequence, ..quote }).or(last)
            };
            let of_any_session = running(of_any_session, |_| true);
            let without_overnight = running(without_overnight, is_by_day);
            let latest = Latest { of_any_session, without_overnight };
            self.latest.insert(symbol.clone(), latest.clone());
            Ok::<_, HistoryError>(latest)
        })?;
        let latest = if overnight { latest.of_any_session } else { latest.without_overnight };
        // Under a set clock, pushes are numbered by their instants instead.
        let number = self.arrivals.number(symbol).filter(|_| matches!(as_of, AsOf::Live(_)));
        Ok(latest.map(|last| QuotePush { sequence: number.unwrap_or(last.sequence), ..last }))
    }
}

/// Returns how many seconds ahead a world precomputes pushes: an hour, and less for many
/// securities, to limit memory. Each time, the candles of the day are read and decoded for each
/// security.
fn ahead_s(securities: usize) -> i64 {
    let minutes = AHEAD_MINUTES_MAX / i64::try_from(securities).unwrap_or(i64::MAX).max(1);
    60 * minutes.clamp(1, 60)
}

/// Reads the pushes after `from` and up to `through`.
fn read_ahead(
    core: &Channel<'_>,
    reader: &mut Reader,
    symbols: &[Symbol],
    (from, through): (Timestamp, Timestamp),
) -> Result<Ahead, HistoryError> {
    let (mut dues, mut next) = (Vec::new(), None);
    for symbol in symbols {
        let stored = Stored::read_window(&core.history, reader, symbol, from, through).map(Some);
        let Some(stored) = unless_damaged(stored)? else {
            reader.view().doubt(symbol);
            continue;
        };
        dues.extend(stored.replay().between(from, through));
        next = next.into_iter().chain(stored.next_trade(through)).min();
    }
    dues.sort_by(|a, b| (a.at, a.phase, &a.symbol).cmp(&(b.at, b.phase, &b.symbol)));
    Ok(Ahead { symbols: symbols.to_vec(), version: 0, through: Some(through), dues: dues.into(), next })
}

/// Returns the queue length at which no more pushes are repeated.
fn resent_max(to: &Recipient) -> usize {
    to.mailbox.quotes_max().saturating_sub(RESENT_ROOM)
}

/// Returns the start of the next minute. Candles open and fill orders at whole minutes.
fn next_minute(now: Timestamp) -> Timestamp {
    Timestamp(now.0.saturating_add(60 - now.0.rem_euclid(60)))
}

/// Ends subscriptions whose account was revoked or has lost the right to a market.
fn end_without_right(core: &Channel<'_>, as_of: AsOf) {
    let callers = core.live.subscriptions().callers();
    for (connection, who) in callers {
        let permit = match core.access.admit(Demand::Open { caller: &who }, as_of.now()) {
            Ok(permit) => Some(permit),
            Err(access::Refusal::Revoked) => {
                core.live.subscriptions().close_revoked(ConnectionId(connection.number()));
                None
            }
            // The account cannot be read now, so its subscriptions stay.
            Err(_) => continue,
        };
        let holds =
            |symbol: &Symbol| permit.as_ref().is_some_and(|permit| permit.holds(symbol.market().into()));
        let overnight = permit.as_ref().is_some_and(|permit| permit.overnight());
        let ended = core.live.subscriptions().restrict(ConnectionId(connection.number()), holds, overnight);
        if !ended.is_empty() {
            core.access.release_subscriptions(connection, Some(&ended));
            record_pending(core, ConnectionId(connection.number()), connection);
        }
    }
}

/// Returns the default instead of the error for a damaged security, so that one security does not
/// stop the pushes of the others.
fn unless_damaged<T: Default>(read: Result<T, HistoryError>) -> Result<T, HistoryError> {
    match read {
        Err(error) if error.damaged_symbol().is_some() => {
            tracing::error!(%error, "cannot push a damaged security");
            Ok(T::default())
        }
        read => read,
    }
}
