//! Moves the clocks of worlds (`worlds/`), and changes worlds.
//!
//! `step.rs` finds the end of a step and does the work up to it, and offers the clock in the form
//! of a quote. `run.rs` moves running clocks, which wait for their clients. `past.rs` resets and
//! copies worlds, and changes their span. `next.rs` finds the next instant with work, `record.rs`
//! adds lines to the log, and `remove.rs` deletes worlds. `follow.rs` reads rows that another
//! process has changed.

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
