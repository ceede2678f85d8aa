//! The market data that may be known at one instant: prices, trading dates, rates and rules.

use market::{Date, Market, Price, Symbol, Timestamp, Venue};

use crate::feed::{Factors, Feed, Security};
use crate::money::Currency;
use crate::money::{HkdAmount, Money, Rate};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::tables::{Tables, Ticks};
use crate::timers::option_end;
use crate::words::Kind;

/// The trading dates of the markets: those of their last rolls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dates {
    pub hk: Date,
    pub us: Date,
}

impl Dates {
    /// Including the rolls at this instant.
    pub fn at(feed: &dyn Feed, at: Timestamp) -> Dates {
        let of = |market: Market| {
            let venue = feed.venue(market);
            venue.rolled(at).unwrap_or_else(|| venue.zone().date(at))
        };
        Dates { hk: of(Market::Hk), us: of(Market::Us) }
    }

    /// Before the rolls of the instant: the booking dates of candles that take effect then.
    pub fn before(feed: &dyn Feed, at: Timestamp) -> Dates {
        Dates::at(feed, Timestamp(at.0 - 1))
    }

    pub fn of(&self, market: Market) -> Date {
        match market {
            Market::Us => self.us,
            Market::Hk | Market::Cn => self.hk,
        }
    }
}

/// One instant and everything that can be queried about it.
#[derive(Clone, Copy)]
pub struct MarketView<'a> {
    pub feed: &'a dyn Feed,
    pub tables: &'a Tables,
    pub at: Timestamp,
    pub dates: Dates,
    /// The currency that amounts are converted to. HKD, except where an account has only one
    /// currency and no rate for it.
    unit: Currency,
}

impl std::fmt::Debug for MarketView<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MarketView").field("at", &self.at).field("dates", &self.dates).finish_non_exhaustive()
    }
}

impl<'a> MarketView<'a> {
    pub fn new(feed: &'a dyn Feed, tables: &'a Tables, at: Timestamp) -> MarketView<'a> {
        MarketView::on(feed, tables, at, Dates::at(feed, at))
    }

    pub(crate) fn on(feed: &'a dyn Feed, tables: &'a Tables, at: Timestamp, dates: Dates) -> MarketView<'a> {
        MarketView { feed, tables, at, dates, unit: Currency::HKD }
    }

    /// The instant before its rolls.
    pub(crate) fn before_roll(feed: &'a dyn Feed, tables: &'a Tables, at: Timestamp) -> MarketView<'a> {
        MarketView::on(feed, tables, at, Dates::before(feed, at))
    }

    pub(crate) fn venue(&self, market: Market) -> &'a Venue {
        self.feed.venue(market)
    }

    /// The known price. An expired option has none: an unsettled one is valued at cost.
    pub fn mark(&self, symbol: &Symbol) -> Option<Price> {
        let has_ended = option_end(symbol, self.feed).is_some_and(|end| end <= self.at);
        if has_ended { None } else { self.feed.mark(symbol, self.at) }
    }

    pub(crate) fn date(&self, market: Market) -> Date {
        self.dates.of(market)
    }

    pub(crate) fn ticks(&self, symbol: &Symbol, kind: Kind, day: Date) -> &'a Ticks {
        self.tables.ticks.of(symbol, kind, day)
    }

    /// HKD for one unit of a currency, by the HK calendar date.
    pub fn rate(&self, currency: Currency) -> Result<Rate, Refusal> {
        if currency == self.unit {
            return Ok(Rate::ONE);
        }
        let date = self.rate_date();
        let known = if self.unit == Currency::HKD { self.feed.rate(currency, date) } else { None };
        known.ok_or_else(|| Refusal::no_rate(currency, date))
    }

    /// Whether the rate of a currency is an approximate built-in one.
    pub fn is_rate_builtin(&self, currency: Currency) -> bool {
        currency != self.unit && self.feed.is_rate_builtin(currency, self.rate_date())
    }

    fn rate_date(&self) -> Date {
        self.venue(Market::Hk).zone().date(self.at)
    }

    /// The same instant for amounts of one currency only: nothing can be converted.
    pub(crate) fn within(self, unit: Currency) -> MarketView<'a> {
        MarketView { unit, ..self }
    }

    pub(crate) fn convert(&self, currency: Currency, amount: Money) -> Result<HkdAmount, Refusal> {
        // A zero amount needs no rate.
        if amount.is_zero() { Ok(HkdAmount::ZERO) } else { Ok(self.rate(currency)?.convert(amount)) }
    }

    /// The margin factors of a position of this quantity.
    pub(crate) fn factors(&self, symbol: &Symbol, quantity: Quantity) -> Factors {
        if symbol.is_us_option() {
            return Factors::NONE;
        }
        match self.feed.factors(symbol) {
            None => Factors::NONE,
            Some(Factors { im, mm, fm }) if quantity.is_negative() => {
                let least = Factors::SHORT;
                Factors { im: im.max(least.im), mm: mm.max(least.mm), fm: fm.max(least.fm) }
            }
            Some(factors) => factors,
        }
    }

    pub(crate) fn security(&self, symbol: &Symbol) -> Option<Security> {
        self.security_on(symbol, self.date(symbol.market()))
    }

    /// The facts of a security on a date. An option is recognised by its code.
    pub(crate) fn security_on(&self, symbol: &Symbol, date: Date) -> Option<Security> {
        let security = self.feed.security(symbol, date)?;
        let kind = if symbol.is_us_option() { Kind::Option } else { security.kind };
        Some(Security { kind, ..security })
    }
}
