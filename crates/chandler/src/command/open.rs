//! `chandler open`: shows files as a chart in one step. The command imports the files, serves the
//! store to this machine, and opens a browser with a one-time sign-in link.

use std::path::Path;

use access::{AccountId, Secret};
use anyhow::anyhow;
use clap::Args;
use files::Table;
use market::{Grain, Symbol};
use serde_json::json;
use server::{Settings, SignInLinks};
use store::Access;

use super::import;
use super::local_serve::{self, Ports};
use super::serve::{Hangup, LINK_LEAD, Serving, create_if_absent};
use crate::config::LogConfig;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::{named, open_accounts};
use crate::output::{self, Format};
use crate::sdk::Url;
use crate::{log, machine};

// `files` is optional: without files, or with a symbol, the stored data is opened. The argument
// group is skipped because the flattened `import` flags define a group with the same name.
#[derive(Debug, Args)]
#[group(skip)]
#[command(mut_arg("files", |files| files.required(false)))]
pub(crate) struct Arguments {
    #[command(flatten)]
    import: import::Arguments,
    /// Do not open a browser; the link is printed in any case
    #[arg(long)]
    no_browser: bool,
    /// Sign in as this account [default: local, an operator without limits, created if needed]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    #[command(flatten)]
    ports: Ports,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    if arguments.import.dry_run {
        return arguments.dry_run(context);
    }
    let asked_for = arguments.ports.read()?;
    let (usual, [listen, tcp]) = (Settings::default(), asked_for);
    let (listen, tcp) = (listen.unwrap_or(usual.listen), tcp.unwrap_or(usual.tcp));
    let settings = Settings { listen, tcp, ..usual };
    if !settings.is_for_this_machine() {
        return Err(usage(format!(
            "{listen} and {tcp}: `chandler open` serves only this machine: use 127.0.0.1, or `chandler serve`"
        )));
    }
    let next = arguments.fill(context)?;
    log::start(&LogConfig { filter: "warn".to_owned(), ..LogConfig::default() })?;
    create_if_absent(context)?;
    let serving = local_serve::start(context, settings, asked_for, arguments.import.progress)?;
    let account = arguments.account(&serving.links, context)?;
    let link = serving.links.issue(account, &next)?;
    let link = link.ok_or_else(|| anyhow!("this server does not support one-time links"))?;
    arguments.note(&serving, &link, context)?;
    if !arguments.no_browser && output::stdout_is_terminal() && machine::open_browser(link.expose()) {
        arguments.import.progress.note("opening it in the browser …");
    }
    serving.run(Hangup::End)
}

impl Arguments {
    /// Reports what the files contain, like `import --dry-run`. Nothing is written or served.
    fn dry_run(&self, context: &CommandContext) -> Result<(), Failure> {
        if self.import.files.is_empty() {
            return Err(usage("--dry-run reports what files contain: name some files, or omit it"));
        }
        import::run(&self.import, None, context)
    }

    /// Imports the files and returns the page to open: the chart of their first security, or of the
    /// symbol given instead of a file.
    fn fill(&self, context: &CommandContext) -> Result<String, Failure> {
        if self.import.files.is_empty() {
            return Ok("/".to_owned());
        }
        if let [word] = self.import.files.as_slice()
            && let Some(symbol) = symbol_of(word)
        {
            return stored(&symbol, context);
        }
        if let [word] = self.import.files.as_slice()
            && let Some(hint) = meant(word, context)
        {
            return Err(usage(format!("{}: no such file{hint}", word.display())));
        }
        import::run(&self.import, None, context)?;
        let read = self.import.options()?.read;
        let venues = context.history.venues();
        let files = import::expand(&self.import.files)?;
        // The files are known to be readable, because they have been imported.
        let found = files.iter().find_map(|path| first_series(files::open(path, venues, &read).ok()?));
        Ok(found.map_or_else(|| "/".to_owned(), |(symbol, grain)| chart_of(&symbol, grain)))
    }

    /// Returns the account that the sign-in link is for. A revoked account is an error.
    fn account(&self, links: &SignInLinks, context: &CommandContext) -> Result<AccountId, Failure> {
        let Some(name) = &self.account else { return Ok(links.local_account()?.id) };
        let account = named(&open_accounts(context)?, name)?;
        match account.revoked_at {
            None => Ok(account.id),
            Some(at) => Err(anyhow!("account {:?} was revoked {at}", account.name).into()),
        }
    }

    fn note(&self, serving: &Serving, link: &Secret, context: &CommandContext) -> Result<(), Failure> {
        let (http, tcp) = (serving.addresses.http, serving.addresses.tcp);
        output::announce(match self.import.format {
            Format::Json => {
                let ready = json!({"event": "listening", "http": http, "tcp": tcp, "link": link.expose()});
                format!("{ready}\n")
            }
            Format::Table => format!(
                "{LINK_LEAD}\n\n    {}\n\n{} serves the store {} until Ctrl-C.\n",
                link.expose(),
                Url::of(http).as_str(),
                context.url()?
            ),
        })
    }
}

/// Parses an argument as a symbol. `None` if the argument is not a symbol, or if a file with that
/// name exists.
fn symbol_of(word: &Path) -> Option<Symbol> {
    if word.exists() { None } else { word.to_str()?.to_ascii_uppercase().parse().ok() }
}

/// Returns a hint with similar stored symbols for an argument that is not a file, such as `AAPL.US`
/// for `AAPL`. `None` if there are no suggestions.
fn meant(word: &Path, context: &CommandContext) -> Option<String> {
    let text = word.to_str().filter(|text| !text.contains(['/', '\\']))?;
    let hint = if word.exists() { String::new() } else { context.word_hint(text) };
    (!hint.is_empty()).then_some(hint)
}

/// Returns the path of a stored symbol's chart page. Returns an error if the symbol has no candles.
fn stored(symbol: &Symbol, context: &CommandContext) -> Result<String, Failure> {
    let mut reader = context.open(Access::Read)?.reader()?;
    let series = reader.snapshot()?.series_of(symbol)?;
    let is_there = |wanted: &Grain| series.iter().any(|info| info.series.grain == *wanted);
    let usual = [Grain::Day, Grain::Minute].into_iter().find(is_there);
    match usual.or_else(|| series.first().map(|info| info.series.grain)) {
        Some(grain) => Ok(chart_of(symbol, grain)),
        None => Err(anyhow!(
            "there is neither a file {symbol} nor a stored security{}",
            context.symbol_hint(symbol)
        )
        .into()),
    }
}

/// Returns the first security in a table of candles or trades, with the grain of its rows. `None`
/// for other tables.
fn first_series(table: Table) -> Option<(Symbol, Grain)> {
    match table {
        Table::Candles(mut reader) => {
            reader.next().ok()?;
            Some((reader.symbols().first()?.clone(), reader.grain()))
        }
        Table::Trades(mut reader) => {
            reader.next().ok()?;
            Some((reader.symbols().first()?.clone(), Grain::Minute))
        }
        Table::Securities(_) | Table::Actions(_) | Table::Margins(_) | Table::Suspensions(_) => None,
    }
}

/// Returns the path of a chart page. The period parameter is omitted for daily candles, the page's
/// default.
fn chart_of(symbol: &Symbol, grain: Grain) -> String {
    match grain {
        Grain::Day => format!("/?symbol={symbol}"),
        grain => format!("/?symbol={symbol}&period={}", grain.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daily_chart_has_no_period_in_its_path() {
        let symbol: Symbol = "AAPL.US".parse().unwrap();
        assert_eq!(chart_of(&symbol, Grain::Day), "/?symbol=AAPL.US");
        assert_eq!(chart_of(&symbol, Grain::Minute), "/?symbol=AAPL.US&period=1m");
    }

    #[test]
    fn a_nonexistent_file_may_be_a_symbol() {
        let symbol = |word: &str| symbol_of(Path::new(word)).map(|symbol| symbol.to_string());
        assert_eq!(symbol("aapl.us").as_deref(), Some("AAPL.US"));
        assert_eq!(symbol("prices.csv"), None);
        assert_eq!(symbol("./AAPL.US"), None);
        assert_eq!(symbol(env!("CARGO_MANIFEST_DIR")), None);
    }
}
