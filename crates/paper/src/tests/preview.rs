use trading::{OrderType, OutsideRth, Quantity, Side, Submit, Terms, parse_price};

use super::house::{House, limit, replay};
use crate::{Preview, Verdict};

/// Formats the verdict; price, amount and charges; and the cash before and after.
fn describe(preview: &Preview) -> String {
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
    // The reserve in example G1 of the specification.
    let plain = preview(&limit(Side::Buy, 200, "306.00"));
    assert_eq!(describe(&plain), "Accepted 306.000 61200.00 + 84.77 500000.00→438715.23");
    assert_eq!(
        (plain.status, plain.trading_day.as_deref(), plain.margin_max_qty.as_deref()),
        (Some("NewStatus"), Some("2026-03-18"), Some("1600"))
    );
    let odd = preview(&limit(Side::Buy, 150, "306.00"));
    assert_eq!(
        describe(&odd),
        "Refused `quantity must be a multiple of 100: 150 is not (check 5, quantity)`"
    );
    assert_eq!(odd.verdict, Verdict::Refused);
    let large = preview(&limit(Side::Buy, 2_000, "306.00"));
    assert!(
        describe(&large).starts_with(
            "Rejected `insufficient funds: it needs 612704.72 of cash in HKD, and there is 500000.00 (check 10, funds)`"
        ),
        "{}",
        describe(&large)
    );
    // The reserve price of a market order: 305 × 1.05, rounded up to the tick.
    let at_market = Terms { order_type: OrderType::Market, price: None, ..limit(Side::Buy, 100, "306.00") };
    assert_eq!(describe(&preview(&at_market)), "Accepted 320.400 32040.00 + 52.08 500000.00→467907.92");
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
            "MO has no use for the limit",
            "MO has no use for the trigger",
            "Day has no use for the date",
            "its market has no hours outside of the regular ones",
        ]
    );
    let symbol = "AAPL.US".parse().unwrap();
    let abroad = Terms {
        outside_rth: Some(OutsideRth::AnyTime),
        ..Terms::new(symbol, Side::Buy, OrderType::Market, Quantity::whole(10))
    };
    assert_eq!(notes(&abroad, "24:00"), ["it trades in regular hours alone"]);
}
