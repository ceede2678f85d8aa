//! Contents of the demo account for `chandler demo --serve`: a paper account with cash, positions
//! and a grid, watchlists, and topics. Orders are submitted at past instants in ascending order, so
//! that every account page has content.

use access::{Access, Account, AccountId, PricedSecurity, WatchlistName};
use anyhow::anyhow;
use history::{Adjust, Anchor, Direction, Query, Select, Sessions};
use market::{Date, Floors, PRICE_UNIT, Period, Price, Symbol, Timestamp, Venue};
use paper::Opening;
use social::{Community, Draft, Listing, PageOf, RawDraft};
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
    /// Number of trading days before the last day of the demo's market data.
    days: u32,
    symbol: &'static str,
    side: Side,
    quantity: i64,
}

/// Past orders, oldest first. Each order is on a different day, so the instants ascend regardless
/// of market hours.
const PAST_ORDERS: [PastOrder; 6] = [
    PastOrder { days: 44, symbol: "9001.HK", side: Side::Buy, quantity: 2_000 },
    PastOrder { days: 37, symbol: "CNDL.US", side: Side::Buy, quantity: 120 },
    PastOrder { days: 30, symbol: "9003.HK", side: Side::Buy, quantity: 300 },
    PastOrder { days: 23, symbol: "WAX.US", side: Side::Buy, quantity: 200 },
    PastOrder { days: 16, symbol: "9002.HK", side: Side::Buy, quantity: 10_000 },
    PastOrder { days: 9, symbol: "9001.HK", side: Side::Sell, quantity: 1_000 },
];
/// Grid on one of the positions, started after the past orders and before the resting order.
/// `quantity` is the quantity per step.
const GRID: PastOrder = PastOrder { days: 6, symbol: "9003.HK", side: Side::Buy, quantity: 100 };
/// Size of a grid step, in percent.
const GRID_STEP: &str = "4";
/// Distance between the previous close and each price bound of the grid, in percent.
const GRID_REACH: i64 = 20;
/// Minimum and maximum position of the grid, in multiples of the quantity per step.
const GRID_POSITION: (i64, i64) = (1, 5);
/// Good-til-cancelled order below the market price, submitted a few days ago.
const RESTING: PastOrder = PastOrder { days: 3, symbol: "CNDL.US", side: Side::Buy, quantity: 50 };
/// Distance of the resting order's limit below the previous close, in percent.
const RESTING_BELOW: i64 = 10;
/// Local time of day at which past orders are submitted, in minutes after midnight. Every market is
/// open at that time.
const SUBMITTED_MINUTE: i32 = 10 * 60 + 5;
/// Seconds added to [`SUBMITTED_MINUTE`].
const SUBMITTED_SECONDS: i64 = 15;

/// Creates the trading history of a demo account whose paper account has no entries yet. Does
/// nothing for other accounts.
pub(crate) fn prepare_paper(
    context: &CommandContext,
    access: &Access,
    account: AccountId,
) -> Result<(), Failure> {
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

/// Submits an order at its instant. Does nothing if the security has no candles, and ignores a
/// rejection.
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

/// Starts the grid. Does nothing if the grid's security has no candles at that time.
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
        // 2 selects step sizes in percent.
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

/// Returns the instant at which a past order is submitted, or `None` if the security has no
/// candles. Days are counted from the last day of the demo data, because the data may be old.
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

/// Returns the date that is `days` trading days before `date`, or `None` if it is outside the
/// calendar.
fn day_before(venue: &Venue, date: Date, days: u32) -> Option<Date> {
    let before = |date: Date| date.yesterday().ok().and_then(|date| venue.calendar().on_or_before(date));
    (0..days).try_fold(date, |date, _| before(date))
}

/// Returns the close of the trading day before an order, or `None` if there is no candle.
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

/// Names of the watchlist groups with their securities.
const GROUPS: [(&str, &[&str]); 2] = [
    ("Candles", &["CNDL.US", "WICK.US", "WAX.US", ".CHDL.US"]),
    ("烛", &["9001.HK", "609001.SH", "309001.SZ"]),
];

/// Topic with its age in hours.
struct PastTopic {
    hours: i64,
    title: &'static str,
    body: &'static str,
    replies: &'static [&'static str],
}

/// Topics of the demo account, oldest first.
const TOPICS: [PastTopic; 3] = [
    PastTopic {
        hours: 50,
        title: "About this market",
        body: "All data here is fictional. **Thirteen securities** on four exchanges follow random walks that depend \
            only on their symbols and the calendar, so they are the same on every machine.\n\n\
               - 9003.HK and CNDL.US were split: compare *as traded* with *adjusted*.\n\
               - 9002.HK is suspended for two weeks in May of odd years.\n\
               - WICK.US is halted on volatile days.\n\
               - 9004.HK is rarely traded: its coverage distinguishes minutes without trades from minutes that were not loaded.\n\
               - 687001.SH has no one-minute candles, only five-minute ones: shorter periods are disabled.\n\
               - One file has deliberate errors: the imports page lists the refused rows.\n",
        replies: &["SNUF.US has prices below a dollar, with four decimals."],
    },
    PastTopic {
        hours: 26,
        title: "",
        body: "Single trades of the last weeks are stored for 9001.HK, CNDL.US and 609001.SH. The capital flow is \
            calculated from them.",
        replies: &[],
    },
    PastTopic {
        hours: 3,
        title: "",
        body: "The demo's paper account has bought WAX.US and sold half of its 9001.HK, and a grid trades 9003.HK. \
            Each order explains why it was filled.",
        replies: &[],
    },
];

/// Creates watchlists for an account without watchlists, and topics for an account without topics.
pub(crate) fn prepare_desk(
    context: &CommandContext,
    access: &Access,
    account: AccountId,
) -> Result<(), Failure> {
    let lists = access.watchlists(account)?;
    if lists.groups.is_empty() && lists.followed.is_empty() {
        follow(context, access, account)?;
    }
    let community = Community::new(access.database());
    if community.topics(Listing::Mine, account, None, PageOf { limit: 1, offset: 0 })?.is_empty() {
        write_topics(&community, account)?;
    }
    Ok(())
}

fn follow(context: &CommandContext, access: &Access, account: AccountId) -> Result<(), Failure> {
    let mut reader = context.open(store::Access::Read)?.reader()?;
    for (name, symbols) in GROUPS {
        let mut securities = Vec::with_capacity(symbols.len());
        for code in symbols {
            let symbol = symbol(code)?;
            let last = context.history.last_price(&mut reader, &symbol, Floors::NONE, context.as_of())?;
            let price = last.map(|(price, decimals)| price.text(decimals).to_string());
            securities.push(PricedSecurity { symbol, price });
        }
        access.create_watchlist(account, &WatchlistName::parse(name)?, &securities, context.now())?;
    }
    Ok(())
}

/// Creates the topics. Topics are dated by the machine's clock, like all user content.
fn write_topics(community: &Community, account: AccountId) -> Result<(), Failure> {
    let now = Clock::Machine.now();
    for PastTopic { hours, title, body, replies } in TOPICS {
        let at = Timestamp(now.0 - hours * 3_600);
        let kind = if title.is_empty() { "post" } else { "article" };
        let draft = Draft::parse(&RawDraft { kind: Some(kind), title, body, ..RawDraft::default() })?;
        let topic = community.write(account, &draft, at)?;
        for reply in replies {
            community.reply(account, topic.id, None, reply, at)?;
        }
    }
    Ok(())
}
