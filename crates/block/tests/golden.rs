//! Tests that blocks of every released format version still decode to the same candles. Each
//! `NAME.block` under `golden/vN` has a `NAME.csv` with its candles. These files must never change.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use block::{Block, encode};
use market::{Candles, Session};

const HEAD: &str = "time,open,high,low,close,volume,turnover,session\n";

fn golden(version: &str, ending: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(version);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|e| e == ending)).collect();
    files.sort();
    files
}

fn table(candles: &Candles) -> String {
    let line = |c: market::Candle| {
        format!(
            "{},{},{},{},{},{},{},{}\n",
            c.time.0, c.open.0, c.high.0, c.low.0, c.close.0, c.volume, c.turnover.0, c.session
        )
    };
    std::iter::once(HEAD.to_owned()).chain(candles.iter().map(line)).collect()
}

fn candles(table: &str) -> Candles {
    let mut candles = Candles::default();
    for line in table.strip_prefix(HEAD).unwrap().lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |index: usize| fields[index].parse::<i64>().unwrap();
        candles.time.push(number(0));
        candles.open.push(number(1));
        candles.high.push(number(2));
        candles.low.push(number(3));
        candles.close.push(number(4));
        candles.volume.push(number(5));
        candles.turnover.push(fields[6].parse().unwrap());
        candles.session.push(Session::parse(fields[7]).unwrap());
    }
    candles
}

fn decoded(bytes: &[u8]) -> Candles {
    let mut out = Candles::default();
    Block::parse(bytes).unwrap().read_all(&mut out).unwrap();
    out
}

#[test]
fn version_1_blocks_decode_to_the_golden_candles() {
    let blocks = golden("v1", "block");
    assert_eq!(blocks.len(), 6);
    for path in blocks {
        let expected = std::fs::read_to_string(path.with_extension("csv")).unwrap();
        assert!(table(&decoded(&std::fs::read(&path).unwrap())) == expected, "{} differs", path.display());
    }
}

#[test]
fn the_current_encoder_round_trips_the_golden_candles() {
    let tables = golden("v1", "csv");
    assert_eq!(tables.len(), 6);
    for path in tables {
        let text = std::fs::read_to_string(&path).unwrap();
        let candles = candles(&text);
        let again = decoded(&encode(&candles, 0..candles.len()).unwrap());
        assert!(table(&again) == text, "{} differs", path.display());
    }
}
