//! Read-through of `chandler serve`: the thread that requests data from the source of a mirror.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use collect::{Connect, Progress, ReadThrough, Scope, Settings, Watch};

use super::login::{MachineTime, MirrorServer};
use super::named::find;
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::open_accounts;

/// Maximum time that a server waits for the last response of the source when it stops.
const END_WITHIN: Duration = Duration::from_secs(2);

/// The thread of read-through. It ends with the server.
#[derive(Debug)]
pub(crate) struct ReadThroughThread {
    pub(crate) read_through: ReadThrough,
    ended: Receiver<()>,
}

/// Starts read-through if the settings name a mirror. At most half of the server's threads wait for
/// the source, so that the other requests are not delayed.
pub(crate) fn start(
    config: &ServerConfig,
    threads: usize,
    context: &CommandContext,
) -> Result<Option<ReadThroughThread>, Failure> {
    if config.read_through.is_empty() {
        return Ok(None);
    }
    let store = context.open_existing()?;
    let row = find(&store, Some(&config.read_through))?;
    let settings: Settings = serde_json::from_str(&row.settings)?;
    if settings.terms_accepted_at.is_none() {
        return Err(usage(format!(
            "the terms of {} apply to its data, and may forbid storing it: read them, and run `chandler mirror plan \
             {} --accept-terms` once",
            settings.http_url, row.name
        )));
    }
    if !matches!(context.clock, Clock::Machine) {
        tracing::warn!(mirror = row.name, "read-through is off, because the market clock is set");
    }
    let scope = Scope {
        markets: config.read_through_markets.iter().map(|market| market.0).collect(),
        periods: config.read_through_periods.iter().map(|period| period.0).collect(),
    };
    let venues = context.history.venues().clone();
    let (read_through, fetcher) = collect::read_through(&row.name, &venues, scope, (threads / 2).max(1));
    let access = open_accounts(context)?;
    let (end, ended) = mpsc::channel();
    std::thread::Builder::new().name("read-through".to_owned()).spawn(move || {
        let open = |row: &store::MirrorRow| match MirrorServer::of(row, &access) {
            Ok(server) => Ok(Box::new(server) as Box<dyn Connect + '_>),
            Err(failure) => Err(failure.to_string()),
        };
        fetcher.run((&store, &venues), &MachineTime, &Logged(row.name), &open);
        // An error means that the server does not wait.
        end.send(()).ok();
    })?;
    Ok(Some(ReadThroughThread { read_through, ended }))
}

impl ReadThroughThread {
    /// Waits for the pending response, so that its data is stored. A process that ends earlier
    /// counts the request as pending when it starts again.
    pub(crate) fn end(self) {
        self.read_through.stop();
        self.ended.recv_timeout(END_WITHIN).ok();
    }
}

/// Writes the notes of read-through to the log.
struct Logged(String);

impl Watch for Logged {
    fn progress(&self, _: &Progress) {}

    fn note(&self, text: &str) {
        tracing::warn!(mirror = self.0, "{text}");
    }
}
