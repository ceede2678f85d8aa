//! State of a publisher between the movements of its clock. `pushes/replay.rs` updates and uses
//! this state.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use feed::{Due, QuotePush};
use market::{Session, Symbol, Timestamp};

use super::arrivals::Arrivals;
use super::missed::Recent;
use crate::worlds::PushHash;

/// The state of a publisher: the instant up to which it has published, and the last quotes of
/// subscribed securities.
#[derive(Debug, Default)]
pub(crate) struct Publisher {
    /// The instant up to which all pushes have been sent.
    pub(crate) until: Option<Timestamp>,
    /// The next market time at which something may be published. `None` before the first run.
    pub(crate) next: Option<Timestamp>,
    /// Store version of the cached quotes.
    pub(crate) version: i64,
    pub(crate) latest: HashMap<Symbol, Latest>,
    /// Minute of the cached quotes, under the machine clock.
    pub(crate) minute: i64,
    pub(crate) arrivals: Arrivals,
    pub(crate) recent: Recent,
    /// Version of the accounts, and market minute, at which all rights were last checked.
    pub(crate) checked: Option<(i64, i64)>,
    /// Hash of the pushes of a world since its last step.
    pub(crate) hash: PushHash,
    pub(crate) ahead: Ahead,
    /// When pushes were last precomputed for the server's clock.
    pub(crate) prepared: Option<Instant>,
    /// Number of movements of the server's clock.
    pub(crate) steps: u64,
}

/// Precomputed pushes that are due after the last published instant, in order. A world precomputes
/// pushes, because it takes many small steps. The server precomputes those of the next minute of
/// its set clock in advance, so that a movement begins with sending.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The securities of `dues`.
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) version: i64,
    /// The instant up to which `dues` contains all pushes.
    pub(crate) through: Option<Timestamp>,
    pub(crate) dues: VecDeque<Due>,
    /// The time of the first trade after `through`.
    pub(crate) next: Option<Timestamp>,
}

/// The last quote push of a security, which is the first push to later subscribers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest {
    pub(crate) of_any_session: Option<QuotePush>,
    /// The last quote push for connections without overnight pushes.
    pub(crate) without_overnight: Option<QuotePush>,
}

impl Ahead {
    pub(crate) fn knows(&self, symbols: &[Symbol], version: i64, until: Timestamp) -> bool {
        self.through >= Some(until) && self.version == version && self.symbols == symbols
    }

    /// Removes and returns the pushes up to an instant.
    pub(crate) fn take(&mut self, until: Timestamp) -> Vec<Due> {
        let count = self.dues.partition_point(|due| due.at <= until);
        self.dues.drain(..count).collect()
    }

    /// Returns the time at which the next push may be due. The pushes up to `until` must have been
    /// taken.
    pub(crate) fn next_after(&self, until: Timestamp) -> Option<Timestamp> {
        let due = self.dues.front().map(|due| due.at);
        due.into_iter().chain(self.next).min().filter(|next| *next > until)
    }
}

impl Latest {
    pub(crate) fn update(&mut self, quote: &QuotePush) {
        self.of_any_session = Some(quote.clone());
        if quote.session != Session::Overnight {
            self.without_overnight = Some(quote.clone());
        }
    }
}
