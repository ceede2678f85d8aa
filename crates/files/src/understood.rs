//! How the reader interpreted a candle table, shown to the user for review.

use market::Market;

use crate::clock::{DayOf, Reading, Unit};
use crate::row::RawRow;
use crate::time::RawTime;
use crate::{DateOrder, DecimalMark, JudgedPeriod, Stamp, Vendor};

/// The interpretation of a candle table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Understood {
    pub vendor: Vendor,
    pub symbol: SymbolSource,
    pub period: JudgedPeriod,
    pub times: TimesAre,
    /// Order of month and day in dates like `11/5/2019`; `None` if the file has no such dates.
    pub order: Option<DateOrder>,
    /// Whether a minute candle is stamped with its start or its end.
    pub stamp: Stamp,
    pub basis: Basis,
    pub decimal: DecimalMark,
    /// Whether the table has no header and its columns were guessed.
    pub are_columns_guessed: bool,
}

/// The source of the symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolSource {
    Column,
    Header,
    Option,
    /// The user has set a ticker, and its region was assumed.
    TickerOption,
    /// The file's name is a symbol with its region, or a ticker and the user has set the region.
    FileName,
    /// The file's name is a ticker, and its region was assumed.
    FileNameWithoutRegion,
    /// The symbol is one of several words in the file's name.
    WordOfFileName,
}

impl SymbolSource {
    pub fn is_guess(self) -> bool {
        matches!(
            self,
            SymbolSource::TickerOption | SymbolSource::FileNameWithoutRegion | SymbolSource::WordOfFileName
        )
    }
}

/// How times are written in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimesAre {
    /// Dates in the market's time zone.
    Dates,
    /// Dates written as UTC midnights.
    MidnightsOfUtc,
    /// Local times of the market.
    WallClock,
    /// Times with a UTC offset, or Unix times.
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

    /// Describes the times for the user. `markets` are the table's markets.
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

/// Whether prices are as traded or adjusted by the vendor. Files do not state this, so it is
/// derived from the vendor's conventions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The default: the vendor is not known to adjust its prices.
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
            | Vendor::Metatrader
            | Vendor::Tongdaxin
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
