//! Property tests: files imported in any order give the same series, and roll-ups equal the fold of
//! their one-minute candles.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use history::import::{Options, Outcome, Sizes};
use market::{Candle, Grain, Market};
use store::Series;

use crate::common::{Rng, Shop, fold_naively, minutes, venue};

fn csv(rows: &[(String, i64, i64)]) -> String {
    let line = |(name, time, price): &(String, i64, i64)| {
        format!("{name},{time},{price},{price},{price},{price},{price}\n")
    };
    "symbol,time,open,high,low,close,volume\n".to_owned() + &rows.iter().map(line).collect::<String>()
}

fn shuffle<T>(rng: &mut Rng, list: &mut [T]) {
    for at in (1..list.len()).rev() {
        list.swap(at, rng.below(at + 1));
    }
}

/// Asserts that every roll-up series is the fold of its one-minute series.
fn check_roll_ups(shop: &Shop, context: &str) {
    let all = shop.content();
    for (name, minutes) in all.iter().filter(|(name, _)| name.contains("/1m")) {
        let series: Series = name.parse().unwrap();
        for grain in Grain::ROLLED_UP {
            let rolled = Series { grain, ..series.clone() };
            let expected = fold_naively(venue(series.symbol.market()), grain.period(), minutes.iter());
            let found: Vec<Candle> = shop.stored(&rolled.to_string()).iter().collect();
            assert_eq!(found, expected, "{rolled}: {context}");
        }
    }
}

#[test]
fn the_import_order_does_not_matter() {
    for seed in 0..12u64 {
        let mut rng = Rng(seed);
        let (name, market) =
            *rng.pick(&[("5.HK", Market::Hk), ("A.US", Market::Us), ("600000.SH", Market::Cn)]);
        let times = minutes(market, "2025-07-02", "2025-07-08").time;
        // Each stamp has the same price in every file.
        let one_in = *rng.pick(&[2, 10, 60]);
        let rows: Vec<(String, i64, i64)> = times
            .iter()
            .filter(|_| rng.one_in(one_in))
            .map(|time| (name.to_owned(), *time, 1 + time % 97))
            .collect();
        let whole = Shop::new();
        whole.import(&[whole.file("all.csv", csv(&rows))]);
        check_roll_ups(&whole, "one file");
        let shop = Shop::new();
        let sizes =
            Sizes { flush_rows: *rng.pick(&[1, 100, 1_000_000]), block_rows: *rng.pick(&[7, 64, 4096]) };
        // The files are random, overlapping and unsorted. The last file has the rows that no other
        // file has.
        let mut missing: BTreeMap<i64, (String, i64, i64)> =
            rows.iter().map(|row| (row.1, row.clone())).collect();
        let mut files = Vec::new();
        for piece in 0..5 {
            let (from, until) = (rng.below(rows.len()), rng.below(rows.len()));
            let mut part: Vec<_> =
                rows[from.min(until)..from.max(until)].iter().filter(|_| !rng.one_in(3)).cloned().collect();
            if part.is_empty() {
                continue;
            }
            part.iter().for_each(|row| drop(missing.remove(&row.1)));
            shuffle(&mut rng, &mut part);
            files.push(shop.file(&format!("{piece}.csv"), csv(&part)));
        }
        let rest: Vec<_> = missing.into_values().collect();
        if !rest.is_empty() {
            files.push(shop.file("rest.csv", csv(&rest)));
        }
        shuffle(&mut rng, &mut files);
        let context = format!("seed {seed}, {sizes:?}");
        // Some files are imported by one command, and the remaining files by the next command.
        let (now, later) = files.split_at(rng.below(files.len()));
        let stop = AtomicBool::new(false);
        for files in [now, later] {
            let reports = shop.import_with(files, &Options::default(), sizes, &stop);
            for report in &reports {
                assert_eq!(
                    report.added + report.replaced + report.unchanged,
                    report.rows,
                    "{context}: {report:?}"
                );
                assert_eq!(report.replaced, 0, "{context}");
            }
            check_roll_ups(&shop, &context);
        }
        assert!(shop.content() == whole.content(), "{context}: the series differ");
        assert!(history::check(&shop.store, shop.history.venues()).unwrap().damage.is_empty(), "{context}");
    }
}

#[test]
fn the_last_import_of_a_stamp_wins() {
    for seed in 0..8u64 {
        let mut rng = Rng(1000 + seed);
        let names = ["5.HK", "700.HK"];
        let times = minutes(Market::Hk, "2025-12-23", "2025-12-29").time;
        let mut truth: BTreeMap<(String, i64), i64> = BTreeMap::new();
        let shop = Shop::new();
        let sizes = Sizes { flush_rows: *rng.pick(&[50, 1_000_000]), block_rows: *rng.pick(&[5, 40, 300]) };
        for round in 0..4 {
            let mut files = Vec::new();
            for number in 0..1 + rng.below(3) {
                let one_in = *rng.pick(&[3, 30, 200]);
                let mut rows: Vec<(String, i64, i64)> = Vec::new();
                for time in &times {
                    if rng.one_in(one_in) {
                        rows.push(((*rng.pick(&names)).to_owned(), *time, 1 + rng.below(50) as i64));
                    }
                }
                if rows.is_empty() {
                    continue;
                }
                shuffle(&mut rng, &mut rows);
                for (name, time, price) in &rows {
                    truth.insert((name.clone(), *time), *price);
                }
                files.push(shop.file(&format!("{round}-{number}.csv"), csv(&rows)));
            }
            // Random prices are very different from the stored ones, so replacing must be allowed.
            let replace = Options { replace: true, ..Options::default() };
            let reports = shop.import_with(&files, &replace, sizes, &AtomicBool::new(false));
            assert!(reports.iter().all(|report| report.outcome == Outcome::Imported), "{reports:?}");
        }
        let context = format!("seed {seed}, {sizes:?}");
        check_roll_ups(&shop, &context);
        let mut found: BTreeMap<(String, i64), i64> = BTreeMap::new();
        for name in names {
            let stored = shop.stored(&format!("{name}/1m"));
            found.extend(stored.iter().map(|c| ((name.to_owned(), c.time.0), c.volume)));
        }
        assert!(found == truth, "{context}");
        assert!(history::check(&shop.store, shop.history.venues()).unwrap().damage.is_empty(), "{context}");
    }
}

#[test]
fn importing_in_reverse_order_leaves_no_short_blocks() {
    let shop = Shop::new();
    let times = minutes(Market::Hk, "2025-12-01", "2025-12-23").time;
    let files: Vec<_> = times
        .chunks(331)
        .enumerate()
        .map(|(day, times)| {
            let rows: Vec<_> = times.iter().map(|time| ("5.HK".to_owned(), *time, 10)).collect();
            shop.file(&format!("{day}.csv"), csv(&rows))
        })
        .rev()
        .collect();
    shop.import(&files);
    let mut reader = shop.store.reader().unwrap();
    let blocks = reader.snapshot().unwrap().series(&"5.HK/1m".parse().unwrap()).unwrap().unwrap().blocks;
    assert!(blocks <= 2 + times.len() as u64 / 4096, "{blocks} blocks");
}
