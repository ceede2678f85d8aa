//! The limits of a server as flags and variables.

use clap::Args;

use super::{ANY, Arguments};
use crate::config::limits::{LimitsConfig, RATE_MAX, THREADS_MAX, UNSENT_MB_MAX};
use crate::failure::Failure;

#[derive(Debug, Args)]
pub(super) struct LimitFlags {
    /// Quote commands a second of one account, history apart; 0 for any number [default: 10]
    #[arg(long, env = "CHANDLER_CALLS_PER_SECOND", value_name = "N", value_parser = ANY)]
    calls_per_second: Option<String>,
    /// Requests of one account that run at once [default: 5]
    #[arg(long, env = "CHANDLER_CALLS_AT_ONCE", value_name = "N", value_parser = ANY)]
    calls_at_once: Option<String>,
    /// Refusals a second beyond which a caller is read more slowly; 0 for any number [default: 200]
    #[arg(long, env = "CHANDLER_REFUSALS_PER_SECOND", value_name = "N", value_parser = ANY)]
    refusals_per_second: Option<String>,
    /// Answers of one account that may wait to be sent, in MiB [default: 32]
    #[arg(long, env = "CHANDLER_UNSENT_MB", value_name = "N", value_parser = ANY)]
    unsent_mb: Option<String>,
    /// Connections of one address on which nobody has signed in yet [default: 128]
    #[arg(long, env = "CHANDLER_UNPROVEN_CONNECTIONS", value_name = "N", value_parser = ANY)]
    unproven_connections: Option<String>,
    /// Threads for requests that wait for the disk; 0 for as many as suit the machine [default: 0]
    #[arg(long, env = "CHANDLER_THREADS", value_name = "N", value_parser = ANY)]
    threads: Option<String>,
}

impl LimitFlags {
    /// What is given, over what is set already.
    pub(super) fn lay(&self, arguments: &Arguments, limits: &mut LimitsConfig) -> Result<(), Failure> {
        for (argument, text, range, value) in [
            ("calls_per_second", &self.calls_per_second, 0..=RATE_MAX, &mut limits.calls_per_second),
            ("calls_at_once", &self.calls_at_once, 1..=RATE_MAX, &mut limits.calls_at_once),
            ("refusals_per_second", &self.refusals_per_second, 0..=RATE_MAX, &mut limits.refusals_per_second),
            ("unsent_mb", &self.unsent_mb, 1..=UNSENT_MB_MAX, &mut limits.unsent_mb),
            (
                "unproven_connections",
                &self.unproven_connections,
                1..=RATE_MAX,
                &mut limits.unproven_connections,
            ),
            ("threads", &self.threads, 0..=THREADS_MAX, &mut limits.threads),
        ] {
            *value = arguments.number(argument, text.as_deref(), range)?.unwrap_or(*value);
        }
        Ok(())
    }
}
