//! Following of `chandler serve --mirror`: the thread that ingests the pushes of a mirror's source.

use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use collect::{Follower, Following};
use server::MirrorSink;

use super::login::{MachineTime, open_source};
use super::named::{Logged, permitted};
use crate::clock::Clock;
use crate::config::ServerConfig;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::open_accounts;

/// Maximum time that a server waits for the last batch when it stops.
const END_WITHIN: Duration = Duration::from_secs(2);

/// A follower whose thread is not started yet, because it needs the ingest of the server.
#[derive(Debug)]
pub(crate) struct NewFollower {
    pub(crate) following: Following,
    follower: Follower,
}

/// The thread of a follower. It ends with the server.
#[derive(Debug)]
pub(crate) struct FollowThread {
    following: Following,
    ended: Receiver<()>,
}

/// Creates the follower if the settings name a mirror.
pub(crate) fn create(
    config: &ServerConfig,
    context: &CommandContext,
) -> Result<Option<NewFollower>, Failure> {
    if config.mirror.is_empty() {
        return Ok(None);
    }
    let row = permitted(&context.open_existing()?, &config.mirror)?;
    if !matches!(context.clock, Clock::Machine) {
        return Err(usage("--mirror follows the source in real time: it cannot be used with --clock"));
    }
    let (following, follower) = collect::follow(&row.name);
    Ok(Some(NewFollower { following, follower }))
}

impl NewFollower {
    pub(crate) fn start(self, sink: MirrorSink, context: &CommandContext) -> Result<FollowThread, Failure> {
        let NewFollower { following, follower } = self;
        let (store, access) = (context.open_existing()?, open_accounts(context)?);
        let venues = context.history.venues().clone();
        let logged = Logged(following.mirror().to_owned());
        let (end, ended) = mpsc::channel();
        std::thread::Builder::new().name("mirror".to_owned()).spawn(move || {
            let open = |row: &store::MirrorRow| open_source(row, &access);
            follower.run((&store, &venues), &MachineTime, &sink, &logged, &open);
            // An error means that the server does not wait.
            end.send(()).ok();
        })?;
        Ok(FollowThread { following, ended })
    }
}

impl FollowThread {
    /// Waits for the last batch.
    pub(crate) fn end(self) {
        self.following.stop();
        self.ended.recv_timeout(END_WITHIN).ok();
    }
}
