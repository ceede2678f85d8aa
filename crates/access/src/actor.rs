use std::fmt;
use std::net::IpAddr;

use store::AccountId;

/// The originator of an audit row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// The command-line user, who has access to the store's files.
    Operator,
    /// An account that uses the service, including operator accounts.
    Account(AccountId),
    /// An OAuth client that does not act for an account yet, by client id.
    Client(String),
    /// An unauthenticated client, by IP address.
    Address(IpAddr),
    /// The service, for changes caused only by the passage of time.
    Service,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Operator => f.write_str("operator"),
            Actor::Account(id) => write!(f, "account {}", id.0),
            Actor::Client(id) => write!(f, "client {id}"),
            Actor::Address(address) => write!(f, "address {address}"),
            Actor::Service => f.write_str("service"),
        }
    }
}
