//! Logging to stderr, so that stdout remains machine-readable. A separate thread writes the lines
//! from a bounded queue ([`queue`]), because an unread log must not block threads that serve
//! requests.

mod queue;

use std::backtrace::Backtrace;
use std::io::{self, IsTerminal};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::config::{LogConfig, LogFormat};
use crate::failure::{Failure, usage};
use crate::terminal;

/// Log targets: the workspace's crates, and `requests` for request lines.
const PARTS: [&str; 13] = [
    "access", "block", "chandler", "files", "history", "market", "paper", "requests", "server", "social",
    "store", "trading", "wire",
];

static QUEUE: queue::Queue = queue::Queue::new();

/// Maximum time to wait for queued lines when the process ends.
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

/// Queues text for stderr. Returns false before logging has started; the caller must then write to
/// stderr itself.
pub(crate) fn push(text: &[u8]) -> bool {
    QUEUE.push(text)
}

/// Waits for queued lines when dropped, up to a limit, because the log may be stuck.
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
        // The last rule for a target wins.
        if !self.requests {
            rules.push("requests=off");
        }
        EnvFilter::builder().parse(rules.join(",")).map_err(|error| wrong(error.to_string()))
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.parsed().map(drop)
    }
}

/// Returns whether a rule is neither a level nor a known target. Such words are rejected, because a
/// misspelt level would be treated as a target and disable all logs. For other crates a level must
/// be given (`hyper=debug`).
fn is_misspelt(rule: &str) -> bool {
    let is_word = !rule.is_empty() && !rule.contains(['=', '[']);
    let part = rule.split("::").next().unwrap_or(rule);
    is_word && rule.parse::<LevelFilter>().is_err() && !PARTS.contains(&part)
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
}
