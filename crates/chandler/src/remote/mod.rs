//! Another server, seen from the command line: signing in to it, and asking it as the account that signed in.
//!
//! [`http`] is the only part that knows a network; everything else is given something that sends requests, so that the
//! tests need none. [`oauth`] runs the device flow, [`files`] keeps what it brings, [`session`] asks with it, [`candles`]
//! reads history.

pub(crate) mod candles;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod oauth;
pub(crate) mod session;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use market::Timestamp;
use serde_json::Value;

use crate::clock::Clock;
use crate::failure::{Failure, STOPPED, usage};
use crate::sdk::Url;
use crate::surroundings::Surroundings;
use session::Session;

/// Where `chandler serve` listens when nobody says otherwise.
pub(crate) const SERVER_DEFAULT: &str = "http://127.0.0.1:8080";

/// The flags of every command that speaks to a server.
#[derive(Debug, Args)]
pub(crate) struct Flags {
    /// The server [default: the one last signed in to, else http://127.0.0.1:8080]
    #[arg(long, env = "CHANDLER_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Send tokens over plain http to a machine that is not this one
    #[arg(long)]
    pub(crate) insecure_http: bool,
}

impl Flags {
    /// The server that is meant. One that has been signed in to before was agreed to then, for the tokens of that login.
    pub(crate) fn server(&self, book: &files::Book) -> Result<Url, Failure> {
        let text = self.server.as_deref().or(book.current.as_deref()).unwrap_or(SERVER_DEFAULT);
        let url = Url::parse(text)?;
        let agreed = self.insecure_http || book.servers.contains_key(url.as_str());
        check(&url, agreed)?;
        Ok(url)
    }
}

/// The flags of commands that answer from the store here, unless a server is named.
#[derive(Debug, Args)]
pub(crate) struct Elsewhere {
    /// Ask this server instead of the store here, as the account that has signed in to it
    #[arg(long, env = "CHANDLER_SERVER", value_name = "URL")]
    server: Option<String>,
    /// Send tokens over plain http to a machine that is not this one
    #[arg(long)]
    insecure_http: bool,
}

impl Elsewhere {
    /// A session with the server that is meant, if one is. A store that the command line names is closer to what was
    /// wanted than a server that the environment does.
    pub(crate) fn session(&self, surroundings: &Surroundings) -> Result<Option<Session>, Failure> {
        let named = surroundings.named;
        match (&self.server, named.store, named.server) {
            (None, ..) | (Some(_), true, false) => Ok(None),
            (Some(_), true, true) => Err(usage("--server and --store: name one of them")),
            (Some(server), false, _) => {
                let flags = Flags { server: Some(server.clone()), insecure_http: self.insecure_http };
                Session::open(&flags).map(Some)
            }
        }
    }
}

/// Tokens are as good as passwords, so they leave this machine only sealed, or on purpose.
pub(crate) fn check(url: &Url, agreed: bool) -> Result<(), Failure> {
    if url.as_str().starts_with("http://") && !is_loopback(url.host()) && !agreed {
        return Err(usage(format!(
            "{} is plain http to another machine, where anybody on the way could read the token: use https, or add \
             --insecure-http",
            url.as_str()
        )));
    }
    Ok(())
}

pub(crate) fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A field of an answer; one that is not there is null.
pub(crate) fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    static NULL: Value = Value::Null;
    value.get(name).unwrap_or(&NULL)
}

/// Time as the flows need it: what it is, and a pause that the user may end.
pub(crate) trait Time {
    fn now(&self) -> Timestamp;
    /// Whether the pause lasted as long as it should: not if the user wants to stop.
    fn pause(&self, length: Duration) -> bool;
    /// Whether the user wants to stop.
    fn is_over(&self) -> bool;
}

/// The machine's clock. Ctrl-C ends a pause, so that there is something to say about it; anywhere else it ends the process at
/// once, since a server that says nothing would keep it for as long as a request may take. One for each command: what is
/// done about a signal is never undone.
#[derive(Clone, Debug)]
pub(crate) struct MachineTime {
    stop: Arc<AtomicBool>,
    busy: Arc<AtomicBool>,
}

impl MachineTime {
    pub(crate) fn new() -> Result<MachineTime, Failure> {
        let time = MachineTime::until(Arc::new(AtomicBool::new(false)));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, STOPPED.into(), Arc::clone(&time.busy))?;
            signal_hook::flag::register(signal, Arc::clone(&time.stop))?;
        }
        Ok(time)
    }

    /// With a flag that somebody else raises, who has the signals.
    pub(crate) fn until(stop: Arc<AtomicBool>) -> MachineTime {
        MachineTime { stop, busy: Arc::new(AtomicBool::new(true)) }
    }
}

impl Time for MachineTime {
    fn now(&self) -> Timestamp {
        Clock::Machine.now()
    }

    fn pause(&self, length: Duration) -> bool {
        const SLICE: Duration = Duration::from_millis(100);
        let mut left = length;
        self.busy.store(false, Ordering::SeqCst);
        while !left.is_zero() && !self.is_over() {
            let slice = left.min(SLICE);
            std::thread::sleep(slice);
            left -= slice;
        }
        // In this order no signal is lost: up to here it has raised the flag, from here on it ends the process.
        self.busy.store(true, Ordering::SeqCst);
        !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(text: &str, agreed: bool) -> bool {
        Url::parse(text).is_ok_and(|url| check(&url, agreed).is_ok())
    }

    #[test]
    fn tokens_leave_the_machine_only_sealed_or_on_purpose() {
        for here in ["http://127.0.0.1:8080", "http://127.3.2.1", "http://localhost:1", "http://[::1]:8080/x"]
        {
            assert!(allowed(here, false), "{here}");
        }
        assert!(allowed("https://quotes.example.org", false));
        for there in ["http://quotes.example.org", "http://10.0.0.1:80", "http://localhost.example.org"] {
            assert!(!allowed(there, false), "{there}");
            assert!(allowed(there, true), "{there}");
        }
    }

    #[test]
    fn a_host_cannot_hide_behind_a_user_name() {
        for text in
            ["http://127.0.0.1:80@example.org", "http://localhost@example.org/", "https://a@example.org"]
        {
            assert!(!allowed(text, true), "{text}");
        }
    }
}
