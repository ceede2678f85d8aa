use std::sync::LazyLock;

use market::{Candle, Date, Flaw, Floors, Market, Period, Price, Timestamp, Venue};
use mirror::{
    Adjust, Bounds, DateRange, End, Outcome, Position, Quarantined, Reason, Series, Sessions, Walk,
};

use crate::server::{Anchors, Server, candle, walk};

static HK: LazyLock<Venue> = LazyLock::new(|| Venue::built_in(Market::Hk).unwrap());
static US: LazyLock<Venue> = LazyLock::new(|| Venue::built_in(Market::Us).unwrap());

fn series(symbol: &str, period: Period, sessions: Sessions) -> Series {
    Series::new(symbol.parse().unwrap(), period, Adjust::None, sessions).unwrap()
}

fn minutes(venue: &Venue, dates: &[&str]) -> Vec<Candle> {
    let days = dates.iter().map(|date| venue.day(date.parse().unwrap()).unwrap());
    let stamps = days.flat_map(|day| day.minutes().map(|(at, _)| at).collect::<Vec<Timestamp>>());
    stamps.enumerate().map(|(number, at)| candle(venue, Period::MINUTE, at, number as i64)).collect()
}

fn hk(time: &str) -> Timestamp {
    Timestamp(format!("{time}:00+08:00").parse::<Jiff>().unwrap().0)
}

/// Parses RFC 3339 with the offset of Hong Kong.
struct Jiff(i64);

impl std::str::FromStr for Jiff {
    type Err = ();

    fn from_str(text: &str) -> Result<Jiff, ()> {
        let date: Date = text[..10].parse().map_err(|_| ())?;
        let minute = market::parse_time_of_day(&text[11..16]).map_err(|_| ())?;
        Ok(Jiff(HK.zone().midnight(date).0 + i64::from(minute) * 60))
    }
}

fn server<'a>(venue: &'a Venue, candles: Vec<Candle>) -> Server<'a> {
    Server { venue, candles, anchors: Anchors::Included, sizes: vec![1000], answered: 0 }
}

const LATER: Timestamp = Timestamp(1_900_000_000);

/// Example N3: the page ends at 2024-03-05 10:15, and the next page begins with that candle, but
/// another close.
#[test]
fn a_revised_history_restarts_the_series_at_most_three_times() {
    let candles = minutes(&HK, &["2024-03-04", "2024-03-05"]);
    let at = hk("2024-03-05T10:15");
    let page: Vec<Candle> = candles.iter().filter(|candle| candle.time >= at).copied().collect();
    let mut changed: Vec<Candle> = candles.iter().filter(|candle| candle.time <= at).copied().collect();
    changed.last_mut().unwrap().close.0 += 1000;

    let mut walk = Walk::new(
        series("700.HK", Period::MINUTE, Sessions::Intraday),
        Bounds::published(&HK, Period::MINUTE),
    );
    for restarts in 1..=4 {
        assert_eq!(walk.request(&HK).unwrap().anchor, None, "from the newest");
        let taken = walk.take(&HK, &page, LATER);
        assert_eq!((taken.rows.as_slice(), taken.outcome), (page.as_slice(), Outcome::Continue));
        let anchor = walk.request(&HK).unwrap().anchor.unwrap();
        assert_eq!((anchor.date.to_string().as_str(), anchor.minute), ("2024-03-05", Some(10 * 60 + 15)));
        let taken = walk.take(&HK, &changed, LATER);
        assert_eq!(taken.rows, []);
        let expected = if restarts <= 3 { Outcome::Restarted } else { Outcome::Done(End::Revised) };
        assert_eq!(taken.outcome, expected);
        assert_eq!(walk.position().restarts(), restarts.min(3));
    }
    assert_eq!(walk.request(&HK), None);
    assert_eq!(walk.position().end(), Some(End::Revised));
    assert_eq!(walk.take(&HK, &page, LATER).outcome, Outcome::Done(End::Revised));
}

#[test]
fn pages_overlap_by_one_candle() {
    let candles = minutes(&HK, &["2024-03-04", "2024-03-05", "2024-03-06", "2024-03-07"]);
    let mut server = server(&HK, candles.clone());
    let mut of = Walk::new(
        series("700.HK", Period::MINUTE, Sessions::Intraday),
        Bounds::published(&HK, Period::MINUTE),
    );
    let (stored, outcome) = walk(&mut of, &mut server, LATER, || None);
    assert_eq!(stored.candles(), candles);
    // 1,324 candles: pages of 1,000 and 324, and one without new candles.
    assert_eq!((stored.pages, outcome), (3, Outcome::Done(End::Exhausted)));
}

#[test]
fn an_excluded_anchor_costs_one_request() {
    let candles = minutes(&HK, &["2024-03-04", "2024-03-05", "2024-03-06", "2024-03-07"]);
    let mut server = Server { anchors: Anchors::Excluded, ..server(&HK, candles.clone()) };
    let mut of = Walk::new(
        series("700.HK", Period::MINUTE, Sessions::Intraday),
        Bounds::published(&HK, Period::MINUTE),
    );
    let (stored, outcome) = walk(&mut of, &mut server, LATER, || None);
    assert_eq!(stored.candles(), candles);
    assert_eq!((stored.pages, outcome), (4, Outcome::Done(End::Exhausted)));
}

#[test]
fn a_missing_candle_is_a_revision() {
    let candles = minutes(&HK, &["2024-03-04", "2024-03-05", "2024-03-06", "2024-03-07"]);
    let mut server = server(&HK, candles);
    let mut walk = Walk::new(
        series("700.HK", Period::MINUTE, Sessions::Intraday),
        Bounds::published(&HK, Period::MINUTE),
    );
    let request = walk.request(&HK).unwrap();
    walk.take(&HK, &server.answer(&request), LATER);
    let oldest = walk.position().oldest().unwrap();
    server.candles.retain(|candle| candle.time != oldest);
    // The server may treat anchors as exclusive, so the walk retries with an anchor one minute
    // later before it restarts.
    let request = walk.request(&HK).unwrap();
    assert_eq!(walk.take(&HK, &server.answer(&request), LATER).outcome, Outcome::Continue);
    let above = walk.request(&HK).unwrap().anchor.unwrap();
    assert_eq!(above.minute, request.anchor.unwrap().minute.map(|minute| minute + 1));
    let request = walk.request(&HK).unwrap();
    assert_eq!(walk.take(&HK, &server.answer(&request), LATER).outcome, Outcome::Restarted);
}

#[test]
fn a_walk_ends_at_the_floor() {
    let (period, at) = (Period::DAY, |date: &str| HK.zone().midnight(date.parse().unwrap()));
    let days =
        ["2004-05-28", "2004-05-31", "2004-06-01", "2004-06-02"].map(|date| candle(&HK, period, at(date), 1));
    let mut walk = Walk::new(series("700.HK", period, Sessions::All), Bounds::published(&HK, period));
    let taken = walk.take(&HK, &days, LATER);
    assert_eq!((taken.rows.as_slice(), taken.outcome), (&days[2..], Outcome::Done(End::Floor)));
}

#[test]
fn candles_off_the_grid_are_quarantined_once() {
    let mut candles = minutes(&HK, &["2024-03-05"]);
    let lunch = candle(&HK, Period::MINUTE, hk("2024-03-05T12:30"), 5);
    let second = Candle { time: Timestamp(candles[3].time.0 + 7), ..candles[3] };
    let pre = Candle { session: market::Session::Pre, ..candles[300] };
    let range = Candle { low: Price(candles[200].high.0 + 1), ..candles[200] };
    let good: Vec<Candle> =
        candles.iter().enumerate().filter(|(n, _)| ![200, 300].contains(n)).map(|(_, c)| *c).collect();
    (candles[200], candles[300]) = (range, pre);
    candles.extend([lunch, second]);
    candles.sort_by_key(|candle| candle.time);
    let mut server = Server { sizes: vec![5], ..server(&HK, candles) };
    let mut of = Walk::new(
        series("700.HK", Period::MINUTE, Sessions::Intraday),
        Bounds::published(&HK, Period::MINUTE),
    );
    let (stored, _) = walk(&mut of, &mut server, LATER, || None);
    assert_eq!(stored.candles(), good);
    let bad = |candle, flaw| Quarantined { candle, reason: Reason::Flaw(flaw) };
    let mut quarantined = stored.quarantined;
    quarantined.sort_by_key(|bad| bad.candle.time);
    assert_eq!(
        quarantined,
        [
            bad(second, Flaw::NotAMinute),
            bad(lunch, Flaw::NoSession),
            bad(range, Flaw::Range),
            bad(pre, Flaw::Session)
        ]
    );
}

#[test]
fn a_page_of_quarantined_candles_does_not_end_the_walk() {
    let mut candles = minutes(&HK, &["2024-03-05"]);
    let good: Vec<Candle> = [&candles[..50], &candles[200..]].concat();
    for candle in &mut candles[50..200] {
        candle.session = market::Session::Post;
    }
    let mut server = Server { sizes: vec![10], ..server(&HK, candles) };
    let mut of = Walk::new(
        series("700.HK", Period::MINUTE, Sessions::Intraday),
        Bounds::published(&HK, Period::MINUTE),
    );
    let (stored, outcome) = walk(&mut of, &mut server, LATER, || None);
    assert_eq!((stored.candles(), stored.quarantined.len()), (good, 150));
    assert_eq!(outcome, Outcome::Done(End::Exhausted));
}

#[test]
fn candles_out_of_order_are_quarantined() {
    let candles = minutes(&HK, &["2024-03-05"]);
    let page = [candles[10], candles[11], candles[11], candles[9], candles[12]];
    let mut walk = Walk::new(
        series("700.HK", Period::MINUTE, Sessions::Intraday),
        Bounds::published(&HK, Period::MINUTE),
    );
    let taken = walk.take(&HK, &page, LATER);
    assert_eq!(taken.rows, [candles[10], candles[11], candles[12]]);
    let reason = Reason::NotAscending;
    let bad = [candles[11], candles[9]].map(|candle| Quarantined { candle, reason });
    assert_eq!(taken.quarantined, bad);
    assert_eq!(walk.position().oldest(), Some(candles[10].time));
}

#[test]
fn incomplete_candles_are_separate_and_may_change() {
    let candles = minutes(&HK, &["2024-03-05"]);
    let last = candles.len() - 1;
    let mut walk = Walk::new(
        series("700.HK", Period::MINUTE, Sessions::Intraday),
        Bounds::published(&HK, Period::MINUTE),
    );
    // Trades of the closing auction are reported until 16:10.
    let taken = walk.take(&HK, &candles[last..], hk("2024-03-05T16:09"));
    assert_eq!((taken.rows.as_slice(), taken.forming.as_slice()), (&[][..], &candles[last..]));
    let mut page = candles.clone();
    page[last].volume += 400;
    let taken = walk.take(&HK, &page, hk("2024-03-05T16:10"));
    assert_eq!((taken.rows, taken.forming), (page, vec![]));
    assert_eq!(walk.position().restarts(), 0);
}

#[test]
fn a_candle_in_the_future_does_not_affect_the_others() {
    let candles = minutes(&HK, &["2024-03-05"]);
    let future = candle(&HK, Period::MINUTE, hk("2024-03-06T09:30"), 1);
    let mut walk = Walk::new(
        series("700.HK", Period::MINUTE, Sessions::Intraday),
        Bounds::published(&HK, Period::MINUTE),
    );
    let taken = walk.take(&HK, &[future, candles[0], candles[1]], hk("2024-03-05T17:00"));
    assert_eq!(taken.rows, &candles[..2]);
    assert_eq!(taken.quarantined, [Quarantined { candle: future, reason: Reason::Future }]);
}

#[test]
fn bounds_are_whole_trading_days() {
    let now = hk("2024-03-08T12:00");
    let dates = |from: &str, through: &str| DateRange {
        from: from.parse().unwrap(),
        through: through.parse().unwrap(),
    };
    let bounds = Bounds::of_dates(&HK, Period::MINUTE, dates("2024-03-04", "2024-03-05"), now);
    assert_eq!(
        (bounds.oldest, bounds.newest),
        (hk("2024-03-04T00:00"), Some(Timestamp(hk("2024-03-06T00:00").0 - 1)))
    );
    // Sunday evening belongs to Monday.
    let bounds = Bounds::of_dates(&US, Period::MINUTE, dates("2024-03-04", "2024-03-05"), now);
    assert_eq!(US.zone().rfc3339(bounds.oldest), "2024-03-03T20:00:00-05:00");
    assert_eq!(US.zone().rfc3339(bounds.newest.unwrap()), "2024-03-05T19:59:59-05:00");
    // A range up to now has no anchor, and the floor applies.
    let bounds = Bounds::of_dates(&HK, Period::DAY, dates("1999-01-01", "2024-03-08"), now);
    assert_eq!(bounds, Bounds::of_floors(&HK, Floors::published(Market::Hk), Period::DAY));

    let walk = Walk::new(
        series("AAPL.US", Period::MINUTE, Sessions::All),
        Bounds::of_dates(&US, Period::MINUTE, dates("2024-03-04", "2024-03-05"), now),
    );
    let anchor = walk.request(&US).unwrap().anchor.unwrap();
    assert_eq!(
        (anchor.date.to_string().as_str(), anchor.minute),
        ("2024-03-05", Some(20 * 60 + 1)),
        "one step above, in case it is excluded"
    );
}

#[test]
fn candles_newer_than_the_range_are_not_stored() {
    let candles = minutes(&HK, &["2024-03-05", "2024-03-06"]);
    let date: Date = "2024-03-05".parse().unwrap();
    let bounds = Bounds::of_dates(&HK, Period::MINUTE, DateRange { from: date, through: date }, LATER);
    let mut walk = Walk::new(series("700.HK", Period::MINUTE, Sessions::Intraday), bounds);
    let taken = walk.take(&HK, &candles[300..400], LATER);
    assert_eq!(taken.rows, &candles[300..331]);
    assert!(taken.quarantined.iter().all(|bad| bad.reason == Reason::NotRequested));
}

#[test]
fn positions_are_parsed_strictly() {
    for text in [
        "",
        "1",
        "2 0 included start",
        "1 0 included",
        "1 0 included start now",
        "1 0 maybe start",
        "1 0 included done well",
        "1 0 included at final 1 2 3",
    ] {
        assert!(text.parse::<Position>().is_err(), "{text}");
    }
    assert_eq!("1 0 included start".parse(), Ok(Position::START));
}

#[test]
fn only_stored_periods_are_mirrored() {
    let of = |period: &str| {
        Series::new("700.HK".parse().unwrap(), period.parse().unwrap(), Adjust::None, Sessions::All)
    };
    assert_eq!(of("week").unwrap_err().to_string(), "week candles are not stored: mirror day or 1m candles");
    assert_eq!(of("1m").unwrap().sessions(), Sessions::Intraday, "Hong Kong has no other");
    assert_eq!(series("AAPL.US", Period::MINUTE, Sessions::All).to_string(), "AAPL.US 1m all sessions");
    assert_eq!(series("AAPL.US", Period::DAY, Sessions::All).to_string(), "AAPL.US day");
}
