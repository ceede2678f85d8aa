//! The version of accounts that are on a server, followed: a request asks for it before anything else, and must not wait for the network. The
//! server tells of changes where it can, and is asked every second anyway.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::{Accounts, common_sql};
use crate::StoreError;
use crate::engine::postgres::{News, Subject, Watch};

const ASKED_EVERY: Duration = Duration::from_secs(1);
/// What was heard longer ago says nothing any more: then the database is asked itself, and says why it does not answer.
const GOOD_FOR: Duration = Duration::from_secs(3);

/// What is known of the version, once it is followed.
#[derive(Debug, Default)]
pub(super) struct Following(OnceLock<Followed>);

#[derive(Debug)]
struct Followed {
    version: Arc<AtomicI64>,
    watch: Watch,
}

impl Following {
    /// The version as it was heard of last, if that is recent.
    pub(super) fn version(&self) -> Option<i64> {
        let followed = self.0.get()?;
        let is_recent = followed.watch.age().is_some_and(|age| age < GOOD_FOR);
        is_recent.then(|| followed.version.load(Ordering::Acquire))
    }

    /// A version that this process has seen by itself.
    pub(super) fn saw(&self, version: i64) {
        if let Some(followed) = self.0.get() {
            followed.version.fetch_max(version, Ordering::AcqRel);
        }
    }
}

impl Accounts {
    /// Follows the version from now on, where asking for it costs a way over the network. For servers, which ask before each request.
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
        // Of two at once, one stays.
        self.following.0.set(Followed { version, watch }).ok();
        Ok(())
    }
}
