//! Detection of changes by other processes: by polling, and also by `LISTEN` if the server supports
//! it.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::session::{Failure, Session, Signal};
use super::{Pace, Server, Trouble, column};
use crate::engine::params::Value;

/// A thread with its own connection that reports changes. After a failure the thread reconnects,
/// without a limit on attempts.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: SyncSender<Signal>,
    sight: Arc<Sight>,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests look at it"))]
    thread: Option<JoinHandle<()>>,
}

/// The channels and the query that a watch observes.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Channel names: letters from a to z, digits and `_`.
    pub(crate) channels: Vec<String>,
    /// A query for one number that changes with every relevant change.
    pub(crate) question: &'static str,
    /// Poll interval, with or without notifications.
    pub(crate) every: Duration,
}

/// Events of a watch. Reported on the thread of the watch.
#[derive(Debug)]
pub(crate) enum News<'a> {
    /// The result of the query has changed, or was read for the first time.
    Number(i64),
    Notice {
        #[allow(dead_code, reason = "shown where news are printed")]
        channel: &'a str,
        payload: &'a str,
    },
    /// Notifications are received from now on. Earlier notifications may have been missed.
    Listening,
    /// The server is unreachable. Reported once until the server is reachable again.
    Away(#[allow(dead_code, reason = "shown where news are printed")] &'a Trouble),
}

#[derive(Debug, Default)]
struct Sight {
    /// `LISTENS` or `POLLS`; 0 until the server has responded to `LISTEN`.
    listens: AtomicU8,
    checked_at: Mutex<Option<Instant>>,
    stopped: AtomicBool,
}

const LISTENS: u8 = 1;
const POLLS: u8 = 2;
/// Maximum number of queued notifications. Further notifications are dropped, and the loss is
/// reported.
const WAITING_MAX: usize = 1_024;
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// Maximum delay between attempts to connect. Short, so that a recovered server is noticed soon.
const PAUSE_MAX: Duration = Duration::from_secs(1);

impl Watch {
    pub(crate) fn start(
        server: Arc<Server>,
        subject: Subject,
        notify: impl FnMut(News<'_>) + Send + 'static,
    ) -> io::Result<Watch> {
        let (stop, signals) = mpsc::sync_channel(WAITING_MAX);
        let sight = Arc::<Sight>::default();
        let mut watcher = Watcher {
            server,
            subject,
            notify: Box::new(notify),
            hear: stop.clone(),
            signals,
            sight: sight.clone(),
            number: None,
            away: false,
        };
        let thread = thread::Builder::new().name("notices".to_owned()).spawn(move || watcher.watch())?;
        Ok(Watch { stop, sight, thread: Some(thread) })
    }

    /// Returns whether notifications are received (`true`) or the server supports only polling
    /// (`false`). Returns `None` until the server has responded to `LISTEN`.
    #[cfg(test)]
    pub(crate) fn listens(&self) -> Option<bool> {
        match self.sight.listens.load(Ordering::Relaxed) {
            LISTENS => Some(true),
            POLLS => Some(false),
            _ => None,
        }
    }

    /// Returns the time since the last response to the query, which is the maximum age of the known
    /// number. Returns `None` before the first response.
    pub(crate) fn age(&self) -> Option<Duration> {
        let requested = self.sight.checked_at.lock().unwrap_or_else(PoisonError::into_inner);
        requested.map(|at| at.elapsed())
    }

    /// Stops the thread and waits until it has ended. Must not be called on that thread.
    #[cfg(test)]
    pub(crate) fn stop(mut self) {
        let thread = self.thread.take();
        drop(self);
        thread.map(JoinHandle::join);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.sight.stopped.store(true, Ordering::Relaxed);
        // If the queue is full, the thread is already running.
        self.stop.try_send(Signal::Stop).ok();
    }
}

struct Watcher {
    server: Arc<Server>,
    subject: Subject,
    notify: Box<dyn FnMut(News<'_>) + Send>,
    hear: SyncSender<Signal>,
    signals: Receiver<Signal>,
    sight: Arc<Sight>,
    number: Option<i64>,
    away: bool,
}

/// Why the watcher left a connection.
enum Left {
    Stopped,
    Broken(Trouble),
}

impl Watcher {
    fn watch(&mut self) {
        let mut pause = PAUSE_MIN;
        loop {
            let connected = self.server.connect(Pace::Quick, Some(self.hear.clone()));
            let left = match connected {
                Ok(mut session) => {
                    pause = PAUSE_MIN;
                    let left = self.stay(&mut session);
                    session.give_up();
                    left
                }
                Err(trouble) => Left::Broken(trouble),
            };
            let Left::Broken(trouble) = left else { return };
            if self.is_stopped() {
                return;
            }
            if !std::mem::replace(&mut self.away, true) {
                (self.notify)(News::Away(&trouble));
            }
            let until = Instant::now() + pause;
            pause = (pause * 2).min(PAUSE_MAX);
            // Drains the signals of the broken connection until the next attempt.
            loop {
                match self.signals.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return,
                    Ok(_) if self.is_stopped() => return,
                    Ok(_) => {}
                    Err(RecvTimeoutError::Timeout) => break,
                }
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.sight.stopped.load(Ordering::Relaxed)
    }

    /// Listens and polls until the connection breaks.
    fn stay(&mut self, session: &mut Session) -> Left {
        match self.listen(session) {
            Ok(()) => {}
            Err(trouble) => return Left::Broken(trouble),
        }
        loop {
            if let Err(failure) = self.ask(session) {
                return Left::Broken(failure.trouble);
            }
            let next = Instant::now() + self.subject.every;
            let mut signal = self.signals.recv_timeout(self.subject.every);
            // Pending notifications are reported before the next poll, but must not delay it
            // indefinitely.
            loop {
                if self.is_stopped() {
                    return Left::Stopped;
                }
                match signal {
                    Ok(Signal::Notice { channel, payload }) => {
                        (self.notify)(News::Notice { channel: &channel, payload: &payload });
                    }
                    Ok(Signal::Missed) => (self.notify)(News::Listening),
                    Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return Left::Stopped,
                    // The next query returns the cause.
                    Ok(Signal::Ended) | Err(RecvTimeoutError::Timeout) => break,
                }
                if Instant::now() >= next {
                    break;
                }
                let Ok(more) = self.signals.try_recv() else { break };
                signal = Ok(more);
            }
        }
    }

    fn listen(&mut self, session: &mut Session) -> Result<(), Trouble> {
        let text: String =
            self.subject.channels.iter().map(|channel| format!("listen \"{channel}\";")).collect();
        let listens = match session.script(&text) {
            Ok(()) => LISTENS,
            Err(failure) if !session.is_usable() => return Err(failure.trouble),
            // Databases that only implement PostgreSQL's protocol often reject `LISTEN`.
            Err(_) => POLLS,
        };
        self.sight.listens.store(listens, Ordering::Relaxed);
        if listens == LISTENS {
            (self.notify)(News::Listening);
        }
        Ok(())
    }

    fn ask(&mut self, session: &mut Session) -> Result<(), Failure> {
        let before = Instant::now();
        let mut rows = session.rows(self.subject.question, &[])?;
        let mut number = None;
        while let Some(row) = session.next(&mut rows)? {
            if let Ok(Value::Int(found)) = column(&row, 0) {
                number = Some(found);
            }
        }
        *self.sight.checked_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        self.away = false;
        if let Some(number) = number.filter(|number| self.number != Some(*number)) {
            self.number = Some(number);
            (self.notify)(News::Number(number));
        }
        Ok(())
    }
}
