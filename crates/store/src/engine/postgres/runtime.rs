//! The runtime of the driver. A single thread of the process drives all connections. Callers block
//! on their own threads with a deadline, because the driver has no timeouts and a network failure
//! would block them forever.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Instant;

use tokio::runtime::{Builder, Handle};

static RUNTIME: Mutex<Option<Handle>> = Mutex::new(None);
/// Number of threads for blocking host name lookups.
const LOOKUPS_MAX: usize = 4;

/// Returns a handle of the runtime. The runtime's thread is started on first use.
pub(super) fn handle() -> io::Result<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*runtime {
        return Ok(handle.clone());
    }
    let (sender, receiver) = mpsc::sync_channel(1);
    // The runtime is built on its own thread, because a runtime must not be dropped inside another
    // runtime, such as the server's.
    thread::Builder::new().name("postgres".to_owned()).spawn(move || {
        let built =
            Builder::new_current_thread().enable_io().enable_time().max_blocking_threads(LOOKUPS_MAX).build();
        let built = match built {
            Ok(built) => built,
            Err(error) => return sender.send(Err(error)).unwrap_or_default(),
        };
        if sender.send(Ok(built.handle().clone())).is_ok() {
            built.block_on(std::future::pending::<()>());
        }
    })?;
    let handle = receiver.recv().map_err(|_| io::Error::other("the thread of the connections ended"))??;
    *runtime = Some(handle.clone());
    Ok(handle)
}

/// Runs a future on the runtime and waits for its output. Returns `None` on timeout, and cancels
/// the future.
pub(super) fn run<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
    until: Instant,
) -> io::Result<Option<T>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let task = handle()?.spawn(async move { sender.send(future.await).unwrap_or_default() });
    let answer = receiver.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
    task.abort();
    Ok(answer)
}

/// Waits for a future of the driver's client. Returns `None` on timeout. Polls no tokio resource,
/// so the caller may be on a worker of another runtime: if the task of that worker had used up its
/// coop budget, a tokio resource would stay pending and never notify this waker.
pub(super) fn wait<F: Future>(future: F, until: Instant) -> Option<F::Output> {
    let mut future = pin!(future);
    // In most cases the row has already arrived.
    if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return Some(output);
    }
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(signal.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        if !signal.wait(until) {
            return None;
        }
    }
}

/// Polls a client future once, which sends its request. Ignores the response.
pub(super) fn send_off<F: Future>(future: F) {
    let _: Poll<F::Output> = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
}

#[derive(Default)]
struct Signal {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    /// Waits until woken. Returns `false` if the deadline passes first.
    fn wait(&self, until: Instant) -> bool {
        let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
        while !*woken {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            woken = self.changed.wait_timeout(woken, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *woken = false;
        true
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Signal>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Signal>) {
        *self.woken.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_one();
    }
}

/// A pending request. It is sent on construction, and its response is read later. Responses arrive
/// and must be read in the order of the requests.
pub(super) enum Sent<F: Future> {
    Waiting(Pin<Box<F>>),
    Answered(F::Output),
}

impl<F: Future> Sent<F> {
    pub(super) fn of(future: F) -> Sent<F> {
        let mut future = Box::pin(future);
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => Sent::Answered(output),
            Poll::Pending => Sent::Waiting(future),
        }
    }

    pub(super) async fn answer(self) -> F::Output {
        match self {
            Sent::Waiting(future) => future.await,
            Sent::Answered(output) => output,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(30)
    }

    #[test]
    fn a_future_on_the_runtime_completes_for_any_caller() {
        assert_eq!(run(async { 7 }, soon()).unwrap(), Some(7));
        let other = Builder::new_current_thread().build().unwrap();
        other.block_on(async { assert_eq!(run(async { 8 }, soon()).unwrap(), Some(8)) });
    }

    #[test]
    fn a_future_woken_by_another_thread_completes() {
        let (sender, receiver) = futures_channel();
        let waker = thread::spawn(sender);
        assert_eq!(wait(receiver, soon()), Some(()));
        waker.join().unwrap();
    }

    #[test]
    fn waiting_for_a_future_that_never_ends_times_out() {
        let now = Instant::now();
        assert_eq!(wait(std::future::pending::<()>(), now), None);
        assert_eq!(run(std::future::pending::<()>(), now).unwrap(), None);
    }

    /// Returns a future, and a function that completes it.
    fn futures_channel() -> (impl FnOnce() + Send + 'static, impl Future<Output = ()>) {
        let shared = Arc::new(Mutex::new((false, None::<Waker>)));
        let receiver = shared.clone();
        let sender = move || {
            let waker = {
                let mut shared = shared.lock().unwrap();
                shared.0 = true;
                shared.1.take()
            };
            waker.into_iter().for_each(Waker::wake);
        };
        let receiver = std::future::poll_fn(move |context| {
            let mut receiver = receiver.lock().unwrap();
            receiver.1 = Some(context.waker().clone());
            if receiver.0 { Poll::Ready(()) } else { Poll::Pending }
        });
        (sender, receiver)
    }
}
