//! Caches of what lists of securities are sorted by. Computing it for a whole market takes seconds,
//! so each request computes only a part.

mod coverage;
mod figures;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use history::HistoryError;
use market::Symbol;
use store::Reader;

pub(crate) use self::coverage::{COUNTED_MAX, CoverageCache, ExpectedDays};
pub(crate) use self::figures::{FiguresCache, ListFigures};
use crate::core::Core;
use crate::directory::ListedSecurity;

/// Maximum number of states whose values are cached.
const STATES_MAX: usize = 4;

/// A value per security, for the most recently requested states, latest last.
#[derive(Debug)]
struct ListCache<S, V>(Mutex<Vec<(S, Values<V>)>>);

type Values<V> = BTreeMap<Symbol, Cached<V>>;

#[derive(Debug)]
struct Cached<V> {
    /// Version of the security's candles.
    version: i64,
    since: Duration,
    value: V,
}

/// How many values a request computes, and for how long they are valid if the candles do not
/// change.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    computed_max: usize,
    kept_for: Duration,
}

impl<S, V> Default for ListCache<S, V> {
    fn default() -> Self {
        ListCache(Mutex::default())
    }
}

impl<S: Copy + PartialEq, V: Clone> ListCache<S, V> {
    /// Returns the values of these securities, in the order given. `None` for those that are not
    /// cached and beyond the number that one request computes.
    fn of(
        &self,
        core: &Core,
        state: S,
        wanted: &[&ListedSecurity],
        bounds: Bounds,
        mut compute: impl FnMut(&mut Reader, &Symbol) -> Result<V, HistoryError>,
    ) -> Result<Vec<Option<V>>, HistoryError> {
        let uptime = core.uptime();
        let mut found: Vec<Option<V>> = self.with(state, |cached| {
            let current = |one: &&ListedSecurity| {
                let found = cached.get(&one.symbol)?;
                let is_old = uptime.saturating_sub(found.since) >= bounds.kept_for;
                (found.version == one.version && !is_old).then(|| found.value.clone())
            };
            wanted.iter().map(current).collect()
        });
        if found.iter().all(Option::is_some) {
            return Ok(found);
        }
        // Computed without the lock, so that other requests can read cached values.
        let mut computed = Vec::new();
        core.with_reader(|reader| {
            let unknown = wanted.iter().zip(&mut found).filter(|(_, value)| value.is_none());
            for (one, place) in unknown.take(bounds.computed_max) {
                let value = compute(reader, &one.symbol)?;
                *place = Some(value.clone());
                computed.push((one.symbol.clone(), Cached { version: one.version, since: uptime, value }));
            }
            Ok::<_, HistoryError>(())
        })?;
        self.with(state, |cached| cached.extend(computed));
        Ok(found)
    }

    /// Calls `work` with the cached values of a state and marks the state as most recently used.
    fn with<T>(&self, state: S, work: impl FnOnce(&mut Values<V>) -> T) -> T {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = states.iter().position(|(at, _)| *at == state);
        let mut of_state = place.map_or_else(|| (state, Values::new()), |place| states.remove(place));
        let done = work(&mut of_state.1);
        if states.len() >= STATES_MAX {
            states.remove(0);
        }
        states.push(of_state);
        done
    }
}
