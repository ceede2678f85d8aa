//! A world is an account with its own market clock, so that a program can run as if on a past day.
//!
//! Everything in this crate is a value or a pure function. The crate depends on no accounts,
//! stores, protocols or clocks: machine instants are arguments. `tests/it/` contains the worked
//! examples.
//!
//! Start with [`State`], which determines what a world permits, and [`Settings`]. [`Course`]
//! computes the time of a running clock, and [`TradingHours`] finds the instants at which markets
//! open and close. [`Reserved`] parses the symbols that show and step the clock.

mod course;
mod hours;
mod name;
mod reserved;
mod settings;
mod state;

pub use course::Course;
pub use hours::{SKIP_LEAD_S, TradingHours};
pub use name::{NAME_CHARS_MAX, ParseNameError, WorldName};
pub use reserved::{CLOCK, Reserved, STEP, STEP_SECONDS_MAX};
pub use settings::{
    Auto, Limits, Markets, ParseSettingsError, QUIET_MS_MAX, SPEED_THOUSANDTHS_MAX, Settings, Skip, Span,
    SpanError, Speed,
};
pub use state::{Change, State, WrongState};
