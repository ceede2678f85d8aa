//! Removes all stored data of a symbol, or its candles of one period.

use market::{Grain, Period, Symbol, Timestamp, Venues};
use store::{
    ImportProgress, ImportSource, ImportState, NewImport, SeriesInfo, Store, StoreError, TradeSource, View,
};

use crate::adjustment;

/// Data to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    pub symbol: Symbol,
    /// Remove only the candles of this period. `None` removes everything: candles, trades,
    /// corporate actions, margin factors and the security itself.
    pub period: Option<Period>,
    /// Includes the roll-ups of removed series.
    pub series: Vec<SeriesInfo>,
    pub trade_days: u64,
    pub trades: u64,
    pub actions: u64,
    /// Source files of the candles, which can be imported again if the files still exist.
    pub sources: Vec<ImportSource>,
    pub trade_sources: Vec<TradeSource>,
}

#[derive(Debug, thiserror::Error)]
pub enum RemovalError {
    #[error("nothing is stored for {0}")]
    Unknown(Symbol),
    #[error(
        "no {period} candles are stored for {symbol} itself: derived candles are removed with their \
     source"
    )]
    NoSuchPeriod { symbol: Symbol, period: Period },
    #[error("the store has changed in the meantime: check again what would be removed")]
    Meanwhile,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Plans a removal, without changing anything.
pub fn plan_removal(view: &View, symbol: &Symbol, period: Option<Period>) -> Result<Removal, RemovalError> {
    if view.security(symbol)?.is_none() {
        return Err(RemovalError::Unknown(symbol.clone()));
    }
    let mut series = view.series_of(symbol)?;
    series.retain(|info| period.is_none_or(|period| belongs(info.series.grain, period)));
    if let Some(period) = period.filter(|_| series.is_empty()) {
        return Err(RemovalError::NoSuchPeriod { symbol: symbol.clone(), period });
    }
    let mut sources = view.import_sources(symbol)?;
    sources.retain(|source| series.iter().any(|info| info.series == source.series));
    let is_whole = period.is_none();
    let days = if is_whole { view.trade_days(symbol)? } else { Vec::new() };
    Ok(Removal {
        symbol: symbol.clone(),
        period,
        series,
        trade_days: days.len() as u64,
        trades: days.iter().map(|day| day.rows).sum(),
        actions: if is_whole { view.actions(symbol)?.len() as u64 } else { 0 },
        sources,
        trade_sources: if is_whole { view.trade_sources(symbol)? } else { Vec::new() },
    })
}

/// Returns whether a grain stores candles of `period`, or roll-ups of these candles.
fn belongs(grain: Grain, period: Period) -> bool {
    let is_rolled_up = Grain::ROLLED_UP.contains(&grain);
    if is_rolled_up { period == Period::MINUTE } else { grain.period() == period }
}

/// Removes the data listed in `planned` and records the removal in the ledger. Returns an error if
/// the stored data has changed since `planned` was computed.
pub fn remove(store: &Store, venues: &Venues, planned: &Removal, now: Timestamp) -> Result<(), RemovalError> {
    let mut writer = store.writer()?;
    let mut batch = writer.begin()?;
    if plan_removal(&batch, &planned.symbol, planned.period)? != *planned {
        return Err(RemovalError::Meanwhile);
    }
    for info in &planned.series {
        batch.remove_series(&info.series)?;
    }
    if planned.period.is_none() {
        batch.remove_trades(&planned.symbol)?;
        batch.remove_security(&planned.symbol)?;
    }
    let id = batch.start_import(&NewImport {
        file: planned.symbol.to_string(),
        digest: [0; 32],
        bytes: 0,
        kind: "removal".to_owned(),
        options: planned.period.map(|period| format!("period={period}")).unwrap_or_default(),
        started_at: now,
    })?;
    let progress = ImportProgress {
        state: ImportState::Done,
        rows_read: 0,
        rows_done: 0,
        added: 0,
        replaced: 0,
        unchanged: 0,
        quarantined: 0,
        message: Some(planned.message()),
    };
    batch.checkpoint_import(id, &progress, now)?;
    adjustment::keep_all(&mut batch, venues)?;
    Ok(batch.commit()?)
}

impl Removal {
    /// Returns the number of candles, without roll-ups.
    pub fn candles(&self) -> u64 {
        let own = self.series.iter().filter(|info| !Grain::ROLLED_UP.contains(&info.series.grain));
        own.map(|info| info.rows).sum()
    }

    /// Returns the message for the ledger.
    fn message(&self) -> String {
        let mut parts = vec![format!("{} candles", self.candles())];
        parts.extend((self.trades > 0).then(|| format!("{} trades", self.trades)));
        parts.extend((self.actions > 0).then(|| format!("{} corporate actions", self.actions)));
        format!("removed: {}", parts.join(", "))
    }
}
