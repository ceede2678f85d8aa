use crate::{Minutes, Price, Session, Timestamp, Turnover};

/// A candle. `time` is the start of its interval for minute periods, and local midnight of its
/// first day for daily and longer periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candle {
    pub time: Timestamp,
    pub open: Price,
    pub high: Price,
    pub low: Price,
    pub close: Price,
    pub volume: i64,
    pub turnover: Turnover,
    pub session: Session,
}

/// Reason why an imported candle is invalid, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error("low is above open, close or high, or high below them")]
    Range,
    #[error("a price is not above zero")]
    Price,
    #[error("volume or turnover is negative")]
    Negative,
    #[error("turnover has more than 18 digits before the point")]
    Turnover,
    #[error("duplicate timestamp in the file")]
    Duplicate,
    #[error("not the start of a minute")]
    NotAMinute,
    #[error("no session of the market has this minute")]
    NoSession,
    #[error("not the start of a {}-minute candle: they are counted from the opening of their session", .0.get())]
    OffGrid(Minutes),
    #[error("options are traded in regular hours only")]
    OptionHours,
    #[error("not local midnight, so not a day")]
    NotADay,
    #[error("the session column contradicts the time")]
    Session,
}

impl Candle {
    /// Performs the specification's checks that need only the candle itself, and returns the first
    /// flaw. Inlined, because an import calls this for every row.
    #[inline]
    pub fn check(&self) -> Result<(), Flaw> {
        if self.range_flaw().is_some() {
            return Err(Flaw::Range);
        }
        if self.low.0 <= 0 {
            return Err(Flaw::Price);
        }
        if self.volume < 0 || self.turnover.0 < 0 {
            return Err(Flaw::Negative);
        }
        if self.turnover > Turnover::MAX {
            return Err(Flaw::Turnover);
        }
        Ok(())
    }

    /// Returns which two prices contradict each other; `None` if none do.
    #[inline]
    pub fn range_flaw(&self) -> Option<&'static str> {
        let Candle { open, high, low, close, .. } = *self;
        match () {
            () if low > open => Some("low above open"),
            () if low > close => Some("low above close"),
            () if open > high => Some("open above high"),
            () if close > high => Some("close above high"),
            () => None,
        }
    }
}

/// Candles as columns of equal length. Blocks use this layout, and folds and encoders take it as
/// input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candles {
    pub time: Vec<i64>,
    pub open: Vec<i64>,
    pub high: Vec<i64>,
    pub low: Vec<i64>,
    pub close: Vec<i64>,
    pub volume: Vec<i64>,
    pub turnover: Vec<i128>,
    pub session: Vec<Session>,
}

impl Candles {
    pub fn with_capacity(rows: usize) -> Candles {
        Candles {
            time: Vec::with_capacity(rows),
            open: Vec::with_capacity(rows),
            high: Vec::with_capacity(rows),
            low: Vec::with_capacity(rows),
            close: Vec::with_capacity(rows),
            volume: Vec::with_capacity(rows),
            turnover: Vec::with_capacity(rows),
            session: Vec::with_capacity(rows),
        }
    }

    pub fn len(&self) -> usize {
        self.time.len()
    }

    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }

    pub fn push(&mut self, candle: Candle) {
        self.time.push(candle.time.0);
        self.open.push(candle.open.0);
        self.high.push(candle.high.0);
        self.low.push(candle.low.0);
        self.close.push(candle.close.0);
        self.volume.push(candle.volume);
        self.turnover.push(candle.turnover.0);
        self.session.push(candle.session);
    }

    pub fn get(&self, row: usize) -> Option<Candle> {
        Some(Candle {
            time: Timestamp(*self.time.get(row)?),
            open: Price(*self.open.get(row)?),
            high: Price(*self.high.get(row)?),
            low: Price(*self.low.get(row)?),
            close: Price(*self.close.get(row)?),
            volume: *self.volume.get(row)?,
            turnover: Turnover(*self.turnover.get(row)?),
            session: *self.session.get(row)?,
        })
    }

    pub fn last(&self) -> Option<Candle> {
        self.len().checked_sub(1).and_then(|row| self.get(row))
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Candle> + DoubleEndedIterator + '_ {
        // Zipped iterators check the length once for all rows, instead of eight times per row.
        let prices = self.open.iter().zip(&self.high).zip(&self.low).zip(&self.close);
        let amounts = self.volume.iter().zip(&self.turnover).zip(&self.session);
        self.time.iter().zip(prices).zip(amounts).map(
            |((time, (((open, high), low), close)), ((volume, turnover), session))| Candle {
                time: Timestamp(*time),
                open: Price(*open),
                high: Price(*high),
                low: Price(*low),
                close: Price(*close),
                volume: *volume,
                turnover: Turnover(*turnover),
                session: *session,
            },
        )
    }

    pub fn clear(&mut self) {
        self.truncate(0);
    }

    pub fn truncate(&mut self, rows: usize) {
        self.time.truncate(rows);
        self.open.truncate(rows);
        self.high.truncate(rows);
        self.low.truncate(rows);
        self.close.truncate(rows);
        self.volume.truncate(rows);
        self.turnover.truncate(rows);
        self.session.truncate(rows);
    }

    /// Retains only `rows`, clamped to the existing rows.
    pub fn retain_rows(&mut self, rows: std::ops::Range<usize>) {
        self.truncate(rows.end);
        let start = rows.start.min(self.len());
        self.time.drain(..start);
        self.open.drain(..start);
        self.high.drain(..start);
        self.low.drain(..start);
        self.close.drain(..start);
        self.volume.drain(..start);
        self.turnover.drain(..start);
        self.session.drain(..start);
    }

    pub fn append(&mut self, other: &Candles) {
        self.time.extend_from_slice(&other.time);
        self.open.extend_from_slice(&other.open);
        self.high.extend_from_slice(&other.high);
        self.low.extend_from_slice(&other.low);
        self.close.extend_from_slice(&other.close);
        self.volume.extend_from_slice(&other.volume);
        self.turnover.extend_from_slice(&other.turnover);
        self.session.extend_from_slice(&other.session);
    }
}

impl FromIterator<Candle> for Candles {
    fn from_iter<I: IntoIterator<Item = Candle>>(candles: I) -> Candles {
        let mut columns = Candles::default();
        candles.into_iter().for_each(|candle| columns.push(candle));
        columns
    }
}
