use market::Date;
use store::{AccountId, TallyDays};
use trading::{AdvanceLimit, Command, Currency, Money, OrderType, Quantity, Side, Terms, parse_price};

use super::house::{House, MACHINE, Service, at, limit, replay};
use crate::JournalOperation;
use crate::service::Portion;

const G1: [&str; 2] = ["10:00 305 305 300 305 50000", "10:01 305.2 305.8 305 305.6 50000"];

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

/// Returns the days to tally on the given day in March. The preceding day must be a trading day.
fn days(today: &str) -> TallyDays {
    let today = date(today);
    let ends = vec![date("2026-02-27"), today.yesterday().unwrap()];
    TallyDays { today, ends, orders_from: date("2026-02-01") }
}

/// Tallies accounts at a time on 18 March or later. Hours continue to count from that day: `34:00`
/// is 10:00 on the 19th.
fn tally(service: &Service, ids: &[AccountId], clock: &str, today: &str) {
    let moment = replay(clock);
    service.with_reader(|reader| service.paper.tally(ids, &days(today), reader, &moment)).unwrap();
}

/// Formats an account's stored assets as of a day, and the number of orders in that month up to the
/// day.
fn known(house: &House, id: AccountId, day: &str) -> String {
    let (accounts, day) = (house.accounts(), date(day));
    let assets = accounts.paper_assets_as_of(id, day).unwrap();
    let assets: Vec<String> =
        assets.iter().map(|one| format!("{} {} {}", one.day, one.currency, one.amount)).collect();
    let orders = accounts.paper_orders_between(id, date("2026-03-01"), day.tomorrow().unwrap()).unwrap();
    format!("{}; {orders}", assets.join(", "))
}

#[test]
fn a_tally_values_cash_and_positions_at_the_end_of_the_day() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert_eq!(service.seen(id, replay("10:02"), order), "FilledStatus 200@305.200 438875.25");
    tally(&service, &[id], "24:00", "2026-03-19");
    // The account has 438,875.25 in cash and 200 shares at the last price, 305.6. It was empty at
    // the end of February.
    assert_eq!(known(&house, id, "2026-03-18"), "2026-03-18 HKD 4999952500; 1");
    assert_eq!(known(&house, id, "2026-03-17"), "; 0");
    // Events on the 19th do not affect the value on the 18th, no matter how late the tally runs.
    let deposit = Command::Deposit { currency: Currency::USD, amount: Money::whole(7) };
    service.command(id, replay("33:00"), &deposit).unwrap();
    tally(&service, &[id], "34:00", "2026-03-19");
    assert_eq!(known(&house, id, "2026-03-19"), "2026-03-18 HKD 4999952500; 1");
    tally(&service, &[id], "58:00", "2026-03-20");
    assert_eq!(known(&house, id, "2026-03-19"), "2026-03-19 HKD 4999952500, 2026-03-19 USD 70000; 1");
}

#[test]
fn an_idle_account_is_tallied_without_advancing_it() {
    let house = House::new(&G1);
    let (ann, bob, service) = (house.account("ann"), house.account("bob"), house.service());
    let stranger = house.bare_account("eve");
    service.submit(ann, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let heads = || house.accounts().journal_heads().unwrap();
    let before = heads();
    tally(&service, &[ann, bob, stranger], "34:00", "2026-03-19");
    assert_eq!(heads(), before, "nothing is written to a journal");
    // The order was filled before the end of the day. The second account has money but has had no
    // request.
    assert_eq!(known(&house, ann, "2026-03-18"), "2026-03-18 HKD 4999952500; 1");
    assert_eq!(known(&house, bob, "2026-03-18"), "; 0");
    assert_eq!(known(&house, stranger, "2026-03-18"), "; 0");
    // Both accounts are tallied for the day, and due again on the next day.
    let due = |today| service.paper.untallied(date(today), AccountId(i64::MIN), 10).unwrap();
    assert_eq!((due("2026-03-19"), due("2026-03-20")), (vec![], vec![ann, bob]));
    assert_eq!(service.paper.untallied(date("2026-03-20"), ann, 10).unwrap(), [bob]);
    let is_tallied = |id| service.paper.is_tallied(id, date("2026-03-19")).unwrap();
    assert!(is_tallied(ann) && is_tallied(bob) && is_tallied(stranger));
}

#[test]
fn a_repeated_tally_changes_nothing() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let version = || house.accounts().version().unwrap();
    let before = version();
    tally(&service, &[id], "24:00", "2026-03-19");
    let after = version();
    assert!(after > before, "levels are judged anew");
    tally(&house.service(), &[id], "34:00", "2026-03-19");
    assert_eq!(version(), after);
}

#[test]
fn a_fill_after_midnight_is_counted_on_its_booking_day() {
    let house = House::new(&G1);
    house.import_of("AAPL.US", &["23:00 190 190 190 190 9000", "24:31 190 191 189 190 9000"]);
    let (id, service) = (house.bare_account("ann"), house.service());
    let symbol = "AAPL.US".parse().unwrap();
    let terms = Terms {
        price: Some(parse_price("195").unwrap()),
        ..Terms::new(symbol, Side::Buy, OrderType::Limit, Quantity::whole(10))
    };
    service.submit(id, replay("23:30:15"), terms);
    let orders = || {
        let accounts = house.accounts();
        ["2026-03-18", "2026-03-19"]
            .map(|day| accounts.paper_orders_between(id, date(day), date(day).tomorrow().unwrap()).unwrap())
    };
    tally(&service, &[id], "34:00", "2026-03-19");
    assert_eq!(orders(), [0, 0], "the level of the 19th does not change in the course of the day");
    tally(&service, &[id], "58:00", "2026-03-20");
    assert_eq!(orders(), [1, 0]);
    // The purchase cost USD 1,900 plus charges of 1.03. The shares are valued at 1,900.
    assert_eq!(known(&house, id, "2026-03-19"), "2026-03-19 HKD 10000000000, 2026-03-19 USD 999989700; 1");
}

#[test]
fn a_rewind_removes_later_tallies() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    assert_eq!(service.read(id, replay("09:30"), |reading| reading.account.began()), Some(at("09:30")));
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    tally(&service, &[id], "34:00", "2026-03-19");
    service.seen(id, replay("40:00"), order);
    tally(&service, &[id], "58:00", "2026-03-20");
    assert_eq!(known(&house, id, "2026-03-19"), "2026-03-19 HKD 4999952500; 1");
    let version = house.accounts().version().unwrap();
    let operation = |name| JournalOperation { name, actor: "operator", reason: "a test", machine: MACHINE };
    service.paper.rewind(id, at("30:00"), &operation("a day")).unwrap();
    assert!(house.accounts().version().unwrap() > version);
    // The rewind is to a time after the 18th, so that day's value remains. Its order count is
    // recomputed, because an order in New York may have been filled after midnight.
    assert_eq!(known(&house, id, "2026-03-19"), "2026-03-18 HKD 4999952500; 0");
    assert!(!service.paper.is_tallied(id, date("2026-03-20")).unwrap());
    tally(&service, &[id], "58:00", "2026-03-20");
    assert_eq!(known(&house, id, "2026-03-19"), "2026-03-19 HKD 4999952500; 1");
    service.paper.rewind(id, at("10:00:00"), &operation("all of it")).unwrap();
    assert_eq!(known(&house, id, "2026-03-19"), "; 0");
    tally(&service, &[id], "58:00", "2026-03-20");
    assert_eq!(known(&house, id, "2026-03-19"), "2026-03-19 HKD 5000000000; 0");
    service.paper.drop_tallies().unwrap();
    assert_eq!(known(&house, id, "2026-03-19"), "; 0");
}

#[test]
fn a_tally_over_the_request_limit_is_not_stored() {
    let house = House::new(&G1);
    let (ann, bob) = (house.account("ann"), house.account("bob"));
    let mut service = house.service();
    let worth = "2026-03-18 HKD 4999952500; 1";
    let within_request = |service: &Service, id| {
        let at = replay("34:00");
        let days = days("2026-03-19");
        service.with_reader(|reader| service.paper.at(id, reader, &at).tally_within_request(&days)).unwrap()
    };
    // The fill is in the first account's journal, but not in the second account's journal yet.
    for id in [ann, bob] {
        service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    }
    service.read(ann, replay("10:02"), |_| ());
    service.paper.portion = Portion { replayed: 3, ..Portion::default() };
    assert!(!within_request(&service, ann), "its journal is longer");
    let one_entry = AdvanceLimit { entries: 1, candles: 1 };
    service.paper.portion = Portion { limit: one_entry, each_request: 1, ..Portion::default() };
    assert!(!within_request(&service, bob), "it needs more than a portion");
    for id in [ann, bob] {
        assert_eq!(known(&house, id, "2026-03-18"), "; 0");
        assert!(!service.paper.is_tallied(id, date("2026-03-19")).unwrap());
    }
    tally(&service, &[ann, bob], "34:00", "2026-03-19");
    assert_eq!([ann, bob].map(|id| known(&house, id, "2026-03-18")), [worth; 2]);
    // A request without a limit gives the same result.
    service.paper.drop_tallies().unwrap();
    service.paper.portion = Portion::default();
    assert!([ann, bob].map(|id| within_request(&service, id)).iter().all(|is_done| *is_done));
    assert_eq!([ann, bob].map(|id| known(&house, id, "2026-03-18")), [worth; 2]);
}

#[test]
fn a_journal_of_several_pages_is_tallied_completely() {
    let house = House::new(&G1);
    let (id, service) = (house.account("ann"), house.service());
    service.read(id, replay("10:00"), |_| ());
    let one = Command::Deposit { currency: Currency::HKD, amount: Money::whole(1) };
    let many = vec![one; 5_000];
    for clock in ["10:00:15", "34:00"] {
        let at = replay(clock);
        service.with_reader(|reader| service.paper.at(id, reader, &at).commands(&many, None, None)).unwrap();
    }
    assert!(service.paper.journal(id).unwrap().len() > 10_000);
    tally(&service, &[id], "34:00", "2026-03-19");
    assert_eq!(known(&house, id, "2026-03-18"), "2026-03-18 HKD 5050000000; 0");
}
