//! Sequence numbers: strictly growing for each security and command, also over reconnects, because
//! clients discard a push whose number is not larger than the last one.

use market::Timestamp;

const MICROSECONDS: i64 = 1_000_000;

/// The last sequence numbers of one security, one for each command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    pub quote: i64,
    pub trades: i64,
}

impl Sequence {
    /// The numbers before an instant of a set clock: the first push gets a million times the
    /// instant. Equal runs have equal numbers.
    pub fn at_set_clock(instant: Timestamp) -> Sequence {
        let last = instant.0.saturating_mul(MICROSECONDS).saturating_sub(1);
        Sequence { quote: last, trades: last }
    }

    /// The same numbers before a commit at this time of the machine clock, in microseconds: the
    /// next push gets at least that.
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
