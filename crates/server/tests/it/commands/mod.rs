//! The commands over a long connection, answered from the small market of `support`.

mod candles;
mod levels;
mod limits;
mod lists;
mod profile;
mod trades;
