//! `chandler import --follow`: reads a growing file or standard input, and commits new rows to the
//! local store or to a server. The position in a file is stored with the rows before it, so the
//! same command resumes after an interruption.
//!
//! `lines.rs` reads lines, `rows.rs` parses them, and `store.rs` or `server.rs` commits them.

mod lines;
mod rows;
mod server;
mod store;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use history::import::Options;
use history::ingest::Counts;

use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output;
use crate::remote::ServerFlags;
use lines::Piece;
use rows::{Head, Parser, Rows};
use server::ServerSink;
use store::StoreSink;

/// Number of waiting rows at which the rows are committed.
const ROWS_MAX: usize = 1_000;
/// Time without new lines after which waiting rows are committed.
const COMMIT_EVERY: Duration = Duration::from_millis(100);

pub(super) struct Follow<'a> {
    pub(super) file: &'a Path,
    pub(super) options: Options,
    /// Time after its end at which a partial minute counts as final, in seconds. `None` means the
    /// default.
    pub(super) final_after_s: Option<i64>,
    pub(super) all_final: bool,
    pub(super) server: Option<&'a ServerFlags>,
    pub(super) stop: Arc<AtomicBool>,
}

/// Destination of followed rows.
trait Sink {
    /// Returns where to resume in the file.
    fn start(&mut self) -> Result<Start, Failure>;
    /// Commits the rows before the offset `end`.
    fn commit(&mut self, rows: Rows, end: u64) -> Result<Committed, Failure>;
    /// Called when no rows have arrived for some time.
    fn rest(&mut self) -> Result<(), Failure>;
    fn finish(&mut self) -> Result<(), Failure>;
}

/// Where to resume in a file.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    /// Position after the last committed row, or 0 if the file was replaced.
    offset: u64,
    /// End of a batch that may have been sent already. It must be sent again with the same rows.
    boundary: Option<u64>,
}

struct Committed {
    counts: Counts,
    /// Index and reason of each refused row.
    refused: Vec<(usize, String)>,
}

pub(super) fn run(follow: &Follow<'_>, context: &CommandContext) -> Result<(), Failure> {
    if !follow.options.read.columns.is_empty() && follow.file.as_os_str() == "-" {
        return Err(usage("--follow -: the first line is the header, so --columns is not used".to_owned()));
    }
    let path = (follow.file.as_os_str() != "-").then(|| follow.file.to_owned());
    let mut sink: Box<dyn Sink + '_> = match ServerSink::open(follow, path.as_deref(), context)? {
        Some(sink) => Box::new(sink),
        None => Box::new(StoreSink::open(follow, path.as_deref(), context)?),
    };
    let start = sink.start()?;
    let (sender, lines) = sync_channel(ROWS_MAX);
    let stop = follow.stop.clone();
    let head = match path {
        None => {
            std::thread::spawn(move || lines::read_input(&sender));
            None
        }
        Some(path) => {
            let head = if start.offset > 0 { Some(head_of(&path)?) } else { None };
            std::thread::spawn(move || lines::read_file(&path, start.offset, &stop, &sender));
            head
        }
    };
    let folder = std::env::temp_dir().join(format!("chandler-follow-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let venues = context.history.venues();
    let (file, options, all_final) = (follow.file, &follow.options, follow.all_final);
    let parser = Parser { file, options, all_final, venues, folder: folder.clone() };
    let boundary = start.boundary;
    let mut following = Following { follow, parser, sink, head, boundary, counts: Counts::default() };
    let followed = following.consume(&lines);
    std::fs::remove_dir_all(&folder).ok();
    let Counts { accepted, unchanged, replaced, refused } = following.counts;
    output::note(format_args!(
        "followed: {accepted} rows accepted, {replaced} replaced, {unchanged} unchanged, {refused} quarantined"
    ));
    followed
}

/// Reads the first line of a file that is resumed.
fn head_of(path: &PathBuf) -> Result<Head, Failure> {
    let mut line = String::new();
    BufReader::new(File::open(path)?).read_line(&mut line)?;
    Ok(Head::of(line.trim_end()))
}

struct Following<'a> {
    follow: &'a Follow<'a>,
    parser: Parser<'a>,
    sink: Box<dyn Sink + 'a>,
    /// The first line of the file; `None` until it has been read.
    head: Option<Head>,
    boundary: Option<u64>,
    counts: Counts,
}

impl Following<'_> {
    fn consume(&mut self, lines: &Receiver<Piece>) -> Result<(), Failure> {
        let (mut rows, mut end) = (Vec::new(), 0);
        loop {
            match lines.recv_timeout(COMMIT_EVERY) {
                Ok(Piece::Restarted) => {
                    // These rows are from a file that no longer exists, so no position is committed
                    // with them.
                    self.commit(&std::mem::take(&mut rows), 0)?;
                    (self.head, self.boundary) = (None, None);
                }
                Ok(Piece::Line(line, at)) => {
                    end = at;
                    if !line.trim().is_empty() {
                        let is_row = match &self.head {
                            Some(_) => true,
                            None => self.head.insert(Head::of(&line)).is_row(),
                        };
                        if is_row {
                            rows.push(line);
                        }
                    }
                    let is_full = match self.boundary {
                        Some(boundary) => end >= boundary,
                        None => rows.len() >= ROWS_MAX,
                    };
                    if !is_full {
                        continue;
                    }
                    self.boundary = None;
                }
                // The remaining lines of the batch are in the file, because they were complete when
                // the batch was first sent.
                Err(RecvTimeoutError::Timeout) if self.boundary.is_some() && !self.is_stopped() => continue,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // A batch that must be sent again is sent completely, or not at all.
                    if self.boundary.is_none() {
                        self.commit(&std::mem::take(&mut rows), end)?;
                    }
                    return self.sink.finish();
                }
            }
            if self.boundary.is_none() {
                self.commit(&std::mem::take(&mut rows), end)?;
            }
            if self.is_stopped() {
                return self.sink.finish();
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.follow.stop.load(Ordering::Relaxed)
    }

    fn commit(&mut self, lines: &[String], end: u64) -> Result<(), Failure> {
        let Some(head) = self.head.as_ref().filter(|_| !lines.is_empty()) else { return self.sink.rest() };
        let rows = self.parser.parse(head, lines)?;
        let Committed { counts, refused } = self.sink.commit(rows, end)?;
        self.counts.accepted += counts.accepted;
        self.counts.unchanged += counts.unchanged;
        self.counts.replaced += counts.replaced;
        self.counts.refused += counts.refused;
        for (row, reason) in refused {
            let text = lines.get(row).map_or("", String::as_str);
            output::note(format_args!(
                "chandler: {}: {}",
                output::printable(text),
                output::printable(&reason)
            ));
        }
        Ok(())
    }
}
