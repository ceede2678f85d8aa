//! The limiter of guesses: passwords, device codes, and devices that poll for their tokens.
//!
//! A decision reads and writes a few rows, each a number and a time ([`rows::Rows`]). The rows are
//! in memory, bounded, because a guesser chooses the keys; a restart gives a guesser no more than
//! the first tries again. Where several nodes share a database they are rows there, by its clock.
//! Names are stored as digests: people type passwords where names belong.
//!
//! | kind | key | limit |
//! |---|---|---|
//! | `pair` | a name, and an address or a known browser | 5 wrong passwords, then 1 s, 2 s, 4 s … 60 s |
//! | `address` | an address, at all names | 10 wrong passwords, then the same |
//! | `queue` | a name, for unknown addresses | 20 tries, then one each 30 s |
//! | `place` | a name and an unknown address | its time in the queue, held for 10 minutes |
//! | `around` | a name and a wider network | 4 or 32 networks count as one failure in the queue |
//! | `known` | a name and an address | not queued for 90 days after a sign-in |
//! | `poll` | a device code and a region | once in 5 s; 5 s more whenever it is too early, up to 60 s |
//! | `code` | an address, an account, everybody | 5 wrong codes in 10 minutes, of everybody 100 a minute |
//!
//! Failures are forgotten after an hour. `code` is a sliding window, as rate limits are
//! ([`RateLimiter`](crate::RateLimiter)); the other kinds are rows.

mod code;
mod keys;
mod poll;
mod queue;
mod rows;
mod sign_in;
#[cfg(test)]
mod tests;

pub use poll::POLL_INTERVAL_S;
pub(crate) use rows::Guesses;
pub(crate) use sign_in::SignInAttempt;
