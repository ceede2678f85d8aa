//! The unanswered requests of one connection: a few run, some wait for those, one or two came too early and are held. Each may have a
//! deadline.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::{self, JoinSet};
use tokio::time::Instant;

use crate::command::Reply;
use crate::core::Core;
use crate::refusal::Refusal;
use crate::route::BlockingWork;
use crate::workers::Full;

/// Requests of one connection that run at once.
pub(super) const RUNNING_MAX: usize = 5;
/// Requests that wait for those, and the bytes that they may hold together.
pub(super) const WAITING_MAX: usize = 64;
const WAITING_BYTES_MAX: usize = 1 << 20;

/// Requests that came a little faster than the account's rate and are held instead of refused: a client that sends one request after
/// the other is slowed down to its rate, and a flood is refused.
const EARLY_MAX: usize = 2;
/// How long they wait at most.
const EARLY_WAIT_MAX: Duration = Duration::from_secs(1);

/// A request that has been read.
#[derive(Debug)]
pub(super) struct LinkRequest {
    pub(super) command: u8,
    pub(super) id: u32,
    /// The client's timeout, which includes the time in the queue.
    pub(super) by: Option<Instant>,
    /// When it arrived.
    pub(super) since: Instant,
    pub(super) body: Vec<u8>,
}

/// A request with its answer.
#[derive(Debug)]
pub(super) struct LinkResponse {
    pub(super) command: u8,
    pub(super) id: u32,
    pub(super) since: Instant,
    pub(super) answer: Result<Reply, Refusal>,
}

/// A request that has ended, with all of it where it may be tried again.
#[derive(Debug)]
pub(super) struct EndedRequest {
    pub(super) response: LinkResponse,
    pub(super) again: Option<LinkRequest>,
}

impl LinkRequest {
    pub(super) fn answered(&self, answer: Result<Reply, Refusal>) -> LinkResponse {
        LinkResponse { command: self.command, id: self.id, since: self.since, answer }
    }
}

#[derive(Debug, Default)]
pub(super) struct Pending {
    running: JoinSet<Result<Reply, Refusal>>,
    started: Vec<RunningRequest>,
    waiting: VecDeque<LinkRequest>,
    waiting_bytes: usize,
    /// Requests that came too early, and when to try them again.
    early: Vec<(Instant, LinkRequest)>,
}

/// A running request. It keeps its place until it has ended, even after the client was told of a timeout: otherwise requests with short
/// timeouts would pile up on the threads.
#[derive(Debug)]
struct RunningRequest {
    task: task::Id,
    command: u8,
    id: u32,
    by: Option<Instant>,
    since: Instant,
    decided: OnceFlag,
    /// The client has been told of the timeout.
    given_up: bool,
    /// Kept where nothing was decided yet when it began: it may have come too early.
    body: Option<Vec<u8>>,
}

/// Whether the outcome is decided: the answer, which is then charged, or a timeout, which costs nothing. Both sides try to decide; the
/// first one wins.
#[derive(Clone, Debug, Default)]
struct OnceFlag(Arc<AtomicBool>);

impl OnceFlag {
    fn set_first(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl Pending {
    /// Whether nothing runs and nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty() && self.early.is_empty()
    }

    /// Whether the client waits for an answer.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
            || !self.early.is_empty()
            || self.started.iter().any(|started| !started.given_up)
    }

    pub(super) fn may_start(&self) -> bool {
        self.running.len() < RUNNING_MAX
    }

    /// Puts a request behind the others, or gives it back if there are too many.
    pub(super) fn wait(&mut self, asked: LinkRequest) -> Result<(), LinkRequest> {
        let bytes = self.waiting_bytes + asked.body.len();
        if self.waiting.len() >= WAITING_MAX || bytes > WAITING_BYTES_MAX {
            return Err(asked);
        }
        self.waiting_bytes = bytes;
        self.waiting.push_back(asked);
        Ok(())
    }

    /// The next request that waits and may start now.
    pub(super) fn next(&mut self) -> Option<LinkRequest> {
        if !self.may_start() {
            return None;
        }
        let asked = self.waiting.pop_front()?;
        self.waiting_bytes -= asked.body.len();
        Some(asked)
    }

    /// Holds a request that came too early until it may be tried again, or returns it if the wait is too long or too many are held.
    pub(super) fn keep_early(&mut self, asked: LinkRequest, again_at: Instant) -> Result<(), LinkRequest> {
        if self.early.len() >= EARLY_MAX || again_at > asked.since + EARLY_WAIT_MAX {
            return Err(asked);
        }
        self.early.push((again_at, asked));
        Ok(())
    }

    /// A request that came too early and may be tried again now.
    pub(super) fn next_early(&mut self, now: Instant) -> Option<LinkRequest> {
        let at = self.early.iter().position(|(again_at, _)| *again_at <= now)?;
        Some(self.early.remove(at).1)
    }

    /// Runs admitted work on a thread that may wait for the disk, when its account has a turn.
    pub(super) fn start(
        &mut self,
        asked: &LinkRequest,
        work: Box<dyn BlockingWork>,
        body: Option<Vec<u8>>,
        core: Arc<Core>,
    ) -> Result<(), Full> {
        let decided = OnceFlag::default();
        let by_worker = decided.clone();
        let (workers, share) = (core.workers.clone(), work.share(&core));
        let told = workers.submit(share, move || work.run_if(&core, &|| by_worker.set_first()))?;
        // A panic costs its request only, and has been logged.
        let task = self.running.spawn(async { told.await.unwrap_or(Err(Refusal::Internal)) }).id();
        let LinkRequest { command, id, by, since, .. } = *asked;
        self.started.push(RunningRequest { task, command, id, by, since, decided, given_up: false, body });
        Ok(())
    }

    /// Waits until a running request has ended. It has no answer if the client was told of a timeout.
    pub(super) fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Option<EndedRequest>> {
        let (task, answer) = match self.running.poll_join_next_with_id(cx) {
            Poll::Ready(Some(Ok((task, answer)))) => (task, answer),
            Poll::Ready(Some(Err(error))) => {
                // A panic costs its request only.
                tracing::error!(%error, "a request ended unexpectedly");
                (error.id(), Err(Refusal::Internal))
            }
            Poll::Ready(None) | Poll::Pending => return Poll::Pending,
        };
        let Some(at) = self.started.iter().position(|started| started.task == task) else {
            return Poll::Ready(None);
        };
        let RunningRequest { command, id, by, since, given_up, body, .. } = self.started.swap_remove(at);
        let again = body.map(|body| LinkRequest { command, id, by, since, body });
        let response = LinkResponse { command, id, since, answer };
        Poll::Ready((!given_up).then_some(EndedRequest { response, again }))
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let started = self.started.iter().filter_map(|started| started.by);
        let early =
            self.early.iter().map(|(again_at, asked)| asked.by.map_or(*again_at, |by| by.min(*again_at)));
        started.chain(self.waiting.iter().filter_map(|asked| asked.by)).chain(early).min()
    }

    /// Requests that have timed out.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<LinkResponse> {
        let is_over = |by: Option<Instant>| by.is_some_and(|by| by <= now);
        let mut overdue = Vec::new();
        for started in self.started.iter_mut().filter(|started| is_over(started.by)) {
            started.by = None;
            // An answer that is being charged will be sent.
            if started.decided.set_first() {
                started.given_up = true;
                let RunningRequest { command, id, since, .. } = *started;
                overdue.push(LinkResponse { command, id, since, answer: Err(Refusal::TimedOut) });
            }
        }
        self.early.retain(|(_, asked)| {
            let over = is_over(asked.by);
            if over {
                overdue.push(asked.answered(Err(Refusal::TimedOut)));
            }
            !over
        });
        self.waiting.retain(|asked| {
            let over = is_over(asked.by);
            if over {
                overdue.push(asked.answered(Err(Refusal::TimedOut)));
                self.waiting_bytes -= asked.body.len();
            }
            !over
        });
        overdue
    }
}
