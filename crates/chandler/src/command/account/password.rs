//! `chandler account password`: sets or removes an account's password for the server's web pages.

use std::io::{self, BufRead, IsTerminal, Write};

use access::{Access, Account, Actor, PASSWORD_BYTES_MAX, Present, Secret};
use clap::Args;
use console::Term;
use serde_json::{Value, json};

use crate::failure::{Failure, theirs, usage};
use crate::local::named;
use crate::output::{Format, say};
use crate::sdk::Url;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    name: String,
    /// Read the password from the first line of stdin, even if stdin is a terminal
    #[arg(long)]
    stdin: bool,
    /// Remove the password: the account can no longer sign in to the web pages
    #[arg(long, conflicts_with = "stdin")]
    remove: bool,
    /// Print a one-time link, valid for a day, for the owner to set the password
    #[arg(long, conflicts_with_all = ["stdin", "remove"])]
    link: bool,
    /// The address at which the owner reaches the server, for --link
    #[arg(long, default_value = "http://127.0.0.1:8080", value_name = "URL")]
    url: String,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Arguments {
    pub(super) fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        let account = named(access, &self.name)?;
        if self.remove {
            let had = access.remove_password(account.id, &Actor::Operator, present.machine)?;
            let said = if had { "no longer has a password" } else { "had no password" };
            let text = format!("account {:?} {said}", account.name);
            return say(self.format, &text, document(&account, false, had));
        }
        if account.revoked_at.is_some() {
            return Err(usage(format!("account {:?} is revoked and cannot sign in", account.name)));
        }
        if self.link {
            return self.give_link(access, &account, present);
        }
        let password = if self.stdin || !io::stdin().is_terminal() {
            first_line(io::stdin().lock())?
        } else {
            typed(&account.name)?
        };
        access.set_password(account.id, &password, &Actor::Operator, present.machine).map_err(theirs)?;
        let text = format!("account {:?} has a new password; its browser sessions have ended", account.name);
        say(self.format, &text, document(&account, true, true))
    }

    /// Prints a one-time link for setting the password, so the operator never sees the password.
    fn give_link(&self, access: &Access, account: &Account, present: Present) -> Result<(), Failure> {
        let url = Url::parse(&self.url)?;
        let revoked = || usage(format!("account {:?} is revoked and cannot sign in", account.name));
        let link = access.issue_password_link(account.id, &Actor::Operator, present.machine)?;
        let link = link.ok_or_else(revoked)?;
        let address = format!("{}/password?link={}", url.as_str(), link.token.expose());
        let text = format!(
            "{address}\nsets the password of account {:?}; valid once, until {}; an earlier link is now invalid",
            account.name, link.expires_at
        );
        let expires_at = link.expires_at.to_string();
        let document = json!({
            "account_id": account.id.0, "name": account.name, "link": address, "expires_at": expires_at,
        });
        say(self.format, &text, document)
    }
}

fn document(account: &Account, password: bool, changed: bool) -> Value {
    json!({"account_id": account.id.0, "name": account.name, "password": password, "changed": changed})
}

fn first_line(input: impl BufRead) -> Result<Secret, Failure> {
    // The limit allows for a CRLF line ending and one more byte, which makes a password that is too
    // long detectable.
    let most = u64::try_from(PASSWORD_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(3);
    let mut line = String::new();
    input.take(most).read_line(&mut line)?;
    let password = line.strip_suffix('\n').unwrap_or(&line);
    Ok(Secret::new(password.strip_suffix('\r').unwrap_or(password).to_owned()))
}

/// Prompts for the password twice, because a typing error is invisible without echo. Returns an
/// error if the passwords differ.
fn typed(name: &str) -> Result<Secret, Failure> {
    let terminal = Term::stderr();
    let ask = |question: &str| -> Result<Secret, Failure> {
        write!(&terminal, "{question}: ")?;
        terminal.flush()?;
        Ok(Secret::new(terminal.read_secure_line()?))
    };
    let (first, second) = (ask(&format!("New password for {name:?}"))?, ask("Repeat the password")?);
    if first.expose() != second.expose() {
        return Err(usage("the passwords differ: nothing was changed"));
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_password_including_blanks() {
        for (input, password) in [
            ("paraffin and twine\n", "paraffin and twine"),
            ("paraffin\r\nsecond line\n", "paraffin"),
            (" blanks around \n", " blanks around "),
            ("no end", "no end"),
            ("", ""),
        ] {
            assert_eq!(first_line(input.as_bytes()).unwrap().expose(), password);
        }
        let long = "x".repeat(5_000);
        assert!(first_line(long.as_bytes()).unwrap().expose().len() > PASSWORD_BYTES_MAX, "still too long");
    }
}
