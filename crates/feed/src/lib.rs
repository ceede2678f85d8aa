//! Core of live pushes: converts one-minute candles into typed pushes, tracks subscriptions, and
//! queues the pushes of each connection.
//!
//! The crate does no I/O, reads no clock, and does not depend on accounts, stores or encodings: the
//! caller supplies candles, `now`, and a function that encodes a push. `tests/it/rules_*.rs`
//! contain the worked examples of the specification.
//!
//! Start with [`prints()`], which returns the trades that a client needs to rebuild a candle
//! exactly. [`Update`] converts a changed candle into pushes, and [`Replay`] schedules pushes under
//! a simulated clock. [`Registry`] finds the recipients of a push, and [`PushQueue`] holds the
//! unsent pushes of a connection. [`AlertState`] compares quotes with a price alert.
//!
//! Pushing a one-minute candle of Tencent to one subscriber:
//!
//! ```
//! use std::sync::Arc;
//!
//! use bytes::Bytes;
//! use feed::{ConnectionId, EncodedPush, Outgoing, Push, PushQueue, Registry, Replay, SubType};
//! use market::{Candle, Candles, Market, Price, Session, Timestamp, Turnover, Venue};
//!
//! let (symbol, venue) = ("700.HK".parse()?, Venue::built_in(Market::Hk)?);
//! let price = Price::parse;
//! let minute = Candle {
//!     time: Timestamp(1_773_797_400), // 2026-03-18 09:30 in Hong Kong
//!     open: price("300")?,
//!     high: price("302")?,
//!     low: price("299")?,
//!     close: price("301")?,
//!     volume: 10_000,
//!     turnover: Turnover::parse("3005000")?,
//!     session: Session::Intraday,
//! };
//! let (minutes, days) = (Candles::from_iter([minute]), Candles::default());
//! let (symbol, venue, minutes, days) = (&symbol, &venue, &minutes, &days);
//! let replay = Replay::new(symbol, venue, minutes, days);
//!
//! let mut registry = Registry::default();
//! registry.subscribe(ConnectionId(1), symbol, [SubType::Trades].into_iter().collect());
//! let mut queue = PushQueue::default();
//!
//! let encode = |push: &Push| match push {
//!     Push::Trades(push) => {
//!         let prints = push.prints.iter().map(|print| format!("{} x {}", print.price.text(3), print.volume));
//!         Bytes::from(prints.collect::<Vec<_>>().join(", "))
//!     }
//!     Push::Quote(push) => Bytes::from(push.figures.last.text(3).to_string()),
//! };
//! for due in replay.between(Timestamp(1_773_797_400), Timestamp(1_773_797_460)) {
//!     for push in due.pushes {
//!         let push = Arc::new(EncodedPush::new(push, encode));
//!         for _connection in registry.recipients(&due.symbol, push.sub_type()) {
//!             queue.push(&push)?;
//!         }
//!     }
//! }
//!
//! let Some(Outgoing::Shared { bytes, .. }) = queue.pop() else { return Err("nothing was pushed".into()) };
//! assert_eq!(bytes, "299.000 x 0, 302.000 x 0, 300.500 x 10000, 301.000 x 0");
//! assert!(queue.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod alert;
mod minute;
mod prints;
mod publish;
mod push;
mod queue;
mod registry;
mod replay;
mod sequence;
mod traded;

pub use alert::{AlertRule, AlertState, Condition, Frequency, Observation};
pub use minute::{Clock, Minute};
pub use prints::{Growth, Print, PrintPrice, prints};
pub use publish::{
    Outcome, PRINTS_MAX, Published, Traded, Update, corrected, end_of_day, opening, single_trades,
};
pub use push::{Board, Figures, Push, QuotePush, StatusChange, Tag, TradeStatus, TradesPush};
pub use queue::{BYTES_MAX, EncodedPush, Full, Outgoing, PUSHES_MAX, PushQueue};
pub use registry::{Arrival, ConnectionId, FirstPush, Registry, SubType, SubTypes};
pub use replay::{Due, Phase, Replay};
pub use sequence::Sequence;
pub use traded::with_traded_minutes;
