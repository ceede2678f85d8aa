//! `chandler logout`: ends the token, removes the registration and the files. Whatever the server says, nothing stays here.

use std::io::Write;

use clap::Args;

use crate::failure::Failure;
use crate::output;
use crate::remote;
use crate::remote::files::Home;
use crate::remote::http::Network;
use crate::remote::oauth::Provider;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    remote: remote::Flags,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let home = Home::of_user()?;
    let mut book = home.book()?;
    let url = arguments.remote.server(&book)?;
    let mut out = output::stdout();
    let Some(registration) = book.servers.remove(url.as_str()) else {
        writeln!(out, "nobody has signed in to {} from here", url.as_str())?;
        return Ok(out.flush()?);
    };
    let network = Network::to(&url);
    let provider = Provider { server: &url, http: &network };
    // A file that cannot be read is no reason to keep the rest.
    match home.token(&registration.client_id).ok().flatten() {
        Some(token) => match provider.revoke(&token, &registration.client_id) {
            Ok(true) => writeln!(out, "the token is revoked")?,
            Ok(false) => writeln!(out, "the server did not revoke the token: it ends by itself")?,
            Err(error) => writeln!(out, "the token is not revoked, it ends by itself: {error:#}")?,
        },
        None => writeln!(out, "there was no token")?,
    }
    match provider.unregister(&registration) {
        Ok(true) => writeln!(out, "the registration of this machine is removed")?,
        Ok(false) => writeln!(out, "the server did not remove the registration of this machine")?,
        Err(error) => writeln!(out, "the registration of this machine stays at the server: {error:#}")?,
    }
    for path in home.remove_tokens(&registration)? {
        writeln!(out, "removed {}", path.display())?;
    }
    if book.current.as_deref() == Some(url.as_str()) {
        book.current = book.servers.keys().next().cloned();
    }
    home.save_book(&book)?;
    writeln!(out, "signed out of {}", url.as_str())?;
    Ok(out.flush()?)
}
