//! Market data rights of an account, each with its period of validity.

use std::fmt;
use std::str::FromStr;

use market::{Market, Timestamp};
use store::RightRow;

use crate::AccessError;

/// The last second of the year 9999, which is the latest time that clients can parse.
pub const TIME_MAX: Timestamp = Timestamp(253_402_300_799);

/// A market data package that can be granted to an account. Singapore and US options can be
/// granted, although there is no history for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    Hk,
    Us,
    /// US overnight session, valid only together with [`Right::Us`].
    UsOvernight,
    Cn,
    Sg,
    UsOptions,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a package: name one of HK, US, US_OVERNIGHT, CN, SG, US_OPTIONS")]
pub struct ParseRightError(String);

impl Right {
    pub const ALL: [Right; 6] =
        [Right::Hk, Right::Us, Right::UsOvernight, Right::Cn, Right::Sg, Right::UsOptions];
    /// The packages that are whole markets. They are granted to an account by default.
    pub const MARKETS: [Right; 4] = [Right::Hk, Right::Us, Right::Cn, Right::Sg];

    pub fn as_str(self) -> &'static str {
        match self {
            Right::Hk => "HK",
            Right::Us => "US",
            Right::UsOvernight => "US_OVERNIGHT",
            Right::Cn => "CN",
            Right::Sg => "SG",
            Right::UsOptions => "US_OPTIONS",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Right> {
        Right::ALL.into_iter().find(|right| right.as_str() == name)
    }
}

impl From<Market> for Right {
    fn from(market: Market) -> Right {
        match market {
            Market::Hk => Right::Hk,
            Market::Us => Right::Us,
            Market::Cn => Right::Cn,
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Right {
    type Err = ParseRightError;

    fn from_str(text: &str) -> Result<Right, ParseRightError> {
        let name = text.trim().to_ascii_uppercase().replace('-', "_");
        let name = if matches!(name.as_str(), "SH" | "SZ") { "CN" } else { name.as_str() };
        Right::of(name).ok_or_else(|| ParseRightError(text.chars().take(40).collect()))
    }
}

/// Period in which a right is valid, as a half-open range; `None` means unlimited on that side.
/// Times are by the market clock, because rights determine which market data is visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Validity {
    pub starts_at: Option<Timestamp>,
    pub ends_at: Option<Timestamp>,
}

impl Validity {
    pub const ALWAYS: Validity = Validity { starts_at: None, ends_at: None };

    pub(crate) fn check(&self) -> Result<(), AccessError> {
        let times = [self.starts_at, self.ends_at].into_iter().flatten();
        let mut wrong = times.filter(|at| !(Timestamp(0)..=TIME_MAX).contains(at));
        if let Some(at) = wrong.next() {
            return Err(AccessError::Terms(format!("{at} is not between the years 1970 and 9999")));
        }
        match (self.starts_at, self.ends_at) {
            (Some(from), Some(until)) if until <= from => {
                Err(AccessError::Terms(format!("a right that begins {from} cannot end {until}")))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.starts_at, self.ends_at) {
            (None, None) => f.write_str("without end"),
            (Some(from), None) => write!(f, "from {from}"),
            (None, Some(until)) => write!(f, "until {until}"),
            (Some(from), Some(until)) => write!(f, "from {from} until {until}"),
        }
    }
}

/// Whether a right is valid at a given time and, if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    Held,
    Never,
    Begins(Timestamp),
    Ended(Timestamp),
}

/// The rights of an account with their validity. The text form is a list such as `HK,US`, `all` for
/// every market, or `none`. `SH` and `SZ` are aliases of `CN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights([Option<Validity>; Right::ALL.len()]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a list of markets: name some of HK, US, CN, SG, or all, or none")]
pub struct ParseRightsError(String);

impl Default for Rights {
    /// Returns the rights to all markets without expiry, but not to the overnight session or
    /// options.
    fn default() -> Rights {
        Right::MARKETS.into_iter().fold(Rights::NONE, Rights::with)
    }
}

impl Rights {
    pub const NONE: Rights = Rights([None; Right::ALL.len()]);

    /// Iterates over all granted rights, including rights that are not valid yet or have expired.
    pub fn iter(&self) -> impl Iterator<Item = (Right, Validity)> {
        Right::ALL.into_iter().zip(self.0).filter_map(|(right, validity)| Some((right, validity?)))
    }

    pub fn validity(&self, right: Right) -> Option<Validity> {
        self.iter().find(|(granted, _)| *granted == right).map(|(_, validity)| validity)
    }

    /// Returns whether a right is valid at a time by the market clock and, if not, why.
    pub fn hold(&self, right: Right, now: Timestamp) -> Hold {
        let hold = match self.validity(right) {
            None => Hold::Never,
            Some(Validity { starts_at: Some(from), .. }) if now < from => Hold::Begins(from),
            Some(Validity { ends_at: Some(until), .. }) if until <= now => Hold::Ended(until),
            Some(_) => Hold::Held,
        };
        match (right, hold) {
            (Right::UsOvernight, Hold::Held) => self.hold(Right::Us, now),
            (_, hold) => hold,
        }
    }

    pub fn holds(&self, right: Right, now: Timestamp) -> bool {
        self.hold(right, now) == Hold::Held
    }

    /// Returns the rights with an additional right that has no time limit.
    #[must_use]
    pub fn with(self, right: Right) -> Rights {
        self.with_for(right, Validity::ALWAYS)
    }

    #[must_use]
    pub fn with_for(mut self, right: Right, validity: Validity) -> Rights {
        for (known, place) in Right::ALL.into_iter().zip(&mut self.0) {
            if known == right {
                *place = Some(validity);
            }
        }
        self
    }

    pub(crate) fn rows(&self) -> Vec<RightRow> {
        self.iter().map(|(right, validity)| row(right, validity)).collect()
    }

    /// Converts database rows to rights. Unknown packages are ignored.
    pub(crate) fn of(rows: &[RightRow]) -> Rights {
        rows.iter().fold(Rights::NONE, |rights, row| match Right::of(&row.package) {
            Some(right) => {
                rights.with_for(right, Validity { starts_at: row.starts_at, ends_at: row.ends_at })
            }
            None => rights,
        })
    }
}

pub(crate) fn row(right: Right, validity: Validity) -> RightRow {
    let Validity { starts_at, ends_at } = validity;
    RightRow { package: right.as_str().to_owned(), starts_at, ends_at }
}

impl FromStr for Rights {
    type Err = ParseRightsError;

    fn from_str(text: &str) -> Result<Rights, ParseRightsError> {
        let wrong = || ParseRightsError(text.chars().take(40).collect());
        match text.trim().to_ascii_lowercase().as_str() {
            "all" => return Ok(Rights::default()),
            "none" => return Ok(Rights::NONE),
            _ => {}
        }
        let mut words = text.split([',', ' ']).filter(|word| !word.is_empty()).peekable();
        words.peek().ok_or_else(wrong)?;
        words.try_fold(Rights::NONE, |rights, word| Ok(rights.with(word.parse().map_err(|_| wrong())?)))
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self
            .iter()
            .map(|(right, validity)| match validity {
                Validity::ALWAYS => right.to_string(),
                limited => format!("{right} {limited}"),
            })
            .collect();
        f.pad(&if texts.is_empty() { "none".to_owned() } else { texts.join(",") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_round_trip_through_text() {
        for text in ["HK", "HK,US", "US,CN,SG", "US,US_OVERNIGHT,US_OPTIONS", "none"] {
            assert_eq!(text.parse::<Rights>().unwrap().to_string(), text);
        }
        assert_eq!("all".parse(), Ok(Rights::default()));
        assert_eq!(Rights::default().to_string(), "HK,US,CN,SG");
        assert_eq!("us, sz sh".parse::<Rights>().unwrap().to_string(), "US,CN");
        assert_eq!("us-overnight".parse(), Ok(Right::UsOvernight));
        for text in ["", " , ", "HK,JP", "HKUS", "all,HK"] {
            assert!(text.parse::<Rights>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_end_of_a_right_is_exclusive() {
        let (from, until) = (Timestamp(100), Timestamp(200));
        let rights =
            Rights::NONE.with_for(Right::Hk, Validity { starts_at: Some(from), ends_at: Some(until) });
        let cases = [
            (99, Hold::Begins(from)),
            (100, Hold::Held),
            (199, Hold::Held),
            (200, Hold::Ended(until)),
            (i64::MAX, Hold::Ended(until)),
        ];
        for (at, hold) in cases {
            assert_eq!(rights.hold(Right::Hk, Timestamp(at)), hold, "{at}");
            assert_eq!(rights.hold(Right::Us, Timestamp(at)), Hold::Never);
        }
        assert_eq!(rights.to_string(), "HK from 1970-01-01T00:01:40Z until 1970-01-01T00:03:20Z");
    }

    #[test]
    fn the_overnight_right_needs_the_us_right() {
        let until = Validity { starts_at: None, ends_at: Some(Timestamp(50)) };
        let rights = Rights::NONE.with(Right::UsOvernight);
        assert_eq!(rights.hold(Right::UsOvernight, Timestamp(1)), Hold::Never);
        let rights = rights.with_for(Right::Us, until);
        assert!(rights.holds(Right::UsOvernight, Timestamp(49)));
        assert_eq!(rights.hold(Right::UsOvernight, Timestamp(50)), Hold::Ended(Timestamp(50)));
    }

    #[test]
    fn validity_times_must_be_in_range_and_in_order() {
        let validity = |from: i64, until: i64| Validity {
            starts_at: Some(Timestamp(from)),
            ends_at: Some(Timestamp(until)),
        };
        validity(0, TIME_MAX.0).check().unwrap();
        for (from, until) in [(-1, 5), (0, TIME_MAX.0 + 1), (5, 5), (6, 5)] {
            validity(from, until).check().unwrap_err();
        }
    }

    #[test]
    fn rights_round_trip_through_rows() {
        let dated = Validity { starts_at: Some(Timestamp(1)), ends_at: None };
        let rights = Rights::default().with_for(Right::UsOptions, dated);
        let mut rows = rights.rows();
        assert_eq!(Rights::of(&rows), rights);
        rows.push(RightRow { package: "MARS".to_owned(), starts_at: None, ends_at: None });
        assert_eq!(Rights::of(&rows), rights);
    }
}
