//! Moves the clocks of worlds (`worlds/`), and changes worlds.
//!
//! `step.rs` finds where a step ends and does what is due up to there, also in the form of a quote;
//! `run.rs` moves running clocks, which wait for their clients; `past.rs` goes back, changes the span
//! and copies; `next.rs` finds the next instant with work; `record.rs` records what happens;
//! `remove.rs` deletes worlds. Rows that another process has moved are read again (`follow.rs`).

mod follow;
mod next;
mod past;
mod record;
mod remove;
mod run;
mod step;

pub(crate) use follow::{look, refresh};
pub(crate) use next::acts_at;
pub(crate) use past::{begin_log, check_past, copy_account, copy_plain_account, reset, set_span};
pub(crate) use record::{log_lines, note_reads};
pub(crate) use remove::{remove, remove_ended};
pub(crate) use run::{RunRequest, lag_s, move_running, pause, pause_all, run};
pub(crate) use step::{ClockQuote, Pushes, Stepped, Target, clock_quote, step, step_quote};
