//! `chandler move`: copies a store from a directory to PostgreSQL or back.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use access::{Access, check_key_target, hand_over_key, key_file};
use clap::Args;
use serde_json::{Value, json};
use store::{Accounts, Copied, Move, MoveError, MoveProgress, MoveStage, Part, StoreUrl};

use super::backup::Interruptible;
use crate::clock::Clock;
use crate::context::{self, CommandContext, shell_word, store_word};
use crate::failure::{Failure, usage};
use crate::output::{self, Column, Format};
use crate::progress::{Bar, Flags};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Source store: sqlite:DIR or postgres://USER@HOST/DATABASE; it is not changed
    #[arg(long, value_name = "STORE")]
    from: String,
    /// Destination: an empty directory or database
    #[arg(long, value_name = "STORE")]
    to: String,
    #[command(flatten)]
    progress: Flags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let from = context::place(&arguments.from, "--from")?;
    let to = context::place(&arguments.to, "--to")?;
    let watched = Interruptible::begin(arguments.progress)?;
    let keys = Keys::of(&from, &to, context)?;
    keys.check()?;
    let moving = Move { from: &from, to: &to, now: Clock::Machine.now() };
    let copied = copy(&moving, &watched, arguments.progress).map_err(|error| match error {
        MoveError::Stopped => Failure::Interrupted(
            "stopped: the copied data remains, and the same command continues from there".to_owned(),
        ),
        error @ MoveError::Same { .. } => usage(error),
        error => error.into(),
    })?;
    keys.hand_over(&copied, &to)?;
    let (tables, resumed) = (copied.tables.clone(), copied.resumed);
    copied.finish()?;
    match arguments.format {
        Format::Json => {
            let tables: Vec<Value> = tables
                .iter()
                .map(|table| {
                    json!({"database": part(table.part), "table": table.name, "rows": table.rows, "blake3": table.digest})
                })
                .collect();
            let key = keys.target().map(|path| path.display().to_string());
            output::json(&json!({
                "from": store_word(&from), "to": store_word(&to), "resumed": resumed, "key_file": key, "tables": tables,
            }))?;
        }
        Format::Table => {
            let columns = [
                Column::Left("database"),
                Column::Left("table"),
                Column::Right("rows"),
                Column::Left("BLAKE3 of both"),
            ];
            let empty = tables.iter().filter(|table| table.rows == 0).count() as u64;
            let rows = tables.iter().filter(|table| table.rows > 0).map(|table| {
                let short: String = table.digest.chars().take(16).collect();
                vec![part(table.part).to_owned(), table.name.clone(), output::thousands(table.rows), short]
            });
            let mut out = output::stdout();
            writeln!(out, "{}", output::text(output::table(&columns, rows)))?;
            writeln!(
                out,
                "moved {} to {}, including {}; the source is unchanged",
                store_word(&from),
                store_word(&to),
                output::count(empty, "empty table")
            )?;
            if let Some(path) = keys.target() {
                writeln!(
                    out,
                    "the key file for its app secrets is {}: store a copy elsewhere",
                    path.display()
                )?;
            }
            writeln!(out, "next: chandler --store {} check", shell_word(&store_word(&to)))?;
            out.flush()?;
        }
    }
    Ok(())
}

fn part(part: Part) -> &'static str {
    match part {
        Part::Candles => "candles",
        Part::Accounts | Part::Key => "accounts",
    }
}

fn copy(moving: &Move<'_>, watched: &Interruptible, flags: Flags) -> Result<Copied, MoveError> {
    let mut shown: Option<(MoveStage, Bar)> = None;
    moving.run(&mut |progress: MoveProgress<'_>| -> ControlFlow<()> {
        if shown.as_ref().is_none_or(|(stage, _)| *stage != progress.stage) {
            // The old bar is removed first, or both bars would be drawn on the same line.
            shown = None;
            shown = Some((progress.stage, flags.count(progress.rows_total, "rows")));
        }
        if let Some((stage, bar)) = &shown {
            let word = match stage {
                MoveStage::Copy => "copying",
                MoveStage::Compare => "comparing",
            };
            bar.say(|| format!("{word} {}", progress.table));
            bar.set(progress.rows);
        }
        watched.go_on()
    })
}

/// Key files of the source and the destination store.
struct Keys {
    /// `None` if there is no key to copy.
    files: Option<(PathBuf, PathBuf)>,
}

impl Keys {
    fn of(from: &StoreUrl, to: &StoreUrl, context: &CommandContext) -> Result<Keys, Failure> {
        if !Accounts::is_there(from)? {
            return Ok(Keys { files: None });
        }
        let file = |place: &StoreUrl| key_file(place, context.key_file_of(place).as_deref());
        let (key, target) = (file(from)?, file(to)?);
        // The key file may not exist yet, because it is created when the accounts are first opened.
        if Accounts::look(from)?.is_empty()? && !key.exists() {
            return Ok(Keys { files: None });
        }
        Access::look_at(from, Some(&key))?;
        Ok(Keys { files: Some((key, target)) })
    }

    /// Checks the destination of the key before any data is copied, so that an existing key is
    /// reported early.
    fn check(&self) -> Result<(), Failure> {
        match &self.files {
            Some((from, to)) => Ok(check_key_target(from, to)?),
            None => Ok(()),
        }
    }

    fn hand_over(&self, copied: &Copied, to: &StoreUrl) -> Result<(), Failure> {
        match &self.files {
            Some((from, target)) => Ok(hand_over_key(copied, to, from, target)?),
            None => Ok(()),
        }
    }

    fn target(&self) -> Option<&PathBuf> {
        self.files.as_ref().map(|(_, target)| target)
    }
}
