//! Tests single trades: their types, their trading hours, candles built from them, and capital
//! flow.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use market::{
    CapitalClasses, CapitalDay, ClassShares, Date, DaySizes, FlowTrade, Market, Price, Session, Timestamp,
    Trade, TradeCandles, TradeDirection, TradeEffect, TradeHours, TradeType, Trades, Venue,
};

fn venue(market: Market) -> Venue {
    Venue::built_in(market).unwrap()
}

fn day() -> Date {
    "2026-03-18".parse().unwrap()
}

fn seconds_of(clock: &str) -> i64 {
    clock.split(':').fold(0, |sum, part| sum * 60 + part.parse::<i64>().unwrap())
}

/// Parses lines such as `09:30:05 12.50 100 up U`: time of day, price, volume, direction (`-` if
/// not reported) and type.
fn trades(venue: &Venue, lines: &str) -> Trades {
    let mut trades = Trades::default();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let seconds = seconds_of(words[0]);
        let direction = words.get(3).filter(|word| **word != "-").copied().unwrap_or_default();
        trades.push(Trade {
            time: venue.zone().instant(day(), seconds),
            price: Price::parse(words[1]).unwrap(),
            volume: words[2].parse().unwrap(),
            direction: TradeDirection::parse(direction.as_bytes()).unwrap(),
            kind: TradeType::parse(words.get(4).copied().unwrap_or_default().as_bytes(), venue.market())
                .unwrap(),
        });
    }
    trades
}

#[test]
fn d7_trade_types_have_the_specified_effects() {
    let effects = |market: Market, session: Session, letters: &str| -> String {
        letters
            .bytes()
            .map(|letter| match TradeType::parse(&[letter], market).unwrap().effect(market, session) {
                TradeEffect::PriceAndVolume => 'b',
                TradeEffect::VolumeOnly => 'v',
                TradeEffect::Nothing => '-',
            })
            .collect()
    };
    assert_eq!(effects(Market::Hk, Session::Intraday, "UDMPXY*"), "bvvvvv-");
    assert_eq!(effects(Market::Us, Session::Intraday, "ABDEFKSX1CGHVWIMPQ"), "bbbbbbbbbvvvvvv---");
    assert_eq!(effects(Market::Us, Session::Overnight, "I"), "v");
    assert_eq!(effects(Market::Us, Session::Pre, "I"), "b");
    assert_eq!(effects(Market::Us, Session::Post, "I"), "b");
    assert_eq!(effects(Market::Cn, Session::Intraday, "DMX"), "bbb");
    for (market, wrong) in [(Market::Hk, "Z"), (Market::Us, "*"), (Market::Us, "AB"), (Market::Cn, "*")] {
        assert_eq!(TradeType::parse(wrong.as_bytes(), market), None, "{market} {wrong}");
    }
}

#[test]
fn a3_a4_trades_are_assigned_to_minutes_or_only_to_the_day() {
    let places = |market: Market, clocks: &[&str]| -> Vec<String> {
        let venue = venue(market);
        let mut hours = TradeHours::new(&venue);
        let place = |clock: &&str| {
            let seconds = seconds_of(clock);
            match hours.place(venue.zone().instant(day(), seconds)) {
                Ok(place) => {
                    let minute = place
                        .minute
                        .map_or("day alone".to_owned(), |at| venue.zone().rfc3339(at)[11..16].to_owned());
                    format!("{clock} {} {} {minute}", place.day, place.session)
                }
                Err(flaw) => format!("{clock} {flaw}"),
            }
        };
        clocks.iter().map(place).collect()
    };
    let hk = [
        "09:20:00", "09:30:00", "11:59:59", "12:00:00", "13:00:59", "15:59:59", "16:00:00", "16:08:37",
        "16:10:00", "16:29:59", "16:30:00", "08:59:59",
    ];
    assert_eq!(
        places(Market::Hk, &hk),
        [
            "09:20:00 2026-03-18 intraday day alone",
            "09:30:00 2026-03-18 intraday 09:30",
            "11:59:59 2026-03-18 intraday 11:59",
            "12:00:00 2026-03-18 intraday day alone",
            "13:00:59 2026-03-18 intraday 13:00",
            "15:59:59 2026-03-18 intraday 15:59",
            "16:00:00 2026-03-18 intraday 16:00",
            "16:08:37 2026-03-18 intraday 16:00",
            "16:10:00 2026-03-18 intraday day alone",
            "16:29:59 2026-03-18 intraday day alone",
            "16:30:00 outside the trading hours of its day",
            "08:59:59 outside the trading hours of its day",
        ]
    );
    assert_eq!(
        places(Market::Us, &["03:59:59", "04:00:00", "09:30:00", "16:00:00", "20:00:00"]),
        [
            "03:59:59 2026-03-18 overnight 03:59",
            "04:00:00 2026-03-18 pre 04:00",
            "09:30:00 2026-03-18 intraday 09:30",
            "16:00:00 2026-03-18 post 16:00",
            "20:00:00 2026-03-19 overnight 20:00",
        ]
    );
    assert_eq!(
        places(Market::Cn, &["09:25:00", "11:30:00", "15:09:59", "15:10:00"]),
        [
            "09:25:00 2026-03-18 intraday day alone",
            "11:30:00 2026-03-18 intraday day alone",
            "15:09:59 2026-03-18 intraday 15:00",
            "15:10:00 2026-03-18 intraday day alone",
        ]
    );
    let venue = venue(Market::Hk);
    let sunday = venue.zone().instant("2026-03-15".parse().unwrap(), 36_000);
    assert!(TradeHours::new(&venue).place(sunday).is_err());
}

fn spell(venue: &Venue, candles: &TradeCandles) -> Vec<String> {
    let line = |candle: market::Candle| {
        format!(
            "{} {} {} {} {} {} {} {}",
            &venue.zone().rfc3339(candle.time)[5..16],
            candle.open.text(2),
            candle.high.text(2),
            candle.low.text(2),
            candle.close.text(2),
            candle.volume,
            candle.turnover.text(),
            candle.session
        )
    };
    candles.minutes.iter().chain(candles.day).map(line).collect()
}

#[test]
fn d7_candles_follow_the_effects_of_trade_types() {
    let venue = venue(Market::Hk);
    let trades = trades(
        &venue,
        "09:20:10 10.00 500 - U
         09:30:00 10.10 100
         09:30:59 10.30 200
         09:30:59 99.00 30 - D
         09:31:00 50.00 100 - *
         09:32:00 77.00 100 - X
         16:00:00 10.20 100
         16:08:37 10.25 900 - U
         16:15:00 10.25 100 - P",
    );
    let built = TradeCandles::of(&venue, day(), &trades).unwrap();
    assert_eq!(
        spell(&venue, &built),
        [
            "03-18T09:30 10.10 10.30 10.10 10.30 330 6040.000 intraday",
            "03-18T16:00 10.20 10.25 10.20 10.25 1000 10245.000 intraday",
            "03-18T00:00 10.00 10.30 10.00 10.25 2030 30010.000 intraday",
        ]
    );
    for candle in built.minutes.iter().chain(built.day) {
        candle.check().unwrap();
    }
}

#[test]
fn d5_extended_hours_are_not_part_of_the_day() {
    let venue = venue(Market::Us);
    let trades = trades(
        &venue,
        "03:59:59 9.00 10
         04:00:00 9.10 10 - I
         09:30:00 9.50 10
         09:30:01 9.90 5 - I
         16:00:00 9.60 10",
    );
    assert_eq!(
        spell(&venue, &TradeCandles::of(&venue, day(), &trades).unwrap()),
        [
            "03-18T03:59 9.00 9.00 9.00 9.00 10 90.000 overnight",
            "03-18T04:00 9.10 9.10 9.10 9.10 10 91.000 pre",
            "03-18T09:30 9.50 9.50 9.50 9.50 15 144.500 intraday",
            "03-18T16:00 9.60 9.60 9.60 9.60 10 96.000 post",
            "03-18T00:00 9.50 9.50 9.50 9.50 15 144.500 intraday",
        ]
    );
}

fn flows(venue: &Venue, trades: &Trades) -> Vec<String> {
    let mut flows = Vec::new();
    FlowTrade::each(venue, day(), trades, Timestamp(i64::MAX), |trade| {
        let sign = if trade.is_inflow { "+" } else { "-" };
        flows.push(format!(
            "{} {sign}{}",
            &venue.zone().rfc3339(trade.minute)[11..16],
            market::Turnover(trade.amount.into()).text()
        ));
    });
    flows
}

#[test]
fn the_tick_rule_applies_without_a_direction() {
    let venue = venue(Market::Hk);
    let actual = trades(
        &venue,
        "09:20:00 10.00 100 up U
         09:30:00 10.00 100 up
         09:30:01 10.00 100 down
         09:31:00 10.00 100 neutral
         09:31:01 10.00 100 up D
         09:31:02 10.00 100 up *
         12:30:00 10.00 100 up
         16:09:00 10.00 100 up U",
    );
    assert_eq!(flows(&venue, &actual), ["09:30 +1000.000", "09:30 -1000.000", "16:00 +1000.000"]);
    let untold = trades(
        &venue,
        "09:30:00 10.00 100
         09:30:01 10.00 100
         09:30:02 10.10 100
         09:30:03 10.10 100
         09:30:04 20.00 100 - D
         09:30:05 10.00 100
         09:30:06 10.00 100
         09:30:07 10.05 100",
    );
    assert_eq!(
        flows(&venue, &untold),
        ["09:30 +1010.000", "09:30 +1010.000", "09:30 -1000.000", "09:30 -1000.000", "09:30 +1005.000"]
    );
}

#[test]
fn trades_after_now_are_not_counted() {
    let venue = venue(Market::Hk);
    let all = trades(&venue, "09:30:00 10.00 100 up\n09:30:30 10.00 100 up\n09:31:00 10.00 100 up");
    let now = venue.zone().instant(day(), 9 * 3600 + 30 * 60 + 30);
    let mut seen = 0;
    FlowTrade::each(&venue, day(), &all, now, |_| seen += 1);
    assert_eq!(seen, 2);
}

#[test]
fn thresholds_are_computed_by_adding_amounts_in_descending_order() {
    let of = |amounts: &[i64], large, medium| {
        CapitalClasses::of(&[&DaySizes::of(amounts.to_vec())], ClassShares { large, medium })
            .map(|c| (c.large, c.medium))
    };
    // The total is 100: 40 alone reaches 30%, and 40 + 20 reaches 55%.
    assert_eq!(of(&[10, 40, 20, 10, 20], 30, 55), Some((40, 20)));
    // Amounts reach each share exactly.
    assert_eq!(of(&[30, 25, 25, 20], 30, 55), Some((30, 25)));
    // Equal amounts belong to the same class.
    assert_eq!(of(&[10; 10], 30, 55), Some((10, 10)));
    assert_eq!(of(&[7], 30, 55), Some((7, 7)));
    assert_eq!(of(&[], 30, 55), None);
    assert_eq!(of(&[i64::MAX, 1], 100, 100), Some((1, 1)));
    // Compare with a direct implementation of the specification's rule, for amounts of every
    // magnitude.
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % (1 << (state >> 58))).max(1) as i64
    };
    for _ in 0..50 {
        let days: Vec<Vec<i64>> = (0..3).map(|_| (0..200).map(|_| next()).collect()).collect();
        let mut all = days.concat();
        all.sort_unstable_by(|a, b| b.cmp(a));
        let total: i128 = all.iter().map(|a| i128::from(*a)).sum();
        let at = |percent: i128| {
            let mut sum = 0i128;
            *all.iter()
                .find(|amount| {
                    sum += i128::from(**amount);
                    sum * 100 >= total * percent
                })
                .unwrap()
        };
        let sizes: Vec<DaySizes> = days.iter().cloned().map(DaySizes::of).collect();
        let all_days: Vec<&DaySizes> = sizes.iter().collect();
        let classes = CapitalClasses::of(&all_days, ClassShares::default()).unwrap();
        assert_eq!((classes.large, classes.medium), (at(30), at(55)));
    }
}

#[test]
fn net_inflow_equals_the_last_point_of_the_flow() {
    let venue = venue(Market::Hk);
    let trades = trades(
        &venue,
        "09:30:00 10.00 1000 up
         09:30:01 10.00 100 down
         09:31:00 10.00 500 down
         10:00:00 10.00 10 up",
    );
    let classes = CapitalClasses { large: 9_000_000_000, medium: 4_000_000_000 };
    let (mut capital, mut net) = (CapitalDay::default(), 0i128);
    FlowTrade::each(&venue, day(), &trades, Timestamp(i64::MAX), |trade| {
        capital.add(classes, &trade);
        net += i128::from(if trade.is_inflow { trade.amount } else { -trade.amount });
    });
    let spell =
        |by: market::CapitalBySize| format!("{} {} {}", by.large.text(), by.medium.text(), by.small.text());
    assert_eq!(spell(capital.capital_in), "10000.000 0.000 100.000");
    assert_eq!(spell(capital.capital_out), "0.000 5000.000 1000.000");
    assert_eq!(capital.capital_in.sum().0 - capital.capital_out.sum().0, net);
    assert_eq!(capital.last.unwrap(), venue.zone().instant(day(), 36_000));
}

#[test]
fn rounded_sizes_add_up_to_the_rounded_net_flow() {
    let sizes = |large, medium, small| market::CapitalBySize {
        large: market::Turnover(large),
        medium: market::Turnover(medium),
        small: market::Turnover(small),
    };
    let text = |by: market::CapitalBySize| [by.large, by.medium, by.small].map(|sum| sum.text().to_string());
    // If they were rounded independently, the inflows would be 10.123 each and the outflow 5.000,
    // with a net flow of 25.369 instead of 25.370.
    let day = CapitalDay {
        capital_in: sizes(10_123_400, 10_123_400, 10_123_400),
        capital_out: sizes(5_000_000, 0, 0),
        last: None,
    };
    let written = day.in_thousandths();
    assert_eq!(text(written.capital_in), ["10.123", "10.123", "10.124"]);
    assert_eq!(text(written.capital_out), ["5.000", "0.000", "0.000"]);
    // Sums without a fraction of a thousandth are unchanged, and no sum becomes negative.
    let exact = CapitalDay { capital_in: sizes(1_000, 0, 2_000), capital_out: sizes(0, 500, 0), last: None };
    assert_eq!(text(exact.in_thousandths().capital_in), ["0.001", "0.000", "0.002"]);
    assert_eq!(text(exact.in_thousandths().capital_out), ["0.000", "0.000", "0.000"]);
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i128::from((state >> 33) % 4_000)
    };
    for _ in 0..2_000 {
        let day = CapitalDay {
            capital_in: sizes(next(), next(), next()),
            capital_out: sizes(next(), next(), next()),
            last: None,
        };
        let written = day.in_thousandths();
        let net = |day: &CapitalDay| market::Turnover(day.capital_in.sum().0 - day.capital_out.sum().0);
        assert_eq!(net(&written).text().to_string(), net(&day).text().to_string(), "{day:?}");
        for (by, exact) in [(written.capital_in, day.capital_in), (written.capital_out, day.capital_out)] {
            for (sum, exact) in [(by.large, exact.large), (by.medium, exact.medium), (by.small, exact.small)]
            {
                assert!(sum.0 >= 0 && sum.0 % 1_000 == 0 && (sum.0 - exact.0).abs() < 1_000, "{day:?}");
            }
        }
    }
}
