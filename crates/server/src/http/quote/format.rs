//! The forms that candles can leave in, and which one a client wants.

use std::fmt::Write;
use std::io::Cursor;

use bytes::Bytes;
use files::CandleSink;
use hyper::header::{ACCEPT, HeaderMap, HeaderValue};
use market::{Price, Zone};
use serde_json::Value;

use crate::kit::envelope::Problem;
use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Csv,
    Arrow,
    Parquet,
}

/// Ranges of an `Accept` header that are looked at; browsers send half a dozen.
const ACCEPT_MAX: usize = 32;

impl Format {
    const ALL: [Format; 4] = [Format::Json, Format::Csv, Format::Arrow, Format::Parquet];

    pub(super) fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Arrow => "arrow",
            Format::Parquet => "parquet",
        }
    }

    fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Csv => "text/csv",
            Format::Arrow => "application/vnd.apache.arrow.stream",
            Format::Parquet => "application/vnd.apache.parquet",
        }
    }

    pub(super) fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Format::Json => "application/json; charset=utf-8",
            Format::Csv => "text/csv; charset=utf-8; header=present",
            other => other.media_type(),
        })
    }

    pub(super) fn parse(name: &str) -> Result<Format, Refusal> {
        Format::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            let name: String = name.chars().take(40).collect();
            Refusal::Malformed(format!("format {name:?} is none of json, csv, arrow, parquet"))
        })
    }

    /// What a client would rather have; JSON if it does not say. Of two it likes as much, the one it names first.
    pub(super) fn accepted(headers: &HeaderMap) -> Result<Format, Problem> {
        let lines: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok()).collect();
        let ranges =
            lines.iter().flat_map(|line| line.split(',')).map(str::trim).filter(|range| !range.is_empty());
        let mut best: Option<(u16, Format)> = None;
        let mut any = false;
        for range in ranges.take(ACCEPT_MAX) {
            any = true;
            let mut parts = range.split(';').map(str::trim);
            let Some(format) = parts.next().and_then(Format::of_range) else { continue };
            let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
            let weight = weight.map_or(1000, thousandths);
            if weight > best.map_or(0, |(weight, _)| weight) {
                best = Some((weight, format));
            }
        }
        match best {
            Some((_, format)) => Ok(format),
            None if !any => Ok(Format::Json),
            None => {
                let types = Format::ALL.map(Format::media_type).join(", ");
                Err(Problem::not_acceptable(&format!(
                    "none of the accepted types is served: there are {types}"
                )))
            }
        }
    }

    fn of_range(range: &str) -> Option<Format> {
        let range = range.to_ascii_lowercase();
        match range.as_str() {
            "*/*" | "application/*" => Some(Format::Json),
            "text/*" => Some(Format::Csv),
            range => Format::ALL.into_iter().find(|format| format.media_type() == range),
        }
    }

    /// Candles as the body of an answer; JSON also says how to go on.
    pub(super) fn encode(
        self,
        answer: &history::Answer,
        zone: &Zone,
        next: Option<&str>,
    ) -> Result<Bytes, Problem> {
        let body = match self {
            Format::Json => {
                json(answer, zone, next).map(String::into_bytes).map_err(|error| error.to_string())
            }
            Format::Csv => file(files::Format::Csv, answer, zone),
            Format::Parquet => file(files::Format::Parquet, answer, zone),
            Format::Arrow => file(files::Format::ArrowIpc, answer, zone)
                .and_then(|file| stream(file).map_err(|error| error.to_string())),
        };
        body.map(Bytes::from).map_err(|error| {
            tracing::error!(error, format = self.name(), "cannot write candles");
            Problem::internal()
        })
    }
}

/// A weight between 0 and 1 in thousandths; what is none counts as 1.
fn thousandths(text: &str) -> u16 {
    let (whole, rest) = text.split_once('.').unwrap_or((text, ""));
    match (whole, format!("{rest:0<3}").get(..3).and_then(|rest| rest.parse::<u16>().ok())) {
        ("0", Some(rest)) => rest,
        _ => 1000,
    }
}

/// The wire form's names, with `time` in RFC 3339 added. Written candle by candle: ten thousand need no tree in memory.
fn json(answer: &history::Answer, zone: &Zone, next: Option<&str>) -> Result<String, std::fmt::Error> {
    let mut text = String::with_capacity(256 + 240 * answer.candles.len());
    let symbol = Value::from(answer.symbol.as_str());
    write!(
        text,
        r#"{{"code":0,"message":"success","data":{{"symbol":{symbol},"period":"{}","#,
        answer.period
    )?;
    text.write_str(r#""candlesticks":["#)?;
    for (row, candle) in answer.candles.iter().enumerate() {
        let price = |price: Price| price.text(answer.decimals);
        if row > 0 {
            text.push(',');
        }
        write!(
            text,
            r#"{{"close":"{}","open":"{}","low":"{}","high":"{}","volume":{},"turnover":"{}","timestamp":{},"#,
            price(candle.close),
            price(candle.open),
            price(candle.low),
            price(candle.high),
            candle.volume,
            candle.turnover.text(),
            candle.time.0,
        )?;
        write!(
            text,
            r#""trade_session":{},"time":"{}"}}"#,
            candle.session.code(),
            zone.rfc3339(candle.time)
        )?;
    }
    write!(text, r#"],"next":{}}}}}"#, next.map_or(Value::Null, Value::from))?;
    Ok(text)
}

fn file(format: files::Format, answer: &history::Answer, zone: &Zone) -> Result<Vec<u8>, String> {
    let write = || {
        let mut sink = CandleSink::create(format, Vec::new())?;
        sink.write(&answer.symbol, zone, answer.decimals, &answer.candles)?;
        sink.finish()
    };
    write().map_err(|error: files::FileError| error.to_string())
}

/// Arrow's stream format out of its file format: the same batches without the directory at the end.
fn stream(file: Vec<u8>) -> Result<Vec<u8>, impl std::fmt::Display> {
    let convert = || {
        let batches = arrow_ipc::reader::FileReader::try_new(Cursor::new(file), None)?;
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batches.schema())?;
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.into_inner()
    };
    convert()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], wanted: Option<Format>) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(ACCEPT, HeaderValue::from_str(line).unwrap());
        }
        assert_eq!(Format::accepted(&headers).ok(), wanted, "{lines:?}");
    }

    #[test]
    fn a_client_gets_the_form_it_likes_best() {
        check(&[], Some(Format::Json));
        check(&[""], Some(Format::Json));
        check(&["*/*"], Some(Format::Json));
        check(&["text/csv"], Some(Format::Csv));
        check(&["Text/CSV; charset=utf-8"], Some(Format::Csv));
        check(&["application/vnd.apache.arrow.stream"], Some(Format::Arrow));
        check(&["application/vnd.apache.parquet, */*;q=0.1"], Some(Format::Parquet));
        check(&["*/*;q=0.1", "application/vnd.apache.parquet;q=0.2"], Some(Format::Parquet));
        check(&["text/csv;q=0.5, application/json;q=0.75"], Some(Format::Json));
        check(&["text/csv, application/json"], Some(Format::Csv));
        check(&["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"], Some(Format::Json));
        check(&["text/csv;q=0, text/html"], None);
        check(&["text/html"], None);
        check(&["text/csv;q=nonsense"], Some(Format::Csv));
    }

    #[test]
    fn a_weight_has_three_decimals_at_most() {
        assert_eq!(
            ["0", "0.", "0.5", "0.05", "0.999", "0.9999", "1", "1.000"].map(thousandths),
            [0, 0, 500, 50, 999, 999, 1000, 1000]
        );
    }
}
