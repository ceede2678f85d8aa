use std::fmt;
use std::str::FromStr;

use market::{Market, Timestamp};
use store::{AccountId, AccountRow, AccountTerms};

use crate::{AccessError, Level, QUOTA_MAX, RateRule};

pub const NAME_CHARS_MAX: usize = 64;
const _: () = assert!(NAME_CHARS_MAX == 64, "the message of `check_name` says so");
pub const CONNECTIONS_MAX: u32 = 1_000;
const CONNECTIONS_DEFAULT: u32 = 10;

/// The quotes of one market. Singapore can be granted although no history of it is kept yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Right {
    Hk,
    Us,
    Cn,
    Sg,
}

impl Right {
    pub const ALL: [Right; 4] = [Right::Hk, Right::Us, Right::Cn, Right::Sg];

    pub fn as_str(self) -> &'static str {
        match self {
            Right::Hk => "HK",
            Right::Us => "US",
            Right::Cn => "CN",
            Right::Sg => "SG",
        }
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

/// Which markets an account may see: `HK,US`, `all` or `none`; `SH` and `SZ` mean `CN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights([bool; Right::ALL.len()]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a list of markets: name some of HK, US, CN, SG, or all, or none")]
pub struct ParseRightsError(String);

impl Rights {
    pub const ALL: Rights = Rights([true; Right::ALL.len()]);
    pub const NONE: Rights = Rights([false; Right::ALL.len()]);

    pub fn contains(&self, right: Right) -> bool {
        self.iter().any(|held| held == right)
    }

    pub fn iter(&self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().zip(self.0).filter_map(|(right, held)| held.then_some(right))
    }

    #[must_use]
    pub fn with(mut self, right: Right) -> Rights {
        for (known, held) in Right::ALL.into_iter().zip(&mut self.0) {
            *held |= known == right;
        }
        self
    }
}

impl FromStr for Rights {
    type Err = ParseRightsError;

    fn from_str(text: &str) -> Result<Rights, ParseRightsError> {
        let wrong = || ParseRightsError(text.chars().take(40).collect());
        match text.trim().to_ascii_lowercase().as_str() {
            "all" => return Ok(Rights::ALL),
            "none" => return Ok(Rights::NONE),
            _ => {}
        }
        let mut words = text.split([',', ' ']).filter(|word| !word.is_empty()).peekable();
        words.peek().ok_or_else(wrong)?;
        words.try_fold(Rights::NONE, |rights, word| {
            let upper = word.to_ascii_uppercase();
            let name = if matches!(upper.as_str(), "SH" | "SZ") { "CN" } else { upper.as_str() };
            let right = Right::ALL.into_iter().find(|right| right.as_str() == name).ok_or_else(wrong)?;
            Ok(rights.with(right))
        })
    }
}

impl fmt::Display for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Right::as_str).collect();
        f.pad(&if names.is_empty() { "none".to_owned() } else { names.join(",") })
    }
}

/// What an account may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    pub rights: Rights,
    /// Whether it may see candles of the US overnight session, on connections that ask for them.
    pub overnight: bool,
    pub level: Level,
    /// Securities a month, where the level is not to decide.
    pub quota: Option<u32>,
    /// Where the rule of the service is not to hold.
    pub rate: Option<RateRule>,
    pub connections: u32,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            rights: Rights::ALL,
            overnight: false,
            level: Level::FIRST,
            quota: None,
            rate: None,
            connections: CONNECTIONS_DEFAULT,
        }
    }
}

impl Terms {
    /// Securities a month.
    pub fn quota_limit(&self) -> u32 {
        self.quota.unwrap_or(self.level.quota())
    }

    pub fn rate_rule(&self) -> RateRule {
        self.rate.unwrap_or(RateRule::SERVICE)
    }

    pub(crate) fn row(&self) -> Result<AccountTerms, AccessError> {
        if self.quota.is_some_and(|quota| quota > QUOTA_MAX) {
            return Err(AccessError::Terms(format!("a quota is at most {QUOTA_MAX} securities a month")));
        }
        if !(1..=CONNECTIONS_MAX).contains(&self.connections) {
            return Err(AccessError::Terms(format!("an account has 1 to {CONNECTIONS_MAX} connections")));
        }
        Ok(AccountTerms {
            markets: self.rights.to_string(),
            overnight: self.overnight,
            level: self.level.number(),
            quota: self.quota,
            rate: self.rate.map(|rate| rate.to_string()),
            connections: self.connections,
        })
    }
}

/// An account as it stands. Nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: AccountId,
    pub name: String,
    /// Prefix of its access tokens; `ap` until regions are served apart.
    pub region: String,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    pub terms: Terms,
    /// Sessions of another epoch are void.
    pub(crate) epoch: u32,
}

impl Account {
    pub(crate) fn of(row: AccountRow) -> Result<Account, AccessError> {
        let AccountRow { id, name, region, created_at, revoked_at, epoch, terms } = row;
        let wrong = |field, text: &str| AccessError::Value {
            account: id,
            field,
            text: text.chars().take(40).collect(),
        };
        let rights = terms.markets.parse().map_err(|_| wrong("list of markets", &terms.markets))?;
        let level = Level::new(terms.level).ok_or_else(|| wrong("level", &terms.level.to_string()))?;
        let rate =
            terms.rate.as_deref().map(|text| text.parse().map_err(|_| wrong("rate", text))).transpose()?;
        let terms = Terms {
            rights,
            overnight: terms.overnight,
            level,
            quota: terms.quota,
            rate,
            connections: terms.connections,
        };
        Ok(Account { id, name, region, created_at, revoked_at, terms, epoch })
    }
}

pub(crate) fn check_name(name: &str) -> Result<(), AccessError> {
    let reason = match name {
        "" => "it is empty",
        _ if name.chars().count() > NAME_CHARS_MAX => "it has more than 64 characters",
        _ if name.trim() != name => "it begins or ends with a blank",
        _ if name.chars().any(char::is_control) => "it has control characters",
        _ => return Ok(()),
    };
    Err(AccessError::Name { name: name.chars().take(NAME_CHARS_MAX).collect(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_written_as_they_are_read() {
        for text in ["HK", "HK,US", "US,CN,SG", "none"] {
            assert_eq!(text.parse::<Rights>().unwrap().to_string(), text);
        }
        assert_eq!("all".parse(), Ok(Rights::ALL));
        assert_eq!(Rights::ALL.to_string(), "HK,US,CN,SG");
        assert_eq!("us, sz sh".parse::<Rights>().unwrap().to_string(), "US,CN");
        for text in ["", " , ", "HK,JP", "HKUS", "all,HK"] {
            assert!(text.parse::<Rights>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn rights_hold_what_was_granted_and_no_more() {
        let rights = Rights::NONE.with(Right::Us).with(Right::from(Market::Cn));
        assert_eq!(rights.iter().collect::<Vec<_>>(), [Right::Us, Right::Cn]);
        assert!(rights.contains(Right::Us) && !rights.contains(Right::Hk));
    }

    #[test]
    fn terms_survive_the_database_and_wrong_rows_are_named() {
        let terms = Terms {
            rights: "US".parse().unwrap(),
            overnight: true,
            level: Level::new(4).unwrap(),
            quota: Some(7),
            rate: Some(RateRule::Unlimited),
            connections: 3,
        };
        let row = |terms: AccountTerms| AccountRow {
            id: AccountId(1),
            name: "alice".to_owned(),
            region: "ap".to_owned(),
            created_at: Timestamp(1),
            revoked_at: None,
            epoch: 0,
            terms,
        };
        for terms in [terms.clone(), Terms::default(), Terms { rights: Rights::NONE, ..terms.clone() }] {
            assert_eq!(Account::of(row(terms.row().unwrap())).unwrap().terms, terms);
        }
        let plain = terms.row().unwrap();
        for (wrong, field) in [
            (AccountTerms { level: 9, ..plain.clone() }, "level"),
            (AccountTerms { markets: "XX".to_owned(), ..plain.clone() }, "list of markets"),
            (AccountTerms { rate: Some("often".to_owned()), ..plain.clone() }, "rate"),
        ] {
            let error = Account::of(row(wrong)).unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
        assert!(Terms { quota: Some(QUOTA_MAX + 1), ..terms.clone() }.row().is_err());
        assert!(Terms { connections: 0, ..terms }.row().is_err());
    }

    #[test]
    fn a_name_is_short_and_printable() {
        for name in ["alice", "Alice & Co (test)", "愛麗絲", &"x".repeat(64)] {
            check_name(name).unwrap();
        }
        for name in ["", " alice", "alice\n", "a\u{7}b", &"x".repeat(65)] {
            check_name(name).unwrap_err();
        }
    }
}
