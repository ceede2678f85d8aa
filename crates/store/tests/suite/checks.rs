use market::Timestamp;
use store::{BlockEntry, Depth, FINDINGS_MAX, Series};

use crate::fixture::{Fresh, SEALED, block, fresh, minutes, put};

/// Damages a store of two series with statements that a correct program never runs, and compares
/// the findings. `by_seals` are expected only from an engine that seals and counts rows, and
/// `expected` from every engine.
fn check(damage: &str, by_seals: &[&str], expected: &[&str]) {
    let fresh = two_series();
    fresh.home.damage("candles", damage);
    let findings = fresh.store.reader().unwrap().check(Depth::Full, |_, _, _| None).unwrap();
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    let by_seals = if SEALED { by_seals } else { &[] };
    assert_eq!(texts, [by_seals, expected].concat(), "{damage}");
}

fn two_series() -> Fresh {
    let fresh = fresh();
    put(&fresh.store, &minutes("700.HK"), &[], &[block(0, 9), block(10, 19)]);
    put(&fresh.store, &minutes("AAPL.US"), &[], &[block(0, 9)]);
    fresh
}

#[test]
fn a_sound_store_has_no_findings() {
    let fresh = two_series();
    for depth in [Depth::Quick, Depth::Full] {
        let mut seen = Vec::new();
        let inspect = |series: &Series, entry: &BlockEntry, bytes: &[u8]| {
            assert_eq!(entry.bytes as usize, bytes.len());
            seen.push(format!("{series} {}", String::from_utf8_lossy(bytes)));
            None
        };
        assert_eq!(fresh.store.reader().unwrap().check(depth, inspect).unwrap(), []);
        assert_eq!(seen, ["700.HK/1m 0..=9", "700.HK/1m 10..=19", "AAPL.US/1m 0..=9"]);
    }
}

#[test]
fn a_problem_found_by_the_caller_is_reported_with_its_block() {
    let fresh = two_series();
    let wrong = |_: &Series, entry: &BlockEntry, _: &[u8]| {
        (entry.first == Timestamp(10)).then(|| "its checksum is wrong".to_owned())
    };
    let findings = fresh.store.reader().unwrap().check(Depth::Quick, wrong).unwrap();
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["700.HK/1m at 1970-01-01T00:00:10Z: block 2: its checksum is wrong"]);
}

#[test]
fn an_entry_without_a_body_is_found() {
    check(
        "delete from block_body where id = 2",
        &["1 rows of table block_index point at rows of table block_body that are missing"],
        &["700.HK/1m at 1970-01-01T00:00:10Z: block 2 has no body"],
    );
}

/// A missing body can be repaired by importing the files again, so it is reported as damage in a
/// block if every block belongs to a series.
#[test]
fn a_missing_body_is_damage_in_its_block() {
    for (damage, in_blocks) in [
        ("delete from block_body", true),
        ("delete from block_body where id = 3; delete from series where symbol = 'AAPL.US'", false),
    ] {
        let fresh = two_series();
        fresh.home.damage("candles", damage);
        let findings = fresh.store.reader().unwrap().check(Depth::Full, |_, _, _| None).unwrap();
        assert_eq!(findings.iter().all(store::Finding::is_in_a_block), in_blocks, "{findings:#?}");
    }
}

#[test]
fn a_body_without_an_entry_is_found() {
    check(
        "delete from block_index where body_id = 2",
        &["table block_index has 2 rows, 3 were written"],
        &[
            "block 2 belongs to no series",
            "700.HK/1m at 1970-01-01T00:00:00Z: a block before or after block 1 is missing",
            "700.HK/1m: the series has 20 rows in 2 blocks of 12 bytes from 1970-01-01T00:00:00Z to \
             1970-01-01T00:00:19Z, its blocks 10 in 1 of 5 from 1970-01-01T00:00:00Z to 1970-01-01T00:00:09Z",
        ],
    );
}

#[test]
fn a_body_of_another_length_is_found() {
    check(
        "update block_body set body = substr(body, 1, 1) where id = 3",
        &[],
        &["AAPL.US/1m at 1970-01-01T00:00:00Z: block 3 has 1 bytes, its entry has 5"],
    );
}

#[test]
fn overlapping_entries_are_found() {
    check(
        "update block_index set last_at = 10 where body_id = 1",
        &["a row of table block_index differs from what was written: 1 0"],
        &["700.HK/1m at 1970-01-01T00:00:10Z: block 2 starts before block 1 ends, at 1970-01-01T00:00:10Z"],
    );
}

#[test]
fn an_entry_without_a_series_is_found() {
    check(
        "delete from series where symbol = 'AAPL.US'",
        &[
            "1 rows of table block_index point at rows of table series that are missing",
            "table series has 1 rows, 2 were written",
        ],
        &[
            "AAPL.US has 0 series and 0 corporate actions, 1 and 0 were written",
            "block 3 belongs to a series that does not exist",
        ],
    );
}

#[test]
fn ids_that_would_be_assigned_twice_are_found() {
    for name in ["block", "series", "version"] {
        let damage = format!("update counter set next = 1 where name = '{name}'");
        let behind = format!("the counter of {name} ids is behind the ids in use");
        let changed = format!("a row of table counter differs from what was written: {name}");
        check(&damage, &[&changed], &[&behind]);
        let damage = format!("delete from counter where name = '{name}'");
        check(&damage, &["table counter has 10 rows, 11 were written"], &[&behind]);
    }
}

#[test]
fn an_unreadable_value_does_not_hide_other_findings() {
    let fresh = two_series();
    fresh.home.damage(
        "candles",
        "update block_index set row_count = -1 where body_id = 1; delete from block_index where body_id = 3",
    );
    let findings = fresh.store.reader().unwrap().check(Depth::Quick, |_, _, _| None).unwrap();
    let texts: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(texts.iter().any(|text| text.contains("\"-1\" where a count belongs")), "{texts:?}");
    assert!(texts.iter().any(|text| text == "block 3 belongs to no series"), "{texts:?}");
    assert!(texts.iter().any(|text| text.starts_with("AAPL.US/1m: the series has")), "{texts:?}");
}

#[test]
fn the_number_of_findings_is_bounded() {
    let fresh = two_series();
    fresh.home.damage(
        "candles",
        "with recursive n (i) as (values (100) union all select i + 1 from n where i < 3000)
         insert into block_body (id, body) select n.i, one.body from n, block_body one where one.id = 1;
         update counter set next = 5000 where name = 'block'",
    );
    let findings = fresh.store.reader().unwrap().check(Depth::Quick, |_, _, _| None).unwrap();
    assert_eq!(findings.len(), FINDINGS_MAX);
}
