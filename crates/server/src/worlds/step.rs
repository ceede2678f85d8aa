//! Steps of a standing clock: where a step ends, and what is due up to there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use history::{AsOf, HistoryError};
use market::{Symbol, Timestamp};
use paper::PaperError;
use store::Reader;
use trading::Account;
use world::{Change, Markets, Settings, State, TradingHours};

use super::{World, WorldError};
use crate::core::Core;
use crate::live;

/// Longest time from the stamp of a minute to the instant from which it fills orders: the minute
/// itself, or a closing auction of ten minutes.
const ACT_MAX_S: i64 = 660;
/// Maximum time that a step waits for its paper account. A step over years takes longer; the
/// account then catches up with the next request.
const CATCH_UP_MAX: Duration = Duration::from_secs(30);

/// Where a step ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The next instant at which something happens that the world can see.
    Next,
    /// When regular trading of a day begins next, in these markets or in those of the world.
    Session(Option<Markets>),
    /// After this many seconds.
    By(i64),
    To(Timestamp),
}

/// Pushes that a step has queued for the connections of its world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pushes {
    pub(crate) quote: u64,
    pub(crate) trade: u64,
}

/// A completed step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stepped {
    pub(crate) now: Timestamp,
    pub(crate) moved_s: i64,
    pub(crate) pushes: Pushes,
    /// Number of the step.
    pub(crate) step: u64,
    pub(crate) state: State,
}

/// Moves the clock, and does everything that is due up to there. A step beyond the end stops at the
/// end. Blocks on disk I/O.
pub(crate) fn step(core: &Core, world: &Arc<World>, to: Target) -> Result<Stepped, WorldError> {
    let accounts = core.access.database();
    let _changing = world.begin();
    let before = world.standing();
    let state = before.state.after(Change::Step)?;
    let end = world.span.end();
    let now = match to {
        Target::Next => next(core, world, before.now)?.unwrap_or(end),
        Target::Session(markets) => {
            let settings = before.settings;
            let settings = Settings { markets: markets.unwrap_or(settings.markets), ..settings };
            let hours = TradingHours::new(core.history.venues(), &settings);
            hours.next_session(before.now).unwrap_or(end)
        }
        Target::By(seconds) => Timestamp(before.now.0.saturating_add(seconds)),
        Target::To(at) => at,
    };
    if now <= before.now && before.now < end {
        return Err(WorldError::Back { now: before.now });
    }
    let now = now.min(end);
    let state = if now >= end { State::Ended } else { state };
    let after = super::Standing { state, now, step: before.step + 1, ..before.clone() };
    world.put(&accounts, &before, after)?;
    let pushes = complete(core, world, now, before.step + 1)?;
    Ok(Stepped { now, moved_s: now.0 - before.now.0, pushes, step: before.step + 1, state })
}

/// Does what is due up to `now`, where the clock is already: order events first, then quotes.
pub(super) fn complete(
    core: &Core,
    world: &Arc<World>,
    now: Timestamp,
    step: u64,
) -> Result<Pushes, WorldError> {
    let sent = core.listeners.sent(world.account);
    advance(core, world, now)?;
    let trade = core.listeners.sent(world.account).saturating_sub(sent);
    let published = live::publish_step(core, world, step);
    let published = published.map_err(|error| WorldError::Publish(error.into()))?;
    let quote = u64::try_from(published.quotes + published.trades).unwrap_or(u64::MAX);
    Ok(Pushes { quote, trade })
}

/// Advances the paper account of a world. Its orders fill and expire, each at its own instant.
fn advance(core: &Core, world: &World, now: Timestamp) -> Result<(), WorldError> {
    let (began, moment) = (Instant::now(), core.paper_moment(AsOf::Replay(now)));
    loop {
        match core.with_reader(|reader| core.paper.at(world.account, reader, &moment).catch_up()) {
            // Each call advances by some portions.
            Err(PaperError::CatchingUp { .. }) if began.elapsed() < CATCH_UP_MAX => {}
            advanced => return Ok(advanced?),
        }
    }
}

/// Returns the next instant at which something happens: the start or the end of a trading segment; a
/// minute of a security that the world subscribes to, holds or has orders in opens, fills orders, or
/// its trading date changes; or an order expires.
pub(super) fn next(core: &Core, world: &World, now: Timestamp) -> Result<Option<Timestamp>, WorldError> {
    let (venues, settings) = (core.history.venues(), world.standing().settings);
    let edge = TradingHours::new(venues, &settings).next_edge(now);
    let moment = core.paper_moment(AsOf::Replay(now));
    let mut symbols: BTreeSet<Symbol> = core.with_reader(|reader| {
        core.paper.at(world.account, reader, &moment).read(|seen| symbols(seen.account))
    })?;
    symbols.extend(core.world_lives.known(world.account).map(|live| live.symbols()).unwrap_or_default());
    let wake = core.access.database().journal_head(world.account)?.and_then(|head| head.wake);
    let wake = wake.filter(|wake| *wake > now);
    let rolls = symbols.iter().filter_map(|symbol| {
        let venue = core.history.venue(symbol);
        let day = venue.calendar().after(venue.rolled(now)?)?;
        Some(venue.roll(day)).filter(|roll| *roll > now)
    });
    let until = rolls.chain(edge).chain(wake).min();
    // Minutes lie within segments, but not all symbols need be of the world's markets.
    let until = until.unwrap_or(world.span.end()).min(world.span.end());
    let first = core.with_reader(|reader| {
        let minutes = symbols.iter().map(|symbol| next_minute(core, reader, symbol, now, until));
        minutes.collect::<Result<Vec<_>, HistoryError>>()
    });
    Ok(first?.into_iter().flatten().chain([until]).min().filter(|next| *next > now))
}

/// Returns the first instant after `now` and before `until` at which a stored minute opens or acts.
fn next_minute(
    core: &Core,
    reader: &mut Reader,
    symbol: &Symbol,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<Timestamp>, HistoryError> {
    let window = Timestamp(now.0 - ACT_MAX_S)..until;
    let minutes = core.history.minutes(reader.view(), symbol, window)?;
    let venue = core.history.venue(symbol);
    let instants = minutes.iter().flat_map(|minute| {
        let tail = venue.slot(minute.time).filter(|slot| slot.is_tail(minute.time));
        let acts = minute.time.0 + tail.map_or(60, |slot| i64::from(slot.segment.tail) * 60);
        [minute.time, Timestamp(acts)]
    });
    Ok(instants.filter(|at| *at > now && *at < until).min())
}

/// Returns the securities that an account holds or has open orders in.
fn symbols(account: &Account) -> BTreeSet<Symbol> {
    let held = account.positions().map(|(symbol, _)| symbol.clone());
    held.chain(account.open_orders().map(|order| order.symbol().clone())).collect()
}
