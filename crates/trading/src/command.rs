//! Commands to an account.

use market::{Price, Symbol};

use crate::grid::GridRuleInput;
use crate::money::Currency;
use crate::money::Money;
use crate::order::{GridId, OrderId};
use crate::quantity::Quantity;
use crate::settings::{Setting, Settings};
use crate::terms::{Changes, Terms};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Opens the account. Must be the first command of a journal.
    Open {
        account: u64,
        settings: Settings,
    },
    Submit(Box<Submit>),
    Replace {
        id: OrderId,
        changes: Box<Changes>,
    },
    Cancel {
        id: OrderId,
    },

    SubmitGrid(Box<SubmitGrid>),
    ReplaceGrid {
        id: GridId,
        rule: Box<GridRuleInput>,
    },
    CancelGrid {
        id: GridId,
    },
    SuspendGrid {
        id: GridId,
    },
    RestartGrid {
        id: GridId,
    },
    /// Records that the client accepts the risks of grid trading.
    AgreeToStrategy,

    // Operator commands.
    Set(Setting),
    SetCredit(Money),
    Deposit {
        currency: Currency,
        amount: Money,
    },
    Withdraw {
        currency: Currency,
        amount: Money,
    },
    /// Converts an amount into another currency at the stored rates.
    Exchange {
        from: Currency,
        amount: Money,
        to: Currency,
    },
    /// Books a positive or negative amount with a note.
    Adjust {
        currency: Currency,
        amount: Money,
        note: String,
    },
    /// Sets a position and its cost, without booking cash.
    EnterPosition {
        symbol: Symbol,
        quantity: Quantity,
        cost: Price,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submit {
    pub terms: Terms,
    /// Whether withdrawn order types are accepted, which requires an API version dated before their
    /// withdrawal.
    pub takes_withdrawn: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitGrid {
    pub symbol: Symbol,
    /// Must be the security's currency, which is also the default.
    pub settlement_currency: Option<Currency>,
    pub rule: GridRuleInput,
}

impl Submit {
    pub fn of(terms: Terms) -> Submit {
        Submit { terms, takes_withdrawn: false }
    }
}

impl Command {
    pub fn submit(terms: Terms) -> Command {
        Command::Submit(Box::new(Submit::of(terms)))
    }

    /// Returns whether the command is refused when the journal is full. Commands that end an order
    /// or a grid are always accepted.
    pub(crate) fn adds(&self) -> bool {
        matches!(
            self,
            Command::Submit(_)
                | Command::Replace { .. }
                | Command::SubmitGrid(_)
                | Command::ReplaceGrid { .. }
                | Command::RestartGrid { .. }
        )
    }

    /// Returns whether clients may send the command. All other commands are operator commands,
    /// which are also accepted before the first request.
    pub fn is_of_client(&self) -> bool {
        matches!(
            self,
            Command::Submit(_)
                | Command::Replace { .. }
                | Command::Cancel { .. }
                | Command::SubmitGrid(_)
                | Command::ReplaceGrid { .. }
                | Command::CancelGrid { .. }
                | Command::SuspendGrid { .. }
                | Command::RestartGrid { .. }
                | Command::AgreeToStrategy
        )
    }
}
