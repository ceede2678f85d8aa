//! Tests the work limits per account. An account is advanced in portions, and a request waits for
//! only a few portions.

use market::{Date, Market, Venues};
use store::AccountId;
use trading::{
    AdvanceLimit, Command, GridRuleInput, OrderType, Quantity, Side, SubmitGrid, Terms, TimeInForce,
    parse_price, plain_price,
};

use super::house::{House, Service, at, limit, replay};
use crate::service::Portion;
use crate::{Advanced, Moment, PaperError, explained, grid_explanation};

/// Returns twenty one-minute candles that alternately rise and fall.
fn candles() -> Vec<String> {
    let minute = |number: usize| {
        let (open, close) = if number.is_multiple_of(2) { (300, 301) } else { (301, 300) };
        format!("10:{number:02} {open} 301 300 {close} 50000")
    };
    std::iter::once("09:59 300 300 300 300 50000".to_owned()).chain((1..=20).map(minute)).collect()
}

fn house() -> House {
    let candles = candles();
    House::new(&candles.iter().map(String::as_str).collect::<Vec<_>>())
}

fn grid() -> Command {
    let price = |text: &str| Some(parse_price(text).unwrap());
    let rule = GridRuleInput {
        submitted_base_price: price("300"),
        upper_limit_price: price("360"),
        lower_limit_price: price("240"),
        trigger_price_type: Some(1),
        trigger_spread_up: price("0.6"),
        trigger_spread_down: price("0.6"),
        trigger_quantity: Some(Quantity::whole(100)),
        upper_limit_quantity: Some(Quantity::whole(900)),
        lower_limit_quantity: Some(Quantity::whole(100)),
        time_in_force: Some(1),
        ..GridRuleInput::default()
    };
    let symbol = "700.HK".parse().unwrap();
    Command::SubmitGrid(Box::new(SubmitGrid { symbol, settlement_currency: None, rule }))
}

/// Creates an account with five grids.
fn gridder(house: &House, service: &Service, name: &str) -> AccountId {
    let id = house.account(name);
    let position = Command::EnterPosition {
        symbol: "700.HK".parse().unwrap(),
        quantity: Quantity::whole(500),
        cost: parse_price("300").unwrap(),
    };
    service.command(id, replay("09:00"), &position).unwrap();
    for _ in 0..5 {
        service.command(id, replay("10:00:15"), &grid()).unwrap();
    }
    id
}

fn advance(service: &Service, ids: &[AccountId], moment: Moment) -> Advanced {
    service.with_reader(|reader| service.paper.advance(ids, reader, &moment))
}

fn entries(service: &Service, id: AccountId) -> usize {
    service.paper.journal(id).unwrap().len()
}

/// Formats the base and trigger count of each grid, and the number of journal entries.
fn state(service: &Service, id: AccountId, moment: Moment) -> Vec<String> {
    service.read(id, moment, |reading| {
        let grids = reading.account.grids().iter();
        let line = |grid: &trading::Grid| format!("{} {}", plain_price(grid.base), grid.trigger_times);
        grids.map(line).chain([reading.account.entries().to_string()]).collect()
    })
}

const SMALL: Portion =
    Portion { limit: AdvanceLimit { entries: 4, candles: 200_000 }, each_request: 2, replayed: 100 };

#[test]
fn a_busy_account_does_not_delay_others() {
    let house = house();
    let mut service = house.service();
    let (hog, other) = (gridder(&house, &service, "hog"), gridder(&house, &service, "other"));
    let ann = house.account("ann");
    service.submit(ann, replay("10:00:20"), limit(Side::Buy, 100, "305.00"));
    service.heard();
    let now = replay("10:30");
    service.paper.portion = SMALL;
    assert_eq!(advance(&service, &[hog, ann], now), Advanced { behind: vec![hog], failed: vec![] });
    let heard = service.heard();
    assert!(heard.iter().any(|line| line.contains("FilledStatus")), "{heard:?}");
    assert!(service.paper.due(at("10:30"), 9).unwrap().contains(&hog), "it goes on in the next turn");
    // A single instant may exceed the limit, because it includes the triggers, orders and fills of
    // all five grids.
    let (mut turns, mut before) = (1, entries(&service, hog));
    loop {
        let advanced = advance(&service, &[hog], now);
        let after = entries(&service, hog);
        assert!(after - before <= SMALL.limit.entries + 60, "{} entries in a turn", after - before);
        (turns, before) = (turns + 1, after);
        if advanced.behind.is_empty() {
            break;
        }
    }
    assert!(turns > 5, "{turns}");
    service.paper.portion = Portion::default();
    assert_eq!(advance(&service, &[other], now), Advanced::default());
    assert_eq!(state(&service, hog, now), state(&service, other, now));
}

#[test]
fn a_request_reports_progress_after_a_few_portions() {
    let house = house();
    let mut service = house.service();
    let id = gridder(&house, &service, "hog");
    let other = gridder(&house, &service, "other");
    service.paper.portion = SMALL;
    let now = replay("10:30");
    let ask = |service: &Service| {
        service.with_reader(|reader| service.paper.at(id, reader, &now).read(|reading| reading.view.at))
    };
    let before = entries(&service, id);
    let PaperError::CatchingUp { at: reached, to } = ask(&service).unwrap_err() else { panic!() };
    assert!(reached > at("10:00:15") && reached < to && to == at("10:30"), "{reached} {to}");
    assert!(
        entries(&service, id) - before <= 2 * (SMALL.limit.entries + 60),
        "finished portions are written"
    );
    // A request that fails with `CatchingUp` submits nothing.
    let order = Command::submit(limit(Side::Buy, 100, "290.00"));
    assert!(matches!(service.command(id, now, &order), Err(PaperError::CatchingUp { .. })));
    let tries = (0..100).take_while(|_| ask(&service).is_err()).count();
    assert!((1..50).contains(&tries), "{tries}");
    assert_eq!(
        service.read(id, now, |reading| reading
            .account
            .orders()
            .iter()
            .filter(|order| order.grid.is_none())
            .count()),
        0
    );
    service.command(id, now, &order).unwrap();
    // A command line waits until the account has caught up completely.
    let mut patient = house.service();
    patient.paper.portion = Portion { each_request: u32::MAX, ..SMALL };
    assert_eq!(state(&patient, other, now).len(), 6);
}

/// Returns the terms of a good-til-canceled limit order far below the market.
fn good_til_canceled(symbol: &str, price: &str) -> Terms {
    let terms = Terms::new(symbol.parse().unwrap(), Side::Buy, OrderType::Limit, Quantity::whole(100));
    let time_in_force = TimeInForce::GoodTilCanceled;
    Terms { price: Some(parse_price(price).unwrap()), time_in_force, ..terms }
}

/// Returns 10:00 on the given number of days before 18 March.
fn days_before(days: i64) -> Moment {
    replay(&format!("{}:00", 10 - 24 * days))
}

#[test]
fn a_portion_is_limited_by_scanned_candles_even_without_events() {
    let house = house();
    // One hour of one-minute candles on the next day.
    let later: Vec<String> = (0..60).map(|minute| format!("34:{minute:02} 300 301 300 300 50000")).collect();
    house.import(&later.iter().map(String::as_str).collect::<Vec<_>>());
    let mut service = house.service();
    let id = house.account("ann");
    service.submit(id, replay("10:00:20"), good_til_canceled("700.HK", "250.00"));
    // The limit is above the cost of a day without candles, and below the cost of that hour.
    service.paper.portion = Portion {
        limit: AdvanceLimit { entries: 1_000, candles: 150 },
        each_request: 1,
        ..Portion::default()
    };
    let after = |hours: i64| replay(&format!("{hours}:00"));
    assert_eq!(advance(&service, &[id], after(20)).behind, []);
    assert_eq!(advance(&service, &[id], after(106)).behind, [id]);
    let more = (0..20).take_while(|_| !advance(&service, &[id], after(106)).behind.is_empty()).count();
    assert!((1..4).contains(&more), "{more}");
}

#[test]
fn an_account_without_open_orders_crosses_years_in_one_request() {
    let house = house();
    let (id, service) = (house.account("ann"), house.service());
    // The account begins on 2022-01-04.
    let began = days_before(1_534);
    service.read(id, began, |reading| assert_eq!(reading.account.began(), Some(began.as_of.now())));
    let now = replay("10:30");
    let seen = service.read(id, now, |reading| (reading.account.horizon(), reading.account.entries()));
    assert_eq!(seen.0, Some(at("10:30")));
    // An account with only a position has daily rolls, but no candles to scan.
    let position = Command::EnterPosition {
        symbol: "700.HK".parse().unwrap(),
        quantity: Quantity::whole(500),
        cost: parse_price("300").unwrap(),
    };
    let bob = house.account("bob");
    service.command(bob, began, &position).unwrap();
    assert_eq!(service.read(bob, now, |reading| reading.account.horizon()), Some(at("10:30")));
}

#[test]
fn days_without_minute_candles_cost_little_work() {
    let house = House::new(&[]);
    let symbols: Vec<String> = (1..=12).map(|number| format!("{number}.HK")).collect();
    let rows: String = symbols.iter().map(|symbol| format!("{symbol},A,HKD,100,HKEquity\n")).collect();
    house.import_file("securities.csv", &format!("symbol,name_en,currency,lot_size,board\n{rows}"));
    let dates = std::iter::successors("2026-01-05".parse::<Date>().ok(), |date| date.tomorrow().ok());
    let venues = Venues::built_in().unwrap();
    let calendar = venues.of(Market::Hk).calendar();
    let dates: Vec<Date> = dates.take(75).filter(|date| calendar.kind(*date).is_some()).collect();
    let rows = dates
        .iter()
        .flat_map(|date| symbols.iter().map(move |symbol| format!("{symbol},{date},30,31,29,30,9000000\n")));
    let rows: String = rows.collect();
    house.import_file("days.csv", &format!("symbol,date,open,high,low,close,volume\n{rows}"));
    // The replay runs from 2026-01-06 to 2026-03-20.
    let (first, last) = (days_before(71), days_before(-2));
    let mut service = house.service();
    let accounts = ["ann", "bob"].map(|name| house.account(name));
    for id in accounts {
        for symbol in &symbols {
            service.submit(id, first, good_til_canceled(symbol, "10.00"));
        }
    }
    let [ann, bob] = accounts;
    let ask = |service: &Service, id| {
        service.with_reader(|reader| service.paper.at(id, reader, &last).read(|reading| reading.view.at))
    };
    assert_eq!(ask(&service, ann).unwrap(), last.as_of.now());
    // Smaller portions need several requests for the same work.
    service.paper.portion = Portion {
        limit: AdvanceLimit { entries: 1_000, candles: 8_000 },
        each_request: 5,
        ..Portion::default()
    };
    assert!(matches!(ask(&service, bob), Err(PaperError::CatchingUp { .. })));
    let tries = (0..20).take_while(|_| ask(&service, bob).is_err()).count();
    assert!((1..10).contains(&tries), "{tries}");
}

#[test]
fn a_partial_journal_read_gives_the_same_explanation() {
    let house = house();
    let service = house.service();
    let id = gridder(&house, &service, "ann");
    let now = replay("10:30");
    let participation = trading::Setting::Participation(Some(trading::Share::parse("0.02").unwrap()));
    service.command(id, replay("10:05:15"), &Command::Set(participation)).unwrap();
    let (orders, grids) = service.read(id, now, |reading| {
        let orders: Vec<_> = reading.account.orders().iter().map(|order| order.id).collect();
        (orders, reading.account.grids().iter().map(|grid| grid.id).collect::<Vec<_>>())
    });
    let journal = service.paper.journal(id).unwrap();
    assert!(orders.len() > 10, "{}", orders.len());
    for order in orders {
        let part = service.with_reader(|reader| service.paper.at(id, reader, &now).order_explanation(order));
        let all = service
            .with_reader(|reader| service.paper.at(id, reader, &now).look(|seen| explained(seen, order)));
        assert_eq!(part.unwrap(), all.unwrap());
    }
    for grid in grids {
        let actual = service.with_reader(|reader| service.paper.at(id, reader, &now).grid_explanation(grid));
        assert_eq!(actual.unwrap(), grid_explanation(&journal, grid));
    }
}
