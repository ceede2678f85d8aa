use store::AccountId;
use trading::{
    Command, GridId, GridRuleInput, GridStatus, OrderId, Quantity, Side, SleepingReason, SubmitGrid,
    parse_price, plain_price,
};

use super::house::{House, MACHINE, Service, at, live, replay};
use crate::account::book;
use crate::{GridQuery, GridSort, JournalOperation, grid_explanation, grid_history, grid_orders, grids};

/// Candles of example M14 in the specification, followed by a fall in price.
const M14: [&str; 4] = [
    "09:59 300 300 300 300 50000",
    "10:01 300.4 306.2 300 306 80000",
    "10:02 305.8 306 305.4 305.6 80000",
    "10:04 304 304 299.8 300 80000",
];

fn rule(base: &str) -> GridRuleInput {
    let price = |text: &str| Some(parse_price(text).unwrap());
    let percent = Some(trading::Percent::parse("2").unwrap());
    GridRuleInput {
        submitted_base_price: price(base),
        upper_limit_price: price("360"),
        lower_limit_price: price("240"),
        trigger_price_type: Some(2),
        trigger_percent_up: percent,
        trigger_percent_down: percent,
        trigger_quantity: Some(Quantity::whole(100)),
        upper_limit_quantity: Some(Quantity::whole(500)),
        lower_limit_quantity: Some(Quantity::whole(100)),
        time_in_force: Some(1),
        ..GridRuleInput::default()
    }
}

fn submit(base: &str) -> Command {
    let symbol = "700.HK".parse().unwrap();
    Command::SubmitGrid(Box::new(SubmitGrid { symbol, settlement_currency: None, rule: rule(base) }))
}

/// Creates an account that holds 500 shares.
fn holder(house: &House, service: &Service, name: &str) -> AccountId {
    let id = house.account(name);
    let cost = parse_price("300").unwrap();
    let position =
        Command::EnterPosition { symbol: "700.HK".parse().unwrap(), quantity: Quantity::whole(500), cost };
    service.command(id, replay("09:00"), &position).unwrap();
    id
}

fn start(house: &House, service: &Service) -> (AccountId, GridId) {
    let id = holder(house, service, "ann");
    let done = service.command(id, replay("10:00:15"), &submit("300")).unwrap();
    assert_eq!(done.order, None);
    (id, done.grid.unwrap())
}

/// Formats a grid's status, base and trigger count, such as `Performing 306, 1 of them`.
fn seen(service: &Service, id: AccountId, grid: GridId, clock: &str) -> String {
    service.read(id, replay(clock), |reading| match reading.account.grid(grid) {
        Some(grid) => format!("{} {}, {} of them", grid.status, plain_price(grid.base), grid.trigger_times),
        None => "none".to_owned(),
    })
}

#[test]
fn stored_candles_trigger_a_grid_and_its_events_are_pushed_in_sequence() {
    let house = House::new(&M14);
    let service = house.service();
    let (id, grid) = start(&house, &service);
    assert_eq!(seen(&service, id, grid, "10:01:59"), "Performing 300, 0 of them");
    assert_eq!(seen(&service, id, grid, "10:03"), "Performing 306, 1 of them");
    let actual: Vec<String> =
        ["grid Performing 300", "grid Performing 306", "WaitToNew", "NewStatus", "FilledStatus 100@305.800"]
            .iter()
            .map(|actual| format!("{} {actual}", id.0))
            .collect();
    assert_eq!(service.heard(), actual);
    service.command(id, replay("10:03"), &Command::SuspendGrid { id: grid }).unwrap();
    assert_eq!(service.heard(), [format!("{} grid Suspended 306", id.0)]);
    assert_eq!(seen(&service, id, grid, "10:06"), "Suspended 306, 1 of them");
}

#[test]
fn an_account_is_due_each_minute_until_its_grids_end() {
    let house = House::new(&M14);
    let service = house.service();
    let (id, grid) = start(&house, &service);
    assert_eq!(service.paper.next_wake().unwrap(), Some(at("10:01")));
    service.with_reader(|reader| service.paper.advance(&[id], reader, &replay("10:03")));
    assert_eq!(service.heard().last().unwrap(), &format!("{} FilledStatus 100@305.800", id.0));
    service.command(id, replay("10:03:10"), &Command::CancelGrid { id: grid }).unwrap();
    assert_eq!(service.paper.next_wake().unwrap(), None);
}

#[test]
fn a_late_candle_triggers_a_grid_on_arrival() {
    let house = House::new(&M14[..1]);
    let (service, id) = (house.service(), house.account("ann"));
    let grid = service.command(id, live("10:00:15"), &submit("300")).unwrap().grid.unwrap();
    let base = |clock| {
        service.read(id, live(clock), |reading| {
            let grid = reading.account.grid(grid).unwrap();
            (plain_price(grid.base).to_string(), grid.sleeping_reason, grid.updated_at)
        })
    };
    assert_eq!(base("10:03").0, "300");
    house.import(&M14[1..2]);
    // The account holds no shares, so the grid cannot sell.
    let asleep = Some(SleepingReason::Position);
    assert_eq!(base("10:03:10"), ("306".to_owned(), asleep, at("10:03:10")));
}

#[test]
fn a_grid_order_names_its_grid_and_level() {
    let house = House::new(&M14);
    let service = house.service();
    let (id, grid) = start(&house, &service);
    seen(&service, id, grid, "10:05");
    let entries = service.paper.journal(id).unwrap();
    let order = OrderId::of(id.0.unsigned_abs(), 1);
    let step = crate::explanation(&entries, order).unwrap().steps.remove(0);
    assert_eq!(step.words, format!("made by grid {grid}: sell 100 700.HK, at the market, for the day"));
    assert_eq!(
        step.because,
        [
            "the candle 10:01 HKT (open 300.4, high 306.2, low 300, close 306, volume 80000) went to the grid's level 306, \
             above the base 300",
            "so 306 is the base from then on, whether or not this is filled",
            "candles stamped 2026-03-18 10:02:00 HKT or later count for it",
            "it ends at 2026-03-18 16:10:00 HKT",
        ]
    );
    assert_eq!(step.candle.unwrap().high, "306.2");
    let explanation = grid_explanation(&entries, grid).unwrap();
    let words: Vec<&str> = explanation.steps.iter().map(|step| step.words.as_str()).collect();
    assert_eq!(
        words,
        [
            "submitted on 700.HK",
            "triggered at its level 306, above the base 300: sells 100",
            "triggered at its level 299.8, below the base 306: buys 100",
        ]
    );
    assert_eq!(
        explanation.steps[0].because,
        [
            "it sells 100 at 2 % above its base 300, and buys as many at 2 % below it",
            "from 240 to 360, and while the account holds 100 to 500",
        ]
    );
    assert!(grid_explanation(&entries, GridId::of(id.0.unsigned_abs(), 2)).is_none());
}

#[test]
fn a_sleeping_grid_states_the_reason() {
    let house = House::new(&M14);
    let (service, id) = (house.service(), house.account("ann"));
    let grid = service.command(id, replay("10:00:15"), &submit("300")).unwrap().grid.unwrap();
    seen(&service, id, grid, "10:03");
    let explanation = grid_explanation(&service.paper.journal(id).unwrap(), grid).unwrap();
    let step = &explanation.steps[1];
    assert_eq!(
        step.words,
        "triggered at its level 306, above the base 300: sells 100, but the account's position would leave its limits"
    );
    assert_eq!(
        step.because,
        ["position limit: it needs 100 of shares above lower_limit_quantity, and there is 0"]
    );
}

#[test]
fn lists_are_paged_newest_first() {
    let house = House::new(&M14);
    let service = house.service();
    let (id, first) = start(&house, &service);
    let second = service.command(id, replay("10:00:20"), &submit("310")).unwrap().grid.unwrap();
    service.command(id, replay("10:00:30"), &Command::SuspendGrid { id: second }).unwrap();
    service.read(id, replay("10:05"), |reading| {
        let account = reading.account;
        let list = |query: &GridQuery, page, limit| {
            let page = grids(account, query, page, limit);
            (page.rows.iter().map(|grid| grid.id).collect::<Vec<_>>(), page.has_more)
        };
        let all = GridQuery::default();
        assert_eq!(list(&all, 1, 10), (vec![second, first], false));
        assert_eq!(list(&all, 1, 1), (vec![second], true));
        assert_eq!(list(&all, 2, 1), (vec![first], false));
        assert_eq!(list(&all, 3, 1), (vec![], false));
        let oldest = GridQuery { is_ascending: true, ..all.clone() };
        assert_eq!(list(&oldest, 1, 10).0, [first, second]);
        let changed = GridQuery { sort: GridSort::UpdatedAt, ..all.clone() };
        assert_eq!(list(&changed, 1, 10).0, [first, second]);
        let performing = GridQuery { statuses: vec![GridStatus::Performing], ..all.clone() };
        assert_eq!(list(&performing, 1, 10).0, [first]);
        let elsewhere = GridQuery { market: Some(market::Market::Us), ..all.clone() };
        assert_eq!(list(&elsewhere, 1, 10).0, []);
        let other = GridQuery { symbol: Some("5.HK".parse().unwrap()), ..all };
        assert_eq!(list(&other, 1, 10).0, []);

        let orders = |grid, page, limit| {
            let page = grid_orders(account, grid, page, limit);
            let sides: Vec<Side> = page.rows.iter().map(|row| row.order.terms.side).collect();
            (sides, page.has_more)
        };
        assert_eq!(orders(Some(first), 1, 10), (vec![Side::Buy, Side::Sell], false));
        assert_eq!(orders(None, 1, 1), (vec![Side::Buy], true));
        assert_eq!(orders(Some(second), 1, 10), (vec![], false));
        assert_eq!(orders(Some(GridId::of(1, 9)), 1, 10), (vec![], false));

        let history = |before, limit| {
            let page = grid_history(account.grid(second).unwrap(), before, limit);
            (page.rows.iter().map(|row| row.number).collect::<Vec<_>>(), page.has_more)
        };
        assert_eq!(history(None, 10), (vec![2, 1], false));
        assert_eq!(history(None, 1), (vec![2], true));
        assert_eq!(history(Some(2), 10), (vec![1], false));
    });
}

#[test]
fn a_fork_copies_grids_and_a_rewind_reverts_triggers() {
    let house = House::new(&M14);
    let service = house.service();
    let (ann, grid) = start(&house, &service);
    let bob = house.bare_account("bob");
    assert_eq!(seen(&service, ann, grid, "10:03"), "Performing 306, 1 of them");
    let operation = |name| JournalOperation { name, actor: "operator", reason: "a test", machine: MACHINE };
    service.paper.fork(ann, bob, None, &operation("")).unwrap();
    let copy = GridId::of(bob.0.unsigned_abs(), 1);
    assert_eq!(seen(&service, bob, copy, "10:03"), "Performing 306, 1 of them");
    assert_eq!(seen(&service, bob, grid, "10:03"), "none");
    let theirs = service.command(bob, replay("10:03"), &Command::CancelGrid { id: grid }).unwrap_err();
    assert_eq!(theirs.to_string(), "grid order not found");
    let origin = service.read(bob, replay("10:03"), |reading| {
        let order = reading.account.orders().last().unwrap();
        (order.id, order.grid.unwrap().grid)
    });
    assert_eq!(origin, (OrderId::of(bob.0.unsigned_abs(), 1), copy));

    service.paper.rewind(ann, at("10:01"), &operation("once more")).unwrap();
    assert_eq!(seen(&service, ann, grid, "10:01"), "Performing 300, 0 of them");
    assert_eq!(seen(&service, ann, grid, "10:03"), "Performing 306, 1 of them");
    service.paper.reset(ann, &operation("anew")).unwrap();
    assert_eq!(seen(&service, ann, grid, "10:03"), "none");
}

#[test]
fn a_snapshot_includes_grids() {
    let house = House::new(&M14);
    let service = house.service();
    let (id, grid) = start(&house, &service);
    seen(&service, id, grid, "10:05");
    service.command(id, replay("10:05"), &Command::AgreeToStrategy).unwrap();
    service.read(id, replay("10:05"), |reading| {
        assert!(reading.account.has_agreed_to_strategy());
        let stored = book::decode_snapshot(&book::encode_snapshot(reading.account).unwrap());
        assert_eq!(stored.as_ref(), Some(reading.account));
    });
}
