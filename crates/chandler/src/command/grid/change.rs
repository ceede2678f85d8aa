//! `chandler grid cancel`, `suspend` and `restart`: change the state of a grid.

use std::io::Write;

use clap::Args;
use serde_json::json;
use trading::GridId;

use crate::client::AccountFlags;
use crate::command::trade::{GridChange, grid_id};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Format};

#[derive(Debug, Args)]
pub(super) struct Cancel {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
pub(super) struct Suspend {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
pub(super) struct Restart {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, Args)]
struct Which {
    /// The id of the grid
    id: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Cancel {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        self.which.run(GridChange::Cancel, "is cancelled", context)
    }
}

impl Suspend {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        self.which.run(GridChange::Suspend, "is paused", context)
    }
}

impl Restart {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        self.which.run(GridChange::Restart, "is resumed", context)
    }
}

impl Which {
    fn run(&self, change: GridChange, words: &str, context: &CommandContext) -> Result<(), Failure> {
        let id = grid_id(&self.id)?;
        self.whose.trader(context)?.change_grid(id, change)?;
        done(self.format, &format!("grid {id} {words}"), id)
    }
}

pub(super) fn done(format: Format, text: &str, id: GridId) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(output::json(&json!({"order_id": id}))?);
    }
    let mut out = output::stdout();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}
