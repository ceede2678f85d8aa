//! Signing in on a long connection, and everything that hangs on it: who the client is, what it may be told, who may
//! close it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use access::{Connection, ConnectionId, Denial, Moment, SignedOn};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::time::Instant;
use wire::{Status, code, control, trade};

use super::transport::{AUTH, CloseCode};
use super::{Asked, GRACE, Link, SignInBy};
use crate::command::{Reply, number};
use crate::refusal::Refusal;
use crate::route::{Caller, Language};

/// The trade gateway's own commands. They mean something else on the quote gateway.
const SUBSCRIBE: u8 = 16;
const UNSUBSCRIBE: u8 = 17;

/// Topics that one request may name.
const TOPICS_MAX: usize = 16;

/// What a signed-in connection knows of itself.
#[derive(Debug)]
pub(super) struct Session {
    caller: Caller,
    connection: Connection,
    kick: Kick,
    gateway: Gateway,
    _seat: Seat,
}

/// Both gateways may share an address; what a client sends tells which one it takes us for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gateway {
    /// A quote client names its language when it signs in, or asks for its profile next.
    Quote,
    /// Neither has happened yet.
    Undecided,
}

/// Someone else's wish to close a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Kick(Arc<Notify>);

impl Kick {
    /// Waits until the connection is to be closed, for ever if there is nobody who could wish it.
    pub(super) async fn wait(kick: Option<Kick>) -> Kick {
        match kick {
            Some(kick) => {
                kick.0.notified().await;
                kick
            }
            None => std::future::pending().await,
        }
    }

    pub(super) fn close(&self) -> (CloseCode, &'static str) {
        (CloseCode::Duplicate, "the session goes on elsewhere")
    }
}

/// The signed-in connections of this server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links(Arc<Mutex<HashMap<ConnectionId, Kick>>>);

/// A place among them, given up with the connection.
#[derive(Debug)]
struct Seat {
    links: Links,
    id: ConnectionId,
}

impl Links {
    fn sit(&self, id: ConnectionId, kick: Kick) -> Seat {
        if let Ok(mut all) = self.0.lock() {
            all.insert(id, kick);
        }
        Seat { links: self.clone(), id }
    }

    /// Closes those that a client has left behind.
    fn kick(&self, ids: &[ConnectionId]) {
        let Ok(all) = self.0.lock() else { return };
        // A permit is stored, so it does not matter whether the connection is waiting at this moment.
        ids.iter().filter_map(|id| all.get(id)).for_each(|kick| kick.0.notify_one());
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Ok(mut all) = self.links.0.lock() {
            all.remove(&self.id);
        }
    }
}

impl Session {
    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) fn kick(&self) -> Kick {
        self.kick.clone()
    }

    /// Whether a command is meant for the trade gateway.
    pub(super) fn is_trade(&self, command: u8) -> bool {
        self.gateway == Gateway::Undecided && matches!(command, SUBSCRIBE | UNSUBSCRIBE)
    }

    /// Learns from a command which gateway the client takes us for.
    pub(super) fn note(&mut self, command: u8) {
        if command == number::PROFILE {
            self.gateway = Gateway::Quote;
        }
    }
}

/// The least of a trade gateway: there is nothing to be notified of, and the client is content.
pub(super) fn trade(command: u8, body: &[u8]) -> Result<Reply, Refusal> {
    let malformed = |error| Refusal::Malformed(format!("the body cannot be decoded: {error}"));
    if command == UNSUBSCRIBE {
        trade::UnsubscribeRequest::decode(body).map_err(malformed)?;
        return Ok(Reply::Unsubscribed(trade::UnsubscribeResponse::default()));
    }
    let mut topics = trade::SubscribeRequest::decode(body).map_err(malformed)?.topics;
    topics.truncate(TOPICS_MAX);
    Ok(Reply::Subscribed(trade::SubscribeResponse {
        success: topics.clone(),
        fail: Vec::new(),
        current: topics,
    }))
}

/// A sign-in that was understood: by password or by session.
enum Proof {
    Otp(String),
    Session(String),
}

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    pub(super) fn sign_in(&mut self, asked: &Asked) {
        let (proof, metadata) = match decode(asked) {
            Ok(decoded) => decoded,
            Err(refusal) => return self.answer((asked.command, asked.id, Err(refusal))),
        };
        let present = self.session.as_ref().map(|session| &session.connection);
        let access = &self.services.access;
        let now = self.services.machine_now();
        let signed = match &proof {
            Proof::Otp(otp) => access.sign_on(otp, present, Moment { now, uptime: self.services.uptime() }),
            Proof::Session(session) => access.resume(session, present, now),
        };
        match signed {
            Ok(signed) => self.signed_in(asked, signed, &metadata),
            Err(denial) => self.denied(asked, &denial),
        }
    }

    fn signed_in(&mut self, asked: &Asked, signed: SignedOn, metadata: &BTreeMap<String, String>) {
        let SignedOn { caller: who, connection, session, seats, superseded } = signed;
        let language = metadata.get("accept-language");
        let caller = Caller {
            who,
            language: language.map(|text| Language::parse(text)).unwrap_or_default(),
            overnight: metadata.get("need_over_night_quote").is_some_and(|text| text == "true"),
        };
        let gateway = if language.is_some() { Gateway::Quote } else { Gateway::Undecided };
        self.services.links.kick(&superseded);
        let kick = Kick::default();
        let seat = self.services.links.sit(connection.id(), kick.clone());
        self.session = Some(Session { caller, connection, kick, gateway, _seat: seat });
        self.sign_in_by = None;
        // The answers to both commands have the same fields.
        let response = control::AuthResponse {
            session_id: session.id.expose().to_owned(),
            expires: session.expires_at_ms,
            limit: seats.limit,
            online: seats.online,
        };
        self.note_work();
        let body = vec![response.encode_to_vec().into()];
        self.transport.response(asked.command, asked.id, Status::Success, body, &mut self.outbox);
    }

    /// The client is told at once and closes by itself; we do only if it does not.
    fn denied(&mut self, asked: &Asked, denial: &Denial) {
        let (number, close) = match denial {
            Denial::TokenExpired(_) => (code::EXPIRED, CloseCode::Auth),
            Denial::ConnectionsTaken(_) => (code::UNAUTHENTICATED, CloseCode::Duplicate),
            Denial::TokenInvalid(_) | Denial::SignatureInvalid(_) | Denial::KeyUnknown => {
                (code::UNAUTHENTICATED, CloseCode::Auth)
            }
            Denial::Failed(error) => {
                tracing::error!(%error, "cannot check a sign-in");
                (code::SERVER, CloseCode::ServerError)
            }
        };
        let close =
            if close == CloseCode::Auth && asked.command != AUTH { CloseCode::SessionExpired } else { close };
        self.respond_error(asked.command, asked.id, Status::Unauthenticated, number, &denial.to_string());
        if self.session.is_none() {
            self.sign_in_by =
                Some(SignInBy { at: Instant::now() + GRACE, close, reason: "sign-in was refused" });
        }
    }
}

fn decode(asked: &Asked) -> Result<(Proof, BTreeMap<String, String>), Refusal> {
    let malformed = |error| Refusal::Malformed(format!("the body cannot be decoded: {error}"));
    Ok(if asked.command == AUTH {
        let request = control::AuthRequest::decode(asked.body.as_slice()).map_err(malformed)?;
        (Proof::Otp(request.token), request.metadata)
    } else {
        let request = control::ReconnectRequest::decode(asked.body.as_slice()).map_err(malformed)?;
        (Proof::Session(request.session_id), request.metadata)
    })
}
