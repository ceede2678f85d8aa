//! Thresholds for large and medium trades, computed from the trades of previous days.

use std::collections::BTreeMap;

use market::{CapitalClasses, ClassShares, Date, DaySizes, FlowTrade, Symbol, Timestamp, Venue};
use store::{TradeDay, TradeSizes, View};

use crate::HistoryError;
use crate::trade_blocks::read_trades;

/// Number of previous trading days from which the thresholds of a day are computed.
const DAYS: u32 = 20;
/// Minimum number of trades in the previous [`DAYS`] trading days. If there are fewer, all earlier
/// stored trades are used.
const TRADES_MIN: usize = 1_000;
/// Approximate maximum number of trades read if all earlier trades are used, to bound the cost of
/// one query.
const ALL_TRADES_MAX: u64 = 5_000_000;

/// Computes thresholds for successive days of a symbol. Caches the amounts of each day, because the
/// windows of many days overlap.
#[derive(Debug)]
pub(crate) struct SizeWindow<'a> {
    view: &'a View,
    venue: &'a Venue,
    symbol: &'a Symbol,
    /// All days with trades, ascending; loaded on first use.
    days: Option<Vec<TradeDay>>,
    known: BTreeMap<Date, DaySizes>,
    all: Option<AllSizes>,
}

/// Amounts of all trades in `from..until`. Later days are added incrementally.
#[derive(Debug)]
struct AllSizes {
    from: Date,
    until: Date,
    sizes: DaySizes,
}

impl<'a> SizeWindow<'a> {
    pub(crate) fn new(view: &'a View, venue: &'a Venue, symbol: &'a Symbol) -> SizeWindow<'a> {
        SizeWindow { view, venue, symbol, days: None, known: BTreeMap::new(), all: None }
    }

    /// Creates a window with preloaded trade days (ascending), for repeated calls.
    pub(crate) fn over(
        view: &'a View,
        venue: &'a Venue,
        symbol: &'a Symbol,
        days: Vec<TradeDay>,
    ) -> SizeWindow<'a> {
        SizeWindow { days: Some(days), ..SizeWindow::new(view, venue, symbol) }
    }

    /// Returns the thresholds of a day, or `None` if no trades are stored before it.
    pub(crate) fn classes(
        &mut self,
        day: Date,
        shares: ClassShares,
    ) -> Result<Option<CapitalClasses>, HistoryError> {
        let from = self.window_start(day);
        let near = self.near(from, day)?;
        for day in &near {
            if !self.known.contains_key(&day.day) {
                let amounts = amounts(self.view, self.venue, day)?;
                self.known.insert(day.day, DaySizes::of(amounts));
            }
        }
        // Later days have later windows, so amounts before this window are no longer needed.
        self.known.retain(|known, _| *known >= from);
        let sizes: Vec<&DaySizes> = near.iter().filter_map(|day| self.known.get(&day.day)).collect();
        if sizes.iter().map(|day| day.len()).sum::<usize>() >= TRADES_MIN {
            return Ok(CapitalClasses::of(&sizes, shares));
        }
        self.classes_of_all(day, shares)
    }

    /// Returns the thresholds to store, or `None` if there are none or a block cannot be read. In
    /// the latter case, the query that needs them reports the error.
    pub(crate) fn cached(&mut self, day: Date, shares: ClassShares) -> Option<TradeSizes> {
        let CapitalClasses { large, medium } = self.classes(day, shares).ok()??;
        Some(TradeSizes {
            large_percent: shares.large,
            medium_percent: shares.medium,
            large_from: large,
            medium_from: medium,
        })
    }

    /// Returns the first trading day of the window before a day.
    fn window_start(&self, day: Date) -> Date {
        let before = |day: Date| self.venue.calendar().on_or_before(day.yesterday().ok()?);
        std::iter::successors(before(day), |day| before(*day)).take(DAYS as usize).last().unwrap_or(day)
    }

    /// Returns the days with stored trades in `from..day`.
    fn near(&self, from: Date, day: Date) -> Result<Vec<TradeDay>, HistoryError> {
        if let Some(days) = &self.days {
            let before = |date: Date| days.partition_point(|stored| stored.day < date);
            return Ok(days.get(before(from)..before(day)).unwrap_or_default().to_vec());
        }
        let Ok(before) = day.yesterday() else { return Ok(Vec::new()) };
        let mut days = self.view.trade_days_back(self.symbol, before, DAYS)?;
        days.retain(|stored| stored.day >= from);
        Ok(days)
    }

    fn classes_of_all(
        &mut self,
        day: Date,
        shares: ClassShares,
    ) -> Result<Option<CapitalClasses>, HistoryError> {
        if self.days.is_none() {
            self.days = Some(self.view.trade_days(self.symbol)?);
        }
        let days = self.days.as_deref().unwrap_or_default();
        let stored = days.get(..days.partition_point(|stored| stored.day < day)).unwrap_or_default();
        let mut trades = 0;
        let has_room = |day: &&TradeDay| {
            let before = trades;
            trades += day.rows;
            before < ALL_TRADES_MAX
        };
        let Some(oldest) = stored.iter().rev().take_while(has_room).last() else { return Ok(None) };
        let from = oldest.day;
        let mut all = match self.all.take() {
            Some(all) if all.from == from && all.until <= day => all,
            _ => AllSizes { from, until: from, sizes: DaySizes::of(Vec::new()) },
        };
        for new in stored.iter().skip_while(|stored| stored.day < all.until) {
            all.sizes.add(&amounts(self.view, self.venue, new)?);
        }
        all.until = day;
        let classes = CapitalClasses::of(&[&all.sizes], shares);
        self.all = Some(all);
        Ok(classes)
    }
}

/// Returns the amounts of a day's trades that contribute to capital flow.
fn amounts(view: &View, venue: &Venue, day: &TradeDay) -> Result<Vec<i64>, HistoryError> {
    let entries = view.trade_blocks(day)?;
    let trades = read_trades(view, &day.symbol, &entries)?;
    let mut amounts = Vec::with_capacity(trades.len());
    FlowTrade::each(venue, day.day, &trades, Timestamp(i64::MAX), |trade| amounts.push(trade.amount));
    Ok(amounts)
}
