//! `chandler grid info` and `agree`: show the inputs for a new grid, and accept the risk
//! questionnaire.

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};

use crate::client::AccountFlags;
use crate::command::trade::shown::{self, amount, rows, text};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Format};
use crate::remote::field;

#[derive(Debug, Args)]
pub(super) struct Info {
    /// The security: 700.HK, AAPL.US
    symbol: String,
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Agree {
    #[command(flatten)]
    whose: AccountFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Info {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        let client = self.whose.trader(context)?;
        let symbol = client.symbol(&self.symbol, context)?;
        let info = client.grid_symbol(&symbol)?;
        if self.format == Format::Json {
            return shown::json(&info);
        }
        let mut out = output::stdout();
        for (label, words) in lines(symbol.as_str(), &info) {
            writeln!(out, "{label:<13}{words}")?;
        }
        Ok(out.flush()?)
    }
}

fn lines(symbol: &str, info: &Value) -> Vec<(&'static str, String)> {
    let channel = field(info, "channel_infos");
    let is = |name: &str| field(channel, name).as_bool() == Some(true);
    let price = match text(info, "last_done") {
        none if none.is_empty() => "none yet".to_owned(),
        price => format!("{} {price}", text(channel, "currency")),
    };
    let hours = if is("support_rth") { "regular, or with pre- and post-market" } else { "regular" };
    let mut lines = vec![
        ("security", format!("{symbol} {}", text(info, "name")).trim_end().to_owned()),
        ("price", price),
        ("lot", amount(info, "lot_size")),
        ("hours", hours.to_owned()),
        ("agreed", if is("strategy_granted") { "yes" } else { "no" }.to_owned()),
    ];
    lines.extend(rows(info, "bid_sizes").iter().enumerate().map(|(index, band)| {
        let until = match text(band, "end_proceed") {
            none if none.is_empty() => "on".to_owned(),
            end => format!("to {end}"),
        };
        let words = format!("{} from {} {until}", text(band, "bid_size"), text(band, "str_proceed"));
        (if index == 0 { "steps" } else { "" }, words)
    }));
    lines
}

impl Agree {
    pub(super) fn run(&self, context: &CommandContext) -> Result<(), Failure> {
        self.whose.trader(context)?.agree_to_strategy()?;
        if self.format == Format::Json {
            return Ok(output::json(&json!({}))?);
        }
        let mut out = output::stdout();
        writeln!(out, "accepted: grids can be submitted")?;
        Ok(out.flush()?)
    }
}
