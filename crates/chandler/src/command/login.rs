//! `chandler login`: runs the OAuth device flow. The user approves the request in a browser, and
//! the token is stored in the location that the public SDKs read.

use std::io::Write;

use anyhow::anyhow;
use clap::Args;
use market::Timestamp;
use serde_json::{Map, Value, json};

use crate::failure::{Failure, usage};
use crate::machine;
use crate::output::{self, Format};
use crate::remote::files::{Logins, Registration, TokenFile, UserFiles, check_client_id};
use crate::remote::http::Network;
use crate::remote::oauth::{Device, DeviceStart, Outcome, Provider};
use crate::remote::session::Session;
use crate::remote::{self, MachineTime, Time, field};
use crate::sdk::{self, Url};

const CLIENT_NAME_CHARS_MAX: usize = 100;
const FILED_AS_MAX: usize = 8;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: remote::Flags,
    /// Client name shown to the approving user [default: user@host (chandler)]
    #[arg(long, value_name = "NAME")]
    client_name: Option<String>,
    /// Do not try to open a browser
    #[arg(long)]
    no_browser: bool,
    /// Also store the token under this client id, for a program with a built-in one; may be
    /// repeated
    #[arg(long, value_name = "CLIENT_ID")]
    file_as: Vec<String>,
    /// JSON is printed at the end; the link to open is on standard error
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let home = UserFiles::of_user()?;
    let mut logins = home.logins()?;
    let url = arguments.remote.server(&logins)?;
    let network = Network::to(&url);
    let provider = Provider { server: &url, http: &network };
    let time = MachineTime::new()?;
    let (mut registration, device) = arguments.begin(provider, &home, &mut logins, time.now())?;
    show(&device, arguments.format)?;
    if !arguments.no_browser && output::stdout_is_terminal() {
        machine::open_browser(
            device.verification_uri_complete.as_deref().unwrap_or(&device.verification_uri),
        );
    }
    let token = match provider.wait(&registration.client_id, &device, &time)? {
        Outcome::Approved(token) => token,
        Outcome::Denied => return Err(anyhow!("sign-in was denied").into()),
        Outcome::Expired => {
            return Err(anyhow!(
                "the sign-in was not approved in time: run `chandler login` again for a new code"
            )
            .into());
        }
        Outcome::Interrupted => return Err(Failure::Interrupted("not signed in".to_owned())),
    };
    let former = home.token(&registration.client_id).ok().flatten();
    for name in &arguments.file_as {
        if !registration.names().any(|known| known == name) {
            registration.also.push(name.clone());
        }
    }
    home.save_token(&registration, &token)?;
    logins.servers.insert(url.as_str().to_owned(), registration.clone());
    logins.current = Some(url.as_str().to_owned());
    home.save_logins(&logins)?;
    if let Some(former) = former {
        // The previous token is no longer used. If it cannot be revoked, it eventually expires.
        provider.revoke(&former, &registration.client_id).ok();
    }
    let session = Session::new(url.clone(), Box::new(network), token.access_token.clone());
    let name = account_name(&session);
    match arguments.format {
        Format::Json => Ok(output::json(&signed_in_json(&home, &url, &registration, &token, name))?),
        Format::Table => note(&home, &url, &registration, &token, name),
    }
}

impl Arguments {
    /// Requests a user code for the server's existing client registration, or registers a new
    /// client. Returns the registration and the device code.
    fn begin(
        &self,
        provider: Provider<'_>,
        home: &UserFiles,
        logins: &mut Logins,
        now: Timestamp,
    ) -> Result<(Registration, Device), Failure> {
        self.check()?;
        let server = provider.server.as_str();
        let name = self.client_name.as_deref();
        let mut also = Vec::new();
        if let Some(known) = logins.servers.get(server) {
            if name.is_none_or(|name| name == known.client_name) {
                match provider.begin(&known.client_id, now)? {
                    DeviceStart::Device(device) => return Ok((known.clone(), device)),
                    DeviceStart::Forgotten => {}
                }
            } else {
                // The client name has changed, so the old registration is removed. A failure leaves
                // only an unused registration on the server.
                provider.unregister(known).ok();
            }
            // The old client's tokens are no longer valid. Programs with a built-in client ID
            // receive the next token under their ID.
            home.remove_tokens(known)?;
            also.clone_from(&known.also);
        }
        let registration = Registration { also, ..provider.register(name.unwrap_or(&default_name()))? };
        // The registration is saved even if the user does not approve, so that the next attempt
        // uses the same client.
        logins.servers.insert(server.to_owned(), registration.clone());
        home.save_logins(logins)?;
        match provider.begin(&registration.client_id, now)? {
            DeviceStart::Device(device) => Ok((registration, device)),
            DeviceStart::Forgotten => {
                Err(anyhow!("{server} does not know the client that it has just registered").into())
            }
        }
    }

    fn check(&self) -> Result<(), Failure> {
        if let Some(name) = &self.client_name
            && (name.trim().is_empty()
                || name.chars().count() > CLIENT_NAME_CHARS_MAX
                || name.chars().any(char::is_control))
        {
            return Err(usage(format!("--client-name is 1 to {CLIENT_NAME_CHARS_MAX} plain characters")));
        }
        if self.file_as.len() > FILED_AS_MAX {
            return Err(usage(format!("--file-as may be given at most {FILED_AS_MAX} times")));
        }
        self.file_as.iter().try_for_each(|name| check_client_id(name).map(drop))
    }
}

/// Returns a client name that the approving user can recognise.
fn default_name() -> String {
    let user = machine::user_name().unwrap_or_else(|| "somebody".to_owned());
    let name = match machine::host_name() {
        Some(host) => format!("{user}@{host} (chandler)"),
        None => format!("{user} (chandler)"),
    };
    output::printable(&name).chars().take(CLIENT_NAME_CHARS_MAX).collect()
}

fn show(device: &Device, format: Format) -> Result<(), Failure> {
    let mut out: Box<dyn Write> = match format {
        Format::Table => Box::new(output::stdout()),
        Format::Json => Box::new(std::io::stderr()),
    };
    let address = device.verification_uri_complete.as_deref().unwrap_or(&device.verification_uri);
    // A server on a loopback address is reachable only from this machine.
    let is_here = Url::parse(&device.verification_uri).is_ok_and(|url| url.is_loopback());
    let place = if is_here { "this machine" } else { "any device" };
    writeln!(out, "To sign in, open this page in a browser, on {place}:\n\n    {address}\n")?;
    if !device.user_code.is_empty() {
        writeln!(out, "and check that it shows this code:\n\n    {}\n", device.user_code)?;
    }
    writeln!(out, "Waiting for approval until {}; Ctrl-C cancels.", device.expires_at)?;
    Ok(out.flush()?)
}

fn account_name(session: &Session) -> Option<String> {
    let data = session.get("/v1/connections").ok()?;
    field(&data, "account").as_str().map(output::printable)
}

/// Returns the result of the login as JSON, without the token.
fn signed_in_json(
    home: &UserFiles,
    url: &Url,
    registration: &Registration,
    token: &TokenFile,
    name: Option<String>,
) -> Value {
    let files: Vec<Value> = registration
        .names()
        .map(|name| json!({"client_id": name, "token_file": home.token_path(name).display().to_string()}))
        .collect();
    let environment: Map<String, Value> =
        sdk::addresses(url).into_iter().map(|(name, value)| (name, value.into())).collect();
    json!({
        "server": url.as_str(), "account": name, "expires_at": Timestamp(token.expires_at).to_string(),
        "client_id": registration.client_id, "files": files, "environment": environment,
    })
}

fn note(
    home: &UserFiles,
    url: &Url,
    registration: &Registration,
    token: &TokenFile,
    name: Option<String>,
) -> Result<(), Failure> {
    let mut out = output::stdout();
    let who = name.map_or_else(String::new, |name| format!(" as {name:?}"));
    writeln!(out, "\nSigned in{who}, until {}. `chandler logout` signs out.", Timestamp(token.expires_at))?;
    for name in registration.names() {
        writeln!(out, "client id  {name}\ntoken file {}", home.token_path(name).display())?;
    }
    writeln!(out, "\nPrograms that use an SDK in OAuth mode need the client id, and these variables:\n")?;
    for (name, value) in sdk::addresses(url) {
        writeln!(out, "export {name}='{value}'")?;
    }
    Ok(out.flush()?)
}
