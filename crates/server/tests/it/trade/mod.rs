//! Paper accounts through the doors: whole sessions, pushes, wrong input, an operator's hands.

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
mod wrong;
