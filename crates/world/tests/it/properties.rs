use std::sync::LazyLock;
use std::time::Duration;

use market::{Market, Timestamp, Venues};
use proptest::prelude::*;
use world::{Auto, Course, Limits, Markets, Reserved, Settings, Skip, Speed, TradingHours, WorldName};

static VENUES: LazyLock<Venues> = LazyLock::new(|| Venues::built_in().unwrap());

fn speed() -> impl Strategy<Value = Speed> {
    let factor = (1..=world::SPEED_THOUSANDTHS_MAX).prop_map(|thousandths| Speed::Factor { thousandths });
    prop_oneof![Just(Speed::Stepped), Just(Speed::Max), factor]
}

fn settings() -> impl Strategy<Value = Settings> {
    let markets = prop::collection::vec(prop::sample::select(Market::ALL.to_vec()), 1..4);
    let auto = prop::option::of((1..=world::QUIET_MS_MAX).prop_map(|quiet_ms| Auto { quiet_ms }));
    (speed(), any::<[bool; 4]>(), markets, auto).prop_map(|(speed, flags, markets, auto)| Settings {
        speed,
        skip: if flags[0] { Skip::Closed } else { Skip::None },
        markets: Markets::of(markets).unwrap(),
        limits: if flags[1] { Limits::None } else { Limits::Owner },
        auto,
        pause_when_alone: flags[2],
        overnight: flags[3],
    })
}

/// Instants from 2000 to 2030, which is beyond both ends of the calendars.
fn instant() -> impl Strategy<Value = Timestamp> {
    (946_684_800_i64..1_893_456_000).prop_map(Timestamp)
}

proptest! {
    #[test]
    fn settings_round_trip(settings in settings()) {
        prop_assert_eq!(settings.to_string().parse(), Ok(settings));
        prop_assert_eq!(settings.speed.to_string().parse(), Ok(settings.speed));
    }

    #[test]
    fn any_text_is_parsed_or_refused(text in ".{0,60}") {
        let settings: Result<Settings, _> = text.parse();
        prop_assert!(settings.is_err() || text.trim().is_empty() || text.contains('='));
        if let Ok(name) = text.parse::<WorldName>() {
            prop_assert_eq!(name.as_str(), &text);
        }
        prop_assert!(Reserved::parse(&text).is_none() || text.is_ascii());
    }

    #[test]
    fn a_clock_reaches_an_instant_at_the_computed_time(
        from in instant(), since in 0_u64..1 << 40, thousandths in 1..=world::SPEED_THOUSANDTHS_MAX,
        ahead in 1_i64..10_000_000,
    ) {
        let course = Course::new(from, Duration::from_nanos(since), thousandths);
        let at = Timestamp(from.0 + ahead);
        let reaches = course.reaches(at);
        prop_assert!(course.now(reaches) >= at);
        prop_assert!(course.now(reaches - Duration::from_nanos(1)) < at);
    }

    #[test]
    fn a_clock_never_goes_back(from in instant(), thousandths in 1..=world::SPEED_THOUSANDTHS_MAX, a in 0_u64..1 << 50, b in 0_u64..1 << 50) {
        let course = Course::new(from, Duration::ZERO, thousandths);
        prop_assert!(course.now(Duration::from_nanos(a.min(b))) <= course.now(Duration::from_nanos(a.max(b))));
    }

    #[test]
    fn skipped_time_contains_no_trading(settings in settings(), at in instant()) {
        let hours = TradingHours::new(&VENUES, &settings);
        if let Some(to) = hours.skips_to(at) {
            prop_assert!(at < to);
            prop_assert_eq!(hours.skips_to(to), None);
            // A skip from any instant in between leads to the same instant.
            let between = Timestamp(at.0 + (to.0 - at.0) / 2);
            prop_assert_eq!(hours.skips_to(between), Some(to));
            prop_assert!(hours.next_edge(at).is_none_or(|edge| edge > to));
        }
    }

    #[test]
    fn the_next_edge_is_the_first_one_after_an_instant(settings in settings(), at in instant(), share in 0.0_f64..1.0) {
        let hours = TradingHours::new(&VENUES, &settings);
        let edge = hours.next_edge(at).expect("a market opens within weeks");
        prop_assert!(edge > at);
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any instant between")]
        let between = Timestamp(at.0 + ((edge.0 - at.0) as f64 * share) as i64);
        prop_assert_eq!(hours.next_edge(between), Some(edge));
    }
}
