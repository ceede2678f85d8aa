//! Golden tests of the paper account that follow the specification, and property tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

mod common;
mod golden_coarse;
mod golden_fees;
mod golden_fills;
mod golden_grid;
mod golden_money;
mod journal;
mod oracle;
mod oracle_of_grids;
mod properties;
mod properties_of_attached_orders;
mod properties_of_coarse_days;
mod properties_of_holdings;
mod properties_of_input;
mod rules_attached;
mod rules_checks;
mod rules_grid;
mod rules_grid_life;
mod rules_holdings;
mod rules_limits;
mod rules_money;
mod rules_order_of_work;
mod rules_reach;
mod rules_reserves;
mod rules_sessions;
mod rules_tables;
mod rules_triggers;
mod rules_wake;
mod statements;
mod world;
