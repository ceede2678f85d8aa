//! Runs against a source that fails, refuses, or revises its history, and runs that are killed.

use std::panic::AssertUnwindSafe;

use collect::{CollectError, RunOptions};
use market::Grain;
use store::StoreError;

use crate::fake::{Fault, Shared};
use crate::runs::{NOW, Target, of_source, source_of, symbol};

/// Number of requests before the first history request: the profile, the calendar and the statics.
const BEFORE_HISTORY: u64 = 14;

/// Numbers that look random and are equal in each run.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// Runs a mirror until a run ends. A killed run is started again immediately.
fn done_despite_kills(target: &Target, source: &Shared) {
    let mut runs = 0;
    while std::panic::catch_unwind(AssertUnwindSafe(|| target.done(source))).is_err() {
        runs += 1;
        assert!(runs < 50, "the run does not end");
    }
}

fn is_equal(target: &Target, source: &Shared, text: &str, from: &str) -> bool {
    target.stored(text, Grain::Day) == of_source(source, text, true, from)
        && target.stored(text, Grain::Minute) == of_source(source, text, false, from)
}

#[test]
fn killed_runs_exceed_neither_the_rate_nor_the_quota() {
    let symbols: Vec<String> = (1..=12).map(|number| format!("{number}.HK")).collect();
    let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
    for seed in 0..8 {
        let (source, target) = (source_of(&symbols), Target::new(&symbols, "2018-01-01"));
        {
            let mut source = source.borrow_mut();
            (source.quota, source.latency_ms) = (9, 1);
            let mut random = Seeded(seed);
            // The first requests of a run are the critical ones.
            source.faults.insert(BEFORE_HISTORY + 2 + random.below(3), Fault::Kill);
            for _ in 0..8 {
                let fault = if random.below(3) == 0 { Fault::Cut } else { Fault::Kill };
                source.faults.insert(1 + random.below(110), fault);
            }
        }
        done_despite_kills(&target, &source);
        for text in &symbols[..9] {
            assert!(is_equal(&target, &source, text, "2018-01-01"), "seed {seed} {text}");
        }
        let source = source.borrow();
        assert_eq!(source.over_limit, 0, "seed {seed}");
        assert!(source.history.len() > 75, "seed {seed}: {}", source.history.len());
        assert!(source.most_in_window() <= 55, "seed {seed}: {}", source.most_in_window());
        assert!(source.most_in_second() <= 8, "seed {seed}: {}", source.most_in_second());
        assert!(source.month.values().all(|requested| requested.len() == 9), "seed {seed}");
    }
}

#[test]
fn every_error_code_is_handled_as_specified() {
    // Of the second security, because all of the first is free after its first request.
    let symbols = ["1.HK", "2.HK", "3.HK"];
    for (code, refused, waits) in [
        (301_600, true, false),
        (301_602, false, false),
        (301_603, true, false),
        (301_604, true, false),
        (301_606, false, false),
        (301_607, false, true),
        (309_999, true, false),
    ] {
        let (source, target) = (source_of(&symbols), Target::new(&symbols, "2026-01-02"));
        // The third request is the first one of the second security.
        source.borrow_mut().faults.insert(BEFORE_HISTORY + 3, Fault::Code(code));
        let report = target.done(&source);
        let affected = report.refused.first().map(|(symbol, _)| symbol).or(report.waiting.first()).cloned();
        assert_eq!((report.refused.len() == 1, !report.waiting.is_empty()), (refused, waits), "{code}");
        for text in symbols {
            let is_affected = affected == Some(symbol(text)) || report.waiting.contains(&symbol(text));
            assert_eq!(is_equal(&target, &source, text, "2026-01-02"), !is_affected, "{code} {text}");
        }
        // The wait after the refusal, in seconds.
        let source = source.borrow();
        let at = source.all[usize::try_from(BEFORE_HISTORY).unwrap() + 2];
        // One more request may have been pending.
        let next = source.all.iter().copied().filter(|time| *time > at + 100).min().unwrap();
        match code {
            301_602 => assert!((1_000..2_000).contains(&(next - at)), "{}", next - at),
            301_606 => assert!(next - at >= 30_000, "{}", next - at),
            _ => assert!(next - at < 1_100, "{code}: {}", next - at),
        }
    }
}

#[test]
fn after_too_many_requests_a_run_sends_half_as_many() {
    let symbols: Vec<String> = (1..=12).map(|number| format!("{number}.HK")).collect();
    let symbols: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let (source, target) = (source_of(&symbols), Target::new(&symbols, "2018-01-01"));
    source.borrow_mut().faults.insert(BEFORE_HISTORY + 1, Fault::Code(301_606));
    target.done(&source);
    let mut source = source.borrow_mut();
    let first = source.history[0];
    source.history.retain(|at| *at >= first + 30_000);
    assert!((25..=27).contains(&source.most_in_window()), "{}", source.most_in_window());
}

#[test]
fn an_unreachable_source_is_tried_again_after_growing_waits() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2026-01-02"));
    source.borrow_mut().unreachable = 5;
    target.done(&source);
    assert_eq!(source.borrow().connections, 6);
    // 1 + 2 + 4 + 8 + 16 seconds.
    assert!(source.borrow().all[0] - NOW * 1_000 >= 31_000);
    assert!(is_equal(&target, &source, "700.HK", "2026-01-02"));

    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2026-01-02"));
    source.borrow_mut().unreachable = 1_000;
    let error = target.run(&source, &RunOptions::default()).unwrap_err();
    assert!(error.to_string().contains("cannot reach"), "{error}");
}

#[test]
fn history_that_is_revised_again_and_again_is_reported() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2018-01-01"));
    for number in 1..=60 {
        let change =
            move |series: &mut std::collections::BTreeMap<(market::Symbol, bool), Vec<market::Candle>>| {
                for row in series.get_mut(&(symbol("700.HK"), true)).unwrap() {
                    row.volume = 1_000 + number;
                }
            };
        let number = BEFORE_HISTORY + u64::try_from(number).unwrap();
        source.borrow_mut().changes.push((number, Box::new(change)));
    }
    target.done(&source);
    let mut reader = target.store.reader().unwrap();
    let reports = reader.view().mirror_reports(target.row().id, 10).unwrap();
    let revised: Vec<_> = reports.iter().filter(|report| report.kind == "revised").collect();
    assert_eq!(revised.len(), 1, "{reports:?}");
    assert_eq!(revised[0].symbol, Some(symbol("700.HK")));
    let jobs = reader.view().mirror_jobs(target.row().id).unwrap();
    let day = jobs.iter().find(|job| job.period == "day" && job.adjustment == "none").unwrap();
    assert_eq!(day.outcome.as_deref(), Some("revised"));
    // The minutes are complete all the same.
    assert_eq!(target.stored("700.HK", Grain::Minute), of_source(&source, "700.HK", false, "2018-01-01"));
}

#[test]
fn a_second_run_of_the_same_mirror_is_refused() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2026-01-02"));
    let held = target.store.mirror_lock(&target.row(), store::MirrorTask::Read).unwrap();
    let error = target.run(&source, &RunOptions::default()).unwrap_err();
    assert!(matches!(error, CollectError::Store(StoreError::MirrorRunning { pid: Some(_), .. })), "{error}");
    assert_eq!(source.borrow().requests, 0);
    drop(held);
    assert_eq!(target.done(&source).complete, 1);
}
