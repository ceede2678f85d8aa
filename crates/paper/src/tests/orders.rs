//! Tests fills from stored candles, including late candles, and the state of an account after a
//! restart.

use trading::{Changes, Command, Currency, Money, Quantity, Side, figures, parse_price};

use super::house::{House, Service, at, limit, live, replay};
use crate::{FlowQuery, PaperError};

/// Candles of example G1 in the specification.
const G1: [&str; 2] = ["10:00 305 305 300 305 50000", "10:01 305.2 305.8 305 305.6 50000"];

#[test]
fn a_limit_order_fills_from_stored_candles() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert_eq!(service.seen(id, replay("10:01:59"), order), "NewStatus 0@- 500000.00");
    let frozen = |moment| {
        service.read(id, moment, |reading| {
            let figures = figures(reading.account, &reading.view).unwrap();
            let balance = figures.balances[&Currency::HKD];
            (balance.frozen().text().to_string(), balance.reserved_fees.text().to_string())
        })
    };
    assert_eq!(frozen(replay("10:01:59")), ("61284.77".to_owned(), "84.77".to_owned()));
    assert_eq!(service.seen(id, replay("10:02"), order), "FilledStatus 200@305.200 438875.25");
    assert_eq!(frozen(replay("10:02")), ("0.00".to_owned(), "0.00".to_owned()));
    let actual: Vec<String> = ["WaitToNew", "NewStatus", "FilledStatus 200@305.200"]
        .iter()
        .map(|actual| format!("{} {actual}", id.0))
        .collect();
    assert_eq!(service.heard(), actual);
}

#[test]
fn cost_prices_have_three_decimals() {
    let house = House::new(&["10:01 305 305 305 305 1000", "10:02 305.2 305.2 305.2 305.2 50000"]);
    house.import_file("decimals.csv", "symbol,decimals\n700.HK,2\n");
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 300, "306.00"));
    // The fills are 100 at 305 and 200 at 305.2, with charges of 118.62.
    assert_eq!(service.seen(id, replay("10:03"), order), "FilledStatus 300@305.1333 408341.38");
    let costs: Vec<String> = service.read(id, replay("10:03"), |reading| {
        let method = reading.account.settings().cost;
        reading.account.positions().map(|(_, position)| position.cost_price(method).to_string()).collect()
    });
    assert_eq!(costs, ["305.133"]);
}

#[test]
fn advancing_in_one_step_equals_advancing_by_seconds() {
    let house = House::new(&G1);
    let (ann, bob, service) = (house.account("ann"), house.account("bob"), house.service());
    let orders = [ann, bob].map(|id| service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00")));
    for second in 16..=59 {
        service.seen(ann, replay(&format!("10:00:{second}")), orders[0]);
    }
    for minute in 1..=3 {
        service.seen(ann, replay(&format!("10:{minute:02}:07")), orders[0]);
    }
    let seen =
        [(ann, orders[0]), (bob, orders[1])].map(|(id, order)| service.seen(id, replay("16:30"), order));
    assert_eq!(seen[0], seen[1]);
    let journals = [(ann, orders[0]), (bob, orders[1])].map(|(id, order)| {
        let text = serde_json::to_string(&service.paper.journal(id).unwrap()).unwrap();
        text.replace(&format!("\"{order}\""), "ORDER").replace(&format!("\"account\":{}", id.0), "ACCOUNT")
    });
    assert_eq!(journals[0], journals[1]);
}

#[test]
fn a_cancel_at_the_instant_of_a_fill_is_refused() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let refused = service.command(id, replay("10:02:00"), &Command::Cancel { id: order }).unwrap_err();
    let PaperError::Refused(refusal) = refused else { panic!("{refused:?}") };
    assert!(refusal.text.contains("FilledStatus"), "{refusal}");
    // Events before the refusal remain applied.
    assert_eq!(service.seen(id, replay("10:02:00"), order), "FilledStatus 200@305.200 438875.25");
    let other = service.submit(id, replay("10:02:10"), limit(Side::Buy, 100, "300.00"));
    service.command(id, replay("10:02:20"), &Command::Cancel { id: other }).unwrap();
    assert!(service.seen(id, replay("10:03"), other).starts_with("CanceledStatus"));
}

#[test]
fn a_refused_replace_changes_nothing() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "300.00"));
    let changes = |quantity: i64, price: &str| {
        let price = Some(parse_price(price).unwrap());
        Box::new(Changes { quantity: Quantity::whole(quantity), price, ..Changes::default() })
    };
    let replace = |changes| Command::Replace { id: order, changes };
    service.command(id, replay("10:00:30"), &replace(changes(200, "306.00"))).unwrap();
    let refused = service.command(id, replay("10:00:40"), &replace(changes(250, "306.00")));
    assert!(matches!(refused, Err(PaperError::Refused(_))), "{refused:?}");
    assert_eq!(service.seen(id, replay("10:02"), order), "FilledStatus 200@305.200 438875.25");
}

#[test]
fn a_killed_process_loses_no_entries() {
    let house = House::new(&G1);
    let id = house.account("ann");
    let service = house.service();
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    // Skip all destructors, as if the process were killed.
    std::mem::forget(service);
    let service = house.service();
    assert_eq!(service.seen(id, replay("10:02"), order), "FilledStatus 200@305.200 438875.25");
}

#[test]
fn loading_without_a_snapshot_gives_the_same_account() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let filled = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    service.submit(id, replay("10:02:10"), limit(Side::Sell, 200, "320.00"));
    let deposit =
        |number: i64| Command::Deposit { currency: Currency::HKD, amount: Money::whole(1 + number) };
    let deposits: Vec<Command> = (0..2_100).map(deposit).collect();
    service
        .with_reader(|reader| service.paper.at(id, reader, &replay("10:03")).commands(&deposits, None, None))
        .unwrap();
    service.submit(id, replay("10:03:30"), limit(Side::Buy, 200, "300.00"));
    let accounts = house.accounts();
    assert!(accounts.journal_snapshot(id, crate::account::book::SNAPSHOT_FORMAT).unwrap().is_some());
    let whole = |service: &Service| {
        service.read(id, replay("10:04"), |reading| serde_json::to_string(reading.account).unwrap())
    };
    let with = whole(&house.service());
    accounts.drop_journal_snapshot(id).unwrap();
    let without = whole(&house.service());
    assert_eq!(with, without);
    assert_eq!(with, whole(&service));
    let seen = house.service().seen(id, replay("10:04"), filled);
    assert!(seen.starts_with("FilledStatus 200@305.200"), "{seen}");
}

#[test]
fn cash_flows_are_read_from_the_journal() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let query = FlowQuery {
        from: super::house::at("09:00"),
        through: super::house::at("23:00"),
        symbol: None,
        most: 50,
    };
    let found = |query: &FlowQuery| {
        service.with_reader(|reader| service.paper.at(id, reader, &replay("10:05")).flows(query)).unwrap()
    };
    let all = found(&query);
    assert_eq!(all.entries, service.paper.journal(id).unwrap().len() as u64);
    let flows = all.flows;
    let names: Vec<String> =
        flows.iter().map(|flow| format!("{} {}", flow.name, flow.amount.text())).collect();
    assert_eq!(names.last().unwrap(), "Deposit 500000.00");
    assert!(names.contains(&"BuyStock -61040.00".to_owned()), "{names:?}");
    assert_eq!(names.iter().filter(|name| name.starts_with("Fee ")).count(), 6, "{names:?}");
    // A page contains the newest flows.
    for most in 0..=flows.len() {
        let page = FlowQuery { most, ..query.clone() };
        assert_eq!(found(&page).flows, flows[..most]);
    }
    // The symbol filter returns only that symbol's flows.
    for (symbol, count) in [("700.HK", 7), ("1700.HK", 0)] {
        let of_symbol = found(&FlowQuery { symbol: symbol.parse().ok(), ..query.clone() });
        assert_eq!(of_symbol.flows.len(), count, "{symbol}");
        assert!(of_symbol.flows.iter().all(|flow| flows.contains(flow)));
    }
    let early = FlowQuery { through: super::house::at("10:00"), ..query };
    let none = found(&early).flows;
    assert!(none.is_empty(), "the account began at its first request: {none:?}");
}

#[test]
fn an_unopened_account_begins_with_the_defaults() {
    let house = House::new(&G1);
    let (id, service) = (house.bare_account("ann"), house.service());
    let cash = service.read(id, replay("10:00"), |reading| {
        reading
            .account
            .currencies()
            .map(|(currency, cash)| format!("{currency} {}", cash.text()))
            .collect::<Vec<_>>()
    });
    assert_eq!(cash, ["HKD 1000000.00", "USD 100000.00"]);
}

const FIRST: [&str; 1] = ["10:00 305 305 300 305 50000"];

#[test]
fn a_late_candle_takes_effect_on_arrival() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert!(service.seen(id, live("10:02:10"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000"]);
    assert!(
        service.seen(id, live("10:02:10"), order).starts_with("NewStatus"),
        "not in a second that has passed"
    );
    // The late candle makes the account due again.
    service.with_reader(|reader| service.paper.advance(&[id], reader, &live("10:02:10")));
    assert_eq!(service.paper.next_wake().unwrap(), Some(at("10:02:11")));
    assert!(service.seen(id, live("10:02:30"), order).starts_with("FilledStatus 200@305.200"));
    let filled =
        service.read(id, live("10:02:30"), |reading| reading.account.order(order).unwrap().fills[0].at);
    assert_eq!(filled, at("10:02:11"));
}

#[test]
fn a_late_candle_fills_all_accounts_at_the_same_instant() {
    let house = House::new(&FIRST);
    let (ids, service) = (["ann", "bob"].map(|name| house.account(name)), house.service());
    let orders = ids.map(|id| service.submit(id, live("10:00:15"), limit(Side::Buy, 400, "306.00")));
    house.import(&["10:01 305.2 305.8 305 305.6 2000"]);
    // One account is read when the candle arrives, and the other much later. No account was
    // advanced to that second without the candle.
    for clock in ["10:02:10", "10:02:11", "10:02:12", "10:02:40"] {
        service.seen(ids[0], live(clock), orders[0]);
    }
    let fills = [(ids[0], orders[0]), (ids[1], orders[1])].map(|(id, order)| {
        service.read(id, live("10:03"), |reading| {
            let fills = &reading.account.order(order).unwrap().fills;
            fills.iter().map(|fill| (fill.at, fill.quantity.to_string())).collect::<Vec<_>>()
        })
    });
    // A tenth of the volume is filled, and only once.
    assert_eq!(fills[0], [(at("10:02:10"), "200".to_owned())]);
    assert_eq!(fills[0], fills[1]);
}

#[test]
fn a_candle_that_is_a_day_late_fills_an_open_order() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let terms = trading::Terms {
        time_in_force: trading::TimeInForce::GoodTilCanceled,
        ..limit(Side::Buy, 200, "306.00")
    };
    let order = service.submit(id, live("10:00:15"), terms);
    assert!(service.seen(id, live("34:00"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000"]);
    assert!(service.seen(id, live("34:00:10"), order).starts_with("FilledStatus 200@305.200"));
}

#[test]
fn a_candle_imported_under_a_replay_clock_fills_nothing() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert!(service.seen(id, replay("10:02:10"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000", "10:02 305.6 305.8 305.4 305.6 50000"]);
    assert!(service.seen(id, replay("10:02:30"), order).starts_with("NewStatus"));
    assert!(service.seen(id, replay("10:03"), order).starts_with("FilledStatus 200@305.600"));
}

#[test]
fn a_late_candle_after_a_newer_candle_fills_nothing() {
    let house = House::new(&FIRST);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, live("10:00:15"), limit(Side::Buy, 200, "305.40"));
    house.import(&["10:02 305.8 305.8 305.6 305.6 50000"]);
    assert!(service.seen(id, live("10:03:10"), order).starts_with("NewStatus"));
    house.import(&["10:01 305.2 305.8 305 305.6 50000"]);
    assert!(service.seen(id, live("10:03:20"), order).starts_with("NewStatus"));
    assert!(service.seen(id, live("10:10"), order).starts_with("NewStatus"));
}
