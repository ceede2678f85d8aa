//! `chandler world run`: runs a program in a world and reports on its trades.
//!
//! [`place`] finds or starts the server, [`program`] starts the program, and [`job`] drives both
//! until the program has ended. [`collect`] reads the results from the account, and [`report`],
//! which is pure, computes the figures. [`print`] and [`html`] write them.

mod chart;
mod check;
mod collect;
mod fake_time;
mod html;
mod job;
mod place;
mod print;
mod program;
mod report;
mod sweep;
mod watch;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use access::parse_instant;
use clap::Args;
use market::{Market, Timestamp, Zone};
use serde_json::{Map, Value, json};

use self::check::{CHECKS_MAX, Check};
use self::fake_time::FakeTime;
use self::job::{Finished, Job, Rules, Start};
use self::place::{EnteredWorld, Place, WorldNames};
use self::program::{OutputTo, Program, StopSignal};
use self::report::Figure;
use self::sweep::{Combination, Sweep};
use self::watch::Watch;
use super::words::{SkipName, cash_of, speed_of};
use crate::client::AccountFlags;
use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{CHECK_FAILED, Failure, STOPPED, found, usage};
use crate::output::{self, Format};
use crate::paper_flags::PaperFlags;
use crate::progress;

/// Interval between polls of all jobs.
const TICK: Duration = Duration::from_millis(10);

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// An existing world, whose API key is in the environment [default: a new world]
    #[arg(value_name = "WORLD", conflicts_with_all = ["from", "to", "name", "cash", "markets", "overnight", "skip", "delete", "sweeps", "PaperFlags"])]
    world: Option<String>,
    /// First instant of a new world, or a date: its first moment in Hong Kong
    #[arg(long, value_name = "INSTANT", required_unless_present = "world")]
    from: Option<String>,
    /// Last instant, or a date, which ends at 09:00 in Hong Kong on the next day [default: when the
    /// last stored candle is complete]
    #[arg(long, value_name = "INSTANT")]
    to: Option<String>,
    /// Name of the new world [default: run- and the time]
    #[arg(long)]
    name: Option<String>,
    /// Initial cash [default: HKD=1000000,USD=100000]
    #[arg(long, value_name = "HKD=500000,USD=20000", value_delimiter = ',')]
    cash: Vec<String>,
    /// Markets whose trading hours count
    #[arg(long, value_name = "MARKETS", default_value = "HK,US", value_delimiter = ',')]
    markets: Vec<String>,
    /// Count night sessions too
    #[arg(long)]
    overnight: bool,
    /// Whether a running clock skips hours in which no market is open
    #[arg(long, value_enum, default_value_t)]
    skip: SkipName,
    #[command(flatten)]
    paper: PaperFlags,
    /// Start the clock when the program has subscribed: market seconds per second, or max [default:
    /// the program steps]
    #[arg(long, value_name = "N|max")]
    speed: Option<String>,
    /// With --speed: seconds that the program has to exit after its world has ended
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(..=86_400))]
    linger: u64,
    /// Stop the program after this number of seconds, with exit code 124
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    timeout: Option<u64>,
    /// Show the world's time as the program's own clock, with the library libfaketime
    #[arg(long)]
    fake_time: bool,
    /// Delete the world after the report
    #[arg(long)]
    delete: bool,
    /// Condition on a figure, such as 'max_drawdown < 20%'; if it fails, the exit code is 3
    #[arg(long = "check", value_name = "CONDITION")]
    checks: Vec<Check>,
    /// Run each combination of values in a separate world: {fast} in the command is replaced, and
    /// CHANDLER_SWEEP_FAST is set
    #[arg(long = "sweep", value_name = "fast=5,10,20")]
    sweeps: Vec<Sweep>,
    /// Number of concurrent runs of a sweep
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    jobs: u16,
    /// Figure that sorts the table of a sweep, best first
    #[arg(long, value_name = "FIGURE", default_value = "return")]
    sort: Figure,
    /// Also write the report as an HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    progress: progress::Flags,
    #[command(flatten)]
    whose: AccountFlags,
    /// The program and its arguments, after --
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

impl Arguments {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        // All arguments are checked before a world is created.
        let combinations = sweep::combinations(&self.sweeps).map_err(usage)?;
        if self.checks.len() > CHECKS_MAX {
            return Err(usage(format!("at most {CHECKS_MAX} checks can be given")));
        }
        if self.html.is_some() && !self.sweeps.is_empty() {
            return Err(usage("--html is for one run: omit it, or --sweep"));
        }
        let folder =
            self.html.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            return Err(usage(format!("--html: there is no folder {}", folder.display())));
        }
        for combination in &combinations {
            program::check_exists(&combination.substitute(&self.command))?;
        }
        let library = if self.fake_time { Some(fake_time::library()?) } else { None };
        let body = self.body()?;
        let rules = Rules {
            speed: self.speed.as_deref().map(running_speed).transpose()?,
            timeout: self.timeout.map(Duration::from_secs),
            linger: Duration::from_secs(self.linger),
        };
        let signals = Signals::listen()?;
        let place = Place::open(&self.whose, context)?;
        let runner = Runner { arguments: self, place: &place, body, rules, library, signals };
        let (finished, failed) = runner.run_all(combinations);
        let was_stopped = runner.signals.was_stopped();
        let printed = self.print(&finished);
        let worlds: Vec<String> = finished.iter().map(|one| one.world.clone()).collect();
        let delete: &[String] = if self.delete { &worlds } else { &[] };
        place.close(delete, &self.whose, context)?;
        if let Some(failure) = failed {
            printed?;
            return Err(failure);
        }
        found(printed, self.verdict(&finished, was_stopped))
    }

    /// Returns the settings of a new world. A date as the last instant means the end of its last
    /// session, like the dates of equity curves.
    fn body(&self) -> Result<Value, Failure> {
        let mut fields = Map::new();
        let Some(from) = &self.from else { return Ok(fields.into()) };
        let start = parse_instant(from).map_err(|error| usage(format!("--from: {error}")))?;
        fields.insert("start".to_owned(), start.to_string().into());
        if let Some(to) = &self.to {
            let end = parse_instant(to).map_err(|error| usage(format!("--to: {error}")))?;
            let day = |at| Zone::of(Market::Hk).date(at);
            let is_date = !to.contains('T');
            if is_date && day(end) < day(start) || !is_date && end <= start {
                return Err(usage(format!("--to {to} is not after --from {from}")));
            }
            let end = if is_date { end_of_date(end) } else { end };
            fields.insert("end".to_owned(), end.to_string().into());
        }
        if !self.cash.is_empty() {
            fields.insert("cash".to_owned(), cash_of(&self.cash)?);
        }
        fields.extend(self.paper.fields()?);
        fields.insert("markets".to_owned(), json!(self.markets));
        fields.insert("overnight".to_owned(), self.overnight.into());
        fields.insert("skip".to_owned(), self.skip.as_str().into());
        Ok(fields.into())
    }

    fn print(&self, finished: &[Finished]) -> Result<(), Failure> {
        if !self.sweeps.is_empty() {
            return print::sweep(finished, self.sort, &self.checks, self.format);
        }
        let Some(one) = finished.first() else { return Ok(()) };
        let results: Vec<_> = self.checks.iter().map(|check| check.of(&one.report)).collect();
        let printed = print::one(one, &results, self.format);
        if let Some(path) = &self.html {
            output::file(path, |out| Ok(write!(out, "{}", html::page(one, &results))?))?;
        }
        printed
    }

    /// Returns the exit code of the first failed program, otherwise that of an interrupted command,
    /// otherwise that of failed checks.
    fn verdict(&self, finished: &[Finished], was_stopped: bool) -> Result<(), Failure> {
        for one in finished {
            if let Some(text) = one.outcome.note() {
                let combination = one.combination.text();
                let lead = if combination.is_empty() { String::new() } else { format!("{combination}: ") };
                output::note(format_args!("chandler: {lead}{text}"));
            }
        }
        let code = finished.iter().map(|one| one.outcome.exit_code()).find(|code| *code != 0);
        if let Some(code) = code {
            return Err(Failure::Exit(code));
        }
        if was_stopped {
            return Err(Failure::Exit(STOPPED));
        }
        let mut failed = false;
        for one in finished {
            for result in self.checks.iter().map(|check| check.of(&one.report)).filter(|one| !one.passed) {
                failed = true;
                let combination = one.combination.text();
                let lead = if combination.is_empty() { String::new() } else { format!("{combination}: ") };
                output::note(format_args!("chandler: {lead}check {}", result.line()));
            }
        }
        if failed { Err(Failure::Exit(CHECK_FAILED)) } else { Ok(()) }
    }

    /// Returns the candidate names of a new world. `number` distinguishes the worlds of a sweep.
    fn names(&self, number: Option<usize>) -> WorldNames {
        let base = self.name.clone().unwrap_or_else(|| {
            let (date, seconds) = Zone::of(Market::Hk).local(Clock::Machine.now());
            let digits = date.to_string().replace('-', "");
            format!("run-{digits}-{:02}{:02}{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        });
        let base = number.map_or_else(|| base.clone(), |number| format!("{base}-{number}"));
        WorldNames { base, is_given: self.name.is_some() }
    }
}

/// Returns the speed of a running clock as JSON, or an error if it is invalid.
fn running_speed(text: &str) -> Result<Value, Failure> {
    let speed = speed_of(text);
    let is_running = match speed.as_f64() {
        Some(number) => (0.001..=1e6).contains(&number),
        None => text == "max",
    };
    if is_running {
        Ok(speed)
    } else {
        Err(usage(format!("--speed {text}: write a number from 0.001 to 1000000, or max")))
    }
}

/// 09:00 in Hong Kong on the day after a date. The US session of the date has ended by then.
fn end_of_date(midnight: Timestamp) -> Timestamp {
    const HOURS: i64 = 24 + 9;
    Timestamp(midnight.0.saturating_add(HOURS * 3600))
}

/// Signals for this process, which are forwarded to the programs.
#[derive(Debug)]
struct Signals {
    interrupt: Arc<AtomicBool>,
    terminate: Arc<AtomicBool>,
    stopped: AtomicBool,
}

impl Signals {
    fn listen() -> Result<Signals, Failure> {
        let (interrupt, terminate) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&interrupt))?;
        signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&terminate))?;
        Ok(Signals { interrupt, terminate, stopped: AtomicBool::new(false) })
    }

    /// Returns the signals since the last call.
    fn taken(&self) -> Vec<StopSignal> {
        let both = [(&self.interrupt, StopSignal::Interrupt), (&self.terminate, StopSignal::Terminate)];
        let new: Vec<StopSignal> = both
            .into_iter()
            .filter(|(flag, _)| flag.swap(false, Ordering::SeqCst))
            .map(|(_, one)| one)
            .collect();
        if !new.is_empty() {
            self.stopped.store(true, Ordering::SeqCst);
        }
        new
    }

    fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }
}

struct Runner<'a> {
    arguments: &'a Arguments,
    place: &'a Place,
    body: Value,
    rules: Rules,
    library: Option<PathBuf>,
    signals: Signals,
}

impl Runner<'_> {
    /// Runs all combinations, `--jobs` at a time. A failure stops the remaining runs, and is
    /// returned with the completed runs.
    fn run_all(&self, combinations: Vec<Combination>) -> (Vec<Finished>, Option<Failure>) {
        let mut finished: Vec<(usize, Finished)> = Vec::new();
        let failed = self.drive(combinations, &mut finished).err();
        finished.sort_by_key(|(number, _)| *number);
        (finished.into_iter().map(|(_, one)| one).collect(), failed)
    }

    fn drive(
        &self,
        combinations: Vec<Combination>,
        finished: &mut Vec<(usize, Finished)>,
    ) -> Result<(), Failure> {
        let is_sweep = !self.arguments.sweeps.is_empty();
        let mut waiting: VecDeque<(usize, Combination)> = combinations.into_iter().enumerate().collect();
        let mut running: Vec<(usize, Job)> = Vec::new();
        loop {
            while running.len() < usize::from(self.arguments.jobs)
                && !self.signals.was_stopped()
                && let Some((number, combination)) = waiting.pop_front()
            {
                running.push((number, self.start(is_sweep.then_some(number + 1), combination)?));
            }
            for signal in self.signals.taken() {
                running.iter().for_each(|(_, job)| job.forward(signal));
            }
            let mut at = 0;
            while let Some((_, job)) = running.get_mut(at) {
                match job.tick(&self.rules)? {
                    None => at += 1,
                    Some(outcome) => {
                        let (number, job) = running.swap_remove(at);
                        finished.push((number, job.finish(outcome)?));
                    }
                }
            }
            if running.is_empty() && (waiting.is_empty() || self.signals.was_stopped()) {
                return Ok(());
            }
            thread::sleep(TICK);
        }
    }

    fn start(&self, number: Option<usize>, combination: Combination) -> Result<Job, Failure> {
        let arguments = self.arguments;
        let world = match &arguments.world {
            Some(name) => self.place.existing(name)?,
            None => self.place.create(&arguments.names(number), &self.body)?,
        };
        let opening = collect::opening(&world.client)?;
        let fake = match &self.library {
            Some(_) => Some(FakeTime::start(&world.name, opening.at)?),
            None => None,
        };
        let shown = world.client.read("/v1/world", &[])?;
        let range = (opening.at, collect::instant(&shown, "end")?);
        let prefix = number.map_or_else(String::new, |_| format!("[{}] ", combination.text()));
        let bar = number.is_none().then(|| Arc::new(arguments.progress.range(watch::PARTS)));
        let output = match (&bar, arguments.format) {
            (None, _) => OutputTo::Prefixed(prefix.clone()),
            (Some(bar), _) if bar.is_shown() => OutputTo::Above(Arc::clone(bar), arguments.format),
            (Some(_), Format::Json) => OutputTo::Stderr,
            (Some(_), Format::Table) => OutputTo::Inherited,
        };
        let command = combination.substitute(&arguments.command);
        let environment = self.environment(&world, &combination, fake.as_ref());
        let program = Program::start(&command, &environment, output)?;
        let watch = Watch::new(arguments.progress, bar, prefix, range);
        let start = Start { world, combination, command, opening, program, fake, watch };
        Ok(Job::new(start, &self.rules))
    }

    fn environment(
        &self,
        world: &EnteredWorld,
        combination: &Combination,
        fake: Option<&FakeTime>,
    ) -> Vec<(String, String)> {
        let mut all = world.environment.clone();
        all.extend(combination.environment());
        if let (Some(fake), Some(library)) = (fake, &self.library) {
            all.extend(fake.environment(library));
        }
        all
    }
}
