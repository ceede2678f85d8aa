//! Commands with random input never panic, and a refused command changes nothing.

use market::{Date, Market, Price, Timestamp};
use proptest::prelude::*;
use trading::{
    Account, Changes, Command, Currency, Engine, GridId, GridRuleInput, Money, OrderId, OrderType,
    OutsideRth, PRICE_MAX, Percent, Quantity, Setting, Settings, Side, SubmitGrid, Terms, TimeInForce,
};

use crate::common::{Store, at, date, symbol, tables};

fn price() -> impl Strategy<Value = Option<Price>> {
    let units = prop_oneof![
        Just(0i64),
        Just(PRICE_MAX.0),
        Just(-PRICE_MAX.0),
        -5..5i64,
        (1..5000i64).prop_map(|ticks| ticks * 100_000),
        any::<i64>().prop_map(|units| units % PRICE_MAX.0)
    ];
    prop::option::weighted(0.8, units.prop_map(Price))
}

fn quantity() -> impl Strategy<Value = Quantity> {
    let text = prop_oneof![
        Just("10000000000".to_owned()),
        Just("-10000000000".to_owned()),
        Just("0".to_owned()),
        Just("0.0001".to_owned()),
        (1..40i64).prop_map(|lots| (lots * 100).to_string()),
        (1..4_000_000_000i64).prop_map(|units| format!("{}.{:04}", units / 10_000, units % 10_000)),
    ];
    text.prop_map(|text| Quantity::parse(&text).unwrap())
}

fn day() -> impl Strategy<Value = Date> {
    prop_oneof![
        Just(Date::MIN),
        Just(Date::MAX),
        Just(date("2026-03-18")),
        Just(date("2026-04-30")),
        (-9999..9999i16, 1..12i8).prop_map(|(year, month)| Date::new(year, month, 1).unwrap()),
    ]
}

fn instant() -> impl Strategy<Value = Timestamp> {
    let now = at(Market::Hk, "2026-03-18 10:00").0;
    prop_oneof![
        Just(Timestamp(i64::MAX)),
        Just(Timestamp(i64::MIN)),
        Just(Timestamp(0)),
        (-100_000..10_000_000i64).prop_map(move |after| Timestamp(now + after)),
    ]
}

fn one_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    (0..all.len()).prop_map(|index| all[index])
}

prop_compose! {
    fn terms()(
        of in one_of(&["700.HK", "AAPL.US", "AAPL260417C190000.US", "600519.SH", "NONE.HK"]),
        side in one_of(Side::ALL),
        order_type in one_of(OrderType::ALL),
        time_in_force in one_of(TimeInForce::ALL),
        outside_rth in prop::option::of(one_of(OutsideRth::ALL)),
        quantity in quantity(),
        prices in (price(), price(), price(), price(), price()),
        percent in prop::option::weighted(0.8, one_of(&["0", "-1", "1", "0.5", "100", "10000", "-10000"])),
        dates in (prop::option::of(day()), prop::option::weighted(0.2, instant())),
        levels in (prop_oneof![-6..7i32, Just(i32::MIN), Just(i32::MAX)], prop_oneof![-1..5i32, Just(i32::MAX)]),
    ) -> Terms {
        Terms {
            time_in_force,
            outside_rth,
            price: prices.0,
            trigger_price: prices.1,
            limit_offset: prices.2,
            trailing_amount: prices.3,
            monitor_price: prices.4.filter(|_| levels.1 == 0),
            trailing_percent: percent.map(|percent| Percent::parse(percent).unwrap()),
            expire_date: dates.0,
            delayed_until: dates.1,
            depth_level: levels.0,
            trigger_count: levels.1,
            ..Terms::new(symbol(of), side, order_type, quantity)
        }
    }
}

/// Generates a code that is usually in range, and sometimes far out of range.
fn code(usual: &'static [i64]) -> impl Strategy<Value = Option<i64>> {
    let far = one_of(&[i64::MIN, -6, -1, 0, 3, 7, i64::MAX]);
    prop::option::weighted(0.9, prop_oneof![6 => one_of(usual), 1 => far])
}

prop_compose! {
    /// Generates a rule with prices around 100, or with arbitrary prices.
    fn rule()(
        is_wild in prop::bool::weighted(0.2),
        prices in (price(), price(), price(), price(), price()),
        ticks in (-9..9i64, 1..300i64, 1..300i64, 1..60i64, 1..60i64),
        percents in (one_of(&["-1", "0.000001", "0.5", "2", "100", "10000"]), one_of(&["0", "0.05", "3", "10000"])),
        quantities in (quantity(), quantity(), quantity(), 1..9i64),
        kinds in (code(&[1, 2]), code(&[0, 1, 6]), code(&[1, 2]), code(&[0, 1, 2])),
        depths in (code(&[-5, 0, 5]), code(&[-1, 0, 1])),
        flags in (any::<bool>(), any::<bool>(), one_of(&["GMO", "GLO", "GTG", "", "gmo"])),
        expires in instant(),
    ) -> GridRuleInput {
        let tick = |ticks: i64, wild: Option<Price>| if is_wild { wild } else { Some(Price(ticks * 100_000)) };
        let pick = |tame: i64, wild: Quantity| Some(if is_wild { wild } else { Quantity::whole(tame) });
        let percent = |text: &str| Some(Percent::parse(text).unwrap());
        GridRuleInput {
            submitted_base_price: tick(1_000 + ticks.0, prices.0),
            lower_limit_price: tick(1_000 - ticks.1, prices.1),
            upper_limit_price: tick(1_000 + ticks.2, prices.2),
            trigger_price_type: kinds.0,
            trigger_spread_up: tick(ticks.3, prices.3),
            trigger_spread_down: tick(ticks.4, prices.4),
            trigger_percent_up: percent(percents.0),
            trigger_percent_down: percent(percents.1),
            trigger_quantity: pick(quantities.3 * 100, quantities.0),
            upper_limit_quantity: pick(quantities.3 * 1_000, quantities.1),
            lower_limit_quantity: pick(1, quantities.2),
            upper_limit_event: kinds.2,
            lower_limit_event: kinds.2,
            trigger_sell_depth: depths.0,
            trigger_buy_depth: depths.1,
            grid_order_type_up: Some(flags.2.to_owned()),
            grid_order_type_down: None,
            multiple_trigger: Some(flags.0),
            support_shortsell: Some(flags.1),
            rth: kinds.3,
            time_in_force: kinds.1,
            expire_time: Some(expires.0),
        }
    }
}

fn grid_command() -> impl Strategy<Value = Command> {
    let of = one_of(&["700.HK", "AAPL.US", "AAPL.US", "AAPL260417C190000.US", "600519.SH", "NONE.HK"]);
    let currency = prop::option::weighted(0.1, one_of(&[Currency::HKD, Currency::USD]));
    let id = || (0..6u64).prop_map(|grid| GridId::of(7, grid));
    prop_oneof![
        6 => (of, currency, rule().boxed()).prop_map(|(of, settlement_currency, rule)| {
            Command::SubmitGrid(Box::new(SubmitGrid { symbol: symbol(of), settlement_currency, rule }))
        }),
        2 => (id(), rule().boxed()).prop_map(|(id, rule)| Command::ReplaceGrid { id, rule: Box::new(rule) }),
        1 => id().prop_map(|id| Command::SuspendGrid { id }),
        1 => id().prop_map(|id| Command::RestartGrid { id }),
        1 => id().prop_map(|id| Command::CancelGrid { id }),
        1 => Just(Command::AgreeToStrategy),
    ]
}

fn money() -> impl Strategy<Value = Money> {
    one_of(&["0", "-1", "0.0000000001", "10000000000000", "-10000000000000", "1000"])
        .prop_map(|text| Money::parse(text).unwrap())
}

fn command() -> impl Strategy<Value = Command> {
    let currency = || one_of(&[Currency::HKD, Currency::USD, Currency::CNH]);
    prop_oneof![
        8 => terms().prop_map(Command::submit),
        2 => (0..6u64, quantity(), price(), price()).prop_map(|(order, quantity, price, trigger_price)| Command::Replace {
            id: OrderId::of(7, order),
            changes: Box::new(Changes { quantity, price, trigger_price, ..Changes::default() }),
        }),
        1 => (0..6u64).prop_map(|order| Command::Cancel { id: OrderId::of(7, order) }),
        1 => (currency(), money()).prop_map(|(currency, amount)| Command::Deposit { currency, amount }),
        1 => (currency(), money()).prop_map(|(currency, amount)| Command::Withdraw { currency, amount }),
        1 => (currency(), money(), currency()).prop_map(|(from, amount, to)| Command::Exchange { from, amount, to }),
        1 => money().prop_map(Command::SetCredit),
        1 => (quantity(), price()).prop_map(|(quantity, cost)| Command::EnterPosition {
            symbol: symbol("700.HK"),
            quantity,
            cost: cost.unwrap_or_default(),
        }),
        1 => (0..2000u32).prop_map(|ticks| Command::Set(Setting::SlippageTicks(ticks))),
        1 => any::<bool>().prop_map(|on| Command::Set(Setting::Fractional(on))),
        1 => any::<bool>().prop_map(|on| Command::Set(Setting::Liquidate(on))),
        1 => any::<bool>().prop_map(|on| Command::Set(Setting::GridQuestionnaire(on))),
        1 => (0..12u32).prop_map(|limit| Command::Set(Setting::OpenOrders(limit))),
        1 => (0..12u32).prop_map(|limit| Command::Set(Setting::GridTriggers(limit))),
        1 => (0..200u64).prop_map(|limit| Command::Set(Setting::JournalEntries(limit))),
        1 => any::<bool>().prop_map(|on| Command::Set(Setting::CoarseFills(on))),
        8 => grid_command().boxed(),
    ]
}

fn store() -> Store {
    let mut store = Store::default();
    store.rates.push((Currency::USD, date("2020-01-01"), trading::Rate::parse("7.8").unwrap()));
    for (of, market) in
        [("700.HK", Market::Hk), ("AAPL.US", Market::Us), ("AAPL260417C190000.US", Market::Us)]
    {
        for day in ["2026-03-17", "2026-03-18", "2026-03-19"] {
            for minute in 31..50 {
                let time = at(market, &format!("{day} 09:{minute}"));
                store.add(&symbol(of), time, &["100", "101.2", "99", "100.4", "900000"], None);
            }
        }
    }
    store.act(&symbol("700.HK"), date("2026-03-19"), "split 0.1", None);
    store.act(&symbol("AAPL.US"), date("2026-03-19"), "rights 1/3 at 3", None);
    store
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn no_command_panics(commands in prop::collection::vec((0..3600i64, command()), 1..30)) {
        let store = store();
        let engine = Engine::new(&store, tables());
        let mut account = Account::default();
        let start = at(Market::Hk, "2026-03-18 09:32");
        for command in [
            Command::Open { account: 7, settings: Settings::default() },
            Command::Deposit { currency: Currency::HKD, amount: Money::parse("100000000").unwrap() },
            Command::Deposit { currency: Currency::USD, amount: Money::parse("100000000").unwrap() },
        ] {
            engine.handle(&mut account, &command, start);
        }
        let mut now = start;
        for (later, command) in commands {
            now = Timestamp(now.0 + later);
            engine.advance(&mut account, now);
            let before = account.clone();
            let outcome = engine.handle(&mut account, &command, now);
            if outcome.refusal.is_some() {
                prop_assert!(outcome.entries.is_empty());
                prop_assert_eq!(&before, &account);
            }
            for entry in &outcome.entries {
                let text = serde_json::to_string(entry).unwrap();
                prop_assert_eq!(&serde_json::from_str::<trading::Entry>(&text).unwrap(), entry);
            }
        }
        engine.advance(&mut account, at(Market::Us, "2026-04-20 04:00"));
        let _ = trading::figures(&account, &engine.view(now));
    }
}
