use market::{Symbol, Timestamp};
use store::Series;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(transparent)]
    Store(#[from] store::StoreError),
    #[error("stored block of {series} at {at}: {source}")]
    Damaged { series: Series, at: Timestamp, source: block::BlockError },
    #[error("stored trades of {symbol} at {at}: {source}")]
    DamagedTrades { symbol: Symbol, at: Timestamp, source: block::BlockError },
    #[error("a worker of the import stopped unexpectedly")]
    Worker,
}
