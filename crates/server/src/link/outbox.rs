//! Unsent bytes of one connection.

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

/// Maximum number of slices per write call. A response with a thousand candles has about a dozen
/// slices, and a push has one.
pub(super) const SLICES_MAX: usize = 64;

/// Chunks in sending order. Chunks of cached responses are shared, never copied.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    /// Whether the stream has accepted bytes that it may still buffer, as TLS does.
    is_unflushed: bool,
}

impl Outbox {
    pub(crate) fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.bytes += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// Reserves capacity for this many chunks.
    pub(crate) fn reserve(&mut self, pieces: usize) {
        self.pieces.reserve(pieces);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && !self.is_unflushed
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes as much as the stream accepts. Returns `Ready` once everything is written and
    /// flushed, or on an error.
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
                Poll::Ready(Ok(written)) => {
                    self.is_unflushed = true;
                    self.advance(written);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return Poll::Pending,
            }
        }
        // Release the buffer, so that an idle connection holds no memory.
        self.pieces = VecDeque::new();
        if self.is_unflushed {
            std::task::ready!(Pin::new(stream).poll_flush(cx))?;
            self.is_unflushed = false;
        }
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

    /// A stream that accepts all bytes immediately, and passes them on only when flushed. The first
    /// flush is pending.
    #[derive(Default)]
    struct Holding {
        taken: usize,
        passed_on: usize,
        flushes: u32,
    }

    impl AsyncWrite for Holding {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.taken += bytes.len();
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            self.flushes += 1;
            if self.flushes == 1 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.passed_on = self.taken;
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn buffered_bytes_are_unsent_until_flushed() {
        let (mut held, mut outbox) = (Holding::default(), Outbox::default());
        outbox.push(Bytes::from_static(b"answer"));
        let first = poll_fn(|cx| Poll::Ready(outbox.poll_write(&mut held, cx))).await;
        assert!(first.is_pending() && outbox.bytes() == 0 && !outbox.is_empty());
        poll_fn(|cx| outbox.poll_write(&mut held, cx)).await.unwrap();
        assert!(outbox.is_empty());
        assert_eq!(held.passed_on, 6);
    }

    #[tokio::test]
    async fn pieces_are_sent_in_order_through_a_small_buffer() {
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
