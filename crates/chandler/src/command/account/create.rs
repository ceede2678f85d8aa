//! `chandler account create` and `set`: create an account and change its limits.

use std::io::Write;

use access::{
    Access, Account, Actor, Level, NewAccount, Present, RateRule, Region, Right, Rights, Role, Terms,
    TermsChange,
};
use clap::{Args, ValueEnum};
use market::{Date, FloorTable};
use serde_json::{Map, Value, json};

use super::paper_account::{self, Beginning};
use super::show;
use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{Failure, theirs, usage};
use crate::local::{Books, named};
use crate::output::{self, Format, say};
use crate::paper_flags::{AuditedChange, PaperFlags, Switch};
use crate::sdk::{self, Credentials, Url};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Account name: 1 to 64 characters
    name: String,
    /// Markets that the account may access: some of HK, US, CN, SG, or all, or none
    #[arg(long, default_value = "all", value_name = "MARKETS")]
    markets: String,
    /// Allow access to US overnight candles
    #[arg(long)]
    overnight: bool,
    /// Level, 1 to 6, instead of the one determined by assets and orders
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=6))]
    level: Option<u32>,
    /// Number of securities per month, instead of the level's quota
    #[arg(long, value_name = "N")]
    quota: Option<u32>,
    /// Rate limit for history: requests/seconds, or unlimited [default: 60/30]
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// Maximum number of concurrent long connections
    #[arg(long, value_name = "N", default_value_t = Terms::default().connections)]
    connections: u32,
    /// Maximum number of securities that all its connections subscribe to
    #[arg(long, value_name = "N", default_value_t = Terms::default().subscriptions)]
    subscriptions: u32,
    /// First dates of the served history: published, none, or dates like HK.day=1995-01-03
    /// [default: the server's setting]
    #[arg(long, value_name = "FLOORS")]
    floors: Option<String>,
    /// No limits on rate, quota, connections, subscriptions or history, as for your own account
    #[arg(long, conflicts_with_all = ["quota", "rate", "connections", "subscriptions", "floors"])]
    unlimited: bool,
    /// Read-only: the account may view its paper account, but not trade
    #[arg(long)]
    read_only: bool,
    /// API date of its responses, such as 2024-08-01; fields and values added later are omitted
    #[arg(long, value_name = "DATE")]
    api_date: Option<String>,
    /// Role, which determines its rights beyond its own account
    #[arg(long, value_enum, default_value_t)]
    role: RoleName,
    /// Region, ap or us, which is the prefix of its tokens
    #[arg(long, default_value = "ap", value_name = "REGION")]
    region: String,
    /// The address at which its clients reach the server
    #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
    url: String,
    #[command(flatten)]
    beginning: Beginning,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum RoleName {
    #[default]
    User,
    /// May view and change other accounts through the service
    Operator,
}

#[derive(Debug, Args)]
pub(super) struct Set {
    name: String,
    /// Level, 1 to 6, or `earned`: determined by assets and orders
    #[arg(long, value_name = "N|earned")]
    level: Option<String>,
    /// Number of securities per month, or `none`: the level's quota
    #[arg(long, value_name = "N|none")]
    quota: Option<String>,
    /// Rate limit for history: requests/seconds, `unlimited`, or `none`: the service's default
    #[arg(long, value_name = "RATE|none")]
    rate: Option<String>,
    /// Maximum number of concurrent long connections
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// Maximum number of securities that all its connections subscribe to
    #[arg(long, value_name = "N")]
    subscriptions: Option<u32>,
    /// First dates of the served history: published, none, dates like HK.day=1995-01-03, or
    /// `server`: the server's setting
    #[arg(long, value_name = "FLOORS|server")]
    floors: Option<String>,
    /// No limits on rate, quota, connections, subscriptions or history; `--unlimited=off` restores
    /// the published ones
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "on",
          conflicts_with_all = ["quota", "rate", "connections", "subscriptions", "floors"])]
    unlimited: Option<Switch>,
    /// Whether the account is read-only: it may view its paper account, but not trade
    #[arg(long, value_enum)]
    read_only: Option<Switch>,
    /// API date of its responses, such as 2024-08-01, or `newest`
    #[arg(long, value_name = "DATE|newest")]
    api_date: Option<String>,
    #[command(flatten)]
    paper: PaperFlags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Arguments {
    pub(super) fn run(
        &self,
        access: &Access,
        context: &CommandContext,
        present: Present,
    ) -> Result<(), Failure> {
        let (url, opening) = (Url::parse(&self.url)?, self.beginning.opening()?);
        // The journals are opened before the account is created. If they cannot be opened, nothing
        // has changed and the user can retry the command.
        let mut books = opening.is_some().then(|| Books::open(context)).transpose()?;
        if let (Some(books), Some(opening)) = (&mut books, &opening) {
            // The keys are printed only once, at the end, so a rejected opening must not leave an
            // account whose keys were never shown.
            books.check_opening(opening)?;
        }
        let (account, credentials) = create(access, &self.new_account()?)?;
        // Record the new level now rather than with the account's next request.
        access.settle(account.id, &Actor::Operator, present)?;
        if let (Some(books), Some(opening)) = (&mut books, &opening) {
            books.begin(&account, opening)?;
        }
        if self.format == Format::Json {
            let mut document = created_json(access, &account, &credentials, &url, present)?;
            if let (Some(books), Some(fields)) = (&books, document.as_object_mut()) {
                fields.insert("paper".to_owned(), paper_account::document(books, &account)?);
            }
            return Ok(output::json(&document)?);
        }
        let words = show::in_words(access, &account, present)?;
        let mut out = output::stdout();
        writeln!(out, "# account {} {:?}: {words}", account.id.0, account.name)?;
        writeln!(out, "# Store the secret and the token now: they are not shown again.")?;
        write!(out, "{}", sdk::exports(&url, &credentials))?;
        out.flush()?;
        Ok(())
    }

    /// Validates all arguments before a store is created.
    pub(super) fn check(&self) -> Result<(), Failure> {
        Url::parse(&self.url)?;
        self.beginning.opening()?;
        self.new_account()?.check().map_err(theirs)
    }

    fn new_account(&self) -> Result<NewAccount, Failure> {
        let mut rights: Rights = self.markets.parse().map_err(usage)?;
        if self.overnight {
            rights = rights.with(Right::UsOvernight);
        }
        let region: Region = self.region.parse().map_err(usage)?;
        let rate: Option<RateRule> = self.rate.as_deref().map(str::parse).transpose().map_err(usage)?;
        let level = self.level.and_then(Level::new);
        let floors: Option<FloorTable> = self.floors.as_deref().map(str::parse).transpose().map_err(usage)?;
        let (quota, connections, subscriptions) = (self.quota, self.connections, self.subscriptions);
        let api_date = self.api_date.as_deref().map(api_date).transpose()?;
        let read_only = self.read_only;
        let terms = if self.unlimited {
            Terms { level, read_only, api_date, ..Terms::unlimited() }
        } else {
            Terms { level, quota, rate, connections, subscriptions, floors, read_only, api_date }
        };
        let role = match self.role {
            RoleName::User => Role::User,
            RoleName::Operator => Role::Operator,
        };
        Ok(NewAccount { region, role, rights, ..NewAccount::named(&self.name, terms) })
    }
}

impl Set {
    pub(super) fn run(
        &self,
        access: &Access,
        context: &CommandContext,
        present: Present,
    ) -> Result<(), Failure> {
        let (change, changes) = (self.change()?, self.paper.changes()?);
        if change.is_none() && changes.is_empty() {
            return Err(usage(
                "nothing to set: give --unlimited, --level, --quota, --rate, --connections, --subscriptions, --floors, --api-date, \
                 or a setting of its paper account such as --participation",
            ));
        }
        let account = named(access, &self.name)?;
        let mut books = (!changes.is_empty()).then(|| Books::open(context)).transpose()?;
        // Paper account changes are applied first, because they can be rejected.
        for AuditedChange { event, reason, commands } in &changes {
            if let Some(books) = &mut books {
                books.operate(&account, event, reason.clone(), commands)?;
            }
        }
        if let Some(change) = change {
            access.change_terms(account.id, change, &Actor::Operator, present).map_err(theirs)?;
        }
        let account = named(access, &self.name)?;
        let mut text = format!("account {:?}: {}", account.name, show::in_words(access, &account, present)?);
        let mut document = json!({
            "account_id": account.id.0, "name": account.name, "terms": show::terms_json(access, &account, present)?,
        });
        if let (Some(books), Some(fields)) = (&books, document.as_object_mut()) {
            let paper = paper_account::document(books, &account)?;
            let settings = paper.get("settings").unwrap_or(&Value::Null);
            text = format!("account {:?}: {}", account.name, paper_account::in_words(settings));
            fields.insert("paper".to_owned(), paper);
        }
        say(self.format, &text, document)
    }

    /// Returns the change of the account's limits, or `None` if no limit was given.
    fn change(&self) -> Result<Option<TermsChange>, Failure> {
        let Set { level, quota, rate, floors, unlimited, read_only, api_date: as_of, .. } = self;
        let (connections, subscriptions) = (self.connections, self.subscriptions);
        let texts = [level, quota, rate, floors, as_of];
        let switches = [unlimited, read_only];
        if texts.iter().all(|text| text.is_none())
            && connections.is_none()
            && subscriptions.is_none()
            && switches.iter().all(|switch| switch.is_none())
        {
            return Ok(None);
        }
        let read_only = read_only.map(Switch::is_on);
        let mut change = match unlimited {
            None => TermsChange { connections, subscriptions, read_only, ..TermsChange::default() },
            Some(Switch::On) => TermsChange { read_only, ..TermsChange::unlimited() },
            Some(Switch::Off) => TermsChange { read_only, ..TermsChange::limited() },
        };
        if let Some(level) = level.as_deref() {
            let number = |text: &str| text.parse().ok().and_then(Level::new);
            change.level = Some(match level {
                "earned" => None,
                text => Some(
                    number(text)
                        .ok_or_else(|| usage(format!("{text:?} is not a level: write 1 to 6, or earned")))?,
                ),
            });
        }
        if let Some(quota) = quota.as_deref() {
            change.quota = Some(match quota {
                "none" => None,
                text => Some(
                    text.parse()
                        .map_err(|_| usage(format!("{text:?} is not a quota: write a number, or none")))?,
                ),
            });
        }
        if let Some(rate) = rate.as_deref() {
            change.rate = Some(if rate == "none" { None } else { Some(rate.parse().map_err(usage)?) });
        }
        if let Some(floors) = floors.as_deref() {
            change.floors =
                Some(if floors == "server" { None } else { Some(floors.parse().map_err(usage)?) });
        }
        if let Some(as_of) = as_of.as_deref() {
            change.api_date = Some(if as_of == "newest" { None } else { Some(api_date(as_of)?) });
        }
        Ok(Some(change))
    }
}

fn api_date(text: &str) -> Result<Date, Failure> {
    text.parse().map_err(|_| usage(format!("{text:?} is not a date: write YYYY-MM-DD")))
}

/// Creates an account and returns it with its credentials.
pub(crate) fn create(access: &Access, new: &NewAccount) -> Result<(Account, Credentials), Failure> {
    let created = access.create(new, &Actor::Operator, Clock::Machine.now()).map_err(theirs)?;
    let credentials = Credentials {
        app_key: created.app_key,
        app_secret: created.app_secret,
        access_token: created.access_token,
    };
    Ok((named(access, &new.name)?, credentials))
}

pub(super) fn created_json(
    access: &Access,
    account: &Account,
    credentials: &Credentials,
    url: &Url,
    present: Present,
) -> Result<Value, Failure> {
    let environment: Map<String, Value> =
        sdk::environment(url, credentials).into_iter().map(|(name, value)| (name, value.into())).collect();
    Ok(json!({
        "account_id": account.id.0, "name": account.name, "terms": show::terms_json(access, account, present)?,
        "region": account.region.as_str(), "role": account.role.as_str(),
        "app_key": credentials.app_key, "app_secret": credentials.app_secret.expose(),
        "access_token": credentials.access_token.expose(), "environment": environment,
        "warning": format!("{}: {}", sdk::HEEDLESS, sdk::HEEDLESS_ADVICE),
    }))
}
