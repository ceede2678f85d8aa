//! Whether the database of accounts is there, where it is a server that several nodes share.
//!
//! When it is away, a node goes on by itself for a while with what it knows: accounts that it has seen, securities that they have paid for, and its share of their
//! rates. Requests find out once; from then on nobody asks the database but the beat ([`Access::beat`](crate::Access::beat)), so that no request waits
//! for a server that is not there.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a node goes on by itself when the database is away, unless it is told otherwise.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(300);

/// How a node stands with its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It is there, or is a file.
    Yes,
    /// It is there again; other nodes have not brought back yet what they admitted, so rates are shares.
    Settling,
    /// It is away since so long, and this node goes on with what it knows.
    Away(Duration),
    /// It is away for longer than this node goes on without it.
    Lost(Duration),
}

/// What is taken of what was learnt before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Learnt {
    /// What was learnt at this version of the database.
    At(i64),
    /// Whatever was learnt: the database is away, and nothing newer can be had.
    Ever,
}

impl Learnt {
    pub(crate) fn takes(self, version: i64) -> bool {
        match self {
            Learnt::At(at) => at == version,
            Learnt::Ever => true,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Reach {
    grace: Duration,
    is_away: AtomicBool,
    is_lost: AtomicBool,
    is_settling: AtomicBool,
    /// Nodes that were there when it was last looked.
    nodes: AtomicU32,
    /// Since when it is away, in uptime; `None` until somebody has looked at the clock.
    since: Mutex<Option<Duration>>,
}

impl Default for Reach {
    fn default() -> Reach {
        Reach {
            grace: GRACE_DEFAULT,
            is_away: AtomicBool::new(false),
            is_lost: AtomicBool::new(false),
            is_settling: AtomicBool::new(false),
            nodes: AtomicU32::new(1),
            since: Mutex::default(),
        }
    }
}

impl Reach {
    pub(crate) fn set_grace(&mut self, grace: Duration) {
        self.grace = grace;
    }

    /// Whether to go on without the database, and not to ask it.
    pub(crate) fn is_away(&self) -> bool {
        self.is_away.load(Ordering::Acquire)
    }

    /// What is taken of what was learnt, where a version of the database would be looked for.
    pub(crate) fn learnt(&self, version: i64) -> Learnt {
        if self.is_away() { Learnt::Ever } else { Learnt::At(version) }
    }

    /// Whether it is away for too long to go on.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Whether rates are decided by the database.
    pub(crate) fn is_settling(&self) -> bool {
        self.is_settling.load(Ordering::Acquire)
    }

    /// It is another server than before: rates are shares until all nodes have brought back what they admitted.
    pub(crate) fn settle(&self) {
        self.is_settling.store(true, Ordering::Release);
    }

    /// Somebody has found that it is away.
    pub(crate) fn lose(&self) {
        self.is_away.store(true, Ordering::Release);
    }

    /// Looks at the clock while it is away.
    pub(crate) fn pass_time(&self, uptime: Duration) {
        if !self.is_away() {
            return;
        }
        let since = *self.lock().get_or_insert(uptime);
        if uptime.saturating_sub(since) >= self.grace {
            self.is_lost.store(true, Ordering::Release);
        }
    }

    /// It is there, with so many nodes. `settling` if some of them have not brought back what they admitted.
    pub(crate) fn find(&self, nodes: u32, settling: bool) {
        self.nodes.store(nodes.max(1), Ordering::Release);
        self.is_settling.store(settling, Ordering::Release);
        *self.lock() = None;
        self.is_lost.store(false, Ordering::Release);
        self.is_away.store(false, Ordering::Release);
    }

    pub(crate) fn nodes(&self) -> u32 {
        self.nodes.load(Ordering::Acquire)
    }

    /// What one node may admit of a limit without asking the others: at least one.
    pub(crate) fn share(&self, limit: u32) -> u32 {
        limit.checked_div(self.nodes()).unwrap_or(limit).max(1)
    }

    pub(crate) fn state(&self, uptime: Duration) -> Reached {
        if !self.is_away() {
            return if self.is_settling() { Reached::Settling } else { Reached::Yes };
        }
        let since = self.lock().map_or(Duration::ZERO, |since| uptime.saturating_sub(since));
        if self.is_lost() { Reached::Lost(since) } else { Reached::Away(since) }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Duration>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    #[test]
    fn a_node_goes_on_by_itself_for_its_grace_and_is_back_at_once() {
        let mut reach = Reach::default();
        reach.set_grace(S(60));
        assert_eq!(reach.state(S(100)), Reached::Yes);
        reach.find(3, false);
        reach.pass_time(S(110));
        assert_eq!(reach.state(S(110)), Reached::Yes, "time alone means nothing");
        reach.lose();
        reach.pass_time(S(120));
        reach.lose();
        reach.pass_time(S(179));
        assert_eq!(reach.state(S(179)), Reached::Away(S(59)));
        assert_eq!((reach.share(60), reach.share(2)), (20, 1));
        reach.pass_time(S(180));
        assert_eq!(reach.state(S(180)), Reached::Lost(S(60)));
        reach.find(2, true);
        assert_eq!(reach.state(S(181)), Reached::Settling);
        reach.find(2, false);
        assert_eq!(reach.state(S(182)), Reached::Yes);
        reach.lose();
        reach.pass_time(S(200));
        assert_eq!(reach.state(S(201)), Reached::Away(S(1)), "it is counted anew");
    }
}
