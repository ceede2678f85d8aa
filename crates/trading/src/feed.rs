//! Market data for the engine. The caller implements [`Feed`] over its candle store. The engine
//! never reads ahead: every query states the instant or date up to which data may be used.

use market::adjust::Amount;
use market::{Candle, Date, Market, Price, Session, Slot, Symbol, Timestamp, Venue};

use crate::decimal::{DecimalError, parse_units};
use crate::money::Currency;
use crate::money::Rate;
use crate::quantity::Quantity;
use crate::words::Kind;

/// Market data as of an instant.
///
/// An implementation should cache the latest candles of a symbol, because 1,000 accounts with
/// 10,000 open orders all read the same candles. Candles are read at most one day at a time, and
/// only for symbols with open orders, active grids or positions that may be liquidated.
pub trait Feed {
    fn venue(&self, market: Market) -> &Venue;

    /// Returns the kind, lot and currency of a security on a date, or `None` if the security is
    /// unknown.
    fn security(&self, symbol: &Symbol, date: Date) -> Option<Security>;

    /// Appends the candles of all lanes that take effect after `after` and up to `through`
    /// (inclusive), sorted by [`EffectiveCandle::at`], then by stamp. Candles overtaken by a newer
    /// candle in their lane ([`drop_overtaken`]) are omitted. A coarse day, which has a daily
    /// candle but no one-minute candles in regular hours, contributes [`ActTimes::day`], except for
    /// options.
    fn candles(&self, symbol: &Symbol, after: Timestamp, through: Timestamp, out: &mut Vec<EffectiveCandle>);

    /// Visits the candles of [`Feed::candles`] in the same order. Most candles match no order, so
    /// an implementation with cached candles should override this method to avoid copying them.
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

    /// Returns the mark price at an instant, from candles of all sessions, or `None` if no price is
    /// known; see [`mark_of`].
    fn mark(&self, symbol: &Symbol, at: Timestamp) -> Option<Price>;

    /// Returns the unadjusted close of the last daily candle before a date, or `None` if no such
    /// candle exists.
    fn close_before(&self, symbol: &Symbol, date: Date) -> Option<Price>;

    /// Returns the newest candle in any lane that is known at an instant. The mark price is derived
    /// from this candle.
    fn newest(&self, symbol: &Symbol, at: Timestamp) -> Option<EffectiveCandle>;

    /// Returns the close of a trading day's last one-minute candle in regular hours, or of its
    /// daily candle if the day is coarse.
    fn intraday_close(&self, symbol: &Symbol, date: Date) -> Option<Price>;

    /// Returns the corporate actions with `after < ex-date <= through`, in order of ex-date.
    fn actions(&self, symbol: &Symbol, after: Date, through: Date) -> Vec<CorporateAction>;

    /// Returns the latest exchange rate on or before a date, in HKD per unit of the currency, or
    /// `None` if there is no rate. Never called for HKD.
    fn rate(&self, currency: Currency, date: Date) -> Option<Rate>;

    /// Returns whether [`Feed::rate`] returns an approximate built-in rate because the operator has
    /// not reported one.
    fn is_rate_builtin(&self, _: Currency, _: Date) -> bool {
        false
    }

    fn factors(&self, symbol: &Symbol) -> Option<Factors>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Security {
    pub kind: Kind,
    /// Shares per board lot; 1 outside Hong Kong.
    pub lot: Quantity,
    pub currency: Currency,
    pub is_delisted: bool,
}

impl Security {
    /// Returns the number of shares per unit of quantity: 100 for an option contract, 1 otherwise.
    pub fn multiplier(&self) -> u32 {
        if self.kind == Kind::Option { 100 } else { 1 }
    }
}

/// Initial (`im`), maintenance (`mm`) and forced-liquidation (`fm`) margin factors of a security,
/// in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factors {
    pub im: i64,
    pub mm: i64,
    pub fm: i64,
}

pub(crate) const FACTOR_UNIT: i64 = 1_000_000;

impl Factors {
    /// Factors of a security that cannot be bought on credit.
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

/// A corporate action, with amounts per old share, and the pay date of its dividend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorporateAction {
    pub action: market::Action,
    /// `None` if the pay date is unknown. The dividend is then paid on the ex-date.
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
    /// Trading day that the candle belongs to.
    pub day: Date,
    pub kind: CandleKind,
}

/// Period covered by an effective candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandleKind {
    Minute,
    /// The closing auction.
    Tail,
    /// The regular hours of a coarse day, stamped with the opening.
    Day,
}

impl EffectiveCandle {
    pub fn is_tail(&self) -> bool {
        self.kind == CandleKind::Tail
    }

    pub fn is_day(&self) -> bool {
        self.kind == CandleKind::Day
    }

    /// Returns whether the candle is a one-minute candle in progress at `at`, so that only its open
    /// is known. Always `false` for closing-auction, daily and late candles.
    pub fn is_running(&self, at: Timestamp) -> bool {
        self.kind == CandleKind::Minute
            && self.candle.time <= at
            && at < self.at
            && self.at.0 == self.candle.time.0.saturating_add(60)
    }
}

/// Computes when candles take effect. Caches the last trading segment, because consecutive candles
/// are mostly in the same segment.
#[derive(Debug)]
pub struct ActTimes<'a> {
    venue: &'a Venue,
    slot: Option<Slot>,
}

impl<'a> ActTimes<'a> {
    pub fn new(venue: &'a Venue) -> ActTimes<'a> {
        ActTimes { venue, slot: None }
    }

    /// Returns a candle with the instant at which it takes effect: one minute after its stamp, or
    /// at the end of the auction for a closing-auction candle, or at its arrival if that is later.
    /// Returns `None` if the stamp is outside all sessions.
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

    /// Returns the daily candle of a coarse day, stamped with the opening of regular hours and
    /// effective at the end of the trading day. Returns `None` if the market does not trade on that
    /// day.
    pub fn day(venue: &Venue, date: Date, candle: Candle) -> Option<EffectiveCandle> {
        let day = venue.day(date)?;
        let opening = day.segments.iter().find(|segment| segment.session == Session::Intraday)?;
        let candle = Candle { time: day.at(opening.start), session: Session::Intraday, ..candle };
        Some(EffectiveCandle { candle, at: venue.day_end(date), day: date, kind: CandleKind::Day })
    }
}

/// Removes candles that arrived after a newer candle in the same lane had taken effect. `candles`
/// must be sorted by effective instant, then by stamp. A daily candle is newer than every
/// one-minute candle of its day, but is itself removed if one of these candles took effect first.
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

/// Returns the price known at an instant: the close of the newest effective candle, or the open of
/// the one-minute candle in progress. Returns `None` if no price is known. `candles` must be sorted
/// by stamp. Closing-auction, daily and late candles have no price before they take effect.
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
