//! The connection and the clock of a run, which the caller provides.

use std::time::Duration;

use source::{Addresses, Answer, Connection, Credentials, Event, Push, Request, SourceError};

/// The number of a request and its response.
pub type Answered = (u32, Result<Answer, SourceError>);

/// A response or a push.
#[derive(Debug)]
pub enum Received {
    Answer(Answered),
    Push(Push),
}

/// A signed-in connection.
pub trait Link {
    /// Sends a request and returns its number.
    fn send(&mut self, request: &Request) -> Result<u32, SourceError>;

    /// Waits for the next response or push. Returns `None` after `at_most`. The link is dropped
    /// after an error for which [`SourceError::ends_connection`] is true.
    fn next(&mut self, at_most: Duration) -> Result<Option<Received>, SourceError>;

    /// Waits for the next response on a connection without subscriptions. A push that arrives
    /// nevertheless is ignored.
    fn receive(&mut self, at_most: Duration) -> Result<Option<Answered>, SourceError> {
        match self.next(at_most)? {
            Some(Received::Answer(answered)) => Ok(Some(answered)),
            Some(Received::Push(_)) | None => Ok(None),
        }
    }
}

/// Opens connections.
pub trait Connect {
    fn connect(&mut self, now_ms: i64) -> Result<Box<dyn Link>, SourceError>;
}

/// A clock. The clock of the tests advances when the code waits.
pub trait Time {
    /// Returns the machine time in Unix milliseconds.
    fn now_ms(&self) -> i64;

    /// Advances a simulated clock by `time`. Returns how long the caller must wait, which is zero
    /// for a simulated clock.
    fn pass(&self, time: Duration) -> Duration;
}

/// A server and the credentials of an account on it.
#[derive(Debug)]
pub struct Server {
    pub addresses: Addresses,
    pub credentials: Credentials,
    /// Whether to request overnight data of US securities.
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

    fn next(&mut self, at_most: Duration) -> Result<Option<Received>, SourceError> {
        Ok(match Connection::receive(self, at_most)? {
            Some(Event::Answer { id, answer }) => Some(Received::Answer((id.number(), answer))),
            Some(Event::Push(push)) => Some(Received::Push(push)),
            None => None,
        })
    }
}
