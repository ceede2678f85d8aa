//! One request about the paper account of whoever asks.

use history::AsOf;
use market::{Symbol, Timestamp};
use paper::{
    Clock, Done, Equity, FlowQuery, FoundFlows, GridExplanation, GridPreview, Moment, OrderExplanation,
    PaperError, Preview, Reading, StatementId, StatementList,
};
use schemars::JsonSchema;
use serde::Serialize;
use store::{AccountId, Reader};
use trading::{Command, GridId, OrderId, Submit, SubmitGrid};

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

    /// Asks the paper account. Its journal is in the database: a request does not wait for one that cannot be reached.
    fn ask<T>(&self, ask: impl FnOnce(&mut Reader) -> Result<T, PaperError>) -> Result<T, Problem> {
        let core = &self.site.core;
        if core.is_degraded() {
            return Err(Refusal::away().into());
        }
        core.with_reader(ask).map_err(Problem::from_paper)
    }

    /// The account as of now.
    pub(crate) fn read<T>(
        &self,
        look: impl Fn(&Reading<'_>) -> Result<T, trading::Refusal>,
    ) -> Result<T, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        let seen = self.ask(|reader| core.paper.read(id, (reader, self.clock()), &look));
        seen?.map_err(|refusal| Problem::trade_refused(&refusal))
    }

    /// Carries out a command. A read-only account is refused here.
    pub(crate) fn command(&self, command: &Command, name: Option<&str>) -> Result<Done, Problem> {
        let account = self.admitted.account();
        if account.terms.read_only {
            return Err(Problem::read_only());
        }
        let core = &self.site.core;
        self.ask(|reader| core.paper.command(account.id, command, name, None, (reader, self.clock())))
    }

    /// What would become of an order.
    pub(crate) fn preview(&self, request: &Submit) -> Result<Preview, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| {
            core.paper.catch_up(id, (reader, self.clock()))?;
            core.paper.preview(id, request, (reader, self.clock()))
        })
    }

    /// What would become of a grid.
    pub(crate) fn preview_grid(&self, asked: &SubmitGrid) -> Result<GridPreview, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| {
            core.paper.catch_up(id, (reader, self.clock()))?;
            core.paper.preview_grid(id, asked, (reader, self.clock()))
        })
    }

    /// What happened to an order, if there is one of that number.
    pub(crate) fn explanation(&self, order: OrderId) -> Result<Option<OrderExplanation>, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| core.paper.order_explanation(id, order, (reader, self.clock())))
    }

    /// What happened to a grid, if there is one of that number.
    pub(crate) fn grid_explanation(&self, grid: GridId) -> Result<Option<GridExplanation>, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| core.paper.grid_explanation(id, grid, (reader, self.clock())))
    }

    /// What the account was worth on each of the last so many days.
    pub(crate) fn equity(&self, days: u32) -> Result<Equity, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| {
            core.paper.catch_up(id, (reader, self.clock()))?;
            core.paper.equity(id, days, (reader, self.clock()))
        })
    }

    /// How many entries of its journal have to be read for that.
    pub(crate) fn equity_left(&self) -> Result<u64, Problem> {
        let id = self.admitted.account().id;
        self.ask(|_| self.site.core.paper.equity_left(id))
    }

    /// Whether the account has begun to trade. Asking does not begin it.
    pub(crate) fn has_begun(&self) -> Result<bool, Problem> {
        let id = self.admitted.account().id;
        Ok(self.ask(|_| self.site.core.paper.standing(id))?.horizon.is_some())
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.admitted.account().terms.read_only
    }

    pub(crate) fn flows(&self, query: &FlowQuery) -> Result<FoundFlows, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| core.paper.flows(id, query, (reader, self.clock())))
    }

    /// The statements of the account; those that are due are made.
    pub(crate) fn statements(&self, list: &StatementList) -> Result<Vec<StatementId>, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| core.paper.statements(id, list, (reader, self.clock())))
    }

    /// What securities are called in the language of whoever asks.
    pub(crate) fn names<'s>(&self, symbols: impl IntoIterator<Item = &'s Symbol>) -> Result<Names, Problem> {
        let language = self.admitted.caller.language;
        let names = self.site.core.with_reader(|reader| Names::of(symbols, language, reader));
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
