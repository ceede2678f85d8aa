//! The ingest of this server, for a thread that follows the source of a mirror.

use std::sync::Arc;

use collect::{Delivered, Delivery, Sink};
use history::ingest::{IngestError, Rows};

use crate::core::Core;
use crate::ingest::{NewBatch, NotIngested};

/// Commits batches like `POST /v1/ingest/candles`.
#[derive(Clone, Debug)]
pub struct MirrorSink(pub(crate) Arc<Core>);

impl Sink for MirrorSink {
    fn put(&self, delivery: &Delivery) -> Delivered {
        let Delivery { source, seq, gap, rows } = delivery;
        let batch = NewBatch {
            source: source.clone(),
            seq: Some(*seq),
            gap: *gap,
            build: false,
            rows: Rows::Candles(rows.iter().cloned().map(Ok).collect()),
            now: self.0.machine_now(),
            // The response to a repeated batch is not read.
            answer: |_| String::new(),
        };
        match self.0.ingest.commit(batch) {
            Ok(_) => Delivered::Stored,
            Err(NotIngested::Ingest(error)) if matches!(*error, IngestError::Gap { .. }) => {
                Delivered::OutOfOrder
            }
            Err(error) => Delivered::NotYet(error.to_string()),
        }
    }
}
