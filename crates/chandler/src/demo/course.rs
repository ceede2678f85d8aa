use super::walk::DayPlan;
use super::walk::Random;

/// Price path of a regular session, from the open through both extremes to the close. The path
/// approaches each extreme and then turns away from it, whereas a clamped random walk would stay
/// flat at the extreme.
#[derive(Debug)]
pub(super) struct Course {
    /// Prices at the start of the first minute and at the end of each minute. The prices are not
    /// rounded to ticks, because with rounding at every step a quiet stock would never move.
    pub(super) values: Vec<f64>,
    /// Index of the minute that touches the day's high.
    pub(super) at_high: usize,
    /// Index of the minute that touches the day's low.
    pub(super) at_low: usize,
    /// Standard deviation of a one-minute move, in the unit of the prices.
    pub(super) step: f64,
}

/// Standard deviation of the path over a whole day, as a share of the day's range.
const ROUGHNESS: f64 = 0.6;
/// Maximum average speed of a leg, in standard deviations. A leg gets enough minutes to stay below
/// this speed, because faster moves look like errors in the data.
const DEVIATIONS_MAX: f64 = 4.0;

impl Course {
    pub(super) fn draw(random: &mut Random, plan: &DayPlan, count: usize) -> Course {
        let DayPlan { open, high, low, close, .. } = *plan;
        let range = (high - low) as f64;
        let step = range * ROUGHNESS / (count as f64).sqrt();
        let (one, other) = (turning_point(random, count), turning_point(random, count));
        let is_high_first = one < other;
        let (near, far) = if is_high_first { (high, low) } else { (low, high) };

        // If there are at least two minutes, the extremes are in different minutes. The minimum
        // lengths of the legs add up to at most about half of the day.
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

/// Part of the path between two turning points, which stays on one side of an extreme.
struct Leg {
    /// Index of the leg's last value in the path.
    until: usize,
    from: f64,
    to: f64,
    extreme: f64,
}

impl Leg {
    /// Appends the leg's values. Their distance from the extreme is the length of a
    /// three-dimensional random walk (a Bessel bridge), which is positive until the last value and
    /// ends at the target.
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
            // Reflect the path at the opposite extreme.
            let inside = if distance > range { (2.0 * range - distance).max(0.0) } else { distance };
            values.push(self.extreme + side * inside);
        }
    }
}

/// Returns the minimum number of minutes for a price distance, or 0 on a day without a price range.
fn minutes_for(distance: i64, step: f64) -> usize {
    let deviations = distance as f64 / (DEVIATIONS_MAX * step);
    if deviations.is_finite() { (deviations * deviations) as usize } else { 0 }
}

/// Returns a random minute for an extreme. Half of the extremes are near the open or the close.
fn turning_point(random: &mut Random, count: usize) -> usize {
    let near_an_end = random.chance(0.5);
    let place = random.below(if near_an_end { count.div_ceil(5) } else { count }.max(1));
    if near_an_end && random.chance(0.5) { count.saturating_sub(place + 1) } else { place }
}

/// Returns the next value of a random walk that arrives at `target` in `remaining` steps.
pub(super) fn bridge(random: &mut Random, from: f64, target: f64, remaining: usize, step: f64) -> f64 {
    let remaining = remaining.max(1) as f64;
    let pull = (target - from) / remaining;
    let spread = ((remaining - 1.0) / remaining).sqrt();
    from + pull + random.normal() * step * spread
}
