//! Random questions and what their times come to.

use std::io::Write;
use std::time::{Duration, Instant};

/// Runs of each question; the best p50 is reported, because the machine may be shared.
pub(crate) const RUNS: usize = 3;
/// Questions in a run.
pub(crate) const QUESTIONS: usize = 500;

/// A small generator: the bench asks the same questions every time.
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

/// Asks `QUESTIONS` times in each of `RUNS` runs and prints name, p50, p90 and p99 in microseconds (of the run with the
/// best p50), median p50 of the runs, and the mean size of an answer. `ask` returns the answer's size; `make`, which makes
/// the question, is not timed.
pub(crate) fn measure<Q>(
    name: &str,
    mut make: impl FnMut(&mut Random) -> Q,
    mut ask: impl FnMut(&Q) -> anyhow::Result<usize>,
) -> anyhow::Result<()> {
    let mut random = Random::new(42);
    let mut runs: Vec<[f64; 3]> = Vec::new();
    let mut size = 0usize;
    for _ in 0..RUNS {
        let mut times = Vec::with_capacity(QUESTIONS);
        for _ in 0..QUESTIONS {
            let question = make(&mut random);
            let began = Instant::now();
            size += ask(&question)?;
            times.push(began.elapsed());
        }
        times.sort_unstable();
        runs.push([50, 90, 99].map(|percent| micros(times.get(QUESTIONS * percent / 100))));
    }
    runs.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (best, median) = (runs.first().copied().unwrap_or_default(), runs.get(RUNS / 2).copied().unwrap_or_default());
    let [p50, p90, p99] = best;
    let [median, ..] = median;
    let size = size / (RUNS * QUESTIONS);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{name}\t{p50:.1}\t{p90:.1}\t{p99:.1}\t{median:.1}\t{size}")?;
    out.flush()?;
    Ok(())
}

fn micros(time: Option<&Duration>) -> f64 {
    time.map_or(0.0, |time| time.as_secs_f64() * 1e6)
}
