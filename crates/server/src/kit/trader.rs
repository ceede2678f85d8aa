//! One request about the paper account of whoever asks.

use market::Symbol;
use paper::{
    Done, Equity, FlowQuery, FoundFlows, GridExplanation, GridPreview, Moment, OrderExplanation, PaperError,
    Preview, Reading, StatementId, StatementList,
};
use schemars::JsonSchema;
use serde::Serialize;
use store::Reader;
use trading::{Command, GridId, OrderId, Submit, SubmitGrid};

use super::credentials::Admitted;
use super::envelope::Problem;
use super::site::Site;
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
        let seen = self.ask(|reader| core.paper.read(id, (reader, &**core), &look));
        seen?.map_err(|refusal| Problem::trade_refused(&refusal))
    }

    /// Carries out a command. A read-only account is refused here.
    pub(crate) fn command(&self, command: &Command, name: Option<&str>) -> Result<Done, Problem> {
        let account = self.admitted.account();
        if account.terms.read_only {
            return Err(Problem::read_only());
        }
        let core = &self.site.core;
        self.ask(|reader| core.paper.command(account.id, command, name, None, (reader, &**core)))
    }

    /// What would become of an order.
    pub(crate) fn preview(&self, request: &Submit) -> Result<Preview, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| {
            core.paper.catch_up(id, (reader, &**core))?;
            core.paper.preview(id, request, (reader, &**core))
        })
    }

    /// What would become of a grid.
    pub(crate) fn preview_grid(&self, asked: &SubmitGrid) -> Result<GridPreview, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| {
            core.paper.catch_up(id, (reader, &**core))?;
            core.paper.preview_grid(id, asked, (reader, &**core))
        })
    }

    /// What happened to an order, if there is one of that number.
    pub(crate) fn explanation(&self, order: OrderId) -> Result<Option<OrderExplanation>, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| core.paper.order_explanation(id, order, (reader, &**core)))
    }

    /// What happened to a grid, if there is one of that number.
    pub(crate) fn grid_explanation(&self, grid: GridId) -> Result<Option<GridExplanation>, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| core.paper.grid_explanation(id, grid, (reader, &**core)))
    }

    /// What the account was worth on each of the last so many days.
    pub(crate) fn equity(&self, days: u32) -> Result<Equity, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| {
            core.paper.catch_up(id, (reader, &**core))?;
            core.paper.equity(id, days, (reader, &**core))
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

    /// Most rows of an answer. A caller in this process gets all of them.
    pub(crate) fn rows_max(&self, most: usize) -> usize {
        if self.admitted.who().is_in_process() { usize::MAX } else { most }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.admitted.account().terms.read_only
    }

    pub(crate) fn flows(&self, query: &FlowQuery) -> Result<FoundFlows, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| core.paper.flows(id, query, (reader, &**core)))
    }

    /// The statements of the account; those that are due are made.
    pub(crate) fn statements(&self, list: &StatementList) -> Result<Vec<StatementId>, Problem> {
        let core = &self.site.core;
        let id = self.admitted.account().id;
        self.ask(|reader| core.paper.statements(id, list, (reader, &**core)))
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

    pub(crate) fn moment(&self) -> Moment {
        self.site.core.paper_moment()
    }

    pub(crate) fn site(&self) -> &'a Site {
        self.site
    }
}

/// The data of an answer that only says that something was done.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Nothing {}
