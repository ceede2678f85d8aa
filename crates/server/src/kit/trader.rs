//! One request about the paper account of whoever asks.

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

/// What SDKs are told an account to trade on paper is.
pub(crate) use paper::CHANNEL;

pub(crate) struct Trader<'a> {
    site: &'a Site,
    admitted: &'a Admitted,
}

impl<'a> Trader<'a> {
    pub(crate) fn open(site: &'a Site, admitted: &'a Admitted) -> Trader<'a> {
        Trader { site, admitted }
    }

    /// One request about the paper account. Its journal is in the database: a request does not wait
    /// for one that cannot be reached.
    pub(crate) fn ask<T>(
        &self,
        ask: impl FnOnce(&mut PaperAccount<'_>) -> Result<T, PaperError>,
    ) -> Result<T, Problem> {
        let core = &self.site.core;
        if core.is_degraded() {
            return Err(Refusal::away().into());
        }
        let id = self.admitted.account().id;
        core.with_reader(|reader| ask(&mut core.paper.at(id, reader, &self.clock())))
            .map_err(Problem::from_paper)
    }

    /// The account as of now.
    pub(crate) fn read<T>(
        &self,
        look: impl Fn(&Reading<'_>) -> Result<T, trading::Refusal>,
    ) -> Result<T, Problem> {
        let seen = self.ask(|account| account.read(&look));
        seen?.map_err(|refusal| Problem::trade_refused(&refusal))
    }

    /// Carries out a command. A read-only account is refused here.
    pub(crate) fn command(&self, command: &Command, name: Option<&str>) -> Result<Done, Problem> {
        if self.is_read_only() {
            return Err(Problem::read_only());
        }
        self.ask(|account| account.command(command, name, None))
    }

    /// Whether the account has begun to trade. Asking does not begin it.
    pub(crate) fn has_begun(&self) -> Result<bool, Problem> {
        let id = self.admitted.account().id;
        Ok(self.ask(|_| self.site.core.paper.standing(id))?.horizon.is_some())
    }

    /// Most rows of an answer. A caller in this process gets all of them.
    pub(crate) fn rows_max(&self, most: usize) -> usize {
        if self.admitted.who().is_in_process() { usize::MAX } else { most }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.admitted.account().terms.read_only
    }

    /// What securities are called in the language of whoever asks.
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

    /// The market's time.
    pub(crate) fn now(&self) -> Timestamp {
        self.admitted.now()
    }

    fn clock(&self) -> RequestClock<'a> {
        RequestClock { core: &self.site.core, as_of: self.admitted.caller.as_of }
    }

    pub(crate) fn site(&self) -> &'a Site {
        self.site
    }
}

/// The clock of one request: it shows the caller's instant.
struct RequestClock<'a> {
    core: &'a Core,
    as_of: AsOf,
}

impl Clock for RequestClock<'_> {
    /// Another request or a job may have advanced the account beyond the caller's instant. A command
    /// cannot go back behind that, so the account's clock is read again.
    fn moment(&self, account: AccountId, horizon: Option<Timestamp>) -> Moment {
        match horizon {
            Some(horizon) if horizon > self.as_of.now() => Clock::moment(self.core, account, Some(horizon)),
            _ => self.core.paper_moment(self.as_of),
        }
    }
}

/// The data of an answer that only says that something was done.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Nothing {}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::http::tests::site_under;
    use crate::market_clock::tests::Ticking;

    #[test]
    fn the_clock_is_read_again_only_for_an_account_beyond_the_instant_of_the_request() {
        let clock = Arc::new(Ticking::default());
        let (site, _dir) = site_under(clock.clone(), "");
        let (account, as_of) = (AccountId(1), site.core.market_now());
        let request = RequestClock { core: &site.core, as_of };
        let later = |seconds: i64| Some(Timestamp(as_of.now().0 + seconds));
        for horizon in [None, later(-1), later(0)] {
            assert_eq!(request.moment(account, horizon).as_of, as_of, "{horizon:?}");
        }
        assert_eq!(clock.reads(), 1);
        assert!(request.moment(account, later(1)).as_of.now() > as_of.now());
        assert_eq!(clock.reads(), 2);
    }
}
