use store::AccountId;
use trading::{Command, Currency, Money, Side};

use super::house::{House, Service, at, limit, replay};
use crate::equity_log::{EquityDates, EquityLog};
use crate::{Equity, Moment};

/// Candles of two days, with a fill on the first day. Times on the second day are written with 24
/// hours added.
const TWO_DAYS: [&str; 3] =
    ["10:00 305 305 300 305 50000", "10:01 305.2 305.8 305 305.6 50000", "39:59 310 310 310 310 1000"];

fn curve(service: &Service, id: AccountId, moment: Moment, days: u32) -> Equity {
    service.with_reader(|reader| service.paper.at(id, reader, &moment).equity(days)).unwrap()
}

fn left(service: &Service, id: AccountId, moment: Moment) -> u64 {
    service.with_reader(|reader| service.paper.at(id, reader, &moment).equity_left()).unwrap()
}

/// Formats each date with its value. An asterisk marks a date that is not over.
fn describe(equity: &Equity) -> Vec<String> {
    let star = |is_over: bool| if is_over { "" } else { "*" };
    equity
        .points
        .iter()
        .map(|point| {
            let (cash, value) = (&point.cash, &point.market_value);
            format!("{}{} {} = {cash} + {value}", point.date, star(point.is_over), point.net_assets)
        })
        .collect()
}

#[test]
fn past_days_are_valued_at_closes_and_today_at_market_prices() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let first = "2026-03-18 499995.25 = 438875.25 + 61120.00";
    assert_eq!(
        describe(&curve(&service, id, replay("10:00:30"), 10)),
        ["2026-03-18* 500000.00 = 500000.00 + 0.00"]
    );
    // At 09:00 Hong Kong time, the day is also over in the US.
    assert_eq!(describe(&curve(&service, id, replay("32:59:59"), 10))[..], [first.replace("18 ", "18* ")]);
    assert_eq!(
        describe(&curve(&service, id, replay("33:00"), 10)),
        [first.to_owned(), first.replace("18 ", "19* ")]
    );
    let later = curve(&service, id, replay("40:00"), 10);
    assert_eq!(describe(&later), [first, "2026-03-19* 500875.25 = 438875.25 + 62000.00"]);
    assert_eq!(
        later.points.iter().map(|point| point.at.as_str()).collect::<Vec<_>>(),
        [replay("33:00").as_of.now().0.to_string(), replay("40:00").as_of.now().0.to_string()]
    );
    assert_eq!(describe(&curve(&service, id, replay("40:00"), 1)).len(), 1, "as many dates as are asked for");
    // Markets are closed on Saturday and Sunday, and the 23rd is a Monday.
    let dates: Vec<String> =
        curve(&service, id, replay("130:00"), 10).points.into_iter().map(|point| point.date).collect();
    assert_eq!(dates, ["2026-03-18", "2026-03-19", "2026-03-20", "2026-03-23"]);
    // None of these reads advanced the account.
    assert_eq!(service.paper.standing(id).unwrap().horizon, Some(replay("10:00:15").as_of.now()));
}

#[test]
fn a_split_does_not_change_the_previous_days_value() {
    let house = House::new(&TWO_DAYS[..2]);
    house.import(&["39:59 155 155 155 155 1000"]);
    house.import_file("actions.csv", "symbol,ex_date,cash,split\n700.HK,2026-03-19,0,2\n");
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert_eq!(
        describe(&curve(&service, id, replay("40:00"), 10)),
        ["2026-03-18 499995.25 = 438875.25 + 61120.00", "2026-03-19* 500875.25 = 438875.25 + 62000.00"]
    );
}

/// 200 shares close at 305.6. The next morning's dividend of 4.50 per share, HKD 900, is added to
/// the cash and deducted from the price.
#[test]
fn a_dividend_is_not_counted_twice() {
    let house = House::new(&TWO_DAYS[..2]);
    house.import(&["39:59 301 301 301 301 1000"]);
    house.import_file("actions.csv", "symbol,ex_date,cash\n700.HK,2026-03-19,4.5\n");
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert_eq!(
        describe(&curve(&service, id, replay("40:00"), 10)),
        ["2026-03-18 499995.25 = 439775.25 + 60220.00", "2026-03-19* 499975.25 = 439775.25 + 60200.00"]
    );
}

/// A split of 2 for 1 and a dividend of 4.50 per old share make a new share's value (305.6 − 4.5) /
/// 2.
#[test]
fn a_dividend_and_a_split_on_one_day_are_not_counted_twice() {
    let house = House::new(&TWO_DAYS[..2]);
    house.import(&["39:59 150 150 150 150 1000"]);
    house.import_file("actions.csv", "symbol,ex_date,cash,split\n700.HK,2026-03-19,4.5,2\n");
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    assert_eq!(
        describe(&curve(&service, id, replay("40:00"), 10)),
        ["2026-03-18 499995.25 = 439775.25 + 60220.00", "2026-03-19* 499775.25 = 439775.25 + 60000.00"]
    );
}

#[test]
fn a_new_account_is_valued_at_the_built_in_rates() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = (house.bare_account("bob"), house.service());
    let equity = curve(&service, id, replay("40:00"), 10);
    // The total is HKD 1,000,000 plus USD 100,000 at 7.8.
    assert_eq!(describe(&equity), ["2026-03-19* 1780000.00 = 1780000.00 + 0.00"]);
    assert_eq!(equity.missing, None);
}

#[test]
fn a_date_without_a_rate_is_skipped_and_reported() {
    let house = House::new(&TWO_DAYS);
    house.import_file("euro.csv", "symbol,name_en,currency,lot_size,board\n800.HK,Euro,EUR,100,HKEquity\n");
    let (id, service) = (house.account("bob"), house.service());
    let (symbol, cost) = ("800.HK".parse().unwrap(), market::Price::parse("10").unwrap());
    let enter = trading::Command::EnterPosition { symbol, quantity: trading::Quantity::whole(100), cost };
    service.command(id, replay("10:00"), &enter).unwrap();
    let equity = curve(&service, id, replay("40:00"), 10);
    let missing = "no rate for EUR: report one with `chandler account rates EUR RATE --day 2026-03-19`";
    assert_eq!((equity.points.len(), equity.missing.as_deref()), (0, Some(missing)));
}

/// Returns the number of journal entries that were read, and the number of store reads for closes.
fn work(service: &Service, id: AccountId) -> (u64, u64) {
    let log = service.paper.equity_logs.of_account(id);
    let entries = log.lock().unwrap().read();
    (entries, service.paper.markets.closes.reads())
}

#[test]
fn a_second_request_reads_only_new_entries() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = (house.account("ann"), house.service());
    let days = "time,symbol,open,high,low,close,volume\n2026-03-18,700.HK,305,306,300,305.6,900000\n\
        2026-03-19,700.HK,310,310,310,310,900000\n2026-03-20,700.HK,310,312,310,312,900000\n\
        2026-03-23,700.HK,312,313,311,313,900000\n";
    house.import_file("days.csv", days);
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let monday = replay("130:00");
    // The read advances the account to Monday and appends its journal entries.
    service.read(id, monday, |_| ());
    let entries = service.paper.journal(id).unwrap().len() as u64;
    assert_eq!(left(&service, id, monday), entries);
    let first = curve(&service, id, monday, 3_000);
    assert_eq!(first.points.len(), 4, "{first:?}");
    let done = work(&service, id);
    assert!(done.0 <= entries && done.1 == 1, "all closes of a security are read together: {done:?}");
    for _ in 0..10 {
        assert_eq!(curve(&service, id, monday, 3_000), first);
    }
    assert_eq!(work(&service, id), done, "nothing is new");
    assert!(left(&service, id, monday) < entries);
    // A day later, only the new entries are read.
    let tuesday = replay("154:00");
    service.read(id, tuesday, |_| ());
    let added = service.paper.journal(id).unwrap().len() as u64 - entries;
    assert_eq!(curve(&service, id, tuesday, 3_000).points.len(), 5);
    assert!(
        work(&service, id).0 <= done.0 + added + 1,
        "{:?} after {done:?}, {added} added",
        work(&service, id)
    );
}

#[test]
fn reaching_the_limit_at_the_last_entry_completes_the_catch_up() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = (house.account("ann"), house.service());
    service.read(id, replay("09:50"), |_| ());
    // 5,000 entries need more than one page of the journal. The next day has one more entry.
    let deposit = Command::Deposit { currency: Currency::HKD, amount: Money::whole(1) };
    let deposits = vec![deposit.clone(); 5_000];
    service
        .with_reader(|reader| service.paper.at(id, reader, &replay("10:00")).commands(&deposits, None, None))
        .unwrap();
    service.command(id, replay("40:00"), &deposit).unwrap();
    let paper = &service.paper;
    let head = paper.accounts.journal_head(id).unwrap().unwrap();
    let mut log = EquityLog::default();
    let mut catch_up = |through: &str| {
        let dates = EquityDates::of(&paper.markets);
        log.catch_up((&paper.accounts, id, &head), dates, at(through), 1).unwrap()
    };
    assert_eq!(catch_up("33:00"), Some(at("10:00")), "a second page is left");
    assert_eq!(catch_up("33:00"), None, "the rest is of the next day");
    assert_eq!(catch_up("40:00"), None);
    assert_eq!(log.left(&head), 0);
}

#[test]
fn corrected_candles_take_effect_immediately() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    service.read(id, replay("40:00"), |_| ());
    let first = |service: &Service| describe(&curve(service, id, replay("40:00"), 10)).remove(0);
    assert_eq!(first(&service), "2026-03-18 499995.25 = 438875.25 + 61120.00");
    house.import_file(
        "days.csv",
        "time,symbol,open,high,low,close,volume\n2026-03-18,700.HK,305,320,300,320,900000\n",
    );
    assert_eq!(first(&service), "2026-03-18 502875.25 = 438875.25 + 64000.00");
}

#[test]
fn a_rewind_reverts_the_holdings() {
    let house = House::new(&TWO_DAYS);
    let (id, service) = (house.account("ann"), house.service());
    service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    service.read(id, replay("40:00"), |_| ());
    assert_eq!(describe(&curve(&service, id, replay("40:00"), 10)).len(), 2);
    let operation = crate::JournalOperation {
        actor: "operator",
        reason: "",
        machine: super::house::MACHINE,
        name: "first",
    };
    service.paper.rewind(id, super::house::at("10:00:20"), &operation).unwrap();
    service
        .command(
            id,
            replay("10:00:30"),
            &trading::Command::Cancel { id: trading::OrderId::of(id.0.unsigned_abs(), 1) },
        )
        .unwrap();
    service.read(id, replay("40:00"), |_| ());
    let now = describe(&curve(&service, id, replay("40:00"), 10));
    assert_eq!(now, ["2026-03-18 500000.00 = 500000.00 + 0.00", "2026-03-19* 500000.00 = 500000.00 + 0.00"]);
}
