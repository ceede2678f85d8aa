//! Errors of queries.

use block::BlockError;
use market::{Symbol, Timestamp, fold};
use store::{Series, StoreError};

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("{0} is not known here: import its candles, or check the spelling")]
    UnknownSecurity(Symbol),
    #[error("{0} is an option: history for options is unavailable")]
    Option(Symbol),
    #[error("{0} is known, but has no candles")]
    NoCandles(Symbol),
    #[error("{0} has no trades")]
    NoTrades(Symbol),
    #[error("{0} is a warrant: capital flow of warrants is unavailable")]
    Warrant(Symbol),
    #[error("stored trades of {symbol} at {at}: {source}")]
    DamagedTrades { symbol: Symbol, at: Timestamp, source: BlockError },
    #[error("stored block of {series} at {at}: {source}")]
    Damaged { series: Series, at: Timestamp, source: BlockError },
    #[error("folding {symbol}: {source}")]
    Overflow { symbol: Symbol, source: fold::Overflow },
    #[error(transparent)]
    Store(#[from] StoreError),
}
