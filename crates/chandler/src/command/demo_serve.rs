//! `chandler demo --serve`: serves the demo market with a demo account.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Write as _};
use std::path::Path;

use access::{Access, Account, AccountId, NewAccount, QUOTA_MAX, RateRule, Right, Rights, Role, Terms};
use anyhow::{Context, anyhow};
use market::{Market, Timestamp};
use server::Settings;

use super::local_serve::{self, Ports};
use super::serve::Hangup;
use super::{account, demo_account, demo_clock};
use crate::config::LogConfig;
use crate::context::{CommandContext, shell_word};
use crate::failure::Failure;
use crate::local::open_accounts;
use crate::sdk::{self, Credentials, Url};
use crate::{log, output, progress};

/// File with the demo account's credentials, readable only by its owner. The credentials of other
/// accounts are never stored in a file.
pub(super) const FILE: &str = "demo-account.json";
const FILE_MAX: u64 = 4 << 10;
/// Maximum number of account names to try. The name of an account whose credentials are lost cannot
/// be reused.
const NAMES_MAX: u32 = 100;

/// Serves until a signal stops it. With `from`, the market clock runs from that instant.
pub(crate) fn run(
    context: &CommandContext,
    ports: &Ports,
    progress: progress::Flags,
    from: Option<Timestamp>,
) -> Result<(), Failure> {
    // Parsed before anything is created, so a mistyped address is reported first.
    let asked_for = ports.read()?;
    log::start(&LogConfig { filter: "warn".to_owned(), ..LogConfig::default() })?;
    let context = &match from {
        Some(from) => context.under(demo_clock::run_from(context, from)),
        None => context.again(),
    };
    let access = open_accounts(context)?;
    let (account, credentials) = demo_account(&access, &context.work_folder(None)?)?;
    demo_account::prepare_paper(context, &access, account)?;
    demo_account::prepare_desk(context, &access, account)?;
    // Guest access has an operator's rights over all accounts, so it is disabled if the store has
    // accounts other than the demo's.
    let stranger = access.list()?.into_iter().find(|account| !is_of_demo(account));
    let guest = stranger.is_none().then_some(account);
    let settings = Settings { guest, is_simulated: true, ..Settings::default() };
    let serving = local_serve::start(context, settings, asked_for, progress)?;
    if from.is_some() {
        demo_clock::keep(context.again())?;
    }
    let url = Url::of(serving.addresses.http);
    let mut out = String::new();
    match stranger {
        None => writeln!(
            out,
            "\nOpen {}/ in a browser on this machine: it is signed in as the demo account.",
            url.as_str()
        )?,
        Some(stranger) => writeln!(
            out,
            "\nOpen {}/ in a browser and sign in: this store has accounts other than the demo's ({:?}), so a password \
            is required. `chandler --store {} account password {}` sets that of the demo account.",
            url.as_str(),
            stranger.name,
            shell_word(&context.store_word()?),
            access.account(account)?.map(|demo| demo.name.clone()).unwrap_or_default(),
        )?,
    }
    if let Some(from) = from {
        let zone = context.history.venues().of(Market::Hk).zone();
        writeln!(
            out,
            "The prices are simulated. The market is replayed at {0}× from {1} on: a minute takes {2} seconds, \
            and closed hours are skipped.",
            demo_clock::SPEED,
            zone.rfc3339(from),
            60 / demo_clock::SPEED,
        )?;
    }
    writeln!(
        out,
        "SDKs connect to the same address (raw TCP at {}). Ctrl-C stops the server.\n",
        serving.addresses.tcp
    )?;
    writeln!(out, "In another shell:\n\n{}", sdk::exports(&url, &credentials))?;
    writeln!(out, "and in Python, after `pip install longbridge`:\n\n{}", EXAMPLE)?;
    output::announce(out)?;
    serving.run(Hangup::End)
}

const EXAMPLE: &str = "\
from longbridge.openapi import AdjustType, Config, Period, QuoteContext
quotes = QuoteContext(Config.from_apikey_env())
print(*quotes.history_candlesticks_by_offset(\"CNDL.US\", Period.Day, AdjustType.ForwardAdjust, False, 5), sep=\"\\n\")
";

/// Returns the demo account with its credentials. Creates the account if necessary. The account has
/// the operator role, so that every page is accessible.
fn demo_account(access: &Access, directory: &Path) -> Result<(AccountId, Credentials), Failure> {
    let path = directory.join(FILE);
    if let Some(credentials) = read(&path)?
        && let Some(account) = owner(access, &credentials)?
    {
        return Ok((account, credentials));
    }
    for name in names() {
        if access.account_named(&name)?.is_none() {
            let rights = Rights::default().with(Right::UsOvernight);
            let new = NewAccount { rights, role: Role::Operator, ..NewAccount::named(name, terms()) };
            let (account, credentials) = account::create(access, &new)?;
            write(&path, &credentials)?;
            return Ok((account.id, credentials));
        }
    }
    Err(anyhow!("there are already {NAMES_MAX} demo accounts: use another store").into())
}

fn names() -> impl Iterator<Item = String> {
    std::iter::once("demo".to_owned()).chain((2..=NAMES_MAX).map(|number| format!("demo-{number}")))
}

fn terms() -> Terms {
    Terms { quota: Some(QUOTA_MAX), rate: Some(RateRule::Unlimited), ..Terms::default() }
}

/// Returns whether an account has the name, role and terms of a demo account. A demo account's name
/// is not sufficient, because a user may have created an account with that name.
fn is_of_demo(account: &Account) -> bool {
    account.role == Role::Operator && account.terms == terms() && names().any(|name| name == account.name)
}

/// Returns the account that the credentials belong to. `None` if the account is revoked or not an
/// operator.
fn owner(access: &Access, credentials: &Credentials) -> Result<Option<AccountId>, Failure> {
    let is_valid = |account: &&Account| account.revoked_at.is_none() && account.role == Role::Operator;
    for account in access.list()?.iter().filter(is_valid) {
        if access.app_keys(account.id)?.iter().any(|(key, _)| *key == credentials.app_key) {
            return Ok(Some(account.id));
        }
    }
    Ok(None)
}

/// Reads the credentials of the demo account in a store directory. `None` if there are none.
pub(crate) fn stored_credentials(directory: &Path) -> Result<Option<Credentials>, Failure> {
    read(&directory.join(FILE))
}

/// Reads the stored credentials. `None` if the file is missing or cannot be parsed.
fn read(path: &Path) -> Result<Option<Credentials>, Failure> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display()))?,
    };
    let mut text = String::new();
    match file.take(FILE_MAX).read_to_string(&mut text) {
        Ok(_) => Ok(serde_json::from_str(&text).ok()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display()))?,
    }
}

fn write(path: &Path, credentials: &Credentials) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(credentials)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = || -> std::io::Result<()> {
        // The file is removed and created again, because its mode is set on creation.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        options.open(path)?.write_all(text.as_bytes())
    };
    written().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
