//! `chandler mirror add` and `mirror remove`.

use access::{Actor, MirrorStep};
use clap::Args;
use collect::{ListOptions, Login, Settings};
use history::mirror::MirrorStore;
use serde_json::json;
use source::Addresses;

use super::login::{seal, variable};
use super::named::find;
use crate::clock::Clock;
use crate::command::again::confirm;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::open_accounts;
use crate::output::{self, Format};
use crate::remote::files::UserFiles;
use crate::sdk::Url;

const NAME_MAX: usize = 30;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Name of the mirror: lower-case letters, digits and hyphens
    name: String,
    /// HTTP address of the server [default: LONGBRIDGE_HTTP_URL]
    #[arg(long, value_name = "URL")]
    http_url: Option<String>,
    /// WebSocket address of its quotes [default: LONGBRIDGE_QUOTE_WS_URL, or the HTTP address with
    /// /v2]
    #[arg(long, value_name = "URL")]
    quote_url: Option<String>,
    /// App key [default: LONGBRIDGE_APP_KEY]; secret and token are read from
    /// CHANDLER_MIRROR_APP_SECRET and CHANDLER_MIRROR_ACCESS_TOKEN, or the LONGBRIDGE_ variables
    #[arg(long, value_name = "KEY", conflicts_with = "login")]
    app_key: Option<String>,
    /// Use your login of `chandler login` to this server instead of an app key
    #[arg(long)]
    login: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Args)]
pub(super) struct Removal {
    name: String,
    /// Do not prompt
    #[arg(long, short = 'y')]
    yes: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(super) fn add(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let name = arguments.name.as_str();
    let is_valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > NAME_MAX || !name.bytes().all(is_valid) {
        return Err(usage(format!(
            "{name:?} is not a name: up to {NAME_MAX} small letters, digits and dashes"
        )));
    }
    let http_url = arguments.http_url.clone().or_else(|| variable("HTTP_URL"));
    let http_url =
        http_url.ok_or_else(|| usage("which server? add --http-url URL, or set LONGBRIDGE_HTTP_URL"))?;
    // A quote address from the environment belongs to the HTTP address from the environment.
    let quote_url = match (&arguments.quote_url, &arguments.http_url) {
        (Some(url), _) => Some(url.clone()),
        (None, None) => variable("QUOTE_WS_URL"),
        (None, Some(_)) => None,
    };
    let addresses = Addresses::parse(&http_url, quote_url.as_deref()).map_err(usage)?;
    let store = context.open(store::Access::Write { now: context.now() })?;
    let access = open_accounts(context)?;
    let (login, credentials) = match arguments.login {
        true => {
            let url = Url::parse(addresses.http())?;
            let logins = UserFiles::of_user()?.logins()?;
            let registration = logins.servers.get(url.as_str()).ok_or_else(|| {
                usage(format!("there is no login to {}: run `chandler login --server {0}`", url.as_str()))
            })?;
            (Login::OAuth(registration.client_id.clone()), Vec::new())
        }
        false => {
            let app_key = arguments.app_key.clone().or_else(|| variable("APP_KEY"));
            let app_key = app_key.ok_or_else(|| usage("which app key? add --app-key KEY, or --login"))?;
            (Login::AppKey(app_key), seal(&access, name)?)
        }
    };
    let settings = Settings {
        http_url: addresses.http().to_owned(),
        quote_url,
        login,
        terms_accepted_at: None,
        list: ListOptions::default(),
    };
    let (text, now) = (serde_json::to_string(&settings)?, Clock::Machine.now());
    let mut data = MirrorStore::open(&store, context.history.venues())?;
    if data.write(|batch| batch.add_mirror(name, &text, &credentials, now))?.is_none() {
        return Err(usage(format!(
            "there is a mirror {name} already: `chandler mirror remove {name}` removes it"
        )));
    }
    access.note_mirror(MirrorStep::Added, &format!("{name}: {}", addresses.http()), &Actor::Operator, now)?;
    let next = context.hint(&format!("mirror plan {name} SYMBOLS…"));
    let text = format!("added {name}: {}\nnext: {next}", addresses.http());
    output::say(
        arguments.format,
        &text,
        json!({"name": name, "http_url": addresses.http(), "quote_url": addresses.quote()}),
    )
}

pub(super) fn remove(arguments: &Removal, context: &CommandContext) -> Result<(), Failure> {
    let store = context.open_existing()?;
    let row = find(&store, Some(&arguments.name))?;
    let _lock = store.mirror_lock(&row, store::MirrorTask::Read)?;
    confirm(arguments.yes, &format!("Remove the mirror {}? Its candles stay.", row.name))?;
    let mut data = MirrorStore::open(&store, context.history.venues())?;
    data.write(|batch| batch.remove_mirror(row.id))?;
    let access = open_accounts(context)?;
    access.note_mirror(MirrorStep::Removed, &row.name, &Actor::Operator, Clock::Machine.now())?;
    output::say(arguments.format, &format!("removed {}", row.name), json!({"removed": row.name}))
}
