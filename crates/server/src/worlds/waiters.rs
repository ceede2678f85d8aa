//! Requests that arrive while the clock of a world moves. They wait until the movement has ended,
//! so that no response contains only some of the fills and pushes of an instant.
//!
//! A waiting request is a future on the threads of the runtime. It needs no separate thread, so
//! other worlds are not delayed.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Maximum time that a request waits before it is refused.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Number of movements in progress. One of them does the work, and the others may wait for it
    /// or for slow clients.
    movements: u32,
    /// Number of requests that wait, or that were woken but have not begun yet.
    waiting: u32,
    wakers: Vec<Waker>,
}

/// A movement of the clock, which ends when this guard is dropped.
#[derive(Debug)]
pub(crate) struct MovementGuard(Arc<Waiters>);

/// A waiting request. The future is ready when the clock does not move. A running clock does not
/// move again before the waiter is dropped, so that it does not overtake the request.
#[derive(Debug)]
pub(crate) struct Waiter(Arc<Waiters>);

impl Waiters {
    pub(super) fn begin(self: &Arc<Self>) -> MovementGuard {
        self.lock().movements += 1;
        MovementGuard(self.clone())
    }

    /// Returns a waiter if the clock moves, or `None` otherwise.
    pub(super) fn wait(self: &Arc<Self>) -> Option<Waiter> {
        let mut state = self.lock();
        if state.movements == 0 {
            return None;
        }
        state.waiting += 1;
        Some(Waiter(self.clone()))
    }

    pub(super) fn has_movement(&self) -> bool {
        self.lock().movements > 0
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.lock().waiting > 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MovementGuard {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.movements -= 1;
        let wakers = if state.movements == 0 { std::mem::take(&mut state.wakers) } else { Vec::new() };
        // Release the lock first, because the woken tasks acquire it.
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Future for Waiter {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.movements == 0 {
            return Poll::Ready(());
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(waiter: &mut Waiter) -> Poll<()> {
        Pin::new(waiter).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_request_waits_for_the_end_of_all_movements() {
        let waiters = Arc::<Waiters>::default();
        assert!(waiters.wait().is_none() && !waiters.has_waiting());
        let (first, second) = (waiters.begin(), waiters.begin());
        let mut waiter = waiters.wait().unwrap();
        assert_eq!(poll(&mut waiter), Poll::Pending);
        drop(first);
        assert_eq!(poll(&mut waiter), Poll::Pending);
        drop(second);
        assert_eq!(poll(&mut waiter), Poll::Ready(()));
        assert!(waiters.has_waiting(), "it has not begun yet");
        drop(waiter);
        assert!(waiters.wait().is_none() && !waiters.has_waiting());
    }
}
