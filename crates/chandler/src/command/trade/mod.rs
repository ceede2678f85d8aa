//! The common parts of commands about orders and money: selecting the paper account and its source,
//! and the output.
//!
//! Both sources return the same documents: [`here`] opens the local store and its journals,
//! [`there`] sends requests to a server. All output is made from these documents, so a script need
//! not know the source.

mod books;
mod here;
mod here_grids;
mod questions;
pub(crate) mod shown;
mod there;
mod there_grids;
mod words;

use clap::Args;
use serde_json::Value;
use trading::{Changes, GridId, GridRuleInput, OrderId, SubmitGrid, Terms};

pub(crate) use books::{Books, to_failure};
pub(crate) use questions::{
    CashQuestion, GridChange, GridsQuestion, OrdersQuestion, Range, StatementsQuestion, TradesQuestion,
    grid_id, grid_state, order_id,
};
pub(crate) use words::in_flags;

use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::remote;
use here::Here;
use there::There;

/// Selects a paper account and its source.
#[derive(Debug, Args)]
pub(crate) struct Whose {
    /// The account in the local store, by name or number [default: the only one]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    #[command(flatten)]
    remote: remote::ServerFlags,
}

/// The source of an account.
pub(crate) enum Source {
    Here(Box<Here>),
    There(There),
}

impl Whose {
    pub(crate) fn source(&self, context: &CommandContext) -> Result<Source, Failure> {
        match self.remote.session(context)? {
            Some(_) if self.account.is_some() => Err(usage(
                "--account is for the store here: a server answers for the account that has signed in to it",
            )),
            Some(session) => Ok(Source::There(There::new(session))),
            None => Ok(Source::Here(Box::new(Here::open(context, self.account.as_deref())?))),
        }
    }
}

impl Source {
    /// Submits an order. Returns its id and, if known, its state.
    pub(crate) fn submit(&mut self, terms: &Terms) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.submit(terms),
            Source::There(there) => there.submit(terms),
        }
    }

    /// The expected result and the cost of an order.
    pub(crate) fn preview(&mut self, terms: &Terms) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.preview(terms),
            Source::There(there) => there.preview(terms),
        }
    }

    pub(crate) fn replace(&mut self, id: OrderId, changes: &Changes) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.replace(id, changes),
            Source::There(there) => there.replace(id, changes),
        }
    }

    pub(crate) fn cancel(&mut self, id: OrderId) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.cancel(id),
            Source::There(there) => there.cancel(id),
        }
    }

    pub(crate) fn order(&mut self, id: OrderId) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.order(id),
            Source::There(there) => there.order(id),
        }
    }

    /// The explanation of an order.
    pub(crate) fn explanation(&mut self, id: OrderId) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.explanation(id),
            Source::There(there) => there.explanation(id),
        }
    }

    pub(crate) fn orders(&mut self, question: &OrdersQuestion) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.orders(question),
            Source::There(there) => there.orders(question),
        }
    }

    pub(crate) fn trades(&mut self, question: &TradesQuestion) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.trades(question),
            Source::There(there) => there.trades(question),
        }
    }

    pub(crate) fn cash_flow(&mut self, question: &CashQuestion) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.cash_flow(question),
            Source::There(there) => there.cash_flow(question),
        }
    }

    pub(crate) fn positions(&mut self, symbols: &[market::Symbol]) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.positions(symbols),
            Source::There(there) => there.positions(symbols),
        }
    }

    pub(crate) fn assets(&mut self, currency: Option<trading::Currency>) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.assets(currency),
            Source::There(there) => there.assets(currency),
        }
    }

    /// Submits a grid and returns its id.
    pub(crate) fn submit_grid(&mut self, request: &SubmitGrid) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.submit_grid(request),
            Source::There(there) => there.submit_grid(request),
        }
    }

    /// Whether a grid would be accepted, and where it would trade.
    pub(crate) fn preview_grid(&mut self, request: &SubmitGrid) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.preview_grid(request),
            Source::There(there) => there.preview_grid(request),
        }
    }

    pub(crate) fn replace_grid(&mut self, id: GridId, rule: &GridRuleInput) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.replace_grid(id, rule),
            Source::There(there) => there.replace_grid(id, rule),
        }
    }

    pub(crate) fn change_grid(&mut self, id: GridId, change: GridChange) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.change_grid(id, change),
            Source::There(there) => there.change_grid(id, change),
        }
    }

    pub(crate) fn grid(&mut self, id: GridId) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.grid(id),
            Source::There(there) => there.grid(id),
        }
    }

    pub(crate) fn grids(&mut self, question: &GridsQuestion) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.grids(question),
            Source::There(there) => there.grids(question),
        }
    }

    /// The explanation of a grid.
    pub(crate) fn grid_explanation(&mut self, id: GridId) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.grid_explanation(id),
            Source::There(there) => there.grid_explanation(id),
        }
    }

    /// The inputs for a grid of a security: its price, lot and price steps.
    pub(crate) fn grid_symbol(&mut self, symbol: &market::Symbol) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.grid_symbol(symbol),
            Source::There(there) => there.grid_symbol(symbol),
        }
    }

    /// Accepts the questionnaire about strategies.
    pub(crate) fn agree_to_strategy(&mut self) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.agree_to_strategy(),
            Source::There(there) => there.agree_to_strategy(),
        }
    }

    /// The triggers of a grid, or of all grids.
    pub(crate) fn grid_triggers(&mut self, id: Option<GridId>) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.grid_triggers(id),
            Source::There(there) => there.grid_triggers(id),
        }
    }

    pub(crate) fn statements(&mut self, question: &StatementsQuestion) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.statements(question),
            Source::There(there) => there.statements(question),
        }
    }

    /// The text of the newest statement of a kind, or of that of a date.
    pub(crate) fn statement(
        &mut self,
        question: &StatementsQuestion,
        date: Option<market::Date>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        match self {
            Source::Here(here) => here.statement(question, date),
            Source::There(there) => there.statement(question, date),
        }
    }

    /// Parses a symbol. With the local store, the error for a mistyped one has suggestions.
    pub(crate) fn symbol(&self, text: &str, context: &CommandContext) -> Result<market::Symbol, Failure> {
        match self {
            Source::Here(_) => context.symbol(text),
            Source::There(_) => crate::context::symbol(text),
        }
    }

    /// `; did you mean 700.HK?` for a symbol that the local store does not have; otherwise empty.
    pub(crate) fn symbol_hint(&self, symbol: &market::Symbol, context: &CommandContext) -> String {
        match self {
            Source::Here(_) => context.symbol_hint(symbol),
            Source::There(_) => String::new(),
        }
    }
}
