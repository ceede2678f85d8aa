//! Paper accounts over HTTP and long connections: whole trading days, pushes, invalid input, and
//! operator actions.

mod alerts;
mod attached;
mod clock;
mod coarse;
mod dated;
mod grid;
mod grid_wrong;
mod hall;
mod levels;
mod operator;
mod orders;
mod portfolio;
mod pushes;
mod statements;
mod world_logs;
mod world_sessions;
mod worlds;
mod wrong;
