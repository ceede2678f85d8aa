//! `chandler account rewind`, `reset` and `fork`: rewind, reset or copy a paper account's journal.

use std::io::Write;

use access::{Access, Account, Actor, NewAccount, Present};
use anyhow::anyhow;
use clap::Args;
use market::Timestamp;
use paper::{PaperError, Standing};
use serde_json::json;

use super::create::{create, created_json};
use crate::context::CommandContext;
use crate::failure::{Failure, theirs, usage};
use crate::field_flags::to_failure;
use crate::local::{Books, named};
use crate::output::{self, Format, say};
use crate::sdk::{self, Url};

#[derive(Debug, Args)]
pub(super) struct Rewind {
    /// The account, by name or number
    name: String,
    /// Market time to rewind to, such as 2026-03-18T02:00:00Z; entries at that instant remain,
    /// later ones are archived
    instant: String,
    #[command(flatten)]
    cut: Cut,
}

#[derive(Debug, Args)]
pub(super) struct Reset {
    /// The account, by name or number
    name: String,
    #[command(flatten)]
    cut: Cut,
}

/// Where the removed tail is archived.
#[derive(Debug, Args)]
struct Cut {
    /// Name under which the removed entries are archived [default: the time of the command]
    #[arg(long = "as", value_name = "TEXT")]
    called: Option<String>,
    /// Reason, recorded in the audit log
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Fork {
    /// The account, by name or number
    name: String,
    /// Target account: a new one gets the same terms, and its credentials are printed; the paper
    /// account of an existing one must be empty
    new: String,
    /// Market time to copy [default: the current state]
    #[arg(long, value_name = "INSTANT")]
    at: Option<String>,
    /// The address at which clients of the new account reach the server
    #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
    url: String,
    /// Reason, recorded in the audit log
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Cut {
    fn name(&self, books: &Books, account: &Account, machine: Timestamp) -> Result<String, Failure> {
        match &self.called {
            Some(called) => Ok(called.clone()),
            None => books.paper.free_cut_name(account.id, machine).map_err(to_failure),
        }
    }
}

/// Parses a market instant.
fn instant(text: &str) -> Result<Timestamp, Failure> {
    let at: jiff::Timestamp =
        text.parse().map_err(|_| usage(format!("{text:?} is not an instant: write 2026-03-18T02:00:00Z")))?;
    Ok(Timestamp(at.as_second()))
}

/// Describes an account's market time and number of journal entries.
fn place(standing: &Standing) -> String {
    match standing.horizon {
        Some(at) => format!("at {at}, with {} entries", standing.entries),
        None => format!("as prepared, with {} entries", standing.entries),
    }
}

/// Returns an error if the paper account has no market time yet, because there is nothing to
/// rewind.
fn check_begun(books: &Books, account: &Account) -> Result<(), Failure> {
    match books.paper.standing(account.id).map_err(to_failure)?.horizon {
        Some(_) => Ok(()),
        None => {
            Err(anyhow!("account {:?} has no paper account yet: there is nothing to rewind", account.name)
                .into())
        }
    }
}

/// Returns an error if the paper account has no entries or has not reached `at`. Called before a
/// new account is created.
fn check_fork(account: &Account, from: &Standing, at: Option<Timestamp>) -> Result<(), Failure> {
    let name = &account.name;
    if from.entries == 0 {
        return Err(anyhow!("account {name:?} has no paper account yet: there is nothing to copy").into());
    }
    match (at, from.horizon) {
        (Some(_), None) => Err(anyhow!(
            "account {name:?} has no market time yet: without --at, its initial cash and settings are copied"
        )
        .into()),
        (Some(at), Some(horizon)) if at > horizon => Err(anyhow!(
            "account {name:?} is at {horizon}, which is before {at}: it cannot be copied from there"
        )
        .into()),
        _ => Ok(()),
    }
}

impl Rewind {
    pub(super) fn run(
        &self,
        access: &Access,
        context: &CommandContext,
        present: Present,
    ) -> Result<(), Failure> {
        let (account, to) = (named(access, &self.name)?, instant(&self.instant)?);
        let books = Books::open(context)?;
        check_begun(&books, &account)?;
        let name = self.cut.name(&books, &account, present.machine)?;
        let reason = self.cut.reason.as_str();
        let standing =
            books.paper.rewind(account.id, to, &books.operation(&name, reason)).map_err(to_failure)?;
        cut(&account, &standing, &name, self.cut.format)
    }
}

impl Reset {
    pub(super) fn run(
        &self,
        access: &Access,
        context: &CommandContext,
        present: Present,
    ) -> Result<(), Failure> {
        let account = named(access, &self.name)?;
        let books = Books::open(context)?;
        check_begun(&books, &account)?;
        let name = self.cut.name(&books, &account, present.machine)?;
        let reason = self.cut.reason.as_str();
        let standing = books.paper.reset(account.id, &books.operation(&name, reason)).map_err(to_failure)?;
        cut(&account, &standing, &name, self.cut.format)
    }
}

fn cut(account: &Account, standing: &Standing, name: &str, format: Format) -> Result<(), Failure> {
    let text =
        format!("account {:?} is {}; later entries are archived as {name:?}", account.name, place(standing));
    let document = json!({
        "account_id": account.id.0, "name": account.name, "cut": name,
        "horizon": standing.horizon.map(|at| at.to_string()), "entries": standing.entries,
    });
    say(format, &text, document)
}

impl Fork {
    pub(super) fn run(
        &self,
        access: &Access,
        context: &CommandContext,
        present: Present,
    ) -> Result<(), Failure> {
        let account = named(access, &self.name)?;
        let (at, url) = (self.at.as_deref().map(instant).transpose()?, Url::parse(&self.url)?);
        let books = Books::open(context)?;
        let from = books.paper.standing(account.id).map_err(to_failure)?;
        check_fork(&account, &from, at)?;
        let known = access.account_called(&self.new)?;
        if known.as_ref().is_some_and(|known| known.id == account.id) {
            return Err(anyhow!(
                "account {:?} cannot be copied to itself: name another account",
                account.name
            )
            .into());
        }
        let (to, credentials) = match known {
            Some(account) => (account, None),
            None => {
                let Account { region, role, rights, terms, .. } = &account;
                let new = NewAccount {
                    region: *region,
                    role: *role,
                    rights: *rights,
                    ..NewAccount::named(&self.new, terms.clone())
                };
                let (account, credentials) = create(access, &new)?;
                access.settle(account.id, &Actor::Operator, present).map_err(theirs)?;
                (account, Some(credentials))
            }
        };
        let forked = books.paper.fork(account.id, to.id, at, &books.operation("", &self.reason));
        let standing = forked.map_err(|error| match error {
            PaperError::NotEmpty => anyhow!(
                "account {:?} already has a paper account: copy to a new account, or to one whose paper account is empty",
                to.name
            )
            .into(),
            error => to_failure(error),
        })?;
        let mut document = match &credentials {
            Some(credentials) => created_json(access, &to, credentials, &url, present)?,
            None => json!({"account_id": to.id.0, "name": to.name}),
        };
        if let Some(fields) = document.as_object_mut() {
            fields.insert("horizon".to_owned(), standing.horizon.map(|at| at.to_string()).into());
            fields.insert("entries".to_owned(), standing.entries.into());
        }
        let text = format!("account {:?} is a copy of {:?}, {}", to.name, account.name, place(&standing));
        match &credentials {
            Some(credentials) if self.format == Format::Table => {
                let mut out = output::stdout();
                writeln!(out, "# {text}")?;
                writeln!(out, "# Store the secret and the token now: they are not shown again.")?;
                write!(out, "{}", sdk::exports(&url, credentials))?;
                Ok(out.flush()?)
            }
            _ => say(self.format, &text, document),
        }
    }
}
