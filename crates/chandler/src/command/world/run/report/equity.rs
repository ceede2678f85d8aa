//! The equity curve of a run, and the curve of buying and holding the traded securities, with equal
//! weights at the first price of the run.

use market::Date;
use trading::Money;
use trading::performance::{Curve, Ratio};

use super::record::{PriceSeries, RunRecord, Valuation};

/// One row of the equity curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct EquityRow {
    pub(in super::super) date: Date,
    pub(in super::super) net_assets: Money,
    /// Net assets relative to the initial value.
    pub(in super::super) growth: Ratio,
    /// Loss since the highest value so far, as a positive ratio.
    pub(in super::super) drawdown: Ratio,
    pub(in super::super) exposure: Ratio,
    /// Value of buy and hold relative to its initial value. `None` if nothing was traded.
    pub(in super::super) benchmark: Option<Ratio>,
}

/// Returns one row for each valuation.
pub(super) fn rows(record: &RunRecord, benchmark: Option<&[Ratio]>) -> Vec<EquityRow> {
    let mut curve = Curve::from(record.opening);
    let row = |(at, day): (usize, &Valuation)| {
        let point = curve.push(day.net_assets, Money::ZERO);
        EquityRow {
            date: day.date,
            net_assets: day.net_assets,
            growth: point.map_or_else(Ratio::default, |point| point.growth),
            drawdown: point.map_or_else(Ratio::default, |point| point.drawdown),
            exposure: Ratio::of(day.market_value, day.net_assets).unwrap_or_default(),
            benchmark: benchmark.and_then(|curve| curve.get(at).copied()),
        }
    };
    record.days.iter().enumerate().map(row).collect()
}

/// Returns the value of buy and hold at each valuation, relative to its initial value. `None` if
/// there are no prices.
pub(super) fn buy_and_hold(record: &RunRecord) -> Option<Vec<Ratio>> {
    if record.prices.is_empty() {
        return None;
    }
    let value_at = |date: Date| Ratio::mean(record.prices.iter().map(|series| growth_until(series, date)));
    record.days.iter().map(|day| value_at(day.date)).collect()
}

/// Returns a security's last close up to a date relative to its first price, or 1 before its first
/// close.
fn growth_until(series: &PriceSeries, date: Date) -> Ratio {
    let close = series.closes.range(..=date).next_back();
    close.and_then(|(_, close)| Ratio::of_prices(*close, series.first)).unwrap_or(Ratio::ONE)
}
