//! The paper account for `chandler demo --serve`: cash, a few positions with their orders, and a
//! grid. Everything is submitted at past instants, in order, so that every account page has
//! content.

use access::{Access, Account, AccountId};
use anyhow::anyhow;
use history::{Adjust, Anchor, Direction, Query, Select, Sessions};
use market::{Date, Floors, PRICE_UNIT, Period, Price, Symbol, Timestamp, Venue};
use paper::Opening;
use store::Reader;
use trading::{
    Command, GridRuleInput, GridTimeInForce, OrderType, Percent, Quantity, Side, SubmitGrid, Terms,
    TimeInForce,
};

use crate::clock::Clock;
use crate::context::{CommandContext, symbol};
use crate::failure::Failure;
use crate::local::Books;

/// A market order submitted in the past.
struct PastOrder {
    /// Trading days before the last one in the demo's market data.
    days: u32,
    symbol: &'static str,
    side: Side,
    quantity: i64,
}

/// Past orders, oldest first. Each is on a different day, so their instants ascend regardless of
/// market hours.
const PAST_ORDERS: [PastOrder; 6] = [
    PastOrder { days: 44, symbol: "9001.HK", side: Side::Buy, quantity: 2_000 },
    PastOrder { days: 37, symbol: "CNDL.US", side: Side::Buy, quantity: 120 },
    PastOrder { days: 30, symbol: "9003.HK", side: Side::Buy, quantity: 300 },
    PastOrder { days: 23, symbol: "WAX.US", side: Side::Buy, quantity: 200 },
    PastOrder { days: 16, symbol: "9002.HK", side: Side::Buy, quantity: 10_000 },
    PastOrder { days: 9, symbol: "9001.HK", side: Side::Sell, quantity: 1_000 },
];
/// A grid on one of the positions, started after the past orders and before the resting one.
/// `quantity` is the quantity per step.
const GRID: PastOrder = PastOrder { days: 6, symbol: "9003.HK", side: Side::Buy, quantity: 100 };
/// Size of the grid's steps in percent, and distance of its bounds from the previous close in
/// percent.
const GRID_STEP: &str = "4";
const GRID_REACH: i64 = 20;
/// Minimum and maximum position, in steps.
const GRID_POSITION: (i64, i64) = (1, 5);
/// A good-til-cancelled order below the market price, submitted a few days ago.
const RESTING: PastOrder = PastOrder { days: 3, symbol: "CNDL.US", side: Side::Buy, quantity: 50 };
/// Distance below the previous close, in percent.
const RESTING_BELOW: i64 = 10;
/// Local time at which past orders are submitted, when every market is open: minutes after midnight
/// plus seconds.
const SUBMITTED_MINUTE: i32 = 10 * 60 + 5;
const SUBMITTED_SECONDS: i64 = 15;

/// Creates the trading history of an account that has not begun. Other accounts are not changed.
pub(crate) fn prepare(context: &CommandContext, access: &Access, account: AccountId) -> Result<(), Failure> {
    let account = access.account(account)?.ok_or_else(|| anyhow!("the demo account no longer exists"))?;
    let mut books = Books::open(context)?;
    if !books.begin(&account, &Opening::default())? {
        return Ok(());
    }
    let store = context.open(store::Access::Read)?;
    let mut reader = store.reader()?;
    for order in &PAST_ORDERS {
        let symbol = symbol(order.symbol)?;
        let terms = Terms::new(symbol, order.side, OrderType::Market, Quantity::whole(order.quantity));
        submit(context, &mut books, &account, (order, terms, &mut reader))?;
    }
    begin_grid(context, &mut books, &account, &mut reader)?;
    let symbol = symbol(RESTING.symbol)?;
    let close = close_before(context, &mut reader, &RESTING, &symbol)?;
    let terms = Terms {
        price: close.map(|close| part_of(close, 100 - RESTING_BELOW)),
        time_in_force: TimeInForce::GoodTilCanceled,
        ..Terms::new(symbol, RESTING.side, OrderType::Limit, Quantity::whole(RESTING.quantity))
    };
    submit(context, &mut books, &account, (&RESTING, terms, &mut reader))
}

/// Submits an order at its instant. Orders that are rejected, because their security was not traded
/// yet, are skipped.
fn submit(
    context: &CommandContext,
    books: &mut Books,
    account: &Account,
    (order, terms, reader): (&PastOrder, Terms, &mut Reader),
) -> Result<(), Failure> {
    if let Some(at) = instant(context, reader, order)? {
        books.go_to(at);
        books.offer(account, &Command::submit(terms))?;
    }
    Ok(())
}

/// Starts the grid if its security was already traded at that time.
fn begin_grid(
    context: &CommandContext,
    books: &mut Books,
    account: &Account,
    reader: &mut Reader,
) -> Result<(), Failure> {
    let symbol = symbol(GRID.symbol)?;
    let at = instant(context, reader, &GRID)?;
    let close = close_before(context, reader, &GRID, &symbol)?;
    let (Some(at), Some(close)) = (at, close) else { return Ok(()) };
    let step = Percent::parse(GRID_STEP)?;
    let (least, most) = GRID_POSITION;
    let rule = GridRuleInput {
        submitted_base_price: Some(close),
        lower_limit_price: Some(part_of(close, 100 - GRID_REACH)),
        upper_limit_price: Some(part_of(close, 100 + GRID_REACH)),
        // The step size is in percent.
        trigger_price_type: Some(2),
        trigger_percent_up: Some(step),
        trigger_percent_down: Some(step),
        trigger_quantity: Some(Quantity::whole(GRID.quantity)),
        lower_limit_quantity: Some(Quantity::whole(least * GRID.quantity)),
        upper_limit_quantity: Some(Quantity::whole(most * GRID.quantity)),
        time_in_force: Some(GridTimeInForce::GoodTilCanceled.code().into()),
        ..GridRuleInput::default()
    };
    books.go_to(at);
    books.offer(
        account,
        &Command::SubmitGrid(Box::new(SubmitGrid { symbol, settlement_currency: None, rule })),
    )?;
    Ok(())
}

/// Returns the given percentage of a price, truncated to whole cents.
fn part_of(price: Price, hundredths: i64) -> Price {
    let cent = PRICE_UNIT / 100;
    Price(price.0 * hundredths / 100 / cent * cent)
}

/// Returns the instant of a past order. Days are counted from the last day of the demo data,
/// because the data may be old.
fn instant(
    context: &CommandContext,
    reader: &mut Reader,
    order: &PastOrder,
) -> Result<Option<Timestamp>, Failure> {
    let symbol = symbol(order.symbol)?;
    let series = reader.snapshot()?.series_of(&symbol)?;
    let Some(last) = series.iter().map(|info| info.last).max() else { return Ok(None) };
    let venue = context.history.venue(&symbol);
    let through = venue.zone().date(last.min(context.now()));
    let day = day_before(venue, through, order.days).and_then(|date| venue.day(date));
    Ok(day.map(|day| Timestamp(day.at(SUBMITTED_MINUTE).0 + SUBMITTED_SECONDS)))
}

/// Returns the trading day that is `days` trading days before `date`.
fn day_before(venue: &Venue, date: Date, days: u32) -> Option<Date> {
    let before = |date: Date| date.yesterday().ok().and_then(|date| venue.calendar().on_or_before(date));
    (0..days).try_fold(date, |date, _| before(date))
}

/// Returns the close of the day before an order.
fn close_before(
    context: &CommandContext,
    reader: &mut Reader,
    order: &PastOrder,
    symbol: &Symbol,
) -> Result<Option<Price>, Failure> {
    let Some(at) = instant(context, reader, order)? else { return Ok(None) };
    let query = Query {
        symbol: symbol.clone(),
        period: Period::DAY,
        adjust: Adjust::None,
        sessions: Sessions::Intraday,
        floors: Floors::NONE,
        select: Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: 2 },
    };
    let answer = context.history.candles(reader, &query, Clock::Fixed(at).as_of())?;
    Ok(answer.candles.iter().next().map(|candle| candle.close))
}
