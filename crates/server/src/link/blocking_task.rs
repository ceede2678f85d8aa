//! Blocking tasks of a connection: sign-in and subscriptions. If the database is a server, these
//! tasks run on a worker thread, and the connection reads no further until the task is done.
//! Otherwise they take microseconds and run inline.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use access::{ConnectionId, Denial, Moment, Permit, SlotLocation};
use paper::Watched;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;

use super::Link;
use super::pending::LinkRequest;
use super::session::{admit_trade, subscribes, unwatched};
use crate::caller::Caller;
use crate::links::{Links, Pulse, SignedIn};
use crate::mailbox::MailboxReader;
use crate::message::Reply;
use crate::metrics::Task;
use crate::pushes::{self, SubscriptionRequest};
use crate::refusal::Refusal;
use crate::workers::Full;

/// Result of a sign-in, with its connection slot.
type HeldSlot = Result<(SignedIn, MailboxReader, Arc<Pulse>, Unclaimed), Denial>;

/// A task that runs for a connection on another thread.
pub(super) enum BlockingTask {
    SignIn {
        asked: LinkRequest,
        by: (Credentials, BTreeMap<String, String>),
        moment: Moment,
        with_hint: oneshot::Receiver<HeldSlot>,
    },
    /// A trade gateway call. The result is the permit and, for a subscription, the watched account.
    Trade { asked: LinkRequest, with_hint: oneshot::Receiver<Result<(Permit, Option<Watched>), Refusal>> },
    /// A request about quote subscriptions. When the task ends, the first pushes are in the
    /// mailbox.
    Subscription { asked: LinkRequest, answer: oneshot::Receiver<Result<Reply, Refusal>> },
}

/// A connection slot that no connection has claimed yet. If the connection ends first, dropping
/// this guard releases the slot.
pub(super) struct Unclaimed(Option<(Links, ConnectionId)>);

impl Unclaimed {
    fn claim(mut self) {
        self.0 = None;
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some((links, id)) = self.0.take() {
            links.leave(id);
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    /// Starts a sign-in, which counts the connections on all nodes.
    pub(super) fn begin_sign_in(
        &mut self,
        request: &LinkRequest,
        present: Option<ConnectionId>,
        by: (Credentials, BTreeMap<String, String>),
        moment: Moment,
    ) {
        let (hub, credentials) = (self.hub.clone(), by.0.clone());
        let (transport_kind, address) = (self.transport.transport_kind(), self.from.address);
        let share = hub.core.share_of_address(address.ip());
        let workers = hub.core.workers.clone();
        let reply = workers.submit(share, move || {
            let access = &hub.core.access;
            let from = address.to_string();
            let place = SlotLocation { transport: transport_kind.as_str(), address: &from };
            let (signed, mailbox, pulse) =
                hub.links.sign_in_among_all(present, (transport_kind, address), moment, |present| {
                    match &credentials {
                        Credentials::Otp(otp) => access.sign_on_from(otp, present, place, moment),
                        Credentials::Session(session) => {
                            access.resume_from(session, present, place, moment.now)
                        }
                    }
                })?;
            let unclaimed = Unclaimed(Some((hub.links.clone(), signed.id)));
            // A client that was connected to another node continues with the gateway recorded by
            // that node. For other clients, the body of a command determines the gateway.
            if matches!(credentials, Credentials::Session(_)) {
                if let Ok(Some(word)) = access.recall_client(signed.lineage) {
                    hub.clients.take_in(signed.lineage, &word);
                }
                hub.core.resume_live(signed.who, signed.lineage, &signed.resumed);
            }
            Ok((signed, mailbox, pulse, unclaimed))
        });
        let request = LinkRequest { body: Vec::new(), ..*request };
        match reply {
            Ok(reply) => {
                self.blocking_task =
                    Some(Box::new(BlockingTask::SignIn { asked: request, by, moment, with_hint: reply }))
            }
            Err(Full) => self.answer(request.answered(Err(Refusal::Busy))),
        }
    }

    /// Starts the admission of a trade gateway call.
    pub(super) fn begin_trade(&mut self, request: LinkRequest, caller: Caller) {
        let core = self.hub.core.clone();
        let watches = subscribes(request.command, &request.body);
        let (workers, share) = (core.workers.clone(), core.share_of_caller(&caller.who));
        let answer = workers.submit(share, move || {
            let permit = admit_trade(&caller, &core)?;
            let watched = watches.then(|| core.paper.watch(permit.account().id)).transpose();
            Ok((permit, watched.map_err(|error| unwatched(&error))?))
        });
        match answer {
            Ok(answer) => {
                self.blocking_task = Some(Box::new(BlockingTask::Trade { asked: request, with_hint: answer }))
            }
            Err(Full) => self.answer_as(Task::Trade, request.answered(Err(Refusal::Busy))),
        }
    }

    /// Starts a request about quote subscriptions, which reads candles for the first pushes.
    pub(super) fn begin_subscription(&mut self, request: LinkRequest, caller: Caller) {
        let Some(session) = &mut self.session else { return };
        let now = self.hub.core.uptime();
        if let Err(refusal) = session.count_subscription(request.command, now) {
            return self.answer(request.answered(Err(refusal)));
        }
        // A connection that has lost its slot is already being closed.
        let Some(mailbox) = self.hub.links.mailbox(session.id) else {
            return self.answer(request.answered(Err(Refusal::Unauthenticated)));
        };
        let subscription = SubscriptionRequest {
            command: request.command,
            body: request.body.clone(),
            caller,
            connection: session.id,
            lineage: session.lineage,
            mailbox,
            pulls: session.pulls(now),
        };
        let core = self.hub.core.clone();
        let (workers, share) = (core.workers.clone(), core.share_of_caller(&caller.who));
        match workers.submit(share, move || pushes::answer(&core, &subscription)) {
            Ok(answer) => {
                let task = BlockingTask::Subscription { asked: request, answer };
                self.blocking_task = Some(Box::new(task));
            }
            Err(Full) => self.answer(request.answered(Err(Refusal::Busy))),
        }
    }

    /// Completes the task if it has finished. Returns whether it has finished.
    pub(super) fn poll_blocking_task(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(blocking_task) = &mut self.blocking_task else { return false };
        match &mut **blocking_task {
            BlockingTask::SignIn { with_hint: report, .. } => {
                let Poll::Ready(done) = Pin::new(report).poll(cx) else { return false };
                let Some(BlockingTask::SignIn { asked: requested, by, moment, .. }) =
                    self.blocking_task.take().map(|blocking_task| *blocking_task)
                else {
                    return true;
                };
                match done {
                    Ok(signed) => {
                        let signed = signed.map(|(signed, mailbox, pulse, unclaimed)| {
                            unclaimed.claim();
                            (signed, mailbox, pulse)
                        });
                        self.signed_in(&requested, by, moment, signed);
                    }
                    // The task panicked, which has been logged.
                    Err(_) => self.answer(requested.answered(Err(Refusal::Internal))),
                }
            }
            BlockingTask::Trade { with_hint: report, .. } => {
                let Poll::Ready(done) = Pin::new(report).poll(cx) else { return false };
                let Some(BlockingTask::Trade { asked: requested, .. }) =
                    self.blocking_task.take().map(|blocking_task| *blocking_task)
                else {
                    return true;
                };
                self.answer_admitted(requested, done.unwrap_or(Err(Refusal::Internal)));
            }
            BlockingTask::Subscription { answer, .. } => {
                let Poll::Ready(done) = Pin::new(answer).poll(cx) else { return false };
                let Some(BlockingTask::Subscription { asked: requested, .. }) =
                    self.blocking_task.take().map(|blocking_task| *blocking_task)
                else {
                    return true;
                };
                match done.unwrap_or(Err(Refusal::Internal)) {
                    Err(Refusal::TooManyCalls { text, retry_after }) => {
                        if let Err((requested, refusal)) = self.keep_early(requested, text, retry_after) {
                            self.answer(requested.answered(Err(refusal)));
                        }
                    }
                    answer => self.answer(requested.answered(answer)),
                }
            }
        }
        true
    }

    fn answer_admitted(
        &mut self,
        request: LinkRequest,
        admitted: Result<(Permit, Option<Watched>), Refusal>,
    ) {
        let answer = match (admitted, &mut self.session) {
            (Ok((permit, watched)), Some(session)) => {
                session.answer_trade(request.command, &request.body, &permit, watched)
            }
            (Ok(_), None) => Err(Refusal::Unauthenticated),
            (Err(Refusal::TooManyCalls { text, retry_after }), _) => {
                if let Err((request, refusal)) = self.keep_early(request, text, retry_after) {
                    self.answer_as(Task::Trade, request.answered(Err(refusal)));
                }
                return;
            }
            (Err(refusal), _) => Err(refusal),
        };
        self.answer_as(Task::Trade, request.answered(answer));
    }
}

/// A decoded sign-in request, with a one-time password or a session.
#[derive(Clone)]
pub(super) enum Credentials {
    Otp(String),
    Session(String),
}
