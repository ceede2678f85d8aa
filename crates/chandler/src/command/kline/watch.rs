//! A full-screen chart, redrawn periodically and when the window is resized, until the user presses
//! q. The terminal is restored on every exit path.

use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Maximum delay before a key press or a resize is handled.
const SLICE: Duration = Duration::from_millis(100);
const CTRL_C: u8 = 0x03;
const CTRL_D: u8 = 0x04;
const CTRL_BACKSLASH: u8 = 0x1c;

/// Runs queries and draws their results until the user quits. Queries run on another thread, which
/// is abandoned on exit, so that an unresponsive server does not delay the exit. If the first query
/// fails, the command ends; later failures are shown on the screen, because the server may recover.
///
/// From the start of this function signals only set `stop`, because a second signal must not kill
/// the process before the terminal is restored.
pub(super) fn run<Q: Send + 'static, A: Send + 'static>(
    seconds: u16,
    stop: &Arc<AtomicBool>,
    question: impl Fn(&Terminal) -> Result<Q, Failure>,
    answer: impl Fn(Q) -> Result<A, Failure> + Send + 'static,
    draw: impl Fn(&A, &Terminal) -> String,
) -> Result<(), Failure> {
    let resized = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::clone(stop))?;
    }
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGWINCH, Arc::clone(&resized))?;
    let every = Duration::from_secs(seconds.into());
    let mut elsewhere = QuestionThread::start(answer)?;
    elsewhere.ask(question(&Terminal::of_stdout())?)?;
    let mut answer = loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted("stopped before any candles arrived".to_owned()));
        }
        if let Some(answer) = elsewhere.answer(SLICE)? {
            break Ok(answer?);
        }
    };
    let screen = Screen::take()?;
    let mut answered = Instant::now();
    loop {
        let terminal = Terminal::of_stdout();
        match &answer {
            Ok(answer) => screen.show(&draw(answer, &terminal), seconds)?,
            Err(failure) => screen.show(&Failure::to_string(failure), seconds)?,
        }
        loop {
            if screen.wants_to_end()? || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let is_resized = resized.swap(false, Ordering::Relaxed);
            if !elsewhere.is_busy && (is_resized || answered.elapsed() >= every) {
                elsewhere.ask(question(&Terminal::of_stdout())?)?;
            }
            if let Some(new) = elsewhere.answer(Duration::ZERO)? {
                (answer, answered) = (new, Instant::now());
                break;
            }
            if is_resized {
                break;
            }
        }
    }
}

/// Thread that runs one query at a time.
struct QuestionThread<Q, A> {
    questions: Sender<Q>,
    answers: Receiver<Result<A, Failure>>,
    is_busy: bool,
}

impl<Q: Send + 'static, A: Send + 'static> QuestionThread<Q, A> {
    fn start(answer: impl Fn(Q) -> Result<A, Failure> + Send + 'static) -> io::Result<QuestionThread<Q, A>> {
        let (questions, requested) = mpsc::channel();
        let (given, answers) = mpsc::channel();
        let work = move || {
            for question in requested {
                if given.send(answer(question)).is_err() {
                    break;
                }
            }
        };
        std::thread::Builder::new().spawn(work)?;
        Ok(QuestionThread { questions, answers, is_busy: false })
    }

    fn ask(&mut self, question: Q) -> Result<(), Failure> {
        self.is_busy = true;
        self.questions.send(question).map_err(|_| gone())
    }

    /// Returns the result of the current query, or `None` if the query does not finish within
    /// `within`.
    fn answer(&mut self, within: Duration) -> Result<Option<Result<A, Failure>>, Failure> {
        match self.answers.recv_timeout(within) {
            Ok(answer) => {
                self.is_busy = false;
                Ok(Some(answer))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
        }
    }
}

fn gone() -> Failure {
    anyhow::anyhow!("cannot update the chart: the query thread has stopped").into()
}

/// Terminal in full-screen mode. The terminal is restored on drop.
struct Screen {
    keys: Option<Keys>,
}

impl Screen {
    /// Switches to the alternate screen and hides the cursor.
    fn take() -> io::Result<Screen> {
        // `Screen` is created before the first write, so that the terminal is also restored if the
        // write fails.
        let screen = Screen { keys: Keys::take() };
        let mut out = io::stdout().lock();
        out.write_all(b"\x1b[?1049h\x1b[?25l")?;
        out.flush()?;
        Ok(screen)
    }

    /// Draws the whole screen in one write to avoid flicker.
    fn show(&self, drawing: &str, seconds: u16) -> io::Result<()> {
        let end = if self.keys.is_some() { "q quits" } else { "Ctrl-C quits" };
        let mut frame = String::with_capacity(drawing.len() * 2);
        frame.push_str("\x1b[H");
        for line in drawing.lines() {
            frame.extend([line, "\x1b[K\r\n"]);
        }
        frame.push_str(&format!("{end}, refreshed every {seconds} s\x1b[K\x1b[J"));
        let mut out = io::stdout().lock();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }

    /// Waits up to [`SLICE`] for a key press and returns whether the key quits.
    fn wants_to_end(&self) -> io::Result<bool> {
        match &self.keys {
            Some(keys) => Ok(matches!(keys.next()?, Some(b'q' | b'Q' | CTRL_C | CTRL_D | CTRL_BACKSLASH))),
            None => {
                std::thread::sleep(SLICE);
                Ok(false)
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        // An error is ignored, because the terminal may be closed.
        out.write_all(b"\x1b[?25h\x1b[?1049l").and_then(|()| out.flush()).ok();
    }
}

/// Reads single key presses from stdin, without echo or line buffering.
#[cfg(unix)]
struct Keys {
    before: rustix::termios::Termios,
}

#[cfg(unix)]
impl Keys {
    /// Enables raw input. `None` if stdin is not a terminal.
    fn take() -> Option<Keys> {
        use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
        if !io::stdin().is_terminal() {
            return None;
        }
        let before = tcgetattr(io::stdin()).ok()?;
        let mut raw = before.clone();
        // Keys must not send signals: a signal would make the terminal discard pending output, a
        // second Ctrl-C could interrupt the cleanup, and suspending would leave the shell on the
        // alternate screen.
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        // A read returns after at most a tenth of a second, the same as [`SLICE`].
        for (index, value) in [(SpecialCodeIndex::VMIN, 0), (SpecialCodeIndex::VTIME, 1)] {
            raw.special_codes[index] = value;
        }
        // Input typed earlier is not discarded, because it may contain a `q`.
        tcsetattr(io::stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Keys { before })
    }

    fn next(&self) -> io::Result<Option<u8>> {
        let mut key = [0];
        match io::stdin().lock().read(&mut key) {
            Ok(0) => Ok(None),
            Ok(_) => Ok(key.first().copied()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(unix)]
impl Drop for Keys {
    fn drop(&mut self) {
        let now = rustix::termios::OptionalActions::Flush;
        rustix::termios::tcsetattr(io::stdin(), now, &self.before).ok();
    }
}

#[cfg(not(unix))]
struct Keys;

#[cfg(not(unix))]
impl Keys {
    fn take() -> Option<Keys> {
        None
    }

    fn next(&self) -> io::Result<Option<u8>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_slow_query_does_not_block() {
        let (release, held) = mpsc::channel::<()>();
        let mut elsewhere = QuestionThread::start(move |number: u32| {
            if number == 2 {
                held.recv().ok();
            }
            Ok(number * 10)
        })
        .unwrap();
        let wait = Duration::from_secs(60);
        elsewhere.ask(1).unwrap();
        assert_eq!(elsewhere.answer(wait).unwrap().unwrap().unwrap(), 10);
        assert!(!elsewhere.is_busy);
        elsewhere.ask(2).unwrap();
        assert!(elsewhere.answer(Duration::ZERO).unwrap().is_none() && elsewhere.is_busy);
        release.send(()).unwrap();
        assert_eq!(elsewhere.answer(wait).unwrap().unwrap().unwrap(), 20);
    }

    #[test]
    fn a_panic_in_the_query_thread_is_an_error() {
        let mut elsewhere = QuestionThread::<u32, u32>::start(|_| panic!("on purpose")).unwrap();
        elsewhere.ask(1).unwrap();
        assert!(elsewhere.answer(Duration::from_secs(60)).is_err());
    }
}
