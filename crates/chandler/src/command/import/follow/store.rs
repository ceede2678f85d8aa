//! Commits followed rows to the local store. The position in the file is committed with them.

use std::path::{Path, PathBuf};

use history::ingest::{
    Counts, GRACE_S, Head as BatchHead, IngestError, Intake, Merger, Outcome, fingerprint,
};
use serde_json::Value;
use store::{Access, Store};

use super::lines::{known_offset, position};
use super::rows::Rows;
use super::{Committed, Follow, Sink, Start};
use crate::context::CommandContext;
use crate::failure::Failure;

const MICROSECONDS: i64 = 1_000_000;

pub(super) struct StoreSink<'a> {
    context: &'a CommandContext,
    intake: Intake,
    merger: Merger,
    /// The file, or `None` for standard input.
    path: Option<PathBuf>,
    source: String,
    /// Number of the next batch; `None` for standard input.
    seq: Option<i64>,
    build: bool,
    _store: Store,
}

impl<'a> StoreSink<'a> {
    pub(super) fn open(
        follow: &Follow<'_>,
        path: Option<&Path>,
        context: &'a CommandContext,
    ) -> Result<StoreSink<'a>, Failure> {
        let store = context.open(Access::Write { now: context.now() })?;
        let name = match path {
            Some(path) => std::path::absolute(path)?.display().to_string(),
            None => "-".to_owned(),
        };
        let source = format!("follow-{}", fingerprint(name.as_bytes()));
        let (intake, merger) =
            Intake::open(&store, context.history.venues(), follow.final_after_s.unwrap_or(GRACE_S))
                .map_err(failed)?;
        let (path, build) = (path.map(Path::to_owned), follow.options.build_candles);
        let seq = path.as_ref().map(|_| 0);
        Ok(StoreSink { context, intake, merger, path, source, seq, build, _store: store })
    }

    /// Returns whether more rows are waiting. If a server or an import is writing, that process
    /// merges the rows later, and the result is `false`.
    fn merge(&mut self) -> Result<bool, Failure> {
        match self.merger.merge(self.context.now()) {
            Ok(merged) => Ok(merged.has_more),
            Err(error) if error.is_busy() => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }
}

impl Sink for StoreSink<'_> {
    fn start(&mut self) -> Result<Start, Failure> {
        let (Some(path), Some((seq, answer))) =
            (&self.path, self.intake.last_answer(&self.source).map_err(failed)?)
        else {
            return Ok(Start::default());
        };
        self.seq = Some(seq + 1);
        let known: Value = serde_json::from_str(&answer).unwrap_or_default();
        Ok(Start { offset: known_offset(path, &known)?.unwrap_or_default(), boundary: None })
    }

    fn commit(&mut self, rows: Rows, end: u64) -> Result<Committed, Failure> {
        let place = match &self.path {
            Some(path) => position(path, end)?.to_string(),
            None => "{}".to_owned(),
        };
        let now_us = self.context.now().0.saturating_mul(MICROSECONDS);
        let head = BatchHead { source: &self.source, seq: self.seq, gap: true, build: self.build };
        let outcome = match rows {
            Rows::Trades(rows) => self.intake.trades(&head, rows, now_us, &|_| place.clone()),
            Rows::Candles(rows) => self.intake.candles(&head, rows, now_us, &|_| place.clone()),
        };
        let committed = match outcome.map_err(failed)? {
            Outcome::Committed(receipt) => Committed { counts: receipt.counts, refused: receipt.refused },
            Outcome::Repeated(_) => Committed { counts: Counts::default(), refused: Vec::new() },
        };
        self.seq = self.seq.map(|seq| seq + 1);
        self.merge()?;
        Ok(committed)
    }

    fn rest(&mut self) -> Result<(), Failure> {
        self.merge().map(drop)
    }

    /// Merges all committed rows, including those that a server with the same store has committed.
    fn finish(&mut self) -> Result<(), Failure> {
        while self.merge()? {}
        Ok(())
    }
}

fn failed(error: IngestError) -> Failure {
    match error {
        IngestError::Store(error) => error.into(),
        IngestError::Import(error) => error.into(),
        error => error.into(),
    }
}
