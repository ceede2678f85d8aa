//! Finds the next instant at which a world has work. Reads are cached for the next steps, because
//! most steps move through many minutes that are stored next to each other.

use std::collections::BTreeSet;

use history::{AsOf, HistoryError};
use market::{Market, Symbol, Timestamp, Venue};
use store::{JournalHead, Reader};
use trading::Account;
use world::TradingHours;

use crate::core::Core;
use crate::worlds::{Minutes, World, WorldError};

/// Maximum time in seconds from the timestamp of a minute to the instant at which it fills orders:
/// one minute, or a closing auction of ten minutes.
const ACT_MAX_S: i64 = 660;
/// Maximum number of cached instants, which is two for each minute of a day.
const INSTANTS_MAX: usize = 2_880;

impl World {
    /// Returns whether the account may have work up to `now`.
    pub(super) fn must_advance(&self, core: &Core, now: Timestamp) -> Result<bool, WorldError> {
        let Some(head) = core.access.database().journal_head(self.account)? else { return Ok(true) };
        let version = version(core)?;
        let is_known = self.ahead().advanced == Some((head.revision, version));
        Ok(!is_known || head.wake.is_some_and(|wake| wake <= now))
    }

    /// Records that the account's work was done. The account then has no work before its wake-up
    /// time, unless its journal or the store changes.
    pub(super) fn has_advanced(&self, core: &Core) -> Result<(), WorldError> {
        let head = core.access.database().journal_head(self.account)?;
        let version = version(core)?;
        self.ahead().advanced = head.map(|head| (head.revision, version));
        Ok(())
    }
}

/// Returns the version of the store.
fn version(core: &Core) -> Result<i64, WorldError> {
    core.version_check().map_err(WorldError::Publish)
}

/// Returns the next instant at which something happens: a trading segment begins or ends; a minute
/// of a security that the world subscribes to, holds or has orders in opens or fills orders; the
/// trading date of such a security changes; or an order expires.
pub(super) fn next(core: &Core, world: &World, now: Timestamp) -> Result<Option<Timestamp>, WorldError> {
    let (venues, settings) = (core.history.venues(), world.standing().settings);
    let edge = TradingHours::new(venues, &settings).next_edge(now);
    let head = core.access.database().journal_head(world.account)?;
    let mut symbols = held(core, world, head.as_ref(), now)?;
    symbols.extend(core.world_lives.known(world.account).map(|live| live.symbols()).unwrap_or_default());
    let wake = head.and_then(|head| head.wake).filter(|wake| *wake > now);
    let markets: BTreeSet<Market> = symbols.iter().map(Symbol::market).collect();
    let rolls = markets.into_iter().filter_map(|market| {
        let venue = venues.of(market);
        let day = venue.calendar().after(venue.rolled(now)?)?;
        Some(venue.roll(day)).filter(|roll| *roll > now)
    });
    // Stored minutes are within trading segments, but some of the symbols may belong to markets
    // that are not in the world's settings.
    let end = world.span.end();
    let until = rolls.chain(edge).min().unwrap_or(end).min(end);
    let first = next_minute(core, world, symbols, (now, until))?;
    Ok(first.into_iter().chain(wake).chain([until]).min().filter(|next| *next > now))
}

/// Returns the securities that the account holds or has open orders in.
fn held(
    core: &Core,
    world: &World,
    head: Option<&JournalHead>,
    now: Timestamp,
) -> Result<BTreeSet<Symbol>, WorldError> {
    let known = world.ahead().held.clone();
    if let (Some((revision, symbols)), Some(head)) = (known, head)
        && revision == head.revision
    {
        return Ok(symbols);
    }
    let moment = core.paper_moment(AsOf::Replay(now));
    let symbols = core.with_reader(|reader| {
        core.paper.at(world.account, reader, &moment).read(|seen| symbols(seen.account))
    })?;
    // Read the journal head again, because the first read of an account writes to its journal.
    let head = core.access.database().journal_head(world.account)?;
    world.ahead().held = head.map(|head| (head.revision, symbols.clone()));
    Ok(symbols)
}

fn symbols(account: &Account) -> BTreeSet<Symbol> {
    let held = account.positions().map(|(symbol, _)| symbol.clone());
    held.chain(account.open_orders().map(|order| order.symbol().clone())).collect()
}

/// Returns the first instant within a window at which a stored minute opens or fills orders.
fn next_minute(
    core: &Core,
    world: &World,
    symbols: BTreeSet<Symbol>,
    window: (Timestamp, Timestamp),
) -> Result<Option<Timestamp>, WorldError> {
    if symbols.is_empty() {
        return Ok(None);
    }
    let version = version(core)?;
    for symbol in &symbols {
        world.note_data(core, symbol, version)?;
    }
    if let Some(minutes) = &world.ahead().minutes
        && minutes.knows(version, &symbols, window)
    {
        return Ok(minutes.first(window));
    }
    let instants = core.with_reader(|reader| {
        let minutes = symbols.iter().map(|symbol| minutes_of(core, reader, symbol, window));
        minutes.collect::<Result<Vec<_>, HistoryError>>()
    });
    let mut instants: Vec<Timestamp> = instants?.into_iter().flatten().collect();
    instants.sort_unstable();
    instants.dedup();
    // If there are too many instants, the cached window ends at the first instant that is not
    // cached.
    let until = instants.get(INSTANTS_MAX).copied().unwrap_or(window.1);
    instants.truncate(INSTANTS_MAX);
    let minutes = Minutes { version, symbols, from: window.0, until, instants };
    let first = minutes.first(window);
    world.ahead().minutes = Some(minutes);
    Ok(first)
}

/// Returns the instant at which a one-minute candle with this timestamp is complete and can fill
/// orders.
pub(crate) fn acts_at(venue: &Venue, stamp: Timestamp) -> Timestamp {
    let tail = venue.slot(stamp).filter(|slot| slot.is_tail(stamp));
    Timestamp(stamp.0 + tail.map_or(60, |slot| i64::from(slot.segment.tail) * 60))
}

/// Returns the instants within a window at which stored minutes of a security open or fill orders.
fn minutes_of(
    core: &Core,
    reader: &mut Reader,
    symbol: &Symbol,
    (from, until): (Timestamp, Timestamp),
) -> Result<Vec<Timestamp>, HistoryError> {
    let minutes = core.history.minutes(reader.view(), symbol, Timestamp(from.0 - ACT_MAX_S)..until)?;
    let venue = core.history.venue(symbol);
    let instants = minutes.iter().flat_map(|minute| [minute.time, acts_at(venue, minute.time)]);
    Ok(instants.filter(|at| *at > from && *at < until).collect())
}
