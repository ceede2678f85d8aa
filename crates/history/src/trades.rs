//! Queries over single trades: the latest trades, capital flow, and capital distribution. Trades
//! after the query's instant are excluded, and trades of the current minute depending on
//! [`RunningTrades`]. Capital flow uses the newest day that has opened and has trades, like the
//! intraday line.

use std::ops::Range;

use market::{
    CapitalClasses, CapitalDay, ClassShares, Date, DaySizes, Floors, FlowTrade, Period, SecurityKind,
    Session, Symbol, Timestamp, Trade, TradeHours, Trades, Turnover, Venue,
};
use store::{Reader, TradeDay, View};

use crate::as_of::RunningTrades;
use crate::sizes::SizeWindow;
use crate::trade_blocks::read_trades;
use crate::{AsOf, History, HistoryError, Sessions};

/// Maximum number of trades in an answer.
pub const TRADES_MAX: usize = 1000;
/// Maximum number of days that a query for the latest trades reads.
const DAYS_BACK: u32 = 20;
/// Number of newest days to check, because days may be in the future or may not have opened yet.
const DAYS_LOOKED_AT: u32 = 5;

/// The newest trades in ascending order, each with its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatestTrades {
    /// Number of decimals of the security's prices.
    pub decimals: u32,
    pub trades: Vec<(Trade, Session)>,
}

/// Net inflow since the open, at the end of each regular minute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapitalFlow {
    pub day: Date,
    pub lines: Vec<(Timestamp, Turnover)>,
}

/// Maximum number of days read by [`History::trades_around`].
const WINDOW_DAYS_MAX: u32 = 10;

impl History {
    /// Returns an error if a symbol is unknown or has no visible trade.
    pub fn has_trades(&self, reader: &mut Reader, symbol: &Symbol, as_of: AsOf) -> Result<(), HistoryError> {
        let snapshot = reader.snapshot_of(symbol)?;
        self.known_days(&snapshot, symbol, Floors::NONE, as_of, DAYS_LOOKED_AT).map(drop)
    }

    /// Returns an error if a symbol has no visible trade or has no capital flow.
    pub fn has_capital_flow(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        as_of: AsOf,
    ) -> Result<(), HistoryError> {
        let snapshot = reader.snapshot_of(symbol)?;
        self.flow_days(&snapshot, symbol, Floors::NONE, as_of).map(drop)
    }

    /// Returns the days with visible trades, in ascending order.
    pub fn traded_days(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        as_of: AsOf,
    ) -> Result<Vec<TradeDay>, HistoryError> {
        let mut days = reader.snapshot_of(symbol)?.trade_days(symbol)?;
        let known = self.trades_through(symbol, as_of);
        days.retain(|day| day.first <= known);
        Ok(days)
    }

    /// Returns the newest days with visible trades up to and including `through`, newest first.
    /// Reads at most `limit` stored days.
    pub fn traded_days_back(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        through: Date,
        limit: u32,
        as_of: AsOf,
    ) -> Result<Vec<TradeDay>, HistoryError> {
        let mut days = reader.snapshot_of(symbol)?.trade_days_back(symbol, through, limit)?;
        let known = self.trades_through(symbol, as_of);
        days.retain(|day| day.first <= known);
        Ok(days)
    }

    /// Returns the visible trades of a day.
    pub fn day_trades(
        &self,
        reader: &mut Reader,
        day: &TradeDay,
        as_of: AsOf,
    ) -> Result<Trades, HistoryError> {
        let snapshot = reader.snapshot_of(&day.symbol)?;
        let mut trades = read_trades(&snapshot, &day.symbol, &snapshot.trade_blocks(day)?)?;
        let through = self.trades_through(&day.symbol, as_of);
        let known = trades.within(i64::MIN..through.0.saturating_add(1));
        trades.truncate(known.end);
        Ok(trades)
    }

    /// Returns all trades of the stored days that overlap a window, not limited by a clock. `None` if
    /// there are none, or if trades are hidden until their minute is complete.
    pub fn trades_around(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        window: Range<Timestamp>,
    ) -> Result<Option<Trades>, HistoryError> {
        let zone = self.venue(symbol).zone();
        let through = zone.date(window.end).tomorrow();
        let (Ok(through), RunningTrades::Shown) = (through, self.running_trades()) else {
            return Ok(None);
        };
        let view = reader.view();
        let days = i64::from(WINDOW_DAYS_MAX).min((window.end.0 - window.start.0) / 86_400 + 3);
        let mut days = view.trade_days_back(symbol, through, u32::try_from(days).unwrap_or(0))?;
        days.retain(|day| day.first < window.end && day.last >= window.start);
        let mut trades = Trades::default();
        for day in days.iter().rev() {
            trades.append(&read_trades(view, symbol, &view.trade_blocks(day)?)?);
        }
        Ok((!trades.is_empty()).then_some(trades))
    }

    /// Returns at most `count` of the newest trades in the given sessions.
    pub fn latest_trades(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        count: usize,
        sessions: Sessions,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<LatestTrades, HistoryError> {
        let venue = self.venue(symbol);
        let snapshot = reader.snapshot_of(symbol)?;
        let days = self.known_days(&snapshot, symbol, floors, as_of, DAYS_BACK)?;
        let decimals = snapshot.decimals(symbol)?.unwrap_or(store::Security::DECIMALS_DEFAULT);
        let mut hours = TradeHours::new(venue);
        let mut newest: Vec<(Trade, Session)> = Vec::with_capacity(count);
        let known = self.trades_through(symbol, as_of);
        'days: for day in &days {
            for entry in snapshot.trade_blocks(day)?.iter().rev() {
                let trades = read_trades(&snapshot, symbol, std::slice::from_ref(entry))?;
                for trade in trades.iter().rev().filter(|trade| trade.time <= known) {
                    if newest.len() >= count {
                        break 'days;
                    }
                    let session = hours.place(trade.time).map_or(Session::Intraday, |place| place.session);
                    if sessions.holds(session) {
                        newest.push((trade, session));
                    }
                }
            }
        }
        newest.reverse();
        Ok(LatestTrades { decimals, trades: newest })
    }

    /// Returns the cumulative net inflow for each regular minute of the newest day that has opened.
    pub fn capital_flow(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<CapitalFlow, HistoryError> {
        let venue = self.venue(symbol);
        let (day, trades) = self.current_day(reader, symbol, floors, as_of)?;
        let known = self.trades_through(symbol, as_of);
        let mut minutes: Vec<(Timestamp, i128)> = Vec::new();
        FlowTrade::each(venue, day.day, &trades, known, |trade| {
            let amount = i128::from(if trade.is_inflow { trade.amount } else { -trade.amount });
            match minutes.last_mut() {
                Some((minute, sum)) if *minute == trade.minute => *sum += amount,
                _ => minutes.push((trade.minute, amount)),
            }
        });
        let stamps = venue.day(day.day).map(|day| {
            let regular = day.minutes().filter(|(_, slot)| slot.segment.session == Session::Intraday);
            regular.map(|(at, _)| at).take_while(|at| *at <= as_of.now()).collect::<Vec<Timestamp>>()
        });
        let (mut sums, mut total) = (minutes.into_iter().peekable(), 0i128);
        let line = |stamp: Timestamp| {
            while let Some((_, sum)) = sums.next_if(|(minute, _)| *minute <= stamp) {
                total += sum;
            }
            (stamp, Turnover(total))
        };
        Ok(CapitalFlow { day: day.day, lines: stamps.unwrap_or_default().into_iter().map(line).collect() })
    }

    /// Returns the inflow and outflow of the newest day that has opened, by trade size.
    pub fn capital_distribution(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        floors: Floors,
        shares: ClassShares,
        as_of: AsOf,
    ) -> Result<CapitalDay, HistoryError> {
        let venue = self.venue(symbol);
        let known = self.trades_through(symbol, as_of);
        let (day, trades) = self.current_day(reader, symbol, floors, as_of)?;
        let stored = day
            .sizes
            .filter(|sizes| (sizes.large_percent, sizes.medium_percent) == (shares.large, shares.medium));
        let classes = match stored {
            Some(sizes) => Some(CapitalClasses { large: sizes.large_from, medium: sizes.medium_from }),
            None => {
                let snapshot = reader.snapshot_of(symbol)?;
                SizeWindow::new(&snapshot, venue, symbol).classes(day.day, shares)?
            }
        };
        // If no earlier days are stored, the thresholds come from the current day's trades.
        let classes = classes.or_else(|| {
            let mut amounts = Vec::with_capacity(trades.len());
            FlowTrade::each(venue, day.day, &trades, known, |trade| amounts.push(trade.amount));
            CapitalClasses::of(&[&DaySizes::of(amounts)], shares)
        });
        let mut capital = CapitalDay::default();
        if let Some(classes) = classes {
            FlowTrade::each(venue, day.day, &trades, known, |trade| capital.add(classes, &trade));
        }
        Ok(capital)
    }

    /// Returns the newest day whose regular hours have begun, with all its stored trades, including
    /// trades after the query's instant.
    fn current_day(
        &self,
        reader: &mut Reader,
        symbol: &Symbol,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<(TradeDay, Trades), HistoryError> {
        let venue = self.venue(symbol);
        let snapshot = reader.snapshot_of(symbol)?;
        let days = self.flow_days(&snapshot, symbol, floors, as_of)?;
        let opened = |day: &TradeDay| opens_at(venue, day.day).is_some_and(|open| open <= as_of.now());
        let day = days.into_iter().find(opened).ok_or_else(|| HistoryError::NoTrades(symbol.clone()))?;
        let entries = snapshot.trade_blocks(&day)?;
        let trades = read_trades(&snapshot, symbol, &entries)?;
        Ok((day, trades))
    }

    /// Returns the newest days with a visible trade, newest first. Returns an error if no day has a
    /// visible trade, or if the security is a warrant.
    fn flow_days(
        &self,
        view: &View,
        symbol: &Symbol,
        floors: Floors,
        as_of: AsOf,
    ) -> Result<Vec<TradeDay>, HistoryError> {
        let days = self.known_days(view, symbol, floors, as_of, DAYS_LOOKED_AT)?;
        let stored = view.security(symbol)?;
        let kind = stored.and_then(|security| {
            security.kind.or_else(|| Some(SecurityKind::presumed(symbol, security.board.as_deref())))
        });
        match kind {
            Some(SecurityKind::Warrant) => Err(HistoryError::Warrant(symbol.clone())),
            _ => Ok(days),
        }
    }

    /// Returns the last second whose trades are visible.
    fn trades_through(&self, symbol: &Symbol, as_of: AsOf) -> Timestamp {
        match (self.running_trades(), as_of) {
            (RunningTrades::Hidden, AsOf::Replay(_)) => {
                let until = as_of.trades_complete_until(self.venue(symbol));
                Timestamp(until.0.saturating_sub(1))
            }
            _ => as_of.now(),
        }
    }

    /// Returns days with a visible trade, newest first. Returns an error if there are none.
    fn known_days(
        &self,
        view: &View,
        symbol: &Symbol,
        floors: Floors,
        as_of: AsOf,
        limit: u32,
    ) -> Result<Vec<TradeDay>, HistoryError> {
        if symbol.is_us_option() {
            return Err(HistoryError::Option(symbol.clone()));
        }
        if view.decimals(symbol)?.is_none() {
            return Err(HistoryError::UnknownSecurity(symbol.clone()));
        }
        let venue = self.venue(symbol);
        let today = venue.zone().date(as_of.now());
        // In the evening, the current trading day may be the next date.
        let through = venue.trading_day(as_of.now()).map_or(today, |day| day.max(today));
        let mut days = view.trade_days_back(symbol, through, limit)?;
        let floor = floors.of(Period::MINUTE);
        let known = self.trades_through(symbol, as_of);
        days.retain(|day| day.first <= known && floor.is_none_or(|floor| day.day >= floor));
        if days.is_empty() { Err(HistoryError::NoTrades(symbol.clone())) } else { Ok(days) }
    }
}

impl Sessions {
    /// Returns whether a query for these sessions includes `session`.
    fn holds(self, session: Session) -> bool {
        match self {
            Sessions::Intraday => session == Session::Intraday,
            Sessions::Extended => session != Session::Overnight,
            Sessions::All => true,
        }
    }
}

/// Returns the time at which the regular hours of a trading day begin, or `None` if the market is
/// closed on that date.
fn opens_at(venue: &Venue, date: Date) -> Option<Timestamp> {
    let day = venue.day(date)?;
    let first = day.segments.iter().find(|segment| segment.session == Session::Intraday)?;
    Some(day.at(first.start))
}
