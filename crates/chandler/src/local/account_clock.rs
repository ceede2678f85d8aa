//! Selects the clock for local accounts: the clock that the user has set, the clock of a running
//! server, or the machine's clock.

use access::Account;
use market::Timestamp;
use paper::{Moment, Paper};

use crate::clock::{Clock, IsServed, NotedClock, NoticePath};
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::field_flags::to_failure;

/// Minimum age, in seconds, of an account's last activity at which the account is assumed to follow
/// a replay clock. The age is relative to the machine's clock.
const LONG_AGO_S: i64 = 40 * 86_400;

/// Clock of a command. The time is read once, when the value is created.
pub(super) struct AccountClock {
    pub(super) moment: Moment,
    clock: Clock,
    source: ClockSource,
    notice: Option<NoticePath>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockSource {
    /// The clock was set by a flag or a variable.
    Named,
    /// A running server has published the clock for this store.
    Server,
    /// The machine's clock is the default. `was_set` is true if the accounts were last changed
    /// under another clock.
    Default { was_set: bool },
}

impl AccountClock {
    pub(super) fn of(context: &CommandContext) -> AccountClock {
        let machine = Clock::Machine.now();
        let (notice, venues) = (context.clock_notice().ok(), context.history.venues());
        let (clock, source) = match notice.as_ref().and_then(NoticePath::read) {
            _ if context.is_clock_named => (context.clock, ClockSource::Named),
            Some((noted, IsServed::Yes)) => (noted.clock(venues), ClockSource::Server),
            noted => {
                let was_set = noted.is_some_and(|(noted, _)| noted != NotedClock::Machine);
                (Clock::Machine, ClockSource::Default { was_set })
            }
        };
        AccountClock { moment: Moment { as_of: clock.as_of(), machine }, clock, source, notice }
    }

    /// Sets the market clock to a fixed instant.
    pub(super) fn go_to(&mut self, at: Timestamp) {
        self.clock = Clock::Fixed(at);
        self.source = ClockSource::Named;
        self.moment.as_of = self.clock.as_of();
    }

    /// Returns an error if the command would advance an account to the machine's time although the
    /// account may follow another clock. A clock that the user has set and the clock of a running
    /// server are always accepted.
    pub(super) fn check(&self, account: &Account, paper: &Paper) -> Result<(), Failure> {
        let ClockSource::Default { was_set } = self.source else { return Ok(()) };
        let (horizon, now) = (paper.standing(account.id).map_err(to_failure)?.horizon, self.moment.machine);
        let why = match horizon {
            Some(at) if at < account.created_at => "which is before it was created",
            Some(at) if now.0.saturating_sub(at.0) > LONG_AGO_S => "which is long ago",
            _ if was_set => "and this store was last used with a --clock",
            _ => return Ok(()),
        };
        let (name, stays) = (&account.name, horizon.map(|at| format!("--clock {at}")));
        let at = horizon.map_or_else(|| "has no time yet".to_owned(), |at| format!("is at {at}"));
        Err(usage(format!(
            "account {name:?} {at}, {why}: add {} for the market's time, or --clock now to continue at {now}, by the \
            machine's clock",
            stays.as_deref().unwrap_or("--clock INSTANT")
        )))
    }

    /// Publishes the clock for later commands if the user has set it. Called after a change.
    pub(super) fn leave(&self) {
        if let (ClockSource::Named, Some(notice)) = (self.source, &self.notice) {
            // An error is ignored, because if the folder is not writable, no server of this user
            // publishes a clock there.
            notice.leave(&self.clock).ok();
        }
    }
}
