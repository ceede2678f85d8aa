//! A view of the market data known at one instant: prices, trading dates, rates and rules.

use market::{Date, Market, Price, Symbol, Timestamp, Venue};

use crate::feed::{Factors, Feed, Security};
use crate::money::Currency;
use crate::money::{HkdAmount, Money, Rate};
use crate::quantity::Quantity;
use crate::refusal::Refusal;
use crate::tables::{Tables, Ticks};
use crate::timers::option_end;
use crate::words::Kind;

/// Trading date of each market, as of the market's last roll.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dates {
    pub hk: Date,
    pub us: Date,
}

impl Dates {
    /// Returns the trading dates at an instant, after the rolls at that instant.
    pub fn at(feed: &dyn Feed, at: Timestamp) -> Dates {
        let of = |market: Market| {
            let venue = feed.venue(market);
            venue.rolled(at).unwrap_or_else(|| venue.zone().date(at))
        };
        Dates { hk: of(Market::Hk), us: of(Market::Us) }
    }

    /// Returns the trading dates at an instant, before the rolls at that instant. Candles that take
    /// effect at the instant are booked on these dates.
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

/// The market data known at one instant.
#[derive(Clone, Copy)]
pub struct MarketView<'a> {
    pub feed: &'a dyn Feed,
    pub tables: &'a Tables,
    pub at: Timestamp,
    pub dates: Dates,
    /// Currency to which amounts are converted: HKD, unless the account has only one other currency
    /// and no exchange rate for that currency.
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

    /// Returns the view of an instant before the rolls at that instant.
    pub(crate) fn before_roll(feed: &'a dyn Feed, tables: &'a Tables, at: Timestamp) -> MarketView<'a> {
        MarketView::on(feed, tables, at, Dates::before(feed, at))
    }

    pub(crate) fn venue(&self, market: Market) -> &'a Venue {
        self.feed.venue(market)
    }

    /// Returns the current mark price, or `None` if no price is known or the symbol is an expired
    /// option. An expired option is valued at cost until it is settled.
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

    /// Returns the exchange rate of a currency in HKD per unit, on the current date in Hong Kong.
    /// Returns a refusal if there is no rate.
    pub fn rate(&self, currency: Currency) -> Result<Rate, Refusal> {
        if currency == self.unit {
            return Ok(Rate::ONE);
        }
        let date = self.rate_date();
        let known = if self.unit == Currency::HKD { self.feed.rate(currency, date) } else { None };
        known.ok_or_else(|| Refusal::no_rate(currency, date))
    }

    /// Returns whether the exchange rate of a currency is an approximate built-in rate.
    pub fn is_rate_builtin(&self, currency: Currency) -> bool {
        currency != self.unit && self.feed.is_rate_builtin(currency, self.rate_date())
    }

    fn rate_date(&self) -> Date {
        self.venue(Market::Hk).zone().date(self.at)
    }

    /// Returns the same view with amounts in a single currency, without any conversion.
    pub(crate) fn within(self, unit: Currency) -> MarketView<'a> {
        MarketView { unit, ..self }
    }

    pub(crate) fn convert(&self, currency: Currency, amount: Money) -> Result<HkdAmount, Refusal> {
        // A zero amount needs no rate.
        if amount.is_zero() { Ok(HkdAmount::ZERO) } else { Ok(self.rate(currency)?.convert(amount)) }
    }

    /// Returns the margin factors of a position in a symbol. A negative `quantity` selects the
    /// factors of a short position.
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

    /// Returns the data of a security on a date, or `None` if the security is unknown. Options are
    /// recognised by their symbols.
    pub(crate) fn security_on(&self, symbol: &Symbol, date: Date) -> Option<Security> {
        let security = self.feed.security(symbol, date)?;
        let kind = if symbol.is_us_option() { Kind::Option } else { security.kind };
        Some(Security { kind, ..security })
    }
}
