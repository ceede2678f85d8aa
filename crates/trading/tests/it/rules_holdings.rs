//! Corporate actions, interest and forks.

use trading::{Account, Entry};

use crate::common::{check, play};

#[test]
fn an_action_on_a_holiday_is_applied_at_the_next_roll() {
    // The market is closed from 2026-02-17 to 2026-02-19.
    check(
        "day 2026-02-16
        mark 700.HK 305
        action 700.HK 2026-02-18 cash 1
        given position 700.HK 300 310
        10:00 now
        day 2026-02-18
        10:00 cash HKD
        > HKD C 0.00 F 0.00
        day 2026-02-20
        00:00 cash HKD
        > HKD C 300.00 F 0.00",
    );
}

#[test]
fn actions_of_one_day_are_combined_in_one_formula() {
    // (10 − 0.50 + 0.2 × 6) / 1.3 = 8.2307…, so the rights are sold for 0.2 × 2.2307 × 1000 =
    // 446.15. There are 100 bonus shares.
    check(
        "day 2026-05-15
        close 700.HK 2026-05-15 10
        action 700.HK 2026-05-18 cash 0.50
        action 700.HK 2026-05-18 bonus 1/10
        action 700.HK 2026-05-18 rights 1/5 at 6
        given position 700.HK 1000 11
        15:00 now
        day 2026-05-18
        00:00 flows
        > Dividend 500.00 HKD 700
        > RightsValue 446.15 HKD 700
        00:00 position 700.HK
        > 700.HK 1100 available 1100 cost 9.545 (average 10.000) init 1100",
    );
}

#[test]
fn a_dividend_of_an_earlier_holding_does_not_lower_the_cost() {
    check(
        "day 2026-05-15
        action 700.HK 2026-05-18 cash 4.50 paid 2026-05-20
        given position 700.HK 100 310
        given cash HKD 100000
        given set touch touch
        15:00 now
        day 2026-05-18
        candle 700.HK 10:01 300 300 300 300 5000; 10:03 300 300 300 300 5000
        10:00 sell 100 700.HK LO 300
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:02 buy 100 700.HK LO 300
        > 10:02:00 #1 FilledStatus 100 @ 300.000
        > 10:02:00 #2 WaitToNew
        > 10:02:00 #2 NewStatus
        10:10 position 700.HK
        > 10:04:00 #2 FilledStatus 100 @ 300.000
        > 700.HK 100 available 100 cost 300.000 init 100
        day 2026-05-20
        00:00 position 700.HK
        > 700.HK 100 available 100 cost 300.000 init 100
        00:00 flows
        > Deposit 100000.00 HKD
        > SellStock 30000.00 HKD 700
        > Fee -15.00 HKD PLATFORM
        > Fee -30.00 HKD STAMP_DUTY
        > Fee -1.70 HKD TRADING_FEE
        > Fee -0.81 HKD SFC_LEVY
        > Fee -0.05 HKD AFRC_LEVY
        > Fee -1.26 HKD SETTLEMENT
        > BuyStock -30000.00 HKD 700
        > Fee -15.00 HKD PLATFORM
        > Fee -30.00 HKD STAMP_DUTY
        > Fee -1.70 HKD TRADING_FEE
        > Fee -0.81 HKD SFC_LEVY
        > Fee -0.05 HKD AFRC_LEVY
        > Fee -1.26 HKD SETTLEMENT
        > Dividend 450.00 HKD 700",
    );
}

#[test]
fn dividends_with_one_ex_date_are_paid_on_their_pay_dates() {
    check(
        "day 2026-05-15
        action 700.HK 2026-05-18 cash 1 paid 2026-05-22
        action 700.HK 2026-05-18 cash 2 paid 2026-05-20
        given position 700.HK 300 310
        15:00 now
        day 2026-05-20
        00:00 cash HKD
        > HKD C 600.00 F 0.00
        day 2026-05-21
        00:00 cash HKD
        > HKD C 600.00 F 0.00
        day 2026-05-22
        00:00 position 700.HK
        > 700.HK 300 available 300 cost 307.000 (average 310.000) init 300
        00:00 flows
        > Dividend 600.00 HKD 700
        > Dividend 300.00 HKD 700",
    );
}

#[test]
fn a_dividend_is_rounded_once() {
    // The dividend is less than half a cent, but only by a digit beyond the precision of money.
    check(
        "day 2026-05-15
        action 700.HK 2026-05-18 cash 0.004999999999
        action 5.HK 2026-05-18 cash 0.005
        given position 700.HK 1 310
        given position 5.HK 1 50
        15:00 now
        day 2026-05-18
        00:00 flows
        > Dividend 0.01 HKD 5",
    );
}

#[test]
fn usd_interest_uses_a_year_of_360_days() {
    // 10,000 × 0.068 / 360 = 1.8888…
    check(
        "day 2026-03-24
        rate USD 7.8
        given cash USD -10000
        10:00 now
        day 2026-03-25
        00:00 accrued USD
        > 1.8888888889
        day 2026-03-26
        00:00 accrued USD
        > 3.7777777778",
    );
}

#[test]
fn a_lot_change_applies_from_its_date() {
    check(
        "lot 700.HK 500 from 2026-03-19
        given cash HKD 500000
        10:00 buy 100 700.HK LO 300
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        16:00 estimate buy 700.HK LO 300
        > cash 1500 margin 1500
        17:00 buy 100 700.HK LO 300
        > 16:10:00 #1 ExpiredStatus
        > refused 602001 `quantity must be a multiple of 500`
        17:00 estimate buy 700.HK LO 290
        > cash 1500 margin 1500",
    );
}

#[test]
fn an_unchanged_price_stays_valid_under_a_new_tick_table() {
    // 20.05 is on a tick only before 2025-08-04, when the tick size changes from 0.05 to 0.02.
    check(
        "day 2025-08-01
        given cash HKD 500000
        10:00 buy 100 700.HK LO 20.05 tif GTC
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        day 2025-08-04
        10:00 replace #1 200
        > 10:00:00 #1 WaitToReplace
        > 10:00:00 #1 PendingReplaceStatus
        > 10:00:00 #1 NewStatus
        10:00 replace #1 200 price 20.05
        > refused 602001 `price must be a multiple of 0.02`
        10:00 replace #1 200 price 20.06
        > 10:00:00 #1 WaitToReplace
        > 10:00:00 #1 PendingReplaceStatus
        > 10:00:00 #1 NewStatus",
    );
}

#[test]
fn check_12_rejects_an_order_that_cash_would_cover() {
    // The account has a debt in HKD, no credit line, and USD to spend. The cash is sufficient, but
    // the margin is not.
    check(
        "clock US
        day 2026-05-04
        mark 700.HK 100
        rate USD 7.8
        given cash HKD -70000
        given cash USD 100
        given position 700.HK 1000 100
        10:00 buy 1 AAPL.US LO 10
        > 10:00:00 #1 RejectedStatus `margin`",
    );
}

#[test]
fn an_estimate_includes_a_short_position() {
    check(
        "clock US
        day 2026-05-04
        mark AAPL.US 100
        rate USD 7.8
        margin AAPL.US 0.50 0.30 0.25
        candle AAPL.US 10:01 100 100 100 100 100000
        given cash USD 10000
        given set touch touch
        10:00 sell 100 AAPL.US LO 100
        > 10:00:00 #1 WaitToNew
        > 10:00:00 #1 NewStatus
        10:02 position AAPL.US
        > 10:02:00 #1 FilledStatus 100 @ 100.000
        > AAPL.US -100 available -100 cost 100.000 init \"\"
        10:02 estimate sell AAPL.US LO 100
        > cash 0 margin 99",
    );
}

#[test]
fn a_fork_differs_only_in_the_account_number() {
    let player = play(
        "candle 700.HK 10:01 305.2 305.8 305 305.6 50000
        given cash HKD 500000
        10:00:15 buy 200 700.HK LO 306.00
        10:00:20 buy 200000 700.HK LO 306.00
        10:05",
    );
    let forked: Vec<Entry> = player.entries.iter().cloned().map(|entry| entry.of_account(77)).collect();
    let fork = Account::fold(&forked);
    assert_eq!(fork.number(), 77);
    assert_eq!(
        fork.orders().iter().map(|order| order.id.to_string()).collect::<Vec<_>>(),
        ["77000000001", "77000000002"]
    );
    let back: Vec<Entry> =
        forked.iter().cloned().map(|entry| entry.of_account(player.account.number())).collect();
    assert_eq!(back, player.entries);
}
