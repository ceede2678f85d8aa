use std::fmt;
use std::net::IpAddr;

use store::AccountId;

/// Who caused a row of the audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A person with access to the files of the store, at a command line.
    Operator,
    /// An account, through the service; also one with the operator's role.
    Account(AccountId),
    /// An OAuth client that acts for no account yet, by its id.
    Client(String),
    /// A client that is not authenticated, by its address.
    Address(IpAddr),
    /// The service itself, for changes that follow from time alone.
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
