//! The server of a run's worlds: a remote server, or one that this process starts on loopback.

use std::env;
use std::net::{Ipv4Addr, SocketAddr};

use access::Secret;
use anyhow::anyhow;
use serde_json::{Value, json};
use server::Settings;

use super::super::words::{credentials_of, path_of};
use crate::client::{AccountFlags, Client};
use crate::command::serve::{BackgroundServer, ServeError, Serving};
use crate::command::trade::shown::text;
use crate::config::LogConfig;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::local::Purpose;
use crate::log;
use crate::remote::field;
use crate::remote::http::Network;
use crate::remote::session::{ApiError, Session};
use crate::sdk::{self, Credentials, Url};

/// Maximum number of names to try for a world without a given name.
const NAMES_MAX: u32 = 100;

pub(super) struct Place {
    /// Sends requests as the owner.
    owner: Client,
    url: Url,
    /// The server of this process. `None` for a remote server.
    server: Option<BackgroundServer>,
}

/// A world, entered with its API key.
pub(super) struct EnteredWorld {
    pub(super) name: String,
    /// Sends requests with the world's token.
    pub(super) client: Client,
    /// Environment variables for the program.
    pub(super) environment: Vec<(String, String)>,
}

impl Place {
    pub(super) fn open(whose: &AccountFlags, context: &CommandContext) -> Result<Place, Failure> {
        let owner = whose.client_or_local_user(Purpose::Watchlists, context)?;
        if let Client::Remote(session) = &owner {
            let url = session.url.clone();
            return Ok(Place { owner, url, server: None });
        }
        log::start(&LogConfig { filter: "warn".to_owned(), ..LogConfig::default() })?;
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let settings = Settings { listen: free, tcp: free, ..Settings::default() };
        let server = Serving::start(&settings, context).map_err(ServeError::into_failure)?.in_background()?;
        let url = Url::of(server.addresses.http);
        Ok(Place { owner, url, server: Some(server) })
    }

    /// Creates a world. Without a name, the first free name is used.
    pub(super) fn create(&self, name: &WorldNames, body: &Value) -> Result<EnteredWorld, Failure> {
        for attempt in 1..=NAMES_MAX {
            let mut body = body.clone();
            if let Value::Object(fields) = &mut body {
                fields.insert("name".to_owned(), name.attempt(attempt).into());
            }
            match self.owner.post("/v1/worlds", body) {
                Ok(created) => {
                    let name = text(field(&created, "world"), "name");
                    return Ok(self.enter(name, &credentials_of(&created)));
                }
                Err(ApiError::Refused { status: 409, .. }) if !name.is_given => {}
                Err(error) => return Err(self.owner.refused(error)),
            }
        }
        Err(anyhow!("there are already {NAMES_MAX} worlds of this name: add --name NAME").into())
    }

    /// Enters an existing world with the API key in the environment, which must be that of the
    /// world.
    pub(super) fn existing(&self, name: &str) -> Result<EnteredWorld, Failure> {
        path_of(name)?;
        let variable = |name: &str| {
            let found = ["LONGBRIDGE", "LONGPORT"].iter().find_map(|prefix| {
                env::var(format!("{prefix}_{name}")).ok().filter(|value| !value.is_empty())
            });
            found.ok_or_else(|| {
                usage(format!(
                    "the API key of a world is shown only when it is created: set LONGBRIDGE_{name} and the other \
                    variables that `chandler world create` printed, or those of `chandler world token`, which makes another key"
                ))
            })
        };
        let credentials = Credentials {
            app_key: variable("APP_KEY")?,
            app_secret: Secret::new(variable("APP_SECRET")?),
            access_token: Secret::new(variable("ACCESS_TOKEN")?),
        };
        let world = self.enter(name.to_owned(), &credentials);
        let known = world.client.get("/v1/world", &[]).map(|shown| text(&shown, "name"));
        match known {
            Ok(known) if known == name => Ok(world),
            Ok(known) => Err(usage(format!(
                "the API key in the environment is that of the world {known}, not of {name}"
            ))),
            Err(ApiError::Refused { status: 401 | 404, .. }) => Err(anyhow!(
                "{}: the API key in the environment is not that of the world {name}",
                self.url.as_str()
            )
            .into()),
            Err(error) => Err(world.client.to_failure(error)),
        }
    }

    fn enter(&self, name: String, credentials: &Credentials) -> EnteredWorld {
        let token = Secret::new(credentials.access_token.expose().to_owned());
        let session = Session::new(self.url.clone(), Box::new(Network::to(&self.url)), token);
        let mut environment = sdk::environment(&self.url, credentials);
        environment.push(("CHANDLER_WORLD".to_owned(), name.clone()));
        // By default, the SDKs print a table of quote packages at every connection.
        let quiet = ["LONGBRIDGE_PRINT_QUOTE_PACKAGES", "LONGPORT_PRINT_QUOTE_PACKAGES"];
        let unset = quiet.into_iter().filter(|name| env::var_os(name).is_none());
        environment.extend(unset.map(|name| (name.to_owned(), "false".to_owned())));
        EnteredWorld { name, client: Client::Remote(session), environment }
    }

    /// Stops the server of this process, if one was started, and ends and deletes the named worlds.
    pub(super) fn close(
        mut self,
        delete: &[String],
        whose: &AccountFlags,
        context: &CommandContext,
    ) -> Result<(), Failure> {
        if self.server.take().is_some() && !delete.is_empty() {
            // The client cached the worlds before the server advanced their clocks.
            self.owner = whose.client(Purpose::Watchlists, context)?;
        }
        for name in delete {
            let path = path_of(name)?;
            match self.owner.post(&format!("{path}/end"), json!({})) {
                // 409: the world has already ended, or has not begun.
                Ok(_) | Err(ApiError::Refused { status: 409, .. }) => {}
                Err(error) => return Err(self.owner.refused(error)),
            }
            self.owner.delete(&path).map_err(|error| self.owner.refused(error))?;
        }
        Ok(())
    }
}

/// Candidate names of a new world.
#[derive(Clone, Debug)]
pub(super) struct WorldNames {
    pub(super) base: String,
    /// Whether the user has given the name, which is then used unchanged.
    pub(super) is_given: bool,
}

impl WorldNames {
    fn attempt(&self, number: u32) -> String {
        match number {
            1 => self.base.clone(),
            _ => format!("{}-{number}", self.base),
        }
    }
}
