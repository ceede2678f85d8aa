//! Shared parts of the order and cash commands: requests of a [`Client`], and output.

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
