//! Refusals and rejections, with their texts.

use trading::{Command, OrderType, OutsideRth, Quantity, Side, Terms, TimeInForce};

use crate::common::{check, date, play, symbol};

/// Submits an order at 10:00 from an account with ample funds, and checks the result.
fn order(order: &str, expected: &str) {
    let clock = if order.contains(".US") { "clock US\n" } else { "" };
    let expected = match expected.strip_prefix("rejected ") {
        Some(msg) => format!("> 10:00:00 #1 RejectedStatus `{msg}`"),
        None if expected == "ok" => "> 10:00:00 #1 WaitToNew\n> 10:00:00 #1 NewStatus".to_owned(),
        None if expected == "waits" => "> 10:00:00 #1 VarietiesNotReported DEACTIVE".to_owned(),
        None if expected == "trails" => "> 10:00:00 #1 VarietiesNotReported ACTIVE".to_owned(),
        None if expected == "602301" => "> refused 602301 `insufficient holdings`".to_owned(),
        None => format!("> refused 602001 `{expected}`"),
    };
    check(&format!(
        "{clock}mark 700.HK 305
        mark AAPL.US 190
        mark .DJI.US 40000
        mark AAPL260619C190000.US 5
        security .DJI.US index lot 1
        security 2800.HK etf lot 500
        security 10001.HK warrant lot 1000
        delisted 9.HK
        given cash HKD 100000000
        given cash USD 10000000
        given position 5.HK 1000 50
        10:00 {order}
        {expected}"
    ));
}

#[test]
fn the_first_failing_check_is_reported() {
    // Each line fixes the mistake of the preceding line.
    order("buy 300150 NONE.HK TSMAMT tif GTC", "symbol not tradable");
    order("buy 300150 700.HK TSMAMT tif GTC", "order type not support");
    order("buy 300150 700.HK SLO tif GTC", "submitted_price required");
    order("buy 300150 700.HK SLO 0 tif GTC", "submitted_price must be above 0");
    order("buy 300150 700.HK SLO 9000.3 tif GTC", "time in force not support");
    order("buy 300150 700.HK SLO 9000.3", "quantity must be a multiple of 100");
    order("buy 300100 700.HK SLO 9000.3", "order too large");
    order("buy 300000 700.HK SLO 9000.3", "price must be a multiple of 5");
    order("buy 300000 700.HK SLO 9000", "price too far from 305");
    order("buy 300000 700.HK LIT 9000 trigger 305", "price too far from 305");
    order("buy 300000 700.HK LIT 400 trigger 305", "trigger_price must differ from 305");
    order("buy 300000 700.HK SLO 400", "rejected insufficient funds");
    order("buy 200000 700.HK SLO 400", "ok");
}

#[test]
fn check_1_refuses_untradable_symbols() {
    order("buy 100 NONE.HK LO 1", "symbol not tradable");
    order("buy 100 600519.SH LO 1", "symbol not tradable");
    order("buy 1 .DJI.US LO 1", "symbol not tradable");
    order("buy 100 9.HK LO 1", "symbol not tradable");
    order("buy 1 AAPL260619C200000.US LO 1", "no quotes");
    order("buy 1 AAPL260619C190000.US LO 5", "ok");
}

#[test]
fn check_2_refuses_unsupported_order_types() {
    for order_type in ["ELO", "AO", "ALO", "ODD", "SLO", "TSMAMT", "TSMPCT"] {
        order(&format!("buy 10 AAPL.US {order_type} 190"), "order type not support");
    }
    order("buy 100 700.HK TSMAMT amount 1", "order type not support");
    order("buy 100 700.HK ELO 305", "ok");
    order("buy 1 AAPL260619C190000.US TSLPAMT amount 1 offset 0", "trails");
    order("buy 1 AAPL260619C190000.US TSLPPCT percent 5 offset 0 tif GTC", "trails");
    order(
        "buy 1 AAPL260619C190000.US TSLPPCT percent 5 offset 0 tif GTD until 2026-03-20",
        "time in force not support",
    );
    order("dated buy 1 AAPL260619C190000.US TSMAMT amount 1", "order type not support");
    order("dated buy 10 AAPL.US TSMAMT amount 1", "trails");
    order("dated buy 100 700.HK TSMPCT percent 1", "trails");
    order("dated buy 100 700.HK TSMPCT amount 1", "trailing_percent required");
    // The first failing check is reported.
    order("buy 100 600519.SH TSMAMT", "symbol not tradable");
}

#[test]
fn check_3_refuses_invalid_fields() {
    order("buy 100 700.HK LO", "submitted_price required");
    order("buy 100 700.HK SLO", "submitted_price required");
    order("buy 100 700.HK LO 0", "submitted_price must be above 0");
    order("buy 100 700.HK LO -1", "submitted_price must be above 0");
    order("buy 100 700.HK LIT 305", "trigger_price required");
    order("buy 100 700.HK MIT", "trigger_price required");
    order("buy 100 700.HK MIT trigger -1", "trigger_price must be above 0");
    order("buy 100 700.HK TSLPAMT offset 1", "trailing_amount required");
    order("buy 100 700.HK TSLPPCT offset 1", "trailing_percent required");
    order("buy 100 700.HK TSLPPCT percent 1", "limit_offset required");
    order("buy 0 700.HK LO 305", "submitted_quantity must be above 0");
    order("buy -100 700.HK LO 305", "submitted_quantity must be above 0");
    order("buy 100 700.HK TSLPAMT amount 1 depth 6", "limit_depth_level must be from -5 to 5");
    order("buy 100 700.HK MIT trigger 306 count 4", "trigger_count must be from 0 to 3");
    order(&format!("buy 100 700.HK LO 305 remark {}", "ß".repeat(255)), "ok");
    order(
        &format!("buy 100 700.HK LO 305 remark {}", "x".repeat(256)),
        "remark must have at most 255 characters",
    );
}

#[test]
fn checks_5_and_6_refuse_invalid_quantities() {
    order("buy 150 700.HK LO 305", "quantity must be a multiple of 100");
    order("buy 100 2800.HK LO 20", "quantity must be a multiple of 500");
    order("buy 1.5 AAPL.US LO 190", "quantity must be a multiple of 1");
    order("buy 300000 700.HK LO 305", "ok");
    order("buy 300100 700.HK LO 305", "order too large");
    order("buy 99 700.HK ODD 305", "ok");
    order("buy 0.5 700.HK ODD 305", "quantity must be a multiple of 1 below 100");
    order("buy 10000000000 AAPL.US LO 90000000", "order too large");
}

#[test]
fn fractional_quantities_need_the_setting() {
    let with = |order: &str, expected: &str| {
        check(&format!(
            "clock US\nmark AAPL.US 190\ngiven cash USD 100000\ngiven set fractional on\n10:00 {order}\n{expected}"
        ));
    };
    with("buy 0.0001 AAPL.US LO 190", "> 10:00:00 #1 WaitToNew\n> 10:00:00 #1 NewStatus");
    with("buy 1.5 AAPL.US MO", "> 10:00:00 #1 WaitToNew\n> 10:00:00 #1 NewStatus");
    with("buy 1.5 AAPL.US LO 190 rth ANY_TIME", "> refused 602001 `quantity must be a multiple of 1`");
    with("buy 1.5 AAPL.US MIT trigger 191", "> refused 602001 `quantity must be a multiple of 1`");
    check(
        "clock US
        candle AAPL.US 10:01 190 190 189 190 50
        given cash USD 100000
        given set fractional on
        10:00 buy 2.5 AAPL.US LO 191
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 buy 4.25 AAPL.US LO 191
        > 10:00:00 #2 WaitToNew
        > 10:00:00 #2 NewStatus
        10:05 position AAPL.US
        > 10:02:00 #1 FilledStatus 2.5 @ 190.000
        > 10:02:00 #2 PartialFilledStatus 2.5 @ 190.000
        > AAPL.US 5 available 5 cost 190.000 init \"\"",
    );
}

#[test]
fn check_7_refuses_prices_off_the_tick() {
    order("buy 100 700.HK LO 305.1", "price must be a multiple of 0.2");
    order("buy 100 700.HK LIT 306 trigger 306.1", "price must be a multiple of 0.2");
    order("buy 100 700.HK TSLPAMT amount 1 offset 0 monitor 306.1", "price must be a multiple of 0.2");
    order("buy 100 700.HK TSLPAMT amount 0 offset 0", "trailing_amount must be above 0");
    order("buy 100 700.HK TSLPPCT percent -1 offset 0", "trailing_percent must be above 0");
    order("buy 100 700.HK TSLPAMT amount 1 offset -1", "limit_offset must not be below 0");
    order("buy 500 2800.HK LO 20.01", "price must be a multiple of 0.02");
    order("buy 500 2800.HK LO 20.02", "ok");
    order("buy 1000 10001.HK LO 0.251", "price must be a multiple of 0.005");
    order("buy 1 AAPL.US LO 190.005", "price must be a multiple of 0.01");
    order("buy 1 AAPL.US LO 0.9999", "ok");
    order("buy 1 AAPL.US LO 1.0001", "price must be a multiple of 0.01");
    order("buy 100 5.HK LO 0.0005", "price must be a multiple of 0.001");
    order("buy 100 5.HK LO 10000", "ok");
    order("buy 100 5.HK LO 10001", "price must be a multiple of 5");
    order("buy 1 AAPL260619C190000.US LO 0.505", "price must be a multiple of 0.01");
}

#[test]
fn checks_8_and_9_compare_prices_with_the_mark() {
    order("buy 100 700.HK LO 2745", "price must be a multiple of 2");
    order("buy 100 700.HK LO 2746", "price too far from 305");
    order("buy 100 700.HK LO 2744", "ok");
    order("buy 100 700.HK LO 33.88", "price too far from 305");
    order("buy 100 700.HK LO 33.9", "ok");
    order("buy 1 AAPL.US LO 9000", "ok");
    order("buy 100 5.HK LO 9000", "ok");
    for kind in ["MO", "AO", "MIT trigger 5", "LIT 5 trigger 5", "TSLPAMT amount 1 offset 0"] {
        order(&format!("buy 100 5.HK {kind}"), "no quotes");
    }
    order("buy 100 700.HK MIT trigger 306", "waits");
}

#[test]
fn checks_10_and_11_reject_insufficient_funds_and_holdings() {
    order("buy 300000 700.HK LO 400", "rejected insufficient funds");
    order("sell 1000 5.HK LO 50", "ok");
    order("sell 1100 5.HK LO 50", "rejected insufficient holdings");
    order("sell 100 700.HK LO 305", "602301");
    order("sell 1 AAPL260619C190000.US LO 5", "rejected insufficient holdings");
}

#[test]
fn check_12_rejects_orders_below_the_margin() {
    // With a debt of 70,000 and shares of 100,000, net assets of 30,000 are below both margins.
    check(
        "mark 700.HK 100
        rate USD 7.8
        margin 700.HK 0.5 0.4 0.3
        given credit 1000000
        given cash HKD -70000
        given position 700.HK 1000 100
        10:00 account
        > total -70000.00 net 30000.00 init 50000.00 maintenance 40000.00 buy_power -20000.00 remaining 930000.00 level 3
        10:00 sell 500 700.HK LO 100
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 buy 100 700.HK LO 100
        > 10:00:00 #2 RejectedStatus `insufficient funds`",
    );
}

#[test]
fn short_sales_and_figures_are_refused_without_a_rate() {
    check(
        "clock US
        mark AAPL.US 190
        given cash USD 10000
        10:00 sell 10 AAPL.US LO 190
        > refused 602001 `no rate for USD: report one with `chandler account rates USD RATE --day 2026-03-18``
        10:00 account
        > refused `no rate for USD: report one with `chandler account rates USD RATE --day 2026-03-18``
        10:00 buy 10 AAPL.US LO 190
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:00 account USD
        > total 10000.00 net 10000.00 init 0.00 maintenance 0.00 buy_power 10000.00 remaining 8098.97 level 0
        10:00 given cash HKD 1
        10:00 account USD
        > refused `no rate for USD: report one with `chandler account rates USD RATE --day 2026-03-18``",
    );
}

#[test]
fn invalid_settings_are_refused() {
    check(
        "10:00 given set participation 0
        > refused 602001 `participation must be above 0: write off for no cap`
        10:00 given cash HKD 0
        > refused 602001 `amount must be above 0`
        10:00 given withdraw HKD 1
        > refused 602001 `insufficient funds`
        10:00 given exchange USD 5 USD
        > refused 602001 `the currencies are the same`
        10:00 cancel #7
        > refused 602001 `order not found`",
    );
}

#[test]
fn cash_is_exchanged_at_the_stored_rate() {
    check(
        "rate USD 7.8
        given cash HKD 1000
        10:00 given exchange HKD 780 USD
        10:00 cash USD
        > USD C 100.00 F 0.00
        10:00 given withdraw HKD 220.01
        > refused 602001 `insufficient funds`
        10:00 given withdraw HKD 220
        10:00 flows
        > Deposit 1000.00 HKD
        > ExchangeOut -780.00 HKD
        > ExchangeIn 100.00 USD
        > Withdrawal -220.00 HKD
        10:00 account
        > total 780.00 net 780.00 init 0.00 maintenance 0.00 buy_power 780.00 remaining 780.00 level 0",
    );
}

#[test]
fn a_time_in_force_refusal_has_a_detail() {
    let mut player = play("mark 700.HK 305\nmark AAPL.US 190\ngiven cash HKD 500000");
    let now = player.instant("10:00");
    let buy = |of: &str, order_type| Terms::new(symbol(of), Side::Buy, order_type, Quantity::whole(100));
    let until = |day: &str| Terms {
        price: trading::parse_price("305").ok(),
        time_in_force: TimeInForce::GoodTilDate,
        expire_date: Some(date(day)),
        ..buy("700.HK", OrderType::Limit)
    };
    let for_long = Terms { time_in_force: TimeInForce::GoodTilCanceled, ..buy("700.HK", OrderType::Market) };
    let overnight = Terms { outside_rth: Some(OutsideRth::Overnight), ..buy("AAPL.US", OrderType::Market) };
    for (terms, detail) in [
        (for_long, "MO must be a day order"),
        (overnight, "overnight sessions accept only limit day orders"),
        (until("2026-03-17"), "it ends on 2026-03-17, and 2026-03-18 is the first day it could trade on"),
        (until("2027-03-20"), "2027-03-20 is more than 366 days after 2026-03-18"),
    ] {
        let refusal = player.handle(&Command::submit(terms), now).unwrap();
        assert_eq!(
            (refusal.check, refusal.text.as_str(), refusal.detail.as_deref()),
            (Some(4), "time in force not support", Some(detail))
        );
    }
}
