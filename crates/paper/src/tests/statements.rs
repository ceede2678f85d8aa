use market::{Date, Timestamp};
use store::AccountId;
use trading::statement::StatementKind;
use trading::{Currency, Side};

use super::house::{House, MACHINE, Service, at, limit, replay};
use crate::{FlowQuery, JournalOperation, Moment, StatementDocument, StatementId, StatementList};

/// Candles with a fill on Wednesday the 18th. Hours continue to count from that day: 16:00 on
/// Thursday is 40:00, and 09:00 on Sunday is 105:00.
const TWO_DAYS: [&str; 3] =
    ["10:00 305 305 300 305 50000", "10:01 305.2 305.8 305 305.6 50000", "39:59 310 310 310 310 1000"];

const ALL: StatementList =
    StatementList { kind: StatementKind::Daily, from: Date::ZERO, skip: 0, limit: 100 };

fn operation(name: &str) -> JournalOperation<'_> {
    JournalOperation { name, actor: "operator", reason: "a test", machine: MACHINE }
}

fn days(listed: &[StatementId]) -> String {
    listed.iter().map(|of| of.date.day().to_string()).collect::<Vec<_>>().join(" ")
}

fn list(service: &Service, id: AccountId, moment: Moment) -> String {
    let listed = service.with_reader(|reader| service.paper.at(id, reader, &moment).statements(&ALL));
    days(&listed.unwrap())
}

fn daily(day: i8) -> StatementId {
    StatementId { kind: StatementKind::Daily, date: Date::constant(2026, 3, day) }
}

/// Returns the stored content of a daily statement.
fn text(service: &Service, id: AccountId, day: i8) -> Option<String> {
    let found = service.paper.stored_statement(id, daily(day), Timestamp(i64::MAX)).unwrap();
    found.map(|text| String::from_utf8(text).unwrap())
}

fn document(service: &Service, id: AccountId, day: i8) -> StatementDocument {
    serde_json::from_str(&text(service, id, day).unwrap()).unwrap()
}

fn traded(house: &House) -> (AccountId, Service) {
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    (id, service)
}

#[test]
fn statements_are_created_up_to_the_clock() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = traded(&house);
    assert_eq!(list(&service, id, replay("32:59:59")), "");
    assert_eq!(list(&service, id, replay("33:00")), "18");
    assert_eq!(list(&service, id, replay("105:00")), "20 19 18");
    // An earlier clock lists only the statements created by then.
    assert_eq!(list(&service, id, replay("57:00")), "19 18");
    assert_eq!(service.paper.stored_statement(id, daily(20), at("57:00")).unwrap(), None);
    let first = document(&service, id, 18);
    assert_eq!(first.generated_at, "2026-03-19T09:00:00+08:00");
    assert_eq!((first.member_info.name.as_str(), first.file_type.as_str()), ("ann", "daily"));
    let balance = &first.account_balance_sum.account_balances[0];
    assert_eq!(
        [&balance.begin_amount, &balance.change_amount, &balance.ledger_amount, &balance.settled_amount],
        ["0.00", "438875.25", "438875.25", "500000.00"]
    );
    let holding = &first.equity_holding_sums[0].equity_holdings[0];
    assert_eq!(
        [&holding.name, &holding.close_price, &holding.market_value],
        ["Tencent", "305.600", "61120.00"]
    );
    assert_eq!(document(&service, id, 19).asset.total, "500875.25", "at the close of that day");
}

#[test]
fn a_stored_statement_never_changes() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = traded(&house);
    list(&service, id, replay("57:00"));
    let before = text(&service, id, 19);
    house.import(&["39:59 320 320 320 320 1000"]);
    // Another process lists the same statements, and creates the next statements from current data.
    let elsewhere = house.service();
    assert_eq!(list(&elsewhere, id, replay("105:00")), "20 19 18");
    assert_eq!(text(&elsewhere, id, 19), before);
    assert_eq!(document(&elsewhere, id, 20).equity_holding_sums[0].equity_holdings[0].close_price, "320.000");
    assert_eq!(list(&service, id, replay("105:00")), "20 19 18");
}

#[test]
fn a_rewind_removes_later_statements() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = traded(&house);
    list(&service, id, replay("105:00"));
    let first = text(&service, id, 18);
    service.paper.rewind(id, at("33:00"), &operation("first try")).unwrap();
    assert_eq!(list(&service, id, replay("33:00")), "18");
    assert_eq!(text(&service, id, 19), None);
    // New events appear in the next statement, and the earlier statement is unchanged.
    service.submit(id, replay("33:30"), limit(Side::Sell, 100, "300.00"));
    assert_eq!(list(&service, id, replay("57:00")), "19 18");
    assert_eq!(text(&service, id, 18), first);
    let second = document(&service, id, 19);
    assert_eq!(second.stock_trade_sums[0].trades[0].direction, "Sell");
    assert_eq!(second.account_balance_sum.account_balances[0].begin_amount, "438875.25");
    // After a reset there are no statements until the next request begins the account.
    service.paper.reset(id, &operation("second try")).unwrap();
    assert_eq!(list(&service, id, replay("105:00")), "");
    service.read(id, replay("34:00"), |_| ());
    assert_eq!(list(&service, id, replay("57:00")), "19");
}

#[test]
fn a_fork_has_separate_statements() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = traded(&house);
    list(&service, id, replay("57:00"));
    let copy = house.bare_account("bob");
    service.paper.fork(id, copy, Some(at("40:00")), &operation("copy")).unwrap();
    assert_eq!(list(&service, copy, replay("57:00")), "19 18");
    let (of_one, of_other) = (document(&service, id, 18), document(&service, copy, 18));
    assert_eq!(of_other.member_info.name, "bob");
    assert_eq!(of_one.account_balance_sum, of_other.account_balance_sum);
}

#[test]
fn look_at_statements_writes_nothing() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = traded(&house);
    let standing = service.paper.standing(id).unwrap();
    let moment = replay("105:00");
    let seen =
        service.with_reader(|reader| service.paper.at(id, reader, &moment).look_at_statements(&ALL)).unwrap();
    assert_eq!(days(&seen.listed), "20 19 18");
    let shown: Vec<Option<Vec<u8>>> = seen
        .listed
        .iter()
        .map(|of| service.paper.seen_statement(id, *of, &seen, at("105:00")).unwrap())
        .collect();
    assert_eq!((text(&service, id, 18), service.paper.standing(id).unwrap()), (None, standing));
    assert_eq!(list(&service, id, moment), "20 19 18");
    let stored = [20, 19, 18].map(|day| text(&service, id, day).map(String::into_bytes));
    assert_eq!(shown, stored);
    // A stored statement is returned unchanged.
    let seen =
        service.with_reader(|reader| service.paper.at(id, reader, &moment).look_at_statements(&ALL)).unwrap();
    assert_eq!(days(&seen.listed), "20 19 18");
    let stranger = house.bare_account("bob");
    let seen =
        service.with_reader(|reader| service.paper.at(stranger, reader, &moment).look_at_statements(&ALL));
    assert!(seen.unwrap().listed.is_empty());
    assert_eq!(service.paper.standing(stranger).unwrap().entries, 0, "asking does not begin it");
}

#[test]
fn command_line_reads_write_nothing() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = traded(&house);
    let mut quiet = house.service();
    quiet.paper = quiet.paper.for_command_line();
    let (standing, moment) = (service.paper.standing(id).unwrap(), replay("105:00"));
    let order = service.paper.described(id).unwrap().orders().iter().next().unwrap().id;
    let query = FlowQuery { from: Timestamp(0), through: Timestamp(i64::MAX), symbol: None, most: 100 };
    let all = |of: &Service| {
        of.with_reader(|reader| {
            let mut account = of.paper.at(id, reader, &moment);
            let cash = account.read(|reading| reading.account.cash(Currency::HKD)).unwrap();
            let flows = account.flows(&query).unwrap().flows;
            let why = account.order_explanation(order).unwrap();
            let listed = account.statements(&ALL).unwrap();
            (cash, format!("{flows:?}"), why, days(&listed), account.statement(daily(18)).unwrap())
        })
    };
    let shown = all(&quiet);
    assert_eq!((service.paper.standing(id).unwrap(), text(&service, id, 18)), (standing, None));
    assert_eq!(all(&quiet), shown);
    // A read after a change includes the change.
    quiet.submit(id, replay("10:00:30"), limit(Side::Buy, 100, "290.00"));
    assert_eq!(quiet.read(id, replay("10:00:30"), |reading| reading.account.orders().len()), 2);
    let other = House::new(&TWO_DAYS);
    let (same, written) = traded(&other);
    assert_eq!((same, all(&written)), (id, shown), "a server writes, and shows the same");
    assert_ne!(written.paper.standing(id).unwrap(), standing);
}

#[test]
fn due_statements_are_created_without_advancing_accounts() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = traded(&house);
    let none = AccountId(0);
    let make = |moment: Moment| {
        let due = service.paper.with_statements_due(none, 10).unwrap();
        service.with_reader(|reader| service.paper.make_due_statements(&due, reader, &moment));
        due
    };
    assert_eq!(make(replay("105:00")), [id], "nobody has looked yet");
    assert_eq!(text(&service, id, 18), None);
    assert_eq!(service.paper.standing(id).unwrap().horizon, Some(at("10:00:15")));
    assert!(make(replay("105:00")).is_empty(), "its journal has not come so far");
    // The background runner advances the account.
    service.with_reader(|reader| service.paper.advance(&[id], reader, &replay("58:00")));
    assert_eq!(make(replay("58:00")), [id]);
    assert!(text(&service, id, 18).is_some() && text(&service, id, 19).is_some());
    assert!(make(replay("58:00")).is_empty());
}
