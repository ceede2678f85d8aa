//! The unanswered requests of one connection: a few run, some wait for those, one or two exceeded
//! the rate and are held. Each may have a deadline.

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

/// Concurrent requests of one connection.
pub(super) const RUNNING_MAX: usize = 5;
/// Queued requests, and their bytes together.
pub(super) const WAITING_MAX: usize = 64;
const WAITING_BYTES_MAX: usize = 1 << 20;

/// Requests slightly above the account's rate that are held instead of refused: a client that sends
/// one request after the other is slowed down to its rate, and a flood is refused.
const EARLY_MAX: usize = 2;
/// How long they wait at most.
const EARLY_WAIT_MAX: Duration = Duration::from_secs(1);

/// A request that was read.
#[derive(Debug)]
pub(super) struct LinkRequest {
    pub(super) command: u8,
    pub(super) id: u32,
    /// The client's deadline, which includes the time in the queue.
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

/// A finished request, with its body if it may be retried.
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
    /// Requests above the rate, and when to retry them.
    early: Vec<(Instant, LinkRequest)>,
}

/// A running request. It occupies its slot until it has ended, even after a timeout was reported:
/// otherwise requests with short timeouts would pile up on the threads.
#[derive(Debug)]
struct RunningRequest {
    task: task::Id,
    command: u8,
    id: u32,
    by: Option<Instant>,
    since: Instant,
    decided: OnceFlag,
    /// The timeout was reported to the client.
    given_up: bool,
    /// Stored if the request was not admitted when it started: it may exceed the rate.
    body: Option<Vec<u8>>,
}

/// Whether the outcome is decided: the answer, which is then charged, or a timeout, which costs
/// nothing. Both sides try to decide; the first one wins.
#[derive(Clone, Debug, Default)]
struct OnceFlag(Arc<AtomicBool>);

impl OnceFlag {
    fn set_first(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl Pending {
    /// Whether no request runs or waits.
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

    /// Queues a request, or returns it if there are too many.
    pub(super) fn wait(&mut self, request: LinkRequest) -> Result<(), LinkRequest> {
        let bytes = self.waiting_bytes + request.body.len();
        if self.waiting.len() >= WAITING_MAX || bytes > WAITING_BYTES_MAX {
            return Err(request);
        }
        self.waiting_bytes = bytes;
        self.waiting.push_back(request);
        Ok(())
    }

    /// The next queued request that may start now.
    pub(super) fn next(&mut self) -> Option<LinkRequest> {
        if !self.may_start() {
            return None;
        }
        let requested = self.waiting.pop_front()?;
        self.waiting_bytes -= requested.body.len();
        Some(requested)
    }

    /// Holds a request above the rate until it may be retried, or returns it if the wait is too
    /// long or too many are held.
    pub(super) fn keep_early(&mut self, request: LinkRequest, again_at: Instant) -> Result<(), LinkRequest> {
        if self.early.len() >= EARLY_MAX || again_at > request.since + EARLY_WAIT_MAX {
            return Err(request);
        }
        self.early.push((again_at, request));
        Ok(())
    }

    /// A held request that may be retried now.
    pub(super) fn next_early(&mut self, now: Instant) -> Option<LinkRequest> {
        let at = self.early.iter().position(|(again_at, _)| *again_at <= now)?;
        Some(self.early.remove(at).1)
    }

    /// Runs admitted work on a worker thread, when its account is scheduled.
    pub(super) fn start(
        &mut self,
        request: &LinkRequest,
        work: Box<dyn BlockingWork>,
        body: Option<Vec<u8>>,
        core: Arc<Core>,
    ) -> Result<(), Full> {
        let decided = OnceFlag::default();
        let by_worker = decided.clone();
        let (workers, share) = (core.workers.clone(), work.share(&core));
        let answer = workers.submit(share, move || work.run_if(&core, &|| by_worker.set_first()))?;
        // A panic affects only its request, and was logged.
        let task = self.running.spawn(async { answer.await.unwrap_or(Err(Refusal::Internal)) }).id();
        let LinkRequest { command, id, by, since, .. } = *request;
        self.started.push(RunningRequest { task, command, id, by, since, decided, given_up: false, body });
        Ok(())
    }

    /// Polls for a finished request. It has no answer if a timeout was reported.
    pub(super) fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Option<EndedRequest>> {
        let (task, answer) = match self.running.poll_join_next_with_id(cx) {
            Poll::Ready(Some(Ok((task, answer)))) => (task, answer),
            Poll::Ready(Some(Err(error))) => {
                // A panic affects only its request.
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
        let early = self
            .early
            .iter()
            .map(|(again_at, requested)| requested.by.map_or(*again_at, |by| by.min(*again_at)));
        started.chain(self.waiting.iter().filter_map(|requested| requested.by)).chain(early).min()
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
        self.early.retain(|(_, requests)| {
            let over = is_over(requests.by);
            if over {
                overdue.push(requests.answered(Err(Refusal::TimedOut)));
            }
            !over
        });
        self.waiting.retain(|requests| {
            let over = is_over(requests.by);
            if over {
                overdue.push(requests.answered(Err(Refusal::TimedOut)));
                self.waiting_bytes -= requests.body.len();
            }
            !over
        });
        overdue
    }
}
