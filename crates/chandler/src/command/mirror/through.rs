//! Read-through of `chandler serve`: the thread that requests data from the source of a mirror.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use collect::{ReadThrough, Scope};
use store::MirrorRow;

use super::login::{MachineTime, open_source};
use super::named::{Logged, permitted};
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::local::open_accounts;

/// Maximum time that a server waits for the last response of the source when it stops.
const END_WITHIN: Duration = Duration::from_secs(2);

/// The thread of read-through. It ends with the server.
#[derive(Debug)]
pub(crate) struct ReadThroughThread {
    pub(crate) read_through: ReadThrough,
    ended: Receiver<()>,
}

/// Starts read-through if the settings name a mirror. Without a name, the thread is started for the
/// only mirror, and fetches only what operators request. At most half of the server's threads wait
/// for the source, so that the other requests are not delayed.
pub(crate) fn start(
    config: &ServerConfig,
    threads: usize,
    context: &CommandContext,
) -> Result<Option<ReadThroughThread>, Failure> {
    let row = match config.read_through.as_str() {
        "" => match on_request(context) {
            Some(row) => row,
            None => return Ok(None),
        },
        name => permitted(&context.open_existing()?, name)?,
    };
    let is_automatic = !config.read_through.is_empty();
    if is_automatic && !matches!(context.clock, Clock::Machine) {
        tracing::warn!(mirror = row.name, "read-through is off, because the market clock is set");
    }
    let markets = config.read_through_markets.iter().map(|market| market.0);
    let scope = Scope {
        markets: markets.filter(|_| is_automatic).collect(),
        periods: config.read_through_periods.iter().map(|period| period.0).collect(),
    };
    let store = context.open_existing()?;
    let venues = context.history.venues().clone();
    let (read_through, fetcher) = collect::read_through(&row.name, &venues, scope, (threads / 2).max(1));
    let access = open_accounts(context)?;
    let (end, ended) = mpsc::channel();
    std::thread::Builder::new().name("read-through".to_owned()).spawn(move || {
        let open = |row: &store::MirrorRow| open_source(row, &access);
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

/// Returns the only mirror, if the terms of its source have been accepted. A server without a
/// readable store reports that later.
fn on_request(context: &CommandContext) -> Option<MirrorRow> {
    let store = context.open_existing().ok().filter(|_| matches!(context.clock, Clock::Machine))?;
    let all = store.reader().and_then(|mut reader| reader.view().mirrors()).ok()?;
    let [only] = all.as_slice() else { return None };
    permitted(&store, &only.name).ok()
}
