use std::time::Duration;

/// How long things may take on a connection, and what a commit on it promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    Usual,
    /// Somebody waits for an answer.
    Quick,
    /// As quick, for what may be forgotten when the server crashes: a commit does not wait for the disk.
    Fleeting,
    /// Turns, without which one goes on all the same. Whoever has one and is gone without a word does not keep it for long.
    Turn,
    /// Migrations, moves and checks: a single statement may go through everything.
    Long,
}

pub(super) struct Limits {
    /// Of a statement on the server, in milliseconds; 0 is none.
    pub(super) statement_ms: u32,
    pub(super) lock_ms: u32,
    pub(super) idle_in_transaction_ms: u32,
    /// Of a request as it is seen from here: a server that is silent for longer is taken for gone.
    pub(super) request: Duration,
    /// How long the system keeps sending what is not acknowledged.
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
            Pace::Turn => Limits {
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

    /// The server has to give up first: then it says why, and the connection lives on.
    #[test]
    fn a_statement_is_ended_by_the_server_before_the_request_is_given_up() {
        for pace in [Pace::Usual, Pace::Quick, Pace::Fleeting, Pace::Turn, Pace::Long] {
            let limits = pace.limits();
            assert!(u128::from(limits.statement_ms) < limits.request.as_millis(), "{pace:?}");
            assert!(u128::from(limits.lock_ms) < limits.request.as_millis(), "{pace:?}");
        }
    }
}
