//! The common parts of commands about orders and money: the requests of a [`Client`], and the
//! output.

mod grids;
mod orders;
mod pages;
mod questions;
pub(crate) mod shown;
mod statements;

pub(crate) use questions::{
    CashQuestion, GridChange, GridsQuestion, OrdersQuestion, Range, StatementsQuestion, TradesQuestion,
    grid_id, grid_state, order_id,
};
