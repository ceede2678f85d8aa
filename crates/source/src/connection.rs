//! A signed-in quote connection. Several requests may be pending, and responses arrive in any
//! order.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use prost::Message as _;
use tungstenite::{Bytes, Message, WebSocket};
use wire::control::{AuthRequest, AuthResponse, Close, Command as Control, Error as Refusal};
use wire::{Limits, Packet, Status};

use crate::answer::decode;
use crate::error::clipped;
use crate::stream::{OPEN_WITHIN, Stream, open};
use crate::{Addresses, Answer, OneTimePassword, Push, Request, SourceError};

/// Timeout of a response, the same as in the SDKs.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
const SIGN_IN_WITHIN: Duration = Duration::from_secs(30);
const WRITE_WITHIN: Duration = Duration::from_secs(10);
/// A server sends a ping at least every 30 seconds. The connection is considered lost after this
/// time without a message.
const SILENCE_MAX: Duration = Duration::from_secs(120);
/// Timeout field of a request, in milliseconds.
const TIMEOUT_MS: u16 = 30_000;
/// Maximum number of pending requests. A server would queue further requests.
const IN_WORK_MAX: usize = 5;

/// Id of a request on one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u32);

impl RequestId {
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A response or a push.
#[derive(Debug)]
pub enum Event {
    /// The response to a request. An error that ends the connection is returned as an error
    /// instead.
    Answer { id: RequestId, answer: Result<Answer, SourceError> },
    /// A push of a subscription.
    Push(Push),
}

/// A signed-in connection, used by one thread.
#[derive(Debug)]
pub struct Connection {
    socket: WebSocket<Stream>,
    next_id: u32,
    in_work: BTreeMap<RequestId, InWork>,
    heard_at: Instant,
    /// The reason that the server sent before it closed the connection.
    farewell: Option<String>,
}

#[derive(Debug)]
struct InWork {
    request: Request,
    until: Instant,
}

impl Connection {
    /// Opens a connection and signs in. `overnight` requests overnight data of US securities.
    pub fn open(
        addresses: &Addresses,
        password: &OneTimePassword,
        overnight: bool,
    ) -> Result<Connection, SourceError> {
        let socket = open(addresses.socket())?;
        let mut connection = Connection {
            socket,
            next_id: 1,
            in_work: BTreeMap::new(),
            heard_at: Instant::now(),
            farewell: None,
        };
        connection.sign_in(password, overnight)?;
        Ok(connection)
    }

    fn sign_in(&mut self, password: &OneTimePassword, overnight: bool) -> Result<(), SourceError> {
        let mut metadata = BTreeMap::new();
        metadata.insert("accept-language".to_owned(), "en".to_owned());
        if overnight {
            metadata.insert("need_over_night_quote".to_owned(), "true".to_owned());
        }
        let auth = AuthRequest { token: password.text.expose().to_owned(), metadata };
        let id = self.write(Control::Auth as u8, auth.encode_to_vec())?;
        let until = Instant::now() + SIGN_IN_WITHIN;
        loop {
            match self.read(until)? {
                None => return Err(SourceError::Timeout { seconds: SIGN_IN_WITHIN.as_secs() }),
                Some(Packet::Response { id: answered, status, body, .. }) if answered == id.0 => {
                    return match status {
                        Status::Success => {
                            AuthResponse::decode(body.as_ref())
                                .map_err(|_| SourceError::invalid("the answer to the sign-in"))?;
                            Ok(())
                        }
                        status => Err(match refused(status, &body) {
                            SourceError::Refused { code, message, .. } => SourceError::Credentials {
                                code: i64::try_from(code).unwrap_or_default(),
                                message,
                            },
                            other => other,
                        }),
                    };
                }
                Some(_) => {}
            }
        }
    }

    /// Returns the number of pending requests.
    pub fn in_work(&self) -> usize {
        self.in_work.len()
    }

    /// Sends a request.
    pub fn send(&mut self, request: Request) -> Result<RequestId, SourceError> {
        if self.in_work.len() >= IN_WORK_MAX {
            return Err(SourceError::invalid(format!("{IN_WORK_MAX} requests are in work already")));
        }
        let id = self.write(request.command(), request.body())?;
        self.in_work.insert(id, InWork { request, until: Instant::now() + ANSWER_WITHIN });
        Ok(id)
    }

    /// Waits for the next response or push, and answers pings in the meantime. Returns `None` after
    /// `at_most`. After an error the connection must not be used again.
    pub fn receive(&mut self, at_most: Duration) -> Result<Option<Event>, SourceError> {
        let end = Instant::now() + at_most;
        loop {
            let silent = self.heard_at + SILENCE_MAX;
            let answers = self.in_work.values().map(|in_work| in_work.until).min().unwrap_or(silent);
            let until = end.min(silent).min(answers);
            let Some(packet) = self.read(until)? else {
                let now = Instant::now();
                return match () {
                    () if now >= answers => Err(SourceError::Timeout { seconds: ANSWER_WITHIN.as_secs() }),
                    () if now >= silent => Err(SourceError::Timeout { seconds: SILENCE_MAX.as_secs() }),
                    () => Ok(None),
                };
            };
            match packet {
                Packet::Response { command, id, status, body } => {
                    let id = RequestId(id);
                    // A response without a pending request is ignored.
                    let Some(InWork { request, .. }) = self.in_work.remove(&id) else { continue };
                    if command != request.command() {
                        return Err(SourceError::invalid("an answer to another command"));
                    }
                    let answer = match status {
                        Status::Success => Ok(decode(&request, &body)?),
                        status => Err(refused(status, &body)),
                    };
                    return Ok(Some(Event::Answer { id, answer }));
                }
                Packet::Push { command, body } if command == Control::Close as u8 => {
                    let reason = Close::decode(body.as_ref()).map(|close| close.reason).unwrap_or_default();
                    self.farewell = Some(clipped(&reason)).filter(|reason| !reason.is_empty());
                }
                Packet::Push { command, body } => {
                    if let Some(push) = Push::decode(command, &body) {
                        return Ok(Some(Event::Push(push)));
                    }
                }
                Packet::Request { .. } => return Err(SourceError::invalid("a request of the server")),
            }
        }
    }

    fn write(&mut self, command: u8, body: Vec<u8>) -> Result<RequestId, SourceError> {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1).max(1);
        let mut packet = Vec::with_capacity(body.len() + 16);
        Packet::Request { command, id, timeout_ms: TIMEOUT_MS, body: body.into() }
            .encode(&mut packet)
            .map_err(|error| SourceError::invalid(error.to_string()))?;
        self.socket.get_mut().set_deadline(Instant::now() + WRITE_WITHIN);
        self.socket.send(Message::Binary(Bytes::from(packet))).map_err(|error| self.ended(&error))?;
        Ok(RequestId(id))
    }

    /// Reads the next packet. Returns `None` after `until`.
    fn read(&mut self, until: Instant) -> Result<Option<Packet<'static>>, SourceError> {
        loop {
            self.socket.get_mut().set_deadline(until);
            match self.socket.read() {
                Ok(Message::Binary(bytes)) => {
                    self.heard_at = Instant::now();
                    let packet = Packet::decode(&bytes, Limits::HIGHEST)
                        .map_err(|error| SourceError::invalid(error.to_string()))?;
                    return Ok(Some(packet.into_owned()));
                }
                // Reading the ping has queued the pong, which is sent here.
                Ok(Message::Ping(_) | Message::Pong(_)) => {
                    self.heard_at = Instant::now();
                    self.socket.get_mut().set_deadline(Instant::now() + WRITE_WITHIN);
                    self.socket.flush().map_err(|error| self.ended(&error))?;
                }
                Ok(Message::Text(_)) => return Err(SourceError::invalid("a text message")),
                Ok(Message::Close(_) | Message::Frame(_)) => return Err(self.closed()),
                Err(tungstenite::Error::Io(error)) if is_timeout(&error) => {
                    if Instant::now() >= until {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(self.ended(&error)),
            }
        }
    }

    fn closed(&self) -> SourceError {
        let reason = self.farewell.clone().unwrap_or_else(|| "by the server".to_owned());
        SourceError::Closed { reason }
    }

    fn ended(&self, error: &tungstenite::Error) -> SourceError {
        match (error, &self.farewell) {
            (tungstenite::Error::Io(error), None) if is_timeout(error) => {
                SourceError::Timeout { seconds: WRITE_WITHIN.as_secs() }
            }
            (tungstenite::Error::Io(error), None) => SourceError::closed(error),
            (tungstenite::Error::ConnectionClosed | tungstenite::Error::AlreadyClosed, _) | (_, Some(_)) => {
                self.closed()
            }
            (error, None) => SourceError::Invalid { what: clipped(&error.to_string()) },
        }
    }
}

const _: () = assert!(OPEN_WITHIN.as_secs() < SILENCE_MAX.as_secs());

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

fn refused(status: Status, body: &[u8]) -> SourceError {
    match Refusal::decode(body) {
        Ok(Refusal { code, msg }) => SourceError::Refused { status, code, message: clipped(&msg) },
        Err(_) => SourceError::invalid("an error without a code"),
    }
}
