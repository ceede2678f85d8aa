//! Grid levels: the prices that trigger the next sale and the next purchase.

use market::Price;

use super::rule::GridStep;
use super::state::Grid;
use crate::tables::Ticks;
use crate::terms::{PERCENT_WHOLE, Percent};
use crate::view::MarketView;

/// The prices that trigger the next sale (`up`) and the next purchase (`down`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    pub up: Price,
    pub down: Price,
}

/// Scale of exact step arithmetic in units of `10^-14`: a price has six decimals, and a percentage
/// adds eight.
const EXACT: i128 = PERCENT_WHOLE as i128;

impl GridStep {
    /// Returns the exact distance from a base to the next level above and below.
    fn exact(self, base: Price) -> (i128, i128) {
        let share = |percent: Percent| i128::from(base.0) * i128::from(percent.units());
        match self {
            GridStep::Spread { up, down } => (i128::from(up.0) * EXACT, i128::from(down.0) * EXACT),
            GridStep::Percent { up, down } => (share(up), share(down)),
        }
    }

    /// Returns the levels before rounding to the tick, rounded to the millionth towards the base. A
    /// candle within them reaches neither level, regardless of the day's tick sizes.
    pub(crate) fn inner(self, base: Price) -> Levels {
        let (up, down) = self.exact(base);
        let base = i128::from(base.0) * EXACT;
        Levels { up: price((base + up).div_euclid(EXACT)), down: price(-(down - base).div_euclid(EXACT)) }
    }

    /// Returns the levels on the tick: `up` is rounded up, `down` is rounded down.
    pub(crate) fn levels(self, base: Price, ticks: &Ticks) -> Levels {
        let (up, down) = self.exact(base);
        let base = i128::from(base.0) * EXACT;
        let above = -(-(base + up)).div_euclid(EXACT);
        Levels { up: ticks.up(price(above)), down: ticks.down(price((base - down).div_euclid(EXACT))) }
    }

    /// Returns the number of steps between a base and a price, at least one.
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
    /// Returns the next levels, using the current day's tick sizes.
    pub fn levels(&self, view: &MarketView<'_>) -> Levels {
        let ticks = view.ticks(&self.symbol, self.facts.kind, view.date(self.market()));
        self.rule.step.levels(self.base, ticks)
    }
}
