//! Runs a server for the local user, on the default ports or on free ports if the default ports are
//! in use.

use std::net::SocketAddr;

use clap::Args;
use server::Settings;

use super::serve::{ServeError, Serving};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::progress;

/// Parsed later, because an invalid variable is not an error if nothing is served.
#[derive(Debug, Args)]
pub(crate) struct Ports {
    /// The address for HTTP and WebSocket, if served [default: 127.0.0.1:8080, or a free port]
    #[arg(long, env = "CHANDLER_LISTEN", value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// The address for raw TCP, if served [default: 127.0.0.1:2020, or a free port]
    #[arg(long, env = "CHANDLER_TCP", value_name = "ADDRESS:PORT")]
    tcp: Option<String>,
}

impl Ports {
    pub(crate) fn read(&self) -> Result<[Option<SocketAddr>; 2], Failure> {
        let read = |text: &Option<String>, flag: &str, variable: &str| {
            let wrong = |text: &str| {
                usage(format!("{flag} or {variable}: {text:?} is not an address: write 127.0.0.1:8080"))
            };
            text.as_deref().map(|text| text.parse().map_err(|_| wrong(text))).transpose()
        };
        Ok([read(&self.listen, "--listen", "CHANDLER_LISTEN")?, read(&self.tcp, "--tcp", "CHANDLER_TCP")?])
    }
}

/// Starts the server on the requested addresses. Addresses that were not requested are taken from
/// `settings`, or replaced by free ports if they are in use.
pub(crate) fn start(
    context: &CommandContext,
    settings: Settings,
    asked_for: [Option<SocketAddr>; 2],
    progress: progress::Flags,
) -> Result<Serving, Failure> {
    let [listen, tcp] = asked_for;
    let (listen, tcp) = (listen.unwrap_or(settings.listen), tcp.unwrap_or(settings.tcp));
    let mut settings = Settings { listen, tcp, ..settings };
    loop {
        let taken = match Serving::start(&settings, context) {
            Ok(serving) => return Ok(serving),
            Err(ServeError::Taken(address)) if address.port() != 0 && !asked_for.contains(&Some(address)) => {
                address
            }
            Err(failed) => return Err(failed.into_failure()),
        };
        progress.note(&format!("{taken} is in use: using another port"));
        let free = SocketAddr::new(taken.ip(), 0);
        let wanted = if settings.listen == taken { &mut settings.listen } else { &mut settings.tcp };
        *wanted = free;
    }
}
