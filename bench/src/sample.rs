//! Random queries and the statistics of their times.

use std::io::Write;
use std::time::{Duration, Instant};

/// Runs of each query; the best p50 is reported, because the machine may be shared.
pub(crate) const RUNS: usize = 9;
/// Queries in a run.
pub(crate) const QUESTIONS: usize = 400;

/// A small random number generator: the bench runs the same queries every time.
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}

/// One run of a query: percentiles in microseconds, and the mean size of an answer.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    p50: f64,
    p90: f64,
    p99: f64,
    size: usize,
}

/// The runs of every query, by name, in order of their first run. The runs of one query are apart,
/// so that a busy second of the machine affects one run and not all of them.
#[derive(Debug, Default)]
pub(crate) struct Runs(Vec<(String, Vec<Run>)>);

impl Runs {
    /// Runs `QUESTIONS` queries. `ask` returns the answer's size; `make`, which builds the query,
    /// is not timed.
    pub(crate) fn run<Q>(
        &mut self,
        name: &str,
        random: &mut Random,
        mut make: impl FnMut(&mut Random) -> Q,
        mut ask: impl FnMut(&Q) -> anyhow::Result<usize>,
    ) -> anyhow::Result<()> {
        let mut times = Vec::with_capacity(QUESTIONS);
        let mut size = 0;
        for _ in 0..QUESTIONS {
            let question = make(random);
            let began = Instant::now();
            size += ask(&question)?;
            times.push(began.elapsed());
        }
        times.sort_unstable();
        let percentile = |percent: usize| micros(times.get(QUESTIONS * percent / 100));
        let run =
            Run { p50: percentile(50), p90: percentile(90), p99: percentile(99), size: size / QUESTIONS };
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, runs)) => runs.push(run),
            None => self.0.push((name.to_owned(), vec![run])),
        }
        Ok(())
    }

    /// A line for each query: name, p50, p90 and p99 of the run with the best p50, worst p50, size
    /// of an answer.
    pub(crate) fn print(&self) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        for (name, runs) in &self.0 {
            let best = runs.iter().min_by(|a, b| a.p50.total_cmp(&b.p50)).copied().unwrap_or_default();
            let worst = runs.iter().map(|run| run.p50).fold(0.0, f64::max);
            writeln!(
                out,
                "{name}\t{:.1}\t{:.1}\t{:.1}\t{worst:.1}\t{}",
                best.p50, best.p90, best.p99, best.size
            )?;
        }
        Ok(())
    }
}

fn micros(time: Option<&Duration>) -> f64 {
    time.map_or(0.0, |time| time.as_secs_f64() * 1e6)
}
