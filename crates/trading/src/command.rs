//! Commands to an account.

use market::{Price, Symbol};

use crate::grid::{GridId, GridRuleInput};
use crate::money::Currency;
use crate::money::Money;
use crate::order::OrderId;
use crate::quantity::Quantity;
use crate::settings::{Setting, Settings};
use crate::terms::{Changes, Terms};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// The first command of a journal.
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
    /// The client has read the risks of strategies.
    AgreeToStrategy,

    // Commands of operators.
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
    /// Converts an amount of one currency into another, at the stored rates.
    Exchange {
        from: Currency,
        amount: Money,
        to: Currency,
    },
    /// Books an amount, positive or negative, with a note.
    Adjust {
        currency: Currency,
        amount: Money,
        note: String,
    },
    /// Sets a position and its cost, without cash.
    EnterPosition {
        symbol: Symbol,
        quantity: Quantity,
        cost: Price,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submit {
    pub terms: Terms,
    /// Withdrawn order types are accepted: the account uses an API date before their withdrawal.
    pub takes_withdrawn: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitGrid {
    pub symbol: Symbol,
    /// Defaults to that of the security.
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

    /// Whether a client adds something with it, which a full journal refuses. Ending something is
    /// always possible.
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

    /// Whether a client may send it. The others are for operators, also before the first request.
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
