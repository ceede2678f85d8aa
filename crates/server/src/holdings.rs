//! Store totals, cached until the store changes.

use std::sync::Mutex;

use store::{Reader, StoreError, Totals};

use crate::core::Core;

/// Totals of one store version.
#[derive(Clone, Debug)]
pub(crate) struct Holdings {
    pub(crate) version: i64,
    pub(crate) totals: Totals,
}

/// Cached totals of the most recently requested version. Computing them scans all series.
#[derive(Debug, Default)]
pub(crate) struct HoldingsCache(Mutex<Option<Holdings>>);

impl HoldingsCache {
    pub(crate) fn current(&self, core: &Core) -> Result<Holdings, StoreError> {
        core.with_reader(|reader: &mut Reader| {
            let version = reader.version()?;
            let state = self.0.lock().ok().and_then(|state| state.clone());
            if let Some(state) = state.filter(|state| state.version == version) {
                return Ok(state);
            }
            let snapshot = reader.snapshot()?;
            let holdings = Holdings { version: snapshot.version()?, totals: snapshot.totals()? };
            if let Ok(mut state) = self.0.lock() {
                *state = Some(holdings.clone());
            }
            Ok(holdings)
        })
    }
}
