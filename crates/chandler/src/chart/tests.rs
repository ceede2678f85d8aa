use expect_test::{Expect, expect};
use jiff::civil::date;
use market::{Market, Minutes, Session, Span, Timestamp, Turnover};

use super::*;

const PLAIN: ChartOptions = ChartOptions { width: 64, height: 18, colour: false, glyphs: Glyphs::Unicode };
const ASCII: ChartOptions = ChartOptions { glyphs: Glyphs::Ascii, ..PLAIN };

fn zone() -> Zone {
    Zone::of(Market::Hk)
}

fn candle(time: Timestamp, prices: [i64; 4], volume: i64) -> Candle {
    let [open, high, low, close] = prices.map(|thousandths| Price(thousandths * 1000));
    Candle { time, open, high, low, close, volume, turnover: Turnover(0), session: Session::Intraday }
}

/// Returns daily candles from 2026-01-05, weekends included. The price trend changes direction
/// every 20 days.
fn days(count: usize) -> Candles {
    let first = zone().midnight(date(2026, 1, 5)).0;
    let mut price = 20_000;
    let mut make = |index: usize| {
        let swing = [150, -80, 210, 0, -120, 90, -30][index % 7];
        let trend = if (index / 20).is_multiple_of(2) { 60 } else { -70 };
        let open = price + [0, 40, -30][index % 3];
        price += if swing == 0 { open - price } else { swing + trend };
        let (high, low) =
            (open.max(price) + 50 + 10 * (index as i64 % 5), open.min(price) - 20 * (index as i64 % 4));
        candle(
            Timestamp(first + index as i64 * 86_400),
            [open, high, low, price],
            1000 * (3 + (index as i64 * 7) % 11),
        )
    };
    (0..count).map(&mut make).collect()
}

fn minutes(count: i64) -> Candles {
    let first = zone().instant(date(2026, 1, 5), 15 * 3600 + 1800).0;
    let next_day = zone().instant(date(2026, 1, 6), 9 * 3600 + 1800).0;
    let time = |index: i64| if index < 30 { first + index * 60 } else { next_day + (index - 30) * 60 };
    let price = |index: i64| 5_000 + (index * 37) % 90;
    let make =
        |i: i64| candle(Timestamp(time(i)), [price(i), price(i) + 100, price(i) - 5, price(i + 1)], 100 * i);
    (0..count).map(make).collect()
}

/// Replaces the prices of a candle with values near the maximum.
fn huge(c: Candle) -> Candle {
    let prices = [9_000_000_000_000_000, 9_200_000_000_000_000, 8_999_999_999_999_999, 9_100_000_000_000_000];
    candle(c.time, prices, i64::MAX)
}

fn check(chart: &str, options: ChartOptions, expected: Expect) {
    for line in chart.lines() {
        assert!(text::width(line) <= usize::from(options.width), "too wide: {line}");
    }
    assert!(chart.lines().count() <= usize::from(options.height), "too high:\n{chart}");
    // Trailing blanks are trimmed for the snapshot.
    let trimmed: String = chart.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    expected.assert_eq(&trimmed);
}

fn check_days(title: &str, candles: &Candles, options: ChartOptions, expected: Expect) {
    check(&draw(title, candles, &zone(), Period::DAY, 3, options), options, expected);
}

#[test]
fn a_chart_shows_prices_volumes_and_times() {
    check_days(
        "9001.HK Lamplight Harbour",
        &days(40),
        PLAIN,
        expect![[r#"
            9001.HK Lamplight Harbour                        day, 40 candles
                                            ╻╷╷╽▄╽█╽┴█              │
                                          ╷ ┃┴▀╿▀╹█┃ █╽▄╽╷╻┼▄ ╷     ├ 21.500
                                          ┃█╹      ╵ ╵╹▀╹█┃╵█╽█╻▄╽╷╷│
                                        ╽▄┃               ╵   ▀┃█┃┴█│
                                     ╽┬▄┃ ╵                        ▀│◂21.110
                                   ╷╷┃ ╵                            │
                                   ┃╹╹                              │
                              ╷╷▄╽┃╿                                ├ 20.500
                              ┃┼█┃                                  │
                            ╽█┃                                     │
                            ┃ ╹                                     ├ 20.000
                             ▄ █▃ ▆▁ ▅  ▄ █▃ ▆▁ ▅  ▄ █▃ ▆▁ ▅  ▄ █▃ ▆├ 13.0K
                            ▃█▇██▆██▄██▃█▇██▆██▄██▃█▇██▆██▄██▃█▇██▆█│
            ────────────────┬──────────────────────────┬────────────┘
                            2026-01-05                 2026-02
            2026-02-13  O 21.300  H 21.390  L 21.050  C 21.110  V 12000
            -0.89%  range 20.000 to 21.810  Asia/Hong_Kong
        "#]],
    );
}

#[test]
fn an_ascii_chart_shows_prices_volumes_and_times() {
    check_days(
        "9001.HK Lamplight Harbour",
        &days(40),
        ASCII,
        expect![[r#"
            9001.HK Lamplight Harbour                        day, 40 candles
                                            O||O#O#O-#              |
                                          | O-#O#O#O #O#O|O-# |     + 21.500
                                          O#O      | |O#O#O|#O#O#O|||
                                        O#O               |   #O#O-#|
                                     O-#O |                        #|<21.110
                                   ||O |                            |
                                   OOO                              |
                              ||#OOO                                + 20.500
                              O-#O                                  |
                            O#O                                     |
                            O O                                     + 20.000
                             : #. :. :  : #. :. :  : #. :. :  : #. :+ 13.0K
                            .####:##:##.####:##:##.####:##:##.####:#|
            ----------------+--------------------------+------------+
                            2026-01-05                 2026-02
            2026-02-13  O 21.300  H 21.390  L 21.050  C 21.110  V 12000
            -0.89%  range 20.000 to 21.810  Asia/Hong_Kong
        "#]],
    );
}

#[test]
fn omitted_candles_are_counted_in_the_heading() {
    let options = ChartOptions { width: 50, height: 14, ..PLAIN };
    check_days(
        "9001.HK",
        &days(100),
        options,
        expect![[r#"
            9001.HK       day, 42 candles, 58 earlier left out
                                                   ╷┃▀│◂23.840
                                               ╻┴▄┃▀╹ │
                                             ╻╻┃ ╵    │
            ╻╷╷                         ╷╷▄╽╽╿        ├ 23.000
            ┃┴█▄▄╻▄╻┬▄                ╷▄┃┴▀╿          │
            ╵   ▀╹▀┃╵█╽▄╽▄╽┬▄╷╷╷╷╷  ╷╻┃▀╹             │
                       ╵ ▀╹ ▀╹█┃█┃─█╿╹                │
            █▅▃▇▄▂▆▄▁▆▃█▅▃▇▄▂▆▄▁▆▃█▅▃▇▄▂▆▄▁▆▃█▅▃▇▄▂▆▄▁├ 13.0K
            ┬───────────────────────────┬─────────────┘
            2026-03-04                  2026-04
            2026-04-14  O 23.860  H 23.950  L 23.780  C 23.840
            V 3000  -0.08%  range 22.180 to 23.950
            Asia/Hong_Kong
        "#]],
    );
}

#[test]
fn a_wide_name_does_not_overflow_the_heading() {
    let chart = draw("9001.HK 燈港控股", &days(5), &zone(), Period::DAY, 3, PLAIN);
    let heading = chart.lines().next().unwrap();
    assert_eq!(heading, "9001.HK 燈港控股                                  day, 5 candles");
    assert_eq!(text::width(heading), 64);
    let long = draw(&"燈".repeat(60), &days(5), &zone(), Period::DAY, 3, PLAIN);
    let heading = long.lines().next().unwrap();
    assert!(heading.contains("燈…") && heading.ends_with("  day, 5 candles"), "{heading}");
    assert!(text::width(heading) <= 64);
}

#[test]
fn control_characters_in_a_name_are_removed() {
    let chart = draw("x\x1b[2Jy\r\n", &days(5), &zone(), Period::DAY, 3, PLAIN);
    assert!(chart.starts_with("x[2Jy "), "{chart}");
    assert!(!chart.contains('\x1b') && !chart.contains('\r'));
}

#[test]
fn a_single_candle_is_drawn() {
    let options = ChartOptions { width: 40, height: 12, ..PLAIN };
    check_days(
        "X",
        &days(1),
        options,
        expect![[r#"
        X                          day, 1 candle
                                      ╽ │◂20.210
                                      ┃ ├ 20.200
                                      ┃ │
                                      ┃ │
                                      ┃ ├ 20.000
                                      █ ├ 3.0K
        ──────────────────────────────┬─┘
                                      2026-01-05
        2026-01-05  O 20.000  H 20.260  L 20.000
        C 20.210  V 3000  +1.05%
        range 20.000 to 20.260  Asia/Hong_Kong
    "#]],
    );
}

#[test]
fn flat_prices_are_drawn_in_the_middle() {
    let flat: Candles = days(8).iter().map(|c| candle(c.time, [1_000; 4], 0)).collect();
    let options = ChartOptions { width: 40, height: 12, ..PLAIN };
    check_days(
        "flat",
        &flat,
        options,
        expect![[r#"
        flat                      day, 8 candles
                                        ├ 1.010
                                        │
                        ─ ─ ─ ─ ─ ─ ─ ─ │◂1.000
                                        │
                                        │
                                        ├ 0.990
        ────────────────┬───────────────┘
                        2026-01-05
        2026-01-12  O 1.000  H 1.000  L 1.000
        C 1.000  V 0  0.00%
        range 1.000 to 1.000  Asia/Hong_Kong
    "#]],
    );
}

#[test]
fn huge_prices_are_shown_with_every_digit() {
    let huge: Candles = days(3).iter().map(huge).collect();
    let options = ChartOptions { width: 64, height: 14, ..PLAIN };
    check_days(
        "huge",
        &huge,
        options,
        expect![[r#"
        huge                                              day, 3 candles
                                               │ │ │ ├ 9200000000000.000
                                               │ │ │ │
                                               ╽ ╽ ╽ │◂9100000000000.000
                                               ┃ ┃ ┃ │
                                               ┃ ┃ ┃ │
                                               ┃ ┃ ┃ ├ 9000000000000.000
                                               █ █ █ ├ 9223372.0T
        ───────────────────────────────────────┬─────┘
                                               2026-01-05
        2026-01-07  O 9000000000000.000  H 9200000000000.000
        L 8999999999999.999  C 9100000000000.000  V 9223372036854775807
        0.00%  range 8999999999999.999 to 9200000000000.000
        Asia/Hong_Kong
    "#]],
    );
}

#[test]
fn intraday_candles_are_labelled_with_times_and_new_days_with_dates() {
    let options = ChartOptions { width: 80, height: 14, ..PLAIN };
    check(
        &draw("1m", &minutes(70), &zone(), Period::MINUTE, 3, options),
        options,
        expect![[r#"
        1m                                                                1m, 70 candles
            ╷    │    │ ╷  │ ╷    │    │ ╷  │ ╷    │    │ ╷  │ ╷    ╷    │ ╷  │ │
            │ │ ╷│ │ ╷│ │ ╷│ │ │ ╷│ │ ╷│ │ ╷│ │ │  │ │ ╷│ │ ╷│ │ │  │ │ ╷│ │ ╷│ ├ 5.150
           ││╷│ ││╷│ ││││ ││││╷│ ││╷│ ││││ ││││╷│ ││╷│ ││││ ││││╷│ ││╷│ ││╷│ ││││
          ╷│││││││││││││││││││││╷││││││││││││││││╷││││││││││││││││╷│││││││││││││├ 5.100
          │╽▄│││╽▄│││┃█╽▄│┃█╽▄│││╽▄│││┃█│││┃█╽▄│││╽▄│││┃█│││┃█╽▄│││╽▄│││┃█│││┃█╽│◂5.070
          │┃█┃█│┃█┃█╽┃█┃█╽┃█┃█┃█│┃█┃█╽┃█┃█╽┃█┃█┃█│┃█┃█╽┃█┃█╽┃█┃█╽▄│┃█┃█╽┃█┃█╽┃█┃├ 5.050
          ┃╹█┃█┃╹█┃█┃╵█┃█┃ ▀╿█┃█┃╹█┃█┃╵█┃█┃ ▀╿█┃█┃╹█┃█┃╵█┃█┃ ▀╿█┃█┃╹█┃█┃╵█┃█┃ ▀╿│
          ┃  ╵█┃   ▀╿   ▀╹    ╵█┃   ▀╿   ▀╹   ▀╹█┃  ╵▀╿   ▀╹   ▀╹█┃  ╵█┃   ▀╿   ├ 5.000
           ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇█├ 6.9K
        ──┬──────────────┬──────────────┬──────────────┬──────────────┬─────────┘
          01-05          15:45          01-06          09:45          10:00
        2026-01-06 10:09  O 5.033  H 5.133  L 5.028  C 5.070  V 6900  +0.74%
        range 4.995 to 5.189  Asia/Hong_Kong
    "#]],
    );
}

#[test]
fn a_narrow_window_still_shows_candles_prices_and_the_title() {
    let options = ChartOptions { width: 24, height: 12, ..PLAIN };
    check_days(
        "9001.HK Lamplight Harbour",
        &days(40),
        options,
        expect![[r#"
        9001.HK Lamplight Harbo…
        ─█              │
         █┃█╽▄╽┬▄╷╷     ├ 21.500
           ╵ ▀╿ ▀╿█┃█┃┴▄│
                  ╵╹▀╹ █│◂21.110
        ▃█▅▃▇▄▂▆▄▁▆▃█▅▃▇├ 13.0K
        ───┬────────────┘
           2026-02
        2026-02-13  O 21.300
        H 21.390  L 21.050
        C 21.110  V 12000
        -0.89%
    "#]],
    );
    let huge: Candles = days(30).iter().map(huge).collect();
    let chart = draw("huge", &huge, &zone(), Period::DAY, 3, options);
    assert!(!chart.contains('├') && !chart.contains('◂'), "no room for labels:\n{chart}");
}

#[test]
fn a_too_small_terminal_reports_the_required_size() {
    let options = ChartOptions { width: 19, height: 10, ..PLAIN };
    let small = draw("x", &days(5), &zone(), Period::DAY, 3, options);
    assert_eq!(small, "a chart needs 20 columns and 8 lines; here are 19 and 10\n");
    assert_eq!(draw("x", &Candles::default(), &zone(), Period::DAY, 3, PLAIN), "x: no candles\n");
}

#[test]
fn colour_is_opt_in_and_changes_only_the_bodies() {
    let colour = ChartOptions { colour: true, ..PLAIN };
    let painted = draw("x", &days(40), &zone(), Period::DAY, 3, colour);
    let plain = draw("x", &days(40), &zone(), Period::DAY, 3, PLAIN);
    assert!(!plain.contains('\x1b'));
    assert!(painted.contains("\x1b[32m") && painted.contains("\x1b[31m"));
    let mut bare = painted.clone();
    for code in ["\x1b[32m", "\x1b[31m", "\x1b[39m", "\x1b[0m"] {
        bare = bare.replace(code, "");
    }
    assert!(!bare.contains('\x1b'));
    // Falling bodies are solid only without colour; with colour all bodies are thin.
    let volumes_from = plain.lines().position(|line| line.contains('▁')).unwrap();
    let prices = |chart: &str| chart.lines().take(volumes_from - 1).collect::<String>();
    assert!(prices(&plain).contains('█') && !prices(&bare).contains('█'));
    assert_eq!(prices(&plain).chars().count(), prices(&bare).chars().count());
    for line in painted.lines().filter(|line| line.contains('\x1b')) {
        assert!(
            line.contains("\x1b[0m│") || line.contains("\x1b[0m├"),
            "the axis stays uncoloured: {line:?}"
        );
    }
}

#[test]
fn every_chart_fits_its_width_and_height() {
    let many = days(300);
    let huge: Candles = many.iter().map(huge).collect();
    for (width, height) in
        [(20, 8), (21, 9), (30, 12), (39, 40), (40, 12), (47, 13), (61, 30), (80, 24), (133, 50)]
    {
        for count in [1, 2, 19, 61, 300] {
            for candles in [&many, &huge] {
                let mut candles = candles.clone();
                candles.truncate(count);
                for period in [Period::MINUTE, Period::DAY, Period::Calendar(Span::Month)] {
                    let options = ChartOptions { width, height, ..PLAIN };
                    let chart = draw("frame", &candles, &zone(), period, 3, options);
                    assert!(
                        chart.lines().all(|line| text::width(line) <= usize::from(width)),
                        "{width}\n{chart}"
                    );
                    assert!(chart.lines().count() <= usize::from(height), "{height}\n{chart}");
                }
            }
        }
    }
}

#[test]
fn half_rows_have_distinct_glyphs() {
    let column = |direction| Column { high: 1, top: 3, bottom: 4, low: 6, direction, volume: 0 };
    let drawn =
        |direction, options| (0..4).map(|row| column(direction).glyph(row, options)).collect::<String>();
    assert_eq!(drawn(Direction::Up, PLAIN), "╷╽╿╵");
    assert_eq!(drawn(Direction::Down, PLAIN), "╷▄▀╵");
    assert_eq!(drawn(Direction::Down, ChartOptions { colour: true, ..PLAIN }), "╷╽╿╵");
    assert_eq!(drawn(Direction::Up, ASCII), "|OO|");
    assert_eq!(drawn(Direction::Down, ASCII), "|##|");
}

#[test]
fn labels_are_exact_multiples_of_a_round_step() {
    let of = |low, high| {
        let shown = [candle(Timestamp(0), [low, high, low, high], 0)];
        let labels = Scale::new(&shown, 12, 3).labels(12);
        labels.iter().map(|(row, price)| format!("{row}:{}", price.text(3))).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of(19_870, 21_340), "10:20.000 6:20.500 2:21.000");
    assert_eq!(of(1, 4), "11:0.001 7:0.002 3:0.003 0:0.004");
    assert_eq!(of(100_000, 900_000), "10:200.000 7:400.000 4:600.000 1:800.000");
}

#[test]
fn changes_are_rounded_half_away_from_zero() {
    let percent = |from, to| scale::percent(Price(from), Price(to));
    assert_eq!(percent(1_000_000, 1_000_050), "+0.01%");
    assert_eq!(percent(1_000_000, 999_950), "-0.01%");
    assert_eq!(percent(1_000_000, 1_000_049), "0.00%");
    assert_eq!(percent(1_000_000, 3_500_000), "+250.00%");
    assert_eq!(percent(0, 1), "-");
}

#[test]
fn abbreviated_volumes_are_rounded_down() {
    let short = [0, 999, 1_000, 12_399, 4_560_000, 7_999_999_999].map(scale::short);
    assert_eq!(short, ["0", "999", "1.0K", "12.3K", "4.5M", "7.9B"]);
}

#[test]
fn labels_prefer_the_start_of_a_larger_unit() {
    let labels = |period, step: i64| {
        let first = zone().midnight(date(2025, 10, 1)).0;
        let candles: Candles =
            (0..60).map(|i| candle(Timestamp(first + i * step), [1_000, 1_100, 900, 1_050], 1)).collect();
        let chart = draw("x", &candles, &zone(), period, 3, ChartOptions { width: 70, ..PLAIN });
        let below_the_axis = chart.lines().skip_while(|line| !line.ends_with('┘')).nth(1).unwrap();
        below_the_axis.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let hour = Period::Clock(Minutes::new(60).unwrap());
    let all = [
        labels(hour, 3600),
        labels(Period::DAY, 86_400),
        labels(Period::Calendar(Span::Week), 7 * 86_400),
        labels(Period::Calendar(Span::Month), 30 * 86_400 + 40_000),
        labels(Period::Calendar(Span::Year), 365 * 86_400 + 22_000),
    ];
    expect![[r#"
        10-01 08:00 16:00 10-02 08:00 16:00 10-03 08:00
        2025-10-01 10-20 2025-11 11-24
        2025-11 2026-01 2026-04 2026-07 2026-10
        2026 2027 2028 2029 2030 2030-07
        2030 2040 2050 2060 2070 2080
    "#]]
    .assert_eq(&format!("{}\n", all.join("\n")));
}

#[test]
fn ascii_output_is_ascii_for_any_name() {
    for title in ["9001.HK 灯港控股 · day", "CAFE.US Cafe\u{301} Zürich · day, forward adjusted"] {
        for width in [20, 30, 64] {
            let options = ChartOptions { width, ..ASCII };
            for candles in [days(0), days(40)] {
                let chart = draw(title, &candles, &zone(), Period::DAY, 3, options);
                assert!(chart.is_ascii(), "{chart}");
            }
        }
    }
    let chart = draw("9001.HK 灯港 · day", &days(9), &zone(), Period::DAY, 3, ASCII);
    assert!(chart.starts_with("9001.HK ?? - day "), "{chart}");
}
