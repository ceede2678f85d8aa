//! Properties of positions, their cost, and corporate actions.

use market::{Market, Price, Timestamp};
use proptest::prelude::*;
use trading::performance::Book;
use trading::{
    Account, Bar, ChargeGroup, Command, CostMethod, Currency, Dividend, Engine, Entry, Event, Execution,
    Facts, Fee, FillRule, Fraction, Kind, Money, OrderId, Quantity, Settings, Side, VERSION, figures,
};

use crate::common::{Store, at, date, symbol, tables};

/// Creates a fill of an unknown order. The fill still moves cash and shares.
fn fill(number: u64, change: i64, price: i64) -> Entry {
    let price = Price(price * 10_000);
    let bar = Bar {
        time: Timestamp(0),
        open: price,
        high: price,
        low: price,
        close: price,
        volume: 1,
        session: 0,
        is_day: false,
    };
    let filled = Execution {
        id: OrderId::of(7, 1),
        symbol: symbol("AAPL.US"),
        side: if change > 0 { Side::Buy } else { Side::Sell },
        quantity: Quantity::whole(change.abs()),
        price,
        facts: Facts { kind: Kind::Equity, currency: Currency::USD, multiplier: 1, decimals: 3 },
        fees: Vec::new(),
        day: date("2026-03-18"),
        settles_on: date("2026-03-19"),
        candle: bar,
        rule: FillRule::Open,
        budget: None,
    };
    Entry { version: VERSION, number, at: Some(Timestamp(0)), event: Event::Filled(Box::new(filled)) }
}

/// Creates a dividend of `cents` on the position.
fn dividend(number: u64, cents: i64, period: u64) -> Entry {
    let day = date("2026-03-19");
    let dividend = Dividend {
        symbol: symbol("AAPL.US"),
        ex_date: day,
        pay_date: day,
        quantity: Quantity::whole(1),
        amount: Money::parse(&decimal(cents)).unwrap(),
        currency: Currency::USD,
        period,
    };
    Entry { version: VERSION, number, at: Some(Timestamp(0)), event: Event::DividendPaid(dividend) }
}

fn product(a: Fraction, whole: i64) -> Fraction {
    a.times(i128::from(whole), 1)
}

fn minus(a: Fraction, b: Fraction) -> Fraction {
    a.plus(b.times(-1, 1))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// Property 13: the average cost is between the prices of the opening fills, and the diluted
    /// cost differs from the average cost by the realised profit and the dividends. A trade with a
    /// quantity of 0 represents a dividend, in cents per share.
    #[test]
    fn average_and_diluted_cost_agree(trades in prop::collection::vec((-9..9i64, 1..3000i64), 1..10)) {
        let of = symbol("AAPL.US");
        let mut account = Account::default();
        let (mut realised, mut opened): (Fraction, Vec<i64>) = (Fraction::ZERO, Vec::new());
        for (index, (change, price)) in trades.into_iter().enumerate() {
            let before = account.held(&of).units() / 10_000;
            if change == 0 {
                let Some(position) = account.position(&of) else { continue };
                account.apply(&dividend(index as u64 + 1, before * price, position.period));
                realised = realised.plus(product(Fraction::whole(i128::from(price) * 10_000), before));
                continue;
            }
            let average = account.position(&of).map_or(Fraction::ZERO, |position| position.average);
            account.apply(&fill(index as u64 + 1, change, price));
            let closing = if before.signum() * change.signum() < 0 { change.abs().min(before.abs()) * change.signum() } else { 0 };
            // (price − average) × closed quantity, with the opposite sign for short positions.
            realised = realised.plus(product(minus(Fraction::whole(i128::from(price) * 10_000), average), -closing));
            if before + closing == 0 {
                (realised, opened) = (Fraction::ZERO, Vec::new());
            }
            if change != closing {
                opened.push(price);
            }
            let Some(position) = account.position(&of) else { continue };
            let held = before + change;
            prop_assert_eq!(position.quantity, Quantity::whole(held));
            let (least, most) = (*opened.iter().min().unwrap(), *opened.iter().max().unwrap());
            let is_not_above = |a: Fraction, b: Fraction| minus(a, b).round() <= 0;
            prop_assert!(is_not_above(Fraction::whole(i128::from(least) * 10_000), position.average));
            prop_assert!(is_not_above(position.average, Fraction::whole(i128::from(most) * 10_000)));
            let (diluted, average) = (position.cost(CostMethod::Diluted), position.cost(CostMethod::Average));
            prop_assert_eq!(product(diluted, held), minus(product(average, held), realised));
        }
    }

    /// The profit of a book is the account's cash and the value of its position. Closed trips have
    /// the whole profit of a closed position, and their parts add up. A trade with a quantity of 0
    /// represents a dividend, in cents per share.
    #[test]
    fn the_profit_of_a_book_is_the_gain_of_the_account(
        trades in prop::collection::vec((-9..9i64, 1..3000i64, 0..5i64), 1..20),
        mark in 1..3000i64,
    ) {
        let of = symbol("AAPL.US");
        let (mut account, mut book) = (Account::default(), Book::default());
        let today = date("2026-03-18");
        for (index, (change, price, fee)) in trades.into_iter().enumerate() {
            let number = index as u64 + 1;
            let entry = match (change, account.position(&of)) {
                (0, None) => continue,
                (0, Some(position)) => dividend(number, position.quantity.units() / 10_000 * price, position.period),
                _ => {
                    let mut entry = fill(number, change, price);
                    if let Event::Filled(filled) = &mut entry.event {
                        filled.fees.push(Fee { code: "PLATFORM".to_owned(), group: ChargeGroup::Broker, amount: Money::whole(fee) });
                    }
                    entry
                }
            };
            account.apply(&entry);
            book.apply(&entry, |_| Some(today));
            let Some((_, held)) = book.securities().next() else { continue };
            prop_assert_eq!(held.quantity, account.held(&of));
            let mark = Price(mark * 10_000);
            let profit = held.profit(Some(mark), None, today);
            let value = Money::of(mark, held.quantity, 1);
            prop_assert_eq!(profit.total(), account.cash(Currency::USD) + value);
            prop_assert_eq!(profit.day, profit.total(), "nothing was held before");
            let unrealised = account.position(&of).map_or(Money::ZERO, |position| position.unrealised(mark, CostMethod::Average));
            let rounding = (profit.unrealised - unrealised).abs();
            prop_assert!(rounding <= Money::parse("0.01").unwrap(), "{} {unrealised}", profit.unrealised);
            let closed: Money = book.closed_trips().map(|trip| trip.profit).sum();
            if held.quantity.is_zero() {
                prop_assert_eq!(profit.realised, closed);
            }
            for trip in book.closed_trips() {
                let moved = if trip.is_long { trip.exited - trip.entered } else { trip.entered - trip.exited };
                prop_assert_eq!(trip.profit, moved + trip.income - trip.charges);
                prop_assert_eq!(trip.quantity, trip.closed_quantity);
            }
            let won = book.closed_trips().filter(|trip| trip.profit > Money::ZERO).count() as u64;
            prop_assert_eq!((book.stats().closed, book.stats().won), (book.closed_trips().count() as u64, won));
        }
    }

    /// Property 11: a dividend does not change the account's value if the price falls by the
    /// dividend.
    #[test]
    fn a_dividend_preserves_the_account_value(shares in prop_oneof![1..100_000i64, -1000..-1i64], close in 200..100_000i64, cash in 1..200i64) {
        let of = symbol("700.HK");
        let mut store = Store::default();
        for (clock, cents) in [("2026-05-15 10:00", close), ("2026-05-18 09:30", close - cash)] {
            let text = decimal(cents);
            let text = text.as_str();
            store.add(&of, at(Market::Hk, clock), &[text, text, text, text, "1"], None);
        }
        store.act(&of, date("2026-05-18"), &format!("cash {}", decimal(cash)), None);
        let engine = Engine::new(&store, tables());
        let mut account = Account::default();
        let now = at(Market::Hk, "2026-05-15 15:00");
        for command in [
            Command::Open { account: 7, settings: Settings::default() },
            Command::EnterPosition { symbol: of.clone(), quantity: Quantity::whole(shares), cost: Price(1_000_000) },
        ] {
            engine.handle(&mut account, &command, now);
        }
        engine.advance(&mut account, now);
        let net = |account: &Account, at: Timestamp| figures(account, &engine.view(at)).unwrap().net_assets();
        let before = net(&account, now);
        let after = at(Market::Hk, "2026-05-18 09:31");
        engine.advance(&mut account, after);
        prop_assert!(!account.cash(Currency::HKD).is_zero());
        prop_assert_eq!(before, net(&account, after));
    }

    /// Property 11: splits, bonus shares and rights change the account's value at the reference
    /// price by at most a cent.
    #[test]
    fn corporate_actions_preserve_the_account_value(shares in prop_oneof![1..100_000i64, -1000..-1i64], close in 100..100_000i64, which in 0..6usize, rights_price in 1..90i64) {
        // Script text of the action, shares after the action per `old` shares, and old shares per
        // right.
        let (text, new, old, rights) = [
            ("split 5".to_owned(), 5, 1, 0),
            ("split 0.1".to_owned(), 1, 10, 0),
            ("bonus 3/10".to_owned(), 13, 10, 0),
            ("split 3/2".to_owned(), 3, 2, 0),
            (format!("rights 1/4 at {}", decimal(close * rights_price / 100)), 1, 1, 4),
            (format!("rights 1/7 at {}", decimal(close * rights_price / 100)), 1, 1, 7),
        ][which].clone();
        let of = symbol("700.HK");
        let mut store = Store::default();
        store.closes.push((of.clone(), date("2026-05-15"), Price(close * 10_000)));
        store.act(&of, date("2026-05-18"), &text, None);
        let engine = Engine::new(&store, tables());
        let mut account = Account::default();
        let now = at(Market::Hk, "2026-05-15 15:00");
        for command in [
            Command::Open { account: 7, settings: Settings::default() },
            Command::EnterPosition { symbol: of.clone(), quantity: Quantity::whole(shares), cost: Price(1_000_000) },
        ] {
            engine.handle(&mut account, &command, now);
        }
        engine.advance(&mut account, now);
        engine.advance(&mut account, at(Market::Hk, "2026-05-18 00:00"));
        let cash = cents(account.cash(Currency::HKD));
        let held = i128::from(account.held(&of).units() / 10_000);
        let (shares, close, rights) = (i128::from(shares), i128::from(close), i128::from(rights));
        // All values are in cents, multiplied by the denominator of the reference price.
        let (before, after, unit) = if rights > 0 {
            let paid = i128::from(cents_of(&text));
            let unit = rights + 1;
            (shares * close * unit, cash * unit + held * (close * rights + paid), unit)
        } else {
            (shares * close * new, cash * new + held * close * old, new)
        };
        prop_assert!((before - after).abs() <= unit, "{text}: {before} {after} of {unit}");
    }
}

/// Formats cents as a decimal.
fn decimal(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

fn cents(amount: Money) -> i128 {
    let text = amount.text().to_string().replace('.', "");
    text.parse().unwrap()
}

/// Returns the price at the end of a corporate action's script text, in cents.
fn cents_of(text: &str) -> i64 {
    text.rsplit(' ').next().unwrap().replace('.', "").parse().unwrap()
}
