//! Accounts and their terms: names, limits and settings, home region, role.

use std::fmt;
use std::str::FromStr;

use market::{Date, FloorTable, Timestamp};
use store::{AccountId, AccountRow, AccountTerms};

use crate::{AccessError, Level, QUOTA_MAX, RateRule, Rights};

pub const NAME_CHARS_MAX: usize = 64;
const _: () = assert!(NAME_CHARS_MAX == 64, "the message of `check_name` says so");
pub const CONNECTIONS_MAX: u32 = 1_000;
const CONNECTIONS_DEFAULT: u32 = 10;
pub const SUBSCRIPTIONS_MAX: u32 = 100_000;
const SUBSCRIPTIONS_DEFAULT: u32 = 500;

/// An account's limits and settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Level set by an operator; `None` if the level is earned by assets and orders.
    pub level: Option<Level>,
    /// Maximum number of securities per month; `None` for the level's quota.
    pub quota: Option<u32>,
    /// History rate limit; `None` for the service default.
    pub rate: Option<RateRule>,
    pub connections: u32,
    /// Maximum number of distinct securities that all its connections subscribe to.
    pub subscriptions: u32,
    /// Earliest times served; `None` for the server's setting.
    pub floors: Option<FloorTable>,
    /// Whether the account may only read its paper account, and not place or cancel orders.
    pub read_only: bool,
    /// API date of the account: fields and values added to the API after this date are omitted from
    /// responses. `None` for the newest API.
    pub api_date: Option<Date>,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            level: None,
            quota: None,
            rate: None,
            connections: CONNECTIONS_DEFAULT,
            subscriptions: SUBSCRIPTIONS_DEFAULT,
            floors: None,
            read_only: false,
            api_date: None,
        }
    }
}

impl Terms {
    /// Returns terms with the rate, quota, connection and floor limits lifted, for the operator's
    /// own accounts.
    pub fn unlimited() -> Terms {
        TermsChange::unlimited().applied(&Terms::default())
    }

    /// Returns whether every limit that [`TermsChange::unlimited`] lifts is lifted.
    pub fn is_unlimited(&self) -> bool {
        TermsChange::unlimited().applied(self) == *self
    }

    pub fn rate_rule(&self) -> RateRule {
        self.rate.unwrap_or(RateRule::SERVICE)
    }

    pub(crate) fn of(id: AccountId, row: AccountTerms) -> Result<Terms, AccessError> {
        let AccountTerms { level, quota, rate, connections, subscriptions, floors, read_only, api_date } =
            row;
        let level = match level {
            0 => None,
            set => Some(Level::new(set).ok_or_else(|| wrong(id, "level", &set.to_string()))?),
        };
        let rate = rate.map(|text| text.parse().map_err(|_| wrong(id, "rate", &text))).transpose()?;
        let floors = floors.map(|text| text.parse().map_err(|_| wrong(id, "floors", &text))).transpose()?;
        let api_date =
            api_date.map(|text| text.parse().map_err(|_| wrong(id, "api_date", &text))).transpose()?;
        Ok(Terms { level, quota, rate, connections, subscriptions, floors, read_only, api_date })
    }

    pub(crate) fn row(&self) -> Result<AccountTerms, AccessError> {
        if self.quota.is_some_and(|quota| quota > QUOTA_MAX) {
            return Err(AccessError::Terms(format!("a quota is at most {QUOTA_MAX} securities a month")));
        }
        if !(1..=CONNECTIONS_MAX).contains(&self.connections) {
            return Err(AccessError::Terms(format!("an account has 1 to {CONNECTIONS_MAX} connections")));
        }
        if self.subscriptions > SUBSCRIPTIONS_MAX {
            return Err(AccessError::Terms(format!(
                "an account has at most {SUBSCRIPTIONS_MAX} subscriptions"
            )));
        }
        Ok(AccountTerms {
            level: self.level.map_or(0, Level::number),
            quota: self.quota,
            rate: self.rate.map(|rate| rate.to_string()),
            connections: self.connections,
            subscriptions: self.subscriptions,
            floors: self.floors.map(|floors| floors.to_string()),
            read_only: self.read_only,
            api_date: self.api_date.map(|date| date.to_string()),
        })
    }
}

/// Partial update of an account's terms; `None` leaves a term unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermsChange {
    pub level: Option<Option<Level>>,
    pub quota: Option<Option<u32>>,
    pub rate: Option<Option<RateRule>>,
    pub connections: Option<u32>,
    pub subscriptions: Option<u32>,
    pub floors: Option<Option<FloorTable>>,
    pub read_only: Option<bool>,
    pub api_date: Option<Option<Date>>,
}

impl From<&Terms> for TermsChange {
    fn from(terms: &Terms) -> TermsChange {
        let Terms { level, quota, rate, connections, subscriptions, floors, read_only, api_date } = terms;
        TermsChange {
            level: Some(*level),
            quota: Some(*quota),
            rate: Some(*rate),
            connections: Some(*connections),
            subscriptions: Some(*subscriptions),
            floors: Some(*floors),
            read_only: Some(*read_only),
            api_date: Some(*api_date),
        }
    }
}

impl TermsChange {
    /// Returns a change that lifts the quota, rate, connection and floor limits and leaves all
    /// other terms unchanged.
    pub fn unlimited() -> TermsChange {
        TermsChange {
            quota: Some(Some(QUOTA_MAX)),
            rate: Some(Some(RateRule::Unlimited)),
            connections: Some(CONNECTIONS_MAX),
            subscriptions: Some(SUBSCRIPTIONS_MAX),
            floors: Some(Some(FloorTable::NONE)),
            ..TermsChange::default()
        }
    }

    /// Returns a change that restores the published limits and the server's floors.
    pub fn limited() -> TermsChange {
        TermsChange {
            quota: Some(None),
            rate: Some(None),
            connections: Some(CONNECTIONS_DEFAULT),
            subscriptions: Some(SUBSCRIPTIONS_DEFAULT),
            floors: Some(None),
            ..TermsChange::default()
        }
    }

    pub(crate) fn applied(&self, terms: &Terms) -> Terms {
        Terms {
            level: self.level.unwrap_or(terms.level),
            quota: self.quota.unwrap_or(terms.quota),
            rate: self.rate.unwrap_or(terms.rate),
            connections: self.connections.unwrap_or(terms.connections),
            subscriptions: self.subscriptions.unwrap_or(terms.subscriptions),
            floors: self.floors.unwrap_or(terms.floors),
            read_only: self.read_only.unwrap_or(terms.read_only),
            api_date: self.api_date.unwrap_or(terms.api_date),
        }
    }
}

/// Formats the terms as text, for audit rows and for detecting concurrent changes.
impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            Some(level) => write!(f, "level {level}")?,
            None => f.write_str("level earned")?,
        }
        if let Some(quota) = self.quota {
            write!(f, ", quota {quota}")?;
        }
        write!(f, ", rate {}, connections {}", self.rate_rule(), self.connections)?;
        write!(f, ", subscriptions {}", self.subscriptions)?;
        if let Some(floors) = self.floors {
            write!(f, ", floors {floors}")?;
        }
        if self.read_only {
            f.write_str(", read-only")?;
        }
        match self.api_date {
            Some(date) => write!(f, ", as of {date}"),
            None => Ok(()),
        }
    }
}

/// An account without its credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: AccountId,
    pub name: String,
    pub region: Region,
    pub role: Role,
    pub created_at: Timestamp,
    pub revoked_at: Option<Timestamp>,
    /// Granted rights, some of which may not be valid yet or may have expired: check with
    /// [`Rights::hold`].
    pub rights: Rights,
    pub terms: Terms,
    /// Whether the account belongs to a world. Such an account follows the world's clock and has
    /// only API keys as credentials.
    pub is_world: bool,
    /// Owner of the account's world.
    pub(crate) owner: Option<AccountId>,
    /// Incremented to invalidate all sessions of the account.
    pub(crate) epoch: u32,
}

impl Account {
    pub(crate) fn of(row: AccountRow) -> Result<Account, AccessError> {
        let AccountRow { id, name, region, created_at, revoked_at, epoch, role, terms, rights, owner } = row;
        let region = region.parse().map_err(|_| wrong(id, "region", &region))?;
        let role = Role::of(&role).ok_or_else(|| wrong(id, "role", &role))?;
        let terms = Terms::of(id, terms)?;
        let rights = Rights::of(&rights);
        let is_world = owner.is_some();
        Ok(Account { id, name, region, role, created_at, revoked_at, rights, terms, is_world, owner, epoch })
    }

    /// Returns the owner of the world that the account belongs to.
    pub fn owner(&self) -> Option<AccountId> {
        self.owner
    }

    /// Returns the account whose rate limit and quota apply: that of the owner for a world with the
    /// owner's limits, otherwise this one.
    pub(crate) fn charged(&self) -> AccountId {
        let Terms { quota, rate, .. } = &self.terms;
        let is_free = (*quota, rate) == (Some(QUOTA_MAX), &Some(RateRule::Unlimited));
        self.owner.filter(|_| !is_free).unwrap_or(self.id)
    }
}

fn wrong(account: AccountId, field: &'static str, text: &str) -> AccessError {
    AccessError::Value { account, field, text: text.chars().take(40).collect() }
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

/// Returns whether a character is a control character, direction mark, zero-width character, blank
/// letter or tag. A name that contains such a character may look empty or look like another name.
pub(crate) fn is_hidden(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        || matches!(
            letter,
            '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        )
        || matches!(letter, '\u{2800}' | '\u{3164}' | '\u{ffa0}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(letter, '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a character is a variation selector. A variation selector changes only how the
/// preceding character is drawn, for example an emoji in colour, and is invisible alone.
pub(crate) fn is_selector(letter: char) -> bool {
    matches!(letter, '\u{fe00}'..='\u{fe0f}')
}

/// Home region of an account. Its code is the prefix of the account's tokens, from which clients
/// derive the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Region {
    #[default]
    Ap,
    Us,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a region: write ap or us")]
pub struct ParseRegionError(String);

impl Region {
    pub const ALL: [Region; 2] = [Region::Ap, Region::Us];

    pub fn as_str(self) -> &'static str {
        match self {
            Region::Ap => "ap",
            Region::Us => "us",
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Region {
    type Err = ParseRegionError;

    fn from_str(text: &str) -> Result<Region, ParseRegionError> {
        let known = Region::ALL.into_iter().find(|region| region.as_str().eq_ignore_ascii_case(text.trim()));
        known.ok_or_else(|| ParseRegionError(text.chars().take(40).collect()))
    }
}

/// What an account may do beyond using its own data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    User,
    /// May view and change other accounts through the service.
    Operator,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Operator => "operator",
        }
    }

    pub(crate) fn of(text: &str) -> Option<Role> {
        [Role::User, Role::Operator].into_iter().find(|role| role.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_round_trip_and_an_invalid_column_is_named() {
        let terms = Terms {
            level: Level::new(4),
            quota: Some(7),
            rate: Some(RateRule::Unlimited),
            connections: 3,
            subscriptions: 0,
            floors: Some("HK.day=1995-01-03,US.minute=none".parse().unwrap()),
            read_only: true,
            api_date: Some("2024-08-01".parse().unwrap()),
        };
        let row = |terms: AccountTerms| AccountRow {
            id: AccountId(1),
            name: "alice".to_owned(),
            region: "ap".to_owned(),
            created_at: Timestamp(1),
            revoked_at: None,
            epoch: 0,
            role: "user".to_owned(),
            terms,
            rights: Vec::new(),
            owner: None,
        };
        for terms in [terms.clone(), Terms::default()] {
            assert_eq!(Account::of(row(terms.row().unwrap())).unwrap().terms, terms);
        }
        let rights = Rights::default();
        let with_rights = AccountRow { rights: rights.rows(), ..row(terms.row().unwrap()) };
        assert_eq!(Account::of(with_rights).unwrap().rights, rights);
        let plain = terms.row().unwrap();
        for (wrong, field) in [
            (AccountTerms { level: 9, ..plain.clone() }, "level"),
            (AccountTerms { rate: Some("often".to_owned()), ..plain.clone() }, "rate"),
            (AccountTerms { floors: Some("long ago".to_owned()), ..plain.clone() }, "floors"),
            (AccountTerms { api_date: Some("once".to_owned()), ..plain.clone() }, "api_date"),
        ] {
            let error = Account::of(row(wrong)).unwrap_err().to_string();
            assert!(error.contains(field), "{error}");
        }
        assert!(Terms { quota: Some(QUOTA_MAX + 1), ..terms.clone() }.row().is_err());
        assert!(Terms { connections: 0, ..terms.clone() }.row().is_err());
        assert!(Terms { subscriptions: SUBSCRIPTIONS_MAX + 1, ..terms }.row().is_err());
    }

    #[test]
    fn unlimited_lifts_every_limit_and_limited_restores_them() {
        let own = Terms { read_only: true, level: Level::new(2), quota: Some(7), ..Terms::default() };
        let lifted = TermsChange::unlimited().applied(&own);
        assert!(lifted.is_unlimited() && Terms::unlimited().is_unlimited());
        assert_eq!((lifted.read_only, lifted.level), (true, Level::new(2)));
        assert!(lifted.row().is_ok());
        assert_eq!(TermsChange::limited().applied(&lifted), Terms { quota: None, ..own });
        for limited in [
            Terms { quota: None, ..lifted.clone() },
            Terms { rate: None, ..lifted.clone() },
            Terms { connections: 10, ..lifted.clone() },
            Terms { subscriptions: 500, ..lifted.clone() },
            Terms { floors: None, ..lifted },
        ] {
            assert!(!limited.is_unlimited(), "{limited}");
        }
    }

    #[test]
    fn names_must_be_short_and_printable() {
        for name in ["alice", "Alice & Co (test)", "愛麗絲", &"x".repeat(64)] {
            check_name(name).unwrap();
        }
        for name in ["", " alice", "alice\n", "a\u{7}b", &"x".repeat(65)] {
            check_name(name).unwrap_err();
        }
    }
}
