//! The levels of a grid: where its next sale and its next purchase are triggered.

use market::Price;

use super::rule::GridStep;
use super::state::Grid;
use crate::tables::Ticks;
use crate::terms::{PERCENT_WHOLE, Percent};
use crate::view::MarketView;

/// The next sale is triggered at `up`, the next purchase at `down`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    pub up: Price,
    pub down: Price,
}

/// One step from a base, exact: in units of `10^-14`, since a price has six decimals and a
/// percentage of it eight more.
const EXACT: i128 = PERCENT_WHOLE as i128;

impl GridStep {
    /// The distance from a base to the next level above it, and to the next one below it.
    fn exact(self, base: Price) -> (i128, i128) {
        let share = |percent: Percent| i128::from(base.0) * i128::from(percent.units());
        match self {
            GridStep::Spread { up, down } => (i128::from(up.0) * EXACT, i128::from(down.0) * EXACT),
            GridStep::Percent { up, down } => (share(up), share(down)),
        }
    }

    /// The levels before they are rounded to the tick, rounded to the millionth nearer to the base:
    /// a candle that stays within them reaches neither level, whatever the ticks of its day.
    pub(crate) fn inner(self, base: Price) -> Levels {
        let (up, down) = self.exact(base);
        let base = i128::from(base.0) * EXACT;
        Levels { up: price((base + up).div_euclid(EXACT)), down: price(-(down - base).div_euclid(EXACT)) }
    }

    /// The levels on the tick: up is rounded up, down is rounded down.
    pub(crate) fn levels(self, base: Price, ticks: &Ticks) -> Levels {
        let (up, down) = self.exact(base);
        let base = i128::from(base.0) * EXACT;
        let above = -(-(base + up)).div_euclid(EXACT);
        Levels { up: ticks.up(price(above)), down: ticks.down(price((base - down).div_euclid(EXACT))) }
    }

    /// How many steps lie between a base and a price; at least one.
    pub(crate) fn count(self, base: Price, price: Price) -> i64 {
        let (up, down) = self.exact(base);
        let away = i128::from(price.0 - base.0) * EXACT;
        let step = if away < 0 { down } else { up };
        i64::try_from(away.abs() / step.max(1)).unwrap_or(i64::MAX).max(1)
    }
}

fn price(units: i128) -> Price {
    Price(i64::try_from(units).unwrap_or(if units < 0 { i64::MIN / 2 } else { i64::MAX / 2 }))
}

impl Grid {
    /// The next levels, by the ticks of a day.
    pub fn levels(&self, view: &MarketView<'_>) -> Levels {
        let ticks = view.ticks(&self.symbol, self.facts.kind, view.date(self.market()));
        self.rule.step.levels(self.base, ticks)
    }
}
