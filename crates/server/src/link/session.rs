//! Signing in on a long connection, and everything that hangs on it: who the client is, what it may be told, who may
//! close it.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use access::{
    AccountId, Connection, ConnectionId, Denial, Lineage, Look, Moment, Offered, Region, Seats, SignedOn,
};
use market::Timestamp;
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tokio::time::Instant;
use wire::{Status, code, control};

use super::gateway::{self, Gateway, Metadata, Program, SignedInBy};
use super::transport::{AUTH, CloseCode};
use super::{Asked, Link};
use crate::doorstep::Step;
use crate::metrics::{Entry, Outcome, Proven};
use crate::refusal::Refusal;
use crate::request_log::Seldom;
use crate::route::{self, Caller, Language, Memory, Work};
use crate::services::Services;
use crate::unsent::Tally;
use crate::workers::{Full, Who};

/// A connection that has not answered a ping for so long gives its seat up when another one needs it. That is sooner
/// than it counts as dead: a client that lost its network must not be locked out by its own past.
const PONG_WITHIN: Duration = Duration::from_secs(10);

/// Refused logins that were too many to be written down.
static UNWRITTEN: Seldom = Seldom::new();

/// What a signed-in connection knows of itself. Dropping it gives its seat up.
#[derive(Debug)]
pub(super) struct Session {
    caller: Caller,
    /// Of its requests so far.
    memory: Memory,
    gateway: Gateway,
    id: ConnectionId,
    kicked: oneshot::Receiver<Kick>,
    pulse: Arc<Pulse>,
    links: Links,
    unsent: Arc<Tally>,
}

/// Someone else's wish to close a connection.
#[derive(Clone, Copy, Debug)]
enum Kick {
    /// The client has come back on another connection.
    Superseded,
    /// Another connection needs the seat, and this one has not answered its ping.
    Silent,
    Closed(ClosedBy),
}

/// Who has asked for a connection to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosedBy {
    Owner,
    Operator,
}

/// When the ping was sent to which nothing has come back yet, in milliseconds of uptime from 1 on; 0 if there is none.
#[derive(Debug, Default)]
struct Pulse(AtomicU64);

impl Pulse {
    fn is_overdue(&self, uptime: Duration) -> bool {
        match self.0.load(Ordering::Relaxed) {
            0 => false,
            since => milliseconds(uptime).saturating_sub(since) >= milliseconds(PONG_WITHIN),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The signed-in connections of this server, and their seats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    seated: Arc<Mutex<HashMap<ConnectionId, Seated>>>,
    clients: gateway::Clients,
}

#[derive(Debug)]
struct Seated {
    /// Counts as long as it is here.
    connection: Connection,
    kick: oneshot::Sender<Kick>,
    pulse: Arc<Pulse>,
    guest: Guest,
}

/// What is told of a connection to whoever may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guest {
    pub(crate) id: ConnectionId,
    pub(crate) account: AccountId,
    pub(crate) door: Door,
    pub(crate) address: SocketAddr,
    /// When it signed in, by the machine's clock.
    pub(crate) since: Timestamp,
}

/// Where a connection came from.
#[derive(Clone, Debug)]
pub(crate) struct Arrival {
    pub(crate) address: SocketAddr,
    /// The region whose accounts its listener is for; none if that is for all.
    pub(crate) region: Option<Region>,
    pub(crate) program: Program,
    /// Its place among those on which nobody has signed in.
    pub(crate) step: Step,
}

/// The two ways to a long connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    WebSocket,
    Tcp,
}

impl Door {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Door::WebSocket => "websocket",
            Door::Tcp => "tcp",
        }
    }
}

impl Links {
    /// The connections of one account, or of all, oldest first.
    pub(crate) fn list(&self, of: Option<AccountId>) -> Vec<Guest> {
        let all = self.lock();
        let guests = all.values().map(|seated| seated.guest);
        let mut guests: Vec<_> = guests.filter(|guest| of.is_none_or(|of| of == guest.account)).collect();
        drop(all);
        guests.sort_by_key(|guest| guest.id);
        guests
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    pub(crate) fn get(&self, id: ConnectionId) -> Option<Guest> {
        self.lock().get(&id).map(|seated| seated.guest)
    }

    /// Takes a connection's seat away and has it closed; whether it was still there.
    pub(crate) fn close(&self, id: ConnectionId, by: ClosedBy) -> bool {
        // A statement of its own, so that the lock is gone when the seat is given up.
        let seated = self.lock().remove(&id);
        seated.is_some_and(|seated| {
            seated.kick.send(Kick::Closed(by)).ok();
            true
        })
    }

    /// Signs a connection in and gives it a seat. One at a time, so that a client which comes back twice at once is
    /// left with one connection. If all seats are taken, those whose client does not answer are given up first.
    fn sign_in(
        &self,
        present: Option<ConnectionId>,
        (door, address): (Door, SocketAddr),
        moment: Moment,
        sign_in: impl Fn(Option<&Connection>) -> Result<SignedOn, Denial>,
    ) -> Result<(SignedIn, oneshot::Receiver<Kick>, Arc<Pulse>), Denial> {
        let mut all = self.lock();
        let present = |all: &HashMap<ConnectionId, Seated>| {
            sign_in(present.and_then(|id| all.get(&id)).map(|seated| &seated.connection))
        };
        let signed = match present(&all) {
            Err(Denial::ConnectionsTaken(_)) if give_up_overdue(&mut all, moment.uptime) => present(&all)?,
            other => other?,
        };
        let SignedOn { caller, connection, session, lineage, seats, superseded } = signed;
        for seated in superseded.iter().filter_map(|id| all.remove(id)) {
            // A connection that is not there any more needs not be told.
            seated.kick.send(Kick::Superseded).ok();
        }
        let id = connection.id();
        let (kick, kicked) = oneshot::channel();
        let pulse = Arc::<Pulse>::default();
        let guest = Guest { id, account: caller.account(), door, address, since: moment.now };
        all.insert(id, Seated { connection, kick, pulse: pulse.clone(), guest });
        Ok((SignedIn { who: caller, id, session, lineage, seats }, kicked, pulse))
    }

    /// Gives up the seats whose client has not answered its ping; whether there were any.
    pub(crate) fn give_up_overdue(&self, uptime: Duration) -> bool {
        give_up_overdue(&mut self.lock(), uptime)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConnectionId, Seated>> {
        self.seated.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn give_up_overdue(all: &mut HashMap<ConnectionId, Seated>, uptime: Duration) -> bool {
    let before = all.len();
    all.extract_if(|_, seated| seated.pulse.is_overdue(uptime)).for_each(|(_, seated)| {
        seated.kick.send(Kick::Silent).ok();
    });
    all.len() < before
}

/// What became of a sign-in; the seat stays with [`Links`].
struct SignedIn {
    who: access::Caller,
    id: ConnectionId,
    session: access::Session,
    lineage: Lineage,
    seats: Seats,
}

impl Session {
    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Asks whether a request may be answered.
    pub(super) fn admit(&mut self, services: &Services, command: u8, body: &[u8]) -> Result<Work, Refusal> {
        route::admit(services, &self.caller, command, body, &mut self.memory)
    }

    /// Asks whether a call may be made that has no work to it.
    pub(super) fn admit_call(&self, services: &Services) -> Result<(), Refusal> {
        services.glance()?;
        let (rule, uptime) = (services.limits.calls, services.uptime());
        Ok(services.access.admit_call(&self.caller.who, rule, Look::Recent, uptime)?)
    }

    /// Whether its account still stands. If that cannot be told, it does.
    pub(super) fn stands(&self, services: &Services) -> bool {
        let looked = services.glance().map_err(|_| ());
        let stands = looked.and_then(|_| {
            let stands = services.access.stands(&self.caller.who, Look::Recent);
            stands.map_err(|error| tracing::error!(%error, "cannot look at an account"))
        });
        stands.unwrap_or(true)
    }

    /// What waits to be sent to its account, on all connections.
    pub(super) fn unsent(&self) -> &Arc<Tally> {
        &self.unsent
    }

    /// Waits until somebody else wants this connection closed.
    pub(super) fn poll_kicked(&mut self, cx: &mut Context<'_>) -> Poll<(CloseCode, &'static str)> {
        Pin::new(&mut self.kicked).poll(cx).map(|kick| match kick {
            Ok(Kick::Superseded) => (CloseCode::Duplicate, "the session goes on elsewhere"),
            Ok(Kick::Silent) => (CloseCode::HeartbeatTimeout, "heartbeat timeout"),
            // A client that heeds the code signs in anew instead of going on with its session.
            Ok(Kick::Closed(ClosedBy::Owner)) => {
                (CloseCode::SessionExpired, "closed by the owner of the account")
            }
            Ok(Kick::Closed(ClosedBy::Operator)) => (CloseCode::SessionExpired, "closed by the operator"),
            // The other end lives as long as this session; without it the connection would not be counted.
            Err(_) => (CloseCode::ServerError, "the connection has lost its seat"),
        })
    }

    /// A ping has been sent.
    pub(super) fn pinged(&self, uptime: Duration) {
        let now = milliseconds(uptime).max(1);
        self.pulse.0.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed).ok();
    }

    /// Something has come, whatever it is.
    pub(super) fn heard(&self) {
        self.pulse.0.store(0, Ordering::Relaxed);
    }

    /// Whether a command is meant for the trade gateway; the client may show by it which one it takes us for.
    pub(super) fn is_trade(&mut self, command: u8, body: &[u8]) -> bool {
        self.gateway.learn(command, body, &self.links.clients);
        self.gateway.is_trade(command, body)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let seated = self.links.lock().remove(&self.id);
        // Not while all the others wait.
        drop(seated);
    }
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
            Err(refusal) => return self.answer(asked.answered(Err(refusal))),
        };
        let services = self.services.clone();
        let Services { access, links, .. } = &*services;
        let moment = services.moment();
        let present = self.session.as_ref().map(|session| session.id);
        if present.is_some() {
            // A client signs in once on a connection. Doing so again and again costs as much as being refused.
            self.back_off();
        }
        let place = (self.transport.door(), self.from.address);
        let signed = links.sign_in(present, place, moment, |present| match &proof {
            Proof::Otp(otp) => access.sign_on(otp, present, moment),
            Proof::Session(session) => access.resume(session, present, moment.now),
        });
        let (signed, kicked, pulse) = match signed {
            Ok(signed) => signed,
            Err(denial) => {
                self.denied(asked, &denial);
                return self.note_denied(proof, denial, moment);
            }
        };
        let SignedIn { who, id, session, lineage, seats } = signed;
        let (caller, metadata) = manner(who, self.from.region, &metadata);
        let before = self.session.as_ref().map(|session| session.gateway);
        let by = match proof {
            Proof::Otp(_) => SignedInBy::Password,
            Proof::Session(_) => SignedInBy::Session,
        };
        let gateway = Gateway::of(metadata, self.from.program, by, lineage, before, &links.clients);
        let memory = Memory::default();
        let unsent = self.services.unsent.of(Who::Account(caller.who.account()));
        let links = links.clone();
        self.session = Some(Session { caller, memory, gateway, id, kicked, pulse, links, unsent });
        // Of whoever signed in here before.
        self.unsent = None;
        self.sign_in_by = None;
        self.transport.allow_requests();
        self.from.step.leave();
        self.services.metrics.proof(self.entry(), Proven::Accepted);
        // The answers to both commands have the same fields.
        let response = control::AuthResponse {
            session_id: session.id.expose().to_owned(),
            expires: session.expires_at_ms,
            limit: seats.limit,
            online: seats.online,
        };
        self.note_work(Instant::now());
        let body = response.encode_to_vec();
        let length = body.len();
        self.transport.response(
            asked.command,
            asked.id,
            Status::Success,
            vec![body.into()],
            &mut self.outbox,
        );
        self.count(asked.command, asked.since, Outcome::Ok, length);
    }

    /// The client is told at once and closes by itself; we do only if it does not.
    fn denied(&mut self, asked: &Asked, denial: &Denial) {
        let refused = if asked.command == AUTH { CloseCode::Auth } else { CloseCode::SessionExpired };
        let text = denial.to_string();
        let (status, number, close) = match denial {
            Denial::TokenExpired(_) => (Status::Unauthenticated, code::EXPIRED, refused),
            Denial::ConnectionsTaken(_) => {
                (Status::Unauthenticated, code::UNAUTHENTICATED, CloseCode::Duplicate)
            }
            Denial::TokenInvalid(_)
            | Denial::SignatureInvalid(_)
            | Denial::ScopeMissing
            | Denial::KeyUnknown => (Status::Unauthenticated, code::UNAUTHENTICATED, refused),
            Denial::Failed(error) => {
                tracing::error!(%error, "cannot check a sign-in");
                (Status::ServerError, code::SERVER, CloseCode::ServerError)
            }
        };
        self.respond_error(asked.command, asked.id, status, number, &text);
        self.back_off();
        let outcome = match denial {
            Denial::Failed(_) => Outcome::Internal,
            Denial::ConnectionsTaken(_) => Outcome::TooMany,
            _ => Outcome::Unauthenticated,
        };
        self.services.metrics.proof(self.entry(), Proven::Refused);
        self.count(asked.command, asked.since, outcome, text.len());
        if self.session.is_none() {
            self.shut(close, "sign-in was refused");
        }
    }

    fn entry(&self) -> Entry {
        match self.transport.door() {
            Door::WebSocket => Entry::WebSocket,
            Door::Tcp => Entry::Tcp,
        }
    }

    /// A refused login is written down where waiting for the disk holds nobody up.
    fn note_denied(&self, proof: Proof, denial: Denial, moment: Moment) {
        let (services, from) = (self.services.clone(), self.from.address.ip());
        let (workers, share) = (services.workers.clone(), services.share_of_address(from));
        let told = workers.submit(share, move || {
            let offered = match &proof {
                Proof::Otp(otp) => Offered::OneTimePassword(otp),
                Proof::Session(session) => Offered::Session(session),
            };
            if let Err(error) = services.access.note_denied(offered, &denial, from, moment) {
                tracing::error!(%error, "cannot write down a refused login");
            }
        });
        match told {
            // Work that nobody waits for is not done.
            Ok(told) => drop(tokio::spawn(told)),
            Err(Full) => {
                if let Some(times) = UNWRITTEN.pass(self.services.uptime()) {
                    tracing::warn!(%from, times, "too many refused logins at once to write them down");
                }
            }
        }
    }
}

/// What the metadata of a sign-in say of the client.
fn manner(
    who: access::Caller,
    entrance: Option<Region>,
    metadata: &BTreeMap<String, String>,
) -> (Caller, Metadata) {
    let language = metadata.get("accept-language");
    let overnight = metadata.get("need_over_night_quote");
    let caller = Caller {
        who,
        language: language.map(|text| Language::parse(text)).unwrap_or_default(),
        overnight: overnight.is_some_and(|text| text == "true"),
        entrance,
    };
    let is_quote = language.is_some() || overnight.is_some();
    (caller, if is_quote { Metadata::OfQuotes } else { Metadata::Plain })
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
