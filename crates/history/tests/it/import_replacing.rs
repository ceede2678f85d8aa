//! Replacing stored candles: corrections are accepted, but a file on a different basis is refused
//! before anything is written.

use std::fmt::Write;
use std::sync::atomic::AtomicBool;

use expect_test::expect;
use history::import::{Options, Outcome, Report, Sizes};
use market::{Candle, Candles, Grain, Market, Price, Turnover};
use store::ImportState;

use crate::common::{Shop, days, minutes, venue};

const SMALL: Sizes = Sizes { flush_rows: 1_000, block_rows: 300 };

/// Returns candles with random prices and volumes.
fn lively(candles: Candles) -> Vec<Candle> {
    let mut state = 7u64;
    candles
        .iter()
        .map(|candle| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let close = 100_000_000 + i64::try_from(state >> 40).unwrap() % 3_000_000;
            let volume = 1_000 + i64::try_from(state >> 33 & 127).unwrap();
            let (open, high, low) = (Price(close - 50_000), Price(close + 200_000), Price(close - 200_000));
            // Round to the three decimals of the file.
            let turnover = Turnover(i128::from(close) * i128::from(volume) / 1000 * 1000);
            Candle { open, high, low, close: Price(close), volume, turnover, ..candle }
        })
        .collect()
}

fn year() -> Vec<Candle> {
    lively(days(Market::Hk, "2023-01-03", "2023-12-29"))
}

fn csv(name: &str, candles: &[Candle]) -> String {
    let mut text = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    let zone = venue(Market::Hk).zone();
    for c in candles {
        let [open, high, low, close] = [c.open, c.high, c.low, c.close].map(|price| price.text(6));
        let (time, turnover) = (zone.rfc3339(c.time), c.turnover.text());
        writeln!(text, "{name},{time},{open},{high},{low},{close},{},{turnover}", c.volume).unwrap();
    }
    text
}

fn times(candle: &Candle, numer: i64, denom: i64) -> Candle {
    let price = |price: Price| Price(price.0 * numer / denom);
    let (open, high, low, close) =
        (price(candle.open), price(candle.high), price(candle.low), price(candle.close));
    Candle { open, high, low, close, ..*candle }
}

/// Folds every `each` candles into one candle with the last stamp, as in a file of a longer period.
fn folded(candles: &[Candle], each: usize) -> Vec<Candle> {
    let fold = |part: &[Candle]| Candle {
        open: part[0].open,
        high: part.iter().map(|c| c.high).max().unwrap(),
        low: part.iter().map(|c| c.low).min().unwrap(),
        volume: part.iter().map(|c| c.volume).sum(),
        turnover: Turnover(part.iter().map(|c| c.turnover.0).sum()),
        ..part[part.len() - 1]
    };
    candles.chunks(each).map(fold).collect()
}

fn stocked(candles: &[Candle]) -> Shop {
    let shop = Shop::new();
    let report = shop.import(&[shop.file("stock.csv", csv("700.HK", candles))]).remove(0);
    assert_eq!(report.outcome, Outcome::Imported);
    shop
}

fn import(shop: &Shop, content: String, options: &Options, sizes: Sizes) -> Report {
    let file = shop.file("other.csv", content);
    shop.import_with(&[file], options, sizes, &AtomicBool::new(false)).remove(0)
}

/// Sets the period explicitly, as a user would after a weekly file was refused.
fn insisting(grain: Grain) -> Options {
    Options { read: files::ReadOptions { period: Some(grain), ..Default::default() }, ..Options::default() }
}

/// Returns the bytes of every block, by series.
fn blocks(shop: &Shop) -> Vec<(String, Vec<Vec<u8>>)> {
    let mut reader = shop.store.reader().unwrap();
    let snapshot = reader.snapshot().unwrap();
    let bodies = |series: &store::Series| {
        let entries = snapshot.blocks(series, None, None).unwrap();
        entries
            .iter()
            .map(|entry| {
                let mut bytes = Vec::new();
                snapshot.block(entry, &mut bytes).unwrap();
                bytes
            })
            .collect()
    };
    snapshot
        .all_series()
        .unwrap()
        .iter()
        .map(|info| (info.series.to_string(), bodies(&info.series)))
        .collect()
}

#[test]
fn a_file_on_another_basis_is_refused() {
    let year = year();
    let each = |change: &dyn Fn(&Candle) -> Candle| year.iter().map(change).collect::<Vec<_>>();
    let day = insisting(Grain::Day);
    let bases: Vec<(&str, Vec<Candle>)> = vec![
        ("split", each(&|c| Candle { volume: c.volume * 4, ..times(c, 1, 4) })),
        ("consolidation", each(&|c| times(c, 10, 1))),
        ("dividends", each(&|c| times(c, 97, 100))),
        ("thousandths", each(&|c| times(c, 1000, 1))),
        ("lots", each(&|c| Candle { volume: c.volume / 100, ..*c })),
        ("no volume", each(&|c| Candle { volume: 0, ..*c })),
        ("no turnover", each(&|c| Candle { turnover: Turnover(0), ..*c })),
        ("thousands", each(&|c| Candle { turnover: Turnover(c.turnover.0 / 1000), ..*c })),
        ("weeks", folded(&year, 5)),
        // The first half of the year is adjusted for a split.
        ("half a year", each(&|c| if c.time < year[120].time { times(c, 1, 2) } else { *c })),
    ];
    let mut table = String::new();
    for (name, candles) in bases {
        let shop = stocked(&year);
        let before = blocks(&shop);
        for sizes in [Sizes::default(), Sizes { flush_rows: 20, block_rows: 64 }] {
            let report = import(&shop, csv("700.HK", &candles), &day, sizes);
            let Outcome::NotReplaced(message) = &report.outcome else { panic!("{name}: {report:?}") };
            assert!(message.contains("pass --replace"), "{message}");
            assert_eq!((report.added, report.replaced, report.unchanged), (0, 0, 0), "{name}");
            assert!(blocks(&shop) == before, "{name}: something was rewritten");
            let entry = shop.imports().pop().unwrap();
            assert_eq!((entry.state, entry.rows_done), (ImportState::Failed, 0), "{name}");
            assert_eq!(entry.message.as_ref(), Some(message));
            if sizes.block_rows > 64 {
                writeln!(table, "{name}: {}", message.split_once("; nothing").unwrap().0).unwrap();
            }
        }
        // With the option, the same command resumes the same ledger entry.
        let report = import(&shop, csv("700.HK", &candles), &Options { replace: true, ..day.clone() }, SMALL);
        assert_eq!(report.outcome, Outcome::Imported, "{name}");
        assert!(report.notes.iter().any(|note| note.contains("very different")), "{:?}", report.notes);
        assert_eq!((shop.imports().len(), shop.imports()[1].state), (2, ImportState::Done), "{name}");
    }
    expect![[r#"
        split: would replace 242 of the 242 stored candles of 700.HK (1d) that it has by very different ones: prices are 0.25 times the stored ones: split-adjusted? (700.HK 2023-01-03: close 102.274728 stored, 25.568682 in the file)
        consolidation: would replace 242 of the 242 stored candles of 700.HK (1d) that it has by very different ones: prices are 10 times the stored ones: split-adjusted? (700.HK 2023-01-03: close 102.274728 stored, 1022.74728 in the file)
        dividends: would replace 242 of the 242 stored candles of 700.HK (1d) that it has by very different ones: prices are 0.97 times the stored ones: adjusted for dividends? (700.HK 2023-01-03: close 102.274728 stored, 99.206486 in the file)
        thousandths: would replace 242 of the 242 stored candles of 700.HK (1d) that it has by very different ones: prices are 1000 times the stored ones: another unit? (700.HK 2023-01-03: close 102.274728 stored, 102274.728 in the file)
        lots: would replace 242 of the 242 stored candles of 700.HK (1d) that it has by very different ones: volumes are 0.009661 times the stored ones: another unit, such as lots for shares? (700.HK 2023-01-03: volume 1094 stored, 10 in the file)
        no volume: would replace 242 of the 242 stored candles of 700.HK (1d) that it has by very different ones: volumes are 0 where there are some stored (700.HK 2023-01-03: volume 1094 stored, 0 in the file)
        no turnover: would replace 242 of the 242 stored candles of 700.HK (1d) that it has by very different ones: turnovers are 0 where there are some stored (700.HK 2023-01-03: turnover 111888.552 stored, 0.000 in the file)
        thousands: would replace 242 of the 242 stored candles of 700.HK (1d) that it has by very different ones: turnovers are 0.000999 times the stored ones: another unit, such as lots for shares? (700.HK 2023-01-03: turnover 111888.552 stored, 111.889 in the file)
        weeks: would replace 48 of the 48 stored candles of 700.HK (1d) that it has by very different ones: prices differ by no common factor: another security, or another period? (700.HK 2023-01-09: low 101.269105 stored, 100.009818 in the file)
        half a year: would replace 120 of the 243 stored candles of 700.HK (1d) that it has by very different ones: prices are 0.5 times the stored ones: split-adjusted? (700.HK 2023-01-03: close 102.274728 stored, 51.137364 in the file)
    "#]].assert_eq(&table);
}

#[test]
fn corrections_are_accepted() {
    let year = year();
    let last = year.len() - 1;
    let some = |at: &[usize], change: fn(&Candle) -> Candle| {
        let mut candles = year.clone();
        at.iter().for_each(|at| candles[*at] = change(&candles[*at]));
        candles
    };
    let halved = |c: &Candle| times(c, 1, 2);
    let corrections = [
        ("a few bad prints", some(&[3, 50, 51, 52, 120], halved), 5),
        (
            "the day that was not over",
            some(&[last], |c| Candle { volume: c.volume * 3, ..times(c, 9, 10) }),
            1,
        ),
        ("ticks", year.iter().map(|c| times(c, 10_005, 10_000)).collect(), year.len() as u64),
        (
            "late trades",
            year.iter().map(|c| Candle { volume: c.volume * 5 / 4, ..*c }).collect(),
            year.len() as u64,
        ),
    ];
    for (name, candles, replaced) in corrections {
        let shop = stocked(&year);
        let report = import(&shop, csv("700.HK", &candles), &Options::default(), Sizes::default());
        assert_eq!((&report.outcome, report.replaced), (&Outcome::Imported, replaced), "{name}");
        let is_said = report.notes.iter().any(|note| note.contains("very different"));
        assert_eq!(is_said, name == "a few bad prints", "{name}: {:?}", report.notes);
        assert_eq!(shop.stored("700.HK/1d").iter().collect::<Vec<_>>(), candles, "{name}");
    }
    // Filling in missing volumes is accepted.
    let bare: Vec<Candle> = year.iter().map(|c| Candle { volume: 0, turnover: Turnover(0), ..*c }).collect();
    let report = import(&stocked(&bare), csv("700.HK", &year), &Options::default(), Sizes::default());
    assert_eq!((report.outcome, report.replaced), (Outcome::Imported, year.len() as u64));
}

#[test]
fn one_minute_candles_are_not_replaced_by_five_minute_candles() {
    let minutes = lively(minutes(Market::Hk, "2024-01-02", "2024-01-08"));
    let shop = stocked(&minutes);
    let before = blocks(&shop);
    let fives = folded(&minutes, 5);
    for sizes in [Sizes::default(), Sizes { flush_rows: 50, block_rows: 64 }] {
        let report = import(&shop, csv("700.HK", &fives), &insisting(Grain::Minute), sizes);
        let Outcome::NotReplaced(message) = &report.outcome else { panic!("{report:?}") };
        assert!(message.contains("another period?"), "{message}");
        assert!(blocks(&shop) == before);
    }
}

#[test]
fn a_late_difference_refuses_the_whole_file() {
    let minutes = lively(minutes(Market::Hk, "2024-01-02", "2024-03-28"));
    let shop = stocked(&minutes);
    let before = blocks(&shop);
    let (head, tail) = minutes.split_at(minutes.len() - 3_000);
    let halved: Vec<Candle> = tail.iter().map(|c| times(c, 1, 2)).collect();
    // The file starts with new candles of another symbol, which must not be imported either.
    let content = csv("5.HK", head) + csv("700.HK", &halved).split_once('\n').unwrap().1;
    let report = import(&shop, content, &Options::default(), SMALL);
    assert!(matches!(&report.outcome, Outcome::NotReplaced(_)), "{report:?}");
    assert!(blocks(&shop) == before, "something was written");
    assert_eq!(shop.ledger()[1], "failed read 0 = +0 ~0 =0 !0");
}

#[test]
fn symbols_are_judged_separately_and_together() {
    let (year, last) = (year(), year().len() - 1);
    let shop = stocked(&year);
    let names: Vec<String> = (1..=40).map(|n| format!("{n}.HK")).collect();
    let body = |name: &str, candles: &[Candle]| csv(name, candles).split_once('\n').unwrap().1.to_owned();
    let header = csv("1.HK", &[]);
    let all: String = names.iter().map(|name| body(name, &year)).collect();
    assert_eq!(import(&shop, header.clone() + &all, &Options::default(), SMALL).outcome, Outcome::Imported);
    // One of many symbols is on another basis.
    let halved: Vec<Candle> = year[100..140].iter().map(|c| times(c, 1, 2)).collect();
    let one = header.clone() + &all + &body("700.HK", &halved);
    let report = import(&shop, one, &Options::default(), SMALL);
    let Outcome::NotReplaced(message) = &report.outcome else { panic!("{report:?}") };
    assert!(message.contains("40 of the 40 stored candles of 700.HK (1d)"), "{message}");
    // One day of every symbol is on another basis. The last day is exempt, because it may have been
    // incomplete when it was stored.
    let of_day =
        |at: usize| -> String { names.iter().map(|name| body(name, &[times(&year[at], 1, 2)])).collect() };
    let report = import(&shop, header.clone() + &of_day(100), &Options::default(), SMALL);
    let Outcome::NotReplaced(message) = &report.outcome else { panic!("{report:?}") };
    assert!(message.contains("40 of the 40 stored candles that it has"), "{message}");
    let report = import(&shop, header + &of_day(last), &Options::default(), SMALL);
    assert_eq!((report.outcome, report.replaced), (Outcome::Imported, 40));
}

/// The share of replaced candles is relative to all stamps that the file has in common with the
/// store, including those of unchanged symbols.
#[test]
fn the_refusal_does_not_depend_on_the_flush_size() {
    let week = &year()[..6];
    let names: Vec<String> = (1..=200).map(|n| format!("{n}.HK")).collect();
    let body = |name: &str, candles: &[Candle]| csv(name, candles).split_once('\n').unwrap().1.to_owned();
    let file = |corrected: usize| -> String {
        let mut text = csv("1.HK", &[]);
        for (at, name) in names.iter().enumerate() {
            let mut candles = week.to_vec();
            if at < corrected {
                candles[2].volume *= 2;
            }
            text += &body(name, &candles);
        }
        text
    };
    let flushes = [1, 20, 500, 1_199, 400_000];
    for (corrected, refused) in
        [(12, None), (119, None), (120, Some("120 of the 1200 stored candles that it has"))]
    {
        for flush_rows in flushes {
            let shop = Shop::new();
            let sizes = Sizes { flush_rows, block_rows: 64 };
            assert_eq!(import(&shop, file(0), &Options::default(), sizes).added, 1_200);
            let report = import(&shop, file(corrected), &Options::default(), sizes);
            match (refused, &report.outcome) {
                (None, Outcome::Imported) => assert_eq!(report.replaced, corrected as u64),
                (Some(words), Outcome::NotReplaced(message)) => assert!(message.contains(words), "{message}"),
                (_, outcome) => panic!("{corrected} corrected, flushes of {flush_rows}: {outcome:?}"),
            }
        }
    }
}

#[test]
fn later_files_are_compared_with_earlier_ones() {
    let year = year();
    for sizes in [Sizes::default(), Sizes { flush_rows: 50, block_rows: 64 }] {
        let shop = Shop::new();
        let quarter: Vec<Candle> = year.iter().map(|c| times(c, 1, 4)).collect();
        let files = [
            shop.file("raw.csv", csv("700.HK", &year)),
            shop.file("adjusted.csv", csv("700.HK", &quarter)),
            shop.file("other.csv", csv("5.HK", &year)),
        ];
        let reports = shop.import_with(&files, &Options::default(), sizes, &AtomicBool::new(false));
        assert_eq!((&reports[0].outcome, &reports[2].outcome), (&Outcome::Imported, &Outcome::Imported));
        let Outcome::NotReplaced(message) = &reports[1].outcome else { panic!("{:?}", reports[1]) };
        assert!(message.contains("prices are 0.25 times the stored ones: split-adjusted?"), "{message}");
        assert_eq!(shop.stored("700.HK/1d").iter().collect::<Vec<_>>(), year);
        assert_eq!(shop.stored("5.HK/1d").len(), year.len());
    }
}

#[test]
fn a_stop_during_the_survey_stores_nothing() {
    let minutes = lively(minutes(Market::Hk, "2024-01-02", "2024-03-28"));
    let shop = stocked(&minutes);
    let before = blocks(&shop);
    let file = shop.file("again.csv", csv("5.HK", &minutes));
    let stopped = AtomicBool::new(true);
    let report =
        shop.import_with(std::slice::from_ref(&file), &Options::default(), SMALL, &stopped).remove(0);
    assert_eq!(report.outcome, Outcome::Interrupted);
    assert_eq!(shop.ledger()[1], "interrupted read 0 = +0 ~0 =0 !0");
    assert!(blocks(&shop) == before);
    let report = shop.import_with(&[file], &Options::default(), SMALL, &AtomicBool::new(false)).remove(0);
    assert_eq!((report.outcome, report.added), (Outcome::Imported, minutes.len() as u64));
    assert_eq!(shop.ledger()[1].split(' ').next(), Some("done"));
}
