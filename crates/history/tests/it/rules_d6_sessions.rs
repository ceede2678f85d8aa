//! D6: tests which trading hours are returned.

use crate::common::full_shop;
use market::{Candle, Session};

fn check(question: &str, expected: &str) {
    let kind = |candle: &Candle| match candle.session {
        Session::Intraday => "",
        Session::Pre => "p",
        Session::Post => "a",
        Session::Overnight => "o",
    };
    let answer = full_shop().ask_with("2026-11-15 12:00", question, |candle| kind(candle).to_owned());
    assert_eq!(answer, expected, "{question}");
}

#[test]
fn d6_us_minute_candles_are_filtered_by_session() {
    check("AAPL.US 120m [20250708, 20250708]", "2025-07-08 09:30 11:30 13:30 15:30");
    check(
        "AAPL.US 120m +ext [20250708, 20250708]",
        "2025-07-08 04:00p 06:00p 08:00p 09:30 11:30 13:30 15:30 16:00a 18:00a",
    );
    check(
        "AAPL.US 240m +all [20250708, 20250708]",
        "2025-07-08 00:00o 04:00p 08:00p 09:30 13:30 16:00a 20:00o",
    );
    // On a half day, the post-market session begins at 13:00.
    check("AAPL.US 240m +ext [20250703, 20250703]", "2025-07-03 04:00p 08:00p 09:30 13:00a");
}

#[test]
fn d6_the_count_includes_all_returned_sessions() {
    check("AAPL.US 240m {0, 20250708, -, 3}", "2025-07-07 13:30 2025-07-08 09:30 13:30");
    check("AAPL.US 240m +ext {0, 20250708, -, 3}", "2025-07-08 09:30 13:30 16:00a");
    check("AAPL.US 240m +all {0, 20250708, -, 3}", "2025-07-08 13:30 16:00a 20:00o");
    check("AAPL.US 240m +all {1, 20250708, -, 3}", "2025-07-08 00:00o 04:00p 08:00p");
    check("AAPL.US 1m +all {1, 20250708, 0928, 4}", "2025-07-08 09:28p 09:29p 09:30 09:31");
    check("AAPL.US 1m {1, 20250708, 0928, 2}", "2025-07-08 09:30 09:31");
    // The anchor may be in a session that is not requested.
    check("AAPL.US 60m {0, 20250708, 2200, 1}", "2025-07-08 15:30");
}

#[test]
fn d6_daily_candles_and_other_markets_have_one_session() {
    for question in ["700.HK 60m", "600519.SH 60m", "AAPL.US day", "AAPL.US week", "700.HK day"] {
        let ask = |sessions: &str| {
            full_shop().ask("2026-11-15 12:00", &format!("{question} {sessions} {{0, -, -, 9}}"))
        };
        assert_eq!(ask("+all"), ask(""), "{question}");
        assert_eq!(ask("+ext"), ask(""), "{question}");
        assert_ne!(ask(""), "");
    }
}
