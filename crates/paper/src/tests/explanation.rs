//! Tests previews of orders, and explanations of what happened to orders.

use trading::{Command, OrderId, OrderType, OutsideRth, Quantity, Side, Submit, Terms, parse_price};

use super::house::{House, Service, limit, replay};
use crate::{Preview, Verdict};

/// Formats each step as `event: words`, followed by its rules.
fn describe(service: &Service, id: store::AccountId, order: OrderId) -> Vec<String> {
    let explanation = crate::explanation(&service.paper.journal(id).unwrap(), order).unwrap();
    assert_eq!((explanation.order_id, explanation.symbol.as_str()), (order.to_string(), "700.HK"));
    let lines = explanation.steps.into_iter().flat_map(|step| {
        let because = step.because.into_iter().map(|rule| format!("- {rule}"));
        std::iter::once(format!("{}: {}", step.event, step.words)).chain(because)
    });
    lines.collect()
}

fn check(found: &[String], expected: &str) {
    let expected: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(found, expected);
}

/// Example G8 of the specification.
#[test]
fn a_fill_is_explained_with_candle_rule_and_charges() {
    let house = House::new(&[
        "09:59 305 305 305 305 50000",
        "10:01 305.2 306.4 305 306.2 50000",
        "10:02 306.6 306.8 306 306.4 50000",
    ]);
    let (id, service) = (house.account("ann"), house.service());
    let terms = Terms {
        order_type: OrderType::LimitIfTouched,
        trigger_price: Some(parse_price("306").unwrap()),
        ..limit(Side::Buy, 100, "307")
    };
    let order = service.submit(id, replay("10:00:15"), terms);
    assert!(service.seen(id, replay("10:05"), order).starts_with("FilledStatus 100@306.600"));
    check(
        &describe(&service, id, order),
        "accepted: accepted: buy 100 700.HK, limit 307 once 306 is touched, for the day
        - it waits for a price of 306 or more: the market was below it
        - candles stamped after 2026-03-18 10:00:15 HKT count for it
        - it ends at 2026-03-18 16:10:00 HKT
        released: released as a limit order at 307
        - the candle 10:01 HKT (open 305.2, high 306.4, low 305, close 306.2, volume 50000) reached the trigger 306 on every path that its prices allow
        - what followed within the minute is unknown, so only later candles may fill it
        filled: filled: 100 at 306.6
        - candle 10:02 HKT: open 306.6, high 306.8, low 306, close 306.4, volume 50000
        - the open 306.6 was on the good side of the limit 307, so the open is the price
        - of its volume of 50000, 5000 were left to this order: an account takes 0.1 of each candle, cut to whole lots
        - PLATFORM HKD 15.00
        - STAMP_DUTY HKD 31.00
        - TRADING_FEE HKD 1.73
        - SFC_LEVY HKD 0.83
        - AFRC_LEVY HKD 0.05
        - SETTLEMENT HKD 1.29
        - HKD 30709.90 paid: 30660.00 and charges of 49.90; booked on 2026-03-18, settled on 2026-03-20",
    );
}

#[test]
fn a_rejection_names_the_failed_check() {
    let house = House::new(&["09:59 305 305 305 305 50000"]);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("10:00"), limit(Side::Buy, 2_000, "305"));
    check(
        &describe(&service, id, order),
        "rejected: rejected: buy 2000 700.HK, limit 305, for the day: insufficient funds
        - insufficient funds: it needs 610702.48 of cash in HKD, and there is 500000.00 (check 10, funds); it was accepted and then rejected, and costs nothing",
    );
}

#[test]
fn explanations_state_when_parked_and_held_orders_become_active() {
    let house = House::new(&["09:59 305 305 305 305 50000"]);
    let (id, service) = (house.account("ann"), house.service());
    let held = Terms { delayed_until: Some(super::house::at("10:05")), ..limit(Side::Buy, 100, "300") };
    let held = service.submit(id, replay("10:00"), held);
    let parked = service.submit(id, replay("17:00"), limit(Side::Buy, 100, "300"));
    service.command(id, replay("17:01"), &Command::Cancel { id: parked }).unwrap();
    check(
        &describe(&service, id, parked),
        "accepted: accepted: buy 100 700.HK, limit 300, for the day
        - its session is closed: it is reported at 2026-03-19 09:00:00 HKT
        - it ends at 2026-03-19 16:10:00 HKT
        - 300 for each, and the charges, are held back for it
        canceled: cancelled on request",
    );
    check(
        &describe(&service, id, held),
        "accepted: accepted: buy 100 700.HK, limit 300, for the day
        - it is held until 2026-03-18 10:05:00 HKT
        - it ends at 2026-03-18 16:10:00 HKT
        activated: its delay has ended: accepted by the engine
        - candles stamped 2026-03-18 10:05:00 HKT or later count for it
        - it ends at 2026-03-18 16:10:00 HKT
        - 300 for each, and the charges, are held back for it
        expired: expired: its time in force ended",
    );
}

#[test]
fn a_market_order_is_explained_with_its_regular_hours() {
    let house = House::new(&["09:59 305 305 305 305 50000"]);
    house.import_of("AAPL.US", &["23:00 190 190 190 190 9000"]);
    let (id, service) = (house.bare_account("ann"), house.service());
    let symbol = "AAPL.US".parse().unwrap();
    let terms = Terms {
        outside_rth: Some(OutsideRth::AnyTime),
        ..Terms::new(symbol, Side::Buy, OrderType::Market, Quantity::whole(10))
    };
    let order = service.submit(id, replay("24:00"), terms);
    let explanation = crate::explanation(&service.paper.journal(id).unwrap(), order).unwrap();
    let step = &explanation.steps[0];
    assert_eq!(step.words, "accepted: buy 10 AAPL.US, at the market, for the day, in regular hours");
    let said = "as a market order it trades in regular hours only, regardless of outside_rth";
    assert!(step.because.iter().any(|rule| rule == said), "{:?}", step.because);
}

#[test]
fn the_explanation_of_a_fill_states_the_participation_at_that_time() {
    let house = House::new(&["09:59 305 305 305 305 50000", "10:01 305 305 305 305 1990"]);
    let (id, service) = (house.account("ann"), house.service());
    let share = trading::Share::parse("0.25").unwrap();
    let set = Command::Set(trading::Setting::Participation(Some(share)));
    service.command(id, replay("10:00"), &set).unwrap();
    let order = service.submit(id, replay("10:00:15"), limit(Side::Buy, 1_000, "306"));
    assert!(service.seen(id, replay("10:02"), order).starts_with("PartialFilledStatus 400@305.000"));
    let said = "- of its volume of 1990, 400 were left to this order: an account takes 0.25 of each candle, cut to whole lots";
    let found = describe(&service, id, order);
    assert!(found.iter().any(|line| line == said), "{found:?}");
}

/// Formats the verdict, the price with amount and charges, and the cash before and after.
fn describe_preview(preview: &Preview) -> String {
    let reason = preview.reason.as_ref().map(|reason| format!(" `{}`", reason.words)).unwrap_or_default();
    let cost = preview.cost.as_ref().map(|cost| {
        let cash = &cost.available_cash;
        format!(" {} {} + {} {}→{}", cost.price, cost.amount, cost.fee_total, cash.before, cash.after)
    });
    format!("{:?}{reason}{}", preview.verdict, cost.unwrap_or_default())
}

#[test]
fn a_preview_shows_the_outcome_and_writes_nothing() {
    let house = House::new(&["09:59 305 305 305 305 50000"]);
    let (id, service) = (house.account("ann"), house.service());
    let preview = |terms: &Terms| {
        service
            .with_reader(|reader| {
                service.paper.at(id, reader, &replay("10:00:15")).preview(&Submit::of(terms.clone()))
            })
            .unwrap()
    };
    // The reserve is that of example G1 in the specification.
    let plain = preview(&limit(Side::Buy, 200, "306.00"));
    assert_eq!(describe_preview(&plain), "Accepted 306.000 61200.00 + 84.77 500000.00→438715.23");
    assert_eq!(
        (plain.status, plain.trading_day.as_deref(), plain.margin_max_qty.as_deref()),
        (Some("NewStatus"), Some("2026-03-18"), Some("1600"))
    );
    let odd = preview(&limit(Side::Buy, 150, "306.00"));
    assert_eq!(
        describe_preview(&odd),
        "Refused `quantity must be a multiple of 100: 150 is not (check 5, quantity)`"
    );
    assert_eq!(odd.verdict, Verdict::Refused);
    let large = preview(&limit(Side::Buy, 2_000, "306.00"));
    assert!(
        describe_preview(&large).starts_with(
            "Rejected `insufficient funds: it needs 612704.72 of cash in HKD, and there is 500000.00 (check 10, funds)`"
        ),
        "{}",
        describe_preview(&large)
    );
    // The reserve price of a market order is 305 × 1.05, rounded up to the tick.
    let at_market = Terms { order_type: OrderType::Market, price: None, ..limit(Side::Buy, 100, "306.00") };
    assert_eq!(
        describe_preview(&preview(&at_market)),
        "Accepted 320.400 32040.00 + 52.08 500000.00→467907.92"
    );
    assert!(service.read(id, replay("10:00:20"), |reading| reading.account.orders().is_empty()));
}

#[test]
fn a_preview_lists_the_ignored_fields() {
    let house = House::new(&["09:59 305 305 305 305 50000"]);
    house.import_of("AAPL.US", &["23:00 190 190 190 190 9000"]);
    let (id, service) = (house.account("ann"), house.service());
    let notes = |terms: &Terms, clock: &str| {
        let moment = replay(clock);
        service
            .with_reader(|reader| service.paper.at(id, reader, &moment).preview(&Submit::of(terms.clone())))
            .unwrap()
            .notes
    };
    let plain = limit(Side::Buy, 100, "306.00");
    assert!(notes(&plain, "10:00:15").is_empty());
    let at_market = Terms {
        order_type: OrderType::Market,
        trigger_price: parse_price("300").ok(),
        expire_date: Some("2026-03-20".parse().unwrap()),
        outside_rth: Some(OutsideRth::AnyTime),
        ..plain
    };
    assert_eq!(
        notes(&at_market, "10:00:15"),
        [
            "MO does not use the limit",
            "MO does not use the trigger",
            "Day does not use the date",
            "its market has no extended hours",
        ]
    );
    let symbol = "AAPL.US".parse().unwrap();
    let abroad = Terms {
        outside_rth: Some(OutsideRth::AnyTime),
        ..Terms::new(symbol, Side::Buy, OrderType::Market, Quantity::whole(10))
    };
    let stopped = "newest candle of AAPL.US is 2026-03-18 11:00 EDT; this order can fill once later candles are imported";
    assert_eq!(notes(&abroad, "24:00"), ["it trades in regular hours only", stopped]);
    assert_eq!(notes(&abroad, "23:03"), ["it trades in regular hours only"]);
}
