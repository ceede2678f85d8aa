//! `chandler order why`: explains an order.

use std::io::Write;

use clap::Args;

use crate::client::Whose;
use crate::command::trade::order_id;
use crate::command::trade::shown::{self, rows, text};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Format};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The id of the order
    id: String,
    #[command(flatten)]
    whose: Whose,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Arguments {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let explanation = self.whose.trader(context)?.explanation(order_id(&self.id)?)?;
        if self.format == Format::Json {
            return shown::json(&explanation);
        }
        let mut out = output::stdout();
        writeln!(out, "order {}", text(&explanation, "order_id"))?;
        for step in rows(&explanation, "steps") {
            writeln!(out, "{}  {}", text(step, "local"), text(step, "words"))?;
            for reason in rows(step, "because") {
                writeln!(out, "    {}", output::printable(reason.as_str().unwrap_or_default()))?;
            }
        }
        Ok(out.flush()?)
    }
}
