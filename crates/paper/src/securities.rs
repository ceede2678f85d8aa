//! What the store says of securities, kept as of a version of it: every command asks for it, and it hardly ever changes.

use std::sync::Arc;

use market::Symbol;
use quick_cache::sync::Cache;
use store::{Reader, Security, StoreError};

/// Securities kept. Each takes less than a kilobyte.
const SECURITIES_MAX: usize = 4_096;

/// Securities that were asked for, each with the version of the store that it is of. One that the store does not have is not kept: symbols
/// come from clients.
#[derive(Debug)]
pub(crate) struct Securities(Cache<Symbol, (i64, Arc<Security>)>);

impl Default for Securities {
    fn default() -> Securities {
        Securities(Cache::new(SECURITIES_MAX))
    }
}

impl Securities {
    /// A security as it is at a version of the store, or newer.
    pub(crate) fn get(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        version: i64,
    ) -> Result<Option<Arc<Security>>, StoreError> {
        if let Some((_, known)) = self.0.get(symbol).filter(|(of, _)| *of >= version) {
            return Ok(Some(known));
        }
        // One state, so that the version is that of the row.
        let snapshot = reader.snapshot_of(symbol)?;
        let version = snapshot.version()?;
        let stored = snapshot.security(symbol)?.map(Arc::new);
        drop(snapshot);
        if let Some(stored) = &stored {
            // Another request may have read a newer state meanwhile; then the next one reads it again.
            self.0.insert(symbol.clone(), (version, stored.clone()));
        }
        Ok(stored)
    }
}
