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
    /// Accepts the risks of strategies.
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
    /// Whether withdrawn order types are accepted, because the account uses an API date from before
    /// their withdrawal.
    pub takes_withdrawn: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmitGrid {
    pub symbol: Symbol,
    /// Defaults to the security's currency.
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

    /// Returns whether a full journal refuses the command. Commands that end an order or a grid are
    /// always accepted.
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

    /// Returns whether a client may send the command. The others are operator commands, which are
    /// also accepted before the first request.
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
