use trading::{Command, Currency, Money, Quantity, Setting, Share, Side};

use super::house::{House, MACHINE, limit, replay};
use crate::{Audit, PaperError};

const CANDLES: [&str; 2] = ["10:00 305 305 300 305 50000", "10:01 305.2 305.8 305 305.6 50000"];

fn words(refused: Result<crate::Done, PaperError>) -> String {
    let Err(PaperError::Refused(refusal)) = refused else { panic!("{refused:?}") };
    refusal.text
}

fn withdraw(amount: i64) -> Command {
    Command::Withdraw { currency: Currency::HKD, amount: Money::whole(amount) }
}

#[test]
fn a_refused_command_leaves_an_unused_account_unchanged() {
    let house = House::new(&CANDLES);
    let (bare, prepared, service) = (house.bare_account("ann"), house.account("bob"), house.service());
    let odd_lot = Command::submit(limit(Side::Buy, 250, "300.00"));
    for (id, entries) in [(bare, 0), (prepared, 2)] {
        for (command, actual) in [
            (&odd_lot, "quantity must be a multiple of 100"),
            (&withdraw(9_000_000), "insufficient funds"),
            (&Command::Cancel { id: trading::OrderId::of(1, 1) }, "order not found"),
        ] {
            assert_eq!(words(service.named(id, replay("10:00:15"), command, "one")), actual);
            let standing = service.paper.standing(id).unwrap();
            assert_eq!((standing.entries, standing.horizon), (entries, None), "{actual}");
        }
    }
    // The account can still be opened, and begins with the first accepted request.
    service.command(bare, replay("10:00"), &withdraw(1_000)).unwrap();
    let order = service.submit(bare, replay("10:00:15"), limit(Side::Buy, 200, "300.00"));
    assert_eq!(service.seen(bare, replay("10:00:20"), order), "NewStatus 0@- 999000.00");
    assert_eq!(service.heard().len(), 2, "of one order");
}

#[test]
fn a_changed_security_affects_the_next_command() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let submit = |quantity| {
        let command = Command::submit(limit(Side::Buy, quantity, "300.00"));
        service.command(id, replay("10:00:15"), &command)
    };
    submit(200).unwrap();
    assert_eq!(words(submit(250)), "quantity must be a multiple of 100");
    let row = |lot| format!("symbol,name_en,currency,lot_size,board\n700.HK,Tencent,HKD,{lot},HKEquity\n");
    house.import_file("securities.csv", &row(250));
    submit(250).unwrap();
    assert_eq!(words(submit(200)), "quantity must be a multiple of 250");
    // An unrelated import also increments the store version.
    house.import(&["10:02 305.6 305.8 305 305.6 50000"]);
    submit(250).unwrap();
}

#[test]
fn a_rate_from_another_process_affects_the_next_command() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let euro: Currency = "EUR".parse().unwrap();
    let exchange = Command::Exchange { from: Currency::HKD, amount: Money::whole(800), to: euro };
    let accounts = house.accounts();
    let report = |rate: i64| {
        let (currency, day) = ("EUR".to_owned(), "2026-01-02".parse().unwrap());
        let row = store::RateRow { currency, day, rate: rate * 100_000_000 };
        let note = store::AuditNote { at: MACHINE, actor: "operator", reason: "a test" };
        accounts.put_rates(&[row], &note).unwrap();
    };
    let euros = || {
        service.command(id, replay("10:00"), &exchange).map(|_| {
            service.read(id, replay("10:00"), |reading| reading.account.cash(euro).text().to_string())
        })
    };
    service.command(id, replay("10:00"), &withdraw(1)).unwrap();
    assert_eq!(
        euros().unwrap_err().to_string(),
        "no rate for EUR: report one with `chandler account rates EUR RATE --day 2026-03-18`"
    );
    for (rate, held) in [(8, "100.00"), (4, "300.00")] {
        report(rate);
        assert_eq!(euros().unwrap(), held);
    }
}

#[test]
fn several_commands_are_atomic() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 200, "306.00"));
    let both = |second| [Command::Set(Setting::Participation(None)), second];
    let set = |commands: &[Command], clock| {
        let audit = Audit { event: "paper.set", actor: "operator".to_owned(), reason: String::new() };
        service.with_reader(|reader| {
            service.paper.at(id, reader, &replay(clock)).commands(commands, None, Some(audit))
        })
    };
    let zero = Command::Set(Setting::Participation(Some(Share::ZERO)));
    let refused = words(set(&both(zero), "10:02"));
    assert!(refused.starts_with("participation must be above 0"), "{refused}");
    let capped = |clock| service.read(id, replay(clock), |reading| reading.account.settings().participation);
    assert_eq!(capped("10:02").map(|share| share.to_string()).as_deref(), Some("0.1"));
    // Market events up to the refused request remain applied.
    assert!(service.seen(id, replay("10:02"), order).starts_with("FilledStatus"));
    let audited = || {
        let filter = store::AuditFilter { limit: 100, ..store::AuditFilter::default() };
        house.accounts().audit(&filter).unwrap().iter().filter(|row| row.event == "paper.set").count()
    };
    assert_eq!(audited(), 0);
    set(&both(Command::Set(Setting::SlippageTicks(2))), "10:02").unwrap();
    let ticks = service.read(id, replay("10:02"), |reading| reading.account.settings().slippage_ticks);
    assert_eq!((capped("10:02"), ticks, audited()), (None, 2, 1));
}

#[test]
fn a_text_that_is_too_long_is_refused_before_writing() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let order = Command::submit(limit(Side::Buy, 200, "300.00"));
    let named = |bytes: usize| service.named(id, replay("10:00:15"), &order, &"x".repeat(bytes));
    assert_eq!(words(named(129)), "client_request_id has more than 128 bytes");
    assert!(!named(128).unwrap().is_repeated);
    let actual = words(service.named(id, replay("10:00:15"), &order, "a\nb"));
    assert_eq!(actual, "client_request_id has control characters");
    let terms = trading::Terms { remark: "a\u{1b}[2J".to_owned(), ..limit(Side::Buy, 200, "300.00") };
    let actual = words(service.command(id, replay("10:00:15"), &Command::submit(terms)));
    assert_eq!(actual, "remark has control characters");
    // An empty key is treated as no key.
    let ids = [0, 1].map(|_| service.named(id, replay("10:00:15"), &order, "").unwrap().order);
    assert_ne!(ids[0], ids[1]);
    let adjust = |letters: usize| {
        let (currency, amount, note) = (Currency::HKD, Money::whole(1), "ü".repeat(letters));
        service.command(id, replay("10:00:15"), &Command::Adjust { currency, amount, note })
    };
    assert_eq!(words(adjust(257)), "note must have at most 256 characters");
    adjust(256).unwrap();
}

#[test]
fn amounts_above_their_limits_are_refused() {
    let house = House::new(&CANDLES);
    let (id, service) = (house.account("ann"), house.service());
    let run = |command: &Command| service.command(id, replay("10:00:15"), command);
    let deposit = |text: &str| -> Result<(), String> {
        let amount = Money::parse(text).map_err(|error| error.to_string())?;
        let command = Command::Deposit { currency: Currency::USD, amount };
        run(&command).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(deposit("10000000000000.01").unwrap_err(), "is too large");
    assert_eq!(deposit("0").unwrap_err(), "amount must be above 0");
    assert_eq!(deposit("-1").unwrap_err(), "amount must be above 0");
    assert_eq!(deposit("0.001").unwrap_err(), "amount has more than 2 decimals");
    deposit("0.01").unwrap();
    for _ in 0..100 {
        if deposit("10000000000000").is_err() {
            break;
        }
    }
    // The maximum is 10^15, so sums stay far below the capacity of the type.
    assert_eq!(deposit("10000000000000").unwrap_err(), "amount is too large");
    let usd = service.read(id, replay("10:00:15"), |reading| reading.account.cash(Currency::USD).to_string());
    assert_eq!(usd, "990000000000000.01");
    let position = |quantity: Quantity, cost| {
        let symbol = "700.HK".parse().unwrap();
        let command = Command::EnterPosition { symbol, quantity, cost };
        run(&command).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(position(Quantity::MAX, trading::PRICE_MAX).unwrap_err(), "quantity is too large");
    assert_eq!(position(Quantity::MAX, market::Price(-1)).unwrap_err(), "cost must not be below 0");
    position(Quantity::MAX, market::Price(market::PRICE_UNIT)).unwrap();
    position(-Quantity::MAX, market::Price(0)).unwrap();
    position(Quantity::ZERO, market::Price(0)).unwrap();
    let held = service.read(id, replay("10:00:15"), |reading| reading.account.positions().count());
    assert_eq!((held, house.service().paper.journal(id).unwrap().is_empty()), (0, false));
}
