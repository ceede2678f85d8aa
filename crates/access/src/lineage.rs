use crate::AccessError;
use crate::random::random;

/// Identifies the successive connections of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lineage(pub(crate) [u8; 16]);

impl Lineage {
    /// Returns a random lineage for a client without an earlier connection.
    pub fn new() -> Result<Lineage, AccessError> {
        random().map(Lineage)
    }
}
