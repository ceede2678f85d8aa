//! Cache of the figures that lists are sorted by: last price, change and volume of the day.

use std::time::Duration;

use history::{AsOf, HistoryError};
use market::{FloorTable, Price};

use super::{Bounds, ListCache};
use crate::core::Core;
use crate::directory::ListedSecurity;

/// The figures of a security change only with its candles, except at the end of a day.
const BOUNDS: Bounds = Bounds { computed_max: 500, kept_for: Duration::from_secs(300) };

#[derive(Debug, Default)]
pub(crate) struct FiguresCache(ListCache<FiguresState, Option<ListFigures>>);

/// State that all figures depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FiguresState {
    floors: FloorTable,
    /// Current minute of a replay clock, which reveals more data as it advances; `None` on a live
    /// clock.
    minute: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ListFigures {
    pub(crate) last: Price,
    /// Change of the day in millionths, with the close that it is compared with.
    change: Option<(i64, Price)>,
    pub(crate) volume: Option<i64>,
}

impl FiguresCache {
    /// Returns the figures of these securities, in the order given: `None` if they are not computed
    /// yet, `Some(None)` if there is no price.
    pub(crate) fn of(
        &self,
        core: &Core,
        floors: FloorTable,
        wanted: &[&ListedSecurity],
        as_of: AsOf,
    ) -> Result<Vec<Option<Option<ListFigures>>>, HistoryError> {
        let minute = match as_of {
            AsOf::Live(_) => None,
            AsOf::Replay(now) => Some(now.0.div_euclid(60)),
        };
        self.0.of(core, FiguresState { floors, minute }, wanted, BOUNDS, |reader, symbol| {
            let quote = core.history.list_quote(reader, symbol, floors.of(symbol.market()), as_of)?;
            Ok(quote.map(|quote| ListFigures {
                last: quote.last,
                change: quote
                    .day
                    .and_then(|day| Some((quote.last.0.checked_sub(day.prev_close.0)?, day.prev_close))),
                volume: quote.day.map(|day| day.volume),
            }))
        })
    }
}

impl ListFigures {
    pub(crate) fn change(&self) -> Option<i64> {
        self.change.map(|(change, _)| change)
    }

    /// Returns the change in units of 10⁻¹² of the previous close, which is finer than any two
    /// ratios that a list shows as different.
    pub(crate) fn ratio(&self) -> Option<i128> {
        let (change, before) = self.change?;
        (i128::from(change) * 1_000_000_000_000).checked_div(i128::from(before.0))
    }
}
