//! One-minute candles that are built from the trades of pushes, with the rules of the SDKs: a trade
//! continues the newest candle of its session, or begins the next one.

use std::collections::BTreeMap;

use market::{Candle, Price, Session, Timestamp, TradeEffect, TradeHours, Turnover, Venue};

/// Number of units of a [`Print`] in a millionth of the currency.
const UNITS: i128 = 100;

/// A trade. Price and turnover are in hundred-millionths of the currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Print {
    pub time: Timestamp,
    pub session: Session,
    pub price: i128,
    pub volume: i64,
    pub turnover: i128,
    pub effect: TradeEffect,
}

/// The newest one-minute candle of each session of a security.
#[derive(Clone, Debug, Default)]
pub struct Forming(BTreeMap<Session, Newest>);

#[derive(Clone, Copy, Debug)]
struct Newest {
    stamp: Timestamp,
    open: i128,
    high: i128,
    low: i128,
    close: i128,
    volume: i64,
    turnover: i128,
    /// Whether no trade has set a price yet. The next price is the open.
    is_unpriced: bool,
}

impl Forming {
    /// Returns the newest candles of a response to which pushes are added. The candles are
    /// ascending.
    pub fn after(candles: &[Candle]) -> Forming {
        Forming(candles.iter().map(|candle| (candle.session, Newest::of(candle))).collect())
    }

    /// Adds a trade. Returns the changed candle, or `None` if the trade changes none: it is outside
    /// the trading hours, or belongs to an earlier minute.
    pub fn add(&mut self, venue: &Venue, print: &Print) -> Option<Candle> {
        let place = TradeHours::new(venue).place(print.time).ok()?;
        let stamp = place.minute.filter(|_| place.session == print.session)?;
        let newest = self.0.get(&print.session);
        if print.effect == TradeEffect::Nothing || newest.is_some_and(|newest| newest.stamp > stamp) {
            return None;
        }
        let is_volume_only = print.effect == TradeEffect::VolumeOnly;
        let mut next = match newest {
            Some(newest) if newest.stamp == stamp => *newest,
            Some(before) if is_volume_only => Newest::begin(stamp, before.close, true),
            _ => Newest::begin(stamp, print.price, is_volume_only),
        };
        if !is_volume_only {
            if std::mem::take(&mut next.is_unpriced) {
                next.open = print.price;
            }
            next.high = next.high.max(print.price);
            next.low = next.low.min(print.price);
            next.close = print.price;
        }
        next.volume = next.volume.checked_add(print.volume)?;
        next.turnover = next.turnover.checked_add(print.turnover)?;
        let candle = next.candle(print.session)?;
        self.0.insert(print.session, next);
        Some(candle)
    }
}

impl Newest {
    fn of(candle: &Candle) -> Newest {
        let units = |price: Price| i128::from(price.0) * UNITS;
        Newest {
            stamp: candle.time,
            open: units(candle.open),
            high: units(candle.high),
            low: units(candle.low),
            close: units(candle.close),
            volume: candle.volume,
            turnover: candle.turnover.0.saturating_mul(UNITS),
            is_unpriced: false,
        }
    }

    fn begin(stamp: Timestamp, price: i128, is_unpriced: bool) -> Newest {
        let (open, high, low, close) = (price, price, price, price);
        Newest { stamp, open, high, low, close, volume: 0, turnover: 0, is_unpriced }
    }

    /// Returns the candle, with prices of six decimals. Only average prices within the candle have
    /// more.
    fn candle(&self, session: Session) -> Option<Candle> {
        let price = |units: i128| i64::try_from(units / UNITS).ok().map(Price);
        Some(Candle {
            time: self.stamp,
            open: price(self.open)?,
            high: price(self.high)?,
            low: price(self.low)?,
            close: price(self.close)?,
            volume: self.volume,
            turnover: Turnover(self.turnover / UNITS),
            session,
        })
    }
}
