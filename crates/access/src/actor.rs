use std::fmt;
use std::net::IpAddr;

use store::AccountId;

/// Who does something that is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// Somebody with access to the files of the store, at a command line.
    Operator,
    /// An account, through one of the doors; also one with the operator's role.
    Account(AccountId),
    /// A client of OAuth that acts for nobody yet, by its id.
    Client(String),
    /// Somebody who has not proved to be anyone.
    Address(IpAddr),
    /// The service itself, because time has passed.
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
