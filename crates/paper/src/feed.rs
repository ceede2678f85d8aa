//! The engine's market data, which is read from the store.
//!
//! The engine's queries are infallible, but store reads are not. The first failure is recorded, and
//! later queries return nothing. The caller must check for a failure before using a result
//! ([`StoreFeed::checked`]).

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use history::{AsOf, History, HistoryError};
use market::{Date, Market, Price, SecurityKind, Symbol, Timestamp, Venue};
use store::{Reader, StoreError};
use trading::{
    Account, CorporateAction, Currency, EffectiveCandle, Factors, Feed, Kind, Quantity, Rate, Security,
    drop_overtaken,
};

use crate::arrivals::{Arrivals, Late, REMEMBERED_FOR};
use crate::caches::{Closes, Rates, Securities};
use crate::minutes::{Minutes, Part};

/// State shared by the feeds of all requests.
#[derive(Debug)]
pub(crate) struct Markets {
    pub(crate) history: History,
    pub(crate) minutes: Minutes,
    pub(crate) arrivals: Arrivals,
    pub(crate) securities: Securities,
    pub(crate) closes: Closes,
}

/// Market data for one request, at one version of the store.
pub(crate) struct StoreFeed<'a> {
    markets: &'a Markets,
    reader: RefCell<&'a mut Reader>,
    rates: Arc<Rates>,
    version: i64,
    as_of: AsOf,
    failed: RefCell<Option<HistoryError>>,
}

impl<'a> StoreFeed<'a> {
    pub(crate) fn new(
        markets: &'a Markets,
        reader: &'a mut Reader,
        rates: Arc<Rates>,
        as_of: AsOf,
    ) -> Result<StoreFeed<'a>, StoreError> {
        let version = reader.version()?;
        let (reader, failed) = (RefCell::new(reader), RefCell::new(None));
        Ok(StoreFeed { markets, reader, rates, version, as_of, failed })
    }

    /// Returns `made`, or the error of the first failed query.
    pub(crate) fn checked<T>(&self, made: T) -> Result<T, HistoryError> {
        self.failed.borrow_mut().take().map_or(Ok(made), Err)
    }

    /// Returns the stored security record, which contains the names. Returns `None` if the symbol
    /// is unknown or after a failure.
    pub(crate) fn stored_security(&self, symbol: &Symbol) -> Option<store::Security> {
        self.ask(|reader| Ok(reader.view().security(symbol)?))
    }

    /// Like [`Feed::close_before`], but caches the closes of the whole range.
    pub(crate) fn close_in(&self, symbol: &Symbol, date: Date, range: (Date, Date)) -> Option<Price> {
        let Markets { history, closes, .. } = self.markets;
        self.ask(|reader| closes.before((history, reader), (symbol, self.version), date, range))
    }

    /// Queries the store. Records the first failure, and then always returns `None`.
    fn ask<T>(&self, ask: impl FnOnce(&mut Reader) -> Result<Option<T>, HistoryError>) -> Option<T> {
        if self.failed.borrow().is_some() {
            return None;
        }
        match ask(&mut self.reader.borrow_mut()) {
            Ok(answer) => answer,
            Err(error) => {
                *self.failed.borrow_mut() = Some(error);
                None
            }
        }
    }

    fn part(&self, symbol: &Symbol, index: i64) -> Option<Arc<Part>> {
        let Markets { history, minutes, arrivals, .. } = self.markets;
        self.ask(|reader| {
            let part = minutes.part((history, arrivals), reader, (symbol, index), self.version, self.as_of);
            part.map(Some)
        })
    }

    /// Finds candles that arrived since the last call, for every symbol with open orders or grids.
    /// The candles take effect at the same instant for all accounts of this process, at least one
    /// second from now.
    pub(crate) fn notice(&self, account: &Account) {
        let AsOf::Live(now) = self.as_of else { return };
        let mut since: BTreeMap<&Symbol, Timestamp> = BTreeMap::new();
        let orders = account.open_orders().map(|order| (order.symbol(), order.submitted_at));
        let grids = account.watching_grids().map(|grid| (&grid.symbol, grid.since.at()));
        for (symbol, at) in orders.chain(grids) {
            let oldest = since.entry(symbol).or_insert(at);
            *oldest = at.min(*oldest);
        }
        let remembered = Timestamp(now.0.saturating_sub(REMEMBERED_FOR));
        for (symbol, since) in since {
            for index in Minutes::indexes(since.max(remembered), now) {
                if let Some(part) = self.part(symbol, index) {
                    self.markets.minutes.remember((symbol, index), &part, now);
                }
            }
        }
    }

    /// Returns when a late candle next takes effect on an open order or grid, or `None` if there is
    /// no such candle.
    pub(crate) fn next_late(&self, account: &Account, after: Timestamp) -> Option<Timestamp> {
        let gridded = account.watching_grids().map(|grid| &grid.symbol);
        let symbols: BTreeSet<&Symbol> = account.open_symbols().chain(gridded).collect();
        let late = symbols.into_iter().filter_map(|symbol| self.late(symbol));
        late.filter_map(|late| late.next(after)).min()
    }

    /// Searches the cached parts around an instant from the newest to the oldest. If no part
    /// matches, falls back to the newest candle before these parts.
    fn found_back<T>(
        &self,
        symbol: &Symbol,
        at: Timestamp,
        find: impl Fn(&[EffectiveCandle], Timestamp) -> Option<T>,
        of_before: impl Fn(&EffectiveCandle) -> T,
    ) -> Option<T> {
        let late = self.late(symbol);
        let mut before = None;
        for index in Minutes::indexes(at, at).rev() {
            let part = self.part(symbol, index)?;
            let found = match &late {
                None => find(&part.effective, at),
                Some(late) => find(&part.delayed(late), at),
            };
            if found.is_some() {
                return found;
            }
            before = part.before;
        }
        before.as_ref().map(of_before)
    }

    /// Returns a symbol's late candles, or `None` if there are none. Under a replay clock, no
    /// candle is late.
    fn late(&self, symbol: &Symbol) -> Option<Arc<Late>> {
        match self.as_of {
            AsOf::Live(_) => self.markets.arrivals.of_symbol(symbol),
            AsOf::Replay(_) => None,
        }
    }

    /// Returns the candles that take effect after `after` and up to `through`, including late
    /// candles. A newer candle that took effect before a late candle may be older than `after`, so
    /// reading starts at the oldest late stamp.
    fn candles_with_late(
        &self,
        symbol: &Symbol,
        late: &Late,
        (after, through): (Timestamp, Timestamp),
    ) -> Vec<EffectiveCandle> {
        let oldest = late.oldest(after, through).map_or(after, |oldest| oldest.min(after));
        let mut effective = Vec::new();
        for index in Minutes::indexes(oldest, through) {
            let Some(part) = self.part(symbol, index) else { return Vec::new() };
            effective.extend(part.delayed(late));
        }
        effective.sort_by_key(|effective| (effective.at, effective.candle.time));
        drop_overtaken(&mut effective);
        effective.retain(|effective| effective.at > after && effective.at <= through);
        effective
    }
}

impl Feed for StoreFeed<'_> {
    fn venue(&self, market: Market) -> &Venue {
        self.markets.history.venues().of(market)
    }

    fn security(&self, symbol: &Symbol, date: Date) -> Option<Security> {
        // Every security with candles has a row in the store.
        let stored = self.ask(|reader| Ok(self.markets.securities.get(reader, symbol, self.version)?))?;
        let board = stored.board.as_deref();
        let kind = match stored.kind {
            _ if symbol.is_us_option() => Kind::Option,
            _ if symbol.is_index() => Kind::Index,
            kind => match kind.unwrap_or_else(|| SecurityKind::presumed(symbol, board)) {
                SecurityKind::Equity => Kind::Equity,
                SecurityKind::Etf => Kind::Etf,
                SecurityKind::Reit => Kind::Reit,
                SecurityKind::Warrant => Kind::Warrant,
            },
        };
        let lot = match symbol.market() {
            Market::Hk => stored.lot_size.filter(|lot| *lot > 0).unwrap_or(1),
            Market::Us | Market::Cn => 1,
        };
        let currency = stored.currency.as_deref().and_then(|text| text.parse().ok());
        Some(Security {
            kind,
            lot: Quantity::whole(lot),
            currency: currency.unwrap_or_else(|| currency_of(symbol.market())),
            is_delisted: stored.delisted_on.is_some_and(|delisted| delisted <= date),
        })
    }

    fn candles(&self, symbol: &Symbol, after: Timestamp, through: Timestamp, out: &mut Vec<EffectiveCandle>) {
        if let Some(late) = self.late(symbol) {
            out.extend(self.candles_with_late(symbol, &late, (after, through)));
            return;
        }
        for index in Minutes::indexes(after, through) {
            let Some(part) = self.part(symbol, index) else { return };
            out.extend_from_slice(part.between(after, through));
        }
    }

    fn scan(
        &self,
        symbol: &Symbol,
        after: Timestamp,
        through: Timestamp,
        see: &mut dyn FnMut(&EffectiveCandle),
    ) {
        if let Some(late) = self.late(symbol) {
            self.candles_with_late(symbol, &late, (after, through)).iter().for_each(see);
            return;
        }
        for index in Minutes::indexes(after, through) {
            let Some(part) = self.part(symbol, index) else { return };
            part.between(after, through).iter().for_each(&mut *see);
        }
    }

    fn mark(&self, symbol: &Symbol, at: Timestamp) -> Option<Price> {
        self.found_back(symbol, at, mark_in, |before| before.candle.close)
    }

    fn newest(&self, symbol: &Symbol, at: Timestamp) -> Option<EffectiveCandle> {
        let newest = |by_stamp: &[EffectiveCandle], at: Timestamp| {
            by_stamp.iter().rev().find(|effective| effective.at <= at || effective.is_running(at)).copied()
        };
        self.found_back(symbol, at, newest, |before| *before)
    }

    fn close_before(&self, symbol: &Symbol, date: Date) -> Option<Price> {
        self.ask(|reader| self.markets.history.close_before(reader.view(), symbol, date))
    }

    fn intraday_close(&self, symbol: &Symbol, date: Date) -> Option<Price> {
        self.ask(|reader| self.markets.history.intraday_close(reader.view(), symbol, date))
    }

    fn actions(&self, symbol: &Symbol, after: Date, through: Date) -> Vec<CorporateAction> {
        let stored = self.ask(|reader| Ok(Some(reader.view().stored_actions(symbol)?))).unwrap_or_default();
        let is_due = |date: Date| date > after && date <= through;
        let due = stored.into_iter().filter(|stored| is_due(stored.action.ex_date));
        due.map(|stored| CorporateAction { action: stored.action, pay_date: stored.pay_date }).collect()
    }

    fn rate(&self, currency: Currency, date: Date) -> Option<Rate> {
        self.rates.on(currency, date)
    }

    fn is_rate_builtin(&self, currency: Currency, date: Date) -> bool {
        self.rates.is_builtin(currency, date)
    }

    fn factors(&self, symbol: &Symbol) -> Option<Factors> {
        let margin = self.ask(|reader| Ok(reader.view().margin(symbol)?))?;
        let [im, mm, fm] = [margin.im, margin.mm, margin.fm].map(market::MarginFactor::millionths);
        Some(Factors { im, mm, fm })
    }
}

/// Finds the mark by the rule of [`trading::mark_of`], but searches backwards: the newest candle
/// with a known price is the mark.
fn mark_in(by_stamp: &[EffectiveCandle], at: Timestamp) -> Option<Price> {
    let stamped = by_stamp.partition_point(|effective| effective.candle.time <= at);
    let report = by_stamp.get(..stamped)?.iter().rev();
    let mut prices = report.filter_map(|effective| match effective.at <= at {
        true => Some(effective.candle.close),
        false => effective.is_running(at).then_some(effective.candle.open),
    });
    prices.next()
}

fn currency_of(market: Market) -> Currency {
    match market {
        Market::Hk => Currency::HKD,
        Market::Us => Currency::USD,
        Market::Cn => Currency::CNH,
    }
}

#[cfg(test)]
mod tests {
    use market::{Candle, Session, Turnover};
    use trading::CandleKind;

    use super::*;

    fn effective(time: i64, open: i64, close: i64, at: i64, kind: CandleKind) -> EffectiveCandle {
        let price = |units| Price(units * market::PRICE_UNIT);
        let candle = Candle {
            time: Timestamp(time),
            open: price(open),
            high: price(open.max(close)),
            low: price(open.min(close)),
            close: price(close),
            volume: 1,
            turnover: Turnover::default(),
            session: Session::Intraday,
        };
        EffectiveCandle { candle, at: Timestamp(at), day: "2026-03-18".parse().unwrap(), kind }
    }

    #[test]
    fn the_backward_search_agrees_with_mark_of() {
        let candles = [
            effective(0, 1, 2, 60, CandleKind::Minute),
            effective(60, 3, 4, 500, CandleKind::Minute),
            effective(120, 5, 6, 180, CandleKind::Minute),
            effective(180, 7, 8, 780, CandleKind::Tail),
            effective(840, 9, 10, 860, CandleKind::Day),
        ];
        for at in (-10..900).step_by(5).map(Timestamp) {
            assert_eq!(mark_in(&candles, at), trading::mark_of(&candles, at), "at {}", at.0);
        }
    }
}
