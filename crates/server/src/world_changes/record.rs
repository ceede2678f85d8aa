//! Adds lines to the logs of worlds: events of their accounts, and notes about the data that their
//! programs read.

use market::Symbol;
use paper::PaperError;
use serde_json::{Value, json};
use store::{Hash, StoreError, WorldLine};

use crate::caller::Caller;
use crate::core::Core;
use crate::worlds::{LineKind, World, WorldError};

/// Maximum number of securities whose versions are recorded. Later securities are not recorded.
const NOTED_MAX: usize = 4_096;

impl World {
    /// Adds the account's journal entries that are not in the log yet. The caller must have begun a
    /// change.
    pub(super) fn add_events(&self, core: &Core) -> Result<(), PaperError> {
        loop {
            let after = self.log().entries;
            let entries = core.paper.entries_after(self.account, after)?;
            if entries.is_empty() {
                return Ok(());
            }
            let mut log = self.log();
            for entry in entries {
                // The account is removed from the ids, which are otherwise equal in all worlds.
                let entry = entry.of_account(0);
                let text = serde_json::to_string(&entry).unwrap_or_default();
                log.entries = entry.number;
                log.add(LineKind::Event, entry.at.unwrap_or_default(), text, String::new());
            }
        }
    }

    /// Returns the digest of all events of the account and all pushes.
    pub(crate) fn digest(&self, core: &Core) -> Result<Hash, WorldError> {
        // A movement of the clock may wait for slow clients, so the digest is then that of the lines
        // added so far. Any other change is short.
        let changing = if self.has_movement() { self.try_begin() } else { Some(self.begin()) };
        if changing.is_some() {
            let before = self.log().number;
            self.add_events(core)?;
            if core.worlds.writes_later && self.log().number > before {
                plan_write(core, self)?;
            }
        }
        Ok(self.log().digest)
    }

    /// Records the versions of a security's series, unless they were already recorded with this
    /// version of the store.
    pub(super) fn note_data(&self, core: &Core, symbol: &Symbol, version: i64) -> Result<(), StoreError> {
        let known = match self.log().noted.get(symbol) {
            Some((known, _)) if *known == version => return Ok(()),
            Some((_, note)) => Some(note.clone()),
            None => None,
        };
        let series = core.with_reader(|reader| reader.view().series_of(symbol))?;
        let versions = series.iter().map(|info| {
            let name = format!("{:?} {:?}", info.series.grain, info.series.lane).to_ascii_lowercase();
            (name, Value::from(info.version))
        });
        let versions: serde_json::Map<String, Value> = versions.collect();
        let note = json!({"symbol": symbol.as_str(), "versions": versions});
        let now = self.now(core.uptime());
        let mut log = self.log();
        if log.noted.len() >= NOTED_MAX && known.is_none() {
            return Ok(());
        }
        if known.as_ref() != Some(&note) {
            log.add(LineKind::Data, now, note.to_string(), String::new());
        }
        log.noted.insert(symbol.clone(), (version, note));
        Ok(())
    }
}

/// Returns up to `limit` lines of the log with numbers greater than `after`, including the latest
/// events.
pub(crate) fn log_lines(
    core: &Core,
    world: &World,
    after: u64,
    limit: u32,
) -> Result<Vec<WorldLine>, WorldError> {
    let accounts = core.access.database();
    let changing = world.begin();
    world.add_events(core)?;
    // In a command on a local store, a read must not write, because a server may be moving the
    // world.
    if core.worlds.writes_later {
        match world.write_out(&accounts) {
            // The world was replaced by its stored row, because another process has changed it.
            Err(WorldError::Moved) => {}
            written => written?,
        }
    }
    let mut lines = accounts.world_lines(world.account, after, limit)?;
    let room = usize::try_from(limit).unwrap_or(usize::MAX).saturating_sub(lines.len());
    let last = lines.last().map_or(after, |line| line.number);
    let log = world.log();
    lines.extend(log.unwritten.iter().filter(|line| line.number > last).take(room).cloned());
    drop(log);
    drop(changing);
    Ok(lines)
}

/// Records the versions of the securities that the program of the caller's world reads.
pub(crate) fn note_reads<'a>(core: &Core, caller: &Caller, symbols: impl IntoIterator<Item = &'a Symbol>) {
    if !caller.who.is_of_world() {
        return;
    }
    let Ok(world) = core.worlds.of(&core.access.database(), caller.who.account()) else { return };
    for symbol in symbols {
        let noted = core.version_check().map_err(WorldError::Publish).and_then(|version| {
            let before = world.log().number;
            world.note_data(core, symbol, version)?;
            if world.log().number > before { plan_write(core, &world) } else { Ok(()) }
        });
        if let Err(error) = noted {
            tracing::error!(%error, world = world.id.0, "cannot note the data of a world");
        }
    }
}

/// Schedules a write of the changes.
pub(super) fn plan_write(core: &Core, world: &World) -> Result<(), WorldError> {
    world.will_write(&core.worlds, &core.access.database())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use access::{Access, Actor, NewAccount, NewWorld, Present, Terms};
    use history::{AsOf, History};
    use market::{Timestamp, Venues};
    use paper::Opening;
    use store::{Store, WorldClock};

    use super::*;

    const NOW: Timestamp = Timestamp(1_794_708_000);

    #[test]
    fn a_digest_waits_for_a_short_change() {
        let dir = tempfile::tempdir().unwrap();
        Store::open(dir.path(), store::Access::Write { now: NOW }).unwrap();
        let store = Store::open(dir.path(), store::Access::Read).unwrap();
        let access = Access::open(dir.path(), NOW).unwrap();
        let history = History::new(Venues::built_in().unwrap());
        let clock = Arc::new(|| AsOf::Live(NOW));
        let core = Core::new(store, history, access, 0, clock, Arc::new(|| NOW));
        let ann = NewAccount::named("ann", Terms::default());
        let ann = core.access.create(&ann, &Actor::Operator, NOW).unwrap();
        let owner = core.access.account(ann.account_id).unwrap().unwrap();
        let clock = WorldClock { state: "created".to_owned(), now: NOW, step: 0, digest: [0; 32] };
        let new = NewWorld {
            owner: &owner,
            name: "replay",
            starts_at: NOW,
            ends_at: Timestamp(NOW.0 + 60),
            settings: "",
            is_limited: false,
            clock: &clock,
            worlds_max: 1,
        };
        let present = Present { market: NOW, machine: NOW };
        let created = core.access.create_world(&new, &Actor::Operator, present).unwrap();
        let account = created.credentials.account_id;
        let world = core.worlds.of(&core.access.database(), account).unwrap();
        let moment = core.paper_moment(AsOf::Replay(NOW));
        core.with_reader(|reader| core.paper.at(account, reader, &moment).open(&Opening::default())).unwrap();

        let changing = world.begin();
        thread::scope(|scope| {
            let digest = scope.spawn(|| world.digest(&core).unwrap());
            for _ in 0..10_000 {
                if digest.is_finished() {
                    break;
                }
                thread::yield_now();
            }
            drop(changing);
            assert_ne!(digest.join().unwrap(), [0; 32], "the events are in the digest");
        });
    }
}
