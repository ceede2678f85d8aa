//! What waits to be written to one connection.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

/// Slices handed to the system in one call; an answer of a thousand candles is a dozen.
const SLICES_MAX: usize = 32;

/// Pieces in the order in which they go out. Pieces of cached answers are shared, never copied.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pieces: VecDeque<Bytes>,
    bytes: usize,
}

impl Outbox {
    pub(crate) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.pieces.push_back(piece);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes as much as the connection takes. `Ready` means that everything has been handed over, or that it failed.
    pub(crate) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while !self.pieces.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES_MAX];
            let count = self.pieces.len().min(SLICES_MAX);
            for (slice, piece) in slices.iter_mut().zip(&self.pieces) {
                *slice = IoSlice::new(piece);
            }
            let slices = slices.get(..count).unwrap_or_default();
            match Pin::new(&mut *stream).poll_write_vectored(cx, slices) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => self.advance(written),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        // An idle connection keeps no room for what it once had to say.
        self.pieces = VecDeque::new();
        Poll::Ready(Ok(()))
    }

    fn advance(&mut self, mut written: usize) {
        self.bytes -= written.min(self.bytes);
        while let Some(first) = self.pieces.front_mut() {
            if written < first.len() {
                first.advance(written);
                return;
            }
            written -= first.len();
            self.pieces.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn pieces_go_out_in_order_however_little_the_connection_takes() {
        let (mut near, mut far) = tokio::io::duplex(7);
        let mut outbox = Outbox::default();
        let mut expected = Vec::new();
        for number in 0..100u8 {
            let piece = vec![number; usize::from(number % 13)];
            expected.extend_from_slice(&piece);
            outbox.push(Bytes::from(piece));
        }
        assert_eq!(outbox.bytes(), expected.len());
        let write = async {
            poll_fn(|cx| outbox.poll_write(&mut near, cx)).await.unwrap();
            drop(near);
            assert!(outbox.is_empty());
            assert_eq!(outbox.bytes(), 0);
        };
        let mut found = Vec::new();
        let (_, read) = tokio::join!(write, far.read_to_end(&mut found));
        read.unwrap();
        assert_eq!(found, expected);
    }
}
