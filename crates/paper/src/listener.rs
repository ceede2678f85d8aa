use market::Timestamp;
use store::AccountId;
use trading::Push;

/// Is told of what happens to accounts, when it is on the disk. Must not wait, nor ask for an account.
pub trait Listener: Send + Sync {
    /// Orders or grids of an account have changed. Told in order, also of what another process has done, once that is noticed.
    fn changed(&self, account: AccountId, pushes: &[Push]);

    /// Something may happen to an account by itself at an instant of the market.
    fn waits(&self, _until: Timestamp) {}
}

/// Nobody listens.
#[derive(Clone, Copy, Debug)]
pub struct NoListener;

impl Listener for NoListener {
    fn changed(&self, _account: AccountId, _pushes: &[Push]) {}
}
