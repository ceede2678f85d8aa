//! Compares our adjusted candles with those of the other server.

use market::{Candle, Price, Symbol, Timestamp};

/// Largest difference between prices that count as equal. Both are rounded to three decimals, ours
/// from an uncertain factor.
pub const TOLERANCE: Price = Price(1_000);
/// Maximum number of differences in the list. All differences are counted.
pub const DIFFERENCES_MAX: usize = 10_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    Open,
    High,
    Low,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    Price {
        time: Timestamp,
        field: Field,
        ours: Price,
        received: Price,
    },
    /// The other server has a candle that we do not have.
    Missing {
        time: Timestamp,
    },
    /// We have a candle that the other server does not have.
    Surplus {
        time: Timestamp,
    },
}

/// Result of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Number of candles that both sides have.
    pub compared: u64,
    /// Number of all differences, including those that are not in the list.
    pub different: u64,
    /// The first differences, in the order in which they were found.
    pub differences: Vec<Difference>,
}

/// A deterministic sample of securities. The same seed selects the same securities on every
/// machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    seed: u64,
    millionths: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a sample: write a share like 1% or 0.01, above 0 and at most 100%")]
pub struct ParseSampleError(String);

impl Field {
    pub fn as_str(self) -> &'static str {
        match self {
            Field::Open => "open",
            Field::High => "high",
            Field::Low => "low",
            Field::Close => "close",
        }
    }
}

impl Report {
    /// Adds the comparison of two ascending runs of candles over the same time range. Volumes are
    /// not compared, because adjustment does not change them.
    pub fn add(
        &mut self,
        ours: impl IntoIterator<Item = Candle>,
        received: impl IntoIterator<Item = Candle>,
    ) {
        let (mut ours, mut received) = (ours.into_iter().peekable(), received.into_iter().peekable());
        loop {
            match (ours.peek().copied(), received.peek().copied()) {
                (None, None) => break,
                (Some(a), Some(b)) if a.time == b.time => {
                    self.compare(&a, &b);
                    ours.next();
                    received.next();
                }
                (Some(a), b) if b.is_none_or(|b| a.time < b.time) => {
                    self.push(Difference::Surplus { time: a.time });
                    ours.next();
                }
                (_, b) => {
                    if let Some(b) = b {
                        self.push(Difference::Missing { time: b.time });
                    }
                    received.next();
                }
            }
        }
    }

    pub fn is_equal(&self) -> bool {
        self.different == 0
    }

    fn compare(&mut self, ours: &Candle, received: &Candle) {
        self.compared += 1;
        for (field, ours_at, received_at) in [
            (Field::Open, ours.open, received.open),
            (Field::High, ours.high, received.high),
            (Field::Low, ours.low, received.low),
            (Field::Close, ours.close, received.close),
        ] {
            if ours_at.0.abs_diff(received_at.0) > TOLERANCE.0.unsigned_abs() {
                let time = ours.time;
                self.push(Difference::Price { time, field, ours: ours_at, received: received_at });
            }
        }
    }

    fn push(&mut self, difference: Difference) {
        self.different += 1;
        if self.differences.len() < DIFFERENCES_MAX {
            self.differences.push(difference);
        }
    }
}

impl Sample {
    const WHOLE: u32 = 1_000_000;

    /// Returns a sample that selects a share of all securities, in millionths.
    pub fn new(seed: u64, millionths: u32) -> Option<Sample> {
        (1..=Sample::WHOLE).contains(&millionths).then_some(Sample { seed, millionths })
    }

    /// Returns the sample of all securities.
    pub fn all() -> Sample {
        Sample { seed: 0, millionths: Sample::WHOLE }
    }

    /// Parses a share such as `1%` or `0.01`.
    pub fn parse(text: &str, seed: u64) -> Result<Sample, ParseSampleError> {
        let wrong = || ParseSampleError(text.chars().take(40).collect());
        let (number, scale) = text.trim().strip_suffix('%').map_or((text.trim(), 6), |number| (number, 4));
        match market::parse_scaled(number.as_bytes(), scale) {
            Ok((share, true)) => {
                u32::try_from(share).ok().and_then(|share| Sample::new(seed, share)).ok_or_else(wrong)
            }
            _ => Err(wrong()),
        }
    }

    /// Returns whether a security is in the sample. A larger sample of the same seed contains all
    /// securities of a smaller one.
    pub fn includes(&self, symbol: &Symbol) -> bool {
        self.millionths == Sample::WHOLE
            || hash(self.seed, symbol.as_str()) % u64::from(Sample::WHOLE) < u64::from(self.millionths)
    }
}

/// Returns the FNV-1a hash with a final mix. Without it, the low digits of the hash depend only on
/// the last letters.
fn hash(seed: u64, text: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ (hash >> 33)
}
