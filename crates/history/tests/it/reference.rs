//! Compares every answer with a second implementation, written directly from the specification over
//! plain lists, without plans, blocks or roll-ups. The data is sparse and split into tiny blocks
//! and pages, so that every boundary is crossed often.

use std::collections::BTreeMap;
use std::ops::Range;

use num_bigint::BigInt;

use crate::common::{
    Cut, Rng, Shop, candle, date, fold_naively, known_minutes, symbol, unfinished_day, venue,
};
use history::{Adjust, Anchor, AsOf, COUNT_MAX, Direction, HistoryError, Query, Select, Sessions};
use market::adjust::Amount;
use market::{Action, Candle, Candles, Date, Floors, Market, Period, Price, Session, Timestamp, Venue};

type Fraction = num_rational::Ratio<BigInt>;

pub(crate) struct World {
    pub(crate) minutes: Vec<Candle>,
    pub(crate) days: Vec<Candle>,
    pub(crate) actions: Vec<Action>,
}

/// A6: returns the local date, or in New York the next date if the local time is 20:00 or later.
fn trading_day(venue: &Venue, time: Timestamp) -> Date {
    let (date, seconds) = venue.zone().local(time);
    if venue.market() == Market::Us && seconds >= 20 * 3600 { date.tomorrow().unwrap() } else { date }
}

fn wanted(session: Session, sessions: Sessions) -> bool {
    match sessions {
        Sessions::Intraday => session == Session::Intraday,
        Sessions::Extended => session != Session::Overnight,
        Sessions::All => true,
    }
}

/// Parses an amount from its printed form, such as `0.35` or `3/7`.
fn fraction(amount: &Amount) -> Fraction {
    let decimal = |text: &str| {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits: BigInt = format!("{whole}{decimals}").parse().unwrap();
        Fraction::new(digits, BigInt::from(10).pow(decimals.len() as u32))
    };
    let text = amount.to_string();
    text.split_once('/').map_or_else(|| decimal(&text), |(above, below)| decimal(above) / decimal(below))
}

/// F3: combines the events of one ex-date in one formula. Returns `None` if the events are ignored.
fn factor(same_day: &[Action], close: Price) -> Option<Fraction> {
    let zero = || Fraction::from_integer(BigInt::ZERO);
    let close = Fraction::new(BigInt::from(close.0), BigInt::from(1_000_000));
    let (mut cash, mut split, mut bonus, mut rights, mut paid) =
        (zero(), zero() + BigInt::from(1), zero(), zero(), zero());
    for action in same_day {
        cash += fraction(&action.cash);
        split *= fraction(&action.split);
        bonus += fraction(&action.bonus);
        let price = fraction(&action.rights_price);
        if price < close {
            rights += fraction(&action.rights);
            paid += fraction(&action.rights) * price;
        }
    }
    let shares = split + bonus + rights;
    let reference = (&close - cash + paid) / shares;
    (reference > zero()).then(|| reference / close)
}

/// F4: returns the product of the factors of all effective events after a trading day.
fn factor_of(world: &World, venue: &Venue, day: Date, today: Date) -> Fraction {
    let one = || Fraction::from_integer(BigInt::from(1));
    let mut dates: Vec<Date> = world.actions.iter().map(|action| action.ex_date).collect();
    dates.sort();
    dates.dedup();
    let effective = dates.into_iter().filter(|ex| *ex > day && *ex <= today);
    effective.fold(one(), |product, ex| {
        let before = world.days.iter().rfind(|c| venue.zone().date(c.time) < ex);
        let same_day: Vec<Action> = world.actions.iter().filter(|a| a.ex_date == ex).cloned().collect();
        match before.and_then(|candle| factor(&same_day, candle.close)) {
            Some(factor) => product * factor,
            None => product,
        }
    })
}

/// E3: rounds half away from zero, to three decimals.
fn times(price: Price, by: &Fraction) -> Price {
    let thousandths = by * Fraction::new(BigInt::from(price.0), BigInt::from(1000));
    let half = Fraction::new(BigInt::from(1), BigInt::from(2));
    let rounded = (thousandths + half).floor().to_integer();
    Price(i64::try_from(rounded).unwrap() * 1000)
}

/// R1 to R3: returns the candles that are visible at an instant.
fn known(world: &World, venue: &Venue, query: &Query, as_of: AsOf) -> World {
    let now = as_of.now();
    let minutes = match as_of {
        AsOf::Live(_) => world.minutes.iter().filter(|c| c.time <= now).copied().collect(),
        AsOf::Replay(_) => known_minutes(venue, &world.minutes, now),
    };
    let mut days = world.days.clone();
    let today = venue.zone().date(now);
    let first = match query.period {
        Period::Calendar(span) if venue.calendar().kind(today).is_some() => span.floor(today),
        _ => today,
    };
    // Today is folded from one-minute candles until the day is completed. Earlier days without a
    // stored daily candle are also folded if they belong to the same candle as today.
    for (date, _) in venue.calendar().days(first, today) {
        let midnight = venue.zone().midnight(date);
        let of_day = |c: &&Candle| {
            c.session == Session::Intraday
                && trading_day(venue, c.time) == date
                && query.floors.minute.is_none_or(|floor| floor <= date)
        };
        let made = fold_naively(venue, Period::DAY, minutes.iter().filter(of_day).copied());
        let is_made = match unfinished_day(venue, now) == Some(date) {
            true => !made.is_empty() || matches!(as_of, AsOf::Replay(_)),
            false => !days.iter().any(|day| day.time == midnight),
        };
        if is_made {
            days.retain(|day| day.time != midnight);
            days.extend(made);
            days.sort_by_key(|day| day.time);
        }
    }
    World { minutes, days, actions: world.actions.clone() }
}

fn answer(world: &World, query: &Query, as_of: AsOf) -> Vec<Candle> {
    let venue = venue(query.symbol.market());
    let zone = venue.zone();
    let now = as_of.now();
    let known = known(world, venue, query, as_of);
    let (sources, floor) = match query.period {
        Period::Clock(_) => (&known.minutes, query.floors.minute),
        Period::Calendar(_) => (&known.days, query.floors.day),
    };
    let mut sources: Vec<Candle> = sources
        .iter()
        .filter(|c| c.time <= now && wanted(c.session, query.sessions))
        .filter(|c| floor.is_none_or(|floor| floor <= trading_day(venue, c.time)))
        .copied()
        .collect();
    if query.adjust == Adjust::Forward {
        let today = zone.date(now);
        let mut factors: BTreeMap<Date, Fraction> = BTreeMap::new();
        for source in &mut sources {
            let day = trading_day(venue, source.time);
            let by = factors.entry(day).or_insert_with(|| factor_of(world, venue, day, today));
            if *by == Fraction::from_integer(BigInt::from(1)) {
                continue;
            }
            for price in [&mut source.open, &mut source.high, &mut source.low, &mut source.close] {
                *price = times(*price, by);
            }
        }
    }
    let all = fold_naively(venue, query.period, sources.into_iter());
    let wall = |c: &Candle| {
        let (date, seconds) = zone.local(c.time);
        (date, seconds / 60)
    };
    let latest = || venue.latest_trading_day(now).unwrap();
    let retain = |test: &dyn Fn((Date, i64)) -> bool| {
        all.iter().filter(|c| test(wall(c))).copied().collect::<Vec<_>>()
    };
    let last = |list: Vec<Candle>, count: usize| list[list.len().saturating_sub(count)..].to_vec();
    let first = |list: Vec<Candle>, count: usize| list[..list.len().min(count)].to_vec();
    match query.select {
        Select::Offset { direction: Direction::Past, anchor, count } => {
            let list = match anchor {
                Anchor::Latest => retain(&|_| true),
                Anchor::Day(day) => retain(&|(date, _)| date <= day),
                Anchor::Minute(day, minute) => retain(&|at| at <= (day, i64::from(minute))),
                Anchor::LatestMinute(minute) => retain(&|at| at <= (latest(), i64::from(minute))),
            };
            last(list, count)
        }
        Select::Offset { direction: Direction::Present, anchor, count } => {
            let list = match anchor {
                Anchor::Latest => retain(&|(date, _)| date >= latest()),
                Anchor::Day(day) => retain(&|(date, _)| date >= day),
                Anchor::Minute(day, minute) => retain(&|at| at >= (day, i64::from(minute))),
                Anchor::LatestMinute(minute) => retain(&|at| at >= (latest(), i64::from(minute))),
            };
            first(list, count)
        }
        Select::Dates { start, end } => {
            let list = retain(&|(date, _)| start.is_none_or(|s| s <= date) && end.is_none_or(|e| date <= e));
            if start.is_some() && end.is_none() { first(list, COUNT_MAX) } else { last(list, COUNT_MAX) }
        }
    }
}

/// Date ranges with special cases: floors, clock changes, half days, year ends, Golden Week.
pub(crate) const STRETCHES: [(Market, &str, &str, &str); 10] = [
    (Market::Hk, "5.HK", "2022-09-20", "2022-10-06"),
    (Market::Hk, "5.HK", "2025-12-22", "2026-01-05"),
    (Market::Hk, "5.HK", "2026-02-12", "2026-02-24"),
    (Market::Us, "A.US", "2023-11-28", "2023-12-08"),
    (Market::Us, "A.US", "2025-07-01", "2025-07-09"),
    (Market::Us, "A.US", "2025-10-30", "2025-11-05"),
    (Market::Us, "A.US", "2025-03-06", "2025-03-12"),
    (Market::Us, "A.US", "2025-11-25", "2025-12-02"),
    (Market::Cn, "600000.SH", "2022-08-22", "2022-08-31"),
    (Market::Cn, "600000.SH", "2025-09-26", "2025-10-13"),
];

fn random_candle(rng: &mut Rng, time: Timestamp, session: Session) -> Candle {
    let mut made = candle(time, session, 0, rng.below(1000) as i64);
    let mut prices: Vec<i64> = (0..4).map(|_| 5_000_000 + 10_000 * rng.below(1000) as i64).collect();
    prices.sort_unstable();
    (made.low, made.open, made.close, made.high) =
        (Price(prices[0]), Price(prices[1]), Price(prices[2]), Price(prices[3]));
    if rng.one_in(2) {
        (made.open, made.close) = (made.close, made.open);
    }
    made
}

pub(crate) fn world(rng: &mut Rng, market: Market, from: Date, through: Date) -> World {
    let venue = venue(market);
    let minutes_one_in = *rng.pick(&[3, 10, 30, 150]);
    let days_one_in = *rng.pick(&[1, 2, 9]);
    // In half of the cases, daily candles start before their floor and span years.
    let first_day = if rng.one_in(2) {
        Floors::published(market).day.unwrap().checked_sub(market::DateSpan::new().days(40)).unwrap()
    } else {
        from
    };
    let last_day = if first_day < from {
        first_day.checked_add(market::DateSpan::new().days(500)).unwrap()
    } else {
        through
    };
    let mut made = World { minutes: Vec::new(), days: Vec::new(), actions: Vec::new() };
    let day_stretches = [(first_day, last_day), (from, through)];
    for (first, last) in day_stretches.into_iter().take(if first_day < from { 2 } else { 1 }) {
        for (day, _) in venue.calendar().days(first, last) {
            if rng.one_in(days_one_in) {
                made.days.push(random_candle(rng, venue.zone().midnight(day), Session::Intraday));
            }
        }
    }
    for (day, _) in venue.calendar().days(from, through) {
        for (time, slot) in venue.day(day).unwrap().minutes() {
            if rng.one_in(minutes_one_in) {
                made.minutes.push(random_candle(rng, time, slot.segment.session));
            }
        }
    }
    let mut ex_dates: Vec<Date> = venue.calendar().days(from, through).map(|(day, _)| day).collect();
    ex_dates.extend(made.days.iter().map(|c| venue.zone().date(c.time)));
    for _ in 0..rng.below(5) {
        let mut action = Action::none(*rng.pick(&ex_dates));
        match rng.below(4) {
            0 => action.cash = Amount::parse("0.35").unwrap(),
            1 => action.split = Amount::parse("3").unwrap(),
            2 => action.bonus = Amount::parse("3/7").unwrap(),
            _ => {
                action.rights = Amount::parse("1/4").unwrap();
                action.rights_price = Amount::parse("6.1").unwrap();
            }
        }
        // The store deduplicates equal rows.
        if !made.actions.contains(&action) {
            made.actions.push(action);
        }
    }
    made
}

pub(crate) fn random_query(rng: &mut Rng, security: &str, world: &World) -> Query {
    let symbol = symbol(security);
    let zone = venue(symbol.market()).zone();
    let periods: Vec<Period> = Period::all().collect();
    let period = *rng.pick(&periods);
    let sources = if period.is_clock() { &world.minutes } else { &world.days };
    let near = |rng: &mut Rng| match sources.is_empty() {
        true => (date("2025-01-01"), 600),
        false => {
            let drift = *rng.pick(&[0, 0, -60, 60, -3600, 86_400, -86_400, 1_000_000]);
            let (date, seconds) = zone.local(Timestamp(rng.pick(sources).time.0 + drift));
            (date, (seconds / 60) as i32)
        }
    };
    let (day, minute) = near(rng);
    let other = near(rng).0;
    let anchor = match rng.below(if period.is_clock() { 5 } else { 3 }) {
        0 => Anchor::Latest,
        1 | 2 => Anchor::Day(day),
        3 => Anchor::Minute(day, minute),
        _ => Anchor::LatestMinute(minute),
    };
    let direction = *rng.pick(&[Direction::Past, Direction::Present]);
    let count = *rng.pick(&[1, 2, 3, 10, 50, 1000]);
    let (start, end) = (day.min(other), day.max(other));
    let select = match rng.below(8) {
        0 => Select::Dates { start: None, end: None },
        1 => Select::Dates { start: Some(start), end: None },
        2 => Select::Dates { start: None, end: Some(end) },
        3 => Select::Dates { start: Some(start), end: Some(end) },
        _ => Select::Offset { direction, anchor, count },
    };
    let adjust = *rng.pick(&[Adjust::None, Adjust::Forward]);
    let sessions = *rng.pick(&[Sessions::Intraday, Sessions::Extended, Sessions::All]);
    let published = Floors::published(symbol.market());
    let own = Floors { day: Some(day), minute: Some(other) };
    let floors = *rng.pick(&[published, published, Floors::NONE, own]);
    Query { symbol, period, adjust, sessions, floors, select }
}

pub(crate) fn random_now(rng: &mut Rng, world: &World) -> Timestamp {
    let all: Vec<i64> = world.minutes.iter().chain(&world.days).map(|c| c.time.0).collect();
    match rng.below(4) {
        0 => Timestamp(1_900_000_000),
        _ if all.is_empty() => Timestamp(1_750_000_000),
        _ => Timestamp(rng.pick(&all) + *rng.pick(&[0, -1, 1, 59, 60, 1000, 40_000])),
    }
}

// Four tests, because each takes long and tests run concurrently.
#[test]
fn every_answer_matches_the_specification_1() {
    compare_answers(0..10);
}

#[test]
fn every_answer_matches_the_specification_2() {
    compare_answers(10..20);
}

#[test]
fn every_answer_matches_the_specification_3() {
    compare_answers(20..30);
}

#[test]
fn every_answer_matches_the_specification_4() {
    compare_answers(30..40);
}

fn compare_answers(seeds: Range<u64>) {
    let mut answered = 0;
    for seed in seeds {
        let mut rng = Rng(seed);
        let (market, security, from, through) = STRETCHES[seed as usize % STRETCHES.len()];
        let world = world(&mut rng, market, date(from), date(through));
        let shop = Shop::new();
        let cut = Cut { block_rows: *rng.pick(&[3, 17, 60, 700]), page_rows: *rng.pick(&[1, 2, 5, 30]) };
        let columns = |list: &[Candle]| list.iter().copied().collect::<Candles>();
        shop.stock(&symbol(security), &columns(&world.minutes), &columns(&world.days), cut);
        shop.act(&symbol(security), &world.actions);
        for _ in 0..80 {
            let query = random_query(&mut rng, security, &world);
            let now = random_now(&mut rng, &world);
            let as_of = *rng.pick(&[AsOf::Live(now), AsOf::Replay(now)]);
            let expected = answer(&world, &query, as_of);
            if world.minutes.is_empty() && world.days.is_empty() {
                continue;
            }
            let found = match shop.candles(&query, as_of) {
                Ok(answer) => answer.candles.iter().collect(),
                // All candles are in the future.
                Err(HistoryError::NoCandles(_)) => Vec::new(),
                Err(error) => panic!("{error}"),
            };
            answered += usize::from(!found.is_empty());
            assert_eq!(found, expected, "seed {seed}, {cut:?}, {as_of:?}: {query:?}");
        }
    }
    // Guards against a test that only compares empty answers.
    assert!(answered > 375, "{answered}");
}
