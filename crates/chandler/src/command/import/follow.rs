//! `chandler import --follow`: reads a file that grows, or standard input, and stores its rows as
//! they come. The position in a file is committed with the rows before it, so the same command
//! continues where the last one stopped.

use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use files::Table;
use history::import::Options;
use history::ingest::{
    CandleInput, Counts, Head, IngestError, Intake, Merger, Outcome, Parsed, RefusedRow, TradeInput,
    fingerprint,
};
use market::{Candle, Grain, Session};
use serde_json::{Value, json};
use store::{Access, Store};

use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output;

/// Rows are committed when this many have come, or after this time.
const ROWS_MAX: usize = 1_000;
const COMMIT_EVERY: Duration = Duration::from_millis(100);
/// Pause at the end of a file, until more is read.
const PAUSE: Duration = Duration::from_millis(50);
/// Bytes before the position that identify the file.
const TAIL_BYTES: u64 = 4 << 10;
const MICROSECONDS: i64 = 1_000_000;

pub(super) struct Follow<'a> {
    pub(super) file: &'a Path,
    pub(super) options: Options,
    /// Time after its end at which a partial minute counts as final, in seconds.
    pub(super) final_after_s: i64,
    pub(super) all_final: bool,
    pub(super) stop: Arc<AtomicBool>,
}

/// A complete line, and the position behind it. `None` if the file begins again.
enum Piece {
    Line(String, u64),
    Restarted,
}

pub(super) fn run(follow: &Follow<'_>, context: &CommandContext) -> Result<(), Failure> {
    if !follow.options.read.columns.is_empty() && follow.file.as_os_str() == "-" {
        return Err(usage("--follow -: the first line is the header, so --columns is not used".to_owned()));
    }
    let store = context.open(Access::Write { now: context.now() })?;
    let mut following = Following::open(follow, &store, context)?;
    let (sender, lines) = sync_channel(ROWS_MAX);
    let stop = follow.stop.clone();
    match following.path.clone() {
        None => std::thread::spawn(move || read_input(&sender)),
        Some(path) => {
            let from = following.position_in(&path)?;
            std::thread::spawn(move || read_file(&path, from, &stop, &sender))
        }
    };
    following.consume(&lines)?;
    let Counts { accepted, unchanged, replaced, refused } = following.counts;
    output::note(format_args!(
        "followed: {accepted} rows accepted, {replaced} replaced, {unchanged} unchanged, {refused} quarantined"
    ));
    Ok(())
}

struct Following<'a> {
    follow: &'a Follow<'a>,
    context: &'a CommandContext,
    intake: Intake,
    merger: Merger,
    /// The file; `None` for standard input.
    path: Option<PathBuf>,
    source: String,
    seq: Option<i64>,
    header: Option<String>,
    folder: PathBuf,
    counts: Counts,
}

impl<'a> Following<'a> {
    fn open(
        follow: &'a Follow<'a>,
        store: &Store,
        context: &'a CommandContext,
    ) -> Result<Following<'a>, Failure> {
        let path = (follow.file.as_os_str() != "-").then(|| follow.file.to_owned());
        let name = match &path {
            Some(path) => std::path::absolute(path)?.display().to_string(),
            None => "-".to_owned(),
        };
        let source = format!("follow-{}", fingerprint(name.as_bytes()));
        let venues = context.history.venues();
        let (intake, merger) = Intake::open(store, venues, follow.final_after_s).map_err(failed)?;
        let folder = std::env::temp_dir().join(format!("chandler-follow-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let seq = path.as_ref().map(|_| 0);
        let (header, counts) = (None, Counts::default());
        Ok(Following { follow, context, intake, merger, path, source, seq, header, folder, counts })
    }

    /// Returns where to continue: behind the last committed row if the file is the same, otherwise
    /// at the beginning.
    fn position_in(&mut self, path: &Path) -> Result<u64, Failure> {
        let Some((seq, answer)) = self.intake.last_answer(&self.source).map_err(failed)? else {
            return Ok(0);
        };
        self.seq = Some(seq + 1);
        let known: Value = serde_json::from_str(&answer).unwrap_or_default();
        let offset = known.get("offset").and_then(Value::as_u64).unwrap_or_default();
        if offset == 0 || position(path, offset)? != known {
            return Ok(0);
        }
        let mut header = String::new();
        BufReader::new(File::open(path)?).read_line(&mut header)?;
        self.header = Some(header.trim_end().to_owned());
        Ok(offset)
    }

    fn consume(&mut self, lines: &Receiver<Piece>) -> Result<(), Failure> {
        let (mut rows, mut end) = (Vec::new(), 0);
        loop {
            match lines.recv_timeout(COMMIT_EVERY) {
                Ok(Piece::Restarted) => self.header = None,
                Ok(Piece::Line(line, at)) => {
                    end = at;
                    if line.trim().is_empty() {
                    } else if self.header.is_none() {
                        self.header = Some(line);
                    } else {
                        rows.push(line);
                    }
                    if rows.len() < ROWS_MAX {
                        continue;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.commit(&std::mem::take(&mut rows), end)?;
                    return self.settle();
                }
            }
            self.commit(&std::mem::take(&mut rows), end)?;
            if self.follow.stop.load(Ordering::Relaxed) {
                return self.settle();
            }
        }
    }

    /// Merges everything, also what a server that uses the same store has committed.
    fn settle(&mut self) -> Result<(), Failure> {
        std::fs::remove_dir_all(&self.folder).ok();
        while self.merge()? {}
        Ok(())
    }

    /// Returns whether more waits. A server or an import that is writing merges it later.
    fn merge(&mut self) -> Result<bool, Failure> {
        match self.merger.merge(self.context.now()) {
            Ok(merged) => Ok(merged.has_more),
            Err(error) if error.is_busy() => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    fn commit(&mut self, rows: &[String], end: u64) -> Result<(), Failure> {
        if rows.is_empty() {
            return self.merge().map(drop);
        }
        let (candles, trades) = self.parse(rows)?;
        let place = match &self.path {
            Some(path) => position(path, end)?.to_string(),
            None => "{}".to_owned(),
        };
        let now_us = self.context.now().0.saturating_mul(MICROSECONDS);
        let build = self.follow.options.build_candles;
        let head = Head { source: &self.source, seq: self.seq, gap: true, build };
        let outcome = match trades {
            Some(trades) => self.intake.trades(&head, trades, now_us, &|_| place.clone()),
            None => self.intake.candles(&head, candles, now_us, &|_| place.clone()),
        };
        if let Outcome::Committed(receipt) = outcome.map_err(failed)? {
            self.counts.accepted += receipt.counts.accepted;
            self.counts.unchanged += receipt.counts.unchanged;
            self.counts.replaced += receipt.counts.replaced;
            self.counts.refused += receipt.counts.refused;
            for (row, reason) in receipt.refused {
                let text = rows.get(row).map_or("", String::as_str);
                output::note(format_args!(
                    "chandler: {}: {}",
                    output::printable(text),
                    output::printable(&reason)
                ));
            }
        }
        self.seq = self.seq.map(|seq| seq + 1);
        self.merge().map(drop)
    }

    /// Parses rows as a table with the header of the file.
    #[expect(clippy::type_complexity, reason = "candles, or trades")]
    fn parse(
        &self,
        rows: &[String],
    ) -> Result<(Vec<Parsed<CandleInput>>, Option<Vec<Parsed<TradeInput>>>), Failure> {
        let name = self.follow.file.file_name().filter(|name| *name != "-");
        let path = self.folder.join(name.unwrap_or_else(|| "input.csv".as_ref()));
        let mut file = File::create(&path)?;
        writeln!(file, "{}", self.header.as_deref().unwrap_or_default())?;
        rows.iter().try_for_each(|row| writeln!(file, "{row}"))?;
        drop(file);
        let mut options = self.follow.options.read.clone();
        // A few rows do not show their period.
        options.period.get_or_insert(Grain::Minute);
        let table = files::open(&path, self.context.history.venues(), &options);
        let cannot =
            |error: files::FileError| usage(format!("{}: {}", self.follow.file.display(), error.problem));
        match table.map_err(cannot)? {
            Table::Candles(mut reader) => {
                let (grain, mut all) = (reader.grain(), Vec::new());
                if !matches!(grain, Grain::Minute | Grain::Day) {
                    return Err(usage("--follow reads candles of 1m and 1d".to_owned()));
                }
                while let Some(batch) = reader.next().map_err(cannot)? {
                    let is_final = self.follow.all_final.then_some(true);
                    all.extend(batch.rejected.into_iter().map(|row| (row.line, Err(refused(row)))));
                    all.extend(batch.rows.iter().filter_map(|row| {
                        let symbol = reader.symbols().get(row.symbol as usize)?.clone();
                        let candle = Candle {
                            time: row.time,
                            open: row.open,
                            high: row.high,
                            low: row.low,
                            close: row.close,
                            volume: row.volume,
                            turnover: row.turnover,
                            session: Session::Intraday,
                        };
                        Some((row.line, Ok(CandleInput { symbol, grain, candle, is_final })))
                    }));
                }
                Ok((in_order(all), None))
            }
            Table::Trades(mut reader) => {
                let mut all = Vec::new();
                while let Some(batch) = reader.next().map_err(cannot)? {
                    all.extend(batch.rejected.into_iter().map(|row| (row.line, Err(refused(row)))));
                    all.extend(batch.rows.iter().filter_map(|row| {
                        let symbol = reader.symbols().get(row.symbol as usize)?.clone();
                        Some((row.line, Ok(TradeInput { symbol, trade: row.trade, id: None })))
                    }));
                }
                Ok((Vec::new(), Some(in_order(all))))
            }
            _ => Err(usage("--follow reads candles and trades".to_owned())),
        }
    }
}

fn in_order<T>(mut rows: Vec<(u64, Parsed<T>)>) -> Vec<Parsed<T>> {
    rows.sort_by_key(|(line, _)| *line);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn refused(row: files::Rejected) -> RefusedRow {
    RefusedRow { row: 0, symbol: row.symbol, text: row.text, reason: row.reason }
}

fn failed(error: IngestError) -> Failure {
    match error {
        IngestError::Store(error) => error.into(),
        IngestError::Import(error) => error.into(),
        error => error.into(),
    }
}

#[cfg(unix)]
fn device(data: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::dev(data)
}

#[cfg(unix)]
fn inode(data: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(data)
}

#[cfg(not(unix))]
fn device(_: &Metadata) -> u64 {
    0
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// Identifies a file up to an offset.
fn position(path: &Path, offset: u64) -> Result<Value, Failure> {
    let mut file = File::open(path)?;
    let data = file.metadata()?;
    let from = offset.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(offset - from).read_to_end(&mut tail)?;
    let hash = fingerprint(&tail);
    Ok(json!({"device": device(&data), "inode": inode(&data), "offset": offset, "hash": hash}))
}

fn read_input(sender: &SyncSender<Piece>) {
    let mut end = 0;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        end += line.len() as u64 + 1;
        if sender.send(Piece::Line(line, end)).is_err() {
            return;
        }
    }
}

/// Sends the lines of a file that grows, until `stop` is set. A file that is shorter than before,
/// or another one with the same name, is read from its beginning.
fn read_file(path: &Path, mut at: u64, stop: &AtomicBool, sender: &SyncSender<Piece>) {
    let mut open: Option<(u64, BufReader<File>)> = None;
    while !stop.load(Ordering::Relaxed) {
        let Ok(found) = std::fs::metadata(path) else {
            std::thread::sleep(PAUSE);
            continue;
        };
        let is_other = open.as_ref().is_some_and(|(known, _)| *known != inode(&found));
        if is_other || found.len() < at {
            (open, at) = (None, 0);
            if sender.send(Piece::Restarted).is_err() {
                return;
            }
        }
        if open.is_none() {
            let Ok(mut file) = File::open(path) else { continue };
            if file.seek(SeekFrom::Start(at)).is_err() {
                return;
            }
            open = Some((inode(&found), BufReader::new(file)));
        }
        let Some((_, reader)) = &mut open else { continue };
        let mut line = Vec::new();
        let read = reader.read_until(b'\n', &mut line).unwrap_or_default();
        if line.last() != Some(&b'\n') {
            // Not complete: it is read again when there is more.
            if reader.seek_relative(-i64::try_from(read).unwrap_or_default()).is_err() {
                return;
            }
            std::thread::sleep(PAUSE);
            continue;
        }
        at += read as u64;
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if sender.send(Piece::Line(text, at)).is_err() {
            return;
        }
    }
}
