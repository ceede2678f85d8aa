//! Settings and state of a mirror, stored as JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use market::{Date, Period};
use mirror::{ParseRateError, RateFactor, Sessions};
use serde::{Deserialize, Serialize};

/// Settings of a mirror. Secrets are stored separately, encrypted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    pub http_url: String,
    pub quote_url: Option<String>,
    pub login: Login,
    /// When the user accepted responsibility for the terms of the other service, in Unix seconds.
    #[serde(default)]
    pub terms_accepted_at: Option<i64>,
    #[serde(default)]
    pub list: ListOptions,
}

/// Credentials with which a mirror signs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    AppKey(String),
    /// The id of an OAuth client.
    OAuth(String),
}

/// What to collect for each security of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListOptions {
    pub periods: Vec<String>,
    pub from: Option<String>,
    pub to: Option<String>,
    pub all_sessions: bool,
}

impl Default for ListOptions {
    fn default() -> ListOptions {
        let periods = vec!["day".to_owned(), "1m".to_owned()];
        ListOptions { periods, from: None, to: None, all_sessions: false }
    }
}

impl ListOptions {
    pub fn periods(&self) -> Vec<Period> {
        self.periods.iter().filter_map(|text| text.parse().ok()).collect()
    }

    pub fn from(&self) -> Option<Date> {
        self.from.as_deref()?.parse().ok()
    }

    pub fn through(&self) -> Option<Date> {
        self.to.as_deref()?.parse().ok()
    }

    pub fn sessions(&self) -> Sessions {
        if self.all_sessions { Sessions::All } else { Sessions::Intraday }
    }
}

/// State that a run stores for the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// Times of recent history requests, in Unix milliseconds. A restarted run counts them toward
    /// the rate limit.
    pub recent_ms: Vec<i64>,
    /// Maximum number of requests that are pending while a run is in progress. Stored before the
    /// first request of a run, so that a run after a crash counts them. 0 after the end of a run.
    pub in_work: usize,
    /// Number of securities that the account may request in a month.
    pub month_limit: Option<u32>,
    /// The month, such as `2026-11`, in which the source refused a new security.
    pub spent_month: Option<String>,
    /// The date of the last comparison of calendars.
    pub calendar_on: Option<String>,
    /// When the last run began, in Unix seconds.
    pub began_at: Option<i64>,
    /// When the last run ended, in Unix seconds.
    pub ended_at: Option<i64>,
    /// When read-through last ended a connection, in Unix seconds.
    pub read_through_at: Option<i64>,
    /// The outcome of the last run.
    pub outcome: Option<String>,
    pub requests: u64,
    /// State of a server that follows the mirror.
    pub following: Option<FollowState>,
}

/// State of following, which is stored with the state of the mirror.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FollowState {
    pub is_connected: bool,
    /// When the connection was opened or lost, in Unix seconds.
    pub since: Option<i64>,
    /// When this state was stored, in Unix seconds.
    pub at: Option<i64>,
    /// Number of securities of the list.
    pub securities: usize,
    /// Number of securities whose pushes are received.
    pub subscribed: usize,
    /// Securities without pushes, with the reason. At most 20.
    pub left_out: BTreeMap<String, String>,
    /// Number of connections, pushes and stored rows since the start of the server.
    pub connections: u64,
    pub pushes: u64,
    pub rows: u64,
    /// When the last push was received, in Unix seconds.
    pub last_push_at: Option<i64>,
    /// Why the last connection ended, or why rows are not stored.
    pub error: Option<String>,
}

impl State {
    /// Parses the stored text. Invalid text gives the default state, which costs a few extra
    /// requests.
    pub fn parse(text: &str) -> State {
        serde_json::from_str(text).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|_| "{}".to_owned())
    }
}

/// The rate of requests, relative to the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    Share(RateFactor),
    /// Only for a server that the user operates.
    Unlimited,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate::Share(RateFactor::FULL)
    }
}

impl FromStr for Rate {
    type Err = ParseRateError;

    fn from_str(text: &str) -> Result<Rate, ParseRateError> {
        match text {
            "unlimited" => Ok(Rate::Unlimited),
            text => text.parse().map(Rate::Share),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Share(share) => write!(f, "{share}"),
            Rate::Unlimited => f.write_str("unlimited"),
        }
    }
}
