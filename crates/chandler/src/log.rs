//! Logging to stderr, so that stdout remains machine-readable. A separate thread writes the lines
//! from a bounded queue, because a log that is not read must not block the threads that serve
//! requests.

use std::backtrace::Backtrace;
use std::io::{self, IsTerminal, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::config::{LogConfig, LogFormat};
use crate::failure::{Failure, usage};
use crate::terminal;

/// Log targets: the workspace's crates, and `requests` for request lines.
const PARTS: [&str; 18] = [
    "access", "block", "chandler", "collect", "feed", "files", "history", "market", "mirror", "paper",
    "requests", "server", "social", "source", "store", "trading", "wire", "world",
];

static QUEUE: Queue = Queue::new();

/// Maximum time to wait for queued lines to be written when the process ends.
const FLUSH_MAX: Duration = Duration::from_millis(500);

/// Starts logging. Further calls in the same process have no effect.
pub(crate) fn start(config: &LogConfig) -> Result<(), Failure> {
    let filter = config.parsed().map_err(usage)?;
    if QUEUE.start() {
        std::thread::Builder::new().name("log".to_owned()).spawn(|| QUEUE.write_to(io::stderr()))?;
        // The default hook would write to stderr on the panicking thread.
        std::panic::set_hook(Box::new(|panic| {
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("<unnamed>");
            push(format!("thread '{name}' {panic}\n{}\n", Backtrace::capture()).as_bytes());
        }));
    }
    // A line that cannot be written is lost. Reporting the error on the same stderr would panic.
    let logs =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| &QUEUE).log_internal_errors(false);
    // An error means that an earlier call has installed a subscriber.
    match config.format {
        LogFormat::Text => logs.with_ansi(colours()).try_init().ok(),
        LogFormat::Json => logs.json().flatten_event(true).try_init().ok(),
    };
    Ok(())
}

/// Queues text for stderr. Returns false if logging has not started; in that case the caller must
/// write to stderr itself.
pub(crate) fn push(text: &[u8]) -> bool {
    QUEUE.push(text)
}

/// Waits on drop until the queued lines are written. The wait has a time limit, because the log may
/// be stuck.
#[derive(Debug)]
pub(crate) struct FlushAtEnd;

impl Drop for FlushAtEnd {
    fn drop(&mut self) {
        QUEUE.flush(FLUSH_MAX);
    }
}

fn colours() -> bool {
    terminal::colours(std::io::stderr().is_terminal(), |name| std::env::var(name).ok())
}

impl LogConfig {
    /// Parses the filter, or returns the reason why it is invalid.
    fn parsed(&self) -> Result<EnvFilter, String> {
        let wrong = |why: String| {
            format!("{:?} is not a log filter: write info, or info,server=debug: {why}", self.filter)
        };
        let mut rules: Vec<&str> = self.filter.split(',').map(str::trim).collect();
        if let Some(word) = rules.iter().find(|rule| is_misspelt(rule)) {
            return Err(wrong(format!(
                "{word:?} is neither a level (off, error, warn, info, debug, trace) nor a part ({})",
                PARTS.join(", ")
            )));
        }
        // The last rule for a target takes precedence.
        if !self.requests {
            rules.push("requests=off");
        }
        EnvFilter::builder().parse(rules.join(",")).map_err(|error| wrong(error.to_string()))
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.parsed().map(drop)
    }
}

/// Returns whether a rule is neither a level nor a known target. Such a rule is rejected, because a
/// misspelt level would be treated as a target and disable all logs. For other crates a level must
/// be given (`hyper=debug`).
fn is_misspelt(rule: &str) -> bool {
    let is_word = !rule.is_empty() && !rule.contains(['=', '[']);
    let part = rule.split("::").next().unwrap_or(rule);
    is_word && rule.parse::<LevelFilter>().is_err() && !PARTS.contains(&part)
}

/// Maximum number of queued bytes. The batch that is being written may need the same amount again.
const QUEUED_MAX: usize = 1 << 20;

#[derive(Debug)]
struct Queue {
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
    /// Number of lines dropped since the last report.
    dropped: u64,
}

impl Queue {
    const fn new() -> Queue {
        let state = State { is_started: false, is_writing: false, bytes: Vec::new(), lines: 0, dropped: 0 };
        Queue { state: Mutex::new(state), filled: Condvar::new(), idle: Condvar::new() }
    }

    /// Starts to accept lines. Returns false if the queue was already started.
    fn start(&self) -> bool {
        !std::mem::replace(&mut self.lock().is_started, true)
    }

    /// Adds a line. A line that does not fit is dropped and counted. Returns false if the queue has
    /// not started.
    fn push(&self, line: &[u8]) -> bool {
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

    /// Writes lines as they are queued. Never returns.
    fn write_to(&self, mut out: impl Write) {
        let mut batch = Vec::new();
        loop {
            let (lines, dropped) = self.next(&mut batch);
            if out.write_all(&batch).is_err() {
                server::count_lost_log_lines(lines);
            }
            // The queue was emptied before the batch was written, so the warning fits and appears
            // where the dropped lines would have been.
            if dropped > 0 {
                tracing::warn!(
                    dropped,
                    "log lines were dropped: the log is not read as quickly as it is written"
                );
            }
            batch.clear();
        }
    }

    /// Waits for lines and moves them into `batch`. Returns the number of lines in the batch, and
    /// the number of lines that were dropped after them.
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
    fn flush(&self, longest: Duration) {
        let is_busy = |state: &mut State| state.is_writing || !state.bytes.is_empty();
        drop(self.idle.wait_timeout_while(self.lock(), longest, is_busy));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The subscriber writes each line with a single call to `write`.
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

    fn checked(filter: &str) -> Result<(), String> {
        LogConfig { filter: filter.to_owned(), ..LogConfig::default() }.check()
    }

    #[test]
    fn a_filter_consists_of_levels_and_targets() {
        for good in [
            "info",
            "WARN",
            "off",
            "3",
            "server",
            "server::http",
            "requests",
            "info,server=debug",
            "warn, requests=off",
            "info,rustls=trace",
            "server[request]=debug",
            "info,",
            "",
        ] {
            assert_eq!(checked(good), Ok(()), "{good}");
        }
    }

    #[test]
    fn a_misspelt_level_is_rejected() {
        for (bad, word) in
            [("infoo", "infoo"), ("inf,server=debug", "inf"), ("info,sever", "sever"), ("9", "9")]
        {
            let said = checked(bad).unwrap_err();
            assert!(said.contains(&format!("{word:?} is neither a level")), "{bad}: {said}");
            assert!(said.contains("not a log filter"), "{bad}: {said}");
        }
        assert!(checked("server=loud").unwrap_err().contains("not a log filter"));
    }

    #[test]
    fn every_workspace_crate_is_a_log_target() {
        let crates = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        for entry in std::fs::read_dir(crates).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(PARTS.contains(&name.as_str()), "{name}");
        }
    }

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
        // From this point the pipe is read.
        std::thread::spawn(move || io::copy(&mut &reader, &mut io::sink()));
        QUEUE.flush(Duration::from_secs(60));
        assert!(QUEUE.lock().bytes.is_empty());
    }
}
