//! Writes one log line per request: the task, account, outcome and duration. HTTP requests are
//! logged at `info`. Requests on long connections are logged at `debug`, because there are tens of
//! thousands per second and a line would be a noticeable part of their cost. Monitoring requests,
//! which arrive every few seconds, are logged at `debug` too. No line contains a query string, a
//! token, a symbol or a name. The path is the route's pattern; only an unknown path is logged as
//! sent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use access::AccountId;
use hyper::header::HeaderMap;
use tokio::time::Instant;

use crate::metrics::{Agent, CliCommand, Metrics, Outcome, Task, TransportLabel};

/// Tracing target of the request lines, for log filters.
const TARGET: &str = "requests";

/// Result of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestEnd {
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
    /// Response size in bytes.
    pub(crate) bytes: usize,
    pub(crate) candles: usize,
    pub(crate) account: Option<AccountId>,
}

impl RequestEnd {
    /// Creates the result of a request that began at `since` and ends now.
    pub(crate) fn at(since: Instant, outcome: Outcome) -> RequestEnd {
        RequestEnd::by(Instant::now(), since, outcome)
    }

    /// Like [`at`](Self::at), with an end time that the caller has just read.
    pub(crate) fn by(now: Instant, since: Instant, outcome: Outcome) -> RequestEnd {
        RequestEnd {
            outcome,
            took: now.saturating_duration_since(since),
            bytes: 0,
            candles: 0,
            account: None,
        }
    }

    fn count(&self, metrics: &Metrics, transport: TransportLabel, task: Task) {
        metrics.request(
            transport,
            task,
            self.outcome,
            self.took,
            u64::try_from(self.bytes).unwrap_or(u64::MAX),
        );
    }

    /// Returns the duration in milliseconds, rounded to the microsecond.
    fn elapsed_ms(&self) -> f64 {
        (self.took.as_secs_f64() * 1e6).round() / 1e3
    }
}

/// Writes the log line of an HTTP request. `tracing` fixes a line's level at compile time, so each
/// level needs a separate call.
macro_rules! http_line {
    ($level:ident, $about:expr, $ended:expr) => {
        tracing::$level!(
            target: TARGET,
            door = TransportLabel::Http.as_str(),
            command = $about.task.as_str(),
            http.method = $about.method,
            http.route = $about.route,
            http.path = $about.path,
            http.status = $about.status,
            client.program = $about.program.agent.as_str(),
            client.version = $about.program.version.as_deref(),
            client.command = $about.program.command.map(CliCommand::as_str),
            outcome = $ended.outcome.as_str(),
            account.id = $ended.account.map(|id| id.0),
            candles = $ended.candles,
            response.bytes = $ended.bytes,
            elapsed_ms = $ended.elapsed_ms(),
            trace = $about.trace,
            "request",
        )
    };
}

pub(crate) fn of_link(
    metrics: &Metrics,
    transport: TransportLabel,
    task: Task,
    command: u8,
    ended: &RequestEnd,
) {
    ended.count(metrics, transport, task);
    tracing::debug!(
        target: TARGET,
        door = transport.as_str(),
        command = task.as_str(),
        command.number = command,
        outcome = ended.outcome.as_str(),
        account.id = ended.account.map(|id| id.0),
        candles = ended.candles,
        response.bytes = ended.bytes,
        elapsed_ms = ended.elapsed_ms(),
        "request",
    );
}

/// Additional fields in the log line of an HTTP request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HttpRequestLine<'a> {
    pub(crate) task: Task,
    pub(crate) method: &'static str,
    /// Path pattern. Parameter values are not logged, because a value may be a secret.
    pub(crate) route: &'static str,
    /// Path as sent, escaped and truncated. `None` if the path has a route.
    pub(crate) path: Option<&'a str>,
    pub(crate) status: u16,
    pub(crate) program: &'a ClientProgram,
    pub(crate) trace: &'a str,
}

pub(crate) fn of_http(metrics: &Metrics, about: &HttpRequestLine<'_>, ended: &RequestEnd) {
    ended.count(metrics, TransportLabel::Http, about.task);
    metrics.program(about.program.agent, about.program.command);
    // Successful monitoring requests are logged at `debug`, because monitoring sends a request
    // every few seconds.
    if about.task == Task::Watch && ended.outcome == Outcome::Ok {
        http_line!(debug, about, ended);
    } else {
        http_line!(info, about, ended);
    }
}

/// Limits a log line to one per minute, and counts the occurrences since the last line.
#[derive(Debug)]
pub(crate) struct OncePerMinute {
    /// Uptime in seconds at which the line may be written again.
    again_at_s: AtomicU64,
    times: AtomicU64,
}

impl OncePerMinute {
    const EVERY_S: u64 = 60;

    pub(crate) const fn new() -> OncePerMinute {
        OncePerMinute { again_at_s: AtomicU64::new(0), times: AtomicU64::new(0) }
    }

    /// Counts an occurrence. If a line is due, returns the number of occurrences since the last
    /// line, otherwise `None`.
    pub(crate) fn pass(&self, uptime: Duration) -> Option<u64> {
        self.times.fetch_add(1, Ordering::Relaxed);
        let (now, again_at) = (uptime.as_secs(), self.again_at_s.load(Ordering::Relaxed));
        let next = now.saturating_add(OncePerMinute::EVERY_S);
        let is_first = now >= again_at
            && self.again_at_s.compare_exchange(again_at, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        is_first.then(|| self.times.swap(0, Ordering::Relaxed))
    }
}

/// Maximum length of a logged client version in bytes.
const VERSION_MAX: usize = 24;

/// The program that sent an HTTP request, identified by its `User-Agent` header and, for
/// command-line clients, `x-cli-cmd`. Logs and metrics receive only values from a closed set, or a
/// plain version number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClientProgram {
    pub(crate) agent: Agent,
    /// Version of a command-line client.
    pub(crate) version: Option<Box<str>>,
    /// Command run by a command-line client.
    pub(crate) command: Option<CliCommand>,
}

impl ClientProgram {
    pub(crate) fn of(headers: &HeaderMap) -> ClientProgram {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        // The public command-line client and its SDK each send a `User-Agent` line. The client's
        // line takes priority.
        let named = || {
            let lines = headers.get_all("user-agent").iter().filter_map(|value| value.to_str().ok());
            lines.map(|line| {
                let (name, version) = line.split_once('/').unwrap_or((line, ""));
                (agent_of(name), version)
            })
        };
        let first = || named().find(|(agent, _)| *agent != Agent::Other);
        let found = named().find(|(agent, _)| *agent == Agent::Cli).or_else(first);
        let (agent, version) = found.unwrap_or((Agent::Other, ""));
        let is_plain = |version: &&str| {
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-+".contains(&byte);
            (1..=VERSION_MAX).contains(&version.len()) && version.bytes().all(is_letter)
        };
        let version = Some(version).filter(|_| agent == Agent::Cli).filter(is_plain).map(Box::from);
        // The header also contains subcommands, as in `account set`. Only the first word is used.
        let command = text("x-cli-cmd").and_then(|words| words.split(' ').next()).map(|word| {
            let known = CliCommand::ALL.iter().copied().find(|command| command.as_str() == word);
            known.unwrap_or(CliCommand::Other)
        });
        ClientProgram { agent, version, command }
    }
}

/// Maps a program name to an [`Agent`].
fn agent_of(name: &str) -> Agent {
    match name {
        "cli" | "longbridge-cli" => Agent::Cli,
        "openapi-sdk" => Agent::Sdk,
        "Mozilla" => Agent::Browser,
        _ => Agent::Other,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    #[test]
    fn a_line_is_written_at_most_once_a_minute() {
        let (seldom, second) = (OncePerMinute::new(), Duration::from_secs(1));
        assert_eq!(seldom.pass(second), Some(1));
        assert_eq!((seldom.pass(2 * second), seldom.pass(60 * second)), (None, None));
        assert_eq!(seldom.pass(61 * second), Some(3));
        assert_eq!(seldom.pass(62 * second), None);
    }

    fn program(
        agent: &'static [u8],
        command: Option<&'static [u8]>,
    ) -> (Agent, Option<String>, Option<CliCommand>) {
        let mut headers = HeaderMap::new();
        headers.insert("user-agent", HeaderValue::from_bytes(agent).unwrap());
        if let Some(command) = command {
            headers.insert("x-cli-cmd", HeaderValue::from_bytes(command).unwrap());
        }
        let ClientProgram { agent, version, command } = ClientProgram::of(&headers);
        (agent, version.map(String::from), command)
    }

    #[test]
    fn only_known_programs_and_commands_are_reported() {
        let version = |text: &str| Some(text.to_owned());
        assert_eq!(
            program(b"cli/0.9.1", Some(b"kline")),
            (Agent::Cli, version("0.9.1"), Some(CliCommand::Kline))
        );
        let set = program(b"cli/1.0.0-rc.1+7", Some(b"account set"));
        assert_eq!(set, (Agent::Cli, version("1.0.0-rc.1+7"), Some(CliCommand::Account)));
        assert_eq!(program(b"openapi-sdk", None), (Agent::Sdk, None, None));
        assert_eq!(program(b"Mozilla/5.0 (X11)", None), (Agent::Browser, None, None));
        assert_eq!(program(b"curl/8.5.0", Some(b"")), (Agent::Other, None, Some(CliCommand::Other)));
        for odd in [&b"cli/700.HK secret"[..], b"cli/", b"cli", b"cli/0123456789012345678901234"] {
            assert_eq!(
                program(odd, Some(b"../700.HK")),
                (Agent::Cli, None, Some(CliCommand::Other)),
                "{odd:?}"
            );
        }
        assert_eq!(program(b"\xff", Some(b"\xff")), (Agent::Other, None, None));
        // One request with two `User-Agent` lines, in either order.
        for lines in [["cli/0.9.1", "openapi-sdk"], ["openapi-sdk", "longbridge-cli/0.9.1"]] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("user-agent", HeaderValue::from_static(line));
            }
            let ClientProgram { agent, version, .. } = ClientProgram::of(&headers);
            assert_eq!((agent, version.as_deref()), (Agent::Cli, Some("0.9.1")), "{lines:?}");
        }
        let none = ClientProgram { agent: Agent::Other, version: None, command: None };
        assert_eq!(ClientProgram::of(&HeaderMap::new()), none);
    }
}
