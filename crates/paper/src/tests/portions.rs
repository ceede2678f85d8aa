//! What one account may hold up: it is brought forward in portions, and a request waits for a few of them.

use store::AccountId;
use trading::{Command, GridRuleInput, Quantity, Side, SubmitGrid, parse_price, plain_price};

use super::house::{House, Service, at, limit, replay};
use crate::portion::Portion;
use crate::{Advanced, Moment, PaperError, explained, grid_explanation};

/// Twenty minutes, each a step up or down.
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

/// An account with five grids.
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
    service.with_reader(|reader| service.paper.advance(ids, (reader, moment)))
}

fn entries(service: &Service, id: AccountId) -> usize {
    service.paper.journal(id).unwrap().len()
}

/// Base and triggers of each grid, and the number of entries.
fn state(service: &Service, id: AccountId, moment: Moment) -> Vec<String> {
    service.read(id, moment, |reading| {
        let grids = reading.account.grids().iter();
        let line = |grid: &trading::Grid| format!("{} {}", plain_price(grid.base), grid.trigger_times);
        grids.map(line).chain([reading.account.entries().to_string()]).collect()
    })
}

const SMALL: Portion = Portion { entries: 4, candles: 200_000, each_request: 2 };

#[test]
fn an_account_with_a_lot_to_do_delays_no_other_and_ends_in_the_same_state() {
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
    // An instant has some triggers and orders of each of five grids, and fills.
    let (mut turns, mut before) = (1, entries(&service, hog));
    loop {
        let advanced = advance(&service, &[hog], now);
        let after = entries(&service, hog);
        assert!(after - before <= SMALL.entries + 60, "{} entries in a turn", after - before);
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
fn a_request_waits_for_a_few_portions_and_is_told_how_far_the_account_is() {
    let house = house();
    let mut service = house.service();
    let id = gridder(&house, &service, "hog");
    let other = gridder(&house, &service, "other");
    service.paper.portion = SMALL;
    let now = replay("10:30");
    let ask = |service: &Service| {
        service.with_reader(|reader| service.paper.read(id, (reader, now), |reading| reading.view.at))
    };
    let before = entries(&service, id);
    let PaperError::CatchingUp { at: reached, to } = ask(&service).unwrap_err() else { panic!() };
    assert!(reached > at("10:00:15") && reached < to && to == at("10:30"), "{reached} {to}");
    assert!(entries(&service, id) - before <= 2 * (SMALL.entries + 60), "finished portions are written");
    // Nothing is ordered by a request that is refused.
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
    // A command line waits for all of it.
    let mut patient = house.service();
    patient.paper.portion = Portion { each_request: u32::MAX, ..SMALL };
    assert_eq!(state(&patient, other, now).len(), 6);
}

#[test]
fn a_portion_looks_at_so_many_candles_whether_or_not_anything_happens() {
    let house = house();
    let mut service = house.service();
    let id = house.account("ann");
    service.submit(
        id,
        replay("10:00:20"),
        trading::Terms {
            time_in_force: trading::TimeInForce::GoodTilCanceled,
            ..limit(Side::Buy, 100, "250.00")
        },
    );
    // A day and a half of one security.
    service.paper.portion = Portion { entries: 1_000, candles: 36 * 60, each_request: 1 };
    let after = |days: i64| replay(&format!("{}:00", 10 + 24 * days));
    assert_eq!(advance(&service, &[id], after(1)).behind, []);
    assert_eq!(advance(&service, &[id], after(4)).behind, [id]);
    assert_eq!(advance(&service, &[id], after(4)).behind, []);
}

#[test]
fn a_part_of_the_journal_gives_the_same_explanation_as_all_of_it() {
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
        let part = service.with_reader(|reader| service.paper.order_explanation(id, order, (reader, now)));
        let all = service
            .with_reader(|reader| service.paper.look(id, (reader, now), |seen| explained(seen, order)));
        assert_eq!(part.unwrap(), all.unwrap());
    }
    for grid in grids {
        let told = service.with_reader(|reader| service.paper.grid_explanation(id, grid, (reader, now)));
        assert_eq!(told.unwrap(), grid_explanation(&journal, grid));
    }
}
