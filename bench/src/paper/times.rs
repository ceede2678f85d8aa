//! Times of many runs, and their statistics.

use std::time::{Duration, Instant};

#[derive(Clone, Debug, Default)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time.as_secs_f64());
    }

    /// In seconds, by percent: 50 is the median, 100 the worst.
    pub(crate) fn at(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let place = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(place).copied().unwrap_or_default()
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(50)
    }

    pub(crate) fn extend(&mut self, other: Times) {
        self.0.extend(other.0);
    }
}

impl FromIterator<f64> for Times {
    fn from_iter<I: IntoIterator<Item = f64>>(times: I) -> Times {
        Times(times.into_iter().collect())
    }
}

pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let began = Instant::now();
    let made = work();
    (began.elapsed(), made)
}

/// Processor time of this thread so far, user and system, in seconds; 0 if the system does not
/// report it.
pub(crate) fn processor() -> f64 {
    let usage = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = usage.split_whitespace().next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    nanoseconds / 1e9
}
