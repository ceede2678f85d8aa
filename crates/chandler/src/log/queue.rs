//! Queue between the logging threads and the writing thread. Lines that do not fit are dropped and
//! counted.

use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum number of queued bytes. The batch being written may use the same amount again.
const QUEUED_MAX: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// Notified when there are lines to write.
    filled: Condvar,
    /// Notified when all lines have been written.
    idle: Condvar,
}

#[derive(Debug)]
struct State {
    is_started: bool,
    is_writing: bool,
    /// Complete lines, oldest first.
    bytes: Vec<u8>,
    lines: u64,
    /// Lines dropped since the last report.
    dropped: u64,
}

impl Queue {
    pub(super) const fn new() -> Queue {
        let state = State { is_started: false, is_writing: false, bytes: Vec::new(), lines: 0, dropped: 0 };
        Queue { state: Mutex::new(state), filled: Condvar::new(), idle: Condvar::new() }
    }

    /// Starts to accept lines. Returns false if the queue was already started.
    pub(super) fn start(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_started, true)
    }

    /// Adds a line, or counts it as dropped if it does not fit. Returns false if the queue has not
    /// started.
    pub(super) fn push(&self, line: &[u8]) -> bool {
        let mut state = self.lock();
        if !state.is_started {
            return false;
        }
        if state.bytes.len().saturating_add(line.len()) > QUEUED_MAX {
            state.dropped = state.dropped.saturating_add(1);
            server::count_lost_log_lines(1);
        } else {
            state.bytes.extend_from_slice(line);
            state.lines = state.lines.saturating_add(1);
            self.filled.notify_one();
        }
        true
    }

    /// Writes lines as they arrive. Never returns.
    pub(super) fn write_to(&self, mut out: impl Write) {
        let mut batch = Vec::new();
        loop {
            let (lines, dropped) = self.next(&mut batch);
            if out.write_all(&batch).is_err() {
                server::count_lost_log_lines(lines);
            }
            // There is room again after a batch, so this line appears where the dropped lines would
            // have been.
            if dropped > 0 {
                tracing::warn!(
                    dropped,
                    "log lines were dropped: the log is not read as quickly as it is written"
                );
            }
            batch.clear();
        }
    }

    /// Waits for lines and moves them into `batch`. Returns their number, and the number of lines
    /// dropped after them.
    fn next(&self, batch: &mut Vec<u8>) -> (u64, u64) {
        let mut state = self.lock();
        while state.bytes.is_empty() {
            state.is_writing = false;
            self.idle.notify_all();
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_writing = true;
        std::mem::swap(&mut state.bytes, batch);
        (std::mem::take(&mut state.lines), std::mem::take(&mut state.dropped))
    }

    /// Waits until all lines have been written, for at most `longest`.
    pub(super) fn flush(&self, longest: Duration) {
        let is_busy = |state: &mut State| state.is_writing || !state.bytes.is_empty();
        drop(self.idle.wait_timeout_while(self.lock(), longest, is_busy));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The subscriber writes each line with a single call.
impl Write for &Queue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_dropped_and_counted() {
        let queue = Queue::new();
        assert!(!queue.push(b"early\n"), "no thread writes it yet");
        assert!(queue.start() && !queue.start());
        let long = vec![b'x'; QUEUED_MAX - 4];
        for line in [b"one\n".as_slice(), &long, b"two\n", b"three\n"] {
            assert!(queue.push(line));
        }
        let mut batch = Vec::new();
        assert_eq!(queue.next(&mut batch), (2, 2));
        assert_eq!(batch, [b"one\n".as_slice(), &long].concat());
        batch.clear();
        queue.push(b"four\n");
        assert_eq!((queue.next(&mut batch), batch.as_slice()), ((1, 0), b"four\n".as_slice()));
    }

    #[test]
    fn a_stuck_writer_does_not_block_push_or_flush() {
        static QUEUE: Queue = Queue::new();
        let (reader, writer) = io::pipe().unwrap();
        QUEUE.start();
        std::thread::spawn(|| QUEUE.write_to(writer));
        for _ in 0..10_000 {
            QUEUE.push(&[b'x'; 1_000]);
        }
        QUEUE.flush(Duration::from_millis(1));
        assert!(QUEUE.lock().bytes.len() <= QUEUED_MAX);
        // From here on the pipe is read.
        std::thread::spawn(move || io::copy(&mut &reader, &mut io::sink()));
        QUEUE.flush(Duration::from_secs(60));
        assert!(QUEUE.lock().bytes.is_empty());
    }
}
