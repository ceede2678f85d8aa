//! A cache of securities by version of the store: every command reads its security, which rarely
//! changes.

use std::sync::Arc;

use market::Symbol;
use quick_cache::sync::Cache;
use store::{Reader, Security, StoreError};

/// Maximum number of cached securities. Each takes less than a kilobyte.
const SECURITIES_MAX: usize = 4_096;

/// Recently requested securities, each with the version of the store at which it was read. Unknown
/// symbols are not cached, because clients could fill the cache with them.
#[derive(Debug)]
pub(crate) struct Securities(Cache<Symbol, (i64, Arc<Security>)>);

impl Default for Securities {
    fn default() -> Securities {
        Securities(Cache::new(SECURITIES_MAX))
    }
}

impl Securities {
    /// Returns a security at the given version of the store or newer.
    pub(crate) fn get(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        version: i64,
    ) -> Result<Option<Arc<Security>>, StoreError> {
        if let Some((_, known)) = self.0.get(symbol).filter(|(of, _)| *of >= version) {
            return Ok(Some(known));
        }
        // One snapshot, so that the version matches the row.
        let snapshot = reader.snapshot_of(symbol)?;
        let version = snapshot.version()?;
        let stored = snapshot.security(symbol)?.map(Arc::new);
        drop(snapshot);
        if let Some(stored) = &stored {
            // This may overwrite a newer version inserted by another request. The next request then
            // reads it again.
            self.0.insert(symbol.clone(), (version, stored.clone()));
        }
        Ok(stored)
    }
}
