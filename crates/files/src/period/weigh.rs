//! Whether the number of steps that fit a longer period can be chance.

use market::Period;

/// A longer period that steps may indicate. A step has one bit for each candidate, so there are at
/// most sixteen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub period: Period,
    /// How often a step of thinly traded candles of the shortest period is a whole number of these by accident.
    pub chance: f64,
    /// How often it is exactly one.
    pub chance_of_one: f64,
    /// The likelihood ratio at which the candidate is accepted,
    pub odds: f64,
    /// and the minimum number of fitting steps: fewer may look like anything.
    pub steps_min: u64,
    /// This many consecutive steps of the shortest period are not strays among candles of this one:
    /// the file is joined from two.
    pub joined_min: usize,
}

/// Four steps of exactly five minutes are enough, three of fifteen.
const MINUTES_ODDS: f64 = 2_500.0;
const MINUTES_STEPS_MIN: u64 = 3;
/// One stray row makes two steps of a minute where candles are two minutes apart, and strays may be neighbours.
const MINUTES_JOINED_MIN: usize = 12;

impl Candidate {
    pub(crate) fn of_minutes(period: Period, minutes: f64) -> Candidate {
        // With one trade in n minutes on average, a step is exactly n minutes more often than with
        // any other number.
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

/// What one step indicates, a bit for each candidate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// It is exactly one period long.
    pub one: u16,
    /// It is several whole periods long.
    pub several: u16,
    /// It is no evidence about the candidate: a gap.
    pub silent: u16,
    /// It can only be a step of the shortest period.
    pub shortest: bool,
}

impl Step {
    /// Whether it is anything but evidence against every candidate.
    fn speaks(&self) -> bool {
        self.one | self.several | self.silent != 0
    }
}

/// What the steps of one symbol indicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Too few steps to decide.
    Unclear,
    Shortest,
    Longer(Period),
    /// A part of the rows has the shortest period, and another part this one.
    Mixed(Period),
}

/// A period needs at least two of three steps. Strays and holidays are far rarer than one in three.
const MOST: (u64, u64) = (2, 3);
/// The steps in a file of the candidate's period: mostly one period, several where candles are
/// missing, and sometimes neither, for strays, odd days and the end of a session.
const ONE: f64 = 0.6;
const SEVERAL: f64 = 0.25;
const STRAY: f64 = 0.15;
/// One thin symbol among thousands may look like five minutes by chance; not with these odds.
const ODDS_BEYOND_DOUBT: f64 = 1e9;
/// Steps of the shortest period that make a symbol one of that period. Strays in a file of a longer one give a few.
const SHORTEST_MIN: u64 = 3;
/// A share of fitting steps this far above chance, with such a small probability, is not chance:
/// the file is mixed.
const SHARE_ABOVE_CHANCE: f64 = 0.15;
const ACCIDENT_ODDS: f64 = 1e9;

/// Steps counted for each candidate.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    counts: Vec<Count>,
    steps: u64,
    shortest: u64,
    /// Of these, the ones that are not the last of their symbol: a candle that is still running is
    /// stamped with the current time, not with the end of its period.
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

    /// The logarithm of how much likelier these steps are in a file of the candidate's period than
    /// in a thin one of the shortest.
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
        // Nearly all steps of nearly all files are of the shortest period, and count against every candidate alike.
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

    /// Whether a symbol has this period whatever its neighbours in the file have. Trades at the
    /// open and the close alone are whole half hours apart for months, so a good part of the steps
    /// has to be exactly one period.
    pub(crate) fn is_beyond_doubt(&self, candidates: &[Candidate], period: Period) -> bool {
        let own = candidates.iter().zip(&self.counts).find(|(candidate, _)| candidate.period == period);
        own.is_some_and(|(candidate, count)| {
            count.one * 3 >= count.fits() && count.likelihood(candidate) >= ODDS_BEYOND_DOUBT.ln()
        })
    }
}

/// Whether it can be chance that most steps are exactly this many minutes long.
pub(crate) fn is_chance(minutes: f64, of_length: u64, steps: u64) -> bool {
    let candidate = Candidate::of_minutes(Period::MINUTE, minutes);
    let count = Count { one: of_length, several: 0, against: steps - of_length };
    !count.is_most(&candidate) || count.likelihood(&candidate) < candidate.odds.ln()
}

/// The candidate that most steps fit, if chance does not explain it. Steps of an hour fit half an
/// hour as well: of several, it is the one that most steps match exactly.
pub(crate) fn likeliest(candidates: &[Candidate], tally: &Tally) -> Option<Period> {
    let believed = candidates.iter().zip(&tally.counts).filter_map(|(candidate, count)| {
        let likelihood = count.likelihood(candidate);
        let is_believed = count.is_most(candidate) && likelihood >= candidate.odds.ln();
        is_believed.then_some((candidate.period, count.one, likelihood))
    });
    believed.max_by(|a, b| a.1.cmp(&b.1).then(a.2.total_cmp(&b.2))).map(|(period, ..)| period)
}

/// What a few steps suggest if none of them indicates the shortest period.
pub(crate) fn perhaps(candidates: &[Candidate], tally: &Tally) -> Option<Period> {
    if tally.shortest_inside > 0 {
        return None;
    }
    let most = candidates.iter().zip(&tally.counts).filter(|(_, count)| {
        let Count { one, several, against } = **count;
        // Running candles do not count against it either.
        let against = against - tally.shortest.min(against);
        one * 2 >= one + several && one > 0 && (one + several) * MOST.1 >= (one + several + against) * MOST.0
    });
    most.max_by(|a, b| a.1.likelihood(a.0).total_cmp(&b.1.likelihood(b.0)))
        .map(|(candidate, _)| candidate.period)
}

pub(crate) fn weigh(candidates: &[Candidate], steps: &[Step], tally: &Tally) -> Verdict {
    if let Some(period) = likeliest(candidates, tally) {
        let own = candidates.iter().find(|candidate| candidate.period == period);
        // However few they are.
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

/// Whether some unbroken stretch of rows has the candidate's period: files are joined end to end.
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

/// A stretch may begin at any of thousands of rows, so it needs more than the candidate's own odds.
fn stretch_odds(candidate: &Candidate) -> f64 {
    (candidate.odds * 1e4).ln()
}

/// Rows of two periods in no order: more steps fit than chance allows, and fewer than most.
fn is_no_accident(candidate: &Candidate, count: Count) -> bool {
    let total = count.total() as f64;
    if total < 1.0 {
        return false;
    }
    // Most steps of the longer period are exactly one period; several periods occur in thin files,
    // too.
    let share = count.one as f64 / total;
    let chance = candidate.chance_of_one;
    if share < chance + SHARE_ABOVE_CHANCE {
        return false;
    }
    // The probability of such a share, or a greater one, is below exp(-total * divergence) (Chernoff, Hoeffding).
    let against = 1.0 - share;
    let rest = if against > 0.0 { against * (against / (1.0 - chance)).ln() } else { 0.0 };
    total * (share * (share / chance).ln() + rest) >= ACCIDENT_ODDS.ln()
}
