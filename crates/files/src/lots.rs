//! Determines whether volumes are in lots of 100 shares, as exports of Chinese vendors have them.
//!
//! The turnover of a share is about its price. So rows with price, volume and turnover show the unit
//! of the volume: their quotient is about 1 for shares, 100 for lots, and 0.1 for lots with a
//! turnover in thousands. Adjusted prices and indices show nothing; then the vendor's convention
//! applies.

use market::parse_scaled;

use crate::cells::Cells;
use crate::header::{CandleColumns, Vendor};
use crate::records::TextCells;
use crate::source::Lines;
use crate::written::{DecimalMark, plain};
use crate::{Problem, Ratio, Scale};

const MILLION: f64 = 1e6;
/// Maximum number of rows that are examined.
const ROWS_MAX: usize = 500;

/// Returns whether a vendor's volumes may be in lots.
pub(crate) fn may_be_in(vendor: Vendor) -> bool {
    matches!(vendor, Vendor::Tushare | Vendor::Eastmoney | Vendor::Tongdaxin)
}

/// The unit of volumes and turnovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Shares,
    Lots,
    /// Lots, with the turnover in thousands.
    LotsAndThousands,
}

impl Unit {
    /// Returns the factors that convert to shares and units of currency.
    pub(crate) fn scale(self, has_turnover: bool) -> Scale {
        let (volume, turnover) = match self {
            Unit::Shares => (None, None),
            Unit::Lots => (Some(Ratio::whole(100)), None),
            Unit::LotsAndThousands => (Some(Ratio::whole(100)), Some(Ratio::whole(1_000))),
        };
        Scale { price: None, volume, turnover: turnover.filter(|_| has_turnover) }
    }

    /// Describes the conversion for the user; `None` if there is none.
    pub(crate) fn note(self, has_turnover: bool) -> Option<&'static str> {
        match self {
            Unit::Shares => None,
            Unit::LotsAndThousands if has_turnover => Some(
                "volumes are in lots of 100 and turnovers in thousands in this export, and were multiplied by \
                 100 and 1,000; pass --scale volume=1 to import both unchanged",
            ),
            Unit::Lots | Unit::LotsAndThousands => Some(
                "volumes are in lots of 100 in this export and were multiplied by 100; pass --scale volume=1 to \
                 import them unchanged",
            ),
        }
    }
}

/// What rows show about their unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    rows: u32,
    shares: u32,
    lots: u32,
    thousands: u32,
    /// Whether a volume has a fraction, so that it cannot be of shares.
    has_fractions: bool,
    /// Whether a row's symbol is not of a mainland exchange.
    pub is_elsewhere: bool,
}

impl Evidence {
    /// Counts a row, with numbers in millionths. Returns false if enough rows have been counted.
    pub(crate) fn see(&mut self, close: f64, volume: f64, turnover: f64) -> bool {
        let quotient = turnover / volume / close * MILLION;
        if quotient.is_finite() && quotient > 0.0 {
            self.rows += 1;
            self.has_fractions |= volume % MILLION != 0.0;
            self.shares += u32::from((0.4..2.5).contains(&quotient));
            self.lots += u32::from((40.0..250.0).contains(&quotient));
            self.thousands += u32::from((0.04..0.25).contains(&quotient));
        }
        (self.rows as usize) < ROWS_MAX
    }

    /// Returns the unit, by the rows or else by the vendor's convention.
    pub(crate) fn unit(self, vendor: Vendor, is_daily: bool, has_turnover: bool) -> Unit {
        if !may_be_in(vendor) {
            return Unit::Shares;
        }
        let is_most = |count: u32| count * 2 > self.rows;
        match vendor {
            _ if is_most(self.shares) && !self.has_fractions => Unit::Shares,
            _ if is_most(self.lots) => Unit::Lots,
            _ if is_most(self.thousands) => Unit::LotsAndThousands,
            _ if self.is_elsewhere => Unit::Shares,
            // Tushare's daily tables have lots and thousands, its minutes shares.
            Vendor::Tushare if is_daily => Unit::LotsAndThousands,
            // Its tables always have a turnover; others with its column names may be anyone's.
            Vendor::Eastmoney if has_turnover => Unit::Lots,
            _ => Unit::Shares,
        }
    }
}

/// Examines the buffered rows of a text table.
pub(crate) fn of_lines(lines: &Lines, delimiter: u8, columns: &CandleColumns, mark: DecimalMark) -> Evidence {
    let mut evidence = Evidence::default();
    let mut cells = Cells::default();
    for (_, line) in lines.upcoming() {
        if cells.split(line, delimiter).is_err() {
            continue;
        }
        let number = |column: Option<usize>| number(cells.get(line, column?), mark);
        if let Some(symbol) = columns.symbol {
            evidence.is_elsewhere |= is_elsewhere(cells.get(line, symbol));
        }
        let row = (number(Some(columns.close)), number(columns.volume), number(columns.turnover));
        if let (Some(close), Some(volume), Some(turnover)) = row
            && !evidence.see(close, volume, turnover)
        {
            break;
        }
    }
    evidence
}

/// Examines the first rows of a Parquet table.
pub(crate) fn of_parquet(table: &mut dyn TextCells, columns: &CandleColumns) -> Result<Evidence, Problem> {
    let mut evidence = Evidence::default();
    let mut rows = 0;
    let read = table.each(&mut |_, cells, _| {
        let cells = cells.unwrap_or_default();
        let cell = |column: Option<usize>| cells.get(column?).map(Vec::as_slice);
        let number = |column| number(cell(column)?, DecimalMark::Point);
        evidence.is_elsewhere |= cell(columns.symbol).is_some_and(is_elsewhere);
        let row = (number(Some(columns.close)), number(columns.volume), number(columns.turnover));
        let is_enough = match row {
            (Some(close), Some(volume), Some(turnover)) => !evidence.see(close, volume, turnover),
            _ => false,
        };
        rows += 1;
        // Any error ends the iteration.
        if is_enough || rows >= ROWS_MAX { Err(Problem::Records) } else { Ok(()) }
    });
    match read {
        Ok(()) | Err(Problem::Records) => Ok(evidence),
        Err(problem) => Err(problem),
    }
}

/// Parses a number to millionths, for comparison. The price of a candle is never computed from it.
pub(crate) fn number(cell: &[u8], mark: DecimalMark) -> Option<f64> {
    let text = plain(cell, mark)?.text;
    let (millionths, _) = parse_scaled(text.as_bytes(), 6).ok()?;
    Some(millionths as f64)
}

/// Returns whether a symbol is of a market other than the mainland's: `00700.HK`, `AAPL`.
pub(crate) fn is_elsewhere(symbol: &[u8]) -> bool {
    let digits = symbol.iter().filter(|byte| byte.is_ascii_digit()).count();
    !symbol.is_empty() && digits != 6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(vendor: Vendor, rows: &[(f64, f64, f64)]) -> Unit {
        let mut evidence = Evidence::default();
        for (close, volume, turnover) in rows {
            evidence.see(close * MILLION, volume * MILLION, turnover * MILLION);
        }
        evidence.unit(vendor, true, !rows.is_empty())
    }

    #[test]
    fn rows_show_the_unit_of_their_volumes() {
        let (shares, lots) = ([(10.0, 1_000.0, 10_100.0)], [(10.0, 10.0, 10_100.0)]);
        let thousands = [(10.0, 10.0, 10.1)];
        for vendor in [Vendor::Tushare, Vendor::Eastmoney, Vendor::Tongdaxin] {
            assert_eq!(unit(vendor, &shares), Unit::Shares, "{vendor}");
            assert_eq!(unit(vendor, &lots), Unit::Lots, "{vendor}");
            assert_eq!(unit(vendor, &thousands), Unit::LotsAndThousands, "{vendor}");
        }
        assert_eq!(unit(Vendor::Plain, &lots), Unit::Shares);
    }

    #[test]
    fn rows_that_show_nothing_follow_the_vendor() {
        // An adjusted price, and no turnover.
        let adjusted = [(1.0, 10.0, 10_100.0)];
        assert_eq!(unit(Vendor::Eastmoney, &adjusted), Unit::Lots);
        assert_eq!(unit(Vendor::Tongdaxin, &adjusted), Unit::Shares);
        assert_eq!(unit(Vendor::Tushare, &[]), Unit::LotsAndThousands);
        assert_eq!(unit(Vendor::Eastmoney, &[]), Unit::Shares);
        // Shares have no fractions.
        assert_eq!(unit(Vendor::Tushare, &[(10.0, 10.25, 102.5)]), Unit::LotsAndThousands);
        let elsewhere = Evidence { is_elsewhere: true, ..Evidence::default() };
        assert_eq!(elsewhere.unit(Vendor::Tushare, true, true), Unit::Shares);
        assert!(is_elsewhere(b"00700.HK") && is_elsewhere(b"105.AAPL") && !is_elsewhere(b"600519.SH"));
    }
}
