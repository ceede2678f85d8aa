//! Errors of reading, moving and changing worlds, and the refusals of requests for these errors.

use access::AccessError;
use history::HistoryError;
use market::Timestamp;
use paper::PaperError;
use store::{AccountId, StoreError, WorldRow};
use world::WrongState;

use crate::refusal::Refusal;

/// Number of log lines at which the clock of a world no longer moves.
pub(super) const LINES_MAX: u64 = 1_000_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WorldError {
    #[error(transparent)]
    WrongState(#[from] WrongState),
    /// The requested end of a step is not after the clock.
    #[error("the clock of the world is at {now}: it can only move forward")]
    Back { now: Timestamp },
    #[error("{at} is not between the world's start {start} and its clock {now}")]
    NotPast { at: Timestamp, start: Timestamp, now: Timestamp },
    #[error("the start {start} is before {at}, up to which the account of the world was copied")]
    BeforeCopy { start: Timestamp, at: Timestamp },
    #[error("the world moves by steps only: give a speed to run at")]
    NoSpeed,
    #[error("{0} worlds are running already, which is the limit worlds_running")]
    TooManyRunning(u32),
    #[error("the world is running on another node: pause it first")]
    RunsElsewhere,
    /// An earlier movement failed before it was complete. It must be completed before another
    /// movement.
    #[error("a step to {to} has failed half way: repeat it first")]
    Unfinished { to: Timestamp },
    #[error("the world was changed by another process: try again")]
    Moved,
    #[error("the log of the world is full ({}): reset it, or fork it at an earlier instant", LINES_MAX)]
    LogFull,
    #[error("there is no such world")]
    Unknown,
    #[error("world of account {} holds {text:?} where a {field} belongs", account.0)]
    Value { account: AccountId, field: &'static str, text: String },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error(transparent)]
    Paper(#[from] PaperError),
    #[error("cannot publish a step: {0:?}")]
    Publish(Refusal),
}

const CANNOT_MOVE: &str = "cannot move the clock of a world";

impl From<WorldError> for Refusal {
    fn from(error: WorldError) -> Refusal {
        match error {
            WorldError::WrongState(_)
            | WorldError::Back { .. }
            | WorldError::NotPast { .. }
            | WorldError::BeforeCopy { .. }
            | WorldError::NoSpeed
            | WorldError::TooManyRunning(_)
            | WorldError::RunsElsewhere
            | WorldError::Unfinished { .. }
            | WorldError::LogFull
            | WorldError::Unknown => Refusal::BadQuery(error.to_string()),
            WorldError::Moved => Refusal::Busy,
            WorldError::History(error) => error.into(),
            WorldError::Publish(refusal) => refusal,
            WorldError::Store(error) => Refusal::of_store(&error, CANNOT_MOVE),
            WorldError::Paper(error) => match error.store() {
                Some(error) => Refusal::of_store(error, CANNOT_MOVE),
                None => {
                    tracing::error!(%error, "{CANNOT_MOVE}");
                    Refusal::Internal
                }
            },
            error @ (WorldError::Value { .. } | WorldError::Access(_)) => {
                tracing::error!(%error, "{CANNOT_MOVE}");
                Refusal::Internal
            }
        }
    }
}

pub(super) fn wrong(row: &WorldRow, field: &'static str, text: &str) -> WorldError {
    WorldError::Value { account: row.account, field, text: text.chars().take(80).collect() }
}
