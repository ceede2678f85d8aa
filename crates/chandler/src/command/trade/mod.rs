//! Shared parts of the order and cash commands: requests of a [`Client`], and output.

mod grids;
mod orders;
mod questions;
pub(crate) mod shown;

pub(crate) use questions::{
    CashQuestion, GridChange, GridsQuestion, OrdersQuestion, Range, StatementsQuestion, TradesQuestion,
    grid_id, grid_state, order_id,
};
