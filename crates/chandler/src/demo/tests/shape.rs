//! Tests of the shape and the end of the generated charts.

use super::*;

#[test]
fn few_minutes_touch_the_extremes_of_a_day() {
    for symbol in [".CHDL.US", "309001.SZ"] {
        let s = security(symbol);
        let (days, minutes) = drawn(symbol);
        let minutes = by_day(s, minutes);
        let mut touches = 0;
        for (date, of_day) in &minutes {
            let day = days.iter().find(|day| venue(s).zone().date(day.time) == *date).unwrap();
            let ticks = (day.high.0 - day.low.0) / s.tick(day.high.0);
            let highs = of_day.iter().filter(|m| m.high == day.high).count();
            let lows = of_day.iter().filter(|m| m.low == day.low).count();
            // On a day with a narrow range, many minutes touch both extremes.
            assert!(ticks < 50 || highs + lows <= 20, "{symbol} {date}: {highs} {lows}");
            touches += highs + lows;
        }
        assert!(touches <= minutes.len() * 8, "{symbol}: {touches} in {} days", minutes.len());
    }
}

#[test]
fn data_generated_in_regular_hours_ends_at_the_open() {
    let today = date(2026, 11, 13);
    for (symbol, market, open, close) in
        [("9001.HK", Market::Hk, (9, 30), (16, 10)), ("CNDL.US", Market::Us, (9, 30), (16, 0))]
    {
        let s = security(symbol);
        let at = |(hour, minute)| instant(market, today, hour, minute);
        let made = |now| made_until(s, venues(), now);
        assert_eq!(made(at((8, 0))), at((8, 0)), "{symbol}");
        assert_eq!(made(at((12, 30))), at(open), "{symbol}");
        assert_eq!(made(Timestamp(at(close).0 - 1)), at(open), "{symbol}");
        assert_eq!(made(at(close)), at(close), "{symbol}");
        assert_eq!(last_day(s, venues(), Timestamp(at(close).0 - 1)), Some(date(2026, 11, 12)), "{symbol}");
        assert_eq!(last_day(s, venues(), at(close)), Some(today), "{symbol}");
        let days = daily(s, venues(), made(at((12, 30))));
        assert_eq!(venue(s).zone().date(days.last().unwrap().time), date(2026, 11, 12), "{symbol}");
    }
    assert_eq!(made_until(security("9001.HK"), venues(), NOW), NOW, "a Saturday");
    let suspended = instant(Market::Hk, date(2025, 5, 12), 18, 0);
    assert_eq!(last_day(security("9002.HK"), venues(), suspended), Some(date(2025, 5, 2)));
}
