//! The paper account: commands and candles in, events out.
//!
//! Everything here is a value or a pure function. The crate reads no clock, file or database, and
//! does not depend on a protocol: prices, calendars, rates, factors and `now` are passed in through
//! [`Feed`] and arguments. The journal is the source of truth: an [`Account`] is the fold of its
//! [`Entry`]s. The same entries therefore give the same account, a past account is the fold of a
//! prefix of its journal, and a snapshot can be discarded.
//!
//! Start with [`Engine`]: [`Engine::advance`] applies all events up to an instant, and
//! [`Engine::handle`] also executes a [`Command`]. Both return an [`Outcome`]: entries to store,
//! then pushes to send. [`decide()`] returns the events of a command without applying them.
//!
//! | subject | files |
//! |---|---|
//! | values | `money`, `quantity`, `decimal`, `words` (enums with their literals), `settings`, `terms` |
//! | dated tables | `tables/`: ticks, fees, settlement days, interest; the data is in the crate's `tables/*.csv` |
//! | market data | `feed` (the trait), `view` (the data known at one instant), `tape` (the relevant candles, in order of effect) |
//! | state | `event` (the journal), `fold` (applies events to the state), `account`, `order`, `orders`, `position` |
//! | money | `balance` (C, F, S, unsettled), `reserves` (the cached sums behind F), `figures` (assets, margins, risk), `funds` (the funds that an order requires), `estimate` |
//! | commands | `command`, `decide`, `place_order`, `checks` (1 to 12), `sessions` (days, parking, expiry) |
//! | time | `advance` (the order of work), `timers`, `candle_step`, `matching`, `triggers`, `filling`, `roll` (and option expiry), `actions`, `forced` |
//! | attached orders | `attached/`: take profit and stop loss: checks, effects of other events, release, changes |
//! | grids | `grid/`: rules and their checks, levels, the effect of a candle, sub-orders, profit |
//! | output | `push`, `ledger` (legs, cash flow), `statement/` (daily and monthly), `views`; `paper` explains orders from the journal |
//!
//! The rules are defined in the engine specification. Comments cite a rule only if its reason is
//! not obvious.
//!
//! Behaviour in cases that the specification does not cover:
//!
//! | case | behaviour |
//! |---|---|
//! | candles with different stamps that take effect at one instant | the orders of all symbols share one queue; a symbol's second candle, which arrived late, is applied after the first candles of all symbols |
//! | a special limit order with no candle other than the closing auction | expires at the end of the day |
//! | a missing exchange rate in rule (b) or check 12 | the order is refused at submission and replacement, and rejected at release |
//! | trailing values of 0 or less | refused by check 7, with the field name; a quantity of 0 or less is refused by check 3 |
//! | `delayed_until` more than 90 days ahead or in the past | refused by check 4 with a separate text; the limit for `expire_date` is counted from `delayed_until` |
//! | forced liquidation | one order at a time; a remainder of less than a lot is not sold |
//! | fractional shares or rights of an action without an earlier close | valued at zero; dividends are still paid |
//! | a dividend paid after the position was sold | booked as cash; the cost of a later position does not change |
//! | a split or dividend before the first trade of its day | the mark is the unadjusted last price, so values are off until that trade |
//! | an order that ends at the instant of a roll | belongs to the previous day if a candle, a release or the clock ended it, and to the new day if a corporate action or a client did |
//! | operator amounts | at most two decimals; deposits are in HKD, USD, CNH or a currency with a rate |
//! | fields that an order type does not use, and `outside_rth` in a market without extended hours | accepted and ignored; the preview lists them |
//! | a late candle | booked, charged and settled by its original trading day |
//! | an option that expired without a price for its underlying | has no mark, and is valued at cost |
//! | a grid's quantity limits | are compared with the position at the trigger; several levels of one candle may together exceed them once filled |
//! | a grid trigger whose quantity is not a whole lot or exceeds the order size | skipped, with the sleeping reason `position` |
//! | a grid trigger without sufficient cash, margin or a rate | skipped, with the sleeping reason `funds`; the base moves as with every trigger |
//! | a price path that crosses a bound without reaching a level | is ignored; the grid reacts at the next open outside the bounds |
//! | a grid's position | is adjusted for splits; at a bound, the quantity still available in the account is sold |
//! | sleeping grids | suspending or replacing a grid clears its sleeping reason; replacing a day grid does not change its expiry |
//! | cancelling a grid with open orders in a no-cancel period | refused; the grid and its orders remain |
//! | an entry on a date whose statement already exists | is in the next statement; entries from before the first request are in the first statement |
//! | a coarse day whose daily candle has no volume | puts no grid to sleep |
//! | a grid submitted on a coarse day | is put to sleep at the end of the day, even if it was submitted after the opening |
//! | a trailing market order | trades in regular hours only and needs no offset; it accepts every time in force, like MIT |
//! | options before 2024-05-28 | settle on the next day, like options traded on or after that date |
//! ```
//! # use market::{Date, Market, Price, Symbol, Venue, Venues};
//! # use trading::{CorporateAction, EffectiveCandle, Factors, Feed, Rate, Security};
//! use market::Timestamp;
//! use trading::{Account, Command, Currency, Engine, Money, Settings, Tables};
//!
//! # struct NoData(Venues);
//! # impl Feed for NoData {
//! #     fn venue(&self, market: Market) -> &Venue { self.0.of(market) }
//! #     fn security(&self, _: &Symbol, _: Date) -> Option<Security> { None }
//! #     fn candles(&self, _: &Symbol, _: Timestamp, _: Timestamp, _: &mut Vec<EffectiveCandle>) {}
//! #     fn mark(&self, _: &Symbol, _: Timestamp) -> Option<Price> { None }
//! #     fn close_before(&self, _: &Symbol, _: Date) -> Option<Price> { None }
//! #     fn newest(&self, _: &Symbol, _: Timestamp) -> Option<EffectiveCandle> { None }
//! #     fn intraday_close(&self, _: &Symbol, _: Date) -> Option<Price> { None }
//! #     fn actions(&self, _: &Symbol, _: Date, _: Date) -> Vec<CorporateAction> { Vec::new() }
//! #     fn rate(&self, _: Currency, _: Date) -> Option<Rate> { None }
//! #     fn factors(&self, _: &Symbol) -> Option<Factors> { None }
//! # }
//! // `NoData` implements `Feed` for a market without securities.
//! let (feed, tables) = (NoData(Venues::built_in()?), Tables::built_in()?);
//! let engine = Engine::new(&feed, &tables);
//!
//! let (mut account, mut journal) = (Account::default(), Vec::new());
//! let open = Command::Open { account: 1, settings: Settings::default() };
//! let deposit = Command::Deposit { currency: Currency::HKD, amount: Money::whole(10_000) };
//! for command in [open, deposit] {
//!     let outcome = engine.handle(&mut account, &command, Timestamp(1_704_159_000));
//!     assert_eq!(outcome.refusal, None);
//!     journal.extend(outcome.entries);
//! }
//! assert_eq!(account.cash(Currency::HKD), Money::whole(10_000));
//! assert_eq!(Account::fold(&journal), account);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod actions;
mod advance;
mod attached;
mod balance;
mod candle_step;
mod checks;
mod codec;
mod command;
mod decide;
mod decimal;
mod engine;
mod estimate;
mod event;
mod feed;
mod figures;
mod filling;
mod fold;
mod forced;
mod funds;
mod grid;
pub mod ledger;
mod matching;
mod money;
mod order;
mod orders;
pub mod performance;
mod place_order;
mod position;
mod push;
mod quantity;
mod refusal;
mod reserves;
mod roll;
mod sessions;
mod settings;
pub mod statement;
pub mod tables;
mod tape;
mod terms;
mod timers;
mod triggers;
mod view;
mod views;
mod words;
mod work;

pub use account::Account;
pub use advance::AdvanceLimit;
pub use balance::{Balance, balance, balances, fees_at};
pub use checks::has_same_terms;
pub use command::{Command, Submit, SubmitGrid};
pub use decide::decide;
pub use decimal::{DecimalError, PRICE_MAX, Plain, exact_price, parse_exact_price, parse_price, plain_price};
pub use engine::Engine;
pub use estimate::{Estimate, EstimateQuery, estimate};
pub use event::{
    AcceptedOrder, Bar, Dividend, Entry, Event, Execution, FillRule, GridTrigger, NewGrid, Release, Trigger,
    VERSION,
};
pub use feed::{
    ActTimes, CandleKind, CorporateAction, EffectiveCandle, Factors, Feed, Security, drop_overtaken, mark_of,
};
pub use figures::{Figures, Report, figures, report};
pub use grid::{
    Grid, GridHistoryRow, GridLot, GridRule, GridRuleInput, GridStep, GridSymbolInfo, Grids, Levels,
    TickBand, grid_symbol_info,
};
pub use money::{Currency, ParseCurrencyError};
pub use money::{Fraction, HkdAmount, Money, Rate, Rounding};
pub use order::{
    AttachedTo, Direction, Facts, Fill, GridId, GridOrigin, HistoryRow, Order, OrderId, Since, Standing,
    Watch,
};
pub use orders::Orders;
pub use position::Position;
pub use push::{GridPush, OrderPush, Push};
pub use quantity::Quantity;
pub use refusal::{Code, Numbers, Refusal};
pub use sessions::{Auction, Placement};
pub use settings::{AccountLimits, Setting, Settings, Share, start_cash};
pub use tables::{DayTotals, Fee, TableError, Tables};
pub use terms::{Attached, AttachedChanges, Changes, Percent, Terms};
pub use view::{Dates, MarketView};
pub use views::{book_date, charges, is_today, next_wake};
pub use words::{
    AccountType, AttachedLeg, AttachedType, BoundEvent, ChargeGroup, CostMethod, FeePlan, GridHours,
    GridOrderType, GridStatus, GridTimeInForce, GridTriggerKind, Kind, OrderStatus, OrderTag, OrderType,
    OutsideRth, Side, SleepingReason, SuspendReason, TimeInForce, Touch, TriggerStatus, UnknownWord,
};
pub use work::Outcome;
