-- Shares and per-share figures of a security that hold from a day on: a line for each day, as `candles/figures.rs` writes it.
alter table security add column dated_figures text collate "C";
