//! `chandler world log`: prints the log of a world, line by line.

use std::collections::VecDeque;

use clap::Args;
use serde_json::Value;

use super::path_of;
use crate::client::{AccountFlags, Client};
use crate::command::trade::shown::{self, json, rows, text};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::local::Purpose;
use crate::output::{self, Column, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct Log {
    /// Name of the world
    name: String,
    /// Only lines after this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// Maximum number of lines
    #[arg(long, short = 'n', value_name = "N", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    limit: u32,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Log {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.client(Purpose::Watchlists, context)?;
        let mut lines = Lines::after(&client, path_of(&self.name)?, self.after);
        let mut shown = Vec::new();
        while let (true, Some(line)) = (shown.len() < self.limit as usize, lines.next()?) {
            shown.push(line);
        }
        if self.format == Format::Json {
            // `json` also converts the times within journal entries.
            return json(&serde_json::json!({"lines": shown}));
        }
        let columns = [Column::Right("line"), Column::Left("time"), Column::Right("step")];
        let columns = [&columns[..], &["kind", "entry"].map(Column::Left)].concat();
        let cells = shown.iter().map(|line| {
            let entry = field(line, "entry").to_string();
            vec![text(line, "number"), text(line, "at"), text(line, "step"), text(line, "kind"), entry]
        });
        shown::table(output::table(&columns, cells), "no lines")
    }
}

/// The lines of a world, read in pages.
pub(super) struct Lines<'a> {
    client: &'a Client,
    path: String,
    /// Number after which the next page begins; `None` after the last page.
    after: Option<u64>,
    page: VecDeque<Value>,
}

impl<'a> Lines<'a> {
    pub(super) fn after(client: &'a Client, path: String, after: u64) -> Lines<'a> {
        Lines { client, path: format!("{path}/log"), after: Some(after), page: VecDeque::new() }
    }

    pub(super) fn next(&mut self) -> Result<Option<Value>, Failure> {
        if let (true, Some(after)) = (self.page.is_empty(), self.after) {
            let page = self.client.read(&self.path, &[("after", after.to_string())])?;
            self.after = field(&page, "next").as_u64();
            self.page.extend(rows(&page, "lines").iter().cloned());
        }
        Ok(self.page.pop_front())
    }
}
