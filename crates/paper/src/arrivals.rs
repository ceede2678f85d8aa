//! When candles arrived that came later than they would have acted. Only where the machine's clock is the market's: then an import may
//! bring a minute that the market has passed.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use market::{Session, Symbol, Timestamp};

/// How long an arrival is remembered, in seconds. Afterwards the candle has acted on every account that had an order open.
const REMEMBERED_FOR: i64 = 7 * 86_400;

/// The late candles of one symbol, a list for each session: up to this stamp they had arrived at that instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Late([Vec<Arrived>; 4]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arrived {
    /// The stamps, first and last.
    from: Timestamp,
    through: Timestamp,
    at: Timestamp,
}

#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    symbols: RwLock<HashMap<Symbol, Arc<Late>>>,
}

impl Late {
    /// When a candle arrived, if that was late.
    pub(crate) fn arrived(&self, session: Session, stamp: Timestamp) -> Option<Timestamp> {
        let list = self.0.get(usize::from(session.code()))?;
        let after = list.partition_point(|arrived| arrived.from <= stamp);
        let found = list.get(after.checked_sub(1)?)?;
        (stamp <= found.through).then_some(found.at)
    }

    fn note(&mut self, session: Session, arrived: Arrived) {
        let Some(list) = self.0.get_mut(usize::from(session.code())) else { return };
        list.retain(|known| known.at.0 > arrived.at.0.saturating_sub(REMEMBERED_FOR));
        let place = list.partition_point(|known| known.from <= arrived.from);
        list.insert(place, arrived);
    }
}

impl Arrivals {
    pub(crate) fn of(&self, symbol: &Symbol) -> Option<Arc<Late>> {
        self.symbols.read().unwrap_or_else(PoisonError::into_inner).get(symbol).cloned()
    }

    /// Candles of these stamps have been seen for the first time at an instant, which some of them should have acted before.
    pub(crate) fn note(
        &self,
        symbol: &Symbol,
        session: Session,
        stamps: (Timestamp, Timestamp),
        at: Timestamp,
    ) {
        let mut symbols = self.symbols.write().unwrap_or_else(PoisonError::into_inner);
        let late = Arc::make_mut(symbols.entry(symbol.clone()).or_default());
        late.note(session, Arrived { from: stamps.0, through: stamps.1, at });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candle_that_came_late_has_the_instant_of_its_arrival() {
        let (arrivals, symbol) = (Arrivals::default(), "700.HK".parse().unwrap());
        assert!(arrivals.of(&symbol).is_none());
        arrivals.note(&symbol, Session::Intraday, (Timestamp(600), Timestamp(720)), Timestamp(900));
        arrivals.note(&symbol, Session::Intraday, (Timestamp(780), Timestamp(780)), Timestamp(960));
        let late = arrivals.of(&symbol).unwrap();
        let at = |stamp| late.arrived(Session::Intraday, Timestamp(stamp)).map(|at| at.0);
        assert_eq!(
            [540, 600, 660, 720, 780, 840].map(at),
            [None, Some(900), Some(900), Some(900), Some(960), None]
        );
        assert_eq!(late.arrived(Session::Pre, Timestamp(600)), None);
    }
}
