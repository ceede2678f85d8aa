//! Row ids used by all modules of the crate.

/// Account number, which is never reused. Clients see it as their member id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(pub i64);

/// Number of a world, which is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldId(pub i64);

pub type Hash = [u8; 32];
