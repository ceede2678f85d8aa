//! `chandler export --trades`: writes trades as a table that `chandler import` can read.

use std::io::Write;

use files::TradeSink;
use market::{Date, Symbol};
use store::Store;

use crate::context::CommandContext;
use crate::failure::{Failure, usage};

/// Returns the securities that have trades.
pub(super) fn symbols(store: &Store) -> Result<Vec<Symbol>, Failure> {
    let mut reader = store.reader()?;
    let symbols: Vec<Symbol> =
        reader.snapshot()?.traded_symbols()?.into_iter().map(|traded| traded.symbol).collect();
    if symbols.is_empty() { Err(usage("the store has no trades")) } else { Ok(symbols) }
}

/// Writes the trades of a date range, both ends inclusive, and returns their number.
pub(super) fn write(
    (start, end): (Option<Date>, Option<Date>),
    format: files::Format,
    context: &CommandContext,
    store: &Store,
    symbols: &[Symbol],
    mut out: impl Write + Send,
) -> Result<u64, Failure> {
    let mut sink = TradeSink::create(format, &mut out)?;
    let mut reader = store.reader()?;
    let mut rows = 0;
    for symbol in symbols {
        let zone = context.history.venue(symbol).zone();
        let days = context.history.traded_days(&mut reader, symbol, context.as_of())?;
        let wanted = days
            .into_iter()
            .filter(|day| start.is_none_or(|start| day.day >= start) && end.is_none_or(|end| day.day <= end));
        for day in wanted {
            let trades = context.history.day_trades(&mut reader, &day, context.as_of())?;
            sink.write(symbol, zone, &trades)?;
            rows += trades.len() as u64;
        }
    }
    sink.finish()?;
    out.flush()?;
    Ok(rows)
}
