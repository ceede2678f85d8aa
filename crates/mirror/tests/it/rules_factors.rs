use market::adjust::Amount;
use market::{Date, Price};
use mirror::factors::{Cause, DayPair, Method, Problem, derive};

fn price(text: &str) -> Price {
    Price::parse(text).unwrap()
}

fn date(day: i8) -> Date {
    Date::new(2026, 3, day).unwrap()
}

/// Returns a day. A single price applies to open, high, low and close.
fn day(at: i8, actual: &str, adjusted: &str) -> DayPair {
    let four = |text: &str| {
        let prices: Vec<Price> = text.split(' ').map(price).collect();
        if let [only] = prices[..] { [only; 4] } else { prices.try_into().unwrap() }
    };
    DayPair { date: date(at), actual: four(actual), adjusted: four(adjusted) }
}

fn amount(text: &str) -> Amount {
    Amount::parse(text).unwrap()
}

/// Example N1 of the specification.
#[test]
fn a_dividend_is_the_shortest_decimal_in_its_interval() {
    let derived = derive(&[day(3, "350.00", "346.600"), day(4, "347.20", "347.200")]);
    assert_eq!(derived.method, Method::Ratio);
    let [event] = derived.events.as_slice() else { panic!("{derived:?}") };
    assert_eq!((event.ex_date, event.close_before), (date(4), price("350")));
    assert_eq!(event.factor.text(9), ("0.990284286".into(), "0.990287143".into()));
    assert_eq!(event.cause, Cause::Cash { amount: amount("3.4"), width: amount("0.0005") });
    assert_eq!(event.action().unwrap().cash, amount("3.4"));
    assert_eq!(derived.problems, []);
}

/// Example N2 of the specification.
#[test]
fn a_split_is_an_exact_fraction() {
    let derived = derive(&[day(3, "100.00", "10.000"), day(4, "10.05", "10.050"), day(5, "10.10", "10.100")]);
    let [event] = derived.events.as_slice() else { panic!("{derived:?}") };
    assert_eq!((event.ex_date, &event.cause), (date(4), &Cause::Split(amount("10"))));
    assert_eq!(event.action().unwrap().split, amount("10"));
    assert_eq!(derived.segments.len(), 2);
    assert_eq!(derived.segments[0].factor.text(3), ("0.100".into(), "0.100".into()), "narrowed by the split");
    assert_eq!(derived.problems, []);
}

#[test]
fn a_consolidation_is_a_split_of_less_than_one() {
    let derived = derive(&[day(3, "2.00", "20.000"), day(4, "20.20", "20.200")]);
    assert_eq!(derived.events[0].cause, Cause::Split(amount("1/10")));
}

/// Example F7: cash 0.50, bonus 1 for 10 and rights 1 for 5 on one day, f = 107/130; then a split 2
/// for 1.
#[test]
fn several_actions_on_one_day_are_a_bare_factor() {
    let derived = derive(&[
        day(2, "9.800 10.200 9.700 9.900", "4.033 4.198 3.992 4.074"),
        day(3, "9.900 10.100 9.850 10.000", "4.074 4.157 4.054 4.115"),
        day(4, "8.300 8.500 8.200 8.450", "4.150 4.250 4.100 4.225"),
        day(5, "8.450 8.600 8.400 8.560", "4.225 4.300 4.200 4.280"),
        day(6, "4.300 4.350 4.250 4.310", "4.300 4.350 4.250 4.310"),
    ]);
    let [both, split] = derived.events.as_slice() else { panic!("{derived:?}") };
    assert_eq!((split.ex_date, &split.cause), (date(6), &Cause::Split(amount("2"))));
    assert_eq!(both.ex_date, date(4));
    let Cause::Bare(factor) = both.cause else { panic!("{both:?}") };
    let (numer, denom) = factor.fraction();
    let error = (numer * 130 - 107 * denom).abs();
    assert!(error * 10_000 < denom * 130, "{factor} is not 107/130");
    assert_eq!(both.action(), None);
    assert_eq!(derived.problems, [Problem::Unexplained(date(4))]);
}

#[test]
fn subtracted_dividends_are_inferred() {
    // Cash 3.40 on the 5th and a split 2 for 1 on the 4th: a = r / 2 - 3.4.
    let derived = derive(&[
        day(2, "700 708 696 704", "346.6 350.6 344.6 348.6"),
        day(3, "704 710 690 700", "348.6 351.6 341.6 346.6"),
        day(4, "350 356 348 352", "346.6 352.6 344.6 348.6"),
        day(5, "349 352 345 350", "349 352 345 350"),
    ]);
    assert_eq!(derived.method, Method::Subtract);
    let causes: Vec<(Date, &Cause)> =
        derived.events.iter().map(|event| (event.ex_date, &event.cause)).collect();
    let cash = Cause::Cash { amount: amount("3.4"), width: amount("0.0005") };
    assert_eq!(causes, [(date(4), &Cause::Split(amount("2"))), (date(5), &cash)]);
    assert_eq!(derived.problems, []);
}

#[test]
fn a_day_with_contradictory_prices_is_reported_and_ignored() {
    let derived = derive(&[
        day(2, "100 101 99 100", "98 98.98 97.02 98"),
        day(3, "100 101 99 100", "98 98.98 97.02 90"),
        day(4, "100 101 99 100", "98 98.98 97.02 98"),
        day(5, "98 99 97 98", "98 99 97 98"),
    ]);
    assert_eq!(derived.method, Method::Ratio);
    assert_eq!(derived.problems, [Problem::Inconsistent(date(3))]);
    assert_eq!(derived.events.len(), 1);
    assert_eq!(
        (derived.events[0].ex_date, &derived.events[0].cause),
        (date(5), &Cause::Cash { amount: amount("2"), width: amount("0.00049505") })
    );
}

#[test]
fn an_event_after_the_given_days_is_reported() {
    let derived = derive(&[day(3, "100", "49.5"), day(4, "50", "49.5")]);
    assert_eq!(derived.events.len(), 1);
    assert_eq!(derived.events[0].cause, Cause::Split(amount("2")));
    assert!(matches!(derived.problems[..], [Problem::NotCurrent(_)]), "{:?}", derived.problems);
}

#[test]
fn a_split_that_may_be_a_dividend_is_reported() {
    let derived = derive(&[day(3, "24", "22.5"), day(4, "22.6", "22.6")]);
    assert_eq!(derived.events[0].cause, Cause::Split(amount("16/15")));
    assert_eq!(derived.problems, [Problem::Ambiguous { ex_date: date(4), cash: amount("1.5") }]);
}

#[test]
fn equal_prices_have_no_events() {
    let derived = derive(&[day(3, "24", "24"), day(4, "22.6", "22.6")]);
    assert_eq!((derived.events.len(), derived.segments.len()), (0, 1));
    assert_eq!(derive(&[]).segments, []);
}
