//! What a run needs from outside: a connection and a clock.

use std::time::Duration;

use source::{Addresses, Answer, Connection, Credentials, Event, Request, SourceError};

/// An answer with the number of its request.
pub type Answered = (u32, Result<Answer, SourceError>);

/// A signed-in connection.
pub trait Link {
    /// Sends a request and returns its number.
    fn send(&mut self, request: &Request) -> Result<u32, SourceError>;

    /// Waits for the next answer; `None` when the time has passed. After an error that
    /// [`SourceError::ends_connection`], the link is dropped.
    fn receive(&mut self, at_most: Duration) -> Result<Option<Answered>, SourceError>;
}

/// Opens connections.
pub trait Connect {
    fn connect(&mut self, now_ms: i64) -> Result<Box<dyn Link>, SourceError>;
}

/// A clock. Tests have one that moves when it is waited for.
pub trait Time {
    /// Returns the machine's time in Unix milliseconds.
    fn now_ms(&self) -> i64;

    /// Lets time pass, and returns how much of it the caller must spend itself.
    fn pass(&self, time: Duration) -> Duration;
}

/// A server, with the credentials of an account on it.
#[derive(Debug)]
pub struct Server {
    pub addresses: Addresses,
    pub credentials: Credentials,
    /// Asks for overnight data of the US.
    pub overnight: bool,
}

impl Connect for Server {
    fn connect(&mut self, now_ms: i64) -> Result<Box<dyn Link>, SourceError> {
        let password = source::one_time_password(&self.addresses, &self.credentials, now_ms)?;
        Ok(Box::new(Connection::open(&self.addresses, &password, self.overnight)?))
    }
}

impl Link for Connection {
    fn send(&mut self, request: &Request) -> Result<u32, SourceError> {
        Connection::send(self, request.clone()).map(source::RequestId::number)
    }

    fn receive(&mut self, at_most: Duration) -> Result<Option<Answered>, SourceError> {
        // Without subscriptions there are no pushes; one that comes all the same is no answer.
        match Connection::receive(self, at_most)? {
            Some(Event::Answer { id, answer }) => Ok(Some((id.number(), answer))),
            Some(Event::Push { .. }) | None => Ok(None),
        }
    }
}
