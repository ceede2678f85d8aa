//! A request to the caller's paper account.

use history::AsOf;
use market::{Symbol, Timestamp};
use paper::{Clock, Done, Moment, PaperAccount, PaperError, Reading};
use schemars::JsonSchema;
use serde::Serialize;
use store::AccountId;
use trading::Command;

use super::credentials::Admitted;
use super::envelope::Problem;
use super::site::Site;
use crate::core::Core;
use crate::names::Names;
use crate::refusal::Refusal;

/// The account channel that is reported to SDKs for paper accounts.
pub(crate) use paper::CHANNEL;

pub(crate) struct Trader<'a> {
    site: &'a Site,
    admitted: &'a Admitted,
}

impl<'a> Trader<'a> {
    pub(crate) fn open(site: &'a Site, admitted: &'a Admitted) -> Trader<'a> {
        Trader { site, admitted }
    }

    /// Runs `ask` on the caller's paper account. Refused while the database is unreachable, because
    /// the journal is stored in the database and a request must not wait for it.
    pub(crate) fn ask<T>(
        &self,
        ask: impl FnOnce(&mut PaperAccount<'_>) -> Result<T, PaperError>,
    ) -> Result<T, Problem> {
        let core = &self.site.core;
        if core.is_degraded() {
            return Err(Refusal::away().into());
        }
        let id = self.admitted.account().id;
        // The clock of a world does not move during the operation, but it may have moved since the
        // request began.
        let world = self.admitted.who().is_of_world().then(|| core.worlds.of(&core.access.database(), id));
        let world = world.transpose().map_err(Refusal::from)?;
        let _operation = world.as_ref().map(|world| world.begin_operation());
        let as_of = world.as_ref().map(|world| AsOf::Replay(world.now(core.uptime())));
        let clock = RequestClock { core, as_of: as_of.unwrap_or(self.admitted.caller.as_of) };
        core.with_reader(|reader| ask(&mut core.paper.at(id, reader, &clock))).map_err(Problem::from_paper)
    }

    /// Reads the account as of the caller's instant.
    pub(crate) fn read<T>(
        &self,
        look: impl Fn(&Reading<'_>) -> Result<T, trading::Refusal>,
    ) -> Result<T, Problem> {
        let seen = self.ask(|account| account.read(&look));
        seen?.map_err(|refusal| Problem::trade_refused(&refusal))
    }

    /// Executes a command with the idempotency key `name`. Read-only accounts are refused.
    pub(crate) fn command(&self, command: &Command, name: Option<&str>) -> Result<Done, Problem> {
        if self.is_read_only() {
            return Err(Problem::read_only());
        }
        if self.admitted.who().is_of_world() && self.has_world_ended()? {
            return Err(Problem::world_ended());
        }
        self.ask(|account| account.command(command, name, None))
    }

    fn has_world_ended(&self) -> Result<bool, Problem> {
        let core = &self.site.core;
        let world = core.worlds.of(&core.access.database(), self.admitted.account().id);
        let world = world.map_err(|error| {
            tracing::error!(%error, "cannot read a world");
            Problem::internal()
        })?;
        Ok(world.standing().state == world::State::Ended)
    }

    /// Returns whether the account has been opened for trading. The check does not open the
    /// account.
    pub(crate) fn has_begun(&self) -> Result<bool, Problem> {
        let id = self.admitted.account().id;
        Ok(self.ask(|_| self.site.core.paper.standing(id))?.horizon.is_some())
    }

    /// Returns the row limit of a response: `most`, or no limit for callers in this process.
    pub(crate) fn rows_max(&self, most: usize) -> usize {
        if self.admitted.who().is_in_process() { usize::MAX } else { most }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.admitted.account().terms.read_only
    }

    /// Returns the names of securities in the caller's language.
    pub(crate) fn names<'s>(&self, symbols: impl IntoIterator<Item = &'s Symbol>) -> Result<Names, Problem> {
        let language = self.admitted.caller.language;
        let names = self.site.core.with_reader(|reader| Names::of(symbols, language, reader));
        let names =
            if self.admitted.who().is_in_process() { names.map(Names::without_tickers) } else { names };
        names.map_err(|error| Problem::from_paper(PaperError::Store(error)))
    }

    pub(crate) fn language(&self) -> crate::caller::Language {
        self.admitted.caller.language
    }

    /// Returns the market time of the request.
    pub(crate) fn now(&self) -> Timestamp {
        self.admitted.now()
    }

    pub(crate) fn site(&self) -> &'a Site {
        self.site
    }
}

/// Clock of one request, fixed at the caller's instant.
struct RequestClock<'a> {
    core: &'a Core,
    as_of: AsOf,
}

impl Clock for RequestClock<'_> {
    /// Reads the account's clock again if another request or a job has advanced the account past
    /// the caller's instant, because a command cannot be executed before the account's horizon.
    fn moment(&self, account: AccountId, horizon: Option<Timestamp>) -> Moment {
        match horizon {
            Some(horizon) if horizon > self.as_of.now() => Clock::moment(self.core, account, Some(horizon)),
            _ => self.core.paper_moment(self.as_of),
        }
    }
}

/// Response data of a request that returns nothing.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Nothing {}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::http::tests::site_under;
    use crate::market_clock::tests::Ticking;

    #[test]
    fn the_clock_is_reread_only_for_an_account_that_is_ahead() {
        let clock = Arc::new(Ticking::default());
        let (site, _dir) = site_under(clock.clone(), "");
        let before = clock.reads();
        let (account, as_of) = (AccountId(1), site.core.market_now());
        let request = RequestClock { core: &site.core, as_of };
        let later = |seconds: i64| Some(Timestamp(as_of.now().0 + seconds));
        for horizon in [None, later(-1), later(0)] {
            assert_eq!(request.moment(account, horizon).as_of, as_of, "{horizon:?}");
        }
        assert_eq!(clock.reads() - before, 1);
        assert!(request.moment(account, later(1)).as_of.now() > as_of.now());
        assert_eq!(clock.reads() - before, 2);
    }
}
