//! Levels and their thresholds, as pure functions without a database or clock.

use std::fmt;

use market::{Calendar, Date, Market, Timestamp, Zone};
use store::LevelRow;

use crate::{AccessError, Month, QUOTA_MAX};

/// An account level, 1 to 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(u8);

impl Level {
    pub const FIRST: Level = Level(1);
    pub const COUNT: usize = 6;

    pub fn new(number: u32) -> Option<Level> {
        let number = u8::try_from(number).ok()?;
        (1..=Level::COUNT).contains(&usize::from(number)).then_some(Level(number))
    }

    pub fn number(self) -> u32 {
        self.0.into()
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An exact HKD amount in units of 10⁻¹² HKD, because amounts have four decimals and exchange rates
/// have eight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hkd(pub(crate) i128);

impl Hkd {
    pub(crate) const UNIT: i128 = 1_000_000_000_000;

    pub(crate) fn whole(amount: u64) -> Hkd {
        Hkd(i128::from(amount).saturating_mul(Hkd::UNIT))
    }

    /// Formats the amount with two decimals, truncated, without currency or thousands separators.
    pub fn plain(self) -> String {
        let cents = self.0 / (Hkd::UNIT / 100);
        format!("{}.{:02}", cents / 100, cents % 100)
    }
}

/// Formats the amount as `HKD 80,000.00`. Truncates instead of rounding, so that an amount below a
/// threshold never appears to reach the threshold.
impl fmt::Display for Hkd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.plain();
        let (whole, cents) = plain.split_once('.').unwrap_or((&plain, "00"));
        let head = whole.len() % 3;
        let mut grouped = String::new();
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && index % 3 == head {
                grouped.push(',');
            }
            grouped.push(digit);
        }
        f.pad(&format!("HKD {grouped}.{cents}"))
    }
}

/// Origin of the assets and orders that determine a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Reported by an operator.
    Reported,
    /// Taken from the account's paper account.
    Paper,
}

/// Formats a suffix for an amount or count: empty for reported numbers, ` of the paper account`
/// otherwise.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Reported => "",
            Source::Paper => " of the paper account",
        })
    }
}

/// Total assets of an account on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worth {
    pub total: Hkd,
    pub source: Source,
    pub day: Date,
}

/// Number of completed orders of an account in a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonthOrders {
    pub count: u64,
    pub source: Source,
    pub month: Month,
}

/// Assets and orders that determine a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grounds {
    /// `None` if no assets had been reported or the paper account had not been opened.
    pub assets: Option<Worth>,
    pub orders: MonthOrders,
}

/// Why an account has its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The account is open and does not meet the conditions of any higher level.
    Opened,
    Assets {
        worth: Worth,
        level: Level,
    },
    Orders {
        orders: MonthOrders,
        /// The level's threshold, which the number of orders exceeds.
        exceeded: u32,
        level: Level,
    },
    /// The level was set by an operator.
    Set,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Opened => f.write_str("neither assets nor orders reach a higher level"),
            Reason::Assets { worth: Worth { total, source, day }, level } => {
                write!(f, "assets {total}{source} on {day} reach level {level}")
            }
            Reason::Orders { orders: MonthOrders { count, source, month }, exceeded, level } => {
                write!(
                    f,
                    "{count} completed orders{source} in {month} are more than the {exceeded} of level {level}"
                )
            }
            Reason::Set => f.write_str("set by the operator"),
        }
    }
}

/// The quota of a level and the conditions for earning the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub level: Level,
    /// Maximum number of securities per month.
    pub quota: u32,
    /// Minimum total assets in HKD; `None` if the level cannot be earned by assets.
    pub assets: Option<u64>,
    /// Number of monthly orders that must be exceeded; `None` if the level cannot be earned by
    /// orders.
    pub orders: Option<u32>,
}

impl Step {
    fn too_much(&self) -> Option<String> {
        let text = || format!("level {}: a quota is at most {QUOTA_MAX} securities a month", self.level);
        (self.quota > QUOTA_MAX).then(text)
    }
}

/// Partial update of a level; `None` leaves a field unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepChange {
    pub level: Level,
    pub quota: Option<u32>,
    pub assets: Option<Option<u64>>,
    pub orders: Option<Option<u32>>,
}

impl From<Step> for StepChange {
    fn from(step: Step) -> StepChange {
        let Step { level, quota, assets, orders } = step;
        StepChange { level, quota: Some(quota), assets: Some(assets), orders: Some(orders) }
    }
}

impl StepChange {
    /// Returns the changed step if the ladder stays valid. If the ladder is already invalid,
    /// because rows were edited by other means, the other steps are not checked, because repairing
    /// the ladder may take several changes.
    pub(crate) fn applied(&self, rows: &[LevelRow]) -> Result<Step, AccessError> {
        let mut steps = steps(rows);
        let was_whole = faults(&steps).is_empty();
        let known = steps.iter().find(|step| step.level == self.level);
        let known =
            known.copied().unwrap_or(Step { level: self.level, quota: 0, assets: None, orders: None });
        let step = Step {
            level: self.level,
            quota: self.quota.unwrap_or(known.quota),
            assets: self.assets.unwrap_or(known.assets),
            orders: self.orders.unwrap_or(known.orders),
        };
        steps.retain(|known| known.level != step.level);
        steps.push(step);
        steps.sort_by_key(|step| step.level);
        let fault = if was_whole { faults(&steps).into_iter().next() } else { step.too_much() };
        match fault {
            Some(fault) => Err(AccessError::Terms(fault)),
            None => Ok(step),
        }
    }
}

/// All levels in ascending order. No threshold or quota is lower than at the previous level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder(Vec<Step>);

/// Returns the reasons why the steps are not a valid ladder, or an empty list if they are valid.
fn faults(steps: &[Step]) -> Vec<String> {
    let mut faults = Vec::new();
    for number in 1..=6 {
        if !steps.iter().any(|step| step.level.number() == number) {
            faults.push(format!("level {number} is missing: a ladder has the levels 1 to 6"));
        }
    }
    faults.extend(steps.iter().filter_map(Step::too_much));
    for (step, next) in steps.iter().zip(steps.iter().skip(1)) {
        let (lower, upper) = (step.level, next.level);
        if next.quota < step.quota {
            faults.push(format!("level {upper} would have a smaller quota than level {lower}"));
        }
        if next.assets.is_none() && next.orders.is_none() {
            faults.push(format!("level {upper} could not be reached: give it assets or orders"));
        }
    }
    if steps.first().is_some_and(|step| step.assets.is_some() || step.orders.is_some()) {
        faults.push("level 1 applies to every open account: it cannot require assets or orders".to_owned());
    }
    for level in falls(steps.iter().filter_map(|step| Some((step.level, step.assets?)))) {
        faults.push(format!("the assets of level {level} would be less than those of a lower level"));
    }
    for level in falls(steps.iter().filter_map(|step| Some((step.level, step.orders?.into())))) {
        faults.push(format!("the orders of level {level} would be fewer than those of a lower level"));
    }
    faults
}

pub(crate) fn steps(rows: &[LevelRow]) -> Vec<Step> {
    let step = |row: &LevelRow| {
        let LevelRow { number, quota, assets, orders } = *row;
        Some(Step { level: Level::new(number)?, quota, assets, orders })
    };
    rows.iter().filter_map(step).collect()
}

impl Ladder {
    pub fn new(steps: Vec<Step>) -> Result<Ladder, AccessError> {
        match faults(&steps).into_iter().next() {
            Some(fault) => Err(AccessError::Terms(fault)),
            None => Ok(Ladder(steps)),
        }
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    pub fn quota(&self, level: Level) -> u32 {
        self.0.iter().find(|step| step.level == level).map_or(0, |step| step.quota)
    }

    /// Returns the highest level whose conditions are met, and the condition that was met.
    pub fn earned(&self, grounds: &Grounds) -> (Level, Reason) {
        let reason = |step: &Step| {
            let level = step.level;
            let by_assets = grounds.assets.zip(step.assets).filter(|(worth, wanted)| {
                // Both amounts are exact, so rounding cannot lift the assets over the threshold.
                worth.total >= Hkd::whole(*wanted)
            });
            if let Some((worth, _)) = by_assets {
                return Some(Reason::Assets { worth, level });
            }
            let orders = grounds.orders;
            let exceeded = step.orders.filter(|wanted| orders.count > u64::from(*wanted))?;
            Some(Reason::Orders { orders, exceeded, level })
        };
        let highest = self.0.iter().rev().find_map(|step| Some((step.level, reason(step)?)));
        highest.unwrap_or((Level::FIRST, Reason::Opened))
    }
}

/// Returns the levels whose value is lower than the value of the preceding level.
fn falls(values: impl Iterator<Item = (Level, u64)> + Clone) -> impl Iterator<Item = Level> {
    let pairs = values.clone().zip(values.skip(1));
    pairs.filter(|((_, one), (_, next))| next < one).map(|(_, (level, _))| level)
}

/// Calendar of the days on which levels change. These are Hong Kong's trading days, regardless of
/// which markets the account trades.
#[derive(Clone, Debug)]
pub(crate) struct TradingDays {
    zone: Zone,
    calendar: Calendar,
}

/// Maximum number of days searched for the next trading day. No market closes for that long.
const AHEAD_MAX: usize = 31;

impl TradingDays {
    pub(crate) fn new(calendar: Calendar) -> TradingDays {
        TradingDays { zone: Zone::of(Market::Hk), calendar }
    }

    /// Returns the date in Hong Kong.
    pub(crate) fn today(&self, now: Timestamp) -> Date {
        self.zone.date(now)
    }

    pub(crate) fn midnight(&self, day: Date) -> Timestamp {
        self.zone.midnight(day)
    }

    /// Returns the trading day whose level is in force: today if it is a trading day, otherwise the
    /// last trading day before today.
    pub(crate) fn in_force(&self, now: Timestamp) -> Date {
        self.last_until(self.today(now))
    }

    pub(crate) fn last_until(&self, day: Date) -> Date {
        self.calendar.on_or_before(day).unwrap_or(day)
    }

    /// Returns the first trading day after a date.
    pub(crate) fn first_after(&self, day: Date) -> Date {
        let after = std::iter::successors(day.tomorrow().ok(), |day| day.tomorrow().ok()).take(AHEAD_MAX);
        let mut open = after.filter(|day| self.calendar.kind(*day).is_some());
        open.next().unwrap_or(day)
    }
}
