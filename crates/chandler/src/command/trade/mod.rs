//! What the commands about orders and money share: whose paper account is meant, where it is, and how it is shown.
//!
//! An account is asked in one of two ways, with the same documents as answers: [`here`] opens the store and its journals, [`there`] asks
//! a server. So everything is printed from documents, and a script need not know which of the two it was.

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

pub(crate) use books::{Books, told};
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

/// Whose paper account, and where it is.
#[derive(Debug, Args)]
pub(crate) struct Whose {
    /// The account in the store here, by name or number [default: the only one there is]
    #[arg(long, value_name = "NAME")]
    account: Option<String>,
    #[command(flatten)]
    remote: remote::ServerFlags,
}

/// An account that can be asked.
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
    /// The id of the new order, and as far as is known what became of it.
    pub(crate) fn submit(&mut self, terms: &Terms) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.submit(terms),
            Source::There(there) => there.submit(terms),
        }
    }

    /// What would become of an order, and what it would cost.
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

    /// What happened to an order, and why.
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

    /// The id of the new grid.
    pub(crate) fn submit_grid(&mut self, asked: &SubmitGrid) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.submit_grid(asked),
            Source::There(there) => there.submit_grid(asked),
        }
    }

    /// Whether a grid would be taken, and where it would trade.
    pub(crate) fn preview_grid(&mut self, asked: &SubmitGrid) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.preview_grid(asked),
            Source::There(there) => there.preview_grid(asked),
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

    /// What happened to a grid, and why.
    pub(crate) fn grid_explanation(&mut self, id: GridId) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.grid_explanation(id),
            Source::There(there) => there.grid_explanation(id),
        }
    }

    /// What a grid of a security needs: its price, lot and price steps.
    pub(crate) fn grid_symbol(&mut self, symbol: &market::Symbol) -> Result<Value, Failure> {
        match self {
            Source::Here(here) => here.grid_symbol(symbol),
            Source::There(there) => there.grid_symbol(symbol),
        }
    }

    /// The questionnaire is answered.
    pub(crate) fn agree_to_strategy(&mut self) -> Result<(), Failure> {
        match self {
            Source::Here(here) => here.agree_to_strategy(),
            Source::There(there) => there.agree_to_strategy(),
        }
    }

    /// What a grid has triggered, or all of them.
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

    /// The text of the newest of these statements, or of that of a date.
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

    /// Whether the store here answers, in which mistyped symbols are looked for.
    pub(crate) fn symbol(&self, text: &str, context: &CommandContext) -> Result<market::Symbol, Failure> {
        match self {
            Source::Here(_) => context.symbol(text),
            Source::There(_) => crate::context::symbol(text),
        }
    }

    /// `; did you mean 700.HK?` for a symbol that the store here does not have, or nothing.
    pub(crate) fn symbol_hint(&self, symbol: &market::Symbol, context: &CommandContext) -> String {
        match self {
            Source::Here(_) => context.symbol_hint(symbol),
            Source::There(_) => String::new(),
        }
    }
}
