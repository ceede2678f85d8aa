//! Derives corporate actions from actual and adjusted daily candles, and stores them.

use history::import::ImportError;
use history::mirror::MirrorStore;
use market::{Action, Candle, Candles, Symbol, Timestamp, Zone};
use mirror::factors::{Cause, DayPair, Derived, Event, Interval, Problem};
use num_bigint::BigInt;
use num_rational::Ratio;
use num_traits::Zero;
use store::{DerivedFactor, FactorKind, MirrorId, MirrorReport};

/// Result of deriving the corporate actions of a security.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derivation {
    pub events: usize,
    pub reports: Vec<MirrorReport>,
}

/// Number of decimals of stored interval bounds.
const DECIMALS: u32 = 12;

/// Derives and stores the corporate actions of a security.
pub fn derive(
    store: &mut MirrorStore,
    id: MirrorId,
    symbol: &Symbol,
    now: Timestamp,
) -> Result<Derivation, ImportError> {
    let (actual, adjusted) = (store.actual_days(symbol)?, store.received_days(id, symbol)?);
    let pairs = pairs(symbol, &actual, &adjusted);
    let derived = mirror::factors::derive(&pairs);
    let factors: Vec<DerivedFactor> = derived.events.iter().map(factor).collect();
    let mut reports: Vec<MirrorReport> = derived
        .problems
        .iter()
        .map(|problem| report(symbol, "factors", problem_text(problem), now))
        .collect();
    store.write(|batch| {
        let before = batch.derived_factors(symbol)?;
        let stored = batch.actions(symbol)?;
        let mut actions: Vec<Action> = Vec::new();
        for event in &derived.events {
            let own = before.iter().find(|factor| factor.ex_date == event.ex_date).and_then(action_of);
            let others: Vec<&Action> =
                stored.iter().filter(|action| action.ex_date == event.ex_date).collect();
            match event.action() {
                // An imported action is more reliable than a derived one.
                Some(action) if others.iter().all(|other| Some(*other) == own.as_ref()) => {
                    actions.push(action)
                }
                Some(action) if !others.contains(&&action) => {
                    let text = format!(
                        "{}: the stored corporate action was not replaced by {}",
                        event.ex_date,
                        text(event)
                    );
                    reports.push(report(symbol, "factors", text, now));
                }
                _ => {}
            }
        }
        if !actions.is_empty() {
            batch.replace_actions(symbol, &actions)?;
        }
        batch.put_derived_factors(symbol, &factors)?;
        for report in &reports {
            batch.add_mirror_report(id, report)?;
        }
        Ok(())
    })?;
    Ok(Derivation { events: derived_events(&derived), reports })
}

fn derived_events(derived: &Derived) -> usize {
    derived.events.len()
}

/// Returns the days that are in both lists.
fn pairs(symbol: &Symbol, actual: &Candles, adjusted: &Candles) -> Vec<DayPair> {
    let zone = Zone::of(symbol.market());
    let mut received = adjusted.iter().peekable();
    let prices = |candle: &Candle| [candle.open, candle.high, candle.low, candle.close];
    let mut pairs = Vec::new();
    for day in actual.iter() {
        while received.next_if(|candle| candle.time < day.time).is_some() {}
        if let Some(candle) = received.next_if(|candle| candle.time == day.time) {
            let (actual, adjusted) = (prices(&day), prices(&candle));
            pairs.push(DayPair { date: zone.date(day.time), actual, adjusted });
        }
    }
    pairs
}

fn factor(event: &Event) -> DerivedFactor {
    let (kind, amount, width) = match &event.cause {
        Cause::Cash { amount, width } => (FactorKind::Cash, *amount, width.to_string()),
        Cause::Split(split) => (FactorKind::Split, *split, "0".to_owned()),
        Cause::Bare(factor) => (FactorKind::Bare, *factor, "0".to_owned()),
    };
    let Interval { low, high } = &event.factor;
    let (low, high) = (decimal(low), decimal(high));
    DerivedFactor { ex_date: event.ex_date, kind, amount, low, high, width }
}

/// Returns the corporate action that was stored with a derived factor, or `None` for a bare factor.
fn action_of(factor: &DerivedFactor) -> Option<Action> {
    let none = Action::none(factor.ex_date);
    match factor.kind {
        FactorKind::Cash => Some(Action { cash: factor.amount, ..none }),
        FactorKind::Split => Some(Action { split: factor.amount, ..none }),
        FactorKind::Bare => None,
    }
}

fn text(event: &Event) -> String {
    match &event.cause {
        Cause::Cash { amount, width } => format!("cash {amount} ± {width}"),
        Cause::Split(split) => format!("split {split}"),
        Cause::Bare(factor) => format!("factor {factor}"),
    }
}

fn problem_text(problem: &Problem) -> String {
    match problem {
        Problem::Inconsistent(date) => {
            format!("{date}: the adjusted prices of this day have no common factor")
        }
        Problem::NotCurrent(Interval { low, high }) => {
            format!("the newest day is adjusted, by {} to {}", decimal(low), decimal(high))
        }
        Problem::Ambiguous { ex_date, cash } => {
            format!("{ex_date}: a split is stored; cash of {cash} would explain the prices as well")
        }
        Problem::Unexplained(date) => {
            format!("{date}: probably several corporate actions, stored as a factor without shares")
        }
    }
}

fn report(symbol: &Symbol, kind: &str, content: String, at: Timestamp) -> MirrorReport {
    MirrorReport { kind: kind.to_owned(), symbol: Some(symbol.clone()), content, at }
}

/// Formats a number as a decimal, rounded down.
fn decimal(number: &Ratio<BigInt>) -> String {
    let unit = BigInt::from(10u64.pow(DECIMALS));
    let scaled = (number * Ratio::from_integer(unit.clone())).floor().to_integer();
    let (whole, rest) = (&scaled / &unit, &scaled % &unit);
    let sign = if scaled < BigInt::zero() { "-" } else { "" };
    let (whole, rest) = (whole.magnitude().to_string(), rest.magnitude().to_string());
    let padded = format!("{rest:0>width$}", width = DECIMALS as usize);
    let rest = padded.trim_end_matches('0');
    if rest.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}
