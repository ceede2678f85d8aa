//! Brute-force limiter for passwords and device codes, and the polling limit of devices that wait
//! for their tokens.
//!
//! Each decision reads and writes a few rows, each of which holds a number and a time
//! ([`rows::Rows`]). In a single process the rows are in memory, and their number is bounded
//! because an attacker chooses the keys. After a restart an attacker only regains the first free
//! tries. With a shared database, the rows are stored there and times are by the database's clock.
//! Names are stored as digests, because users sometimes type their password into the name field.
//!
//! | kind | key | limit |
//! |---|---|---|
//! | `pair` | a name, and an address or a known browser | 5 wrong passwords, then 1 s, 2 s, 4 s … 60 s |
//! | `address` | an address, for all names | 10 wrong passwords, then as for `pair` |
//! | `queue` | a name, for unknown addresses | 20 tries, then one every 30 s |
//! | `place` | a name and an unknown address | its time in the queue, valid for 10 minutes |
//! | `around` | a name and a wider network | counted as at least 1/4 or 1/32 of its failures |
//! | `known` | a name and an address | exempt from the queue for 90 days |
//! | `poll` | a device code and a region | every 5 s; 5 s longer after an early poll, up to 60 s |
//! | `code` | an address, an account, all | 5 wrong codes in 10 minutes; 100 a minute for all |
//!
//! Failures expire after an hour. `code` is a sliding window like other rate limits
//! ([`RateLimiter`](crate::RateLimiter)). The other kinds are stored as rows.

mod device;
mod queue;
mod rows;
mod sign_in;
#[cfg(test)]
mod tests;

pub use device::POLL_INTERVAL_S;
pub(crate) use rows::Guesses;
pub(crate) use sign_in::SignInAttempt;
