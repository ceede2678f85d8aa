//! When candles arrived that came later than they would have acted. Only where the machine's clock is the market's: then an import may
//! bring a minute that the market has passed.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use market::{Session, Symbol, Timestamp};

/// How long an arrival is remembered, in seconds. Afterwards the candle has acted on every account that had an order open.
pub(crate) const REMEMBERED_FOR: i64 = 7 * 86_400;

/// The late candles of one symbol, for each session: when that of a stamp arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Late([BTreeMap<Timestamp, Timestamp>; 4]);

#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    symbols: RwLock<HashMap<Symbol, Arc<Late>>>,
}

impl Late {
    /// When a candle arrived, if that was late.
    pub(crate) fn arrived(&self, session: Session, stamp: Timestamp) -> Option<Timestamp> {
        self.0.get(usize::from(session.code()))?.get(&stamp).copied()
    }

    /// The oldest candle that arrived after one instant and up to another.
    pub(crate) fn oldest(&self, after: Timestamp, through: Timestamp) -> Option<Timestamp> {
        let arrived = |(_, at): &(&Timestamp, &Timestamp)| **at > after && **at <= through;
        self.0.iter().filter_map(|stamps| stamps.iter().find(arrived)).map(|(stamp, _)| *stamp).min()
    }

    /// The first arrival after an instant.
    pub(crate) fn next(&self, after: Timestamp) -> Option<Timestamp> {
        self.0.iter().flat_map(|stamps| stamps.values()).copied().filter(|at| *at > after).min()
    }

    fn note(&mut self, session: Session, stamp: Timestamp, at: Timestamp) {
        let Some(stamps) = self.0.get_mut(usize::from(session.code())) else { return };
        // Two requests may notice the same one: it has arrived, and acts, when the first did.
        stamps.entry(stamp).or_insert(at);
    }

    fn forget(&mut self, now: Timestamp) {
        for stamps in &mut self.0 {
            stamps.retain(|_, at| at.0 > now.0.saturating_sub(REMEMBERED_FOR));
        }
    }
}

impl Arrivals {
    pub(crate) fn of(&self, symbol: &Symbol) -> Option<Arc<Late>> {
        self.symbols.read().unwrap_or_else(PoisonError::into_inner).get(symbol).cloned()
    }

    /// Candles of these stamps have been seen for the first time at an instant, before which they should have acted.
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
        assert!(arrivals.of(&symbol).is_none());
        for (stamp, at) in notes {
            arrivals.note(&symbol, &[(ON, Timestamp(*stamp))], Timestamp(*at));
        }
        arrivals.of(&symbol).unwrap()
    }

    #[test]
    fn a_candle_that_came_late_has_the_instant_of_its_arrival() {
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
    fn a_candle_arrives_once_and_is_forgotten_after_a_week() {
        let late = noted(&[(600, 900), (600, 901)]);
        assert_eq!(late.arrived(ON, Timestamp(600)), Some(Timestamp(900)));
        let late = noted(&[(600, 900), (1_200, 900 + REMEMBERED_FOR)]);
        assert_eq!(late.arrived(ON, Timestamp(600)), None);
    }
}
