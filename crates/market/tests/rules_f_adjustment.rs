//! F: forward adjustment. Earlier prices are adjusted to today's price level by exact factors.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{at, candle, date, prices, venue};
use market::adjust::{Amount, factor, factors};
use market::{
    Action, Adjuster, Candle, Candles, Date, IgnoredAction, Market, Period, Price, Timestamp, fold,
};
use num_bigint::BigInt;

/// Parses an action such as `cash 0.50, bonus 1/10, rights 1/5 at 6`. All values are per old share.
fn action(ex_date: &str, text: &str) -> Action {
    let amount = |text: &str| Amount::parse(text).unwrap();
    let mut action = Action::none(date(ex_date));
    for part in text.split(',') {
        match part.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["cash", cash] => action.cash = amount(cash),
            ["split", split] => action.split = amount(split),
            ["bonus", bonus] => action.bonus = amount(bonus),
            ["rights", rights, "at", price] => {
                (action.rights, action.rights_price) = (amount(rights), amount(price))
            }
            _ => panic!("{part:?} is no action"),
        }
    }
    action
}

/// Formats a fraction rounded to twelve decimals, without trailing zeros.
fn twelve(value: &num_rational::Ratio<BigInt>) -> String {
    let scaled = value * BigInt::from(10u64.pow(12));
    let digits = format!("{:0>13}", scaled.round().to_integer().to_string());
    let (whole, decimals) = digits.split_at(digits.len() - 12);
    format!("{whole}.{decimals}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Checks the combined factor of several actions on one ex-date, and the resulting reference price
/// for the last close.
fn check_event(events: &[&str], close: &str, expected: &str, reference: &str) {
    let actions: Vec<Action> = events.iter().map(|text| action("2026-03-04", text)).collect();
    let close = Price::parse(close).unwrap();
    let (above, below) = factor(&actions, close).unwrap();
    let found = num_rational::Ratio::new(BigInt::from(above), BigInt::from(below));
    let shown = if expected.contains('/') { found.to_string() } else { twelve(&found) };
    assert_eq!(shown, expected, "{events:?}");
    let (adjuster, ignored) = adjuster(&actions, date("2026-03-04"), 3, |_| Some(close));
    assert_eq!(ignored, []);
    let adjusted = adjuster.for_day(date("2026-03-03")).expect("a day before the ex-date").apply(close.0);
    assert_eq!(Price(adjusted).text(3).to_string(), reference, "{events:?}");
}

#[test]
fn f3_an_event_has_the_specified_factor() {
    check_event(&["cash 3.40"], "350.00", "0.990285714286", "346.600");
    check_event(&["split 10"], "100.00", "0.1", "10.000");
    check_event(&["split 0.1"], "2.00", "10", "20.000");
    check_event(&["bonus 3/10"], "20.00", "0.769230769231", "15.385");
    check_event(&["rights 1/4 at 12"], "15.00", "0.96", "14.400");
    check_event(&["rights 1/4 at 16"], "15.00", "1", "15.000");
    check_event(&["cash 0.50, bonus 1/10, rights 1/5 at 6"], "10.00", "107/130", "8.231");
    // Rights at exactly the market price are worthless.
    check_event(&["rights 1/4 at 15"], "15.00", "1", "15.000");
    check_event(&["cash 1, rights 1/4 at 15"], "15.00", "14/15", "14.000");
}

#[test]
fn f3_events_of_one_ex_date_are_combined() {
    check_event(&["cash 0.50", "bonus 1/10", "rights 1/5 at 6"], "10.00", "107/130", "8.231");
    // Splits are multiplied, all other values are added: (10 - 1 - 1 + 1/2 * 4 + 1/2 * 2) / (2 * 3
    // + 1 + 1) = 11/8.
    check_event(
        &["cash 1, split 2, rights 1/2 at 4", "cash 1, split 3, bonus 1, rights 1/2 at 2"],
        "10.00",
        "11/80",
        "1.375",
    );
    // Only the rights issue priced below the market is exercised.
    check_event(&["rights 1/4 at 12", "rights 1/4 at 16"], "15.00", "0.96", "14.400");
}

#[test]
fn f3_an_invalid_event_is_ignored_and_reported() {
    let check = |text: &str, close: Option<&str>, reason: &str| {
        let close = close.map(|close| Price::parse(close).unwrap());
        let (adjuster, ignored) = adjuster(&[action("2026-03-04", text)], date("2026-03-04"), 3, |_| close);
        assert!(adjuster.is_identity(), "{text}");
        assert_eq!(
            ignored.iter().map(|i| (i.ex_date, i.reason)).collect::<Vec<_>>(),
            [(date("2026-03-04"), reason)],
            "{text}"
        );
    };
    check("cash 10", Some("10.00"), "the cash paid is not below the last close");
    check("cash 11", Some("10.00"), "the cash paid is not below the last close");
    check("cash 0.1", None, "no daily candle before the ex-date");
    check("split 0", Some("10.00"), "no shares are left after the action");
    // The other events remain effective.
    let actions = [action("2026-03-04", "cash 11"), action("2026-03-05", "split 2")];
    let (adjuster, ignored) = adjuster(&actions, date("2026-03-06"), 3, |_| Some(Price(10_000_000)));
    assert_eq!(ignored.len(), 1);
    assert_eq!(adjuster.for_day(date("2026-03-03")).unwrap().apply(10_000_000), 5_000_000);
}

const ACTIONS: [(&str, &str); 2] =
    [("2026-03-04", "cash 0.50, bonus 1/10, rights 1/5 at 6.00"), ("2026-03-06", "split 2")];

const DAYS: [(&str, &str, &str); 5] = [
    ("2026-03-02", "9.800 10.200 9.700 9.900", "4.033 4.198 3.992 4.074"),
    ("2026-03-03", "9.900 10.100 9.850 10.000", "4.074 4.157 4.054 4.115"),
    ("2026-03-04", "8.300 8.500 8.200 8.450", "4.150 4.250 4.100 4.225"),
    ("2026-03-05", "8.450 8.600 8.400 8.560", "4.225 4.300 4.200 4.280"),
    ("2026-03-06", "4.300 4.350 4.250 4.310", "4.300 4.350 4.250 4.310"),
];

fn worked_days() -> Candles {
    DAYS.iter().map(|(day, actual, _)| candle(at(Market::Hk, day), actual, 100, "1")).collect()
}

/// Returns the close of the last example day before a date, which is `P` in the formula.
fn close_before(ex_date: Date) -> Option<Price> {
    let zone = venue(Market::Hk).zone();
    worked_days().iter().rfind(|day| zone.date(day.time) < ex_date).map(|day| day.close)
}

/// Returns the adjuster for the actions effective on a day, and the ignored actions.
fn adjuster(
    actions: &[Action],
    today: Date,
    decimals: u32,
    close_before: impl FnMut(Date) -> Option<Price>,
) -> (Adjuster, Vec<IgnoredAction>) {
    let (factors, ignored) = factors(actions, close_before);
    (Adjuster::new(&factors, today, decimals), ignored)
}

fn worked_adjuster(today: &str) -> Adjuster {
    let actions = ACTIONS.map(|(ex_date, text)| action(ex_date, text));
    let (adjuster, ignored) = adjuster(&actions, date(today), 3, close_before);
    assert_eq!(ignored, []);
    adjuster
}

fn adjust(adjuster: &Adjuster, candle: Candle, trading_day: Date) -> Candle {
    let Some(factor) = adjuster.for_day(trading_day) else { return candle };
    let price = |price: Price| Price(factor.apply(price.0));
    let Candle { open, high, low, close, .. } = candle;
    Candle { open: price(open), high: price(high), low: price(low), close: price(close), ..candle }
}

fn adjusted_days(today: &str) -> Candles {
    let adjuster = worked_adjuster(today);
    worked_days().iter().map(|day| adjust(&adjuster, day, venue(Market::Hk).zone().date(day.time))).collect()
}

#[test]
fn f7_adjusted_days_match_the_worked_example() {
    for ((day, actual, forward), (before, after)) in
        DAYS.iter().zip(worked_days().iter().zip(adjusted_days("2026-03-06").iter()))
    {
        assert_eq!(prices(&before), *actual, "{day}");
        assert_eq!(prices(&after), *forward, "{day}");
        // Volume and turnover are not adjusted.
        assert_eq!((after.volume, after.turnover), (before.volume, before.turnover), "{day}");
    }
}

#[test]
fn f7_a_week_of_adjusted_days_matches_the_worked_example() {
    let week = |days: &Candles| {
        let folded = fold::fold(venue(Market::Hk), "week".parse().unwrap(), days).unwrap();
        assert_eq!((folded.len(), folded.last().unwrap().time), (1, at(Market::Hk, "2026-03-02")));
        prices(&folded.last().unwrap())
    };
    assert_eq!(week(&worked_days()), "9.800 10.200 4.250 4.310");
    assert_eq!(week(&adjusted_days("2026-03-06")), "4.033 4.350 3.992 4.310");
}

#[test]
fn f6_adjusting_a_folded_week_would_be_wrong() {
    let folded = fold::fold(venue(Market::Hk), "week".parse().unwrap(), &worked_days()).unwrap();
    let wrong = adjust(&worked_adjuster("2026-03-06"), folded.last().unwrap(), date("2026-03-02"));
    assert_ne!(prices(&wrong), "4.033 4.350 3.992 4.310");
}

#[test]
fn f4_only_effective_later_events_are_applied() {
    let check = |today: &str, day: &str, close: &str, expected: &str| {
        let adjuster = worked_adjuster(today);
        let close = Price::parse(close).unwrap();
        let adjusted = adjuster.for_day(date(day)).map_or(close.0, |factor| factor.apply(close.0));
        assert_eq!(Price(adjusted).text(3).to_string(), expected, "{day} seen on {today}");
    };
    // Announced future events have no effect yet.
    check("2026-03-03", "2026-03-02", "9.900", "9.900");
    // On the ex-date itself, an event applies to the days before it: 9.9 * 107/130 = 8.1484…
    check("2026-03-04", "2026-03-02", "9.900", "8.148");
    check("2026-03-04", "2026-03-03", "10.000", "8.231");
    check("2026-03-04", "2026-03-04", "8.450", "8.450");
    check("2026-03-05", "2026-03-04", "8.450", "8.450");
    check("2026-03-06", "2026-03-02", "9.900", "4.074");
    check("2026-03-06", "2026-03-03", "10.000", "4.115");
    check("2026-03-06", "2026-03-05", "8.560", "4.280");
    check("2026-03-06", "2026-03-06", "4.310", "4.310");
    check("2026-03-06", "2026-03-09", "4.310", "4.310");
    check("2026-03-06", "1999-11-01", "10.000", "4.115");
}

#[test]
fn f4_days_between_two_events_share_a_factor() {
    let adjuster = worked_adjuster("2026-03-06");
    let until = |day: &str| adjuster.for_day(date(day)).map(|factor| factor.until());
    assert_eq!(until("2026-03-02"), Some(date("2026-03-04")));
    assert_eq!(until("2026-03-03"), Some(date("2026-03-04")));
    assert_eq!(until("2026-03-04"), Some(date("2026-03-06")));
    assert_eq!(until("2026-03-05"), Some(date("2026-03-06")));
    assert_eq!(until("2026-03-06"), None);
    assert!(worked_adjuster("2026-03-03").is_identity());
}

#[test]
fn f4_prices_are_rounded_once() {
    let check = |events: &[(&str, &str)], decimals: u32, price: &str, expected: &str| {
        let actions: Vec<Action> = events.iter().map(|(day, text)| action(day, text)).collect();
        let (adjuster, _) = adjuster(&actions, date("2026-03-31"), decimals, |_| Some(Price(10_000_000)));
        let adjusted = adjuster.for_day(date("2026-03-01")).unwrap().apply(Price::parse(price).unwrap().0);
        assert_eq!(Price(adjusted).text(decimals).to_string(), expected, "{events:?} {price}");
    };
    let half = ("2026-03-10", "split 2");
    check(&[half], 3, "1.001", "0.501");
    check(&[half], 3, "1.000999", "0.500");
    check(&[half], 4, "1.0001", "0.5001");
    // If the price were rounded after each of the two halvings, 0.001 would stay 0.001.
    check(&[half, ("2026-03-20", "split 2")], 3, "0.001", "0.000");
    check(&[half, ("2026-03-20", "split 2")], 3, "0.002", "0.001");
    // Neither 1/3 nor 1/7 is a finite decimal, but the products of the factors are exactly 1.
    check(&[("2026-03-10", "split 3"), ("2026-03-20", "split 1/3")], 3, "1.234", "1.234");
    check(&[("2026-03-10", "split 7"), ("2026-03-20", "split 1/7")], 6, "0.000001", "0.000001");
}

#[test]
fn f5_the_overnight_session_of_an_ex_date_is_not_adjusted() {
    let (adjuster, _) =
        adjuster(&[action("2026-07-15", "split 2")], date("2026-07-15"), 3, |_| Some(Price(10_000_000)));
    let check = |when: &str, expected: &str| {
        let venue = venue(Market::Us);
        let day = venue.slot(at(Market::Us, when)).unwrap().day;
        assert_eq!(venue.trading_day(at(Market::Us, when)), Some(day));
        let adjusted = adjust(&adjuster, candle(Timestamp(0), "10 10 10 10", 1, "1"), day);
        assert_eq!(adjusted.close.text(3).to_string(), expected, "{when}");
    };
    check("2026-07-13 20:00", "5.000");
    check("2026-07-14 09:30", "5.000");
    check("2026-07-14 19:59", "5.000");
    check("2026-07-14 20:00", "10.000");
    check("2026-07-15 00:00", "10.000");
    check("2026-07-15 09:30", "10.000");
}

#[test]
fn f8_old_prices_stay_positive() {
    let yearly: Vec<Action> = (2000..2026).map(|year| action(&format!("{year}-06-01"), "cash 3")).collect();
    let (adjuster, ignored) = adjuster(&yearly, date("2026-03-06"), 3, |_| Some(Price(10_000_000)));
    assert_eq!(ignored, []);
    // The oldest price is 10 times 0.7 to the power of 26.
    let oldest = adjuster.for_day(date("1999-11-01")).unwrap().apply(10_000_000);
    assert_eq!(Price(oldest).text(3).to_string(), "0.001");
}

#[test]
fn amounts_are_decimals_or_fractions() {
    let check = |read: &str, written: &str| {
        let amount = Amount::parse(read).unwrap();
        assert_eq!(amount.to_string(), written, "{read}");
        assert_eq!(Amount::parse(written), Ok(amount), "{read}");
    };
    check("0.35", "0.35");
    check("3/10", "0.3");
    check("1/3", "1/3");
    check("10", "10");
    check("0", "0");
    check("1.50/4", "0.375");
    check(" 2 / 6 ", "1/3");
    check("0.000000000001", "0.000000000001");
    check("1e3", "1000");
    for wrong in [
        "",
        "-1",
        "1/0",
        "1/-3",
        "1/2/3",
        "0.0000000000001",
        "half",
        "1e30",
        "1234567890123456/0.000000000007",
    ] {
        assert!(Amount::parse(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn minute_candles_use_the_factor_of_their_trading_day() {
    let adjuster = worked_adjuster("2026-03-06");
    let minute = |when: &str, prices: &str| {
        let time = at(Market::Hk, when);
        let day = venue(Market::Hk).slot(time).unwrap().day;
        adjust(&adjuster, candle(time, prices, 1, "1"), day)
    };
    let sources: Candles =
        [minute("2026-03-05 16:00", "8.56 8.56 8.56 8.56"), minute("2026-03-06 09:30", "4.3 4.35 4.3 4.35")]
            .into_iter()
            .collect();
    let folded = fold::fold(venue(Market::Hk), Period::Clock(common::minutes(60)), &sources).unwrap();
    let shown: Vec<String> = folded.iter().map(|candle| prices(&candle)).collect();
    assert_eq!(shown, ["4.280 4.280 4.280 4.280", "4.300 4.350 4.300 4.350"]);
}
