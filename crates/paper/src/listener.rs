use market::Timestamp;
use store::AccountId;
use trading::Push;

/// Receives account changes once they are durable. Implementations must not block or access an
/// account.
pub trait Listener: Send + Sync {
    /// Called when orders or grids of an account have changed, in journal order. Changes by other
    /// processes are reported once this process reads them.
    fn changed(&self, account: AccountId, pushes: &[Push]);

    /// Called when an account must be advanced at this market time even without a request.
    fn waits(&self, _until: Timestamp) {}
}

/// A listener that ignores everything.
#[derive(Clone, Copy, Debug)]
pub struct NoListener;

impl Listener for NoListener {
    fn changed(&self, _account: AccountId, _pushes: &[Push]) {}
}
