//! One-minute candles of US options: stored for the trading engine, but never served to clients.

use history::{AsOf, HistoryError, PageCache};
use market::{Market, Symbol};

use crate::common::{Shop, at, question_of, symbol};
use crate::page_cache::Plain;

const OPTION: &str = "AAPL260417C190000.US";

/// Imports one-minute candles of an option: three outside regular hours, ten starting at the open,
/// and the last one before the close.
fn stocked() -> Shop {
    let shop = Shop::new();
    let mut text = "symbol,time,open,high,low,close,volume\n".to_owned();
    for time in ["08:00", "16:05", "20:30"] {
        text += &format!("{OPTION},2026-03-18 {time},5,5.5,4.5,5.1,10\n");
    }
    for minute in 30..40 {
        text += &format!("{OPTION},2026-03-18 09:{minute},5,5.5,4.5,5.{minute},10\n");
    }
    text += &format!("{OPTION},2026-03-18 15:59,5,5.5,4.5,5.05,10\n");
    let report = &shop.import(&[shop.file("options.csv", text)])[0];
    assert_eq!((report.added, report.quarantined), (11, 3), "{report:?}");
    shop
}

#[test]
fn option_candles_outside_regular_hours_are_quarantined() {
    let shop = stocked();
    let reason = "options are traded in regular hours only";
    assert_eq!(shop.quarantine(), [2, 3, 4].map(|line| format!("{line}: {reason}")));
    let stored = shop.stored(&format!("{OPTION}/1m"));
    assert_eq!(stored.len(), 11);
    assert_eq!(stored.time[0], at(Market::Us, "2026-03-18 09:30").0);
    assert_eq!(stored.close[9], 5_390_000);
    let lanes: Vec<String> = shop.content().into_iter().map(|(series, _)| series).collect();
    assert!(lanes.iter().all(|series| !series.contains('+')), "{lanes:?}");
}

#[test]
fn stored_options_are_not_served() {
    let shop = stocked();
    let now = at(Market::Us, "2026-03-19 12:00");
    let is_option = |found: Result<Option<Symbol>, HistoryError>| match found {
        Err(HistoryError::Option(found)) => found == symbol(OPTION),
        _ => false,
    };
    for as_of in [AsOf::Live(now), AsOf::Replay(now)] {
        for question in
            ["1m {0, -, -, 5}", "1m +all {0, -, -, 5}", "day {0, -, -, 5}", "60m [20260318, 20260318]"]
        {
            let query = question_of(&format!("{OPTION} {question}")).unwrap();
            let found = shop.candles(&query, as_of).map(|answer| Some(answer.symbol));
            assert!(is_option(found), "{question}");
        }
        let mut reader = shop.store.reader().unwrap();
        let found = shop.history.has_candles(&mut reader, &symbol(OPTION), as_of).map(|()| None);
        assert!(is_option(found));
    }
    // The page cache must not serve options either.
    let page_cache: PageCache<Plain> = PageCache::new(1 << 20);
    let query = question_of(&format!("{OPTION} 1m {{0, -, -, 5}}")).unwrap();
    let plan = history::Plan::of(&query, shop.history.venue(&query.symbol), AsOf::Live(now));
    let version = shop.store.reader().unwrap().version().unwrap();
    assert!(page_cache.slices_in_memory(version, &plan, AsOf::Live(now)).unwrap().is_none());
}
