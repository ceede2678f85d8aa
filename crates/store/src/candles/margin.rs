use market::{MarginFactor, Symbol};

use crate::candles::batch::{Batch, Change};
use crate::candles::sql;
use crate::candles::view::View;
use crate::engine::{Db, Fault, Row, StoreError};

/// Margin factors of a symbol: initial margin, maintenance margin, and forced liquidation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Margin {
    pub symbol: Symbol,
    pub im: MarginFactor,
    pub mm: MarginFactor,
    pub fm: MarginFactor,
}

impl Margin {
    fn read(row: &Row<'_>) -> Result<Margin, Fault> {
        let symbol = row.text(0)?;
        let symbol = symbol.parse().map_err(|_| Fault::value("symbol", symbol))?;
        Ok(Margin { symbol, im: factor(row, 1)?, mm: factor(row, 2)?, fm: factor(row, 3)? })
    }
}

fn factor(row: &Row<'_>, column: usize) -> Result<MarginFactor, Fault> {
    let text = row.text(column)?;
    MarginFactor::parse(text).map_err(|_| Fault::value("margin factor", text))
}

impl View {
    /// Returns a symbol's margin factors, or `None` if none are stored.
    pub fn margin(&self, symbol: &Symbol) -> Result<Option<Margin>, StoreError> {
        let find = |db: &Db| db.first(sql::MARGIN, [symbol.as_str()], Margin::read);
        self.about(symbol, || self.found_in(&self.margins_complete, find))
    }

    /// Returns all margin factors, ordered by symbol.
    pub fn margins(&self) -> Result<Vec<Margin>, StoreError> {
        self.steady(|| {
            let all = self.db().all(sql::MARGINS, [], Margin::read)?;
            let ascends =
                all.iter().zip(all.iter().skip(1)).all(|(a, b)| a.symbol.as_str() < b.symbol.as_str());
            self.complete(sql::MARGINS, "margin", all.len(), ascends)?;
            Ok(all)
        })
    }
}

impl Batch<'_> {
    /// Adds or replaces a symbol's margin factors.
    pub fn put_margin(&mut self, margin: &Margin) -> Result<Change, StoreError> {
        self.write(|batch| {
            let change = match batch.margin(&margin.symbol)? {
                Some(stored) if stored == *margin => return Ok(Change::Unchanged),
                Some(_) => Change::Replaced,
                None => Change::Added,
            };
            let Margin { symbol, im, mm, fm } = margin;
            let row = (symbol.as_str(), im.to_string(), mm.to_string(), fm.to_string());
            batch.db().run(sql::PUT_MARGIN, row)?;
            batch.touch(symbol)?;
            Ok(change)
        })
    }
}
