//! Tracks the accounts version of a PostgreSQL database. Every request reads the version and must
//! not wait for a network round trip. The version arrives by notification if the server supports
//! it, and is also polled every second.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::{Accounts, common_sql};
use crate::StoreError;
use crate::engine::postgres::{News, Subject, Watch};

const ASKED_EVERY: Duration = Duration::from_secs(1);
/// Maximum age of a tracked version. Beyond this the database is queried directly, which also
/// yields the error if it is unreachable.
const GOOD_FOR: Duration = Duration::from_secs(3);

/// The tracked version; unset until tracking starts.
#[derive(Debug, Default)]
pub(super) struct Following(OnceLock<Followed>);

#[derive(Debug)]
struct Followed {
    version: Arc<AtomicI64>,
    watch: Watch,
}

impl Following {
    /// Returns the tracked version, or `None` if it is too old or tracking has not started.
    pub(super) fn version(&self) -> Option<i64> {
        let followed = self.0.get()?;
        let is_recent = followed.watch.age().is_some_and(|age| age < GOOD_FOR);
        is_recent.then(|| followed.version.load(Ordering::Acquire))
    }

    /// Records a version that this process has read.
    pub(super) fn saw(&self, version: i64) {
        if let Some(followed) = self.0.get() {
            followed.version.fetch_max(version, Ordering::AcqRel);
        }
    }
}

impl Accounts {
    /// Starts tracking the version; does nothing on SQLite. Called by servers, which read the
    /// version before each request.
    pub fn follow(&self) -> Result<(), StoreError> {
        let Some(server) = self.home.server() else { return Ok(()) };
        if self.following.0.get().is_some() {
            return Ok(());
        }
        let version = Arc::new(AtomicI64::new(i64::MIN));
        let subject = Subject {
            channels: vec![server.schema().to_owned()],
            question: common_sql::VERSION.for_postgres(),
            every: ASKED_EVERY,
        };
        let heard = version.clone();
        let watch = Watch::start(server.clone(), subject, move |news| {
            let number = match news {
                News::Number(number) => Some(number),
                News::Notice { payload, .. } => payload.parse().ok(),
                News::Listening | News::Away(_) => None,
            };
            if let Some(number) = number {
                heard.fetch_max(number, Ordering::AcqRel);
            }
        });
        let watch = watch.map_err(|source| StoreError::Io {
            what: "start a thread for",
            place: self.home.place(),
            source,
        })?;
        // If two threads race here, the first one wins.
        self.following.0.set(Followed { version, watch }).ok();
        Ok(())
    }
}
