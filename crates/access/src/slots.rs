/// Connections of an account: open now, and allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub online: u32,
    pub limit: u32,
}
