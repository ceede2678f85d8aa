//! An in-memory market that implements the feed.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use market::adjust::Amount;
use market::{Candle, Date, Market, Price, Symbol, Timestamp, Turnover, Venue, Venues};
use trading::{
    ActTimes, CorporateAction, Currency, EffectiveCandle, Factors, Feed, Kind, Quantity, Rate, Security,
    Tables, drop_overtaken, mark_of,
};

pub fn venues() -> &'static Venues {
    static VENUES: OnceLock<Venues> = OnceLock::new();
    VENUES.get_or_init(|| Venues::built_in().expect("the compiled-in tables parse"))
}

pub fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| Tables::built_in().expect("the compiled-in tables parse"))
}

pub fn date(text: &str) -> Date {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no date"))
}

pub fn symbol(text: &str) -> Symbol {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no symbol"))
}

pub fn zone(market: Market) -> TimeZone {
    let name = match market {
        Market::Hk => "Asia/Hong_Kong",
        Market::Us => "America/New_York",
        Market::Cn => "Asia/Shanghai",
    };
    TimeZone::get(name).expect("the zones are compiled in")
}

/// Parses a local time in a market, such as `2026-03-18 10:00` or `2026-03-18 10:00:15`.
pub fn at(market: Market, local: &str) -> Timestamp {
    let wall: DateTime = local.parse().unwrap_or_else(|_| panic!("{local:?} is no wall clock reading"));
    Timestamp(wall.to_zoned(zone(market)).expect("inside jiff's range").timestamp().as_second())
}

/// In-memory candles, securities, rates and corporate actions.
#[derive(Clone, Debug, Default)]
pub struct Store {
    pub candles: BTreeMap<Symbol, Vec<EffectiveCandle>>,
    /// All stored candles, including the daily candles of days that are not coarse.
    stored: BTreeMap<Symbol, Vec<EffectiveCandle>>,
    pub securities: BTreeMap<Symbol, Security>,
    pub lots: Vec<(Symbol, Date, Quantity)>,
    pub closes: Vec<(Symbol, Date, Price)>,
    pub actions: Vec<(Symbol, CorporateAction)>,
    pub rates: Vec<(Currency, Date, Rate)>,
    pub factors: BTreeMap<Symbol, Factors>,
}

impl Store {
    /// Adds a one-minute candle with the values `O H L C V`, in the lane of its stamp.
    pub fn add(&mut self, symbol: &Symbol, time: Timestamp, values: &[&str], arrived: Option<Timestamp>) {
        let price = |index: usize| Price::parse(values[index]).unwrap_or_else(|_| panic!("{values:?}"));
        let venue = venues().of(symbol.market());
        let slot = venue.slot(time).unwrap_or_else(|| panic!("{symbol} has no minute at {time}"));
        let candle = Candle {
            time,
            open: price(0),
            high: price(1),
            low: price(2),
            close: price(3),
            volume: values[4].parse().expect("a volume"),
            turnover: Turnover(0),
            session: slot.segment.session,
        };
        candle.check().unwrap_or_else(|flaw| panic!("{values:?}: {flaw}"));
        self.push(symbol, candle, arrived);
    }

    pub fn push(&mut self, symbol: &Symbol, candle: Candle, arrived: Option<Timestamp>) {
        let effective =
            ActTimes::new(venues().of(symbol.market())).of(candle, arrived).expect("a minute of a session");
        self.stored(symbol, effective);
    }

    /// Adds the daily candle of a date with the values `O H L C V`.
    pub fn add_day(&mut self, symbol: &Symbol, date: Date, values: &[&str], arrived: Option<Timestamp>) {
        let price = |index: usize| Price::parse(values[index]).unwrap_or_else(|_| panic!("{values:?}"));
        let venue = venues().of(symbol.market());
        let candle = Candle {
            time: venue.zone().midnight(date),
            open: price(0),
            high: price(1),
            low: price(2),
            close: price(3),
            volume: values[4].parse().expect("a volume"),
            turnover: Turnover(0),
            session: market::Session::Intraday,
        };
        candle.check().unwrap_or_else(|flaw| panic!("{values:?}: {flaw}"));
        let Some(effective) = ActTimes::day(venue, date, candle).filter(|_| !symbol.is_us_option()) else {
            return;
        };
        let at = arrived.map_or(effective.at, |arrived| effective.at.max(arrived));
        self.stored(symbol, EffectiveCandle { at, ..effective });
    }

    fn stored(&mut self, symbol: &Symbol, effective: EffectiveCandle) {
        let stored = self.stored.entry(symbol.clone()).or_default();
        stored.push(effective);
        let has_minutes = |day: &EffectiveCandle| {
            let regular = stored.iter().filter(|other| !other.is_day() && other.day == day.day);
            let mut regular = regular.filter(|other| other.candle.session == market::Session::Intraday);
            regular.any(|minute| minute.at <= day.at)
        };
        let mut candles: Vec<EffectiveCandle> = stored
            .iter()
            .filter(|effective| !effective.is_day() || !has_minutes(effective))
            .copied()
            .collect();
        candles.sort_by_key(|effective| (effective.at, effective.candle.time));
        drop_overtaken(&mut candles);
        self.candles.insert(symbol.clone(), candles);
    }

    pub fn act(&mut self, symbol: &Symbol, ex_date: Date, text: &str, pay_date: Option<Date>) {
        let amount = |text: &str| Amount::parse(text).unwrap_or_else(|_| panic!("{text:?} is no amount"));
        let mut action = market::Action::none(ex_date);
        match text.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["cash", cash] => action.cash = amount(cash),
            ["split", split] => action.split = amount(split),
            ["bonus", bonus] => action.bonus = amount(bonus),
            ["rights", rights, "at", price] => {
                (action.rights, action.rights_price) = (amount(rights), amount(price));
            }
            _ => panic!("{text:?} is no action"),
        }
        self.actions.push((symbol.clone(), CorporateAction { action, pay_date }));
    }
}

impl Feed for Store {
    fn venue(&self, market: Market) -> &Venue {
        venues().of(market)
    }

    fn security(&self, symbol: &Symbol, date: Date) -> Option<Security> {
        let is_option = symbol.is_us_option();
        let plain = Security {
            kind: if is_option { Kind::Option } else { Kind::Equity },
            lot: Quantity::whole(if symbol.market() == Market::Hk { 100 } else { 1 }),
            currency: if symbol.market() == Market::Hk { Currency::HKD } else { Currency::USD },
            is_delisted: false,
        };
        let known =
            self.securities.get(symbol).copied().or_else(|| (symbol.ticker() != "NONE").then_some(plain))?;
        let dated = self
            .lots
            .iter()
            .filter(|(of, from, _)| of == symbol && *from <= date)
            .map(|(_, _, lot)| *lot)
            .next_back();
        Some(Security { lot: dated.unwrap_or(known.lot), ..known })
    }

    fn candles(&self, symbol: &Symbol, after: Timestamp, through: Timestamp, out: &mut Vec<EffectiveCandle>) {
        let Some(all) = self.candles.get(symbol) else { return };
        let from = all.partition_point(|effective| effective.at <= after);
        out.extend(all[from..].iter().take_while(|effective| effective.at <= through));
    }

    fn mark(&self, symbol: &Symbol, at: Timestamp) -> Option<Price> {
        let all = self.candles.get(symbol)?;
        // Only candles close to the instant can determine the mark.
        let end = all.partition_point(|effective| effective.at <= at);
        let tail = &all[end.saturating_sub(3)..all.len().min(end + 3)];
        let mut near: Vec<EffectiveCandle> = tail.to_vec();
        near.sort_by_key(|effective| effective.candle.time);
        mark_of(&near, at)
    }

    fn newest(&self, symbol: &Symbol, at: Timestamp) -> Option<EffectiveCandle> {
        let acted = self
            .candles
            .get(symbol)?
            .iter()
            .filter(|effective| effective.at <= at || effective.is_running(at));
        acted.max_by_key(|effective| effective.candle.time).copied()
    }

    fn close_before(&self, symbol: &Symbol, date: Date) -> Option<Price> {
        let closes = self.closes.iter().filter(|(of, day, _)| of == symbol && *day < date);
        closes.max_by_key(|(_, day, _)| *day).map(|(_, _, close)| *close)
    }

    fn intraday_close(&self, symbol: &Symbol, date: Date) -> Option<Price> {
        let of_day = self.candles.get(symbol)?.iter().filter(|effective| effective.day == date);
        let mut regular = of_day.filter(|effective| effective.candle.session == market::Session::Intraday);
        regular.next_back().map(|effective| effective.candle.close)
    }

    fn actions(&self, symbol: &Symbol, after: Date, through: Date) -> Vec<CorporateAction> {
        let is_meant = |(of, action): &&(Symbol, CorporateAction)| {
            of == symbol && after < action.action.ex_date && action.action.ex_date <= through
        };
        let mut found: Vec<CorporateAction> =
            self.actions.iter().filter(is_meant).map(|(_, action)| action.clone()).collect();
        found.sort_by_key(|action| action.action.ex_date);
        found
    }

    fn rate(&self, currency: Currency, date: Date) -> Option<Rate> {
        let known = self.rates.iter().filter(|(of, from, _)| *of == currency && *from <= date);
        known.max_by_key(|(_, from, _)| *from).map(|(_, _, rate)| *rate)
    }

    fn factors(&self, symbol: &Symbol) -> Option<Factors> {
        self.factors.get(symbol).copied()
    }
}
