//! Tracks the accounts version of a remote database. Every request needs the version first and must
//! not wait for the network. The server sends notifications where it can, and is polled every
//! second anyway.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::{Accounts, common_sql};
use crate::StoreError;
use crate::engine::postgres::{News, Subject, Watch};

const ASKED_EVERY: Duration = Duration::from_secs(1);
/// A version older than this is not trusted: the database is queried directly, and reports why it
/// does not respond.
const GOOD_FOR: Duration = Duration::from_secs(3);

/// The tracked version, once tracking has started.
#[derive(Debug, Default)]
pub(super) struct Following(OnceLock<Followed>);

#[derive(Debug)]
struct Followed {
    version: Arc<AtomicI64>,
    watch: Watch,
}

impl Following {
    /// The last known version, if it is recent.
    pub(super) fn version(&self) -> Option<i64> {
        let followed = self.0.get()?;
        let is_recent = followed.watch.age().is_some_and(|age| age < GOOD_FOR);
        is_recent.then(|| followed.version.load(Ordering::Acquire))
    }

    /// Records a version that this process has read itself.
    pub(super) fn saw(&self, version: i64) {
        if let Some(followed) = self.0.get() {
            followed.version.fetch_max(version, Ordering::AcqRel);
        }
    }
}

impl Accounts {
    /// Starts tracking the version if reading it needs a network round trip. For servers, which
    /// read it before each request.
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
        // If two threads get here concurrently, the first one wins.
        self.following.0.set(Followed { version, watch }).ok();
        Ok(())
    }
}
