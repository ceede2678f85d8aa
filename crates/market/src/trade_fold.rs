//! Folds trades into one-minute candles and a daily candle.
//!
//! A trade's type determines whether the trade affects price and volume (`TradeType::effect`). A
//! candle exists only if at least one trade moved its price; trades that add only volume create no
//! candle. Trades in extended hours are part of the one-minute candles, but never of the daily
//! candle.

use crate::{
    Candle, Candles, Date, Price, Session, Timestamp, Trade, TradeEffect, TradeHours, Trades, Turnover,
    Venue, fold,
};

/// Candles built from the trades of one trading day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TradeCandles {
    /// One-minute candles of all sessions, ascending.
    pub minutes: Candles,
    /// Daily candle, or `None` if no trade in regular hours moved the price.
    pub day: Option<Candle>,
}

impl TradeCandles {
    /// Folds the trades of one trading day, which must be in chronological order. Trades on other
    /// days are skipped.
    pub fn of(venue: &Venue, day: Date, trades: &Trades) -> Result<TradeCandles, fold::Overflow> {
        let mut hours = TradeHours::new(venue);
        let (mut minutes, mut whole) = (Candles::default(), Forming::new(venue.zone().midnight(day)));
        let mut minute: Option<Forming> = None;
        for trade in trades.iter() {
            let Ok(place) = hours.place(trade.time) else { continue };
            if place.day != day {
                continue;
            }
            let effect = trade.kind.effect(venue.market(), place.session);
            if place.session == Session::Intraday {
                whole.add(&trade, effect)?;
            }
            let Some(stamp) = place.minute else { continue };
            if minute.as_ref().is_none_or(|minute| minute.stamp != stamp) {
                minutes.extend_one(minute.take().and_then(Forming::candle));
                minute = Some(Forming { session: place.session, ..Forming::new(stamp) });
            }
            if let Some(minute) = &mut minute {
                minute.add(&trade, effect)?;
            }
        }
        minutes.extend_one(minute.and_then(Forming::candle));
        Ok(TradeCandles { minutes, day: whole.candle() })
    }
}

impl Candles {
    fn extend_one(&mut self, candle: Option<Candle>) {
        if let Some(candle) = candle {
            self.push(candle);
        }
    }
}

/// A candle under construction.
#[derive(Clone, Copy, Debug)]
struct Forming {
    stamp: Timestamp,
    session: Session,
    /// Open, high, low, close.
    prices: Option<[Price; 4]>,
    volume: i64,
    turnover: i128,
}

impl Forming {
    fn new(stamp: Timestamp) -> Forming {
        Forming { stamp, session: Session::Intraday, prices: None, volume: 0, turnover: 0 }
    }

    fn add(&mut self, trade: &Trade, effect: TradeEffect) -> Result<(), fold::Overflow> {
        if effect == TradeEffect::Nothing {
            return Ok(());
        }
        if effect == TradeEffect::PriceAndVolume {
            let [open, high, low, _] = self.prices.unwrap_or([trade.price; 4]);
            self.prices = Some([open, high.max(trade.price), low.min(trade.price), trade.price]);
        }
        let sum = self.volume.checked_add(trade.volume);
        self.volume = sum.ok_or(fold::Overflow { at: self.stamp })?;
        self.turnover += trade.turnover().0;
        Ok(())
    }

    fn candle(self) -> Option<Candle> {
        let [open, high, low, close] = self.prices?;
        Some(Candle {
            time: self.stamp,
            open,
            high,
            low,
            close,
            volume: self.volume,
            turnover: Turnover(self.turnover),
            session: self.session,
        })
    }
}
