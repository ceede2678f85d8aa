//! The figures of a report: their names and how each is computed.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use trading::Money;
use trading::performance::{Ratio, RoundTrip, TripStats};

use super::as_f64;
use super::equity::EquityRow;
use super::record::RunRecord;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Figure {
    Return,
    BenchmarkReturn,
    ExcessReturn,
    MaxDrawdown,
    BenchmarkDrawdown,
    NetAssets,
    Profit,
    Days,
    Orders,
    Refused,
    Fills,
    Trades,
    WinRate,
    Turnover,
    TurnoverRatio,
    Fees,
    Exposure,
    TimeInMarket,
}

/// Whether a higher value is better, which determines the order of a sweep's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Better {
    High,
    Low,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum FigureValue {
    Ratio(Ratio),
    Amount(Money),
    Count(u64),
}

impl Figure {
    pub(in super::super) const ALL: [Figure; 18] = [
        Figure::Return,
        Figure::BenchmarkReturn,
        Figure::ExcessReturn,
        Figure::MaxDrawdown,
        Figure::BenchmarkDrawdown,
        Figure::NetAssets,
        Figure::Profit,
        Figure::Days,
        Figure::Orders,
        Figure::Refused,
        Figure::Fills,
        Figure::Trades,
        Figure::WinRate,
        Figure::Turnover,
        Figure::TurnoverRatio,
        Figure::Fees,
        Figure::Exposure,
        Figure::TimeInMarket,
    ];

    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Figure::Return => "return",
            Figure::BenchmarkReturn => "benchmark_return",
            Figure::ExcessReturn => "excess_return",
            Figure::MaxDrawdown => "max_drawdown",
            Figure::BenchmarkDrawdown => "benchmark_drawdown",
            Figure::NetAssets => "net_assets",
            Figure::Profit => "profit",
            Figure::Days => "days",
            Figure::Orders => "orders",
            Figure::Refused => "refused",
            Figure::Fills => "fills",
            Figure::Trades => "trades",
            Figure::WinRate => "win_rate",
            Figure::Turnover => "turnover",
            Figure::TurnoverRatio => "turnover_ratio",
            Figure::Fees => "fees",
            Figure::Exposure => "exposure",
            Figure::TimeInMarket => "time_in_market",
        }
    }

    /// Returns the name of the figure for display, such as `max drawdown`.
    pub(in super::super) fn title(self) -> String {
        self.name().replace('_', " ")
    }

    pub(in super::super) fn better(self) -> Better {
        match self {
            Figure::MaxDrawdown
            | Figure::BenchmarkDrawdown
            | Figure::Refused
            | Figure::Turnover
            | Figure::TurnoverRatio
            | Figure::Fees => Better::Low,
            _ => Better::High,
        }
    }

    pub(in super::super) fn is_ratio(self) -> bool {
        matches!(
            self,
            Figure::Return
                | Figure::BenchmarkReturn
                | Figure::ExcessReturn
                | Figure::MaxDrawdown
                | Figure::BenchmarkDrawdown
                | Figure::WinRate
                | Figure::TurnoverRatio
                | Figure::Exposure
                | Figure::TimeInMarket
        )
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a figure: the figures are {known}", known = Figure::ALL.map(Figure::name).join(", "))]
pub(in super::super) struct ParseFigureError(String);

impl FromStr for Figure {
    type Err = ParseFigureError;

    fn from_str(text: &str) -> Result<Figure, ParseFigureError> {
        let found = Figure::ALL.into_iter().find(|figure| figure.name() == text);
        found.ok_or_else(|| ParseFigureError(text.chars().take(40).collect()))
    }
}

impl FigureValue {
    /// Returns the value in billionths, for exact comparisons.
    pub(in super::super) fn billionths(self) -> i128 {
        match self {
            FigureValue::Ratio(ratio) => ratio.billionths(),
            FigureValue::Amount(amount) => amount.billionths_of(Money::whole(1)).unwrap_or(i128::MAX),
            FigureValue::Count(count) => i128::from(count) * Ratio::ONE.billionths(),
        }
    }

    pub(in super::super) fn json(self) -> Value {
        match self {
            FigureValue::Ratio(ratio) => as_f64(ratio).into(),
            FigureValue::Amount(amount) => amount.text().to_string().into(),
            FigureValue::Count(count) => count.into(),
        }
    }
}

impl fmt::Display for FigureValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FigureValue::Ratio(ratio) => ratio.fmt(f),
            FigureValue::Amount(amount) => {
                f.pad(&crate::command::trade::shown::grouped(&amount.text().to_string()))
            }
            FigureValue::Count(count) => f.pad(&crate::output::thousands(*count)),
        }
    }
}

pub(super) struct Parts<'a> {
    pub(super) record: &'a RunRecord,
    pub(super) equity: &'a [EquityRow],
    pub(super) trips: &'a [RoundTrip],
    pub(super) benchmark: Option<&'a [Ratio]>,
    pub(super) in_market: Option<Ratio>,
}

pub(super) fn compute(parts: &Parts<'_>) -> Vec<(Figure, Option<FigureValue>)> {
    Figure::ALL.into_iter().map(|figure| (figure, parts.value(figure))).collect()
}

impl Parts<'_> {
    fn value(&self, figure: Figure) -> Option<FigureValue> {
        let record = self.record;
        let ratio = |value: Option<Ratio>| value.map(FigureValue::Ratio);
        let count = |number: usize| u64::try_from(number).ok().map(FigureValue::Count);
        match figure {
            Figure::Return => ratio(self.gain()),
            Figure::BenchmarkReturn => ratio(self.benchmark_gain()),
            Figure::ExcessReturn => {
                ratio(self.gain().zip(self.benchmark_gain()).map(|(own, other)| own - other))
            }
            Figure::MaxDrawdown => {
                ratio(Some(self.equity.iter().map(|row| row.drawdown).max().unwrap_or_default()))
            }
            Figure::BenchmarkDrawdown => ratio(self.benchmark.map(benchmark_drawdown)),
            Figure::NetAssets => Some(FigureValue::Amount(self.last())),
            Figure::Profit => Some(FigureValue::Amount(self.last() - record.opening)),
            Figure::Days => count(self.equity.len()),
            Figure::Orders => Some(FigureValue::Count(record.orders)),
            Figure::Refused => count(record.refused.len()),
            Figure::Fills => count(record.fills.len()),
            Figure::Trades => count(self.trips.len()),
            Figure::WinRate => ratio(TripStats::of(self.trips).win_rate()),
            Figure::Turnover => Some(FigureValue::Amount(self.turnover())),
            Figure::TurnoverRatio => ratio(self.turnover_ratio()),
            Figure::Fees => Some(FigureValue::Amount(self.fees())),
            Figure::Exposure => ratio(Ratio::mean(self.equity.iter().map(|row| row.exposure))),
            Figure::TimeInMarket => ratio(self.in_market),
        }
    }

    fn last(&self) -> Money {
        self.equity.last().map_or(self.record.opening, |row| row.net_assets)
    }

    fn gain(&self) -> Option<Ratio> {
        Ratio::of(self.last() - self.record.opening, self.record.opening)
    }

    fn benchmark_gain(&self) -> Option<Ratio> {
        self.benchmark.and_then(<[Ratio]>::last).map(|last| *last - Ratio::ONE)
    }

    fn turnover(&self) -> Money {
        let fills = self.record.fills.iter();
        fills.filter_map(|fill| self.record.in_hkd(fill.value(), fill.currency)).sum()
    }

    /// Returns the turnover relative to the mean of net assets, including the initial value.
    fn turnover_ratio(&self) -> Option<Ratio> {
        let count = i64::try_from(self.equity.len()).ok()?.checked_add(1)?;
        let sum = self.record.opening + self.equity.iter().map(|row| row.net_assets).sum();
        // turnover / (sum / count), with one division.
        let times: Money = std::iter::repeat_n(self.turnover(), usize::try_from(count).ok()?).sum();
        Ratio::of(times, sum)
    }

    fn fees(&self) -> Money {
        let charges = self.record.charges.iter();
        charges.filter_map(|charge| self.record.in_hkd(charge.amount, charge.currency)).sum()
    }
}

fn benchmark_drawdown(curve: &[Ratio]) -> Ratio {
    let (mut peak, mut deepest) = (Ratio::ONE, Ratio::default());
    for value in curve {
        peak = peak.max(*value);
        let loss = (peak - *value).billionths();
        deepest = deepest.max(Ratio::of_counts(loss, peak.billionths()).unwrap_or_default());
    }
    deepest
}
