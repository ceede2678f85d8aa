use market::Timestamp;
use store::AccountId;
use trading::Push;

/// Notified of changes to accounts once they are on the disk. Must not block, nor request an
/// account.
pub trait Listener: Send + Sync {
    /// Orders or grids of an account have changed. Called in journal order, also for changes of
    /// other processes once they are noticed.
    fn changed(&self, account: AccountId, pushes: &[Push]);

    /// Something may happen to an account without a request at this instant of the market.
    fn waits(&self, _until: Timestamp) {}
}

/// A listener that ignores everything.
#[derive(Clone, Copy, Debug)]
pub struct NoListener;

impl Listener for NoListener {
    fn changed(&self, _account: AccountId, _pushes: &[Push]) {}
}
