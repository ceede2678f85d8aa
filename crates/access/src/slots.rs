/// Numbers of open and allowed connections of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    pub online: u32,
    pub limit: u32,
}
