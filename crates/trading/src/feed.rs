//! Market data for the engine. The caller implements [`Feed`] over its candle store. Nothing here
//! reads ahead: every query names the instant or date up to which it may be answered.

use market::adjust::Amount;
use market::{Candle, Date, Market, Price, Session, Slot, Symbol, Timestamp, Venue};

use crate::decimal::{DecimalError, parse_units};
use crate::money::Currency;
use crate::money::Rate;
use crate::quantity::Quantity;
use crate::words::Kind;

/// Market data as of an instant.
///
/// An implementation should cache the latest minutes of a symbol: 1,000 accounts with 10,000 open
/// orders all read the same candles. Only symbols with open orders are queried, in steps of at most
/// a day.
pub trait Feed {
    fn venue(&self, market: Market) -> &Venue;

    /// The kind, lot and currency of a security on a date. `None` if it is unknown.
    fn security(&self, symbol: &Symbol, date: Date) -> Option<Security>;

    /// Appends the candles that take effect after one instant and up to another (inclusive), of all
    /// lanes, ascending by [`EffectiveCandle::at`] and then by stamp. Candles overtaken by a newer
    /// one of their lane ([`drop_overtaken`]) are left out. A coarse day, one with a daily candle
    /// and no intraday minute, has [`ActTimes::day`] in place of minutes; options have none.
    fn candles(&self, symbol: &Symbol, after: Timestamp, through: Timestamp, out: &mut Vec<EffectiveCandle>);

    /// Visits the same candles in the same order. Most of them match no order, so an implementation
    /// with cached candles need not copy them.
    fn scan(
        &self,
        symbol: &Symbol,
        after: Timestamp,
        through: Timestamp,
        see: &mut dyn FnMut(&EffectiveCandle),
    ) {
        let mut candles = Vec::new();
        self.candles(symbol, after, through, &mut candles);
        candles.iter().for_each(see);
    }

    /// The mark price at an instant, from candles of all sessions; see [`mark_of`].
    fn mark(&self, symbol: &Symbol, at: Timestamp) -> Option<Price>;

    /// The actual close of the last daily candle before a date.
    fn close_before(&self, symbol: &Symbol, date: Date) -> Option<Price>;

    /// The newest candle known at an instant, in any lane: the one behind the mark.
    fn newest(&self, symbol: &Symbol, at: Timestamp) -> Option<EffectiveCandle>;

    /// The close of the last intraday minute of a trading day, or of its daily candle if the day is
    /// coarse.
    fn intraday_close(&self, symbol: &Symbol, date: Date) -> Option<Price>;

    /// Corporate actions with `after < ex-date <= through`, ascending by ex-date.
    fn actions(&self, symbol: &Symbol, after: Date, through: Date) -> Vec<CorporateAction>;

    /// HKD for one unit of a currency: the latest rate on or before a date. Never called for HKD.
    fn rate(&self, currency: Currency, date: Date) -> Option<Rate>;

    /// Whether that rate is an approximate built-in one, because none was reported.
    fn is_rate_builtin(&self, _: Currency, _: Date) -> bool {
        false
    }

    fn factors(&self, symbol: &Symbol) -> Option<Factors>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
    pub kind: Kind,
    /// Shares of a board lot; 1 outside of Hong Kong.
    pub lot: Quantity,
    pub currency: Currency,
    pub is_delisted: bool,
}

impl Security {
    /// Shares behind one unit of quantity.
    pub fn multiplier(&self) -> u32 {
        if self.kind == Kind::Option { 100 } else { 1 }
    }
}

/// Margin factors of a security, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factors {
    pub im: i64,
    pub mm: i64,
    pub fm: i64,
}

pub(crate) const FACTOR_UNIT: i64 = 1_000_000;

impl Factors {
    /// No credit on the security.
    pub const NONE: Factors = Factors { im: FACTOR_UNIT, mm: FACTOR_UNIT, fm: FACTOR_UNIT };
    /// Minimum factors of a short position.
    pub(crate) const SHORT: Factors = Factors { im: 500_000, mm: 300_000, fm: 250_000 };

    pub fn parse(im: &str, mm: &str, fm: &str) -> Result<Factors, DecimalError> {
        let factor = |text: &str| match parse_units(text, 6)? {
            (units, true) => match i64::try_from(units) {
                Ok(units) if (0..=10 * FACTOR_UNIT).contains(&units) => Ok(units),
                _ => Err(DecimalError::Range),
            },
            (_, false) => Err(DecimalError::Decimals(6)),
        };
        Ok(Factors { im: factor(im)?, mm: factor(mm)?, fm: factor(fm)? })
    }
}

/// A corporate action, everything per old share, and when its cash is paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorporateAction {
    pub action: market::Action,
    /// The ex-date if it is not known.
    pub pay_date: Option<Date>,
}

impl CorporateAction {
    pub fn cash(ex_date: Date, cash: Amount) -> CorporateAction {
        CorporateAction { action: market::Action { cash, ..market::Action::none(ex_date) }, pay_date: None }
    }
}

/// A complete candle and the instant at which it takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectiveCandle {
    pub candle: Candle,
    pub at: Timestamp,
    /// The trading day it belongs to.
    pub day: Date,
    pub kind: CandleKind,
}

/// The period that an effective candle covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandleKind {
    Minute,
    /// The closing auction.
    Tail,
    /// The regular hours of a coarse day, stamped with its opening.
    Day,
}

impl EffectiveCandle {
    pub fn is_tail(&self) -> bool {
        self.kind == CandleKind::Tail
    }

    pub fn is_day(&self) -> bool {
        self.kind == CandleKind::Day
    }

    /// Whether its open is known at an instant before it takes effect: true of a running minute
    /// that is not late.
    pub fn is_running(&self, at: Timestamp) -> bool {
        self.kind == CandleKind::Minute
            && self.candle.time <= at
            && at < self.at
            && self.at.0 == self.candle.time.0.saturating_add(60)
    }
}

/// Computes when candles take effect. Consecutive candles mostly lie in one segment, which is
/// looked up once.
#[derive(Debug)]
pub struct ActTimes<'a> {
    venue: &'a Venue,
    slot: Option<Slot>,
}

impl<'a> ActTimes<'a> {
    pub fn new(venue: &'a Venue) -> ActTimes<'a> {
        ActTimes { venue, slot: None }
    }

    /// A candle with the instant at which it takes effect: a minute after its stamp, a closing
    /// candle at the end of its tail, later if it arrived later. `None` for a stamp outside of all
    /// sessions.
    pub fn of(&mut self, candle: Candle, arrived: Option<Timestamp>) -> Option<EffectiveCandle> {
        let slot = match self.slot {
            Some(slot) if slot.holds(candle.time) => slot,
            _ => self.venue.slot(candle.time)?,
        };
        self.slot = Some(slot);
        let is_tail = slot.is_tail(candle.time);
        let length = if is_tail { i64::from(slot.segment.tail) * 60 } else { 60 };
        let at = Timestamp(candle.time.0 + length);
        Some(EffectiveCandle {
            candle,
            at: arrived.map_or(at, |arrived| at.max(arrived)),
            day: slot.day,
            kind: if is_tail { CandleKind::Tail } else { CandleKind::Minute },
        })
    }

    /// The daily candle of a coarse day: stamped with the opening of the regular hours, effective
    /// at their end. `None` on a day without trading.
    pub fn day(venue: &Venue, date: Date, candle: Candle) -> Option<EffectiveCandle> {
        let day = venue.day(date)?;
        let opening = day.segments.iter().find(|segment| segment.session == Session::Intraday)?;
        let candle = Candle { time: day.at(opening.start), session: Session::Intraday, ..candle };
        Some(EffectiveCandle { candle, at: venue.day_end(date), day: date, kind: CandleKind::Day })
    }
}

/// Removes candles that arrived after a newer one of their lane took effect. `candles` ascends by
/// effect, then by stamp. A daily candle is newer than every minute of its day, but a minute that
/// took effect first removes the daily candle.
pub fn drop_overtaken(candles: &mut Vec<EffectiveCandle>) {
    let mut newest = [Timestamp(i64::MIN); 4];
    let mut coarse: Option<Date> = None;
    candles.retain(|effective| {
        let Some(newest) = newest.get_mut(usize::from(effective.candle.session.code())) else { return false };
        let is_covered =
            effective.candle.session == Session::Intraday && coarse.is_some_and(|day| effective.day <= day);
        let is_late = is_covered
            || effective.candle.time < *newest
            || (effective.is_day() && effective.candle.time == *newest);
        if effective.is_day() && !is_late {
            coarse = Some(effective.day);
        }
        *newest = effective.candle.time.max(*newest);
        !is_late
    });
}

/// The known price at an instant: the close of the newest effective candle, or the open of the
/// running minute. `candles` ascends by stamp. Closing candles, daily candles and late ones show
/// nothing before they take effect.
pub fn mark_of<'a>(candles: impl IntoIterator<Item = &'a EffectiveCandle>, at: Timestamp) -> Option<Price> {
    let mut mark = None;
    for effective in candles {
        if effective.candle.time > at {
            break;
        }
        if effective.at <= at {
            mark = Some(effective.candle.close);
        } else if effective.is_running(at) {
            mark = Some(effective.candle.open);
        }
    }
    mark
}
