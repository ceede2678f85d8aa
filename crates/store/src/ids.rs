//! Values that name rows, for all parts of the crate.

/// An account number, never reused. It is also the member id that clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(pub i64);

pub type Hash = [u8; 32];
