//! The core of live pushes: one-minute candles in, typed pushes out.
//!
//! Everything here is a value or a pure function. The crate knows no sockets, clocks, accounts or
//! stores, and no encoding: the caller supplies candles and `now`. `tests/it/rules_*.rs` are the
//! tables of the specification.
//!
//! Start with [`prints()`], the trades that a client needs to build a candle exactly. [`Update`]
//! turns a changed candle into pushes, and [`Replay`] schedules them under a set clock.
//!
//! A minute of Tencent:
//!
//! ```
//! use feed::{Board, Push, Replay};
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
//! let replay = Replay { symbol: &symbol, board: Board::Security, venue: &venue, minutes: &minutes, days: &days };
//!
//! let dues = replay.between(Timestamp(1_773_797_400), Timestamp(1_773_797_460));
//! let Some(Push::Trades(push)) = dues.first().and_then(|due| due.pushes.first()) else {
//!     return Err("nothing was pushed".into());
//! };
//! let prints: Vec<String> =
//!     push.prints.iter().map(|print| format!("{} x {}", print.price.text(3), print.volume)).collect();
//! assert_eq!(prints, ["299.000 x 0", "302.000 x 0", "300.500 x 10000", "301.000 x 0"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod minute;
mod prints;
mod publish;
mod push;
mod replay;
mod sequence;

pub use minute::{Clock, Minute};
pub use prints::{Growth, Print, PrintPrice, prints};
pub use publish::{Outcome, Published, Update, corrected, end_of_day, opening};
pub use push::{Board, Figures, Push, QuotePush, Tag, TradesPush};
pub use replay::{Due, Phase, Replay};
pub use sequence::Sequence;
