//! One run: a program in a world, from its start to its report.
//!
//! A job never blocks. [`Job::tick`] polls the program and the world, so that one thread drives all
//! jobs of a sweep and handles signals.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use market::Timestamp;
use serde_json::{Value, json};

use super::collect::{self, Collected, Opening};
use super::fake_time::FakeTime;
use super::place::EnteredWorld;
use super::program::{Program, StopSignal, exit_code, signal_of};
use super::report::Report;
use super::sweep::Combination;
use super::watch::Watch;
use crate::command::trade::shown::{rows, text};
use crate::failure::Failure;
use crate::remote::field;

/// Interval between polls of the world.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Interval between polls with `--fake-time`, and so the maximum delay of the program's clock.
const LOOK_OFTEN: Duration = Duration::from_millis(10);
/// Time without new subscriptions after which the clock is started.
const SETTLED_AFTER: Duration = Duration::from_millis(250);
/// Time after which the clock is started for a connected program, even without subscriptions. A
/// program that reconnects to a paused world may have none.
const CONNECTED_FOR: Duration = Duration::from_secs(10);
/// Time between SIGTERM and SIGKILL.
const KILL_AFTER: Duration = Duration::from_secs(5);

/// Settings that all jobs of a command share.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    /// The speed of the clock. `None` if the program steps.
    pub(super) speed: Option<Value>,
    pub(super) timeout: Option<Duration>,
    pub(super) linger: Duration,
}

/// How a program has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Exited {
        code: u8,
    },
    Signalled {
        signal: i32,
    },
    /// The program was stopped after its world had ended.
    StoppedAtEnd,
    TimedOut,
}

/// Exit code of a program that was stopped by `--timeout`, like that of the command `timeout`.
const TIMED_OUT: u8 = 124;

impl Outcome {
    pub(super) fn exit_code(self) -> u8 {
        match self {
            Outcome::Exited { code } => code,
            Outcome::Signalled { signal } => u8::try_from(128 + signal).unwrap_or(1),
            Outcome::StoppedAtEnd => 0,
            Outcome::TimedOut => TIMED_OUT,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Outcome::Exited { .. } => "exited",
            Outcome::Signalled { .. } => "signalled",
            Outcome::StoppedAtEnd => "stopped_at_end",
            Outcome::TimedOut => "timed_out",
        }
    }

    /// Returns a message for the user, or `None` if the program ended normally.
    pub(super) fn note(self) -> Option<String> {
        match self {
            Outcome::Exited { code: 0 } => None,
            Outcome::Exited { code } => Some(format!("the program exited with code {code}")),
            Outcome::Signalled { signal } => Some(format!("the program was ended by signal {signal}")),
            Outcome::StoppedAtEnd => Some("the world has ended, and the program was stopped".to_owned()),
            Outcome::TimedOut => Some("the program was stopped: --timeout has passed".to_owned()),
        }
    }
}

pub(super) struct Job {
    pub(super) world: EnteredWorld,
    pub(super) combination: Combination,
    pub(super) command: Vec<String>,
    opening: Opening,
    program: Program,
    fake: Option<FakeTime>,
    watch: Watch,
    started: Instant,
    looked: Option<Instant>,
    clock: ClockStart,
    /// When the job detected that the world had ended.
    ended: Option<Instant>,
    stopping: Option<Stopping>,
}

/// Whether the job must still start the world's clock.
#[derive(Clone, Copy, Debug)]
enum ClockStart {
    /// The program steps the clock, or the job has started the clock.
    Done,
    Waiting {
        connected: Option<Instant>,
        subscribed: Option<(u64, Instant)>,
    },
}

#[derive(Clone, Copy, Debug)]
struct Stopping {
    since: Instant,
    outcome: Outcome,
}

/// A finished job.
pub(super) struct Finished {
    pub(super) world: String,
    pub(super) combination: Combination,
    pub(super) command: Vec<String>,
    pub(super) outcome: Outcome,
    /// State and clock of the world after the run.
    pub(super) shown: Value,
    pub(super) report: Report,
    pub(super) elapsed: Duration,
}

/// Arguments to start a job.
pub(super) struct Start {
    pub(super) world: EnteredWorld,
    pub(super) combination: Combination,
    pub(super) command: Vec<String>,
    pub(super) opening: Opening,
    pub(super) program: Program,
    pub(super) fake: Option<FakeTime>,
    pub(super) watch: Watch,
}

impl Job {
    pub(super) fn new(start: Start, rules: &Rules) -> Job {
        let Start { world, combination, command, opening, program, fake, watch } = start;
        let clock = match rules.speed {
            Some(_) => ClockStart::Waiting { connected: None, subscribed: None },
            None => ClockStart::Done,
        };
        let started = Instant::now();
        let (looked, ended, stopping) = (None, None, None);
        Job {
            world,
            combination,
            command,
            opening,
            program,
            fake,
            watch,
            started,
            looked,
            clock,
            ended,
            stopping,
        }
    }

    /// Polls the program and the world once. Returns the outcome when the program has ended.
    pub(super) fn tick(&mut self, rules: &Rules) -> Result<Option<Outcome>, Failure> {
        if let Some(status) = self.program.ended()? {
            return Ok(Some(self.outcome(status)));
        }
        let now = Instant::now();
        let every = if self.fake.is_some() { LOOK_OFTEN } else { LOOK_EVERY };
        if self.looked.is_none_or(|looked| now.duration_since(looked) >= every) {
            self.looked = Some(now);
            self.look(rules, now)?;
        }
        self.stop_if_due(rules, now);
        Ok(None)
    }

    /// Reads the world's clock. Errors are ignored, because the program reports an unreachable
    /// server itself.
    fn look(&mut self, rules: &Rules, now: Instant) -> Result<(), Failure> {
        let Ok(shown) = self.world.client.get("/v1/world", &[]) else { return Ok(()) };
        let at = collect::now(&shown)?;
        if let Some(fake) = &mut self.fake {
            fake.show(at)?;
        }
        if text(&shown, "state") == "ended" && self.ended.is_none() {
            self.ended = Some(now);
        }
        self.watch.show(at, &self.world.client);
        if let ClockStart::Waiting { connected, subscribed } = self.clock {
            self.clock = self.start_clock(rules, now, connected, subscribed)?;
        }
        Ok(())
    }

    /// Starts the clock when the number of the program's subscriptions has not changed for
    /// [`SETTLED_AFTER`], or when the program has been connected for [`CONNECTED_FOR`].
    fn start_clock(
        &self,
        rules: &Rules,
        now: Instant,
        connected: Option<Instant>,
        subscribed: Option<(u64, Instant)>,
    ) -> Result<ClockStart, Failure> {
        let Ok(list) = self.world.client.get("/v1/connections", &[]) else {
            return Ok(ClockStart::Waiting { connected, subscribed });
        };
        let connections = rows(&list, "connections");
        let count = connections
            .iter()
            .filter_map(|connection| field(field(connection, "subscriptions"), "count").as_u64())
            .sum::<u64>();
        let connected = if connections.is_empty() { None } else { connected.or(Some(now)) };
        let subscribed = match subscribed {
            _ if count == 0 => None,
            Some((known, since)) if known == count => Some((known, since)),
            _ => Some((count, now)),
        };
        let is_settled = subscribed.is_some_and(|(_, since)| now.duration_since(since) >= SETTLED_AFTER);
        let is_silent = connected.is_some_and(|since| now.duration_since(since) >= CONNECTED_FOR);
        if !is_settled && !is_silent {
            return Ok(ClockStart::Waiting { connected, subscribed });
        }
        let body = rules.speed.as_ref().map_or_else(|| json!({}), |speed| json!({"speed": speed}));
        let client = &self.world.client;
        client.post("/v1/world/run", body).map_err(|error| client.refused(error))?;
        Ok(ClockStart::Done)
    }

    fn stop_if_due(&mut self, rules: &Rules, now: Instant) {
        if let Some(Stopping { since, outcome }) = self.stopping {
            if now.duration_since(since) >= KILL_AFTER {
                self.program.send(StopSignal::Kill);
                self.stopping = Some(Stopping { since: now, outcome });
            }
            return;
        }
        let is_over = |since: Option<Instant>, limit: Option<Duration>| {
            since.zip(limit).is_some_and(|(since, limit)| now.duration_since(since) >= limit)
        };
        // A program that steps the clock detects the end of its world itself and may still be
        // computing, so it is not stopped.
        let linger = rules.speed.as_ref().map(|_| rules.linger);
        let outcome = if is_over(Some(self.started), rules.timeout) {
            Outcome::TimedOut
        } else if is_over(self.ended, linger) {
            Outcome::StoppedAtEnd
        } else {
            return;
        };
        self.program.send(StopSignal::Terminate);
        self.stopping = Some(Stopping { since: now, outcome });
    }

    /// Forwards a signal that this process has received.
    pub(super) fn forward(&self, signal: StopSignal) {
        if signal != StopSignal::Interrupt || !self.program.is_in_foreground() {
            self.program.send(signal);
        }
    }

    fn outcome(&self, status: ExitStatus) -> Outcome {
        match (self.stopping, signal_of(status)) {
            (Some(Stopping { outcome, .. }), _) => outcome,
            (None, Some(signal)) => Outcome::Signalled { signal },
            (None, None) => Outcome::Exited { code: exit_code(status) },
        }
    }

    /// Reads the results of the program.
    pub(super) fn finish(self, outcome: Outcome) -> Result<Finished, Failure> {
        let elapsed = self.started.elapsed();
        self.watch.finish();
        let Collected { record, mut notes } = collect::record(&self.world.client, &self.opening)?;
        let mut report = Report::of(&record);
        notes.append(&mut report.notes);
        notes.extend(unfinished(&record.end, &self.world.client, outcome));
        let report = Report { notes, ..report };
        let shown = self.world.client.read("/v1/world", &[])?;
        Ok(Finished {
            world: self.world.name,
            combination: self.combination,
            command: self.command,
            outcome,
            shown,
            report,
            elapsed,
        })
    }
}

/// Returns a note if the program ended long before its world.
fn unfinished(end: &Timestamp, client: &crate::client::Client, outcome: Outcome) -> Option<String> {
    let shown = client.get("/v1/world", &[]).ok()?;
    if text(&shown, "state") == "ended" || outcome == Outcome::StoppedAtEnd {
        return None;
    }
    Some(format!("the program ended at {end}, before the end of its world at {}", text(&shown, "end")))
}
