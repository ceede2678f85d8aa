//! G5: the latest trading day. Today is included from the time at which the service rolls its
//! quotes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;

use common::{at, date, market, venue};

#[test]
fn g5_today_is_the_latest_day_after_the_quote_roll() {
    let check = |name: &str, now: &str, expected: &str| {
        let found = venue(market(name)).latest_trading_day(at(market(name), now));
        assert_eq!(found, Some(date(expected)), "{name} {now}");
    };
    check("HK", "2026-03-18 08:49:59", "2026-03-17");
    check("HK", "2026-03-18 08:50:00", "2026-03-18");
    check("HK", "2026-03-18 23:59:59", "2026-03-18");
    check("CN", "2026-05-20 08:59:59", "2026-05-19");
    check("CN", "2026-05-20 09:00:00", "2026-05-20");
    check("US", "2026-07-15 09:19:59", "2026-07-14");
    check("US", "2026-07-15 09:20:00", "2026-07-15");
    // The latest day is still today in the evening, although the candles already belong to
    // tomorrow.
    check("US", "2026-07-15 20:00:00", "2026-07-15");
    check("US", "2026-07-16 00:00:00", "2026-07-15");
    // On weekends and holidays, the latest trading day is the last one before them.
    check("HK", "2026-11-15 12:00:00", "2026-11-13");
    check("HK", "2026-11-16 08:49:59", "2026-11-13");
    check("HK", "2026-11-16 08:50:00", "2026-11-16");
    check("US", "2025-07-04 12:00:00", "2025-07-03");
    check("US", "2025-07-07 09:19:59", "2025-07-03");
    // Golden Week is the longest closure of any market.
    check("CN", "2025-10-09 08:59:59", "2025-09-30");
    check("CN", "2025-10-09 09:00:00", "2025-10-09");
    // A half day is a trading day.
    check("HK", "2026-12-24 08:50:00", "2026-12-24");
    // Mornings before and after the quote roll, around a US clock change
    check("US", "2026-03-09 09:19:59", "2026-03-06");
    check("US", "2026-03-09 09:20:00", "2026-03-09");
}
