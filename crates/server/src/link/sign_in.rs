//! Sign-in on a long connection, with a one-time password or the session of an earlier connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use access::{Denial, Moment, Offered, Region};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use wire::{Status, code, control};

use super::Link;
use super::blocking_task::Credentials;
use super::gateway::{Gateway, Metadata, Mixed, SignedInBy};
use super::pending::LinkRequest;
use super::push_flow::PushFlow;
use super::session::{Session, Subscribing, Topics};
use super::transport::{AUTH, CloseCode};
use crate::caller::{Client, Language};
use crate::links::{Pulse, SignedIn, TransportKind};
use crate::mailbox::MailboxReader;
use crate::metrics::{Authenticated, Entry, Outcome};
use crate::refusal::Refusal;
use crate::request_log::OncePerMinute;
use crate::route::Memory;
use crate::workers::{Full, Who};

/// Counts refused sign-ins that were not recorded in the audit log, because the worker queue was
/// full.
static UNWRITTEN: OncePerMinute = OncePerMinute::new();

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    pub(super) fn sign_in(&mut self, request: &LinkRequest) {
        let (credentials, metadata) = match decode(request) {
            Ok(decoded) => decoded,
            Err(refusal) => return self.answer(request.answered(Err(refusal))),
        };
        let hub = self.hub.clone();
        let (access, moment) = (&hub.core.access, hub.core.moment());
        let present = self.session.as_ref().map(|session| session.id);
        if present.is_some() {
            // Clients sign in once per connection, so a repeated sign-in counts as a refusal.
            self.back_off();
        }
        let place = (self.transport.transport_kind(), self.from.address);
        if access.is_shared() {
            return self.begin_sign_in(request, present, (credentials, metadata), moment);
        }
        let signed = hub.links.sign_in(present, place, moment, |present| match &credentials {
            Credentials::Otp(otp) => access.sign_on(otp, present, moment),
            Credentials::Session(session) => access.resume(session, present, moment.now),
        });
        self.signed_in(request, (credentials, metadata), moment, signed);
    }

    /// Handles the result of a sign-in.
    pub(super) fn signed_in(
        &mut self,
        request: &LinkRequest,
        (credentials, metadata): (Credentials, BTreeMap<String, String>),
        moment: Moment,
        signed: Result<(SignedIn, MailboxReader, Arc<Pulse>), Denial>,
    ) {
        let hub = self.hub.clone();
        let (signed, mailbox, pulse) = match signed {
            Ok(signed) => signed,
            Err(denial) => {
                self.denied(request, &denial);
                return self.note_denied(credentials, denial, moment);
            }
        };
        let SignedIn { who, id, session, lineage, slots, resumed: _ } = signed;
        let (client, metadata) = manner(who, self.from.region, &metadata);
        let by = match credentials {
            Credentials::Otp(_) => SignedInBy::Password,
            Credentials::Session(_) => SignedInBy::Session,
        };
        let before = self.session.as_ref().and_then(|session| session.gateway.mixed());
        let gateway = Gateway::of(self.gateway, || {
            Mixed::of(metadata, self.from.program, by, lineage, before, &hub.clients)
        });
        let (memory, topics, subscribing) = (Memory::default(), Topics::default(), Subscribing::default());
        let unsent = self.hub.core.unsent.of(Who::Account(client.who.account()));
        let mut flow = None;
        if client.who.is_of_world() {
            flow = Some(PushFlow::new(self.transport.transport_kind() == TransportKind::WebSocket));
            // Join before the previous session ends, so that the world is never without a
            // connection.
            if let Some(mailbox) = hub.links.mailbox(id) {
                hub.core.joined_world(client.who.account(), id.number(), mailbox);
            }
        }
        self.take_last_pushes();
        self.session = Some(Session {
            client: Client { connection: Some(id), ..client },
            memory,
            gateway,
            id,
            mailbox,
            pulse,
            hub,
            unsent,
            topics,
            subscribing,
            lineage,
            flow,
        });
        // Releases the unsent bytes charged to the previously signed-in account.
        self.unsent = None;
        self.sign_in_by = None;
        self.transport.allow_requests();
        self.from.unauthenticated.leave();
        self.hub.core.metrics.credentials(self.entry(), Authenticated::Accepted);
        // The responses to both commands have the same fields.
        let response = control::AuthResponse {
            session_id: session.id.expose().to_owned(),
            expires: session.expires_at_ms,
            limit: slots.limit,
            online: slots.online,
        };
        self.note_work(Instant::now());
        let body = response.encode_to_vec();
        let length = body.len();
        self.transport.response(
            request.command,
            request.id,
            Status::Success,
            vec![body.into()],
            &mut self.outbox,
        );
        self.count(request.command, request.since, Outcome::Ok, length);
    }

    /// Refuses a sign-in immediately. The client normally closes the connection; otherwise the
    /// server closes it after a timeout.
    fn denied(&mut self, request: &LinkRequest, denial: &Denial) {
        let refused = if request.command == AUTH { CloseCode::Auth } else { CloseCode::SessionExpired };
        let text = denial.to_string();
        let (status, number, close) = match denial {
            Denial::TokenExpired(_) => (Status::Unauthenticated, code::EXPIRED, refused),
            Denial::ConnectionsTaken(_) => {
                (Status::PermissionDenied, code::CONNECTIONS, CloseCode::Duplicate)
            }
            Denial::TokenInvalid(_)
            | Denial::SignatureInvalid(_)
            | Denial::ScopeMissing
            | Denial::KeyUnknown => (Status::Unauthenticated, code::UNAUTHENTICATED, refused),
            Denial::Failed(error) => {
                if !error.is_unreachable() {
                    tracing::error!(%error, "cannot check a sign-in");
                }
                (Status::ServerError, code::SERVER, CloseCode::ServerError)
            }
        };
        self.respond_error(request.command, request.id, status, number, &text);
        self.back_off();
        let outcome = match denial {
            Denial::Failed(error) if error.is_unreachable() => Outcome::Away,
            Denial::Failed(_) => Outcome::Internal,
            Denial::ConnectionsTaken(_) => Outcome::TooMany,
            _ => Outcome::Unauthenticated,
        };
        self.hub.core.metrics.credentials(self.entry(), Authenticated::Refused);
        self.count(request.command, request.since, outcome, text.len());
        if self.session.is_none() {
            self.shut(close, "sign-in was refused");
        }
    }

    fn entry(&self) -> Entry {
        self.transport.transport_kind().into()
    }

    /// Records a refused sign-in in the audit log, on a worker thread.
    fn note_denied(&self, credentials: Credentials, denial: Denial, moment: Moment) {
        let (core, from) = (self.hub.core.clone(), self.from.address.ip());
        let (workers, share) = (core.workers.clone(), core.share_of_address(from));
        let answer = workers.submit(share, move || {
            let offered = match &credentials {
                Credentials::Otp(otp) => Offered::OneTimePassword(otp),
                Credentials::Session(session) => Offered::Session(session),
            };
            if let Err(error) = core.access.note_denied(offered, &denial, from, moment) {
                tracing::error!(%error, "cannot record a refused login");
            }
        });
        match answer {
            // Work without a receiver is skipped, so a task is spawned that waits for the result.
            Ok(answer) => drop(tokio::spawn(answer)),
            Err(Full) => {
                if let Some(times) = UNWRITTEN.pass(self.hub.core.uptime()) {
                    tracing::warn!(%from, times, "too many refused logins to record all of them");
                }
            }
        }
    }
}

/// Returns the client with its preferences from the sign-in metadata.
fn manner(
    who: access::Caller,
    listener_region: Option<Region>,
    metadata: &BTreeMap<String, String>,
) -> (Client, Metadata) {
    let language = metadata.get("accept-language");
    let overnight = metadata.get("need_over_night_quote");
    let client = Client {
        who,
        language: language.map(|text| Language::preferred(text)).unwrap_or_default(),
        overnight: overnight.is_some_and(|text| text == "true"),
        listener_region,
        connection: None,
    };
    let is_quote = language.is_some() || overnight.is_some();
    (client, if is_quote { Metadata::OfQuotes } else { Metadata::Plain })
}

fn decode(submitted: &LinkRequest) -> Result<(Credentials, BTreeMap<String, String>), Refusal> {
    let malformed = |error| Refusal::Malformed(format!("the body cannot be decoded: {error}"));
    Ok(if submitted.command == AUTH {
        let request = control::AuthRequest::decode(submitted.body.as_slice()).map_err(malformed)?;
        (Credentials::Otp(request.token), request.metadata)
    } else {
        let request = control::ReconnectRequest::decode(submitted.body.as_slice()).map_err(malformed)?;
        (Credentials::Session(request.session_id), request.metadata)
    })
}
