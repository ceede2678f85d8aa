//! Random days with random events: the derived events equal the applied ones.

use market::adjust::{Action, Adjuster, Amount, factors};
use market::{Date, Price};
use mirror::factors::{Cause, DayPair, Exact, Method, derive};
use proptest::prelude::*;

/// Random changes before a day.
#[derive(Clone, Copy, Debug)]
enum Planned {
    /// Cash in thousandths of a percent of the last close, rounded to this many decimals.
    Cash { share: i64, digits: u32 },
    /// New shares per old share.
    Split(i64, i64),
}

#[derive(Clone, Debug)]
struct Case {
    /// First close, in ticks.
    start: i64,
    tick: i64,
    /// Changes of open, high, low and close of each day in thousandths.
    moves: Vec<[i64; 4]>,
    events: Vec<(usize, Planned)>,
}

fn case(prices: std::ops::Range<i64>) -> impl Strategy<Value = Case> {
    let split = prop::sample::select(vec![(2, 1), (3, 1), (10, 1), (3, 2), (1, 5), (5, 4), (13, 10)]);
    let cash = (300_i64..4_000, 1_u32..=3).prop_map(|(share, digits)| Planned::Cash { share, digits });
    let event = prop_oneof![3 => cash, 1 => split.prop_map(|(n, m)| Planned::Split(n, m))];
    let moves = prop::collection::vec([-20_i64..=20, 0_i64..=15, 0_i64..=15, -20_i64..=20], 20..120);
    let events = prop::collection::vec((1_usize..120, event), 0..4);
    (prices, prop::sample::select(vec![10_000_i64, 50_000, 200_000]), moves, events)
        .prop_map(|(start, tick, moves, events)| Case { start, tick, moves, events })
}

fn dates() -> impl Iterator<Item = Date> {
    let first = Date::new(2024, 1, 1).unwrap();
    std::iter::successors(Some(first), |date| date.tomorrow().ok())
}

/// Returns the actual days and the actions between them.
fn days(case: &Case) -> (Vec<(Date, [Price; 4])>, Vec<Action>) {
    let round = |price: i64| (price / case.tick).max(1) * case.tick;
    let mut last = round(case.start * 1_000_000);
    let (mut days, mut actions): (Vec<(Date, [Price; 4])>, Vec<Action>) = (Vec::new(), Vec::new());
    for ((number, date), [open, high, low, close]) in dates().enumerate().zip(&case.moves) {
        // At most one event per day, and a few days between two events. Closer events cannot be
        // separated.
        let is_far = actions.last().is_none_or(|action| (date - action.ex_date).get_days() >= 3);
        let event = case.events.iter().find(|(at, _)| *at == number && number > 0 && is_far);
        match event.map(|(_, event)| *event) {
            Some(Planned::Cash { share, digits }) => {
                let unit = 10_i64.pow(6 - digits);
                let cash = (i128::from(last) * i128::from(share) / 100_000) as i64 / unit * unit;
                if cash * 1000 >= last * 3 {
                    let cash = Amount::parse(&Price(cash).text(6).to_string()).unwrap();
                    actions.push(Action { cash, ..Action::none(date) });
                    last -= last * share / 100_000;
                }
            }
            Some(Planned::Split(n, m)) if last * m / n > 3_000_000 => {
                actions.push(Action {
                    split: Amount::parse(&format!("{n}/{m}")).unwrap(),
                    ..Action::none(date)
                });
                last = last * m / n;
            }
            _ => {}
        }
        let moved = |from: i64, thousandths: i64| round(from + from * thousandths / 1000);
        let (open, close) = (moved(last, *open), moved(last, *close));
        let (high, low) = (moved(open.max(close), *high), moved(open.min(close), -*low));
        days.push((date, [open, high, low, close].map(Price)));
        last = close;
    }
    (days, actions)
}

fn pairs(days: &[(Date, [Price; 4])], adjust: impl Fn(Date, Price) -> Price) -> Vec<DayPair> {
    days.iter()
        .map(|(date, actual)| DayPair {
            date: *date,
            actual: *actual,
            adjusted: actual.map(|price| adjust(*date, price)),
        })
        .collect()
}

fn close_before(days: &[(Date, [Price; 4])], ex_date: Date) -> Option<Price> {
    days.iter().rev().find(|(date, _)| *date < ex_date).map(|(_, prices)| prices[3])
}

fn number(amount: &Amount) -> Exact {
    let (numer, denom) = amount.fraction();
    Exact::new(numer.into(), denom.into())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn dividends_and_splits_are_recovered_within_the_stated_widths(case in case(20..500)) {
        let (days, actions) = days(&case);
        let last = days.last().unwrap().0;
        let (of, ignored) = factors(&actions, |date| close_before(&days, date));
        prop_assert!(ignored.is_empty());
        let adjuster = Adjuster::new(&of, last, 3);
        let adjust = |date, price: Price| adjuster.for_day(date).map_or(price, |factor| Price(factor.apply(price.0)));
        let received = pairs(&days, adjust);
        let derived = derive(&received);
        prop_assert_eq!(derived.method, Method::Ratio);
        prop_assert_eq!(derived.segments.len(), derived.events.len() + 1);
        prop_assert_eq!(derived.events.len(), actions.len(), "{:?} {:?}", derived, actions);
        for (event, action) in derived.events.iter().zip(&actions) {
            prop_assert!(event.ex_date <= action.ex_date && action.ex_date <= event.latest);
            prop_assert_eq!(event.ex_date, action.ex_date);
            match &event.cause {
                Cause::Split(split) => prop_assert_eq!(split, &action.split),
                Cause::Cash { amount, width } => {
                    let error = number(amount) - number(&action.cash);
                    let (above, below) = (error.clone() <= number(width), -error <= number(width));
                    prop_assert!(above && below, "{:?} for {:?}", event, action);
                }
                Cause::Bare(_) => prop_assert!(false, "{event:?} for {action:?}"),
            }
        }
        // The derived actions adjust prices as the other server does.
        let found: Vec<Action> = derived.events.iter().filter_map(|event| event.action()).collect();
        let (of, _) = factors(&found, |date| close_before(&days, date));
        let ours = Adjuster::new(&of, last, 3);
        for pair in &received {
            for (actual, adjusted) in pair.actual.iter().zip(&pair.adjusted) {
                let ours = ours.for_day(pair.date).map_or(actual.0, |factor| factor.apply(actual.0));
                prop_assert!(ours.abs_diff(adjusted.0) <= 1_000, "{pair:?} is {ours} {derived:?}");
            }
        }
    }

    #[test]
    fn subtracted_dividends_are_recovered(case in case(20..500)) {
        let (days, actions) = days(&case);
        let adjust = |date: Date, price: Price| {
            let mut adjusted = Exact::new(price.0.into(), 1_000_000.into());
            for action in actions.iter().filter(|action| action.ex_date > date) {
                adjusted = (adjusted - number(&action.cash)) / number(&action.split);
            }
            Price(i64::try_from((adjusted * num_bigint::BigInt::from(1000)).round().to_integer()).unwrap() * 1000)
        };
        let derived = derive(&pairs(&days, adjust));
        // Both methods explain a split alone, and a dividend without a range of prices.
        let day = |date: Date| days.iter().filter(|(day, _)| *day < date).count();
        let is_clear = actions.iter().any(|action| !action.cash.is_zero() && day(action.ex_date) >= 5);
        prop_assume!(is_clear);
        prop_assert_eq!(derived.method, Method::Subtract, "{:?}", actions);
        prop_assert_eq!(derived.events.len(), actions.len(), "{:?} {:?}", derived, actions);
        for (event, action) in derived.events.iter().zip(&actions) {
            prop_assert_eq!(event.ex_date, action.ex_date);
            match &event.cause {
                Cause::Split(split) => prop_assert_eq!(split, &action.split),
                Cause::Cash { amount, width } => {
                    let error = number(amount) - number(&action.cash);
                    let (above, below) = (error.clone() <= number(width), -error <= number(width));
                    prop_assert!(above && below, "{:?} for {:?}", event, action);
                }
                Cause::Bare(_) => prop_assert!(false, "{event:?} for {action:?}"),
            }
        }
    }

    #[test]
    fn any_prices_are_explained_or_reported(prices in prop::collection::vec(any::<[i64; 8]>(), 0..12)) {
        let pair = |(date, [a, b, c, d, e, f, g, h]): (Date, [i64; 8])| DayPair {
            date, actual: [a, b, c, d].map(Price), adjusted: [e, f, g, h].map(Price),
        };
        let received: Vec<DayPair> = dates().zip(prices).map(pair).collect();
        let derived = derive(&received);
        prop_assert!(derived.segments.len() <= received.len().max(1));
    }
}
