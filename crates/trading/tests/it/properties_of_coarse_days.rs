//! Properties of coarse days, which have a daily candle but no one-minute candles in regular hours.

use market::Timestamp;
use proptest::prelude::*;
use trading::{Account, Entry, Event, FillRule, Setting};

use crate::common::{symbol, venues};
use crate::world::{
    Daily, Timed, acts_and_operators, acts_with_grids, days, end, instant, live, live_until, minutes,
    store_with_days,
};

fn text(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect()
}

/// Returns the ends of all days that have a daily candle.
fn ends(days: &[Daily]) -> Vec<Timestamp> {
    let end = |day: &Daily| {
        let of = symbol(["700.HK", "5.HK", "AAPL.US"][day.shape.symbol]);
        venues().of(of.market()).day_end(day.date())
    };
    days.iter().map(end).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Advancing in one step, in many steps, or with stops around the end of each day gives the
    /// same result, and so does folding the journal up to any instant.
    #[test]
    fn stops_do_not_change_the_result_on_coarse_days(minutes in minutes(), days in days(), acts in acts_and_operators(), cuts in prop::collection::vec((0..6usize, -1800..90_000i64), 0..8)) {
        let store = store_with_days(&minutes, &days);
        let mut stops: Vec<Timestamp> = cuts.iter().map(|(window, second)| instant(*window, *second).min(end())).collect();
        stops.extend(ends(&days).into_iter().flat_map(|end| [-1, 0, 1].map(|second| Timestamp(end.0 + second))));
        let (whole, cut) = (live(&store, &acts, &[], &[]), live(&store, &acts, &[], &stops));
        prop_assert_eq!(text(&whole.entries), text(&cut.entries));
        prop_assert_eq!(&whole.account, &cut.account);
        for stop in stops.iter().filter(|stop| whole.account.began().is_some_and(|began| **stop >= began)) {
            let until: Vec<Timed> = acts.iter().filter(|(window, second, _)| instant(*window, *second) <= *stop).cloned().collect();
            let mut part = live_until(&store, &until, *stop);
            part.set_horizon(Some(*stop));
            prop_assert_eq!(Account::fold_until(&whole.entries, *stop), part);
        }
    }

    /// A daily candle has no effect before the end of its day.
    #[test]
    fn a_daily_candle_has_no_effect_before_the_end_of_its_day(minutes in minutes(), days in days(), acts in acts_with_grids()) {
        let with = store_with_days(&minutes, &days);
        // The same one-minute candles, without daily candles.
        let mut without = with.clone();
        for candles in without.candles.values_mut() {
            candles.retain(|effective| !effective.is_day());
        }
        let Some(first) = ends(&days).into_iter().min() else { return Ok(()) };
        let now = Timestamp(first.0 - 1);
        let until: Vec<Timed> = acts.iter().filter(|(window, second, _)| instant(*window, *second) <= now).cloned().collect();
        prop_assert_eq!(live_until(&with, &until, now), live_until(&without, &until, now));
    }

    /// Daily candles fill orders at the end of the day, at prices within the candle, and only if
    /// the order was submitted before the opening. Each order fills at most once per candle, and
    /// never if the setting is off.
    #[test]
    fn daily_candles_fill_orders_once_at_the_end_of_the_day(minutes in minutes(), days in days(), acts in acts_and_operators()) {
        let store = store_with_days(&minutes, &days);
        let life = live(&store, &acts, &[], &[]);
        for entry in &life.entries {
            let Event::Filled(filled) = &entry.event else { continue };
            if !filled.candle.is_day {
                continue;
            }
            let venue = venues().of(filled.symbol.market());
            prop_assert_eq!(entry.at, Some(venue.day_end(filled.day)));
            let order = life.account.order(filled.id).unwrap();
            prop_assert!(order.submitted_at <= filled.candle.time);
            prop_assert_eq!(order.fills.iter().filter(|fill| fill.candle == filled.candle.time).count(), 1);
            // The limit of an odd-lot order and a price with slippage may be outside the range of
            // the candle.
            let is_inside = filled.candle.low <= filled.price && filled.price <= filled.candle.high;
            let is_odd_at_limit = filled.rule == FillRule::OddLot && order.terms.price == Some(filled.price);
            prop_assert!(is_inside || is_odd_at_limit || life.account.settings().slippage_ticks > 0);
        }
        let off = live(&store, &acts, &[Setting::CoarseFills(false)], &[]);
        let is_of_day = |entry: &Entry| match &entry.event {
            Event::Filled(filled) => filled.candle.is_day,
            Event::Released(release) => release.candle.is_day,
            _ => false,
        };
        prop_assert!(!off.entries.iter().any(is_of_day));
    }
}
