use super::walk::DayPlan;
use super::walk::Random;

/// The course of a regular day: from the open over both extremes to the close. It comes near an extreme where it has to and turns away
/// by itself; a walk that is cut off there would lie flat on it.
#[derive(Debug)]
pub(super) struct Course {
    /// At the beginning of the first minute, and at the end of each. Finer than the ticks: rounded at every step, a quiet stock would
    /// never move.
    pub(super) values: Vec<f64>,
    /// The minutes that touch the extremes.
    pub(super) at_high: usize,
    pub(super) at_low: usize,
    /// One deviation of a minute's move.
    pub(super) step: f64,
}

/// The course moves by this part of the day's range, times the square root of a part of the day, in that part.
const ROUGHNESS: f64 = 0.6;
/// A leg takes as many minutes as a move of so many deviations: quicker ones look like errors in the data.
const DEVIATIONS_MAX: f64 = 4.0;

impl Course {
    pub(super) fn draw(random: &mut Random, plan: &DayPlan, count: usize) -> Course {
        let DayPlan { open, high, low, close, .. } = *plan;
        let range = (high - low) as f64;
        let step = range * ROUGHNESS / (count as f64).sqrt();
        let (one, other) = (turning_point(random, count), turning_point(random, count));
        let is_high_first = one < other;
        let (near, far) = if is_high_first { (high, low) } else { (low, high) };

        // Two different minutes, where there are two. The three legs together take about half of the day at most.
        let last = count.saturating_sub(1);
        let gap = minutes_for(high - low, step).max(last.min(1));
        let latest = last.saturating_sub(minutes_for(far - close, step));
        let first = one.min(other).min(latest.saturating_sub(gap)).max(minutes_for(near - open, step));
        let second = one.max(other).min(latest).max(first + gap);
        let (at_high, at_low) = if is_high_first { (first, second) } else { (second, first) };

        let (open, near, far) = (open as f64, near as f64, far as f64);
        let middle = low as f64 + range * (0.35 + 0.3 * random.unit());
        let between = (first + second).div_ceil(2);
        let legs = [
            Leg { until: first + 1, from: open, to: near, extreme: near },
            Leg { until: between + 1, from: near, to: middle, extreme: near },
            Leg { until: second + 1, from: middle, to: far, extreme: far },
            Leg { until: count, from: far, to: close as f64, extreme: far },
        ];
        let mut values = Vec::with_capacity(count + 1);
        values.push(open);
        for leg in legs {
            leg.append(&mut values, random, (low as f64, range, step));
        }
        Course { values, at_high, at_low, step }
    }
}

/// A part of the course that lies on one side of an extreme.
struct Leg {
    /// The last value of it, counted from the open.
    until: usize,
    from: f64,
    to: f64,
    extreme: f64,
}

impl Leg {
    /// The distance from the extreme is that of a walk in space from a point: such a walk does not meet the point on its way, and arrives
    /// there if it has to.
    fn append(&self, values: &mut Vec<f64>, random: &mut Random, (low, range, step): (f64, f64, f64)) {
        let side = if self.extreme > low { -1.0 } else { 1.0 };
        let target = (self.to - self.extreme).abs();
        let (mut along, mut across, mut up) = ((self.from - self.extreme).abs(), 0.0, 0.0);
        while values.len() <= self.until {
            let remaining = self.until + 1 - values.len();
            along = bridge(random, along, target, remaining, step);
            across = bridge(random, across, 0.0, remaining, step);
            up = bridge(random, up, 0.0, remaining, step);
            let distance = (along * along + across * across + up * up).sqrt();
            // Thrown back at the other extreme.
            let inside = if distance > range { (2.0 * range - distance).max(0.0) } else { distance };
            values.push(self.extreme + side * inside);
        }
    }
}

/// How many minutes a way takes. Nothing moves on a day without a range.
fn minutes_for(distance: i64, step: f64) -> usize {
    let deviations = distance as f64 / (DEVIATIONS_MAX * step);
    if deviations.is_finite() { (deviations * deviations) as usize } else { 0 }
}

/// The minute of an extreme: half of them lie near the open or the close.
fn turning_point(random: &mut Random, count: usize) -> usize {
    let near_an_end = random.chance(0.5);
    let place = random.below(if near_an_end { count.div_ceil(5) } else { count }.max(1));
    if near_an_end && random.chance(0.5) { count.saturating_sub(place + 1) } else { place }
}

/// One step of a random walk that is to arrive at a target in `remaining` steps.
pub(super) fn bridge(random: &mut Random, from: f64, target: f64, remaining: usize, step: f64) -> f64 {
    let remaining = remaining.max(1) as f64;
    let pull = (target - from) / remaining;
    let spread = ((remaining - 1.0) / remaining).sqrt();
    from + pull + random.normal() * step * spread
}
