use std::fmt;

/// State of a world. The clock moves only in `Running`, or during a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The clock is at the start.
    Created,
    Running,
    Paused,
    /// The clock is at the end, or the world was stopped permanently. Reads are served, changes are
    /// refused.
    Ended,
}

/// A change of the state that an owner requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A change of the first and the last instant.
    Set,
    Run,
    Pause,
    Step,
    End,
    Reset,
    Delete,
}

/// A change that the state does not permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the world is {state}: {}", self.advice())]
pub struct WrongState {
    pub state: State,
    pub change: Change,
}

impl State {
    pub const ALL: [State; 4] = [State::Created, State::Running, State::Paused, State::Ended];

    pub fn as_str(self) -> &'static str {
        match self {
            State::Created => "created",
            State::Running => "running",
            State::Paused => "paused",
            State::Ended => "ended",
        }
    }

    pub fn parse(text: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// Returns the state after a change, or an error if the state does not permit the change.
    /// Ignores the clock: callers use [`State::Ended`] instead if the clock reaches the end, and
    /// [`State::Created`] after a reset to the start.
    pub fn after(self, change: Change) -> Result<State, WrongState> {
        match (self, change) {
            (State::Created, Change::Set) => Ok(State::Created),
            (State::Created | State::Paused, Change::Run) => Ok(State::Running),
            (State::Running, Change::Pause) => Ok(State::Paused),
            (State::Created | State::Paused, Change::Step) => Ok(State::Paused),
            (State::Running | State::Paused, Change::End) => Ok(State::Ended),
            (_, Change::Reset) => Ok(State::Paused),
            (State::Created | State::Ended, Change::Delete) => Ok(State::Ended),
            (state, change) => Err(WrongState { state, change }),
        }
    }

    /// Returns the state after a restart of the server, which pauses running worlds because their
    /// connections are lost.
    pub fn after_restart(self) -> State {
        match self {
            State::Running => State::Paused,
            State::Created | State::Paused | State::Ended => self,
        }
    }
}

impl WrongState {
    fn advice(&self) -> &'static str {
        match (self.state, self.change) {
            (State::Running, Change::Delete) => "end it first",
            (State::Running, _) => "pause it first",
            (State::Ended, Change::Set) => "reset it to its start first",
            (State::Ended, Change::Pause | Change::End) => "its clock is stopped",
            (State::Ended, _) => "reset it, or fork it at an earlier instant",
            (State::Created, Change::End) => "it has not begun, delete it instead",
            (State::Created, _) => "its clock is stopped",
            (State::Paused, Change::Set) => "it has begun, reset it to its start first",
            (State::Paused, Change::Delete) => "end it first",
            (State::Paused, _) => "its clock is stopped",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
