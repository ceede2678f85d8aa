mod candles;
mod mirrors;
mod plumbing;
mod signed;
