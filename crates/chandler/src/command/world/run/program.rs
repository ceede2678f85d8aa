//! The process of a run's program: its output, and how it is stopped.

use std::env;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use crate::failure::{Failure, usage};
use crate::output::{self, Format, note};
use crate::progress::Bar;

/// Time to read the rest of a program's output after its end. Its child processes may hold the pipe
/// open for longer.
const OUTPUT_WITHIN: Duration = Duration::from_secs(1);
/// Maximum length of an output line. Longer lines are split.
const LINE_MAX: u64 = 64 << 10;

/// Destination of the program's output.
#[derive(Clone, Debug)]
pub(super) enum OutputTo {
    /// stdout and stderr are inherited.
    Inherited,
    /// stdout goes to stderr, because stdout of this process is for the report.
    Stderr,
    /// Lines are written above a progress bar.
    Above(Arc<Bar>, Format),
    /// Lines go to stderr with a prefix, because several programs run concurrently.
    Prefixed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopSignal {
    Interrupt,
    Terminate,
    Kill,
}

#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    /// Whether the program leads a separate process group, to which signals are sent.
    is_leader: bool,
    /// Disconnects when the program's output has been read completely.
    output: Option<mpsc::Receiver<()>>,
}

/// Returns an error if the program does not exist. Called before a world is created.
pub(super) fn check_exists(command: &[String]) -> Result<(), Failure> {
    let Some(name) = command.first().filter(|name| !name.is_empty()) else {
        return Err(usage("no command is given: write it after --"));
    };
    let is_there = if name.contains(['/', '\\']) {
        Path::new(name).is_file()
    } else {
        let folders = env::var_os("PATH").unwrap_or_default();
        let suffix = env::consts::EXE_SUFFIX;
        env::split_paths(&folders)
            .any(|folder| folder.join(name).is_file() || folder.join(format!("{name}{suffix}")).is_file())
    };
    if is_there { Ok(()) } else { Err(usage(format!("there is no program {name:?}"))) }
}

impl Program {
    pub(super) fn start(
        command: &[String],
        environment: &[(String, String)],
        to: OutputTo,
    ) -> Result<Program, Failure> {
        let (name, words) = command.split_first().ok_or_else(|| usage("no command is given"))?;
        let mut process = Command::new(name);
        process.args(words).envs(environment.iter().map(|(name, value)| (name, value)));
        // On a terminal, the program must be in the foreground group to read input. In that case
        // the terminal sends it Ctrl-C.
        let is_leader = matches!(to, OutputTo::Prefixed(_)) || !io::stdin().is_terminal();
        if is_leader {
            lead_group(&mut process);
        }
        match &to {
            OutputTo::Inherited => {}
            OutputTo::Stderr => {
                process.stdout(own_stderr()?);
            }
            OutputTo::Above(..) | OutputTo::Prefixed(_) => {
                process.stdout(Stdio::piped()).stderr(Stdio::piped());
                // Unbuffered, because Python otherwise delays lines to a pipe until the program
                // ends.
                process.env("PYTHONUNBUFFERED", "1");
            }
        }
        if matches!(to, OutputTo::Prefixed(_)) {
            process.stdin(Stdio::null());
        }
        let mut child = process.spawn().with_context(|| format!("cannot start {name:?}"))?;
        let output = match to {
            OutputTo::Inherited | OutputTo::Stderr => None,
            OutputTo::Above(..) | OutputTo::Prefixed(_) => Some(forward(&mut child, &to)?),
        };
        Ok(Program { child, is_leader, output })
    }

    /// Returns the exit status if the program has ended.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        let status = self.child.try_wait()?;
        if status.is_some()
            && let Some(output) = self.output.take()
        {
            // The senders are dropped when both pipes are closed.
            while output.recv_timeout(OUTPUT_WITHIN).is_ok() {}
        }
        Ok(status)
    }

    /// Returns whether the terminal sends Ctrl-C to the program.
    pub(super) fn is_in_foreground(&self) -> bool {
        !self.is_leader
    }

    #[cfg(unix)]
    pub(super) fn send(&self, signal: StopSignal) {
        use rustix::process::{Pid, Signal, kill_process, kill_process_group};
        let signal = match signal {
            StopSignal::Interrupt => Signal::INT,
            StopSignal::Terminate => Signal::TERM,
            StopSignal::Kill => Signal::KILL,
        };
        let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else { return };
        // An error means that the program has ended.
        if self.is_leader {
            kill_process_group(pid, signal).ok()
        } else {
            kill_process(pid, signal).ok()
        };
    }

    #[cfg(not(unix))]
    pub(super) fn send(&mut self, _: StopSignal) {
        self.child.kill().ok();
    }
}

impl Drop for Program {
    /// Kills the program if it is still running, for example because the run has failed.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.send(StopSignal::Kill);
            self.child.wait().ok();
        }
    }
}

#[cfg(unix)]
fn lead_group(process: &mut Command) {
    std::os::unix::process::CommandExt::process_group(process, 0);
}

#[cfg(not(unix))]
fn lead_group(_: &mut Command) {}

#[cfg(unix)]
fn own_stderr() -> io::Result<Stdio> {
    use std::os::fd::AsFd;
    Ok(io::stderr().as_fd().try_clone_to_owned()?.into())
}

#[cfg(not(unix))]
fn own_stderr() -> io::Result<Stdio> {
    Ok(Stdio::null())
}

/// Forwards both pipes, each on a thread. The receiver disconnects when both are closed.
fn forward(child: &mut Child, to: &OutputTo) -> Result<mpsc::Receiver<()>, Failure> {
    let (done, closed) = mpsc::channel();
    let pipes: [Option<(Box<dyn Read + Send>, bool)>; 2] = [
        child.stdout.take().map(|pipe| (Box::new(pipe) as Box<dyn Read + Send>, true)),
        child.stderr.take().map(|pipe| (Box::new(pipe) as Box<dyn Read + Send>, false)),
    ];
    for (pipe, is_stdout) in pipes.into_iter().flatten() {
        let (to, done) = (to.clone(), done.clone());
        let copy = move || {
            copy_lines(pipe, |line| write_line(&to, line, is_stdout));
            // The bar is removed from the screen before the report is printed.
            drop(to);
            drop(done);
        };
        thread::Builder::new().name("output".to_owned()).spawn(copy)?;
    }
    Ok(closed)
}

fn copy_lines(pipe: impl Read, mut write: impl FnMut(&[u8])) {
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    // A pipe that cannot be read counts as closed.
    while let Ok(1..) = reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line) {
        write(line.strip_suffix(b"\n").unwrap_or(&line));
        line.clear();
    }
}

/// Writes one line. Write errors are ignored, because the program's exit code is more important.
fn write_line(to: &OutputTo, line: &[u8], is_stdout: bool) {
    match to {
        OutputTo::Above(bar, format) => bar.above(|| {
            let line = [line, b"\n"].concat();
            // With JSON, stdout is for the report.
            if is_stdout && *format == Format::Table {
                let mut out = output::stdout();
                out.write_all(&line).and_then(|()| out.flush()).ok();
            } else {
                io::stderr().write_all(&line).ok();
            }
        }),
        OutputTo::Prefixed(prefix) => note(format_args!("{prefix}{}", String::from_utf8_lossy(line))),
        OutputTo::Inherited | OutputTo::Stderr => {}
    }
}

/// Returns the exit code by shell convention: 128 plus the signal's number for a program that was
/// ended by a signal.
pub(super) fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + signal_of(status)?));
    // Exit codes on Windows may exceed a byte.
    code.map_or(1, |code| u8::try_from(code).unwrap_or(1))
}

#[cfg(unix)]
pub(super) fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
pub(super) fn signal_of(_: ExitStatus) -> Option<i32> {
    None
}
