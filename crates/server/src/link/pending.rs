//! Unanswered requests of one connection. A few are running, some are queued, and one or two that
//! exceed the rate limit are held back. Each request may have a deadline.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::{self, JoinSet};
use tokio::time::Instant;

use crate::core::Core;
use crate::message::Reply;
use crate::refusal::Refusal;
use crate::route::BlockingWork;
use crate::workers::Full;

/// Maximum number of concurrent requests per connection.
pub(super) const RUNNING_MAX: usize = 5;
/// Maximum number of queued requests.
pub(super) const WAITING_MAX: usize = 64;
/// Maximum total size of the bodies of queued requests, in bytes.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// Maximum number of requests slightly above the rate limit that are held back instead of refused.
/// A client that sends one request after the other is slowed down to its rate, and a flood is
/// refused.
const EARLY_MAX: usize = 2;
/// Maximum time that a request is held back.
const EARLY_WAIT_MAX: Duration = Duration::from_secs(1);

/// A request received on a long connection.
#[derive(Debug)]
pub(super) struct LinkRequest {
    pub(super) command: u8,
    pub(super) id: u32,
    /// Deadline set by the client, which includes the time in the queue. `None` if the client set
    /// no deadline.
    pub(super) by: Option<Instant>,
    /// Time at which the request arrived.
    pub(super) since: Instant,
    pub(super) body: Vec<u8>,
}

/// The response to a request.
#[derive(Debug)]
pub(super) struct LinkResponse {
    pub(super) command: u8,
    pub(super) id: u32,
    pub(super) since: Instant,
    pub(super) answer: Result<Reply, Refusal>,
}

/// A finished request, and the request itself if it may be retried.
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
    /// Requests above the rate limit, with the time at which to retry them.
    early: Vec<(Instant, LinkRequest)>,
}

/// A running request. It occupies its slot until the work has ended, even after a timeout was
/// reported, because requests with short timeouts would otherwise pile up on the worker threads.
#[derive(Debug)]
struct RunningRequest {
    task: task::Id,
    command: u8,
    id: u32,
    by: Option<Instant>,
    since: Instant,
    decided: OnceFlag,
    /// Whether the timeout was reported to the client.
    given_up: bool,
    /// Body of a request that was not admitted before it started. Such a request may exceed the
    /// rate limit and be retried.
    body: Option<Vec<u8>>,
}

/// Whether the outcome of a request is decided: either the response, which is then charged, or a
/// timeout, which costs nothing. The worker and the connection race to set the flag.
#[derive(Clone, Debug, Default)]
struct OnceFlag(Arc<AtomicBool>);

impl OnceFlag {
    fn set_first(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl Pending {
    /// Returns whether no request is running, queued or held back.
    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty() && self.early.is_empty()
    }

    /// Returns whether the client is waiting for a response.
    pub(super) fn is_awaited(&self) -> bool {
        !self.waiting.is_empty()
            || !self.early.is_empty()
            || self.started.iter().any(|started| !started.given_up)
    }

    /// Returns whether requests are queued.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Removes and returns the queued requests.
    pub(super) fn take_waiting(&mut self) -> VecDeque<LinkRequest> {
        self.waiting_bytes = 0;
        std::mem::take(&mut self.waiting)
    }

    pub(super) fn may_start(&self) -> bool {
        self.running.len() < RUNNING_MAX
    }

    /// Queues a request, or returns the request as the error if the queue is full.
    pub(super) fn wait(&mut self, request: LinkRequest) -> Result<(), LinkRequest> {
        let bytes = self.waiting_bytes + request.body.len();
        if self.waiting.len() >= WAITING_MAX || bytes > WAITING_BYTES_MAX {
            return Err(request);
        }
        self.waiting_bytes = bytes;
        self.waiting.push_back(request);
        Ok(())
    }

    /// Returns the next queued request if it may start now, or `None` otherwise.
    pub(super) fn next(&mut self) -> Option<LinkRequest> {
        if !self.may_start() {
            return None;
        }
        let requested = self.waiting.pop_front()?;
        self.waiting_bytes -= requested.body.len();
        Some(requested)
    }

    /// Holds back a request above the rate limit until it may be retried. Returns the request as
    /// the error if the wait is too long or too many requests are held back.
    pub(super) fn keep_early(&mut self, request: LinkRequest, again_at: Instant) -> Result<(), LinkRequest> {
        if self.early.len() >= EARLY_MAX || again_at > request.since + EARLY_WAIT_MAX {
            return Err(request);
        }
        self.early.push((again_at, request));
        Ok(())
    }

    /// Removes and returns a held-back request that may be retried now, or returns `None`.
    pub(super) fn next_early(&mut self, now: Instant) -> Option<LinkRequest> {
        let at = self.early.iter().position(|(again_at, _)| *again_at <= now)?;
        Some(self.early.remove(at).1)
    }

    /// Runs admitted work on a worker thread, once the account is scheduled.
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
        // A panic affects only its own request and has already been logged.
        let task = self.running.spawn(async { answer.await.unwrap_or(Err(Refusal::Internal)) }).id();
        let LinkRequest { command, id, by, since, .. } = *request;
        self.started.push(RunningRequest { task, command, id, by, since, decided, given_up: false, body });
        Ok(())
    }

    /// Polls for a finished request. The response is skipped if a timeout was already reported for
    /// the request.
    pub(super) fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Option<EndedRequest>> {
        let (task, answer) = match self.running.poll_join_next_with_id(cx) {
            Poll::Ready(Some(Ok((task, answer)))) => (task, answer),
            Poll::Ready(Some(Err(error))) => {
                // A panic affects only its own request.
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

    /// Returns timeout responses for requests whose deadline has passed.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<LinkResponse> {
        let is_over = |by: Option<Instant>| by.is_some_and(|by| by <= now);
        let mut overdue = Vec::new();
        for started in self.started.iter_mut().filter(|started| is_over(started.by)) {
            started.by = None;
            // A response that is already being charged will be sent.
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
