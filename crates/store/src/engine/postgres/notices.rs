//! Hearing of changes that others make: LISTEN where the server has it, and a question that is repeated anyway.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::drive::Signal;
use super::session::{Failure, Session};
use super::{Pace, Server, Trouble, column};
use crate::engine::params::Value;

/// A thread with a connection of its own that tells what changes. It connects again by itself, for as long as it takes.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: SyncSender<Signal>,
    sight: Arc<Sight>,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests look at it"))]
    thread: Option<JoinHandle<()>>,
}

/// What is watched.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Names of channels: letters from a to z, digits and `_`.
    pub(crate) channels: Vec<String>,
    /// A question whose answer is one number that changes with everything of interest.
    pub(crate) question: &'static str,
    /// How often it is asked, notices or not.
    pub(crate) every: Duration,
}

/// What a watch tells, on its own thread.
#[derive(Debug)]
pub(crate) enum News<'a> {
    /// The answer to the question has changed, or is known for the first time.
    Number(i64),
    Notice {
        #[allow(dead_code, reason = "shown where news are printed")]
        channel: &'a str,
        payload: &'a str,
    },
    /// From now on notices are heard. What came before may have been missed.
    Listening,
    /// The server cannot be asked. Told once, until it can.
    Away(#[allow(dead_code, reason = "shown where news are printed")] &'a Trouble),
}

#[derive(Debug, Default)]
struct Sight {
    /// 0 until it is known.
    listens: AtomicU8,
    asked: Mutex<Option<Instant>>,
    stopped: AtomicBool,
}

const LISTENS: u8 = 1;
const POLLS: u8 = 2;
/// Notices that wait to be told; more of them are thrown away, and that is told instead.
const WAITING_MAX: usize = 1_024;
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// A server that is back is to be noticed soon.
const PAUSE_MAX: Duration = Duration::from_secs(1);

impl Watch {
    pub(crate) fn start(
        server: Arc<Server>,
        subject: Subject,
        tell: impl FnMut(News<'_>) + Send + 'static,
    ) -> io::Result<Watch> {
        let (stop, signals) = mpsc::sync_channel(WAITING_MAX);
        let sight = Arc::<Sight>::default();
        let mut watcher = Watcher {
            server,
            subject,
            tell: Box::new(tell),
            hear: stop.clone(),
            signals,
            sight: sight.clone(),
            number: None,
            away: false,
        };
        let thread = thread::Builder::new().name("notices".to_owned()).spawn(move || watcher.watch())?;
        Ok(Watch { stop, sight, thread: Some(thread) })
    }

    /// Whether notices are heard, or the server has none and only the question is asked; `None` until it is known.
    #[cfg(test)]
    pub(crate) fn listens(&self) -> Option<bool> {
        match self.sight.listens.load(Ordering::Relaxed) {
            LISTENS => Some(true),
            POLLS => Some(false),
            _ => None,
        }
    }

    /// How long ago the server last answered the question: what is known is not older.
    pub(crate) fn age(&self) -> Option<Duration> {
        let asked = self.sight.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.map(|at| at.elapsed())
    }

    /// Ends the thread and waits for it. Not to be called on that thread.
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
        // Where it is full of notices, the thread is awake already.
        self.stop.try_send(Signal::Stop).ok();
    }
}

struct Watcher {
    server: Arc<Server>,
    subject: Subject,
    tell: Box<dyn FnMut(News<'_>) + Send>,
    hear: SyncSender<Signal>,
    signals: Receiver<Signal>,
    sight: Arc<Sight>,
    number: Option<i64>,
    away: bool,
}

/// Why a connection was left.
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
                (self.tell)(News::Away(&trouble));
            }
            let until = Instant::now() + pause;
            pause = (pause * 2).min(PAUSE_MAX);
            // What is left of the connection that broke, until it is time to try again.
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

    /// Listens and asks, for as long as the connection lasts.
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
            // All that has come by now is told before the question is asked, once, but it is not put off for ever.
            loop {
                if self.is_stopped() {
                    return Left::Stopped;
                }
                match signal {
                    Ok(Signal::Notice { channel, payload }) => {
                        (self.tell)(News::Notice { channel: &channel, payload: &payload });
                    }
                    Ok(Signal::Missed) => (self.tell)(News::Listening),
                    Ok(Signal::Stop) | Err(RecvTimeoutError::Disconnected) => return Left::Stopped,
                    // The question finds out what it was.
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
            // Databases that only speak PostgreSQL's protocol often refuse it.
            Err(_) => POLLS,
        };
        self.sight.listens.store(listens, Ordering::Relaxed);
        if listens == LISTENS {
            (self.tell)(News::Listening);
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
        *self.sight.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        self.away = false;
        if let Some(number) = number.filter(|number| self.number != Some(*number)) {
            self.number = Some(number);
            (self.tell)(News::Number(number));
        }
        Ok(())
    }
}
