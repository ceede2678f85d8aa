//! The options of a run: today, corrections since a date, and candles that were imported.

use collect::RunOptions;
use market::{Grain, Period, Timestamp};
use mirror::DateRange;
use mirror::recheck::Recheck;

use crate::fake::hk;
use crate::runs::{NOW, Target, date, of_source, source_of, symbol};

#[test]
fn today_is_collected_with_an_incomplete_last_minute() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2026-01-02"));
    // 10:30:30 on Wednesday, the 18th.
    let morning = hk().zone().instant(date("2026-03-18"), 10 * 3_600 + 30 * 60 + 30);
    source.borrow().time.0.set(morning.0 * 1_000);
    let today = RunOptions { today: true, ..RunOptions::default() };
    target.run(&source, &today).unwrap();
    let expected = of_source(&source, "700.HK", false, "2026-01-02");
    let stored = target.stored("700.HK", Grain::Minute);
    let (last, complete) = stored.split_last().unwrap();
    assert_eq!(complete, &expected[..complete.len()]);
    assert_eq!((last.time, last.volume), (Timestamp(morning.0 - 30), 500));
    let partial = target.store.reader().unwrap().view().partial_minutes(&symbol("700.HK")).unwrap();
    assert_eq!(partial.iter().map(|minute| minute.at).collect::<Vec<_>>(), [last.time]);
    // All history is collected, but today is still requested.
    source.borrow().time.0.set((morning.0 + 600) * 1_000);
    target.run(&source, &today).unwrap();
    let later = target.stored("700.HK", Grain::Minute);
    assert_eq!(later.len(), stored.len() + 10);
    assert_eq!(later[..later.len() - 1], expected[..later.len() - 1]);
    // After the close, the whole day replaces it.
    source.borrow().time.0.set(NOW * 1_000);
    target.done(&source);
    assert_eq!(target.stored("700.HK", Grain::Minute), expected);
    assert_eq!(target.stored("700.HK", Grain::Day), of_source(&source, "700.HK", true, "2026-01-02"));
}

#[test]
fn corrections_since_a_date_are_collected() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2018-01-01"));
    target.done(&source);
    let places = {
        let mut source = source.borrow_mut();
        let days = source.series.get_mut(&(symbol("700.HK"), true)).unwrap();
        let (old, new) = (100, days.len() - 100);
        (days[old].volume, days[new].volume) = (7, 7);
        (old, new)
    };
    let run = |recheck| {
        let options = RunOptions { recheck: Some(recheck), ..RunOptions::default() };
        target.run(&source, &options).unwrap().counts.replaced
    };
    assert_eq!(run(Recheck::Again), 0, "only the last days");
    assert_eq!(run(Recheck::Since(date("2025-01-01"))), 1);
    assert_eq!(target.stored("700.HK", Grain::Day)[places.1].volume, 7);
    assert_ne!(target.stored("700.HK", Grain::Day)[places.0].volume, 7);
    assert_eq!(run(Recheck::Since(date("2018-01-01"))), 1);
    assert_eq!(target.stored("700.HK", Grain::Day), of_source(&source, "700.HK", true, "2018-01-01"));
}

#[test]
fn imported_days_are_not_requested() {
    let (source, target) = (source_of(&["700.HK"]), Target::new(&["700.HK"], "2026-03-09"));
    let present = |from: &str, through: &str| DateRange { from: date(from), through: date(through) };
    let minutes = (Period::MINUTE, present("2026-03-10", "2026-03-17"));
    let options = RunOptions {
        present: [(symbol("700.HK"), vec![minutes])].into_iter().collect(),
        ..RunOptions::default()
    };
    target.run(&source, &options).unwrap();
    let stored = target.stored("700.HK", Grain::Minute);
    let days: std::collections::BTreeSet<String> =
        stored.iter().map(|row| hk().zone().date(row.time).to_string()).collect();
    assert_eq!(days.into_iter().collect::<Vec<_>>(), ["2026-03-09", "2026-03-18"]);
    assert_eq!(target.stored("700.HK", Grain::Day), of_source(&source, "700.HK", true, "2026-03-09"));
}
