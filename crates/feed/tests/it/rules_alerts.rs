//! When price alerts fire, as tables of quotes.

use feed::{AlertRule, AlertState, Condition, Frequency, Observation};
use market::{Price, Timestamp};
use proptest::prelude::*;

/// Parses a quote: `day last`, or `day last low..high` if the day's range differs from its prices.
fn quote(text: &str, before: Option<Observation>) -> Observation {
    let parts: Vec<&str> = text.split_whitespace().collect();
    let price = |text: &str| Price::parse(text).unwrap();
    let day = format!("2026-03-{:02}", parts[0].parse::<u8>().unwrap()).parse().unwrap();
    let last = price(parts[1]);
    let (low, high) = match parts.get(2).and_then(|range| range.split_once("..")) {
        Some((low, high)) => (price(low), price(high)),
        None => {
            let before = before.filter(|before| before.day == day);
            (before.map_or(last, |one| one.low.min(last)), before.map_or(last, |one| one.high.max(last)))
        }
    };
    let at = Timestamp(before.map_or(0, |before| before.at.0 + 60));
    Observation { at, day, high, low, last }
}

/// Returns the prices at which an alert fires, as `quote number @ price`. The previous close is 100.
fn fires(condition: Condition, value: &str, frequency: Frequency, quotes: &[&str]) -> String {
    let rule = AlertRule { condition, value: Price::parse(value).unwrap(), frequency };
    let close = Some(Price::parse("100").unwrap());
    let first = quote(quotes[0], None);
    let mut state = AlertState::new(&rule, Some(first), close);
    let mut fired = Vec::new();
    for (number, text) in quotes.iter().enumerate().skip(1) {
        let now = quote(text, state.seen);
        if let Some(price) = state.observe(&rule, now, close) {
            fired.push(format!("{number} @ {}", price.text(2)));
        }
    }
    fired.join(", ")
}

#[test]
fn an_alert_fires_when_its_condition_becomes_true() {
    use Condition::{PercentFall, PercentRise, PriceFall, PriceRise};
    use Frequency::{Daily, EveryTime, Once};
    for (condition, value, frequency, quotes, wanted) in [
        (PriceRise, "105", Once, &["2 100", "2 104.99", "2 105", "2 106"][..], "2 @ 105.00"),
        // A gap fires at the price that is known.
        (PriceRise, "105", Once, &["2 100", "3 108"], "1 @ 108.00"),
        (PriceFall, "95", Once, &["2 100", "2 95.01", "2 94.5"], "2 @ 94.50"),
        // A condition that is true from the beginning must become false first.
        (PriceRise, "105", Once, &["2 106", "2 107", "2 104", "2 105"], "3 @ 105.00"),
        (PriceFall, "95", EveryTime, &["2 90", "3 80"], ""),
        // Only the high or the low of the day has reached the value.
        (PriceRise, "105", Once, &["2 100", "2 101 99..105.2"], "1 @ 105.20"),
        (PriceFall, "95", Once, &["2 100", "3 101 94.8..102"], "1 @ 94.80"),
        // The high was reached before the alert was created.
        (PriceRise, "105", Once, &["2 100 99..106", "2 101 99..106"], ""),
        (PriceRise, "105", EveryTime, &["2 100 99..106", "2 101 99..106", "2 105"], "2 @ 105.00"),
        // The high of a new day counts again.
        (PriceRise, "105", EveryTime, &["2 100 99..106", "3 101 99..106"], "1 @ 106.00"),
        // Frequencies.
        (
            PriceRise,
            "105",
            EveryTime,
            &["2 100", "2 105", "2 104", "2 105", "3 105"],
            "1 @ 105.00, 3 @ 105.00",
        ),
        (
            PriceRise,
            "105",
            Daily,
            &["2 100", "2 105", "2 104", "2 105", "3 104", "3 106"],
            "1 @ 105.00, 5 @ 106.00",
        ),
        (PriceRise, "105", Once, &["2 100", "2 105", "2 104", "2 105"], "1 @ 105.00"),
        // A percentage is that of the day, so that each day begins without a change.
        (PercentRise, "5", EveryTime, &["2 100", "2 104.99", "2 105", "3 105"], "2 @ 105.00, 3 @ 105.00"),
        (PercentFall, "2.5", Daily, &["2 100", "2 97.51", "2 97.5", "2 98", "2 97"], "2 @ 97.50"),
        (PercentFall, "5", Once, &["2 100", "2 104 94..104"], "1 @ 94.00"),
    ] {
        let fired = fires(condition, value, frequency, quotes);
        assert_eq!(fired, wanted, "{condition:?} {value} {frequency:?}: {quotes:?}");
    }
}

#[test]
fn the_first_quote_of_a_security_fires_nothing() {
    let rule =
        AlertRule { condition: Condition::PriceRise, value: Price(5), frequency: Frequency::EveryTime };
    let mut state = AlertState::new(&rule, None, None);
    assert_eq!(state.observe(&rule, quote("2 100", None), None), None);
    assert!(state.is_met && state.is_enabled);
}

#[test]
fn a_percentage_without_a_previous_close_fires_nothing() {
    let rule = AlertRule {
        condition: Condition::PercentRise,
        value: Price::parse("1").unwrap(),
        frequency: Frequency::EveryTime,
    };
    let mut state = AlertState::new(&rule, Some(quote("2 100", None)), None);
    assert_eq!(state.observe(&rule, quote("2 200", state.seen), None), None);
    assert_eq!(state.observe(&rule, quote("2 300", state.seen), Some(Price(0))), None);
}

/// The quotes of one day at these prices, each with the range so far.
fn day_of(prices: &[i64]) -> Vec<Observation> {
    let mut before: Option<Observation> = None;
    let mut all = Vec::new();
    for (minute, last) in (0..).zip(prices) {
        let last = Price(*last);
        let now = Observation {
            at: Timestamp(60 * minute),
            day: "2026-03-02".parse().unwrap(),
            high: before.map_or(last, |before| before.high.max(last)),
            low: before.map_or(last, |before| before.low.min(last)),
            last,
        };
        before = Some(now);
        all.push(now);
    }
    all
}

proptest! {
    /// An alert of one day fires if and only if some later price reaches the value after a price
    /// that does not, whichever quotes are skipped.
    #[test]
    fn skipped_quotes_hide_no_crossing(
        prices in prop::collection::vec(1_i64..20, 2..40),
        value in 1_i64..20,
        skip in prop::collection::vec(any::<bool>(), 40),
    ) {
        let rule = AlertRule { condition: Condition::PriceRise, value: Price(value), frequency: Frequency::Once };
        let quotes = day_of(&prices);
        let below = quotes.first().is_some_and(|first| first.last < rule.value);
        prop_assume!(below);
        let last = quotes.len() - 1;
        let mut state = AlertState::new(&rule, quotes.first().copied(), None);
        let mut fired = 0;
        for (at, now) in quotes.iter().enumerate().skip(1) {
            if at == last || !skip.get(at).copied().unwrap_or(false) {
                fired += usize::from(state.observe(&rule, *now, None).is_some());
            }
        }
        let reaches = prices.iter().any(|price| *price >= value);
        prop_assert_eq!(fired, usize::from(reaches));
        prop_assert_eq!(state.is_enabled, !reaches);
    }

    /// Without skipped quotes, an alert that fires every time fires at each crossing.
    #[test]
    fn every_crossing_fires(prices in prop::collection::vec(1_i64..20, 2..40), value in 1_i64..20) {
        let rule =
            AlertRule { condition: Condition::PriceFall, value: Price(value), frequency: Frequency::EveryTime };
        let quotes = day_of(&prices);
        let mut state = AlertState::new(&rule, quotes.first().copied(), None);
        let fired = quotes.iter().skip(1).filter(|now| state.observe(&rule, **now, None).is_some()).count();
        let crossings = prices.windows(2).filter(|pair| pair[0] > value && pair[1] <= value).count();
        prop_assert_eq!(fired, crossings);
    }
}
