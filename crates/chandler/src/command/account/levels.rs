//! `chandler account levels`: lists and changes the levels.

use std::io::Write;

use access::{Access, AccessError, Actor, Level, Present, Step, StepChange};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::failure::{Failure, theirs, usage};
use crate::output::{self, Column, Format, say};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Change a level; values that are not given stay unchanged
    Set(Set),
}

#[derive(Debug, Args)]
struct Set {
    #[arg(value_parser = clap::value_parser!(u32).range(1..=6))]
    level: u32,
    /// Number of securities per month
    #[arg(long, value_name = "N")]
    quota: Option<u32>,
    /// Minimum total assets in HKD, or `none`
    #[arg(long, value_name = "HKD|none")]
    assets: Option<String>,
    /// Number of completed orders per month that must be exceeded, or `none`
    #[arg(long, value_name = "N|none")]
    orders: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Arguments {
    pub(super) fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        match &self.action {
            Some(Action::Set(set)) => set.run(access, present),
            None => list(access, self.format),
        }
    }
}

impl Set {
    fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        let Set { quota, assets, orders, .. } = self;
        if quota.is_none() && assets.is_none() && orders.is_none() {
            return Err(usage("nothing to change: give --quota, --assets or --orders"));
        }
        let change = StepChange {
            level: Level::new(self.level).ok_or_else(|| usage("a level is a number from 1 to 6"))?,
            quota: *quota,
            assets: number(assets.as_deref())?,
            orders: number(orders.as_deref())?,
        };
        let step = access.change_level(change, &Actor::Operator, present).map_err(theirs)?;
        let text = format!("level {}: {} securities a month, {}", step.level, step.quota, condition(&step));
        say(self.format, &text, step_json(&step))?;
        tell_fault(access, self.format)
    }
}

/// Prints a warning if the levels contradict each other, which is possible if the rows were edited
/// directly. No account is served until the levels are corrected.
fn tell_fault(access: &Access, format: Format) -> Result<(), Failure> {
    match access.ladder() {
        Err(AccessError::Terms(fault)) => {
            let text = format!(
                "the levels contradict each other, so no account is served: {fault}; correct them with `levels set`"
            );
            if format == Format::Json {
                output::note(text);
                return Ok(());
            }
            say(format, &text, Value::Null)
        }
        other => Ok(other.map(drop)?),
    }
}

/// Parses a number or `none`. The outer `None` means that no value was given; the inner `None`
/// means `none`.
fn number<T: std::str::FromStr>(text: Option<&str>) -> Result<Option<Option<T>>, Failure> {
    match text {
        None => Ok(None),
        Some("none") => Ok(Some(None)),
        Some(text) => match text.parse() {
            Ok(number) => Ok(Some(Some(number))),
            Err(_) => Err(usage(format!("{text:?} is not a whole number: write one, or none"))),
        },
    }
}

fn list(access: &Access, format: Format) -> Result<(), Failure> {
    let steps = access.steps()?;
    if format == Format::Json {
        return Ok(output::json(&steps.iter().map(step_json).collect::<Vec<Value>>())?);
    }
    let columns = [Column::Right("level"), Column::Right("quota"), Column::Left("requires")];
    let rows = steps.iter().map(|step| vec![step.level.to_string(), step.quota.to_string(), condition(step)]);
    let mut out = output::stdout();
    writeln!(out, "{}", output::text(output::table(&columns, rows)))?;
    out.flush()?;
    tell_fault(access, format)
}

fn step_json(step: &Step) -> Value {
    json!({"level": step.level.number(), "quota": step.quota, "assets": step.assets, "orders": step.orders})
}

fn condition(step: &Step) -> String {
    let assets = step.assets.map(|assets| format!("assets of HKD {} or more", output::thousands(assets)));
    let orders =
        step.orders.map(|orders| format!("more than {} orders a month", output::thousands(orders.into())));
    match (assets, orders) {
        (None, None) => "an open account".to_owned(),
        (one, other) => [one, other].into_iter().flatten().collect::<Vec<_>>().join(", or "),
    }
}
