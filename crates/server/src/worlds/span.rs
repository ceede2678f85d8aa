//! The first and the last instant of a world, in memory.

use std::sync::{PoisonError, RwLock};

use market::Timestamp;
use store::{WorldRow, WorldSpan};
use world::{Span, SpanError};

/// A span that is replaced atomically.
#[derive(Debug)]
pub(crate) struct SharedSpan(RwLock<Span>);

impl SharedSpan {
    pub(super) fn of(row: &WorldRow) -> Result<SharedSpan, SpanError> {
        Ok(SharedSpan(RwLock::new(span_of(row)?)))
    }

    pub(crate) fn get(&self) -> Span {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn start(&self) -> Timestamp {
        self.get().start()
    }

    pub(crate) fn end(&self) -> Timestamp {
        self.get().end()
    }

    pub(super) fn set(&self, span: Span) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = span;
    }
}

pub(super) fn span_of(row: &WorldRow) -> Result<Span, SpanError> {
    Span::new(row.starts_at, row.ends_at)
}

pub(super) fn row_of(span: Span) -> WorldSpan {
    WorldSpan { starts_at: span.start(), ends_at: span.end() }
}
