//! Market rules: symbols, sessions, calendars, candles, periods, adjustment.
//!
//! Everything in this crate is a value or a pure function. The crate reads no files and no clock:
//! calendars are passed as text (three are compiled in), and every rule that depends on the current
//! time takes `now`. The tables in `tests/rules_*.rs` can therefore test each rule of the
//! specification with literals.
//!
//! Start with [`Candle`] and [`Period`], then read [`Venue`] (time zone, calendar and session table
//! of one market), [`fold`](mod@fold) (source candles to longer candles) and [`adjust`](mod@adjust)
//! (forward adjustment).
//!
//! Example: fold one-minute candles from Hong Kong into five-minute candles.
//!
//! ```
//! use market::{Candle, Candles, Market, Period, Price, Session, Turnover, Venue};
//!
//! let venue = Venue::built_in(Market::Hk)?;
//! let day = venue.day("2024-01-02".parse()?).ok_or("a holiday")?;
//!
//! let mut minutes = Candles::default();
//! for (price, (time, slot)) in (100..).zip(day.minutes().take(7)) {
//!     let (session, turnover) = (slot.segment.session, Turnover(0));
//!     let price = Price(price * market::PRICE_UNIT);
//!     minutes.push(Candle { time, open: price, high: price, low: price, close: price, volume: 10, turnover, session });
//! }
//!
//! let candles = market::fold::fold(&venue, "5m".parse::<Period>()?, &minutes)?;
//! let volumes: Vec<i64> = candles.iter().map(|candle| candle.volume).collect();
//! assert_eq!(volumes, [50, 20]);
//! let first = candles.get(0).ok_or("no candle")?;
//! assert_eq!(venue.zone().rfc3339(first.time), "2024-01-02T09:30:00+08:00");
//! assert_eq!((first.open.text(2).to_string(), first.close.text(2).to_string()), ("100.00".into(), "104.00".into()));
//! assert_eq!(first.session, Session::Intraday);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod adjust;
mod calendar;
mod candle;
mod decimal;
mod exchange_rate;
mod floors;
pub mod fold;
mod period;
mod session;
mod symbol;
mod time;
mod trade;
mod trade_flow;
mod trade_fold;
mod trade_hours;
mod venue;

pub use adjust::{Action, Adjuster, IgnoredAction};
pub use calendar::{CALENDAR_WARNING_DAYS, Calendar, CalendarError, DayKind};
pub use candle::{Candle, Candles, Flaw};
pub use decimal::{
    DECIMALS_MAX, DecimalError, DecimalText, MarginFactor, PRICE_UNIT, ParseMarginError, Price, Turnover,
    parse_scaled,
};
pub use exchange_rate::{BUILTIN_RATES, BUILTIN_RATES_FROM, builtin_rate, stand_in_currency};
pub use floors::{FloorTable, Floors, ParseFloorsError};
pub use period::{Grain, Minutes, ParsePeriodError, Period, Span};
pub use session::{Segment, Session, SessionTable};
pub use symbol::SecurityKind;
pub use symbol::{Market, ParseSymbolError, Region, Symbol};
pub use symbol::{OptionRight, OptionTerms};
pub use time::{ParseTimeError, Timestamp, Zone, parse_date, parse_time_of_day, parse_time_of_day_or_second};
pub use trade::{Trade, TradeDirection, TradeEffect, TradeFlaw, TradeType, Trades};
pub use trade_flow::{CapitalBySize, CapitalClasses, CapitalDay, ClassShares, DaySizes, FlowTrade};
pub use trade_fold::TradeCandles;
pub use trade_hours::{TradeHours, TradePlace};
pub use venue::{Day, Slot, Venue, Venues};

/// A calendar duration, such as a number of days.
pub use jiff::Span as DateSpan;
/// A calendar date in a market's time zone.
pub use jiff::civil::Date;
