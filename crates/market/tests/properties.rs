//! Property tests with random days, instants, numbers and chains of actions. Every expected value
//! is computed independently of the crate's own arithmetic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;

use common::{at, date, minutes, venue, zone};
use jiff::civil::DateTime;
use market::adjust::{Amount, Factor, factors};
use market::fold::fold;
use market::{
    Action, Adjuster, Candle, Candles, Date, DayKind, Market, Period, Price, Session, Span, Timestamp,
    Turnover, parse_scaled,
};
use num_bigint::BigInt;
use num_rational::Ratio;
use proptest::prelude::*;

/// A deterministic random number generator. Proptest generates only its seed, and the candles are
/// derived from it.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn markets() -> impl Strategy<Value = Market> {
    prop::sample::select(Market::ALL.to_vec())
}

/// Returns a random subset of the one-minute candles of two consecutive trading days. Half days are
/// picked more often than they occur.
fn two_days(market: Market, seed: u64) -> Candles {
    let mut dice = Dice(seed);
    let calendar = venue(market).calendar();
    let days: Vec<(Date, DayKind)> = calendar.days(calendar.first(), calendar.valid_through()).collect();
    let halves: Vec<usize> = (0..days.len()).filter(|row| days[*row].1 == DayKind::Half).collect();
    let first = match dice.roll(3) {
        0 if !halves.is_empty() => halves[dice.roll(halves.len() as u64) as usize],
        _ => dice.roll(days.len() as u64) as usize,
    };
    let kept_of_ten = 1 + dice.roll(10);
    let mut candles = Candles::default();
    for (day, _) in days.iter().skip(first).take(2) {
        for (time, slot) in venue(market).day(*day).unwrap().minutes() {
            if dice.roll(10) < kept_of_ten {
                candles.push(random_candle(time, slot.segment.session, &mut dice));
            }
        }
    }
    candles
}

fn random_candle(time: Timestamp, session: Session, dice: &mut Dice) -> Candle {
    let mut prices = [0; 4].map(|_| 1_000_000 + dice.roll(1_000_000) as i64);
    prices.sort_unstable();
    let [low, open, close, high] = prices.map(Price);
    let (volume, turnover) = (dice.roll(1 << 30) as i64, Turnover(i128::from(dice.roll(1 << 31))));
    Candle { time, open, high, low, close, volume, turnover, session }
}

/// Groups ascending sources by the stamp of their bucket, one source at a time.
fn grouped(sources: &Candles, stamp: impl Fn(Timestamp) -> Timestamp) -> Vec<Candle> {
    let mut groups: BTreeMap<Timestamp, Vec<Candle>> = BTreeMap::new();
    for source in sources.iter() {
        groups.entry(stamp(source.time)).or_default().push(source);
    }
    let merge = |(time, group): (Timestamp, Vec<Candle>)| Candle {
        time,
        open: group[0].open,
        high: group.iter().map(|c| c.high).max().unwrap(),
        low: group.iter().map(|c| c.low).min().unwrap(),
        close: group[group.len() - 1].close,
        volume: group.iter().map(|c| c.volume).sum(),
        turnover: Turnover(group.iter().map(|c| c.turnover.0).sum()),
        session: group[0].session,
    };
    groups.into_iter().map(merge).collect()
}

/// Returns the start of the segment that contains a local time, in minutes after midnight.
/// Duplicates the session tables, so that the test does not use them.
fn segment_start(market: Market, day: Date, minute: i64, half: bool) -> i64 {
    let clock = |hour: i64, minute: i64| hour * 60 + minute;
    let opens: &[i64] = match market {
        Market::Cn => &[clock(9, 30), clock(13, 0)],
        Market::Hk if day < date("2011-03-07") => &[clock(10, 0), clock(14, 30)],
        Market::Hk if day < date("2012-03-05") => &[clock(9, 30), clock(13, 30)],
        Market::Hk => &[clock(9, 30), clock(13, 0)],
        Market::Us if half => &[0, clock(4, 0), clock(9, 30), clock(13, 0), clock(20, 0)],
        Market::Us => &[0, clock(4, 0), clock(9, 30), clock(16, 0), clock(20, 0)],
    };
    // Hong Kong's closing minute on a half day, 12:00, belongs to the morning. It is before 13:00,
    // so no special case is needed.
    opens.iter().copied().filter(|open| *open <= minute).max().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn folding_in_two_steps_equals_folding_in_one(market in markets(), seed: u64) {
        let (venue, sources) = (venue(market), two_days(market, seed));
        for step in [5_u16, 15, 60] {
            let between = fold(venue, Period::Clock(minutes(step)), &sources).unwrap();
            for length in [5, 10, 15, 20, 30, 45, 60, 120, 180, 240].into_iter().filter(|length| length % step == 0) {
                let period = Period::Clock(minutes(length));
                prop_assert_eq!(
                    fold(venue, period, &between).unwrap(), fold(venue, period, &sources).unwrap(), "{} by {}", period, step
                );
            }
        }
    }

    #[test]
    fn folding_minute_candles_equals_grouping_by_local_time(market in markets(), seed: u64) {
        let sources = two_days(market, seed);
        let calendar = venue(market).calendar();
        for length in common::every_length() {
            let bucket = i64::from(length.get());
            let expected = grouped(&sources, |time| {
                let wall = jiff::Timestamp::from_second(time.0).unwrap().to_zoned(zone(market));
                let minute = i64::from(wall.hour()) * 60 + i64::from(wall.minute());
                let half = calendar.kind(wall.date()) == Some(DayKind::Half);
                let start = segment_start(market, wall.date(), minute, half);
                Timestamp(time.0 - (minute - start) % bucket * 60)
            });
            // The formula also predicts whether a closing minute has its own candle.
            let folded: Vec<Candle> = fold(venue(market), Period::Clock(length), &sources).unwrap().iter().collect();
            prop_assert_eq!(folded, expected, "{:?}", length);
        }
    }

    #[test]
    fn folding_daily_candles_equals_grouping_by_calendar(
        market in markets(), seed: u64,
        span in prop::sample::select(vec![Span::Week, Span::Month, Span::Quarter, Span::Year]),
    ) {
        let mut dice = Dice(seed);
        let calendar = venue(market).calendar();
        let start = calendar.first().checked_add(jiff::Span::new().days(dice.roll(6000) as i64)).unwrap();
        let through = start.checked_add(jiff::Span::new().days(500)).unwrap();
        let mut sources = Candles::default();
        for (day, _) in calendar.days(start, through) {
            if dice.roll(10) < 7 {
                sources.push(random_candle(at(market, &day.to_string()), Session::Intraday, &mut dice));
            }
        }
        let expected = grouped(&sources, |time| {
            let day = jiff::Timestamp::from_second(time.0).unwrap().to_zoned(zone(market)).date();
            at(market, &model_floor(span, day).to_string())
        });
        let folded: Vec<Candle> = fold(venue(market), Period::Calendar(span), &sources).unwrap().iter().collect();
        prop_assert_eq!(folded, expected);
    }
}

/// Returns the number of days since 1970-01-01 by counting leap years, without a calendar library.
fn day_number(date: Date) -> i64 {
    let year = i64::from(date.year());
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let before = |year: i64| 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let months = [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let month_days: i64 = months.iter().take(date.month() as usize - 1).sum();
    before(year - 1) - before(1969) + month_days + i64::from(date.day()) - 1
}

fn model_floor(span: Span, day: Date) -> Date {
    let first_of = |month: i8| Date::new(day.year(), month, 1).unwrap();
    match span {
        Span::Day => day,
        // Day 0 is 1970-01-01, a Thursday.
        Span::Week => {
            let back = (day_number(day) + 3).rem_euclid(7);
            (0..back).fold(day, |day, _| day.yesterday().unwrap())
        }
        Span::Month => first_of(day.month()),
        Span::Quarter => first_of([1, 1, 1, 4, 4, 4, 7, 7, 7, 10, 10, 10][day.month() as usize - 1]),
        Span::Year => first_of(1),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn span_floors_match_the_model(year in 1i16..9998, month in 1i8..=12, day in 1i8..=28) {
        let day = Date::new(year, month, day).unwrap();
        for span in [Span::Day, Span::Week, Span::Month, Span::Quarter, Span::Year] {
            let floor = span.floor(day);
            prop_assert_eq!(floor, model_floor(span, day));
            prop_assert_eq!(span.floor(floor), floor);
            prop_assert!(floor <= day);
            prop_assert!(day_number(day) - day_number(floor) < span.days_max() as i64);
        }
    }

    #[test]
    fn zones_agree_with_jiff_on_instants(market in markets(), seconds in 631_152_000_i64..4_102_444_800) {
        check_instant(market, seconds);
    }

    #[test]
    fn zones_agree_with_jiff_on_local_times(
        market in markets(), year in 1990i16..2100, month in 1i8..=12, day in 1i8..=28, second in 0i64..86_400,
    ) {
        check_wall(market, Date::new(year, month, day).unwrap(), second);
    }
}

fn check_instant(market: Market, seconds: i64) {
    let ours = venue(market).zone();
    let theirs = jiff::Timestamp::from_second(seconds).unwrap().to_zoned(zone(market));
    let clock =
        i64::from(theirs.hour()) * 3600 + i64::from(theirs.minute()) * 60 + i64::from(theirs.second());
    assert_eq!(ours.local(Timestamp(seconds)), (theirs.date(), clock), "{market} {seconds}");
    assert_eq!(ours.offset(Timestamp(seconds)), i64::from(theirs.offset().seconds()), "{market} {seconds}");
    // The inverse conversion is checked except in the hour that a clock change repeats.
    let ambiguous = zone(market).to_ambiguous_zoned(theirs.datetime()).is_ambiguous();
    if !ambiguous {
        assert_eq!(ours.instant(theirs.date(), clock), Timestamp(seconds), "{market} {theirs}");
    }
    let written = jiff::fmt::temporal::DateTimePrinter::new();
    let written = written.timestamp_with_offset_to_string(&theirs.timestamp(), theirs.offset());
    assert_eq!(ours.rfc3339(Timestamp(seconds)), written, "{market}");
}

fn check_wall(market: Market, date: Date, second: i64) {
    let wall: DateTime =
        date.to_datetime(jiff::civil::Time::midnight()) + jiff::SignedDuration::from_secs(second);
    let theirs = wall.to_zoned(zone(market)).unwrap().timestamp().as_second();
    assert_eq!(venue(market).zone().instant(date, second), Timestamp(theirs), "{market} {wall}");
}

#[test]
fn zones_agree_with_jiff_around_every_clock_change() {
    let from = jiff::Timestamp::from_second(631_152_000).unwrap();
    let mut changes = 0;
    for market in Market::ALL {
        for change in
            zone(market).following(from).take_while(|change| change.timestamp().as_second() < 4_102_444_800)
        {
            changes += 1;
            let at = change.timestamp().as_second();
            for step in
                [-90_000, -86_400, -7200, -3600, -1800, -1, 0, 1, 1800, 3599, 3600, 7200, 86_400, 90_000]
            {
                check_instant(market, at + step);
                let wall = jiff::Timestamp::from_second(at + step).unwrap().to_zoned(zone(market)).datetime();
                for minutes in [-90, -60, -30, 0, 30, 60, 90] {
                    let wall = wall + jiff::SignedDuration::from_mins(minutes);
                    let time = wall.time();
                    let second = i64::from(time.hour()) * 3600
                        + i64::from(time.minute()) * 60
                        + i64::from(time.second());
                    check_wall(market, wall.date(), second);
                }
            }
        }
    }
    assert!(changes > 200, "New York changes its clocks twice a year");
}

/// Rounds half away from zero to an integer.
fn round(value: &Ratio<BigInt>) -> BigInt {
    let two = BigInt::from(2);
    let negative = *value < Ratio::from_integer(BigInt::ZERO);
    let size = if negative { -value } else { value.clone() };
    let rounded = (size.numer() * &two + size.denom()) / (size.denom() * &two);
    if negative { -rounded } else { rounded }
}

fn ten_to(power: i64) -> Ratio<BigInt> {
    let size = BigInt::from(10).pow(u32::try_from(power.abs()).unwrap());
    if power < 0 { Ratio::new(BigInt::from(1), size) } else { Ratio::from_integer(size) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parsed_decimals_agree_with_big_integers(
        sign in prop::sample::select(vec!["", "-", "+"]),
        whole in "[0-9]{0,20}", decimals in "[0-9]{0,16}", power in prop::option::of(-60i32..=60), scale in 0u32..=12,
    ) {
        prop_assume!(!whole.is_empty() || !decimals.is_empty());
        let exponent = power.map_or(String::new(), |power| format!("e{power}"));
        let text = format!("{sign}{whole}.{decimals}{exponent}");
        let digits: BigInt = format!("{whole}{decimals}").parse().unwrap();
        let shift = i64::from(power.unwrap_or(0)) - decimals.len() as i64 + i64::from(scale);
        let value = Ratio::from_integer(if sign == "-" { -digits } else { digits }) * ten_to(shift);
        let rounded = round(&value);
        match parse_scaled(text.as_bytes(), scale) {
            Ok((found, exact)) => prop_assert_eq!((BigInt::from(found), exact), (rounded, value.is_integer()), "{}", text),
            Err(error) => prop_assert!(i128::try_from(rounded).is_err(), "{}: {} although it fits", text, error),
        }
    }

    #[test]
    fn parsed_halves_are_rounded_away_from_zero(units in 0i64..1_000_000_000, negative: bool, scale in 0u32..=6) {
        let sign = if negative { "-" } else { "" };
        let text = format!("{sign}{units}5e-{}", scale + 1);
        let expected = i128::from(units) + 1;
        prop_assert_eq!(parse_scaled(text.as_bytes(), scale), Ok((if negative { -expected } else { expected }, false)));
    }

    #[test]
    fn formatted_prices_agree_with_big_integers(value: i64, decimals in 0u32..=6) {
        let text = Price(value).text(decimals).to_string();
        let rounded = round(&(Ratio::from_integer(BigInt::from(value)) * ten_to(i64::from(decimals) - 6)));
        let plain: BigInt = text.replace('.', "").parse().unwrap();
        prop_assert_eq!(plain, rounded);
        prop_assert_eq!(text.split_once('.').map_or(0, |(_, decimals)| decimals.len()), decimals as usize);
        if decimals == 6 {
            prop_assert_eq!(Price::parse(&text), Ok(Price(value)));
        }
    }

    #[test]
    fn formatted_turnovers_agree_with_big_integers(value in 0..=Turnover::MAX.0) {
        let text = Turnover(value).text().to_string();
        let plain: BigInt = text.replace('.', "").parse().unwrap();
        prop_assert_eq!(plain, round(&Ratio::new(BigInt::from(value), BigInt::from(1000))));
    }

    #[test]
    fn amounts_round_trip_through_text(
        above in 0u64..1_000_000_000_000, below in 1u64..1_000_000_000_000, decimals in 0u32..=12,
    ) {
        let small = format!("{above}e-{decimals}");
        for text in [format!("{above}/{below}"), format!("{small}/{below}e-{decimals}"), small] {
            let amount = Amount::parse(&text).unwrap();
            prop_assert_eq!(Amount::parse(&amount.to_string()), Ok(amount), "{}", text);
        }
    }
}

/// A random action with money in thousandths. The expected factor is computed directly from these
/// values.
#[derive(Clone, Debug)]
struct Drawn {
    cash: i64,
    split: (i64, i64),
    bonus: (i64, i64),
    rights: (i64, i64),
    rights_price: i64,
    close: i64,
}

impl Drawn {
    fn action(&self, ex_date: Date) -> Action {
        let amount = |text: String| Amount::parse(&text).unwrap();
        Action {
            ex_date,
            cash: amount(format!("{}e-3", self.cash)),
            split: amount(format!("{}/{}", self.split.0, self.split.1)),
            bonus: amount(format!("{}/{}", self.bonus.0, self.bonus.1)),
            rights: amount(format!("{}/{}", self.rights.0, self.rights.1)),
            rights_price: amount(format!("{}e-3", self.rights_price)),
        }
    }

    fn factor(&self) -> Ratio<BigInt> {
        let ratio = |(above, below): (i64, i64)| Ratio::new(BigInt::from(above), BigInt::from(below));
        let money = |thousandths: i64| ratio((thousandths, 1000));
        let worthless = self.rights_price >= self.close;
        let rights = if worthless { ratio((0, 1)) } else { ratio(self.rights) };
        let paid = &rights * money(self.rights_price);
        let reference =
            (money(self.close) - money(self.cash) + paid) / (ratio(self.split) + ratio(self.bonus) + rights);
        reference / money(self.close)
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let split = prop_oneof![3 => Just((1, 1)), 1 => (1i64..=20, 1i64..=20)];
    let share = || prop_oneof![2 => Just((0i64, 1i64)), 1 => (0i64..=10, 1i64..=10)];
    (1000i64..500_000, 0i64..1000, split, share(), share(), 1i64..600_000).prop_map(
        |(close, permille, split, bonus, rights, rights_price)| Drawn {
            cash: close * permille / 1000,
            split,
            bonus,
            rights,
            rights_price,
            close,
        },
    )
}

/// Generates mostly ordinary and some extreme prices.
fn prices() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 1i64..2_000_000_000, 1 => 1i64..1_000_000_000_000_000, 1 => 0i64..=i64::MAX]
}

fn expected_price(factor: &Ratio<BigInt>, price: i64, decimals: u32) -> i64 {
    let unit = 10i64.pow(6 - decimals);
    // The fraction is not reduced, because finding common divisors of thousand-bit numbers is slow
    // and does not change the result.
    let units = round(&Ratio::new_raw(factor.numer() * price, factor.denom() * unit));
    i64::try_from(units).unwrap_or(i64::MAX).saturating_mul(unit)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn adjusted_prices_equal_exact_fractions(
        chain in prop::collection::vec(drawn(), 1..30),
        prices in prop::collection::vec(prices(), 10),
        decimals in 0u32..=6,
    ) {
        let first = date("2005-01-03");
        let ex_date = |row: usize| first.checked_add(jiff::Span::new().days(row as i64 * 100)).unwrap();
        let actions: Vec<Action> = chain.iter().enumerate().map(|(row, drawn)| drawn.action(ex_date(row))).collect();
        let close = |day: Date| (0..chain.len()).find(|row| ex_date(*row) == day).map(|row| Price(chain[row].close * 1000));
        let (factors, ignored) = factors(&actions, close);
        prop_assert_eq!(ignored, []);
        let adjuster = Adjuster::new(&factors, date("2026-11-15"), decimals);
        // Multiply the factors from the newest action to the oldest.
        let mut product = Ratio::from_integer(BigInt::from(1));
        for row in (0..chain.len()).rev() {
            product *= chain[row].factor();
            let factor = adjuster.for_day(ex_date(row).yesterday().unwrap()).unwrap();
            prop_assert_eq!(factor.until(), ex_date(row));
            for price in &prices {
                prop_assert_eq!(factor.apply(*price), expected_price(&product, *price, decimals), "row {} price {}", row, price);
            }
        }
    }

    #[test]
    fn factors_round_trip_through_bytes(chain in prop::collection::vec(drawn(), 0..30)) {
        let first = date("2005-01-03");
        let ex_date = |row: usize| first.checked_add(jiff::Span::new().days(row as i64 * 100)).unwrap();
        let actions: Vec<Action> = chain.iter().enumerate().map(|(row, drawn)| drawn.action(ex_date(row))).collect();
        let (written, _) = factors(&actions, |_| Some(Price(12_345_678)));
        let mut bytes = Vec::new();
        written.iter().for_each(|factor| factor.write(&mut bytes));
        let mut rest = bytes.as_slice();
        for factor in &written {
            prop_assert_eq!(Factor::read(&mut rest), Some(factor.clone()));
        }
        prop_assert_eq!((rest.len(), Factor::read(&mut rest)), (0, None));
        // Truncated bytes must not decode to another factor.
        if let Some(cut) = bytes.len().checked_sub(1) {
            let mut rest = &bytes[..cut];
            let read = std::iter::from_fn(|| Factor::read(&mut rest)).count();
            prop_assert_eq!(read, written.len() - 1);
        }
    }

    #[test]
    fn exact_halves_are_rounded_away_from_zero(
        odd_above in 0i64..500, below in 1i64..1000, odd in 0i64..10_000, decimals in 0u32..=5,
    ) {
        let (above, odd) = (2 * odd_above + 1, 2 * odd + 1);
        // With the factor `above / below` and the price `odd * below * unit / 2`, the product is
        // `odd * above` half units.
        let unit = 10i64.pow(6 - decimals);
        let mut action = Action::none(date("2026-03-04"));
        action.split = Amount::parse(&format!("{below}/{above}")).unwrap();
        let (factors, _) = factors(&[action], |_| Some(Price(1_000_000)));
        let adjuster = Adjuster::new(&factors, date("2026-03-04"), decimals);
        let factor = adjuster.for_day(date("2026-03-03")).unwrap();
        let price = odd * below * (unit / 2);
        let up = (odd * above + 1) / 2 * unit;
        prop_assert_eq!(factor.apply(price), up);
        // A price that is one millionth lower is below the half and must be rounded down.
        prop_assert!(factor.apply(price - 1) < up);
        let exact = Ratio::new(BigInt::from(above), BigInt::from(below));
        prop_assert_eq!(factor.apply(price - 1), expected_price(&exact, price - 1, decimals));
    }
}
