use std::fmt;
use std::str::FromStr;

use market::{Candle, Price, Session, Timestamp, Turnover};

/// Position of a walk. Its text is stored in the same transaction as the rows of the last page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    pub(super) state: State,
    pub(super) anchors: Anchors,
    pub(super) restarts: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Start,
    At(Oldest),
    Done(End),
}

/// The oldest received candle, which the next page must repeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Oldest {
    pub(super) candle: Candle,
    pub(super) is_forming: bool,
}

/// Whether the other server includes the anchor of a request. Otherwise requests use an anchor one
/// step after the oldest candle, so that pages repeat that candle too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchors {
    Included,
    Excluded,
}

/// Why a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The oldest requested candle, or the floor, was reached.
    Floor,
    /// The other server has no older candle.
    Exhausted,
    /// The history was revised more often than the walk may restart.
    Revised,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a position of a walk")]
pub struct ParsePositionError(String);

impl Position {
    pub const START: Position = Position { state: State::Start, anchors: Anchors::Included, restarts: 0 };

    /// Returns the stamp of the oldest received candle, if the walk has begun and not ended.
    pub fn oldest(&self) -> Option<Timestamp> {
        match &self.state {
            State::At(oldest) => Some(oldest.candle.time),
            State::Start | State::Done(_) => None,
        }
    }

    pub fn restarts(&self) -> u8 {
        self.restarts
    }

    /// Returns why the walk ended; `None` if it has not.
    pub fn end(&self) -> Option<End> {
        match self.state {
            State::Done(end) => Some(end),
            State::Start | State::At(_) => None,
        }
    }
}

impl End {
    const ALL: [End; 3] = [End::Floor, End::Exhausted, End::Revised];

    pub fn as_str(self) -> &'static str {
        match self {
            End::Floor => "floor",
            End::Exhausted => "exhausted",
            End::Revised => "revised",
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let anchors = match self.anchors {
            Anchors::Included => "included",
            Anchors::Excluded => "excluded",
        };
        write!(f, "1 {} {anchors} ", self.restarts)?;
        match &self.state {
            State::Start => f.write_str("start"),
            State::Done(end) => write!(f, "done {}", end.as_str()),
            State::At(Oldest { candle, is_forming }) => {
                let Candle { time, open, high, low, close, volume, turnover, session } = candle;
                let state = if *is_forming { "forming" } else { "final" };
                let (open, high, low, close) = (open.0, high.0, low.0, close.0);
                write!(f, "at {state} {} {open} {high} {low} {close} {volume} ", time.0)?;
                write!(f, "{} {}", turnover.0, session.code())
            }
        }
    }
}

impl FromStr for Position {
    type Err = ParsePositionError;

    fn from_str(text: &str) -> Result<Position, ParsePositionError> {
        parse(text).ok_or_else(|| ParsePositionError(text.chars().take(200).collect()))
    }
}

fn parse(text: &str) -> Option<Position> {
    let mut words = text.split(' ');
    let mut word = || words.next();
    if word()? != "1" {
        return None;
    }
    let restarts = word()?.parse().ok()?;
    let anchors = match word()? {
        "included" => Anchors::Included,
        "excluded" => Anchors::Excluded,
        _ => return None,
    };
    let state = match word()? {
        "start" => State::Start,
        "done" => {
            let end = word()?;
            State::Done(End::ALL.into_iter().find(|known| known.as_str() == end)?)
        }
        "at" => {
            let is_forming = match word()? {
                "forming" => true,
                "final" => false,
                _ => return None,
            };
            let candle = Candle {
                time: Timestamp(word()?.parse().ok()?),
                open: Price(word()?.parse().ok()?),
                high: Price(word()?.parse().ok()?),
                low: Price(word()?.parse().ok()?),
                close: Price(word()?.parse().ok()?),
                volume: word()?.parse().ok()?,
                turnover: Turnover(word()?.parse().ok()?),
                session: Session::from_code(word()?.parse().ok()?)?,
            };
            State::At(Oldest { candle, is_forming })
        }
        _ => return None,
    };
    word().is_none().then_some(Position { state, anchors, restarts })
}
