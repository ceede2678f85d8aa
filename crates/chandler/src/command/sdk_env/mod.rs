//! `chandler sdk-env`: prints the public SDKs' environment variables for an existing server and
//! account.

use std::io::Write;
use std::path::PathBuf;

use access::Access;
use anyhow::Context;
use clap::Args;
use serde_json::{Map, Value, json};

use super::demo_serve;
use crate::context::{CommandContext, shell_word};
use crate::failure::{Failure, usage};
use crate::local::{named, open_accounts};
use crate::machine;
use crate::output::{self, Format};
use crate::sdk::{self, Url};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Also print the keys of this account, by name or number, if they are stored
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    /// The address at which clients reach the server
    #[arg(long, default_value = "http://127.0.0.1:8080")]
    url: String,
    /// Also create a folder for PYTHONPATH, which adds the addresses in Python programs that pass
    /// their keys to Config
    #[arg(long)]
    python_shim: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const SHIM: &str = include_str!("sitecustomize.py");
const SHIM_FILE: &str = "sitecustomize.py";

/// Environment variables for an account.
struct Keys {
    variables: Vec<(String, String)>,
    /// Why some variables are missing, and what the user can do. `None` if all variables are known.
    missing: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let url = Url::parse(&arguments.url)?;
    let keys = match &arguments.account {
        Some(name) => keys(name, &url, context)?,
        None => Keys { variables: sdk::addresses(&url), missing: None },
    };
    let shim = arguments.python_shim.then(write_shim).transpose()?;
    if arguments.format == Format::Json {
        let variables: Map<String, Value> =
            keys.variables.into_iter().map(|(name, value)| (name, value.into())).collect();
        let document = json!({"environment": variables, "missing": keys.missing, "python_shim": shim});
        return Ok(output::json(&document)?);
    }
    let mut out = output::stdout();
    if let Some(missing) = &keys.missing {
        writeln!(out, "# {missing}")?;
    }
    write!(out, "{}", sdk::export_lines(&keys.variables))?;
    if let Some(folder) = &shim {
        writeln!(
            out,
            "export PYTHONPATH={}\"${{PYTHONPATH:+:$PYTHONPATH}}\"",
            shell_word(&folder.display().to_string())
        )?;
    }
    Ok(out.flush()?)
}

/// Returns the environment variables for an account. Only the demo account's credentials are stored
/// in a file; the store contains no tokens in plain text.
fn keys(name: &str, url: &Url, context: &CommandContext) -> Result<Keys, Failure> {
    let access: Access = open_accounts(context)?;
    let account = named(&access, name)?;
    let app_keys = access.app_keys(account.id)?;
    let is_own = |key: &str| app_keys.iter().any(|(own, _)| own == key);
    let demo = demo_serve::stored_credentials(&context.work_folder(None)?)?;
    if let Some(credentials) = demo.filter(|credentials| is_own(&credentials.app_key)) {
        return Ok(Keys { variables: sdk::environment(url, &credentials), missing: None });
    }
    let app_key = app_keys.last().map(|(key, _)| key.as_str());
    let secret = "its app secret and access token were shown when it was created and cannot be shown again: set \
                  LONGBRIDGE_APP_SECRET, LONGBRIDGE_ACCESS_TOKEN and the same with LONGPORT, or create another account with chandler account create";
    let missing = match (account.revoked_at, app_key) {
        (Some(at), _) => {
            format!("account {} was revoked {at}: create another with chandler account create", account.id.0)
        }
        (None, None) => {
            format!("account {} has no API key: create another with chandler account create", account.id.0)
        }
        (None, Some(_)) => format!("account {}: {secret}", account.id.0),
    };
    Ok(Keys { variables: sdk::with_app_key(url, app_key), missing: Some(missing) })
}

/// Writes the Python module for `PYTHONPATH` to the user's cache folder, and returns the module's
/// folder.
fn write_shim() -> Result<PathBuf, Failure> {
    let cache = machine::cache()
        .ok_or_else(|| usage(format!("there is no folder for the shim: {} is not set", machine::HOME)))?;
    let folder = cache.join("chandler/python-shim");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    output::file(&folder.join(SHIM_FILE), |out| Ok(out.write_all(SHIM.as_bytes())?))?;
    Ok(folder)
}
