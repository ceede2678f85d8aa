//! Requests and output shared by the order, grid, cash and statement commands.

mod grids;
mod orders;
mod questions;
pub(crate) mod shown;

pub(crate) use questions::{
    Between, CashQuestion, GridChange, GridsQuestion, OrdersQuestion, Range, StatementsQuestion,
    TradesQuestion, grid_id, grid_state, order_id,
};
