//! From which amount on a trade is large or medium: by the trades of the days before.

use std::collections::BTreeMap;

use market::{CapitalClasses, ClassShares, Date, DaySizes, FlowTrade, Symbol, Timestamp, Venue};
use store::{TradeDay, TradeSizes, View};

use crate::HistoryError;
use crate::trades::read_trades;

/// Trading days before a day that its sizes are told by.
const DAYS: u32 = 20;
/// With fewer trades in them, all that are stored before the day are looked at.
const TRADES_MIN: usize = 1_000;
/// Days that are looked at then, so that one question has an end.
const ALL_DAYS_MAX: u32 = 250;

/// Reckons sizes for days of a symbol one after the other. Amounts of a day are read once, although many days look at them.
#[derive(Debug)]
pub(crate) struct SizeWindow<'a> {
    view: &'a View,
    venue: &'a Venue,
    symbol: &'a Symbol,
    known: BTreeMap<Date, DaySizes>,
}

impl<'a> SizeWindow<'a> {
    pub(crate) fn new(view: &'a View, venue: &'a Venue, symbol: &'a Symbol) -> SizeWindow<'a> {
        SizeWindow { view, venue, symbol, known: BTreeMap::new() }
    }

    /// The classes of a day; `None` if nothing is stored before it.
    pub(crate) fn classes(
        &mut self,
        day: Date,
        shares: ClassShares,
    ) -> Result<Option<CapitalClasses>, HistoryError> {
        let Ok(before) = day.yesterday() else { return Ok(None) };
        let from = self.window_start(day);
        let days = self.view.trade_days_back(self.symbol, before, DAYS)?;
        let near: Vec<&TradeDay> = days.iter().filter(|stored| stored.day >= from).collect();
        self.load(&near)?;
        // What lies before the window of this day lies before that of later ones.
        self.known.retain(|known, _| *known >= from);
        let sizes: Vec<&DaySizes> = near.iter().filter_map(|day| self.known.get(&day.day)).collect();
        if sizes.iter().map(|day| day.len()).sum::<usize>() >= TRADES_MIN {
            return Ok(CapitalClasses::of(&sizes, shares));
        }
        let days = self.view.trade_days_back(self.symbol, before, ALL_DAYS_MAX)?;
        let all: Vec<&TradeDay> = days.iter().collect();
        self.load(&all)?;
        let sizes: Vec<&DaySizes> = all.iter().filter_map(|day| self.known.get(&day.day)).collect();
        Ok(CapitalClasses::of(&sizes, shares))
    }

    /// The same to be kept; `None` also where something cannot be read, which will be said when it is asked for.
    pub(crate) fn kept(&mut self, day: Date, shares: ClassShares) -> Option<TradeSizes> {
        let CapitalClasses { large, medium } = self.classes(day, shares).ok()??;
        Some(TradeSizes {
            large_percent: shares.large,
            medium_percent: shares.medium,
            large_from: large,
            medium_from: medium,
        })
    }

    /// The first of the trading days that a day looks back at.
    fn window_start(&self, day: Date) -> Date {
        let before = |day: Date| self.venue.calendar().on_or_before(day.yesterday().ok()?);
        std::iter::successors(before(day), |day| before(*day)).take(DAYS as usize).last().unwrap_or(day)
    }

    fn load(&mut self, days: &[&TradeDay]) -> Result<(), HistoryError> {
        for day in days {
            if self.known.contains_key(&day.day) {
                continue;
            }
            let entries = self.view.trade_blocks(day)?;
            let trades = read_trades(self.view, self.symbol, &entries)?;
            let mut amounts = Vec::with_capacity(trades.len());
            let end = Timestamp(i64::MAX);
            FlowTrade::each(self.venue, day.day, &trades, end, |trade| amounts.push(trade.amount));
            self.known.insert(day.day, DaySizes::of(amounts));
        }
        Ok(())
    }
}
