use crate::AccessError;
use crate::random::random;

/// Ties the connections together that one client has opened one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lineage(pub(crate) [u8; 16]);

impl Lineage {
    /// Of a client that comes for the first time.
    pub fn new() -> Result<Lineage, AccessError> {
        random().map(Lineage)
    }
}
