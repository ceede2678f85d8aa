//! Credentials of a mirror: encrypted in the store, or the login of `chandler login`.

use std::time::Duration;

use access::{Access, Secret};
use anyhow::anyhow;
use collect::{Connect, Link, Login, Server, Settings, Time};
use serde::{Deserialize, Serialize};
use source::{Addresses, Credentials, SecretText, SourceError};
use store::MirrorRow;

use crate::clock::{Clock, machine_ms};
use crate::failure::{Failure, usage};
use crate::remote::files::UserFiles;
use crate::remote::http::Network;
use crate::remote::oauth::Provider;
use crate::remote::session::fresh_token;
use crate::sdk::{Url, exposed};

/// Prefixes of the environment variables, in order of precedence.
const PREFIXES: [&str; 3] = ["CHANDLER_MIRROR", "LONGBRIDGE", "LONGPORT"];

/// The secrets of a mirror, which are stored encrypted.
#[derive(Serialize, Deserialize)]
struct Secrets {
    #[serde(with = "exposed")]
    app_secret: Secret,
    #[serde(with = "exposed")]
    access_token: Secret,
}

/// Returns the first non-empty variable with this name after one of the [`PREFIXES`].
pub(super) fn variable(name: &str) -> Option<String> {
    let values = PREFIXES.iter().filter_map(|prefix| std::env::var(format!("{prefix}_{name}")).ok());
    values.map(|value| value.trim().to_owned()).find(|value| !value.is_empty())
}

/// Encrypts the secrets from the environment.
pub(super) fn seal(access: &Access, name: &str) -> Result<Vec<u8>, Failure> {
    let of = |what: &str| {
        variable(what).map(Secret::new).ok_or_else(|| {
            usage(format!(
                "the mirror needs your credentials on the server: set CHANDLER_MIRROR_{what}, or LONGBRIDGE_{what}; \
                 with a login of `chandler login`, add --login"
            ))
        })
    };
    let secrets = Secrets { app_secret: of("APP_SECRET")?, access_token: of("ACCESS_TOKEN")? };
    let text = Secret::new(serde_json::to_string(&secrets)?);
    Ok(access.seal_mirror(name, &text)?)
}

/// Opens connections to the source of a mirror. A login's token is renewed before each connection.
pub(super) struct MirrorServer<'a> {
    row: MirrorRow,
    settings: Settings,
    addresses: Addresses,
    access: &'a Access,
}

impl<'a> MirrorServer<'a> {
    pub(super) fn of(row: &MirrorRow, access: &'a Access) -> Result<MirrorServer<'a>, Failure> {
        let settings: Settings = serde_json::from_str(&row.settings)?;
        let addresses = Addresses::parse(&settings.http_url, settings.quote_url.as_deref())?;
        Ok(MirrorServer { row: row.clone(), settings, addresses, access })
    }

    fn credentials(&self) -> Result<Credentials, Failure> {
        match &self.settings.login {
            Login::AppKey(app_key) => {
                let text = self.access.unseal_mirror(&self.row.name, &self.row.credentials)?;
                let Secrets { app_secret, access_token } = serde_json::from_str(text.expose())
                    .map_err(|_| anyhow!("the secrets of the mirror cannot be read: add it again"))?;
                Ok(Credentials::Key {
                    app_key: app_key.clone(),
                    app_secret: SecretText::new(app_secret.expose()),
                    access_token: SecretText::new(access_token.expose()),
                })
            }
            Login::OAuth(client_id) => {
                let (home, url) = (UserFiles::of_user()?, Url::parse(&self.settings.http_url)?);
                let logins = home.logins()?;
                let registration = logins.servers.get(url.as_str()).ok_or_else(|| {
                    anyhow!("there is no login to {}: run `chandler login --server {0}`", url.as_str())
                })?;
                let http = Network::to(&url);
                let provider = Provider { server: &url, http: &http };
                let token = fresh_token(&home, provider, registration, Clock::Machine.now())?.access_token;
                Ok(Credentials::Bearer {
                    client_id: client_id.clone(),
                    access_token: SecretText::new(token.expose()),
                })
            }
        }
    }
}

impl Connect for MirrorServer<'_> {
    fn connect(&mut self, now_ms: i64) -> Result<Box<dyn Link>, SourceError> {
        let credentials = self
            .credentials()
            .map_err(|failure| SourceError::Credentials { code: 0, message: failure.to_string() })?;
        let overnight = self.settings.list.all_sessions;
        Server { addresses: self.addresses.clone(), credentials, overnight }.connect(now_ms)
    }
}

/// Opens the source of a mirror. Returns an error with the reason for the user.
pub(super) fn open_source<'a>(row: &MirrorRow, access: &'a Access) -> Result<Box<dyn Connect + 'a>, String> {
    match MirrorServer::of(row, access) {
        Ok(server) => Ok(Box::new(server)),
        Err(failure) => Err(failure.to_string()),
    }
}

/// The machine's clock.
#[derive(Debug)]
pub(super) struct MachineTime;

impl Time for MachineTime {
    fn now_ms(&self) -> i64 {
        machine_ms()
    }

    fn pass(&self, time: Duration) -> Duration {
        time
    }
}
