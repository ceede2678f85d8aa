//! Flow control of a world's connection: counts the pushes that the client has read, as shown by
//! its pongs. The clock of the world waits for a client that reads slowly.

/// Number of pushes after which a ping is sent.
const PING_AFTER: u32 = 128;
const _: () = assert!(PING_AFTER <= crate::mailbox::UNANSWERED_MAX);

/// Counters of the pushes that were sent to a client and confirmed by its pongs. Pushes are
/// numbered from 1, and a ping carries the number of the push before it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PushFlow {
    pushed: u32,
    /// Number in the last ping.
    pinged: u32,
    /// Number in the last pong.
    ponged: u32,
    /// Whether the client answers pings. True for every WebSocket client, and for a TCP client
    /// after its first answer to a heartbeat.
    is_answering: bool,
}

impl PushFlow {
    pub(super) fn new(is_answering: bool) -> PushFlow {
        PushFlow { is_answering, ..PushFlow::default() }
    }

    /// Counts a push. Returns whether a ping must follow the push.
    pub(super) fn pushed(&mut self) -> bool {
        self.pushed = self.pushed.wrapping_add(1);
        self.pushed.wrapping_sub(self.pinged) >= PING_AFTER
    }

    /// Returns whether pushes were sent after the last ping.
    pub(super) fn is_unpinged(&self) -> bool {
        self.pushed != self.pinged
    }

    /// Records a ping that is sent now, and returns its number.
    pub(super) fn ping(&mut self) -> u32 {
        self.pinged = self.pushed;
        self.pinged
    }

    /// Records a pong. Pongs with a number that was not sent are ignored.
    pub(super) fn ponged(&mut self, number: u32) {
        self.is_answering = true;
        if number.wrapping_sub(self.ponged) <= self.pinged.wrapping_sub(self.ponged) {
            self.ponged = number;
        }
    }

    /// Returns the number of pushes that precede the last ping and are not confirmed by a pong.
    /// Returns 0 if the client does not answer pings.
    pub(super) fn unanswered(&self) -> u32 {
        if self.is_answering { self.pinged.wrapping_sub(self.ponged) } else { 0 }
    }

    /// Returns whether the client may not have read the last push.
    pub(super) fn is_unconfirmed(&self) -> bool {
        self.is_answering && self.pushed != self.ponged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ping_follows_every_128_pushes_and_the_pong_confirms_them() {
        let mut flow = PushFlow::new(true);
        for round in 1..=3 {
            assert!((1..PING_AFTER).all(|_| !flow.pushed()));
            assert!(flow.pushed());
            assert_eq!((flow.ping(), flow.unanswered()), (round * PING_AFTER, round * PING_AFTER));
        }
        flow.ponged(4 * PING_AFTER);
        assert_eq!(flow.unanswered(), 3 * PING_AFTER, "this ping was not sent");
        flow.ponged(2 * PING_AFTER);
        assert_eq!((flow.unanswered(), flow.is_unconfirmed()), (PING_AFTER, true));
        flow.ponged(PING_AFTER);
        assert_eq!(flow.unanswered(), PING_AFTER, "a late answer");
        flow.ponged(3 * PING_AFTER);
        assert_eq!((flow.unanswered(), flow.is_unconfirmed()), (0, false));
    }

    #[test]
    fn push_numbers_wrap_around() {
        let mut flow = PushFlow { pushed: u32::MAX, pinged: u32::MAX, ponged: u32::MAX, is_answering: true };
        assert!(!flow.pushed() && flow.is_unpinged());
        assert_eq!(flow.ping(), 0);
        assert_eq!(flow.unanswered(), 1);
        flow.ponged(0);
        assert_eq!(flow.unanswered(), 0);
    }

    #[test]
    fn a_client_that_never_answered_a_ping_has_no_unanswered_pushes() {
        let mut flow = PushFlow::new(false);
        for _ in 0..PING_AFTER {
            flow.pushed();
        }
        flow.ping();
        assert_eq!((flow.unanswered(), flow.is_unconfirmed()), (0, false));
        flow.ponged(PING_AFTER);
        flow.pushed();
        assert!(flow.is_unconfirmed());
    }
}
