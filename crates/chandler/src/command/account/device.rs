//! `chandler account device`: approves or denies a device code for an account whose owner has no
//! password or no browser.

use access::{Access, Actor, DeviceRequest, Present};
use anyhow::anyhow;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::failure::{Failure, usage};
use crate::local::named;
use crate::output::{Format, say};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Approve the code that a program shows
    Approve(Code),
    /// Deny the code that a program shows
    Deny(Code),
}

#[derive(Debug, Args)]
struct Code {
    /// The code that the program shows, such as BCDF-GHJK
    code: String,
    /// The account
    #[arg(long, value_name = "NAME")]
    account: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Arguments {
    pub(super) fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        let (Code { code, account, format }, approve) = match &self.action {
            Action::Approve(code) => (code, true),
            Action::Deny(code) => (code, false),
        };
        let account = named(access, account)?;
        if account.revoked_at.is_some() {
            return Err(usage(format!("account {:?} is revoked", account.name)));
        }
        let none = || {
            let shown: String = code.chars().take(20).collect();
            anyhow!(
                "there is no pending request with the code {shown:?}: it is mistyped, has expired or was decided before"
            )
        };
        let DeviceRequest { client, scope, .. } =
            access.pending_device(code, present.machine)?.ok_or_else(none)?;
        if !access.decide_device_by(code, account.id, approve, &Actor::Operator, present.machine)? {
            return Err(none().into());
        }
        let said = if approve { "may use" } else { "may not use" };
        let text = format!(
            "{:?} (client {}) {said} account {:?}, scope {scope}",
            client.name, client.id, account.name
        );
        let document = json!({
            "account_id": account.id.0, "name": account.name, "client_id": client.id, "client_name": client.name,
            "approved": approve, "scope": scope,
        });
        say(*format, &text, document)
    }
}
