//! `GET /v1/watchlist/groups`: an account's followed securities by group.

use std::collections::HashMap;

use access::{ALL_FOLLOWED, ALL_FOLLOWED_NAME, FOLLOWED_MAX, FollowedSecurity, WatchlistId, Watchlists};
use market::{Symbol, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::StoreError;

use crate::command;
use crate::kit::doc::refusals::LISTS_TOO_FAST;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::fields::echo;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::names::Names;
use crate::refusal::Refusal;

pub(super) const LIST: Doc = Doc::new(Tag::Account, "watchlists", "Followed securities by watchlist group")
    .about(
        "The first group contains all followed securities; the others are sorted by creation time. Pinned \
         securities come first in each group, others in the order given by the account.",
    )
    .answers(&[AnswerDoc::ok("The groups", &[data::<WatchlistGroups>()])])
    .refuses(&[LISTS_TOO_FAST]);

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WatchlistGroups {
    groups: Vec<Group>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WatchlistGroup")]
struct Group {
    /// Group id as digits. The group of all followed securities is 1.
    id: String,
    name: String,
    securities: Vec<WatchedSecurity>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct WatchedSecurity {
    symbol: String,
    market: &'static str,
    /// Name in the language of the request.
    name: String,
    /// Last price visible to the account when it followed the security; empty if no price was
    /// visible.
    watched_price: String,
    /// Market time at which the account followed the security, in Unix seconds.
    watched_at: String,
    is_pinned: bool,
}

pub(super) fn answer(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let lists = site.core.access.watchlists(admitted.account().id).map_err(Problem::from_access)?;
    let language = admitted.caller.language;
    // A server has the directory of securities in memory. A single command on a local store would
    // have to build the directory first, so it reads only the names that it needs.
    let directory = match admitted.who().is_in_process() {
        true => None,
        false => Some(site.directory(admitted.caller.as_of)?),
    };
    let listed = |symbol: &Symbol| directory.as_ref().and_then(|directory| directory.find(symbol));
    let unlisted = lists.followed.iter().map(|one| &one.symbol).filter(|symbol| listed(symbol).is_none());
    let others = site.core.with_reader(|reader| Names::of(unlisted, language, reader));
    let others = others.map_err(|error: StoreError| {
        tracing::error!(%error, "cannot read the names of securities");
        Problem::internal()
    })?;
    let name = |symbol: &Symbol| match listed(symbol).map(|one| one.name_in(language)) {
        Some("") => symbol.ticker().to_owned(),
        Some(name) => name.to_owned(),
        None => others.get(symbol),
    };
    let known_at = call.is_in_world().then(|| admitted.now());
    Ok(envelope::success(WatchlistGroups::of(&lists, known_at, name)))
}

impl WatchlistGroups {
    fn of(
        lists: &Watchlists,
        known_at: Option<Timestamp>,
        name: impl Fn(&Symbol) -> String,
    ) -> WatchlistGroups {
        let rows: HashMap<&Symbol, WatchedSecurity> = lists
            .followed
            .iter()
            .map(|one| (&one.symbol, WatchedSecurity::of(one, known_at, &name)))
            .collect();
        let all = Group {
            id: ALL_FOLLOWED.0.to_string(),
            name: ALL_FOLLOWED_NAME.to_owned(),
            securities: listed(&rows, lists.followed.iter().map(|one| &one.symbol)),
        };
        let others = lists.groups.iter().map(|group| Group {
            id: group.id.0.to_string(),
            name: group.name.clone(),
            securities: listed(&rows, group.symbols.iter()),
        });
        WatchlistGroups { groups: [all].into_iter().chain(others).collect() }
    }
}

/// Returns a group's rows: pinned securities first, then the other securities in list order.
fn listed<'a>(
    rows: &HashMap<&Symbol, WatchedSecurity>,
    symbols: impl Iterator<Item = &'a Symbol>,
) -> Vec<WatchedSecurity> {
    let mut listed: Vec<WatchedSecurity> = symbols.filter_map(|symbol| rows.get(symbol).cloned()).collect();
    listed.sort_by_key(|row| !row.is_pinned);
    listed
}

impl WatchedSecurity {
    fn of(
        one: &FollowedSecurity,
        known_at: Option<Timestamp>,
        name: impl Fn(&Symbol) -> String,
    ) -> WatchedSecurity {
        // In a world, the owner's current time may be in the future.
        let is_known = known_at.is_none_or(|now| one.at <= now);
        WatchedSecurity {
            symbol: one.symbol.to_string(),
            market: one.symbol.market().as_str(),
            name: name(&one.symbol),
            watched_price: one.price.clone().filter(|_| is_known).unwrap_or_default(),
            watched_at: one.at.0.to_string(),
            is_pinned: one.is_pinned,
        }
    }
}

/// A group id, as a number or as a string of digits.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
pub(super) enum GroupNumber {
    Number(i64),
    Text(String),
}

impl GroupNumber {
    /// Returns the group id. Invalid text maps to an id that no group has.
    pub(super) fn id(&self) -> WatchlistId {
        WatchlistId(match self {
            GroupNumber::Number(number) => *number,
            GroupNumber::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().unwrap_or(NOBODYS)
            }
            GroupNumber::Text(_) => NOBODYS,
        })
    }
}

const NOBODYS: i64 = 0;

/// Parses the symbols of a list in request order and removes duplicates. A single invalid symbol
/// causes the whole list to be refused.
pub(super) fn symbols(texts: &[String]) -> Result<Vec<Symbol>, Problem> {
    if texts.len() > FOLLOWED_MAX {
        let count = texts.len();
        return Err(wrong(format!("{count} securities in one request: the maximum is {FOLLOWED_MAX}")));
    }
    let mut symbols: Vec<Symbol> = Vec::with_capacity(texts.len());
    for text in texts {
        let symbol = command::symbol(text)?;
        if !symbols.contains(&symbol) {
            symbols.push(symbol);
        }
    }
    Ok(symbols)
}

pub(super) fn missing(name: &str) -> Problem {
    wrong(format!("{name} required"))
}

pub(super) fn unknown(name: &str, text: &str) -> Problem {
    wrong(format!("{name} {:?} is not known", echo(text)))
}

pub(super) fn wrong(text: String) -> Problem {
    Refusal::BadQuery(text).into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_group_id_may_be_a_number_or_a_string() {
        let id = |value: Value| GroupNumber::deserialize(value).map(|number| number.id().0).ok();
        for (value, number) in [
            (json!(1001), Some(1001)),
            (json!("1001"), Some(1001)),
            (json!(-1), Some(-1)),
            (json!("-1"), Some(NOBODYS)),
            (json!("+1001"), Some(NOBODYS)),
            (json!(""), Some(NOBODYS)),
            (json!("99999999999999999999"), Some(NOBODYS)),
            (json!(1.5), None),
            (json!(true), None),
        ] {
            assert_eq!(id(value.clone()), number, "{value}");
        }
    }
}
