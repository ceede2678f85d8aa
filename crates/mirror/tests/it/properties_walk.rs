use std::sync::LazyLock;

use market::{Candle, Market, Period, Timestamp, Venue};
use mirror::{Adjust, Bounds, DateRange, End, Outcome, Series, Sessions, Walk};
use proptest::prelude::*;

use crate::server::{Anchors, Server, candle, walk};

static HK: LazyLock<Venue> = LazyLock::new(|| Venue::built_in(Market::Hk).unwrap());
static US: LazyLock<Venue> = LazyLock::new(|| Venue::built_in(Market::Us).unwrap());

const LATER: Timestamp = Timestamp(1_900_000_000);

/// A series on the grid with random gaps, and some candles off the grid.
#[derive(Clone, Debug)]
struct Case {
    is_us: bool,
    period: Period,
    gaps: Vec<bool>,
    off_grid: Vec<bool>,
    excludes: bool,
    sizes: Vec<usize>,
    kills: Vec<Option<bool>>,
    skipped: i16,
}

fn case() -> impl Strategy<Value = Case> {
    let period = prop::sample::select(vec![Period::DAY, Period::MINUTE, "5m".parse().unwrap()]);
    let gaps = prop::collection::vec(any::<bool>(), 1..40);
    let off_grid = prop::collection::vec(prop::bool::weighted(0.1), 1..40);
    let size = prop_oneof![4_usize..20, 20_usize..200, 200_usize..=1000];
    let sizes = prop::collection::vec(size, 1..6);
    let kills = prop::collection::vec(prop::option::weighted(0.3, any::<bool>()), 1..20);
    (any::<bool>(), period, gaps, off_grid, any::<bool>(), sizes, kills, 0_i16..400).prop_map(
        |(is_us, period, gaps, off_grid, excludes, sizes, kills, skipped)| Case {
            is_us,
            period,
            gaps,
            off_grid,
            excludes,
            sizes,
            kills,
            skipped,
        },
    )
}

impl Case {
    fn venue(&self) -> &'static Venue {
        if self.is_us { &US } else { &HK }
    }

    fn series(&self) -> Series {
        let symbol = if self.is_us { "AAPL.US" } else { "700.HK" };
        Series::new(symbol.parse().unwrap(), self.period, Adjust::None, Sessions::All).unwrap()
    }

    /// Returns the candles on the grid, and all candles.
    fn candles(&self) -> (Vec<Candle>, Vec<Candle>) {
        let venue = self.venue();
        let from = "2024-01-02".parse::<market::Date>().unwrap();
        let from = from.checked_add(market::DateSpan::new().days(self.skipped)).unwrap();
        let length = if self.period.is_clock() { 8 } else { 900 };
        let through = from.checked_add(market::DateSpan::new().days(length)).unwrap();
        let days = venue.calendar().days(from, through).filter_map(|(date, _)| venue.day(date));
        let stamps: Vec<Timestamp> = match self.period {
            Period::Calendar(_) => days.map(|day| venue.zone().midnight(day.date)).collect(),
            Period::Clock(minutes) => days
                .flat_map(|day| {
                    day.minutes()
                        .filter(|(at, slot)| slot.bucket(minutes, *at).0 == *at)
                        .map(|(at, _)| at)
                        .collect::<Vec<_>>()
                })
                .collect(),
        };
        let (mut good, mut all) = (Vec::new(), Vec::new());
        for (number, at) in stamps.into_iter().enumerate() {
            if self.gaps[number % self.gaps.len()] {
                continue;
            }
            let row = candle(venue, self.period, at, number as i64);
            good.push(row);
            all.push(row);
            if self.off_grid[number % self.off_grid.len()] {
                all.push(Candle { time: Timestamp(at.0 + 17), ..row });
            }
        }
        (good, all)
    }

    fn walk(&self) -> Walk {
        Walk::new(self.series(), Bounds::published(self.venue(), self.period))
    }

    fn server(&self, candles: Vec<Candle>) -> Server<'static> {
        let anchors = if self.excludes { Anchors::Excluded } else { Anchors::Included };
        Server { venue: self.venue(), candles, anchors, sizes: self.sizes.clone(), answered: 0 }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_walk_with_crashes_stores_the_same_candles_as_one_without(case in case()) {
        let (good, all) = case.candles();
        let (plain, outcome) = walk(&mut case.walk(), &mut case.server(all.clone()), LATER, || None);
        prop_assert_eq!(outcome, Outcome::Done(End::Exhausted));
        prop_assert_eq!(&plain.candles(), &good, "no gap and no duplicate");
        prop_assert_eq!(plain.quarantined.len(), all.len() - good.len());

        let mut kills = case.kills.iter().cycle().copied().chain(std::iter::repeat(None));
        // If the process ends before every page, the walk never completes.
        let mut budget = 500;
        let kill = || { budget -= 1; if budget > 0 { kills.next().flatten() } else { None } };
        let (resumed, _) = walk(&mut case.walk(), &mut case.server(all), LATER, kill);
        prop_assert_eq!(resumed.rows, plain.rows);
        let sorted = |mut rows: Vec<mirror::Quarantined>| { rows.sort_by_key(|row| row.candle.time); rows };
        prop_assert_eq!(sorted(resumed.quarantined), sorted(plain.quarantined));
    }

    #[test]
    fn a_range_of_days_is_stored_completely_and_exclusively(case in case(), from in 0_usize..8, days in 0_usize..8) {
        let (good, all) = case.candles();
        let venue = case.venue();
        let day = |at: Timestamp| {
            if case.period.is_clock() { venue.slot(at).unwrap().day } else { venue.zone().date(at) }
        };
        let mut dates: Vec<_> = good.iter().map(|row| day(row.time)).collect();
        dates.dedup();
        prop_assume!(!dates.is_empty());
        let from = from.min(dates.len() - 1);
        let range = DateRange { from: dates[from], through: dates[(from + days).min(dates.len() - 1)] };
        let bounds = Bounds::of_dates(venue, case.period, range, LATER);
        let (stored, _) = walk(&mut Walk::new(case.series(), bounds), &mut case.server(all), LATER, || None);
        let expected: Vec<Candle> =
            good.into_iter().filter(|row| (range.from..=range.through).contains(&day(row.time))).collect();
        prop_assert_eq!(stored.candles(), expected);
    }

    #[test]
    fn any_text_is_parsed_or_refused_as_a_position(text in ".{0,60}") {
        if let Ok(position) = text.parse::<mirror::Position>() {
            prop_assert_eq!(position.to_string(), text);
        }
    }
}
