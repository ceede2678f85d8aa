//! Commits followed rows to a server. A state file in the user's data directory contains the
//! position and the number of the next batch. It is written before a batch is sent. If the response
//! is lost, the batch is sent again with the same number and rows, and the server recognizes it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use history::ingest::{CandleInput, Counts, Parsed, TradeInput, fingerprint};
use market::{Grain, Timestamp};
use serde_json::{Map, Value, json};

use super::lines::{known_offset, position};
use super::rows::Rows;
use super::{Committed, Follow, Sink, Start};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::machine;
use crate::output::{self, printable};
use crate::remote::session::{ApiError, Session};
use crate::remote::{MachineTime, ServerFlags, Time, field};

const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Beginning of the error message for a batch whose predecessor the server does not have.
const EXPECTED: &str = "expected seq";
/// Maximum length of the file name in the name of the source.
const NAME_LETTERS: usize = 16;
const MICROSECONDS: i64 = 1_000_000;
/// Number of stored units of a price or turnover per unit of the currency.
const UNIT: u128 = 1_000_000;

pub(super) struct ServerSink<'a> {
    context: &'a CommandContext,
    flags: &'a ServerFlags,
    session: Session,
    time: MachineTime,
    /// The file, or `None` for standard input.
    path: Option<PathBuf>,
    /// State file with the position in `path`.
    state_path: Option<PathBuf>,
    source: String,
    build: bool,
    /// Number of the next batch.
    seq: i64,
    /// Whether the server may have batches before the next one that this process has not sent.
    gap: bool,
    /// Position after the last acknowledged row.
    done: Value,
    /// End of the batch that the previous process may have sent and that must be sent again.
    resent: Option<u64>,
}

impl<'a> ServerSink<'a> {
    /// Returns `None` if no server is given.
    pub(super) fn open(
        follow: &Follow<'a>,
        path: Option<&Path>,
        context: &'a CommandContext,
    ) -> Result<Option<ServerSink<'a>>, Failure> {
        let Some(flags) = follow.server else { return Ok(None) };
        let Some(session) = flags.session(context)? else { return Ok(None) };
        if follow.final_after_s.is_some() {
            return Err(usage("--final-after is a setting of the server (ingest_grace_seconds)"));
        }
        let absolute = path.map(std::path::absolute).transpose()?;
        let host = machine::host_name().unwrap_or_default();
        let time = MachineTime::until(follow.stop.clone());
        let source = source(&host, absolute.as_deref(), time.now());
        let state_path = match absolute {
            Some(_) => Some(state_path(&source, session.url.as_str())?),
            None => None,
        };
        Ok(Some(ServerSink {
            context,
            flags,
            session,
            path: path.map(Path::to_owned),
            state_path,
            source,
            build: follow.options.build_candles,
            seq: first_seq(time.now()),
            time,
            gap: true,
            done: Value::Null,
            resent: None,
        }))
    }

    fn save(&self, seq: i64, pending: &Value) -> Result<(), Failure> {
        let Some(path) = &self.state_path else { return Ok(()) };
        let state = json!({"seq": seq, "done": self.done, "pending": pending});
        let new = path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(state.to_string().as_bytes())?;
        file.sync_all()?;
        Ok(std::fs::rename(&new, path)?)
    }

    /// Sends a batch until the server responds. The pause between attempts grows while the server
    /// is unreachable.
    fn send(
        &mut self,
        path: &str,
        (rows, place): (&[Value], &Value),
        mut may_be_known: bool,
    ) -> Result<Value, Failure> {
        let (mut pause, mut renewed) = (PAUSE_FIRST, false);
        loop {
            let batch = json!({
                "source": self.source, "seq": self.seq, "gap": self.gap, "build": self.build, "rows": rows,
            });
            let error = match self.session.post(path, batch) {
                Ok(answer) if field(&answer, "repeated") == &json!(true) && !may_be_known => {
                    // Another process uses the source, or the clock was set back.
                    self.seq = first_seq(self.time.now()).max(self.seq + 1);
                    self.gap = true;
                    self.save(self.seq, place)?;
                    continue;
                }
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let wait = match &error {
                ApiError::Unreachable(_) => None,
                ApiError::Refused { status: 429, headers, .. } => {
                    headers.number("retry-after").map(Duration::from_secs)
                }
                ApiError::Refused { status: 500.., .. } | ApiError::Strange { status: 500.. } => None,
                ApiError::Refused { status: 401, .. } if !renewed => {
                    // The token of a login may have expired.
                    (self.session, renewed) = (self.reopened(&error)?, true);
                    continue;
                }
                ApiError::Refused { status: 409, message, .. }
                    if message.starts_with(EXPECTED) && !self.gap =>
                {
                    output::note(format_args!(
                        "chandler: {}: {}: the server does not have all batches sent before; going on with batch {}",
                        self.session.url.as_str(),
                        printable(message),
                        self.seq
                    ));
                    self.gap = true;
                    continue;
                }
                _ => return Err(self.session.to_failure(error)),
            };
            // A response may have been lost.
            may_be_known = true;
            if pause == PAUSE_FIRST {
                output::note(format_args!("chandler: {}; trying again", self.session.to_failure(error)));
            }
            if !self.time.pause(wait.unwrap_or(pause)) {
                let rows = rows.len();
                return Err(Failure::Interrupted(format!(
                    "stopped: {rows} rows are not acknowledged; run the same command to continue"
                )));
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    fn reopened(&self, error: &ApiError) -> Result<Session, Failure> {
        let url = self.session.url.as_str();
        self.flags.session(self.context)?.ok_or_else(|| usage(format!("{url}: {error}")))
    }
}

impl Sink for ServerSink<'_> {
    fn start(&mut self) -> Result<Start, Failure> {
        let (Some(path), Some(state_path)) = (&self.path, &self.state_path) else {
            return Ok(Start::default());
        };
        // Without a readable state the file is read from its beginning.
        let state = std::fs::read_to_string(state_path).unwrap_or_default();
        let state: Value = serde_json::from_str(&state).unwrap_or_default();
        let Some(seq) = field(&state, "seq").as_i64() else { return Ok(Start::default()) };
        let (done, pending) = (field(&state, "done"), field(&state, "pending"));
        let offset = known_offset(path, done)?;
        let boundary = known_offset(path, pending)?;
        // If the pending batch begins at the start of the file, no position precedes it.
        let is_same = offset.is_some() || (done.is_null() && boundary.is_some());
        if !is_same {
            self.seq = self.seq.max(seq.saturating_add(1));
            return Ok(Start::default());
        }
        self.done = done.clone();
        self.resent = boundary;
        match (pending.is_null(), boundary) {
            // Either all batches are acknowledged, or the pending batch is sent again.
            (true, _) | (false, Some(_)) => (self.seq, self.gap) = (seq, false),
            // The rows of the pending batch have changed, so the next batch needs a new number.
            (false, None) => self.seq = self.seq.max(seq.saturating_add(1)),
        }
        Ok(Start { offset: offset.unwrap_or_default(), boundary })
    }

    fn commit(&mut self, rows: Rows, end: u64) -> Result<Committed, Failure> {
        let place = match &self.path {
            Some(path) if end > 0 => position(path, end)?,
            _ => Value::Null,
        };
        let is_resent = match self.resent.take() {
            Some(boundary) if boundary != end => {
                // The file was replaced while the pending batch was read again.
                (self.seq, self.gap) = (self.seq + 1, true);
                false
            }
            resent => resent.is_some(),
        };
        let (path, batch) = Batch::of(rows);
        let mut committed = Committed { counts: Counts::default(), refused: batch.refused };
        committed.counts.refused = committed.refused.len() as u64;
        if !batch.rows.is_empty() {
            self.save(self.seq, &place)?;
            let answer = self.send(path, (&batch.rows, &place), is_resent)?;
            let count = |name: &str| field(&answer, name).as_u64().unwrap_or_default();
            committed.counts.accepted = count("accepted");
            committed.counts.unchanged = count("unchanged");
            committed.counts.replaced = count("replaced");
            for row in field(&answer, "refused").as_array().into_iter().flatten() {
                let index = field(row, "row").as_u64().and_then(|index| usize::try_from(index).ok());
                let index = index.and_then(|index| batch.places.get(index));
                let reason = field(row, "reason").as_str().unwrap_or_default();
                committed.refused.extend(index.map(|index| (*index, reason.to_owned())));
                committed.counts.refused += 1;
            }
            (self.seq, self.gap) = (self.seq + 1, false);
        }
        self.done = place;
        self.save(self.seq, &Value::Null)?;
        Ok(committed)
    }

    fn rest(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Returns the first batch number of a source whose last number is unknown. The number is derived
/// from the time, so it is larger than all previous numbers.
fn first_seq(now: Timestamp) -> i64 {
    now.0.saturating_mul(MICROSECONDS)
}

/// Returns the name of the source, with at most 40 characters that a server accepts. The hash
/// distinguishes hosts and files. Standard input is not resumed, so each run is a different source.
fn source(host: &str, path: Option<&Path>, now: Timestamp) -> String {
    let name = path.and_then(Path::file_name).map_or_else(|| "-".into(), |name| name.to_string_lossy());
    let fit = |letter: char| match letter.to_ascii_lowercase() {
        letter @ ('a'..='z' | '0'..='9' | '.' | '_') => letter,
        _ => '-',
    };
    let name: String = name.chars().map(fit).take(NAME_LETTERS).collect();
    let run = || format!("{} {}", std::process::id(), now.0);
    let path = path.map_or_else(run, |path| path.display().to_string());
    format!("follow-{name}-{}", fingerprint(format!("{host}:{path}").as_bytes()))
}

fn state_path(source: &str, url: &str) -> Result<PathBuf, Failure> {
    let data = machine::data().ok_or_else(|| {
        usage(format!("there is no folder for the position in the file: {} is not set", machine::DATA))
    })?;
    let folder = data.join("chandler/follow");
    std::fs::create_dir_all(&folder)?;
    Ok(folder.join(format!("{source}-{}.json", fingerprint(url.as_bytes()))))
}

/// Rows as JSON, without the rows that cannot be parsed.
#[derive(Default)]
struct Batch {
    rows: Vec<Value>,
    /// Index of each row among the lines.
    places: Vec<usize>,
    refused: Vec<(usize, String)>,
}

impl Batch {
    /// Returns the endpoint and the batch.
    fn of(rows: Rows) -> (&'static str, Batch) {
        let mut batch = Batch::default();
        match rows {
            Rows::Candles(rows) => {
                rows.into_iter().enumerate().for_each(|(place, row)| batch.add(place, row.map(candle)));
                ("/v1/ingest/candles", batch)
            }
            Rows::Trades(rows) => {
                rows.into_iter().enumerate().for_each(|(place, row)| batch.add(place, row.map(trade)));
                ("/v1/ingest/trades", batch)
            }
        }
    }

    fn add(&mut self, place: usize, row: Parsed<Value>) {
        match row {
            Ok(row) => {
                self.rows.push(row);
                self.places.push(place);
            }
            Err(refused) => self.refused.push((place, refused.reason)),
        }
    }
}

fn candle(row: CandleInput) -> Value {
    let candle = row.candle;
    let price = |price: market::Price| exact(price.0.into());
    let mut fields = Map::from_iter([
        ("symbol".to_owned(), json!(row.symbol.as_str())),
        ("period".to_owned(), json!(if row.grain == Grain::Day { "day" } else { "1m" })),
        ("time".to_owned(), json!(candle.time.0)),
        ("open".to_owned(), json!(price(candle.open))),
        ("high".to_owned(), json!(price(candle.high))),
        ("low".to_owned(), json!(price(candle.low))),
        ("close".to_owned(), json!(price(candle.close))),
        ("volume".to_owned(), json!(candle.volume)),
        ("turnover".to_owned(), json!(exact(candle.turnover.0))),
    ]);
    fields.extend(row.is_final.map(|is_final| ("final".to_owned(), json!(is_final))));
    Value::Object(fields)
}

fn trade(row: TradeInput) -> Value {
    let trade = row.trade;
    let mut fields = Map::from_iter([
        ("symbol".to_owned(), json!(row.symbol.as_str())),
        ("time".to_owned(), json!(trade.time.0)),
        ("price".to_owned(), json!(exact(trade.price.0.into()))),
        ("volume".to_owned(), json!(trade.volume)),
        ("direction".to_owned(), json!(trade.direction.as_str())),
        ("type".to_owned(), json!(trade.kind.to_string())),
    ]);
    fields.extend(row.id.map(|id| ("id".to_owned(), json!(id))));
    Value::Object(fields)
}

/// Formats a stored number with all its decimals.
fn exact(value: i128) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let units = value.unsigned_abs();
    format!("{sign}{}.{:06}", units / UNIT, units % UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_name_has_only_permitted_characters() {
        let named = |host: &str, path: &str| source(host, Some(Path::new(path)), Timestamp(0));
        let name = named("feeder", "/data/Ticks of AAPL (1).CSV");
        assert!(name.starts_with("follow-ticks-of-aapl--1-"), "{name}");
        for path in ["/a/x.csv", "/b/x.csv", "/very/long/name-of-a-file-that-grows.csv", "/燈.csv"] {
            let name = named("feeder", path);
            let fits =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
            assert!(name.len() <= 40 && name.bytes().all(fits), "{name}");
            assert_ne!(name, named("other", path));
        }
        assert_ne!(named("feeder", "/a/x.csv"), named("feeder", "/b/x.csv"));
        let input = |now: i64| source("feeder", None, Timestamp(now));
        assert!(input(1).starts_with("follow---") && input(1) != input(2));
    }

    #[test]
    fn numbers_keep_all_decimals() {
        assert_eq!(exact(190_300_000), "190.300000");
        assert_eq!(exact(-1), "-0.000001");
        assert_eq!(exact(0), "0.000000");
    }
}
