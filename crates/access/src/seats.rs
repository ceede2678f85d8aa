/// Connections of an account: open now, and allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seats {
    pub online: u32,
    pub limit: u32,
}
