//! The command line as a client: signs in to a server, and sends requests as the signed-in account.
//!
//! Only [`http`] uses the network. All other modules take an implementation of its trait, so their
//! tests need no network. [`oauth`] runs the device flow, [`files`] stores the tokens, [`session`]
//! selects the server and sends requests with the tokens, and [`candles`] reads candles.

pub(crate) mod candles;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod oauth;
pub(crate) mod session;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use market::Timestamp;

use crate::clock::Clock;
use crate::failure::{Failure, STOPPED};

pub(crate) use http::field;
pub(crate) use session::{Flags, ServerFlags};

/// Clock with a pause that the user can interrupt.
pub(crate) trait Time {
    fn now(&self) -> Timestamp;
    /// Pauses. Returns false if the user interrupted the pause.
    fn pause(&self, length: Duration) -> bool;
    /// Returns whether the user has interrupted the command.
    fn is_over(&self) -> bool;
}

/// The machine's clock. Ctrl-C during a pause only ends the pause, so that the command can print a
/// message. At other times Ctrl-C ends the process immediately, because an unresponsive server
/// would delay the exit until the timeout. Create only one instance per command, because its signal
/// handlers are never removed.
#[derive(Clone, Debug)]
pub(crate) struct MachineTime {
    stop: Arc<AtomicBool>,
    busy: Arc<AtomicBool>,
}

impl MachineTime {
    pub(crate) fn new() -> Result<MachineTime, Failure> {
        let time = MachineTime::until(Arc::new(AtomicBool::new(false)));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register_conditional_shutdown(signal, STOPPED.into(), Arc::clone(&time.busy))?;
            signal_hook::flag::register(signal, Arc::clone(&time.stop))?;
        }
        Ok(time)
    }

    /// Creates a clock whose pauses end when another signal handler sets `stop`.
    pub(crate) fn until(stop: Arc<AtomicBool>) -> MachineTime {
        MachineTime { stop, busy: Arc::new(AtomicBool::new(true)) }
    }
}

impl Time for MachineTime {
    fn now(&self) -> Timestamp {
        Clock::Machine.now()
    }

    fn pause(&self, length: Duration) -> bool {
        const SLICE: Duration = Duration::from_millis(100);
        let mut left = length;
        self.busy.store(false, Ordering::SeqCst);
        while !left.is_zero() && !self.is_over() {
            let slice = left.min(SLICE);
            std::thread::sleep(slice);
            left -= slice;
        }
        // No signal is lost: a signal before this atomic store sets the `stop` flag, and a later
        // signal ends the process.
        self.busy.store(true, Ordering::SeqCst);
        !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }
}
