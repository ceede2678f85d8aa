//! Sequence numbers of pushes. The numbers increase strictly for each security and command, even
//! across reconnects, because clients discard a push whose number is not greater than the previous
//! number.

use market::Timestamp;

const MICROSECONDS: i64 = 1_000_000;

/// Last sequence number of each command for one security.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    pub quote: i64,
    pub trades: i64,
}

impl Sequence {
    /// Returns the numbers before the pushes at `instant` of a simulated clock. The first push is
    /// numbered with the instant in microseconds, so replaying an instant produces the same
    /// numbers.
    pub fn at_set_clock(instant: Timestamp) -> Sequence {
        let last = instant.0.saturating_mul(MICROSECONDS).saturating_sub(1);
        Sequence { quote: last, trades: last }
    }

    /// Returns the numbers before a commit at `microseconds` of the machine clock. The next number
    /// is at least `microseconds`, and greater than all previous numbers.
    pub fn at_machine_clock(self, microseconds: i64) -> Sequence {
        let least = microseconds.saturating_sub(1);
        Sequence { quote: self.quote.max(least), trades: self.trades.max(least) }
    }

    pub(crate) fn next_quote(&mut self) -> i64 {
        self.quote = self.quote.saturating_add(1);
        self.quote
    }

    pub(crate) fn next_trades(&mut self) -> i64 {
        self.trades = self.trades.saturating_add(1);
        self.trades
    }
}
