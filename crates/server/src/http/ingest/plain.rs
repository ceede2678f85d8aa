//! A fast parser for the most common form of a candle batch: JSON with prices as text and times as
//! numbers, all rows valid. `head.rs` and `rows.rs` parse all other batches, and report errors. For
//! this form, both parsers give the same result.

use history::ingest::CandleInput;
use market::{Candle, Grain, Price, Session, Symbol, Timestamp, Turnover};
use serde::Deserialize;

use super::head::{Batch, Body, is_source};
use super::rows::in_milliseconds;
use crate::ingest::ROWS_MAX;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainBatch<'a> {
    source: &'a str,
    seq: Option<i64>,
    gap: Option<bool>,
    build: Option<bool>,
    #[serde(borrow)]
    rows: Vec<PlainCandle<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlainCandle<'a> {
    symbol: &'a str,
    period: Option<&'a str>,
    time: i64,
    open: &'a str,
    high: &'a str,
    low: &'a str,
    close: &'a str,
    volume: i64,
    turnover: Option<&'a str>,
    r#final: Option<bool>,
}

/// Parses a batch and its rows. Returns `None` if the batch has another form or an invalid row.
pub(super) fn candles(
    body: &Body<'_>,
    permitted: impl Fn(&Symbol) -> bool,
) -> Option<(Batch, Vec<CandleInput>)> {
    if body.is_lines {
        return None;
    }
    let batch: PlainBatch<'_> = serde_json::from_slice(&body.bytes).ok()?;
    if batch.rows.len() > ROWS_MAX || !is_source(batch.source) {
        return None;
    }
    let rows = batch.rows.iter().map(|row| candle(row).filter(|row| permitted(&row.symbol)));
    let rows = rows.collect::<Option<Vec<_>>>()?;
    let batch = Batch {
        source: batch.source.to_owned(),
        seq: batch.seq,
        gap: batch.gap.unwrap_or(false),
        build: batch.build.unwrap_or(false),
        rows: Vec::new(),
    };
    Some((batch, rows))
}

fn candle(row: &PlainCandle<'_>) -> Option<CandleInput> {
    if row.period.is_some_and(|period| period != "1m") {
        return None;
    }
    let milliseconds = in_milliseconds(row.time)?;
    let candle = Candle {
        time: Timestamp(milliseconds.div_euclid(1_000)),
        open: Price::parse(row.open).ok()?,
        high: Price::parse(row.high).ok()?,
        low: Price::parse(row.low).ok()?,
        close: Price::parse(row.close).ok()?,
        volume: row.volume,
        turnover: row.turnover.map_or(Ok(Turnover::default()), Turnover::parse).ok()?,
        // Derived from the time.
        session: Session::Intraday,
    };
    let symbol = row.symbol.parse().ok()?;
    let is_whole = milliseconds.rem_euclid(1_000) == 0;
    is_whole.then_some(CandleInput { symbol, grain: Grain::Minute, candle, is_final: row.r#final })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use market::Venues;

    use super::super::rows;
    use super::*;

    const ROW: &str = r#""symbol":"AAPL.US","time":1784122320,"open":"190.3","high":"190.6","low":"190.3","close":"190.5","volume":1200"#;

    fn body(text: &str) -> Body<'_> {
        Body { bytes: Cow::Borrowed(text.as_bytes()), is_lines: false }
    }

    fn batch(head: &str, rows: &[String]) -> String {
        format!("{{{head},\"rows\":[{}]}}", rows.join(","))
    }

    /// Asserts that both parsers give the same result, and returns whether the batch has the common
    /// form.
    fn is_plain(text: &str) -> bool {
        let Some((plain, rows)) = candles(&body(text), |_| true) else { return false };
        let batch = Batch::read(&body(text)).unwrap();
        let head = |batch: &Batch| (batch.source.clone(), batch.seq, batch.gap, batch.build);
        assert_eq!(head(&plain), head(&batch), "{text}");
        let venues = Venues::built_in().unwrap();
        let full: Vec<_> = batch.rows.iter().map(|row| rows::candle(row, &venues).unwrap()).collect();
        assert_eq!(format!("{rows:?}"), format!("{full:?}"), "{text}");
        true
    }

    #[test]
    fn both_parsers_give_the_same_result() {
        let head = r#""source":"alpaca-1","seq":4711"#;
        for more in [
            "",
            r#","turnover":"228500.25","final":false"#,
            r#","turnover":null,"final":null,"period":null"#,
            r#","period":"1m","final":true"#,
        ] {
            assert!(is_plain(&batch(head, &[format!("{{{ROW}{more}}}"), format!("{{{ROW}}}")])), "{more}");
        }
        for head in [
            r#""source":"a""#,
            r#""source":"a","seq":null,"gap":true,"build":false"#,
            r#""source":"a","seq":-3,"gap":null"#,
        ] {
            assert!(is_plain(&batch(head, &[format!("{{{ROW}}}")])), "{head}");
        }
        assert!(is_plain(&batch(head, &[])));
        assert!(is_plain(&batch(head, &[format!("{{{}}}", ROW.replace("1784122320", "1784122320000"))])));
    }

    #[test]
    fn the_fast_parser_rejects_all_other_batches() {
        let head = r#""source":"alpaca-1","seq":4711"#;
        for (from, to) in [
            ("\"190.3\"", "190.3"),
            ("\"190.3\"", "\"190,3\""),
            ("1784122320", "\"1784122320\""),
            ("1784122320", "1784122320001"),
            ("1784122320", "9223372036854775807"),
            ("1200", "1200.0"),
            ("1200", "\"1200\""),
            ("AAPL.US", "AAPL"),
            ("AAPL.US", "A\\u0041PL.US"),
            ("\"volume\":1200", "\"volume\":1200,\"period\":\"day\""),
            ("\"volume\":1200", "\"volume\":1200,\"final\":1"),
            ("\"volume\":1200", "\"volume\":1200,\"unknown\":1"),
            ("\"volume\":1200", "\"volume\":1200,\"volume\":1201"),
            (",\"volume\":1200", ""),
        ] {
            let text = batch(head, &[format!("{{{ROW}}}"), format!("{{{}}}", ROW.replacen(from, to, 1))]);
            assert!(!is_plain(&text), "{from} {to}");
        }
        for head in [
            r#""source":"a","unknown":1"#,
            r#""source":"Alpaca""#,
            r#""seq":1"#,
            r#""source":"a","seq":1.5"#,
            r#""source":"a","gap":1"#,
        ] {
            assert!(!is_plain(&batch(head, &[format!("{{{ROW}}}")])), "{head}");
        }
        let many = vec![format!("{{{ROW}}}"); ROWS_MAX + 1];
        assert!(!is_plain(&batch(head, &many)));
        let text = batch(head, &[format!("{{{ROW}}}")]);
        assert!(candles(&body(&text), |_| false).is_none());
        assert!(candles(&Body { is_lines: true, ..body(&text) }, |_| true).is_none());
    }
}
