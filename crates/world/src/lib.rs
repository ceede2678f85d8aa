//! Worlds: a world is an account with a market clock of its own, so that a program runs on any past
//! day.
//!
//! Everything in this crate is a value or a pure function. The crate knows no accounts, stores,
//! protocols or clocks: a machine instant is an argument. `tests/it/` contains the worked examples.
//!
//! Start with [`State`], which says what a world permits, and [`Settings`], which it is created
//! with. [`Course`] is the arithmetic of a moving clock, and [`TradingHours`] finds the instants at
//! which a market opens and closes. [`Reserved`] parses the symbols that show and step the clock.

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
