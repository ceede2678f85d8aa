//! Logs go to stderr, so that what a command says on stdout can be read by programs.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{LogConfig, LogFormat};
use crate::failure::{Failure, usage};

/// Begins to log. Once for each process: a second call changes nothing.
pub(crate) fn start(config: &LogConfig) -> Result<(), Failure> {
    let filter = config.parsed().map_err(usage)?;
    let logs = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A subscriber that is there already has been started by an earlier call.
    match config.format {
        LogFormat::Text => logs.with_ansi(colour()).try_init().ok(),
        LogFormat::Json => logs.json().flatten_event(true).try_init().ok(),
    };
    Ok(())
}

fn colour() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !set("NO_COLOR")
}

impl LogConfig {
    /// The filter as the log understands it, or what is wrong with it.
    fn parsed(&self) -> Result<EnvFilter, String> {
        // What is named last about a part holds for it.
        let requests = if self.requests { "" } else { ",requests=off" };
        EnvFilter::builder().parse(format!("{}{requests}", self.filter)).map_err(|error| {
            format!("{:?} is not a log filter: write info, or info,server=debug: {error}", self.filter)
        })
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.parsed().map(drop)
    }
}
