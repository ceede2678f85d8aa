//! What a publisher remembers between movements of its clock. `pushes/replay.rs` fills and uses it.

use std::collections::{HashMap, VecDeque};

use feed::{Due, QuotePush};
use market::{Session, Symbol, Timestamp};

use super::arrivals::Arrivals;
use super::missed::Recent;
use crate::worlds::PushHash;

/// What was published, and the last quotes of subscribed securities.
#[derive(Debug, Default)]
pub(crate) struct Publisher {
    /// All pushes up to this instant have been sent.
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
    /// The version of the accounts, and the market minute, at which all rights were checked.
    pub(crate) checked: Option<(i64, i64)>,
    /// Hash of the pushes of a world since its last step.
    pub(crate) hash: PushHash,
    pub(crate) ahead: Ahead,
    /// Number of movements of the server's clock.
    pub(crate) steps: u64,
}

/// Pushes that are due after the last published instant, in order. Only worlds compute pushes
/// ahead, because a world takes many small steps.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// The securities of `dues`. `version` is the store version.
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) version: i64,
    /// All pushes up to this instant are in `dues`.
    pub(crate) through: Option<Timestamp>,
    pub(crate) dues: VecDeque<Due>,
    /// The first trade after that instant.
    pub(crate) next: Option<Timestamp>,
}

/// The last quote push of a security, which later subscribers get first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Latest {
    pub(crate) of_any_session: Option<QuotePush>,
    /// The same for connections without overnight pushes.
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

    /// Returns when the next push may be due. All pushes up to `until` were removed.
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
