//! `GET /v1/watchlist/groups`: the followed securities of an account, by group.

use std::collections::HashMap;

use access::{ALL_FOLLOWED, ALL_FOLLOWED_NAME, FollowedSecurity, Watchlists};
use market::Symbol;
use schemars::JsonSchema;
use serde::Serialize;
use store::StoreError;

use crate::kit::doc::refusals::LISTS_TOO_FAST;
use crate::kit::doc::{AnswerDoc, Doc, Tag, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::names::Names;

pub(super) const LIST: Doc = Doc::new(Tag::Account, "watchlists", "What the account follows, by group")
    .about(
        "The first group has all that is followed; the others are as old as their place in the list. Pinned securities come first in \
         each group, the rest in the order that was given.",
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
    /// Digits. The group of all followed securities is 1.
    id: String,
    name: String,
    securities: Vec<WatchedSecurity>,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct WatchedSecurity {
    symbol: String,
    market: &'static str,
    /// In the language of the request.
    name: String,
    /// The last price visible to the account when it followed the security; empty if there was
    /// none.
    watched_price: String,
    /// Unix seconds of the market's clock.
    watched_at: String,
    is_pinned: bool,
}

pub(super) fn answer(_: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let lists = site.core.access.watchlists(admitted.account().id).map_err(Problem::from_access)?;
    let language = admitted.caller.language;
    // Securities with candles are in the memory of a server.
    let directory = if admitted.who().is_in_process() { None } else { Some(site.directory()?) };
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
    Ok(envelope::success(WatchlistGroups::of(&lists, name)))
}

impl WatchlistGroups {
    fn of(lists: &Watchlists, name: impl Fn(&Symbol) -> String) -> WatchlistGroups {
        let rows: HashMap<&Symbol, WatchedSecurity> =
            lists.followed.iter().map(|one| (&one.symbol, WatchedSecurity::of(one, &name))).collect();
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

/// The rows of a group: pinned ones first, each part in its own order.
fn listed<'a>(
    rows: &HashMap<&Symbol, WatchedSecurity>,
    symbols: impl Iterator<Item = &'a Symbol>,
) -> Vec<WatchedSecurity> {
    let mut listed: Vec<WatchedSecurity> = symbols.filter_map(|symbol| rows.get(symbol).cloned()).collect();
    listed.sort_by_key(|row| !row.is_pinned);
    listed
}

impl WatchedSecurity {
    fn of(one: &FollowedSecurity, name: impl Fn(&Symbol) -> String) -> WatchedSecurity {
        WatchedSecurity {
            symbol: one.symbol.to_string(),
            market: one.symbol.market().as_str(),
            name: name(&one.symbol),
            watched_price: one.price.clone().unwrap_or_default(),
            watched_at: one.at.0.to_string(),
            is_pinned: one.is_pinned,
        }
    }
}
