//! How a reader has understood a table of candles, for the user to check.

use market::Market;

use crate::clock::{DayOf, Reading, Unit};
use crate::row::RawRow;
use crate::time::RawTime;
use crate::{DateOrder, DecimalMark, JudgedPeriod, Stamp, Vendor};

/// How a table of candles is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Understood {
    pub vendor: Vendor,
    pub symbol: SymbolSource,
    pub period: JudgedPeriod,
    pub times: TimesAre,
    /// Of dates like `11/5/2019`.
    pub order: Option<DateOrder>,
    /// Whether a candle of minutes is stamped with its start or end.
    pub stamp: Stamp,
    pub basis: Basis,
    pub decimal: DecimalMark,
    /// The table has no header, and its columns were guessed.
    pub are_columns_guessed: bool,
}

/// Where the symbols come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolSource {
    Column,
    Header,
    Option,
    /// The file's name is a symbol with its region.
    FileName,
    /// The file's name is a ticker, and its region was assumed or given by the user.
    FileNameWithoutRegion,
    /// One of several words of the file's name.
    WordOfFileName,
}

impl SymbolSource {
    pub fn is_guess(self) -> bool {
        matches!(self, SymbolSource::FileNameWithoutRegion | SymbolSource::WordOfFileName)
    }
}

/// The kind of times in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimesAre {
    /// Dates of the market, independent of this machine's zone.
    Dates,
    /// Dates written as midnights of UTC.
    MidnightsOfUtc,
    /// Times of day on the market's wall clock.
    WallClock,
    /// With an offset, or Unix time.
    Instants,
}

impl TimesAre {
    pub(crate) fn of(rows: &[&RawRow], reading: &Reading) -> TimesAre {
        if reading.day_of == DayOf::Utc {
            return TimesAre::MidnightsOfUtc;
        }
        match rows.first().map(|row| row.time) {
            Some(RawTime::Instant(_)) => TimesAre::Instants,
            Some(RawTime::Number(_)) => match reading.unit {
                Unit::PerSecond(_) => TimesAre::Instants,
                Unit::Days => TimesAre::Dates,
                Unit::Minutes | Unit::Seconds | Unit::Thousandths => TimesAre::WallClock,
            },
            Some(RawTime::Wall { .. } | RawTime::Ordered { seconds: Some(_), .. }) => TimesAre::WallClock,
            Some(RawTime::Date(_) | RawTime::Ordered { seconds: None, .. }) | None => TimesAre::Dates,
        }
    }

    /// As text, for the markets of a table.
    pub fn in_words(self, markets: &[Market]) -> String {
        let zone = match markets {
            [market] => market::Zone::of(*market).name(),
            _ => "each symbol's market",
        };
        match self {
            TimesAre::Dates => format!("dates of {zone}"),
            TimesAre::MidnightsOfUtc => format!("dates of {zone}, written as midnights of UTC"),
            TimesAre::WallClock => format!("times of {zone}"),
            TimesAre::Instants => format!("instants, stored as such and shown in {zone}"),
        }
    }
}

/// The basis of prices: as traded, or adjusted by the vendor. No file states it; it follows from
/// the vendor's conventions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// There is no evidence against it.
    AsTraded,
    SplitAdjusted,
    ForwardAdjusted,
}

impl Basis {
    pub(crate) fn of(vendor: Vendor) -> Basis {
        match vendor {
            Vendor::Yahoo | Vendor::Nasdaq | Vendor::Investing => Basis::SplitAdjusted,
            Vendor::Futu => Basis::ForwardAdjusted,
            Vendor::Plain
            | Vendor::Stooq
            | Vendor::Alpaca
            | Vendor::Massive
            | Vendor::Tushare
            | Vendor::Eastmoney => Basis::AsTraded,
        }
    }

    pub fn in_words(self) -> &'static str {
        match self {
            Basis::AsTraded => "taken as traded",
            Basis::SplitAdjusted => {
                "adjusted for splits, as this source's usually are (a guess); import no splits for them"
            }
            Basis::ForwardAdjusted => {
                "forward-adjusted, as this source's usually are (a guess); import no actions for them"
            }
        }
    }
}
