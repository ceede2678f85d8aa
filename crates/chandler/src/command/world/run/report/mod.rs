//! The report of a run: equity, figures and round trips, computed from what the account did.
//!
//! A pure function of a [`RunRecord`]: no I/O and no clock. Amounts are exact and in HKD; currencies
//! are converted at the rates as of the end of the run. [`Ratio`]s are rounded once, to a billionth.

mod benchmark;
mod figure;
mod ratio;
mod round_trips;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use market::{Date, Price, Symbol, Timestamp};
use trading::{Currency, Money, Quantity, Rate, Side};

pub(super) use figure::{Better, Figure, FigureValue, ParseFigureError};
pub(super) use ratio::Ratio;
pub(super) use round_trips::RoundTrip;

/// What a run did, as read from its account.
#[derive(Clone, Debug, Default)]
pub(super) struct RunRecord {
    /// Market time at which the program was started.
    pub(super) begin: Timestamp,
    /// Market time at the end of the run.
    pub(super) end: Timestamp,
    /// Net assets at `begin`.
    pub(super) opening: Money,
    /// Positions at `begin`.
    pub(super) held: Vec<Holding>,
    /// Valuations after `begin`, oldest first.
    pub(super) days: Vec<Valuation>,
    pub(super) fills: Vec<Fill>,
    pub(super) charges: Vec<Charge>,
    pub(super) orders: u64,
    pub(super) refused: Vec<RefusedOrder>,
    /// HKD per unit of each currency, as of the end.
    pub(super) rates: Vec<(Currency, Rate)>,
    /// Prices of the traded securities.
    pub(super) prices: Vec<PriceSeries>,
    /// Positions at the end, to detect changes other than by fills.
    pub(super) held_at_end: Vec<(Symbol, Quantity)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holding {
    pub(super) symbol: Symbol,
    pub(super) currency: Currency,
    pub(super) quantity: Quantity,
    pub(super) price: Price,
}

/// Value of the account at the end of a date, or at the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Valuation {
    pub(super) date: Date,
    pub(super) net_assets: Money,
    pub(super) market_value: Money,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fill {
    pub(super) at: Timestamp,
    pub(super) symbol: Symbol,
    pub(super) currency: Currency,
    pub(super) side: Side,
    pub(super) quantity: Quantity,
    pub(super) price: Price,
}

/// A charge of a fill, as a positive amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Charge {
    pub(super) at: Timestamp,
    pub(super) symbol: Option<Symbol>,
    pub(super) currency: Currency,
    pub(super) amount: Money,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RefusedOrder {
    pub(super) at: Timestamp,
    pub(super) symbol: String,
    pub(super) side: String,
    pub(super) quantity: String,
    pub(super) reason: String,
}

/// Prices of a security: the first price of the run, and the adjusted close of each day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PriceSeries {
    pub(super) symbol: Symbol,
    pub(super) first: Price,
    pub(super) closes: BTreeMap<Date, Price>,
}

/// One row of the equity curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EquityRow {
    pub(super) date: Date,
    pub(super) net_assets: Money,
    /// Net assets relative to the opening.
    pub(super) growth: Ratio,
    /// Loss since the highest value so far, as a positive ratio.
    pub(super) drawdown: Ratio,
    pub(super) exposure: Ratio,
    /// Value of buy and hold relative to its start. `None` if nothing was traded.
    pub(super) benchmark: Option<Ratio>,
}

#[derive(Clone, Debug)]
pub(super) struct Report {
    pub(super) begin: Timestamp,
    pub(super) end: Timestamp,
    pub(super) opening: Money,
    pub(super) equity: Vec<EquityRow>,
    pub(super) round_trips: Vec<RoundTrip>,
    pub(super) refused: Vec<RefusedOrder>,
    /// Values in the order of [`Figure::ALL`]. `None` if there is no value, such as the win rate
    /// without round trips.
    pub(super) figures: Vec<(Figure, Option<FigureValue>)>,
    /// Facts that limit what the figures mean.
    pub(super) notes: Vec<String>,
}

impl Report {
    pub(super) fn of(record: &RunRecord) -> Report {
        let mut notes = Vec::new();
        let benchmark = benchmark::curve(record);
        let equity = equity(record, benchmark.as_deref());
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

impl RunRecord {
    /// Converts an amount to HKD. `None` without a rate.
    fn in_hkd(&self, amount: Money, currency: Currency) -> Option<Money> {
        let (_, rate) = self.rates.iter().find(|(known, _)| *known == currency)?;
        Some(rate.convert(amount).to(Rate::ONE))
    }
}

fn equity(record: &RunRecord, benchmark: Option<&[Ratio]>) -> Vec<EquityRow> {
    let mut peak = record.opening;
    let row = |(at, day): (usize, &Valuation)| {
        peak = peak.max(day.net_assets);
        let ratio = |part: Money, whole: Money| Ratio::of(part, whole).unwrap_or_default();
        EquityRow {
            date: day.date,
            net_assets: day.net_assets,
            growth: ratio(day.net_assets, record.opening),
            drawdown: ratio(peak - day.net_assets, peak),
            exposure: ratio(day.market_value, day.net_assets),
            benchmark: benchmark.and_then(|curve| curve.get(at).copied()),
        }
    };
    record.days.iter().enumerate().map(row).collect()
}

/// Returns the securities whose final position is not the initial one plus all fills.
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

/// Shares of an option contract, as in `trading::Security::multiplier`.
const OPTION_SHARES: u32 = 100;

fn value_of(symbol: &Symbol, price: Price, quantity: Quantity) -> Money {
    Money::of(price, quantity, if symbol.option().is_some() { OPTION_SHARES } else { 1 })
}

impl Fill {
    fn signed(&self) -> Quantity {
        if self.side.is_buy() { self.quantity } else { -self.quantity }
    }

    /// Returns the traded value, which is positive.
    fn value(&self) -> Money {
        value_of(&self.symbol, self.price, self.quantity)
    }
}
