//! Buy and hold of the traded securities, with equal weights at the first price of the run.

use market::Date;

use super::ratio::Ratio;
use super::record::{PriceSeries, RunRecord};

/// Returns the value of buy and hold at each valuation, relative to its start. `None` if there are
/// no prices.
pub(super) fn curve(record: &RunRecord) -> Option<Vec<Ratio>> {
    if record.prices.is_empty() {
        return None;
    }
    let value_at = |date: Date| Ratio::mean(record.prices.iter().map(|series| growth(series, date)));
    record.days.iter().map(|day| value_at(day.date)).collect()
}

/// Returns the growth of one security up to a date. Before its first close it counts as cash.
fn growth(series: &PriceSeries, date: Date) -> Ratio {
    let close = series.closes.range(..=date).next_back();
    close.and_then(|(_, close)| Ratio::of_prices(*close, series.first)).unwrap_or(Ratio::ONE)
}
