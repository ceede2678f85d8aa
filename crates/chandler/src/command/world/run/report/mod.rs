//! The report of a run: equity, figures and round trips, computed from the results of its account.
//!
//! A pure function of a [`RunRecord`]: no I/O and no clock. Amounts are exact and in HKD; currencies
//! are converted at the rates as of the end of the run. [`Ratio`]s are rounded once, to a billionth.

mod equity;
mod figure;
mod record;
mod round_trips;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use market::{Symbol, Timestamp};
pub(super) use trading::performance::{Ratio, RoundTrip};
use trading::{Currency, Money, Quantity};

pub(super) use equity::EquityRow;
pub(super) use figure::{Better, Figure, FigureValue, ParseFigureError};
pub(super) use record::{Charge, Fill, Holding, PriceSeries, RefusedOrder, RunRecord, Valuation};

/// Converts a ratio for charts and JSON.
pub(super) fn as_f64(ratio: Ratio) -> f64 {
    ratio.billionths() as f64 / Ratio::ONE.billionths() as f64
}

#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) begin: Timestamp,
    pub(super) end: Timestamp,
    pub(super) opening: Money,
    pub(super) equity: Vec<EquityRow>,
    pub(super) round_trips: Vec<RoundTrip>,
    pub(super) refused: Vec<RefusedOrder>,
    /// Values in the order of [`Figure::ALL`]. `None` for a figure without a value, such as the win
    /// rate without round trips.
    pub(super) figures: Vec<(Figure, Option<FigureValue>)>,
    /// Notes on the limits of the figures.
    pub(super) notes: Vec<String>,
}

impl Report {
    pub(super) fn of(record: &RunRecord) -> Report {
        let mut notes = Vec::new();
        let benchmark = equity::buy_and_hold(record);
        let equity = equity::rows(record, benchmark.as_deref());
        let round_trips::Found { mut trips, spans } = round_trips::of(record);
        let moved = moved_without_a_fill(record);
        if !moved.is_empty() {
            let symbols = moved.iter().map(|symbol| symbol.as_str()).collect::<Vec<_>>().join(", ");
            notes.push(format!(
                "{symbols}: the position has changed without a fill, such as by a split: round trips are not counted"
            ));
            trips.retain(|trip| !moved.contains(&trip.symbol));
        }
        for currency in missing_rates(record) {
            notes.push(format!("no rate for {currency}: its trades are not in turnover and fees"));
        }
        let in_market = round_trips::time_in_market(&spans, record.begin, record.end);
        let figures = figure::compute(&figure::Parts {
            record,
            equity: &equity,
            trips: &trips,
            benchmark: benchmark.as_deref(),
            in_market,
        });
        Report {
            begin: record.begin,
            end: record.end,
            opening: record.opening,
            equity,
            round_trips: trips,
            refused: record.refused.clone(),
            figures,
            notes,
        }
    }

    pub(super) fn value(&self, figure: Figure) -> Option<FigureValue> {
        self.figures.iter().find(|(known, _)| *known == figure).and_then(|(_, value)| *value)
    }
}

/// Returns the securities whose final position is not the sum of the initial position and all
/// fills.
fn moved_without_a_fill(record: &RunRecord) -> Vec<Symbol> {
    let mut positions: BTreeMap<&Symbol, Quantity> = BTreeMap::new();
    for held in &record.held {
        *positions.entry(&held.symbol).or_default() += held.quantity;
    }
    for fill in &record.fills {
        *positions.entry(&fill.symbol).or_default() += fill.signed();
    }
    for (symbol, quantity) in &record.held_at_end {
        *positions.entry(symbol).or_default() -= *quantity;
    }
    positions.into_iter().filter(|(_, left)| !left.is_zero()).map(|(symbol, _)| symbol.clone()).collect()
}

fn missing_rates(record: &RunRecord) -> Vec<Currency> {
    let mut missing: Vec<Currency> = Vec::new();
    for fill in &record.fills {
        let is_known = record.rates.iter().any(|(known, _)| *known == fill.currency);
        if !is_known && !missing.contains(&fill.currency) {
            missing.push(fill.currency);
        }
    }
    missing
}
