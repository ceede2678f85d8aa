//! The paper account: commands and candles in, events out.
//!
//! Everything here is a value or a pure function. The crate reads no clock, no file and no database, and knows no protocol:
//! prices, calendars, rates, factors and `now` come in through [`Feed`] and arguments. The journal is the truth: an
//! [`Account`] is the fold of its [`Entry`]s, so the same entries give the same account, an account as of yesterday is its
//! journal cut there, and a snapshot can be thrown away.
//!
//! Start with [`Desk`]: [`Desk::advance`] lets everything happen that happens up to an instant, [`Desk::handle`] does that and
//! carries out a [`Command`], [`decide`] tells what a command would do. Both return an [`Outcome`]: entries to keep durably,
//! then pushes to send.
//!
//! | subject | files |
//! |---|---|
//! | values | `money`, `quantity`, `currency`, `decimal`, `words` (closed sets with their literals), `settings`, `terms` |
//! | dated tables | `tables/`: ticks, fees, settlement days, interest; their text in `tables/*.csv` of the crate |
//! | the market, as told | `feed` (the trait), `scene` (what may be known at one instant), `tape` (candles in act order) |
//! | state | `event` (the journal), `fold` (events onto the state), `account`, `order`, `position` |
//! | money | `balance` (C, F, S, unsettled), `figures` (assets, margins, risk), `funds` (what a buy needs), `estimate` |
//! | commands | `command`, `decide`, `place_order`, `checks` (1 to 9), `verdict` (10 to 12), `sessions` (days, parking, expiry) |
//! | time | `advance` (the order of work), `timers`, `candle_step`, `matching`, `triggers`, `pricing`, `release`, `filling`, `roll`, `actions`, `option_expiry`, `forced` |
//! | answers | `push`, `ledger` (legs, cash flow), `story` (why), `views` |
//!
//! Rules are those of the engine specification; comments name a rule only where its reason is not plain. Grids and statements
//! come later: a grid is one more kind of engine order in `advance`, a statement a reading of the journal by book date.

mod account;
mod actions;
mod advance;
mod balance;
mod candle_step;
mod checks;
mod codec;
mod command;
mod currency;
mod decide;
mod decimal;
mod desk;
mod estimate;
mod event;
mod feed;
mod figures;
mod filling;
mod fold;
mod forced;
mod funds;
pub mod ledger;
mod matching;
mod money;
mod option_expiry;
mod order;
mod place_order;
mod position;
mod pricing;
mod push;
mod quantity;
mod refusal;
mod release;
mod roll;
mod scene;
mod sessions;
mod settings;
mod story;
pub mod tables;
mod tape;
mod terms;
mod timers;
mod triggers;
mod verdict;
mod views;
mod words;
mod work;

pub use account::Account;
pub use balance::{Balance, balance, balances, fees_at};
pub use command::{Command, Submit};
pub use currency::{Currency, ParseCurrencyError};
pub use decide::decide;
pub use decimal::{DecimalError, PRICE_MAX, Plain, exact_price, parse_price, plain_price};
pub use desk::{Cost, Desk, Preview};
pub use estimate::{Estimate, EstimateQuery, estimate};
pub use event::{AcceptedOrder, Bar, Dividend, Entry, Event, Execution, FillRule, Release, Trigger, VERSION};
pub use feed::{ActTimes, ActingCandle, CorporateAction, Factors, Feed, Security, drop_overtaken, mark_of};
pub use figures::{Figures, Report, figures};
pub use money::{Fraction, HkdAmount, Money, Rate, Rounding};
pub use order::{Direction, Facts, Fill, HistoryRow, Order, OrderId, Since, Standing, Watch};
pub use position::Position;
pub use push::Push;
pub use quantity::Quantity;
pub use refusal::{Code, Numbers, Refusal};
pub use scene::{Dates, Scene};
pub use sessions::{Auction, Placement};
pub use settings::{Setting, Settings, Share, start_cash};
pub use story::{Happening, StoryLine, story};
pub use tables::{DayTotals, Fee, TableError, Tables};
pub use terms::{Changes, Percent, Terms};
pub use views::{book_date, charges, is_today, next_wake};
pub use words::{
    AccountType, ChargeGroup, CostMethod, FeePlan, Kind, OrderStatus, OrderTag, OrderType, OutsideRth, Side,
    TimeInForce, Touch, TriggerStatus, UnknownWord,
};
pub use work::Outcome;
