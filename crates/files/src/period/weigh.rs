//! Tests whether the number of steps (intervals between consecutive rows) that fit a longer period
//! could be a coincidence.

use market::Period;

/// A period longer than the file's shortest possible one. [`Step`] has one bit per candidate in a
/// `u16`, so there are at most 16 candidates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub period: Period,
    /// Probability that a step in a thinly traded file of the shortest period is a multiple of this
    /// period by chance.
    pub chance: f64,
    /// Probability that a step in a thinly traded file of the shortest period is exactly one
    /// candidate period long.
    pub chance_of_one: f64,
    /// Minimum likelihood ratio to accept the candidate.
    pub odds: f64,
    /// Minimum number of fitting steps to accept the candidate.
    pub steps_min: u64,
    /// Number of consecutive steps of the shortest period that are not stray rows among candles of
    /// this period, but show that two files were joined.
    pub joined_min: usize,
}

/// Minimum likelihood ratio to accept a longer minute period. Reached by four steps of exactly five
/// minutes, or three steps of fifteen minutes.
const MINUTES_ODDS: f64 = 2_500.0;
const MINUTES_STEPS_MIN: u64 = 3;
/// Minimum run of one-minute steps that shows a joined file. Shorter runs may be stray rows: one
/// stray row between two-minute candles makes two one-minute steps, and several stray rows may be
/// adjacent.
const MINUTES_JOINED_MIN: usize = 12;

impl Candidate {
    pub(crate) fn of_minutes(period: Period, minutes: f64) -> Candidate {
        // The probability of a step of exactly n minutes is highest if there is a trade every n
        // minutes on average. The chance is computed for that worst case.
        let chance_of_one = (1.0 / minutes) * (1.0 - 1.0 / minutes).powf(minutes - 1.0);
        Candidate {
            period,
            chance: 1.0 / minutes,
            chance_of_one,
            odds: MINUTES_ODDS,
            steps_min: MINUTES_STEPS_MIN,
            joined_min: MINUTES_JOINED_MIN,
        }
    }
}

/// The evidence in one step, with a bit for each candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// Whether the step is exactly one period long.
    pub one: u16,
    /// Whether the step is several whole periods long.
    pub several: u16,
    /// Whether the step is a gap, which is no evidence for or against the candidate.
    pub silent: u16,
    /// Whether the step is exactly one shortest period long.
    pub shortest: bool,
}

impl Step {
    /// Returns whether the step fits a candidate, or is a gap in its candles. A step that does
    /// neither is evidence against all candidates.
    fn speaks(&self) -> bool {
        self.one | self.several | self.silent != 0
    }
}

/// The conclusion from the steps of one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The steps are too few to decide.
    Unclear,
    Shortest,
    Longer(Period),
    /// Some rows have the shortest period, and others have this longer period.
    Mixed(Period),
}

/// Minimum share of fitting steps, two thirds. Stray rows and holidays affect far fewer than one
/// step in three.
const MOST: (u64, u64) = (2, 3);
/// Share of the steps of exactly one period, in a file of the candidate's period.
const ONE: f64 = 0.6;
/// Share of the steps of several periods, where candles are missing.
const SEVERAL: f64 = 0.25;
/// Share of all other steps, caused by stray rows, half days and the end of a session.
const STRAY: f64 = 0.15;
/// Minimum likelihood ratio to accept a longer period for one symbol if other symbols have the
/// shortest period. One thinly traded symbol among thousands may look like five-minute candles by
/// chance, but not with these odds.
const ODDS_BEYOND_DOUBT: f64 = 1e9;
/// Minimum number of shortest-period steps for a symbol to have that period. Stray rows in a file
/// of a longer period cause fewer.
const SHORTEST_MIN: u64 = 3;
/// Minimum amount by which the share of fitting steps must exceed chance for a file to be mixed.
/// The probability of such a share must also be less than one in [`ACCIDENT_ODDS`].
const SHARE_ABOVE_CHANCE: f64 = 0.15;
const ACCIDENT_ODDS: f64 = 1e9;

/// Counts of steps for each candidate.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    counts: Vec<Count>,
    steps: u64,
    shortest: u64,
    /// Number of steps of the shortest period, except each symbol's last step: an unfinished candle
    /// may be stamped with the current time instead of the end of its period.
    shortest_inside: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    one: u64,
    several: u64,
    against: u64,
}

impl Count {
    fn fits(self) -> u64 {
        self.one + self.several
    }

    fn total(self) -> u64 {
        self.fits() + self.against
    }

    fn is_most(self, candidate: &Candidate) -> bool {
        self.fits() >= candidate.steps_min && self.fits() * MOST.1 >= self.total() * MOST.0
    }

    /// Returns the natural logarithm of the likelihood ratio of the counted steps: the likelihood
    /// in a file of the candidate's period, divided by that in a thinly traded file of the shortest
    /// period.
    fn likelihood(self, candidate: &Candidate) -> f64 {
        let chance_of_several = (candidate.chance - candidate.chance_of_one).max(candidate.chance_of_one);
        self.one as f64 * (ONE / candidate.chance_of_one).ln()
            + self.several as f64 * (SEVERAL / chance_of_several).ln().max(0.0)
            + self.against as f64 * (STRAY / (1.0 - candidate.chance)).ln()
    }
}

impl Tally {
    pub(crate) fn new(candidates: &[Candidate]) -> Tally {
        Tally { counts: vec![Count::default(); candidates.len()], steps: 0, shortest: 0, shortest_inside: 0 }
    }

    pub(crate) fn of(candidates: &[Candidate], steps: &[Step]) -> Tally {
        let mut tally = Tally::new(candidates);
        tally.steps = steps.len() as u64;
        tally.shortest = steps.iter().filter(|step| step.shortest).count() as u64;
        let is_last_shortest = steps.last().is_some_and(|step| step.shortest);
        tally.shortest_inside = tally.shortest - u64::from(is_last_shortest);
        // In most files, nearly all steps have the shortest period and count against every
        // candidate, so these steps are counted only once.
        let speaking: Vec<&Step> = steps.iter().filter(|step| step.speaks()).collect();
        let against = (steps.len() - speaking.len()) as u64;
        for (bit, count) in tally.counts.iter_mut().enumerate() {
            let mask = 1u16 << bit;
            count.against = against;
            for step in &speaking {
                match () {
                    () if step.one & mask != 0 => count.one += 1,
                    () if step.several & mask != 0 => count.several += 1,
                    () if step.silent & mask != 0 => {}
                    () => count.against += 1,
                }
            }
        }
        tally
    }

    pub(crate) fn add(&mut self, other: &Tally) {
        self.steps += other.steps;
        self.shortest += other.shortest;
        self.shortest_inside += other.shortest_inside;
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            mine.one += theirs.one;
            mine.several += theirs.several;
            mine.against += theirs.against;
        }
    }

    /// Returns whether a symbol has this period even if other symbols in the file do not. A
    /// security that trades only at the open and the close has steps of multiples of half an hour
    /// for months, so a third of the fitting steps must be exactly one period.
    pub(crate) fn is_beyond_doubt(&self, candidates: &[Candidate], period: Period) -> bool {
        let own = candidates.iter().zip(&self.counts).find(|(candidate, _)| candidate.period == period);
        own.is_some_and(|(candidate, count)| {
            count.one * 3 >= count.fits() && count.likelihood(candidate) >= ODDS_BEYOND_DOUBT.ln()
        })
    }
}

/// Returns whether it can be chance that `of_length` of `steps` steps are exactly `minutes` minutes
/// long.
pub(crate) fn is_chance(minutes: f64, of_length: u64, steps: u64) -> bool {
    let candidate = Candidate::of_minutes(Period::MINUTE, minutes);
    let count = Count { one: of_length, several: 0, against: steps - of_length };
    !count.is_most(&candidate) || count.likelihood(&candidate) < candidate.odds.ln()
}

/// Returns the candidate that most steps fit, or `None` if chance explains the steps. Steps of an
/// hour also fit half an hour, so of several fitting candidates the one with the most exact steps
/// is returned.
pub(crate) fn likeliest(candidates: &[Candidate], tally: &Tally) -> Option<Period> {
    let believed = candidates.iter().zip(&tally.counts).filter_map(|(candidate, count)| {
        let likelihood = count.likelihood(candidate);
        let is_believed = count.is_most(candidate) && likelihood >= candidate.odds.ln();
        is_believed.then_some((candidate.period, count.one, likelihood))
    });
    believed.max_by(|a, b| a.1.cmp(&b.1).then(a.2.total_cmp(&b.2))).map(|(period, ..)| period)
}

/// Returns the period that a few steps suggest, or `None` if no candidate fits most steps or a step
/// other than the last of a symbol has the shortest period.
pub(crate) fn perhaps(candidates: &[Candidate], tally: &Tally) -> Option<Period> {
    if tally.shortest_inside > 0 {
        return None;
    }
    let most = candidates.iter().zip(&tally.counts).filter(|(_, count)| {
        let Count { one, several, against } = **count;
        // The steps of unfinished candles do not count against the candidate.
        let against = against - tally.shortest.min(against);
        one * 2 >= one + several && one > 0 && (one + several) * MOST.1 >= (one + several + against) * MOST.0
    });
    most.max_by(|a, b| a.1.likelihood(a.0).total_cmp(&b.1.likelihood(b.0)))
        .map(|(candidate, _)| candidate.period)
}

pub(crate) fn weigh(candidates: &[Candidate], steps: &[Step], tally: &Tally) -> Verdict {
    if let Some(period) = likeliest(candidates, tally) {
        let own = candidates.iter().find(|candidate| candidate.period == period);
        // A run of steps of the shortest period shows that files were joined, regardless of its
        // share of the steps.
        let is_joined = |candidate: &Candidate| {
            steps.split(|step| !step.shortest).any(|run| run.len() >= candidate.joined_min)
        };
        return if own.is_some_and(is_joined) { Verdict::Mixed(period) } else { Verdict::Longer(period) };
    }
    let mixed = candidates.iter().zip(&tally.counts).enumerate().find(|(bit, (candidate, count))| {
        let mut stretches = steps.split(|step| !step.speaks());
        stretches.any(|steps| has_stretch(candidate, 1 << bit, steps)) || is_no_accident(candidate, **count)
    });
    match mixed {
        Some((_, (candidate, _))) => Verdict::Mixed(candidate.period),
        None if tally.shortest >= SHORTEST_MIN => Verdict::Shortest,
        None => Verdict::Unclear,
    }
}

/// Returns whether an unbroken run of rows has the candidate's period, as in files that were joined
/// end to end.
fn has_stretch(candidate: &Candidate, mask: u16, steps: &[Step]) -> bool {
    let (mut one, mut several) = (0u64, 0u64);
    for step in steps {
        if step.one & mask != 0 {
            one += 1;
        } else if step.several & mask != 0 {
            several += 1;
        } else if step.silent & mask == 0 {
            (one, several) = (0, 0);
        }
        let count = Count { one, several, against: 0 };
        if one * 3 >= one + several
            && one >= candidate.steps_min
            && count.likelihood(candidate) >= stretch_odds(candidate)
        {
            return true;
        }
    }
    false
}

/// Returns the natural logarithm of the minimum likelihood ratio for a run. A run may begin at any
/// of thousands of rows, so the minimum is higher than for a whole file.
fn stretch_odds(candidate: &Candidate) -> f64 {
    (candidate.odds * 1e4).ln()
}

/// Returns whether rows of two periods are interleaved: more steps fit the candidate than chance
/// allows, but not the majority.
fn is_no_accident(candidate: &Candidate, count: Count) -> bool {
    let total = count.total() as f64;
    if total < 1.0 {
        return false;
    }
    // Only steps of exactly one period count, because steps of several periods are also common in
    // thinly traded files.
    let share = count.one as f64 / total;
    let chance = candidate.chance_of_one;
    if share < chance + SHARE_ABOVE_CHANCE {
        return false;
    }
    // The probability of this share or a greater one is less than exp(-total * divergence)
    // (Chernoff-Hoeffding bound).
    let against = 1.0 - share;
    let rest = if against > 0.0 { against * (against / (1.0 - chance)).ln() } else { 0.0 };
    total * (share * (share / chance).ln() + rest) >= ACCIDENT_ODDS.ln()
}
