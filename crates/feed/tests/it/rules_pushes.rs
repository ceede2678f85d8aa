//! Examples U5, U7, U12, U14 to U19, Q7, Q8, I1 to I3 and I8 to I10 of the specification: pushes
//! with their times, figures and sequence numbers.

use feed::{
    Board, Clock, Growth, Minute, Phase, Push, QuotePush, Replay, Sequence, StatusChange, Tag, TradeStatus,
    Update, corrected, end_of_day,
};
use market::{
    Candle, Candles, Market, Price, Session, Timestamp, Trade, TradeDirection, TradeType, Trades, Turnover,
    Venue,
};

use crate::client::{Built, Client};
use crate::common::{at, candles, day, minute, push_text, symbol, venue};

/// Checks that the pushes in a window of local times equal `expected`. Each line has the local
/// time, the phase and the push.
fn check(venue: &Venue, replay: &Replay<'_>, window: (&str, &str), expected: &[&str]) {
    let dues = replay.between(at(venue, window.0), at(venue, window.1));
    let lines = dues.iter().flat_map(|due| {
        let (_, seconds) = venue.zone().local(due.at);
        let head = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
        due.pushes.iter().map(move |push| format!("{head} {:?} {}", due.phase, push_text(push)))
    });
    assert_eq!(lines.collect::<Vec<_>>(), expected, "{window:?}");
}

fn u14_minutes(venue: &Venue) -> Candles {
    candles(&[
        minute(venue, "2026-03-18 09:30", "300 302 299 301 10000 3005000"),
        minute(venue, "2026-03-18 09:31", "301 303 300 302 8000 2412000"),
    ])
}

#[test]
fn u14_a_minute_completes_before_the_next_minute_opens() {
    let (venue, symbol) = (venue(Market::Hk), symbol("700.HK"));
    let (minutes, days) = (u14_minutes(venue), Candles::default());
    let replay = Replay {
        symbol: &symbol,
        board: Board::Security,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    check(
        venue,
        &replay,
        ("2026-03-18 09:29", "2026-03-18 09:30"),
        &[
            "09:30:00 Opens 104 1773797400000000 300.000 x 0 at +1773797400",
            "09:30:00 Opens 101 1773797400000000 last 300.000 open 300.000 high 300.000 low 300.000 volume 0 \
             turnover 0.000 current 0 / 0.000 at 1773797400",
        ],
    );
    check(
        venue,
        &replay,
        ("2026-03-18 09:30", "2026-03-18 09:31"),
        &[
            "09:31:00 Acts 104 1773797460000000 299.000 x 0 at +1773797420, 302.000 x 0 at +1773797440, \
             300.500 x 10000 at +1773797459, 301.000 x 0 at +1773797459",
            "09:31:00 Acts 101 1773797460000000 last 301.000 open 300.000 high 302.000 low 299.000 volume 10000 \
             turnover 3005000.000 current 10000 / 3005000.000 at 1773797459",
            "09:31:00 Opens 104 1773797460000001 301.000 x 0 at +1773797460",
            "09:31:00 Opens 101 1773797460000001 last 301.000 open 300.000 high 302.000 low 299.000 volume 10000 \
             turnover 3005000.000 current 0 / 0.000 at 1773797460",
        ],
    );
    check(venue, &replay, ("2026-03-18 09:31", "2026-03-18 09:31:59"), &[]);
}

#[test]
fn u16_the_client_rebuilds_the_stored_candles() {
    let (venue, symbol) = (venue(Market::Hk), symbol("700.HK"));
    let (minutes, days) = (u14_minutes(venue), Candles::default());
    let replay = Replay {
        symbol: &symbol,
        board: Board::Security,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    let mut client = Client::new(venue, Board::Security);
    let mut advance = |from: &str, to: &str| {
        let dues = replay.between(at(venue, from), at(venue, to));
        dues.iter().flat_map(|due| &due.pushes).for_each(|push| client.take(push));
        let built: Vec<Built> = client.minutes.values().copied().collect();
        (built, client.day.unwrap().1)
    };
    let built = |values: &str| Built::of(&minute(venue, "2026-03-18 09:30", values));
    let (minutes, day) = advance("2026-03-18 09:00", "2026-03-18 09:31");
    assert_eq!(minutes, [built("300 302 299 301 10000 3005000"), built("301 301 301 301 0 0")]);
    assert_eq!(day, built("300 302 299 301 10000 3005000"));
    let (minutes, day) = advance("2026-03-18 09:31", "2026-03-18 09:32");
    assert_eq!(minutes, [built("300 302 299 301 10000 3005000"), built("301 303 300 302 8000 2412000")]);
    assert_eq!(day, built("300 303 299 302 18000 5417000"));
}

#[test]
fn u5_an_unchanged_minute_pushes_nothing_when_it_completes() {
    let (venue, symbol) = (venue(Market::Hk), symbol("700.HK"));
    let minutes = candles(&[minute(venue, "2026-03-18 10:04", "305.4 305.4 305.4 305.4 0 0")]);
    let days = Candles::default();
    let replay = Replay {
        symbol: &symbol,
        board: Board::Security,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    assert_eq!(replay.between(at(venue, "2026-03-18 10:03"), at(venue, "2026-03-18 10:04")).len(), 1);
    check(venue, &replay, ("2026-03-18 10:04", "2026-03-18 10:10"), &[]);
}

#[test]
fn u12_an_index_pushes_a_quote_for_every_price_in_its_path() {
    let (venue, symbol) = (venue(Market::Hk), symbol("HSI.HK"));
    let minutes =
        candles(&[minute(venue, "2026-03-18 10:01", "18000.1 18010.5 17995 18005.2 1000000 250000000")]);
    let days = Candles::default();
    let replay = Replay {
        symbol: &symbol,
        board: Board::Index,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    let after = "open 18000.100 high 18010.500 low 17995.000 volume 1000000 turnover 250000000.000";
    check(
        venue,
        &replay,
        ("2026-03-18 10:00", "2026-03-18 10:02"),
        &[
            "10:01:00 Opens 101 1773799260000000 last 18000.100 open 18000.100 high 18000.100 low 18000.100 \
             volume 0 turnover 0.000 current 0 / 0.000 at 1773799260",
            &format!(
                "10:02:00 Acts 101 1773799320000000 last 17995.000 {after} current 0 / 0.000 at 1773799280"
            ),
            &format!(
                "10:02:00 Acts 101 1773799320000001 last 18010.500 {after} current 0 / 0.000 at 1773799300"
            ),
            &format!(
                "10:02:00 Acts 101 1773799320000002 last 18005.200 {after} current 1000000 / 250000000.000 \
                 at 1773799319"
            ),
        ],
    );
}

#[test]
fn an_index_close_is_not_repeated_after_an_equal_extreme() {
    let (venue, symbol) = (venue(Market::Hk), symbol("HSI.HK"));
    let days = Candles::default();
    let lasts = |values: &str| {
        let minutes = candles(&[minute(venue, "2026-03-18 10:01", values)]);
        let replay = Replay {
            symbol: &symbol,
            board: Board::Index,
            venue,
            minutes: &minutes,
            days: &days,
            trades: None,
            statuses: &[],
            last: None,
        };
        let dues = replay.between(at(venue, "2026-03-18 10:01"), at(venue, "2026-03-18 10:02"));
        let quotes = dues.iter().flat_map(|due| &due.pushes).map(|push| match push {
            Push::Quote(quote) => {
                let second = quote.time.0 - at(venue, "2026-03-18 10:01").0;
                format!("{} +{second} {}", quote.figures.last.text(0), quote.growth.volume)
            }
            Push::Trades(_) => panic!("an index has no trades"),
        });
        quotes.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(lasts("100 105 99 105 7 0"), "99 +20 0, 105 +40 7");
    assert_eq!(lasts("100 100 100 100 7 0"), "100 +59 7");
    assert_eq!(lasts("100 101 100 100 7 0"), "101 +20 0, 100 +59 7");
    assert_eq!(lasts("100 100 100 100 0 0"), "");
    assert_eq!(lasts("100 100 100 100 0 9"), "100 +0 0");
}

#[test]
fn an_index_pushes_nothing_outside_regular_hours() {
    let (venue, symbol) = (venue(Market::Us), symbol(".DJI.US"));
    let minutes = candles(&[minute(venue, "2026-07-15 09:29", "100 101 99 100 7 700")]);
    let days = Candles::default();
    let replay = Replay {
        symbol: &symbol,
        board: Board::Index,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    check(venue, &replay, ("2026-07-15 09:00", "2026-07-15 16:00"), &[]);
}

#[test]
fn u7_u17_the_tail_is_pushed_before_the_daily_candle() {
    let (venue, symbol) = (venue(Market::Hk), symbol("700.HK"));
    let minutes = candles(&[minute(venue, "2026-03-18 16:00", "304.6 304.6 304.6 304.6 900000 274140000")]);
    let days = candles(&[day(venue, "2026-03-18", "300 310 295 308 9000000 2727000000")]);
    let replay = Replay {
        symbol: &symbol,
        board: Board::Security,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    check(venue, &replay, ("2026-03-18 09:00", "2026-03-18 16:09:59"), &[]);
    check(
        venue,
        &replay,
        ("2026-03-18 16:09:59", "2026-03-19 09:00"),
        &[
            "16:10:00 Acts 104 1773821400000000 304.600 x 0 at +1773821280 [U], \
             304.600 x 900000 at +1773821280 [U]",
            "16:10:00 Acts 101 1773821400000000 last 304.600 open 304.600 high 304.600 low 304.600 \
             volume 900000 turnover 274140000.000 current 900000 / 274140000.000 at 1773821280",
            "16:10:00 EndOfDay 101 1773821400000001 last 308.000 open 300.000 high 310.000 low 295.000 \
             volume 9000000 turnover 2727000000.000 current 0 / 0.000 at 1773821400",
        ],
    );
    let mut client = Client::new(venue, Board::Security);
    let dues = replay.between(at(venue, "2026-03-18 09:00"), at(venue, "2026-03-19 09:00"));
    dues.iter().flat_map(|due| &due.pushes).for_each(|push| client.take(push));
    assert_eq!(client.day.unwrap().1, Built::of(&days.get(0).unwrap()));
    assert_eq!(client.minutes.into_values().collect::<Vec<_>>(), [Built::of(&minutes.get(0).unwrap())]);
}

#[test]
fn u18_u19_stored_trades_are_pushed_at_their_seconds() {
    let (venue, symbol) = (venue(Market::Hk), symbol("700.HK"));
    let mut trades = Trades::default();
    for (time, price, volume) in [("10:01:03", "305.2", 100), ("10:01:41", "305", 200)] {
        trades.push(Trade {
            time: at(venue, &format!("2026-03-18 {time}")),
            price: Price::parse(price).unwrap(),
            volume,
            direction: TradeDirection::Up,
            kind: TradeType::BLANK,
        });
    }
    let days = Candles::default();
    for (candle, acts) in [
        (
            "305.2 305.2 305 305.1 500 152560",
            &[
                "10:02:00 Acts 104 1773799320000000 305.200 x 200 at +1773799319, 305.100 x 0 at +1773799319",
                "10:02:00 Acts 101 1773799320000000 last 305.100 open 305.200 high 305.200 low 305.000 volume 500 \
                 turnover 152560.000 current 200 / 61040.000 at 1773799319",
            ][..],
        ),
        // The candle does not continue the low that was pushed.
        (
            "305.2 305.2 305.1 305.1 500 152560",
            &[
                "10:02:00 Acts 101 1773799320000000 last 305.100 open 305.200 high 305.200 low 305.100 volume 500 \
               turnover 152560.000 current 0 / 0.000 at 1773799319",
            ],
        ),
    ] {
        let minutes = candles(&[minute(venue, "2026-03-18 10:01", candle)]);
        let replay = Replay {
            symbol: &symbol,
            board: Board::Security,
            venue,
            minutes: &minutes,
            days: &days,
            trades: Some(&trades),
            statuses: &[],
            last: None,
        };
        check(venue, &replay, ("2026-03-18 10:00", "2026-03-18 10:01:02"), &[]);
        let dues = replay.between(at(venue, "2026-03-18 10:00"), at(venue, "2026-03-18 10:02"));
        let unreachable = dues.iter().filter(|due| due.is_unreachable).count();
        assert_eq!(unreachable, usize::from(acts.len() == 1));
        assert_eq!(replay.latest(at(venue, "2026-03-18 10:01:02"), |_| true), None);
        check(
            venue,
            &replay,
            ("2026-03-18 10:01:02", "2026-03-18 10:01:59"),
            &[
                "10:01:03 Opens 104 1773799263000000 305.200 x 100 at +1773799263",
                "10:01:03 Opens 101 1773799263000000 last 305.200 open 305.200 high 305.200 low 305.200 volume 100 \
                 turnover 30520.000 current 100 / 30520.000 at 1773799263",
                "10:01:41 Opens 104 1773799301000000 305.000 x 200 at +1773799301",
                "10:01:41 Opens 101 1773799301000000 last 305.000 open 305.200 high 305.200 low 305.000 volume 300 \
                 turnover 91520.000 current 200 / 61000.000 at 1773799301",
            ],
        );
        check(venue, &replay, ("2026-03-18 10:01:59", "2026-03-18 10:02"), acts);
        let first = replay.latest(at(venue, "2026-03-18 10:01:50"), |_| true).unwrap();
        assert_eq!((first.time, first.figures.volume), (Timestamp(1_773_799_301), 300));
    }
}

#[test]
fn a_stored_trade_that_changes_nothing_has_no_quote() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let mut trades = Trades::default();
    // Trades of type M change neither price nor volume, and trades of type W only volume.
    for (time, kind) in [("09:31:03", b'M'), ("09:31:10", b' '), ("09:31:20", b'M'), ("09:31:30", b'W')] {
        trades.push(Trade {
            time: at(venue, &format!("2026-07-15 {time}")),
            price: Price::parse("190").unwrap(),
            volume: 10,
            direction: TradeDirection::Neutral,
            kind: TradeType::from_code(kind).unwrap_or(TradeType::BLANK),
        });
    }
    let minutes = candles(&[minute(venue, "2026-07-15 09:31", "190 190 190 190 20 3800")]);
    let days = Candles::default();
    let replay = Replay { trades: Some(&trades), ..Replay::new(&symbol, venue, &minutes, &days) };
    let pushed = replay.between(at(venue, "2026-07-15 09:30"), at(venue, "2026-07-15 09:32"));
    let kinds = |due: &feed::Due| {
        let is_quote = |push: &Push| matches!(push, Push::Quote(_));
        (due.at.0 - minutes.time[0], due.pushes.iter().map(is_quote).collect::<Vec<bool>>())
    };
    let expected = [(3, vec![false]), (10, vec![false, true]), (20, vec![false]), (30, vec![false, true])];
    assert_eq!(pushed.iter().map(kinds).collect::<Vec<_>>(), expected, "nothing at 09:32:00");
    let first = replay.latest(at(venue, "2026-07-15 09:31:25"), |_| true).unwrap();
    assert_eq!((first.time.0 - minutes.time[0], first.figures.volume), (10, 10));
}

/// Returns single-share trades of 15 July 2026: time, price, volume and type.
fn us_trades(venue: &Venue, rows: &[(&str, &str, i64, u8)]) -> Trades {
    let mut trades = Trades::default();
    for (time, price, volume, kind) in rows {
        trades.push(Trade {
            time: at(venue, &format!("2026-07-15 {time}")),
            price: Price::parse(price).unwrap(),
            volume: *volume,
            direction: TradeDirection::Neutral,
            kind: TradeType::from_code(*kind).unwrap_or(TradeType::BLANK),
        });
    }
    trades
}

#[test]
fn a_minute_without_a_candle_is_the_fold_of_its_trades() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let rows = [("09:31:50", "190", 10, 0), ("09:32:03", "190.1", 5, 0), ("09:32:03", "190.2", 6, b'W')];
    let trades = us_trades(venue, &[&rows[..], &[("09:32:09", "190.3", 7, 0)]].concat());
    let minutes = candles(&[minute(venue, "2026-07-15 09:31", "190 190 190 190 10 1900")]);
    let days = Candles::default();
    let replay = Replay { trades: Some(&trades), ..Replay::new(&symbol, venue, &minutes, &days) };
    check(
        venue,
        &replay,
        ("2026-07-15 09:32", "2026-07-15 09:40"),
        &[
            "09:32:03 Opens 104 1784122323000000 190.100 x 5 at +1784122323, 190.200 x 6 at +1784122323 [W]",
            "09:32:03 Opens 101 1784122323000000 last 190.100 open 190.000 high 190.100 low 190.000 volume 21 \
             turnover 3991.700 current 11 / 2091.700 at 1784122323",
            "09:32:09 Opens 104 1784122329000000 190.300 x 7 at +1784122329",
            "09:32:09 Opens 101 1784122329000000 last 190.300 open 190.000 high 190.300 low 190.000 volume 28 \
             turnover 5323.800 current 7 / 1332.100 at 1784122329",
        ],
    );
    let dues = replay.between(at(venue, "2026-07-15 09:30"), at(venue, "2026-07-15 09:40"));
    assert!(dues.iter().all(|due| !due.is_unreachable));
    let last = replay.latest(at(venue, "2026-07-15 09:40"), |_| true).unwrap();
    assert_eq!((last.figures.volume, last.time), (28, at(venue, "2026-07-15 09:32:09")));
    let index = Replay { board: Board::Index, ..replay };
    assert_eq!(index.between(at(venue, "2026-07-15 09:32"), at(venue, "2026-07-15 09:40")), []);
}

#[test]
fn volume_before_the_first_price_is_counted_once() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let days = Candles::default();
    let volume = [("09:32:03", "190.2", 10, b'W'), ("09:32:08", "190.2", 20, b'W')];
    let price = [("09:32:20", "190.1", 5, 0)];
    for (trades, figures, is_unreachable) in [
        (us_trades(venue, &volume), "190.1 190.2 190 190.1 100 19010", false),
        (us_trades(venue, &volume), "190.2 190.2 190.2 190.2 30 5706", false),
        (us_trades(venue, &[&volume[..], &price].concat()), "190.1 190.2 190 190.1 100 19010", false),
        // Clients have counted more volume than the candle has.
        (us_trades(venue, &volume), "190.1 190.2 190 190.1 29 5510", true),
    ] {
        let before = minute(venue, "2026-07-15 09:31", "190 190.1 190 190.1 10 1900");
        let known = minute(venue, "2026-07-15 09:32", figures);
        let minutes = candles(&[before, known]);
        let replay = Replay { trades: Some(&trades), ..Replay::new(&symbol, venue, &minutes, &days) };
        let dues = replay.between(at(venue, "2026-07-15 09:30"), at(venue, "2026-07-15 09:33"));
        assert_eq!(dues.iter().any(|due| due.is_unreachable), is_unreachable, "{figures}");
        let mut client = Client::new(venue, Board::Security);
        dues.iter().flat_map(|due| &due.pushes).for_each(|push| client.take(push));
        let built = client.minutes[&(Session::Intraday, known.time)];
        let (volume, turnover) = if is_unreachable { (30, 5706) } else { (known.volume, 0) };
        assert_eq!(built.volume, volume, "{figures}");
        if is_unreachable {
            assert_eq!(built.turnover, turnover * 100_000_000);
        } else if figures.starts_with("190.1") {
            assert_eq!(built, Built::of(&known));
        } else {
            // The client's candle includes the last close.
            assert_eq!(built, Built { low: Price::parse("190.1").unwrap().into(), ..Built::of(&known) });
        }
        // The quote has the complete volume of the minute.
        assert_eq!(client.day.unwrap().1.volume, 10 + known.volume);
    }
}

#[test]
fn a_first_push_is_not_tagged() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let candle = day(venue, "2026-07-15", "190 190.6 189.9 190.3 9000 1711000");
    let last = end_of_day(&symbol, Board::Security, venue, &candle, &mut Sequence::default()).unwrap();
    let revised = QuotePush { tag: Tag::Eod, ..last.clone() };
    assert_eq!(revised.first(), last);
}

#[test]
fn q7_a_half_day_in_new_york_ends_at_13_00() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let minutes = candles(&[
        minute(venue, "2025-11-28 12:59", "190 190 190 190 10 1900"),
        minute(venue, "2025-11-28 13:00", "190 190 190 190 10 1900"),
    ]);
    let days = candles(&[day(venue, "2025-11-28", "189 191 188 190 1000 190000")]);
    let replay = Replay {
        symbol: &symbol,
        board: Board::Security,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    let dues = replay.between(at(venue, "2025-11-28 12:59:59"), at(venue, "2025-11-28 13:00"));
    let phases: Vec<Phase> = dues.iter().map(|due| due.phase).collect();
    assert_eq!(phases, [Phase::Acts, Phase::Opens, Phase::EndOfDay]);
    let sessions = dues.iter().flat_map(|due| &due.pushes).filter_map(|push| match push {
        Push::Trades(trades) => Some(trades.session),
        Push::Quote(_) => None,
    });
    assert_eq!(sessions.collect::<Vec<_>>(), [Session::Intraday, Session::Post]);
    let Some(Push::Quote(end)) = dues.last().and_then(|due| due.pushes.last()) else { panic!() };
    assert_eq!((end.time, end.session), (Timestamp(1_764_352_800), Session::Intraday));
    // The end-of-day quote is the third quote at this instant, so its sequence number ends in 2.
    assert_eq!(end.sequence, 1_764_352_800_000_002);
}

#[test]
fn q8_a_half_day_in_hong_kong_ends_at_12_10() {
    let (venue, symbol) = (venue(Market::Hk), symbol("700.HK"));
    let minutes = candles(&[minute(venue, "2026-02-16 12:00", "300.4 300.4 300.4 300.4 40000 12016000")]);
    let days = candles(&[day(venue, "2026-02-16", "300 301 299 300.4 50000 15020000")]);
    let replay = Replay {
        symbol: &symbol,
        board: Board::Security,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    let dues = replay.between(at(venue, "2026-02-16 09:00"), at(venue, "2026-02-16 12:10"));
    assert!(dues.iter().all(|due| due.at == at(venue, "2026-02-16 12:10")));
    let [acts, end] = dues.as_slice() else { panic!("{dues:?}") };
    let Some(Push::Trades(trades)) = acts.pushes.first() else { panic!() };
    assert!(trades.prints.iter().all(|print| print.time == Timestamp(1_771_214_880)));
    assert!(trades.prints.iter().all(|print| print.kind.to_string() == "U"));
    assert!(matches!(end.pushes.as_slice(), [Push::Quote(end)] if end.time == Timestamp(1_771_215_000)));
}

#[test]
fn a_daily_candle_on_a_holiday_is_not_pushed() {
    let (venue, symbol) = (venue(Market::Hk), symbol("700.HK"));
    let (minutes, days) = (Candles::default(), candles(&[day(venue, "2026-03-21", "1 1 1 1 1 1")]));
    let replay = Replay {
        symbol: &symbol,
        board: Board::Security,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    check(venue, &replay, ("2026-03-20 09:00", "2026-03-23 09:00"), &[]);
    assert_eq!(
        end_of_day(&symbol, Board::Security, venue, &days.get(0).unwrap(), &mut Sequence::default()),
        None
    );
}

#[test]
fn a_status_change_is_pushed_with_unchanged_figures() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let minutes = candles(&[
        minute(venue, "2026-07-14 15:59", "189.7 189.7 189.7 189.7 10 1897"),
        minute(venue, "2026-07-15 03:59", "189.8 189.8 189.8 189.8 10 1898"),
        minute(venue, "2026-07-16 09:30", "190 190.2 189.9 190.1 4000 760100"),
    ]);
    let days = Candles::default();
    let change = |time: &str, status| StatusChange { at: at(venue, time), status };
    let statuses =
        [change("2026-07-15 09:30", TradeStatus::Suspended), change("2026-07-16 09:30", TradeStatus::Normal)];
    let replay = Replay { statuses: &statuses, ..Replay::new(&symbol, venue, &minutes, &days) };
    let quotes = |replay: &Replay<'_>, from: &str, until: &str| {
        let dues = replay.between(at(venue, from), at(venue, until));
        let pushes = dues.into_iter().flat_map(|due| due.pushes);
        let quotes = pushes.filter_map(|push| match push {
            Push::Quote(quote) => Some(quote),
            Push::Trades(_) => None,
        });
        quotes.collect::<Vec<QuotePush>>()
    };
    let (from, until) = ("2026-07-14 15:00", "2026-07-16 09:30");
    let all = quotes(&replay, from, until);
    let lines = all.iter().map(|quote| (quote.sequence - at(venue, until).0 * 1_000_000, quote.status));
    let numbers: Vec<_> = lines.filter(|(number, _)| *number >= 0).collect();
    assert_eq!(numbers, [(0, TradeStatus::Normal), (1, TradeStatus::Normal)], "the status, and the open");
    let suspended: Vec<&QuotePush> =
        all.iter().filter(|quote| quote.status == TradeStatus::Suspended).collect();
    let [suspended] = suspended[..] else { panic!("{suspended:?}") };
    // The figures are those of the session visible to all accounts, not of the overnight session,
    // with the time of its last price.
    assert_eq!((suspended.session, suspended.time), (Session::Intraday, at(venue, "2026-07-14 15:59:59")));
    assert_eq!(suspended.sequence, at(venue, "2026-07-15 09:30").0 * 1_000_000);
    assert_eq!((suspended.figures.volume, suspended.growth.volume, suspended.tag), (10, 0, Tag::Normal));
    assert_eq!(
        replay.latest(at(venue, "2026-07-15 12:00"), |s| s != Session::Overnight).as_ref(),
        Some(suspended)
    );
    // A window that begins later repeats the figures of the supplied push.
    let (late, before) = ("2026-07-15 09:29", replay.latest(at(venue, "2026-07-15 00:00"), |_| true));
    assert!(quotes(&replay, late, "2026-07-15 20:00").is_empty());
    let replay = Replay { last: before.as_ref(), ..replay };
    assert_eq!(quotes(&replay, late, "2026-07-15 20:00"), std::slice::from_ref(suspended));
}

#[test]
fn a_first_push_repeats_the_last_quote_without_growth() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let minutes = candles(&[
        minute(venue, "2026-07-14 15:59", "189.7 189.7 189.7 189.7 10 1897"),
        minute(venue, "2026-07-15 03:59", "189.8 189.8 189.8 189.8 10 1898"),
        minute(venue, "2026-07-15 09:30", "190 190.2 189.9 190.1 4000 760100"),
    ]);
    let days = candles(&[day(venue, "2026-07-14", "189 190 188 189.7 1000 189500")]);
    let replay = Replay {
        symbol: &symbol,
        board: Board::Security,
        venue,
        minutes: &minutes,
        days: &days,
        trades: None,
        statuses: &[],
        last: None,
    };
    let first = |time: &str, sees: fn(Session) -> bool| {
        replay.latest(at(venue, time), sees).map(|push| push_text(&Push::Quote(push)))
    };
    let all = |_| true;
    let no_overnight = |session| session != Session::Overnight;
    assert_eq!(first("2026-07-14 15:58:59", all), None);
    let official = "101 1784059200000001 last 189.700 open 189.000 high 190.000 low 188.000 volume 1000 \
                    turnover 189500.000 current 0 / 0.000 at 1784059200";
    assert_eq!(first("2026-07-14 18:00", all).as_deref(), Some(official));
    assert_eq!(first("2026-07-15 04:30", no_overnight).as_deref(), Some(official));
    let overnight = "101 1784102400000000 last 189.800 open 189.800 high 189.800 low 189.800 volume 10 \
                     turnover 1898.000 current 0 / 0.000 at 1784102399";
    assert_eq!(first("2026-07-15 04:30", all).as_deref(), Some(overnight));
    let regular = "101 1784122260000000 last 190.100 open 190.000 high 190.200 low 189.900 volume 4000 \
                   turnover 760100.000 current 0 / 0.000 at 1784122259";
    assert_eq!(first("2026-07-15 12:00", all).as_deref(), Some(regular));
}

fn update<'a>(symbol: &'a market::Symbol, venue: &Venue, known: Candle, now: &str) -> Update<'a> {
    Update {
        symbol,
        board: Board::Security,
        minute: Minute::of(venue, known.time).unwrap(),
        before: None,
        published: None,
        counted: Growth::default(),
        known,
        clock: Clock::Machine { now: at(venue, &format!("2026-07-15 {now}")) },
    }
}

#[test]
fn i1_to_i3_partial_minutes_push_their_growth() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let mut sequence = Sequence::default();
    let mut published = None;
    let mut client = Client::new(venue, Board::Security);
    let rows = [
        ("09:32:05", "190.3 190.3 190.3 190.3 500 95150", 500, 2),
        ("09:32:20", "190.3 190.6 190.3 190.5 1200 228500", 700, 2),
        ("09:32:41", "190.3 190.6 190.1 190.2 2000 380760.500", 800, 4),
        ("09:32:50", "190.3 190.6 190.1 190.2 2000 380760.500", 0, 0),
    ];
    for (now, values, growth, prints) in rows {
        let known = minute(venue, "2026-07-15 09:32", values);
        let mut update = update(&symbol, venue, known, now);
        update.published = published;
        sequence = sequence.at_machine_clock(at(venue, &format!("2026-07-15 {now}")).0 * 1_000_000);
        let outcome = update.publish(&mut sequence);
        published = Some(outcome.published);
        outcome.pushes.iter().for_each(|push| client.take(push));
        match outcome.pushes.as_slice() {
            [Push::Trades(trades), Push::Quote(quote)] => {
                assert_eq!((trades.prints.len(), quote.growth.volume), (prints, growth));
                assert_eq!(quote.time, at(venue, &format!("2026-07-15 {now}")));
                assert_eq!(quote.sequence, quote.time.0 * 1_000_000);
            }
            pushes => assert!(pushes.is_empty() && prints == 0),
        }
        assert_eq!(client.minutes.values().next(), Some(&Built::of(&known)));
    }
}

#[test]
fn turnover_without_volume_pushes_only_a_quote() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let known = |values: &str| minute(venue, "2026-07-15 09:32", values);
    let first = update(&symbol, venue, known("190.3 190.3 190.3 190.3 500 95150"), "09:32:05");
    let published = first.publish(&mut Sequence::default()).published;
    let later = update(&symbol, venue, known("190.3 190.3 190.3 190.3 500 95151"), "09:32:30");
    let outcome = Update { published: Some(published), ..later }.publish(&mut Sequence::default());
    let [Push::Quote(quote)] = outcome.pushes.as_slice() else { panic!("{outcome:?}") };
    assert_eq!(quote.time, at(venue, "2026-07-15 09:32:05"));
    assert_eq!(quote.growth, Growth { volume: 0, turnover: Turnover(1_000_000) });
    assert_eq!(quote.figures.turnover.text().to_string(), "95151.000");
    assert_eq!(outcome.published.last_at, quote.time);
}

#[test]
fn a_corrected_minute_pushes_a_quote_without_growth() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let known = |values: &str| minute(venue, "2026-07-15 09:32", values);
    let first = update(&symbol, venue, known("190.3 190.6 190.3 190.5 500 95150"), "09:32:05");
    let published = first.publish(&mut Sequence::default()).published;
    let later = update(&symbol, venue, known("190.3 190.5 190.3 190.5 700 133150"), "09:32:30");
    let outcome = Update { published: Some(published), ..later }.publish(&mut Sequence::default());
    assert!(outcome.is_correction);
    let [Push::Quote(quote)] = outcome.pushes.as_slice() else { panic!("{outcome:?}") };
    assert_eq!((quote.growth, quote.tag), (Growth::default(), Tag::Normal));
    assert_eq!((quote.figures.high.text(1).to_string(), quote.figures.volume), ("190.5".to_owned(), 700));
    assert_eq!(quote.time, at(venue, "2026-07-15 09:32:05"));
}

#[test]
fn i8_to_i10_corrected_day_figures_push_a_quote() {
    let (venue, symbol) = (venue(Market::Us), symbol("AAPL.US"));
    let candle = day(venue, "2026-07-15", "190 190.6 189.9 190.3 9000 1711000");
    let mut sequence = Sequence { quote: 41, trades: 7 };
    let last = end_of_day(&symbol, Board::Security, venue, &candle, &mut sequence).unwrap();
    assert_eq!((last.time, last.tag, last.sequence), (Timestamp(1_784_145_600), Tag::Normal, 42));

    let mut figures = last.figures;
    assert_eq!(corrected(&last, figures, Tag::Normal, &mut sequence), None);
    figures.high = market::Price::parse("190.5").unwrap();
    let before_the_end = corrected(&last, figures, Tag::Normal, &mut sequence).unwrap();
    assert_eq!(before_the_end, QuotePush { figures, sequence: 43, ..last.clone() });
    let after_the_end = corrected(&last, figures, Tag::Eod, &mut sequence).unwrap();
    assert_eq!(after_the_end, QuotePush { figures, sequence: 44, tag: Tag::Eod, ..last });
}

#[test]
fn machine_clock_sequence_numbers_never_decrease() {
    let last = Sequence { quote: 1_000, trades: 5_000 };
    assert_eq!(last.at_machine_clock(3_000), Sequence { quote: 2_999, trades: 5_000 });
    assert_eq!(last.at_machine_clock(1_000), last);
    assert_eq!(Sequence::at_set_clock(Timestamp(i64::MAX)).quote, i64::MAX - 1);
    assert_eq!(Sequence::default().at_machine_clock(i64::MIN), Sequence::default());
}
