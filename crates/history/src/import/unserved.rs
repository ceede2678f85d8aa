//! Counts imported rows that accounts are not served, because they are before the floors. The owner
//! of the store can read them, and the import reports their number.

use market::{FloorTable, Grain, Market, Timestamp, Venues};

/// First stamp of a grain that accounts are served, by market.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unserved {
    hk: Timestamp,
    us: Timestamp,
    cn: Timestamp,
}

impl Unserved {
    pub(crate) fn new(venues: &Venues, floors: &FloorTable, grain: Grain) -> Unserved {
        let from = |market| venues.of(market).served_from(floors.of(market), grain.period());
        Unserved { hk: from(Market::Hk), us: from(Market::Us), cn: from(Market::Cn) }
    }

    /// Returns whether a stamp is before the history that accounts are served.
    #[inline]
    pub(crate) fn holds(&self, market: Market, at: Timestamp) -> bool {
        at < match market {
            Market::Hk => self.hk,
            Market::Us => self.us,
            Market::Cn => self.cn,
        }
    }
}

/// Returns the report's note about rows before the floors.
pub(crate) fn note(rows: u64, grain: Grain, floors: &FloorTable) -> String {
    let from = Market::ALL.into_iter().filter_map(|market| {
        let floor = floors.of(market).of(grain.period())?;
        Some(format!("{market} from {floor}"))
    });
    let from: Vec<String> = from.collect();
    let kind = if grain == Grain::Day { "days" } else { "minutes" };
    format!(
        "{rows} rows lie before what accounts are served ({kind} of {}): only the command line shows them; \
         `chandler serve --floors none` serves them too",
        from.join(", ")
    )
}
