//! The rules for mirroring: filling a store from another server that speaks the same protocol.
//!
//! Everything in this crate is a value or a pure function. The crate depends on no connections,
//! stores, encodings or clocks: responses, stored state and instants are arguments. `tests/it/`
//! contains the worked examples.
//!
//! Start with [`Plan`], the ordered requests of a job. [`Quota`] decides which securities may be
//! requested this month, and [`Pace`] when the next request may be sent. [`Walk`] reads one series
//! backward, page by page, and its [`Position`] is stored with each page. [`factors::derive`] finds
//! corporate actions in actual and adjusted days. [`verify`](mod@verify) compares our adjusted
//! candles with received ones, and [`recheck`] selects the days that are requested again.
//!
//! Example: walk a series of one page.
//!
//! ```
//! use market::{Candle, Market, Price, Session, Timestamp, Turnover, Venue};
//! use mirror::{Adjust, Bounds, Outcome, Series, Sessions, Walk};
//!
//! let venue = Venue::built_in(Market::Hk)?;
//! let now = Timestamp(1_773_820_800 + 3600); // 2026-03-18 17:00 in Hong Kong
//! let series = Series::new("700.HK".parse()?, "day".parse()?, Adjust::None, Sessions::Intraday)?;
//! let mut walk = Walk::new(series, Bounds::published(&venue, "day".parse()?));
//!
//! let request = walk.request(&venue).ok_or("done")?;
//! assert_eq!((request.count, request.anchor), (1000, None));
//!
//! let price = Price::parse("305.2")?;
//! let (time, session) = (Timestamp(1_773_763_200), Session::Intraday);
//! let day = Candle { time, open: price, high: price, low: price, close: price, volume: 100, turnover: Turnover(0), session };
//! let taken = walk.take(&venue, &[day], now);
//! assert_eq!(taken.rows, [day]);
//! assert_eq!(taken.outcome, Outcome::Continue);
//!
//! // The next page repeats the oldest candle, and brings nothing new.
//! let request = walk.request(&venue).ok_or("done")?;
//! assert_eq!(request.anchor.map(|anchor| anchor.date), Some("2026-03-18".parse()?));
//! assert_eq!(walk.take(&venue, &[day], now).outcome, Outcome::Done(mirror::End::Exhausted));
//! assert!(walk.request(&venue).is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod factors;
mod forming;
mod pace;
mod plan;
mod quota;
pub mod recheck;
mod series;
pub mod verify;
mod walk;

pub use forming::{Forming, Print};
pub use pace::{
    Kind, Next, Pace, ParseRateError, ProfileLimit, RateFactor, RateLimits, Reply, Ticket, WINDOW_S,
};
pub use plan::{
    DateRange, NEW_ROWS_A_PAGE, Plan, PlanError, PlanOptions, STATICS_MAX, Security, SeriesJob, Step, gaps,
};
pub use quota::{Charge, Month, Order, Quota};
pub use series::{Adjust, Anchor, PAGE_ROWS, Request, Series, SeriesError, Sessions};
pub use walk::{
    Bounds, End, Outcome, ParsePositionError, Position, Quarantined, RESTARTS_MAX, Reason, Taken, Walk,
};
