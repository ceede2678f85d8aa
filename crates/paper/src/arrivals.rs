//! Arrival times of late candles, which were imported after the instant at which they should have
//! taken effect. Late candles occur only under a live clock, when an import adds a minute that
//! accounts have already passed.
//!
//! If several nodes share a database, one node sees a late candle first, and other nodes may have
//! advanced without the candle. All nodes therefore use the arrival time that the first node
//! recorded in the database. The recorded time is a few seconds in the future, when every node can
//! read the candle.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use market::{Session, Symbol, Timestamp};
use store::{Arrival, Shared, StoreError};

/// Retention of arrival times, in seconds. After a week, the candle has taken effect on every
/// account with open orders.
pub(crate) const REMEMBERED_FOR: i64 = 7 * 86_400;

/// Late candles of one symbol. Each session has a map from candle stamp to arrival time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Late([BTreeMap<Timestamp, Timestamp>; 4]);

/// Extra delay of a late candle if several nodes share the database, in seconds. Every node sees a
/// new candle within two seconds.
const AMONG_NODES_S: i64 = 3;

#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    symbols: RwLock<HashMap<Symbol, Arc<Late>>>,
    /// Store that shares arrival times between nodes. `None` on a single node.
    shared: Option<Arc<Shared>>,
}

impl Late {
    /// Returns the arrival time of a candle, or `None` if it was on time.
    pub(crate) fn arrived(&self, session: Session, stamp: Timestamp) -> Option<Timestamp> {
        self.0.get(usize::from(session.code()))?.get(&stamp).copied()
    }

    /// Returns the oldest stamp among the candles that arrived after `after` (exclusive) and up to
    /// `through` (inclusive), or `None` if no candle arrived in that range.
    pub(crate) fn oldest(&self, after: Timestamp, through: Timestamp) -> Option<Timestamp> {
        let arrived = |(_, at): &(&Timestamp, &Timestamp)| **at > after && **at <= through;
        self.0.iter().filter_map(|stamps| stamps.iter().find(arrived)).map(|(stamp, _)| *stamp).min()
    }

    /// Returns the first arrival time after an instant, or `None` if there are no later arrivals.
    pub(crate) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        self.0.iter().flat_map(|stamps| stamps.values()).copied().filter(|at| *at > after).min()
    }

    fn note(&mut self, session: Session, stamp: Timestamp, at: Timestamp) {
        let Some(stamps) = self.0.get_mut(usize::from(session.code())) else { return };
        // Concurrent requests may record the same candle, and the first recorded arrival time
        // applies.
        stamps.entry(stamp).or_insert(at);
    }

    fn forget(&mut self, now: Timestamp) {
        for stamps in &mut self.0 {
            stamps.retain(|_, at| at.0 > now.0.saturating_sub(REMEMBERED_FOR));
        }
    }
}

impl Arrivals {
    pub(crate) fn of(shared: Option<Arc<Shared>>) -> Arrivals {
        Arrivals { shared, ..Arrivals::default() }
    }

    /// Returns whether several nodes share arrivals.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Returns when a candle first seen at `now` takes effect. `passed` is the latest instant to
    /// which an account may have been advanced without the candle, or `None` if that is unknown. On
    /// a single node the result is `now`, unless an account has passed it.
    pub(crate) fn instant(&self, passed: Option<Timestamp>, now: Timestamp) -> Timestamp {
        let is_passed = passed.is_none_or(|passed| passed >= now);
        let later = if self.shared.is_some() { 1 + AMONG_NODES_S } else { i64::from(is_passed) };
        Timestamp(now.0.saturating_add(later))
    }

    /// Like [`Arrivals::note`], but shares arrivals between nodes: keeps the first recorded arrival
    /// time of each candle, and loads the arrivals recorded by other nodes.
    pub(crate) fn note_among_nodes(
        &self,
        symbol: &Symbol,
        stamps: &[(Session, Timestamp)],
        (at, now): (Timestamp, Timestamp),
    ) -> Result<(), StoreError> {
        let Some(shared) = &self.shared else {
            self.note(symbol, stamps, at);
            return Ok(());
        };
        if !stamps.is_empty() {
            let noted =
                stamps.iter().map(|(session, stamp)| Arrival { session: session.code(), stamp: *stamp, at });
            shared.note_arrivals(symbol, &noted.collect::<Vec<_>>())?;
        }
        let since = Timestamp(now.0.saturating_sub(REMEMBERED_FOR));
        for Arrival { session, stamp, at } in shared.arrivals(symbol, since)? {
            if let Some(session) = Session::ALL.into_iter().find(|one| one.code() == session) {
                self.note(symbol, &[(session, stamp)], at);
            }
        }
        Ok(())
    }

    pub(crate) fn of_symbol(&self, symbol: &Symbol) -> Option<Arc<Late>> {
        self.symbols.read().unwrap_or_else(PoisonError::into_inner).get(symbol).cloned()
    }

    /// Records candles that arrived late and take effect at `at`.
    pub(crate) fn note(&self, symbol: &Symbol, stamps: &[(Session, Timestamp)], at: Timestamp) {
        if stamps.is_empty() {
            return;
        }
        let mut symbols = self.symbols.write().unwrap_or_else(PoisonError::into_inner);
        let late = Arc::make_mut(symbols.entry(symbol.clone()).or_default());
        late.forget(at);
        for (session, stamp) in stamps {
            late.note(*session, *stamp, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ON: Session = Session::Intraday;

    fn noted(notes: &[(i64, i64)]) -> Arc<Late> {
        let (arrivals, symbol) = (Arrivals::default(), "700.HK".parse().unwrap());
        assert!(arrivals.of_symbol(&symbol).is_none());
        for (stamp, at) in notes {
            arrivals.note(&symbol, &[(ON, Timestamp(*stamp))], Timestamp(*at));
        }
        arrivals.of_symbol(&symbol).unwrap()
    }

    #[test]
    fn late_candles_are_found_by_stamp_and_by_arrival_time() {
        let late = noted(&[(600, 900), (660, 900), (780, 960)]);
        let at = |stamp| late.arrived(ON, Timestamp(stamp)).map(|at| at.0);
        assert_eq!([540, 600, 660, 720, 780].map(at), [None, Some(900), Some(900), None, Some(960)]);
        assert_eq!(late.arrived(Session::Pre, Timestamp(600)), None);
        let oldest = |after, through| late.oldest(Timestamp(after), Timestamp(through)).map(|stamp| stamp.0);
        assert_eq!(
            [oldest(0, 899), oldest(899, 900), oldest(900, 960), oldest(960, 9_999)],
            [None, Some(600), Some(780), None]
        );
        assert_eq!(
            [0, 900, 960].map(|after| late.next(Timestamp(after)).map(|at| at.0)),
            [Some(900), Some(960), None]
        );
    }

    #[test]
    fn an_arrival_is_recorded_once_and_dropped_after_a_week() {
        let late = noted(&[(600, 900), (600, 901)]);
        assert_eq!(late.arrived(ON, Timestamp(600)), Some(Timestamp(900)));
        let late = noted(&[(600, 900), (1_200, 900 + REMEMBERED_FOR)]);
        assert_eq!(late.arrived(ON, Timestamp(600)), None);
    }
}
