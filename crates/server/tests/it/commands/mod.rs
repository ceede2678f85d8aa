//! The commands over a long connection, answered from the small market of `support`.

mod calc_indexes;
mod candles;
mod coarse;
mod dated;
mod levels;
mod limits;
mod lists;
mod profile;
mod trades;
