//! `chandler world diff`: finds the first difference between two runs.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use serde_json::{Value, json};

use super::log::Lines;
use super::path_of;
use crate::client::{AccountFlags, Client};
use crate::command::trade::shown::text;
use crate::context::CommandContext;
use crate::failure::{Failure, found};
use crate::local::Purpose;
use crate::output::{self, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct Diff {
    /// Name of a world
    first: String,
    /// Name of the other world
    second: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// One of the two compared runs.
struct Run<'a> {
    lines: Lines<'a>,
    /// Versions of the data that the run has read so far, by symbol.
    versions: BTreeMap<String, Vec<Value>>,
}

/// Result of comparing two runs.
struct Compared {
    /// Number of equal events and steps.
    equal: u64,
    /// The first events or steps that differ, with `None` for a run that has already ended. `None`
    /// if the runs are equal.
    difference: Option<[Option<Value>; 2]>,
    /// Securities whose data differs, with the versions that each run has read.
    data: Vec<(String, [Vec<Value>; 2])>,
}

impl Diff {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        let compared = compare(Run::of(&client, &self.first)?, Run::of(&client, &self.second)?)?;
        let verdict = if compared.difference.is_none() { Ok(()) } else { Err(Failure::Reported) };
        let report = match self.format {
            Format::Json => output::json(&compared.document()).map_err(Failure::from),
            Format::Table => self.print(&compared),
        };
        found(report, verdict)
    }

    fn print(&self, compared: &Compared) -> Result<(), Failure> {
        let mut out = output::stdout();
        for (symbol, [first, second]) in &compared.data {
            let shown = |versions: &[Value]| Value::from(versions).to_string();
            writeln!(out, "data changed: {symbol} {}, then {}", shown(first), shown(second))?;
        }
        let count = output::thousands(compared.equal);
        match &compared.difference {
            None => writeln!(out, "equal: {count} events and steps")?,
            Some(lines) => {
                writeln!(out, "different after {count} equal events and steps")?;
                for (name, line) in [&self.first, &self.second].into_iter().zip(lines) {
                    let Some(line) = line else {
                        writeln!(out, "{name}: nothing more")?;
                        continue;
                    };
                    let (number, at) = (text(line, "number"), text(line, "at"));
                    writeln!(
                        out,
                        "{name}: line {number}, {at}, {} {}",
                        text(line, "kind"),
                        field(line, "entry")
                    )?;
                    if !field(line, "request").is_null() {
                        writeln!(out, "{name}: request {}", field(line, "request"))?;
                    }
                }
            }
        }
        Ok(out.flush()?)
    }
}

impl Compared {
    fn document(&self) -> Value {
        let data = self
            .data
            .iter()
            .map(|(symbol, [first, second])| json!({"symbol": symbol, "first": first, "second": second}));
        let difference =
            self.difference.as_ref().map(|[first, second]| json!({"first": first, "second": second}));
        json!({
            "equal": self.difference.is_none(), "equal_lines": self.equal, "data_changed": data.collect::<Vec<_>>(),
            "difference": difference,
        })
    }
}

impl<'a> Run<'a> {
    fn of(client: &'a Client, name: &str) -> Result<Run<'a>, Failure> {
        Ok(Run { lines: Lines::after(client, path_of(name)?, 0), versions: BTreeMap::new() })
    }

    /// Returns the next event or step, and records the data that was read before it.
    fn next(&mut self) -> Result<Option<Value>, Failure> {
        while let Some(line) = self.lines.next()? {
            match field(&line, "kind").as_str() {
                Some("event" | "step") => return Ok(Some(line)),
                Some("data") => {
                    let (entry, versions) = (field(&line, "entry"), field(field(&line, "entry"), "versions"));
                    let of_symbol = self.versions.entry(text(entry, "symbol")).or_default();
                    // A restarted server adds the same versions to the log again.
                    if !of_symbol.contains(versions) {
                        of_symbol.push(versions.clone());
                    }
                }
                _ => {}
            }
        }
        Ok(None)
    }
}

fn compare(mut first: Run<'_>, mut second: Run<'_>) -> Result<Compared, Failure> {
    let mut equal = 0;
    let difference = loop {
        let lines = [first.next()?, second.next()?];
        match &lines {
            [None, None] => break None,
            [Some(one), Some(other)] if field(one, "entry") == field(other, "entry") => equal += 1,
            _ => break Some(lines),
        }
    };
    let data = first.versions.into_iter().filter_map(|(symbol, versions)| {
        let other = second.versions.get(&symbol).filter(|other| **other != versions)?.clone();
        Some((symbol, [versions, other]))
    });
    Ok(Compared { equal, difference, data: data.collect() })
}
