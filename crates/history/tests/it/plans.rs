//! Snapshot tests of plans, formatted as text.

use crate::common::{at, question_of, venue};
use history::{AsOf, Plan};
use market::Timestamp;

fn check(now: &str, question: &str, expected: expect_test::Expect) {
    check_as_of(AsOf::Live, now, question, expected);
}

fn check_as_of(clock: impl Fn(Timestamp) -> AsOf, now: &str, question: &str, expected: expect_test::Expect) {
    let query = question_of(question).unwrap();
    let market = query.symbol.market();
    expected.assert_eq(&Plan::of(&query, venue(market), clock(at(market, now))).to_string());
}

#[test]
fn a_daily_query_reads_as_many_candles_as_it_returns() {
    check(
        "2026-11-15 12:00",
        "700.HK day {0}",
        expect_test::expect![
            "700.HK/1d 2004-05-31T16:00:00Z..2026-11-15T04:00:01Z, 10 rows back, stamps ..2026-11-15T04:00:01Z, keep last 10"
        ],
    );
    check(
        "2026-11-15 12:00",
        "700.HK day {1, 20230101, -, 3}",
        expect_test::expect![
            "700.HK/1d 2022-12-31T16:00:00Z..2026-11-15T04:00:01Z, 4 rows forward, stamps 2022-12-31T16:00:00Z..2026-11-15T04:00:01Z, keep first 3"
        ],
    );
    check(
        "2026-11-15 12:00",
        "700.HK week {0, 20231018, -, 3}",
        expect_test::expect![
            "700.HK/1d 2004-05-31T16:00:00Z..2023-10-22T16:00:00Z, 21 rows back, fold week, stamps ..2023-10-18T16:00:00Z, keep last 3"
        ],
    );
    check(
        "2026-11-15 12:00",
        "700.HK year {1, 20000101, -, 2}",
        expect_test::expect![
            "700.HK/1d 2004-05-31T16:00:00Z..2026-11-15T04:00:01Z, 1098 rows forward, fold year, stamps 1999-12-31T16:00:00Z..2026-11-15T04:00:01Z, keep first 2"
        ],
    );
    check(
        "2026-11-15 12:00",
        "700.HK week [20231018, 20231101]",
        expect_test::expect![
            "700.HK/1d 2023-10-17T16:00:00Z..2023-11-05T16:00:00Z, 7000 rows back, fold week, stamps 2023-10-17T16:00:00Z..2023-11-01T16:00:00Z, keep last 1000"
        ],
    );
}

#[test]
fn minute_periods_are_folded_from_the_coarsest_stored_grain() {
    check(
        "2026-11-15 12:00",
        "700.HK 1m {0, 20251223, 1158, 5}",
        expect_test::expect![
            "700.HK/1m 2022-09-28T01:30:00Z..2025-12-23T03:59:00Z, 5 rows back, stamps ..2025-12-23T03:58:01Z, keep last 5"
        ],
    );
    check(
        "2026-11-15 12:00",
        "700.HK 45m {0, 20251223, 1158, 2}",
        expect_test::expect![
            "700.HK/15m 2022-09-28T01:30:00Z..2025-12-23T04:00:00Z, 8 rows back, fold 45m, stamps ..2025-12-23T03:58:01Z, keep last 2"
        ],
    );
    check(
        "2026-11-15 12:00",
        "700.HK 240m {1, 20230103, 0935, 3}",
        expect_test::expect![
            "700.HK/60m 2023-01-03T01:35:00Z..2026-11-15T04:00:01Z, 20 rows forward, fold 240m, stamps 2023-01-03T01:35:00Z..2026-11-15T04:00:01Z, keep first 3"
        ],
    );
    check(
        "2026-11-15 12:00",
        "700.HK 60m [20230103, -]",
        expect_test::expect![
            "700.HK/60m 2023-01-02T16:00:00Z..2026-11-15T04:00:01Z, 1001 rows forward, stamps 2023-01-02T16:00:00Z..2026-11-15T04:00:01Z, keep first 1000"
        ],
    );
}

#[test]
fn us_minute_queries_read_one_lane_per_session_kind() {
    check(
        "2026-11-15 12:00",
        "AAPL.US 60m {0, -, -, 2}",
        expect_test::expect![
            "AAPL.US/60m 2023-12-04T01:00:00Z..2026-11-15T17:00:01Z, 2 rows back, stamps ..2026-11-15T17:00:01Z, keep last 2"
        ],
    );
    check(
        "2026-11-15 12:00",
        "AAPL.US 60m +ext {0, -, -, 2}",
        expect_test::expect![
            "AAPL.US/60m + AAPL.US/60m+ext 2023-12-04T01:00:00Z..2026-11-15T17:00:01Z, 2 rows back, stamps ..2026-11-15T17:00:01Z, keep last 2"
        ],
    );
    check(
        "2026-11-15 12:00",
        "AAPL.US 2m +all {1, 20200101, -, 2}",
        expect_test::expect![
            "AAPL.US/1m + AAPL.US/1m+ext + AAPL.US/1m+overnight 2023-12-04T01:00:00Z..2026-11-15T17:00:01Z, 9 rows forward, fold 2m, stamps 2020-01-01T05:00:00Z..2026-11-15T17:00:01Z, keep first 2"
        ],
    );
}

#[test]
fn minute_candles_replace_incomplete_candles_at_the_edge() {
    check_as_of(
        AsOf::Replay,
        "2026-11-12 10:45:30",
        "700.HK 1m {0, -, -, 2}",
        expect_test::expect![
            "700.HK/1m 2022-09-28T01:30:00Z..2026-11-12T02:45:31Z, 2 rows back, minutes 2026-11-12T02:45:00Z..2026-11-12T02:45:31Z from 2026-11-12T02:45:00Z on, running from 2026-11-12T02:45:00Z, stamps ..2026-11-12T02:45:31Z, keep last 2"
        ],
    );
    check_as_of(
        AsOf::Replay,
        "2026-11-12 10:45:30",
        "700.HK 120m {0, -, -, 2}",
        expect_test::expect![
            "700.HK/60m 2022-09-28T01:30:00Z..2026-11-12T02:45:31Z, 6 rows back, fold 120m, minutes 2026-11-12T02:30:00Z..2026-11-12T02:45:31Z from 2026-11-12T02:30:00Z on, running from 2026-11-12T02:45:00Z, stamps ..2026-11-12T02:45:31Z, keep last 2"
        ],
    );
    check_as_of(
        AsOf::Replay,
        "2026-11-12 10:45:30",
        "700.HK week {0, -, -, 2}",
        expect_test::expect![
            "700.HK/1d 2004-05-31T16:00:00Z..2026-11-12T02:45:31Z, 14 rows back, fold week, minutes 2026-11-08T16:00:00Z..2026-11-12T02:45:31Z from 2026-11-11T16:00:00Z on, running from 2026-11-12T02:45:00Z, stamps ..2026-11-12T02:45:31Z, keep last 2"
        ],
    );
    check(
        "2026-11-12 10:45:30",
        "700.HK week {0, -, -, 2}",
        expect_test::expect![
            "700.HK/1d 2004-05-31T16:00:00Z..2026-11-12T02:45:31Z, 14 rows back, fold week, minutes 2026-11-08T16:00:00Z..2026-11-12T02:45:31Z from 2026-11-11T16:00:00Z on, stamps ..2026-11-12T02:45:31Z, keep last 2"
        ],
    );
    // Complete candles are served as stored.
    check_as_of(
        AsOf::Replay,
        "2026-11-12 10:45:30",
        "700.HK 1m {0, 20261112, 1044, 2}",
        expect_test::expect![
            "700.HK/1m 2022-09-28T01:30:00Z..2026-11-12T02:45:00Z, 2 rows back, stamps ..2026-11-12T02:44:01Z, keep last 2"
        ],
    );
    check_as_of(
        AsOf::Replay,
        "2026-11-12 12:30:00",
        "700.HK 60m {0, -, -, 2}",
        expect_test::expect![
            "700.HK/60m 2022-09-28T01:30:00Z..2026-11-12T04:29:01Z, 2 rows back, stamps ..2026-11-12T04:30:01Z, keep last 2"
        ],
    );
    check_as_of(
        AsOf::Replay,
        "2026-11-12 16:05:00",
        "700.HK 1m {0, -, -, 2}",
        expect_test::expect![
            "700.HK/1m 2022-09-28T01:30:00Z..2026-11-12T08:05:01Z, 2 rows back, minutes 2026-11-12T08:00:00Z..2026-11-12T08:05:01Z from 2026-11-12T08:00:00Z on, running from 2026-11-12T08:00:00Z, stamps ..2026-11-12T08:05:01Z, keep last 2"
        ],
    );
    check_as_of(
        AsOf::Replay,
        "2026-11-12 16:10:00",
        "700.HK day {0, -, -, 2}",
        expect_test::expect![
            "700.HK/1d 2004-05-31T16:00:00Z..2026-11-12T08:10:01Z, 2 rows back, minutes 2026-11-11T16:00:00Z..2026-11-12T08:09:01Z from 2026-11-11T16:00:00Z on unless stored, stamps ..2026-11-12T08:10:01Z, keep last 2"
        ],
    );
}

#[test]
fn candles_in_the_future_or_below_the_floor_are_not_read() {
    check(
        "2026-11-15 12:00",
        "700.HK day {1, 20300101, -, 2}",
        expect_test::expect![
            "700.HK/1d 2029-12-31T16:00:00Z..2029-12-31T16:00:00Z, 3 rows forward, stamps 2029-12-31T16:00:00Z..2026-11-15T04:00:01Z, keep first 2"
        ],
    );
    check(
        "2026-11-15 12:00",
        "700.HK day {0, 19900101, -, 2}",
        expect_test::expect![
            "700.HK/1d 2004-05-31T16:00:00Z..1990-01-01T16:00:00Z, 2 rows back, stamps ..1990-01-01T16:00:00Z, keep last 2"
        ],
    );
    check(
        "2026-11-15 12:00",
        "700.HK 60m {1, 20200101, 0930, 1}",
        expect_test::expect![
            "700.HK/60m 2022-09-28T01:30:00Z..2026-11-15T04:00:01Z, 2 rows forward, stamps 2020-01-01T01:30:00Z..2026-11-15T04:00:01Z, keep first 1"
        ],
    );
}
