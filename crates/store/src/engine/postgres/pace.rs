use std::time::Duration;

/// Class of a connection, which determines its timeouts and the durability of its commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Usual,
    /// For queries that a client is waiting for.
    Quick,
    /// Like `Quick`, but with asynchronous commits, for data that may be lost if the server
    /// crashes.
    Fleeting,
    /// For account locks, which are optional. The idle timeout is short, so that the lock of a
    /// stalled holder is released soon.
    Lock,
    /// For migrations, moves and checks, where a single statement may scan all rows.
    Long,
}

pub(super) struct Limits {
    /// Timeout of a statement on the server, in milliseconds; 0 for no timeout.
    pub(super) statement_ms: u32,
    pub(super) lock_ms: u32,
    pub(super) idle_in_transaction_ms: u32,
    /// Timeout of a request on the client side. A server that does not respond in time is
    /// considered dead.
    pub(super) request: Duration,
    /// Time for which the OS retransmits unacknowledged data.
    pub(super) unacknowledged: Duration,
}

impl Pace {
    pub(super) const fn limits(self) -> Limits {
        let second = Duration::from_secs;
        match self {
            Pace::Usual => Limits {
                statement_ms: 55_000,
                lock_ms: 20_000,
                idle_in_transaction_ms: 60_000,
                request: second(60),
                unacknowledged: second(20),
            },
            Pace::Quick | Pace::Fleeting => Limits {
                statement_ms: 4_000,
                lock_ms: 4_000,
                idle_in_transaction_ms: 60_000,
                request: second(5),
                unacknowledged: second(5),
            },
            Pace::Lock => Limits {
                statement_ms: 2_000,
                lock_ms: 2_000,
                idle_in_transaction_ms: 10_000,
                request: second(5),
                unacknowledged: second(5),
            },
            Pace::Long => Limits {
                statement_ms: 0,
                lock_ms: 20_000,
                idle_in_transaction_ms: 600_000,
                request: second(3_600),
                unacknowledged: second(60),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The server must time out before the client, because the server reports the reason and the
    /// connection remains usable.
    #[test]
    fn the_statement_timeout_is_below_the_request_timeout() {
        for pace in [Pace::Usual, Pace::Quick, Pace::Fleeting, Pace::Lock, Pace::Long] {
            let limits = pace.limits();
            assert!(u128::from(limits.statement_ms) < limits.request.as_millis(), "{pace:?}");
            assert!(u128::from(limits.lock_ms) < limits.request.as_millis(), "{pace:?}");
        }
    }
}
