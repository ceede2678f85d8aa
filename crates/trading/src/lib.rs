//! The paper account: commands and candles in, events out.
//!
//! Everything here is a value or a pure function. The crate reads no clock, no file and no database,
//! and knows no protocol: prices, calendars, rates, factors and `now` come in through [`Feed`] and
//! arguments. The journal is the source of truth: an [`Account`] is the fold of its [`Entry`]s, so
//! the same entries give the same account, a past account is its journal cut at that instant, and a
//! snapshot can be discarded.
//!
//! Start with [`Engine`]: [`Engine::advance`] applies everything that happens up to an instant,
//! [`Engine::handle`] does that and executes a [`Command`]. Both return an [`Outcome`]: entries to
//! store, then pushes to send. [`decide`] returns the events of a command without applying them.
//!
//! | subject | files |
//! |---|---|
//! | values | `money`, `quantity`, `decimal`, `words` (closed sets with their literals), `settings`, `terms` |
//! | dated tables | `tables/`: ticks, fees, settlement days, interest; their text in `tables/*.csv` of the crate |
//! | market data | `feed` (the trait), `view` (the data known at one instant), `tape` (candles in the order of effect) |
//! | state | `event` (the journal), `fold` (applies events to the state), `account`, `order`, `orders`, `position` |
//! | money | `balance` (C, F, S, unsettled), `reserves` (the sums behind F, cached), `figures` (assets, margins, risk), `funds` (the requirements of a buy), `estimate` |
//! | commands | `command`, `decide`, `place_order`, `checks` (1 to 9), `verdict` (10 to 12), `sessions` (days, parking, expiry) |
//! | time | `advance` (the order of work), `timers`, `reach` (which candles can matter), `candle_step`, `matching`, `triggers`, `filling`, `roll`, `actions`, `option_expiry`, `forced` |
//! | grids | `grid/`: rules and their checks, levels, the effect of a candle, sub-orders, profit |
//! | answers | `push`, `ledger` (legs, cash flow), `statement/` (dates and months), `views`; `paper` explains orders from these entries |
//!
//! Rules are those of the engine specification; comments name a rule only where its reason is not
//! obvious.
//!
//! Choices where the specification leaves something open:
//!
//! | case | behaviour |
//! |---|---|
//! | candles that take effect at one instant with different stamps | one queue over all symbols; a symbol's second candle, which is late, follows the first ones of all symbols |
//! | a special limit order that meets no candle but the closing auction | expires with the day |
//! | no exchange rate where rule (b) or check 12 needs one | refused at submit and replace, rejected at release |
//! | values of trailing orders that are not above 0 | refused by check 7, with the name of the field; a quantity that is not above 0 by check 3 |
//! | `delayed_until` that is not within 90 days | refused by check 4 with a separate text; days of `expire_date` count from it |
//! | forced selling | one order at a time; less than a whole lot remains |
//! | an action's fraction, or rights, without any close before it | worth nothing; dividends are still paid |
//! | a dividend that is paid after its holding was sold | cash; the cost of a later holding does not change |
//! | a split or a dividend before the first trade of its day | the mark is the unadjusted last price, so values jump until then |
//! | an order that ends at the instant of a roll | by candles, releases and the clock: on the day before; by corporate actions and clients: on the new one |
//! | amounts of operators | at most two decimals; deposits are HKD, USD, CNH or a currency with a rate |
//! | fields that a type does not use, and `outside_rth` where there is none | accepted and ignored; the preview lists them |
//! | a late candle | booked, charged and settled by its own trading day |
//! | an option that expired without a price of its underlying | has no mark, and is valued at cost |
//! | a grid's quantity limits | are compared with the position at the trigger; several levels of one candle may exceed them together when all fill |
//! | a grid's trigger that the lot of its day, or the size of an order, does not allow | skipped, asleep for `position` |
//! | a grid's trigger without money, margin or rate | skipped, asleep for `funds`; the base moves as with every trigger |
//! | a price path that leaves a bound without reaching a level | is ignored: the next open outside of the bounds counts |
//! | a grid's position | follows splits; sold at a bound as far as it is still available in the account |
//! | a suspended grid | does not sleep; a replaced one wakes, and its expiry day does not change |
//! | a grid's open orders while orders cannot be cancelled | remain, and so does the grid: its cancellation is refused |
//! | an entry on a date whose statement is already made | is in the next one; entries from before the first request are in the first |
//! | a coarse day whose daily candle has no volume | puts no grid to sleep |
//! | a grid that was submitted on a coarse day | falls asleep at the end of the day, even if it was submitted after the opening |
//! | a trailing market order | trades in regular hours only and needs no offset; it accepts every time in force, as MIT does |
//! | options before 2024-05-28 | settle the next day, as always |
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
mod option_expiry;
mod order;
mod orders;
mod place_order;
mod position;
mod push;
mod quantity;
mod reach;
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
mod verdict;
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
    Grid, GridHistoryRow, GridId, GridLot, GridOrigin, GridPush, GridRule, GridRuleInput, GridStep,
    GridSymbolInfo, Grids, Levels, TickBand, grid_symbol_info,
};
pub use money::{Currency, ParseCurrencyError};
pub use money::{Fraction, HkdAmount, Money, Rate, Rounding};
pub use order::{Direction, Facts, Fill, HistoryRow, Order, OrderId, Since, Standing, Watch};
pub use orders::Orders;
pub use position::Position;
pub use push::{OrderPush, Push};
pub use quantity::Quantity;
pub use refusal::{Code, Numbers, Refusal};
pub use sessions::{Auction, Placement};
pub use settings::{AccountLimits, Setting, Settings, Share, start_cash};
pub use tables::{DayTotals, Fee, TableError, Tables};
pub use terms::{Changes, Percent, Terms};
pub use view::{Dates, MarketView};
pub use views::{book_date, charges, is_today, next_wake};
pub use words::{
    AccountType, BoundEvent, ChargeGroup, CostMethod, FeePlan, GridHours, GridOrderType, GridStatus,
    GridTimeInForce, GridTriggerKind, Kind, OrderStatus, OrderTag, OrderType, OutsideRth, Side,
    SleepingReason, SuspendReason, TimeInForce, Touch, TriggerStatus, UnknownWord,
};
pub use work::Outcome;
