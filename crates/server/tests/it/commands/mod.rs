//! Commands over a long connection, answered from the test market in `support`.

mod calc_indexes;
mod candles;
mod coarse;
mod dated;
mod levels;
mod limits;
mod lists;
mod profile;
mod trades;
