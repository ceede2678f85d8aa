//! The body of an answer while it is sent: hyper gets it in pieces, and it counts as unsent for its
//! caller until hyper has taken the last piece.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::unsent::Held;

/// Bytes of a piece, and so the most that may wait for a slow client without being counted.
const PIECE: usize = 64 << 10;

#[derive(Debug, Default)]
pub(crate) struct Sent {
    rest: Bytes,
    held: Option<Held>,
}

impl Sent {
    pub(super) fn new(body: Bytes, held: Option<Held>) -> Sent {
        Sent { rest: body, held }
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            self.held = None;
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE);
        let piece = self.rest.split_to(length);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.rest.len()).unwrap_or(u64::MAX))
    }
}
