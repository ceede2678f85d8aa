//! Market rules: symbols, sessions, calendars, candles, periods, adjustment.
//!
//! Everything here is a value or a pure function. The crate reads no file and no clock: calendars
//! are given as text (three are compiled in), and every rule that depends on the present takes
//! `now`. So each rule of the specification can be tested with a literal; `tests/rules_*.rs` are
//! those tables.
//!
//! Start with [`Candle`] and [`Period`], then [`Venue`] (one market's zone, calendar and session
//! table), then [`fold`](mod@fold) (source candles to longer ones) and [`adjust`](mod@adjust)
//! (forward adjustment).

pub mod adjust;
mod calendar;
mod candle;
mod decimal;
mod exchange_rate;
mod floors;
pub mod fold;
mod margin;
mod option;
mod period;
mod security_kind;
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
pub use decimal::{DECIMALS_MAX, DecimalError, PRICE_UNIT, Price, Turnover, parse_scaled};
pub use exchange_rate::{BUILTIN_RATES, BUILTIN_RATES_FROM, builtin_rate, stand_in_currency};
pub use floors::{FloorTable, Floors, ParseFloorsError};
pub use margin::{MarginFactor, ParseMarginError};
pub use option::{OptionRight, OptionTerms};
pub use period::{Grain, Minutes, ParsePeriodError, Period, Span};
pub use security_kind::SecurityKind;
pub use session::{Segment, Session, SessionTable};
pub use symbol::{Market, ParseSymbolError, Region, Symbol};
pub use time::{ParseTimeError, Timestamp, Zone, parse_date, parse_time_of_day, parse_time_of_day_or_second};
pub use trade::{Trade, TradeDirection, TradeEffect, TradeFlaw, TradeType, Trades};
pub use trade_flow::{CapitalBySize, CapitalClasses, CapitalDay, ClassShares, DaySizes, FlowTrade};
pub use trade_fold::TradeCandles;
pub use trade_hours::{TradeHours, TradePlace};
pub use venue::{Day, Slot, Venue, Venues};

/// A length of calendar time, for steps of days.
pub use jiff::Span as DateSpan;
/// A calendar date in some market's zone, which is jiff's type unchanged.
pub use jiff::civil::Date;
