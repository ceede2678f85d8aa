//! Describes how a candle file was parsed, so that the user can review the result before the
//! import.

use files::{
    Basis, DateOrder, DecimalMark, JudgedBy, JudgedPeriod, Stamp, SymbolSource, TimesAre, Understood,
};
use market::{Market, Period, Zone};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;

use crate::kit::doc::one_of;

/// How a table of candles was parsed.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FileReading {
    /// Data source recognized by the header; `plain` for an unrecognized source.
    source: &'static str,
    #[schemars(schema_with = "symbol_sources")]
    symbol_from: &'static str,
    is_symbol_guessed: bool,
    /// Candle period, such as 1m or day.
    period: String,
    /// Why the period is a guess: `few_rows` if there are too few rows, `steps` if the period was
    /// inferred from the distance between rows, `file_name` if it was taken from the file's name;
    /// null if the period is certain.
    period_guess: Option<&'static str>,
    /// Price basis, assumed from the data source because files do not state it.
    #[schemars(schema_with = "bases")]
    basis: &'static str,
    /// `dates`, `utc_midnights` (dates written as midnight UTC), `wall_clock` (local market time)
    /// or `instants`.
    #[schemars(schema_with = "times")]
    times: &'static str,
    /// Time zone of the market; null if the market is unknown.
    zone: Option<&'static str>,
    /// Order in dates like 11/5/2019: `month_first` or `day_first`; null for other formats.
    date_order: Option<&'static str>,
    /// Whether a candle's timestamp is its `start` or its `end`; null for dates.
    stamp: Option<&'static str>,
    /// Decimal separator: `point` or `comma`.
    decimal: &'static str,
    /// Whether the columns were guessed because the file has no header.
    are_columns_guessed: bool,
}

const SYMBOL_SOURCES: [SymbolSource; 7] = [
    SymbolSource::Column,
    SymbolSource::Header,
    SymbolSource::Option,
    SymbolSource::TickerOption,
    SymbolSource::FileName,
    SymbolSource::FileNameWithoutRegion,
    SymbolSource::WordOfFileName,
];
const BASES: [Basis; 3] = [Basis::AsTraded, Basis::SplitAdjusted, Basis::ForwardAdjusted];
const TIMES: [TimesAre; 4] =
    [TimesAre::Dates, TimesAre::MidnightsOfUtc, TimesAre::WallClock, TimesAre::Instants];

fn symbol_sources(_: &mut SchemaGenerator) -> Schema {
    one_of(&SYMBOL_SOURCES.map(symbol_word))
}

fn bases(_: &mut SchemaGenerator) -> Schema {
    one_of(&BASES.map(basis_word))
}

fn times(_: &mut SchemaGenerator) -> Schema {
    one_of(&TIMES.map(times_word))
}

impl FileReading {
    pub(super) fn of(understood: &Understood, market: Option<Market>) -> FileReading {
        let period = understood.period;
        FileReading {
            source: understood.vendor.as_str(),
            symbol_from: symbol_word(understood.symbol),
            is_symbol_guessed: understood.symbol.is_guess(),
            period: period.period.to_string(),
            period_guess: period_guess(period),
            basis: basis_word(understood.basis),
            times: times_word(understood.times),
            zone: market.map(|market| Zone::of(market).name()),
            date_order: understood.order.map(|order| match order {
                DateOrder::MonthFirst => "month_first",
                DateOrder::DayFirst => "day_first",
            }),
            stamp: period.period.is_clock().then_some(match understood.stamp {
                Stamp::Start => "start",
                Stamp::End => "end",
            }),
            decimal: match understood.decimal {
                DecimalMark::Point => "point",
                DecimalMark::Comma => "comma",
            },
            are_columns_guessed: understood.are_columns_guessed,
        }
    }
}

/// Returns why the period is a guess, or `None` if the period is certain. Rows several minutes
/// apart may be coarse candles or one-minute candles with gaps, so a coarse period is always a
/// guess.
fn period_guess(JudgedPeriod { period, by }: JudgedPeriod) -> Option<&'static str> {
    let is_coarse = period.is_clock() && period != Period::MINUTE;
    match by {
        JudgedBy::Default { .. } => Some("few_rows"),
        JudgedBy::FileName => Some("file_name"),
        JudgedBy::Steps if is_coarse => Some("steps"),
        JudgedBy::Steps | JudgedBy::Option => None,
    }
}

fn symbol_word(source: SymbolSource) -> &'static str {
    match source {
        SymbolSource::Column => "column",
        SymbolSource::Header => "header",
        SymbolSource::Option => "option",
        SymbolSource::TickerOption => "ticker_option",
        SymbolSource::FileName => "file_name",
        SymbolSource::FileNameWithoutRegion => "file_name_without_region",
        SymbolSource::WordOfFileName => "word_of_file_name",
    }
}

fn basis_word(basis: Basis) -> &'static str {
    match basis {
        Basis::AsTraded => "as_traded",
        Basis::SplitAdjusted => "split_adjusted",
        Basis::ForwardAdjusted => "forward_adjusted",
    }
}

fn times_word(times: TimesAre) -> &'static str {
    match times {
        TimesAre::Dates => "dates",
        TimesAre::MidnightsOfUtc => "utc_midnights",
        TimesAre::WallClock => "wall_clock",
        TimesAre::Instants => "instants",
    }
}
