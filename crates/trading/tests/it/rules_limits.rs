//! Resource limits of one account: open orders, grid triggers and journal entries.

use trading::{Event, SleepingReason};

use crate::common::{Player, check, play, triggers};

/// Executes a line and returns its output joined with semicolons.
fn said(player: &mut Player, line: &str) -> String {
    player.line(line).join("; ")
}

const FULL: &str = "refused 602001 `at most 4 orders may be open: cancel some first`";

#[test]
fn open_orders_of_every_kind_are_counted() {
    let mut player = play(
        "mark 700.HK 300
        given cash HKD 10000000
        given set open_orders 4
        10:00 buy 100 700.HK LO 290
        10:00 buy 100 700.HK LIT 290 trigger 291
        10:00 buy 100 700.HK LO 290 held 14:00
        10:00 buy 100 700.HK LO 291 tif GTC",
    );
    assert_eq!(player.account.open_count(), 4);
    for line in ["buy 100 700.HK LO 290", "buy 100 700.HK LIT 290 trigger 291", "sell 100 700.HK MO"] {
        assert_eq!(said(&mut player, &format!("10:01 {line}")), FULL);
    }
    // Replacing an open order needs no free slot, and a cancellation frees one.
    assert!(!said(&mut player, "10:02 replace 1 200").contains("refused"));
    assert!(said(&mut player, "10:03 cancel 2").contains("CanceledStatus"));
    assert!(!said(&mut player, "10:04 buy 100 700.HK LO 290").contains("refused"));
    assert_eq!(said(&mut player, "10:05 buy 100 700.HK LO 290"), FULL);
    player.check_fold();
}

#[test]
fn order_checks_precede_the_open_order_limit() {
    let mut player = play(
        "mark 700.HK 300
        given cash HKD 10000000
        given set open_orders 1
        10:00 buy 100 700.HK LO 290",
    );
    assert!(said(&mut player, "10:01 buy 50 700.HK LO 290").contains("multiple of 100"));
}

#[test]
fn the_default_limit_is_a_thousand_open_orders() {
    let mut player = play("mark 700.HK 300\n given cash HKD 100000000");
    for _ in 0..1_000 {
        assert!(!said(&mut player, "10:00 buy 100 700.HK LO 290").contains("refused"));
    }
    let refused = "refused 602001 `at most 1000 orders may be open: cancel some first`";
    assert_eq!(said(&mut player, "10:00 buy 100 700.HK LO 290"), refused);
}

#[test]
fn a_grid_stops_creating_orders_at_the_open_order_limit() {
    let player = play(
        "mark 700.HK 300
        candle 700.HK 10:01 300 303 300 303 50000
        given position 700.HK 900 300
        given set open_orders 2
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000 up GTG down GTG
        10:02 now",
    );
    let expected = ["301 Sell 100 level", "302 Sell 100 level", "303 Sell 100 level asleep: position"];
    assert_eq!(triggers(&player.entries), expected);
    assert_eq!(player.account.open_count(), 2);
}

#[test]
fn limits_out_of_bounds_are_refused() {
    let mut player = play("mark 700.HK 300");
    for (line, expected) in [
        ("open_orders 0", "refused 602001 `open_orders must be from 1 to 10000`"),
        ("open_orders 10001", "refused 602001 `open_orders must be from 1 to 10000`"),
        ("open_orders 10000", ""),
        ("grid_triggers 0", "refused 602001 `grid_triggers must be from 1 to 10000`"),
        ("journal_entries 0", "refused 602001 `journal_entries must be from 1 to 1000000000`"),
    ] {
        assert_eq!(said(&mut player, &format!("10:00 given set {line}")), expected, "{line}");
    }
}

/// Rising candles on two days. On each day, they reach more levels than the limit of two triggers.
const GRID: &str = "mark 700.HK 300
    candle 700.HK 10:01 300 301 300 301 50000; 10:02 301 302 301 302 50000; 10:03 302 303 302 303 50000; \
     10:04 303 304 303 304 50000
    given position 700.HK 2000 300
    given set grid_triggers 2
    day 2026-03-19
    candle 700.HK 10:01 304 305 304 305 50000
    day 2026-03-18";

#[test]
fn grid_triggers_are_limited_per_day() {
    check(&format!(
        "{GRID}
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000 up GTG down GTG
        > 10:00:00 grid 1 Performing 300
        16:10 bases
        > 301 Sell 100 level
        > 302 Sell 100 level
        > asleep: triggers
        > base 302
        16:10 history 1
        > 1 Performing
        > 2 Performing triggers
        day 2026-03-19
        16:10 bases
        > 301 Sell 100 level
        > 302 Sell 100 level
        > asleep: triggers
        > 304 Sell 100 gap
        > 305 Sell 100 level
        > base 305
        16:10 history 1
        > 1 Performing
        > 2 Performing triggers
        > 3 Performing"
    ));
}

#[test]
fn a_grid_at_its_limit_still_closes_at_a_bound() {
    let player = play(
        "mark 700.HK 300
        candle 700.HK 10:01 300 300 297 297 50000; 10:02 297 297 297 297 50000; 10:03 294 294 294 294 50000
        given cash HKD 1000000
        given set grid_triggers 1
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 295 310 hold 100 2000 down GTG events 2 2
        16:10 now",
    );
    assert_eq!(triggers(&player.entries), ["299 Buy 100 level", "asleep: triggers"]);
    let is_closed =
        |entry: &&trading::Entry| matches!(&entry.event, Event::GridCanceled { bound: Some(_), .. });
    assert_eq!(player.entries.iter().filter(is_closed).count(), 1);
}

#[test]
fn skipped_triggers_are_counted_separately() {
    // The grid may not sell, so only falling candles create orders.
    let player = play(
        "mark 700.HK 300
        candle 700.HK 10:01 300 301 300 301 50000; 10:02 301 302 301 302 50000; 10:03 302 303 302 303 50000; \
         10:04 302 302 301 301 50000; 10:05 301 301 300 300 50000; 10:06 300 300 299 299 50000
        given cash HKD 1000000
        given position 700.HK 100 300
        given set grid_triggers 2
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000 up GTG down GTG
        16:10 now",
    );
    let expected = [
        "301 Sell 100 level asleep: position",
        "302 Sell 100 level asleep: position",
        "asleep: triggers",
        "301 Buy 100 level",
        "300 Buy 100 level",
        "asleep: triggers",
    ];
    assert_eq!(triggers(&player.entries), expected);
}

#[test]
fn grid_journal_entries_are_bounded() {
    // Each candle moves by one step, so it would trigger every grid.
    let minute = |number: usize| {
        let (open, close) = if number.is_multiple_of(2) { ("300", "301") } else { ("301", "300") };
        format!("candle 700.HK {:02}:{:02} {open} 301 300 {close} 50000", 10 + number / 60, number % 60)
    };
    let candles: Vec<String> = (1..110).map(minute).collect();
    let grid = "10:00 grid 700.HK base 300 spread 0.6 0.6 quantity 100 price 290 310 hold 100 2000";
    let script = format!("mark 700.HK 300\n{}\n{}\n16:10 now", candles.join("\n"), [grid; 20].join("\n"));
    let player = play(&format!("given set grid_triggers 5\n{script}"));
    let count =
        |is_meant: fn(&Event) -> bool| player.entries.iter().filter(|entry| is_meant(&entry.event)).count();
    assert_eq!(count(|event| matches!(event, Event::GridTriggered(_))), 20 * 5);
    let slept = |event: &Event| matches!(event, Event::GridSlept { reason: SleepingReason::Triggers, .. });
    assert_eq!(count(slept), 20);
}

#[test]
fn a_full_journal_refuses_new_orders_but_accepts_cancellations() {
    let mut player = play(
        "mark 700.HK 300
        candle 700.HK 10:01 300 301 300 300 50000; 10:03 296 296 289 290 50000
        given cash HKD 10000000
        10:00 buy 100 700.HK LO 290
        10:00 buy 100 700.HK LO 280
        10:00 grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000",
    );
    let entries = player.entries.len();
    player.line(&format!("10:00 given set journal_entries {}", entries + 1));
    // After the limit was lowered, the journal exceeds it. The refusal shows the actual number of
    // entries.
    player.line("10:00 given set journal_entries 2");
    let full = format!("refused 602001 `the journal of this account is full, it has {} entries", entries + 2);
    for line in [
        "buy 100 700.HK LO 290",
        "replace 1 200",
        "grid 700.HK base 300 spread 1 1 quantity 100 price 290 310 hold 100 2000",
    ] {
        let said = said(&mut player, &format!("10:00 {line}"));
        assert!(said.starts_with(&full), "{said}");
    }
    let said_later = said(&mut player, "10:05 cancel 2");
    assert!(
        said_later.contains("#1 FilledStatus") && said_later.contains("#2 CanceledStatus"),
        "{said_later}"
    );
    assert!(said_later.contains("asleep: journal"), "{said_later}");
    assert!(triggers(&player.entries).iter().all(|line| line == "asleep: journal"));
    // New orders are accepted again after an operator raises the limit.
    player.line("10:06 given set journal_entries 1000");
    assert!(!said(&mut player, "10:06 buy 100 700.HK LO 280").contains("refused"));
}
