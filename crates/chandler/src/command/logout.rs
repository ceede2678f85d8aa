//! `chandler logout`: revokes the token, and removes the client registration and the token files.
//! The files are removed even if the server is unreachable.

use std::io::Write;

use clap::Args;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{self, Format};
use crate::remote;
use crate::remote::files::{Registration, UserFiles};
use crate::remote::http::Network;
use crate::remote::oauth::Provider;
use crate::sdk::Url;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: remote::Flags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Result of a logout, for text and JSON output.
#[derive(Default)]
struct LogoutReport {
    lines: Vec<String>,
    was_signed_in: bool,
    is_revoked: bool,
    is_unregistered: bool,
    removed: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let home = UserFiles::of_user()?;
    let mut logins = home.logins()?;
    let url = arguments.remote.server(&logins)?;
    let report = match logins.servers.remove(url.as_str()) {
        None => LogoutReport {
            lines: vec![format!("not signed in to {}", url.as_str())],
            ..LogoutReport::default()
        },
        Some(registration) => {
            let report = end(&home, &url, &registration)?;
            if logins.current.as_deref() == Some(url.as_str()) {
                logins.current = logins.servers.keys().next().cloned();
            }
            home.save_logins(&logins)?;
            report
        }
    };
    if arguments.format == Format::Json {
        return Ok(output::json(&json!({
            "server": url.as_str(), "was_signed_in": report.was_signed_in, "token_revoked": report.is_revoked,
            "registration_removed": report.is_unregistered, "files_removed": report.removed,
        }))?);
    }
    let mut out = output::stdout();
    for line in &report.lines {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

fn end(home: &UserFiles, url: &Url, registration: &Registration) -> Result<LogoutReport, Failure> {
    let network = Network::to(url);
    let provider = Provider { server: url, http: &network };
    let mut report = LogoutReport { was_signed_in: true, ..LogoutReport::default() };
    // An unreadable token file does not prevent the removal of the other files.
    let revoked = match home.token(&registration.client_id).ok().flatten() {
        Some(token) => match provider.revoke(&token, &registration.client_id) {
            Ok(true) => {
                report.is_revoked = true;
                "the token is revoked".to_owned()
            }
            Ok(false) => "the server did not revoke the token: it is valid until it expires".to_owned(),
            Err(error) => format!("the token is not revoked and is valid until it expires: {error:#}"),
        },
        None => "there was no token".to_owned(),
    };
    let unregistered = match provider.unregister(registration) {
        Ok(true) => {
            report.is_unregistered = true;
            "the registration of this machine is removed".to_owned()
        }
        Ok(false) => "the server did not remove the registration of this machine".to_owned(),
        Err(error) => format!("the registration of this machine was not removed: {error:#}"),
    };
    report.lines = vec![revoked, unregistered];
    for path in home.remove_tokens(registration)? {
        report.lines.push(format!("removed {}", path.display()));
        report.removed.push(path.display().to_string());
    }
    report.lines.push(format!("signed out of {}", url.as_str()));
    Ok(report)
}
