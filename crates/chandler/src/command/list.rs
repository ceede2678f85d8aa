//! `chandler list`: lists the stored securities, one per line, from the local store or a server.

use std::cmp::Reverse;
use std::io::Write;

use clap::{Args, ValueEnum};
use market::Market;
use serde_json::Value;
use store::Access;

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::remote::session::Session;
use crate::remote::{self, field};
use crate::{progress, suggest};

const PATH: &str = "/v1/inventory";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Part of a code or a name [default: all securities]
    query: Vec<String>,
    /// Only securities of this market
    #[arg(long, value_enum, ignore_case = true)]
    market: Option<MarketArgument>,
    /// Sort by gaps in the last 91 days, most first
    #[arg(long)]
    worst: bool,
    /// Maximum number of securities
    #[arg(long, short = 'n', default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    count: u32,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    remote: remote::ServerFlags,
    #[command(flatten)]
    progress: progress::Flags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MarketArgument {
    Hk,
    Us,
    Cn,
}

impl From<MarketArgument> for Market {
    fn from(argument: MarketArgument) -> Market {
        match argument {
            MarketArgument::Hk => Market::Hk,
            MarketArgument::Us => Market::Us,
            MarketArgument::Cn => Market::Cn,
        }
    }
}

/// One page of the matching securities.
struct Listed {
    documents: Vec<Value>,
    /// Number of matching securities, including those not listed.
    total: u64,
    store_is_empty: bool,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let session = arguments.remote.session(context)?;
    // Suggested commands include `--store` only for the local store.
    let hint = |command: &str| match &session {
        Some(_) => format!("chandler {command}"),
        None => context.hint(command),
    };
    let listed = match &session {
        Some(session) => arguments.there(session)?,
        None => arguments.here(context)?,
    };
    let Listed { documents, total, store_is_empty } = listed;
    if arguments.format == Format::Json {
        output::json(&documents)?;
    } else if !documents.is_empty() {
        table(&documents)?;
    }
    let shown = documents.len() as u64;
    if store_is_empty {
        arguments.progress.note(&format!("nothing is stored yet: {}", hint("import FILES…")));
    } else if shown == 0 {
        arguments.progress.note(&format!("no results: `{}` without a text lists everything", hint("list")));
    } else if shown < total {
        let (shown, all) = (output::thousands(shown), output::thousands(total));
        arguments.progress.note(&format!(
            "{shown} of {all} securities: add part of a code or a name, or -n {total} for all"
        ));
    }
    Ok(())
}

impl Arguments {
    fn market(&self) -> Option<Market> {
        self.market.map(Market::from)
    }

    fn count(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    fn here(&self, context: &CommandContext) -> Result<Listed, Failure> {
        let store = context.open(Access::Read)?;
        let mut reader = store.reader()?;
        let (history, as_of) = (&context.history, context.as_of());
        let inventory = server::StoreInventory::open(&mut reader, history, as_of)?;
        let mut found = inventory.matches(&self.query.join(" "), self.market());
        let total = found.len() as u64;
        if self.worst {
            let bar = self.progress.count(total, "securities");
            let mut ranked = Vec::with_capacity(found.len());
            for symbol in found {
                ranked.push((Reverse(inventory.gaps(&mut reader, symbol)?), symbol));
                bar.advance(1);
            }
            ranked.sort();
            found = ranked.into_iter().map(|(_, symbol)| symbol).collect();
        }
        found.truncate(self.count());
        let bar = self.progress.count(found.len() as u64, "securities");
        let mut documents = Vec::with_capacity(found.len());
        for symbol in found {
            let document = inventory.document(&mut reader, symbol);
            documents.push(document.map_err(|error| suggest::hinted(error.into(), &store))?);
            bar.advance(1);
        }
        drop(bar);
        Ok(Listed { documents, total, store_is_empty: inventory.is_empty() })
    }

    fn there(&self, session: &Session) -> Result<Listed, Failure> {
        let query = self.query.join(" ");
        let mut parameters = vec![("query", query.as_str())];
        parameters.extend(self.market().map(|market| ("market", market.as_str())));
        if self.worst {
            parameters.push(("order", "worst"));
        }
        let mut requested = form_urlencoded::Serializer::new(String::new());
        requested.extend_pairs(&parameters).append_pair("limit", "1");
        let address = format!("{PATH}?{}", requested.finish());
        // With each request the server compares a few more securities with the calendar. The order
        // is final only when all securities have been compared.
        let mut uncounted = u64::MAX;
        let (total, store_is_empty) = loop {
            let data = session.get(&address).map_err(|error| session.to_failure(error))?;
            let left = field(&data, "uncounted").as_u64().unwrap_or_default();
            if left == 0 || left >= uncounted {
                let total = field(&data, "total").as_u64().unwrap_or_default();
                break (total, field(&data, "store_is_empty").as_bool().unwrap_or_default());
            }
            uncounted = left;
        };
        let documents = session.rows(PATH, &parameters, "rows", "offset", self.count())?;
        Ok(Listed { documents, total, store_is_empty })
    }
}

fn table(documents: &[Value]) -> Result<(), Failure> {
    let mut columns = ["symbol", "name", "days", "intraday"].map(Column::Left).to_vec();
    columns.extend(["last", "missing", "partial"].map(Column::Right));
    columns.push(Column::Left("ends"));
    let rows = documents.iter().map(|one| {
        let text = |name: &str| field(one, name).as_str().unwrap_or_default().to_owned();
        let number = |name: &str| output::thousands(field(one, name).as_u64().unwrap_or_default());
        let name = ["name_en", "name_cn", "name_hk"].map(text).into_iter().find(|name| !name.is_empty());
        let (days, intraday) = ranges(field(one, "series"));
        vec![
            text("symbol"),
            name.unwrap_or_default(),
            days,
            intraday,
            text("last"),
            number("missing"),
            number("partial"),
            end(one),
        ]
    });
    let mut out = output::stdout();
    writeln!(
        out,
        "{}",
        output::text(
            output::table(&columns, rows)
                .optional(&["intraday", "partial", "days", "ends", "missing", "name"])
        )
    )?;
    Ok(out.flush()?)
}

/// Returns the last date of a security whose data has ended, otherwise an empty string.
fn end(one: &Value) -> String {
    if field(one, "after_last").as_u64().unwrap_or_default() == 0 {
        return String::new();
    }
    let series = field(one, "series").as_array().map(Vec::as_slice).unwrap_or_default();
    let last = series.iter().filter_map(|one| field(one, "last").as_str()).max();
    last.unwrap_or_default().to_owned()
}

/// Formats the date range of a security's daily candles, and its intraday periods with their
/// ranges.
fn ranges(series: &Value) -> (String, String) {
    let (mut days, mut intraday) = (String::new(), Vec::new());
    for one in series.as_array().map(Vec::as_slice).unwrap_or_default() {
        let text = |name: &str| field(one, name).as_str().unwrap_or_default();
        let range = format!("{} to {}", text("first"), text("last"));
        match text("period") {
            "day" => days = range,
            period => intraday.push(format!("{period} {range}")),
        }
    }
    (days, intraday.join(", "))
}
