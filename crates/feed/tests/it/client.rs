//! Model of how clients build candles from pushes. Written from the specification (live page 3.1,
//! candles page D7), independently of the code under test.

use std::collections::{BTreeMap, BTreeSet};

use feed::{Board, Print, PrintPrice, Push, QuotePush, Tag};
use market::{Candle, Market, Price, Session, Timestamp, TradeEffect, TradeHours, Venue};

/// A candle built by the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Built {
    pub(crate) open: PrintPrice,
    pub(crate) high: PrintPrice,
    pub(crate) low: PrintPrice,
    pub(crate) close: PrintPrice,
    pub(crate) volume: i64,
    /// Turnover in hundred-millionths of the currency.
    pub(crate) turnover: i128,
}

#[derive(Debug)]
pub(crate) struct Client<'a> {
    venue: &'a Venue,
    board: Board,
    /// One-minute candles by session and stamp.
    pub(crate) minutes: BTreeMap<(Session, Timestamp), Built>,
    /// Candles with volume but no price yet. The next price sets their open.
    unopened: BTreeSet<(Session, Timestamp)>,
    /// The newest daily candle, with its date.
    pub(crate) day: Option<(market::Date, Built)>,
    /// Volume and turnover of the client's last quote. A zero in a quote leaves the stored value
    /// unchanged.
    memory: (i64, i128),
}

impl Built {
    fn at(price: PrintPrice) -> Built {
        Built { open: price, high: price, low: price, close: price, volume: 0, turnover: 0 }
    }

    pub(crate) fn of(candle: &Candle) -> Built {
        let [open, high, low, close] =
            [candle.open, candle.high, candle.low, candle.close].map(PrintPrice::from);
        Built { open, high, low, close, volume: candle.volume, turnover: candle.turnover.0 * 100 }
    }
}

impl<'a> Client<'a> {
    pub(crate) fn new(venue: &'a Venue, board: Board) -> Client<'a> {
        let (minutes, unopened) = Default::default();
        Client { venue, board, minutes, unopened, day: None, memory: (0, 0) }
    }

    pub(crate) fn take(&mut self, push: &Push) {
        match push {
            Push::Trades(push) => {
                assert_eq!(self.board, Board::Security);
                push.prints.iter().for_each(|print| self.trade(print, push.session));
            }
            Push::Quote(push) => self.quote(push),
        }
    }

    fn trade(&mut self, print: &Print, session: Session) {
        let stamp = self.bucket(print.time, session).expect("a print in no minute is lost");
        let market = self.venue.market();
        let effect = print.kind.effect(market, session);
        let unit = if market == Market::Cn { 100 } else { 1 };
        let turnover = print.price.0 * i128::from(print.volume) * unit;
        self.merge(stamp, session, print.price, effect, print.volume, turnover);
    }

    fn merge(
        &mut self,
        stamp: Timestamp,
        session: Session,
        price: PrintPrice,
        effect: TradeEffect,
        volume: i64,
        turnover: i128,
    ) {
        let newest = self.minutes.range(..=(session, Timestamp(i64::MAX))).next_back();
        let newest = newest.filter(|((of, _), _)| *of == session).map(|((_, stamp), built)| (*stamp, *built));
        if effect == TradeEffect::Nothing || newest.is_some_and(|(newest, _)| newest > stamp) {
            return;
        }
        let mut built = match newest {
            Some((newest, built)) if newest == stamp => built,
            Some((_, before)) if effect == TradeEffect::VolumeOnly => Built::at(before.close),
            _ => Built::at(price),
        };
        let is_new = newest.is_none_or(|(newest, _)| newest < stamp);
        if effect == TradeEffect::VolumeOnly && is_new {
            self.unopened.insert((session, stamp));
        }
        if effect == TradeEffect::PriceAndVolume {
            if self.unopened.remove(&(session, stamp)) {
                built.open = price;
            }
            built = Built { high: built.high.max(price), low: built.low.min(price), close: price, ..built };
        }
        built.volume += volume;
        built.turnover += turnover;
        self.minutes.insert((session, stamp), built);
    }

    fn quote(&mut self, push: &QuotePush) {
        let figures = &push.figures;
        if push.tag == Tag::Normal {
            if figures.volume != 0 {
                self.memory.0 = figures.volume;
            }
            if figures.turnover.0 != 0 {
                self.memory.1 = figures.turnover.0;
            }
        }
        if push.session != Session::Intraday {
            return;
        }
        if self.board == Board::Index
            && let Some(stamp) = self.bucket(push.time, push.session)
        {
            let turnover = push.growth.turnover.0 * 100;
            let effect = TradeEffect::PriceAndVolume;
            self.merge(stamp, push.session, figures.last.into(), effect, push.growth.volume, turnover);
        }
        let date = self.venue.zone().date(push.time);
        if self.day.is_some_and(|(newest, _)| newest > date) {
            return;
        }
        let (volume, turnover) = match push.tag {
            Tag::Normal => self.memory,
            Tag::Eod => (figures.volume, figures.turnover.0),
        };
        let [open, high, low, close]: [PrintPrice; 4] =
            [figures.open, figures.high, figures.low, figures.last].map(Price::into);
        self.day = Some((date, Built { open, high, low, close, volume, turnover: turnover * 100 }));
    }

    /// Returns the stamp of the one-minute candle that contains `time`, or `None` if `time` is not
    /// in `session`.
    fn bucket(&self, time: Timestamp, session: Session) -> Option<Timestamp> {
        let place = TradeHours::new(self.venue).place(time).ok()?;
        place.minute.filter(|_| place.session == session)
    }
}
