//! Watchlist changes: `POST`, `PUT` and `DELETE /v1/watchlist/groups`, `POST /v1/watchlist/pinned`.

use std::collections::HashSet;

use access::{
    GroupRemains, MembersChange, Pin, PricedSecurity, WATCHLIST_NAME_CHARS_MAX, WatchlistError, WatchlistId,
    WatchlistName,
};
use history::HistoryError;
use market::Symbol;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::groups::{GroupNumber, missing, symbols, unknown, wrong};
use crate::account_news::Subject;
use crate::kit::doc::refusals::{BAD_REQUEST, LISTS_TOO_FAST, NOT_FOUND};
use crate::kit::doc::{AnswerDoc, Doc, Kind, Media, Parameter, Tag, data};
use crate::kit::envelope::{self, Empty, in_full};
use crate::kit::{Admitted, Answer, Call, Problem, Site};
use crate::refusal::Refusal;

pub(super) const CREATE: Doc = Doc::new(Tag::Account, "createWatchlist", "Create a watchlist group")
    .about("An account may have at most 50 groups, 500 securities per group, and 1,000 securities in total.")
    .body(&[Media::json::<CreateBody>()])
    .answers(&[AnswerDoc::ok("Group id", &[data::<Created>()])])
    .refuses(&[BAD_REQUEST, LISTS_TOO_FAST]);

pub(super) const UPDATE: Doc =
    Doc::new(Tag::Account, "updateWatchlist", "Rename a watchlist group, or change its securities")
        .about(
            "A security removed from a group stays in the group of all followed securities; removing it \
             there unfollows it in every group. A security that was already followed keeps its price and time.",
        )
        .body(&[Media::json::<UpdateBody>()])
        .answers(&[AnswerDoc::ok("The change was made", &[data::<Empty>()])])
        .refuses(&[BAD_REQUEST, NOT_FOUND, LISTS_TOO_FAST]);

pub(super) const DELETE: Doc = Doc::new(Tag::Account, "deleteWatchlist", "Delete a watchlist group")
    .about("Both parameters may be sent as fields of a JSON body instead.")
    .parameters(&[
        Parameter::query("id", Kind::Whole, "Group id"),
        Parameter::query(
            "purge",
            Kind::OneOf(&["true", "false"]),
            "Whether to unfollow the group's securities in every group; otherwise they stay in the group of \
             all followed securities",
        ),
    ])
    .answers(&[AnswerDoc::ok("The change was made", &[data::<Empty>()])])
    .refuses(&[BAD_REQUEST, NOT_FOUND, LISTS_TOO_FAST]);

pub(super) const PIN: Doc =
    Doc::new(Tag::Account, "pinSecurities", "Pin securities to the top of their groups, or unpin them")
        .about("Only followed securities can be pinned.")
        .body(&[Media::json::<PinBody>()])
        .answers(&[AnswerDoc::ok("The change was made", &[data::<Empty>()])])
        .refuses(&[BAD_REQUEST, LISTS_TOO_FAST]);

/// Maximum length of a name in bytes. The limit in characters is checked when the name is parsed.
const NAME_BYTES_MAX: usize = 1_024;
const _: () = assert!(WATCHLIST_NAME_CHARS_MAX * 4 <= NAME_BYTES_MAX);

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "WatchlistCreation")]
#[serde(default)]
pub(super) struct CreateBody {
    /// Group name, at most 40 printable characters.
    name: Option<String>,
    /// Symbols such as 700.HK; their order is preserved.
    securities: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "WatchlistUpdate")]
#[serde(default)]
pub(super) struct UpdateBody {
    id: Option<GroupNumber>,
    /// New group name; unchanged if absent or empty.
    name: Option<String>,
    /// Symbols such as 700.HK; unchanged if absent.
    securities: Option<Vec<String>>,
    /// add, remove or replace; default: replace.
    mode: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DeleteBody {
    id: Option<GroupNumber>,
    purge: Option<bool>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "PinnedUpdate")]
#[serde(default)]
pub(super) struct PinBody {
    /// Action: add or remove.
    mode: Option<String>,
    securities: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "WatchlistCreated")]
pub(super) struct Created {
    /// Group id as digits.
    id: String,
}

pub(super) fn create(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let body: CreateBody = call.json()?;
    let name = name(body.name.as_deref())?.ok_or_else(|| missing("name"))?;
    let id = may_change(&admitted)?;
    let symbols = symbols(&body.securities.unwrap_or_default())?;
    let securities = priced(symbols, None, MembersChange::Add, site, &admitted)?;
    let created = site.core.access.create_watchlist(id, &name, &securities, admitted.now());
    let created = created.map_err(refused)?;
    notify(site, id);
    Ok(envelope::success(Created { id: created.0.to_string() }))
}

pub(super) fn update(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let body: UpdateBody = call.json()?;
    let group = body.id.ok_or_else(|| missing("id"))?.id();
    let name = name(body.name.as_deref())?;
    let (id, now) = (may_change(&admitted)?, admitted.now());
    let price = |symbols, change: fn(Vec<PricedSecurity>) -> MembersChange| {
        priced(symbols, Some(group), change, site, &admitted).map(change)
    };
    let members = match body.securities {
        None => None,
        Some(texts) => {
            let symbols = symbols(&texts)?;
            Some(match body.mode.as_deref().unwrap_or_default() {
                "add" => price(symbols, MembersChange::Add)?,
                "remove" => MembersChange::Remove(symbols),
                "replace" | "" => price(symbols, MembersChange::Replace)?,
                other => return Err(unknown("mode", other)),
            })
        }
    };
    let updated = site.core.access.update_watchlist(id, group, name.as_ref(), members.as_ref(), now);
    updated.map_err(refused)?;
    notify(site, id);
    Ok(envelope::success(Empty {}))
}

pub(super) fn delete(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let DeleteBody { id: group, purge } = deletion(call)?;
    let group = group.ok_or_else(|| missing("id"))?.id();
    let remains = if purge == Some(true) { GroupRemains::Nothing } else { GroupRemains::Followed };
    let id = may_change(&admitted)?;
    site.core.access.delete_watchlist(id, group, remains).map_err(refused)?;
    notify(site, id);
    Ok(envelope::success(Empty {}))
}

pub(super) fn pin(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let body: PinBody = call.json()?;
    let pin = match body.mode.as_deref().unwrap_or_default() {
        "add" => Pin::Add,
        "remove" => Pin::Remove,
        "" => return Err(missing("mode")),
        other => return Err(unknown("mode", other)),
    };
    let symbols = symbols(&body.securities.ok_or_else(|| missing("securities"))?)?;
    let id = may_change(&admitted)?;
    site.core.access.pin_securities(id, &symbols, pin).map_err(refused)?;
    notify(site, id);
    Ok(envelope::success(Empty {}))
}

/// Parses a deletion. Most SDKs send both values in the query, but one SDK sends them in the body.
fn deletion(call: &Call<'_>) -> Result<DeleteBody, Problem> {
    let Some(id) = call.parameter_of("id").filter(|id| !id.is_empty()) else {
        return if call.body.is_empty() { Ok(DeleteBody::default()) } else { call.json() };
    };
    let purge = match call.parameter_of("purge").as_deref() {
        None | Some("") => None,
        Some("true" | "1") => Some(true),
        Some("false" | "0") => Some(false),
        Some(other) => return Err(unknown("purge", other)),
    };
    Ok(DeleteBody { id: Some(GroupNumber::Text(id)), purge })
}

/// Parses a group name. Absent and empty names are `None`.
fn name(text: Option<&str>) -> Result<Option<WatchlistName>, Problem> {
    match text {
        None | Some("") => Ok(None),
        Some(text) if text.len() > NAME_BYTES_MAX => {
            Err(wrong(format!("name has more than {WATCHLIST_NAME_CHARS_MAX} characters")))
        }
        Some(text) => WatchlistName::parse(text).map(Some).map_err(refused),
    }
}

/// Returns the account whose watchlists are changed, or an error if the account is read-only.
fn may_change(admitted: &Admitted) -> Result<access::AccountId, Problem> {
    let account = admitted.account();
    if account.terms.read_only { Err(Problem::read_only()) } else { Ok(account.id) }
}

/// Notifies the other pages of an account that its lists have changed.
fn notify(site: &Site, account: access::AccountId) {
    site.core.listeners.news().changed(account, Subject::Watchlists);
}

/// Returns the securities with the last price that is visible to the account. Securities already
/// followed keep their old price and need not exist in the store. Looking up a price takes several
/// reads, so limits and symbols are checked first.
fn priced(
    symbols: Vec<Symbol>,
    group: Option<WatchlistId>,
    change: fn(Vec<PricedSecurity>) -> MembersChange,
    site: &Site,
    admitted: &Admitted,
) -> Result<Vec<PricedSecurity>, Problem> {
    let core = &site.core;
    let lists = core.access.watchlists(admitted.account().id).map_err(Problem::from_access)?;
    let followed: HashSet<Symbol> = lists.followed.iter().map(|one| one.symbol.clone()).collect();
    let mut securities: Vec<PricedSecurity> =
        symbols.into_iter().map(|symbol| PricedSecurity { symbol, price: None }).collect();
    let change = change(securities.clone());
    access::check_watchlist_change(lists, group, &change).map_err(refused)?;
    let (floors, as_of) = (core.floors_of(admitted.account()), admitted.caller.as_of);
    let priced = core.with_reader(|reader| {
        for symbol in securities.iter().map(|one| &one.symbol).filter(|symbol| !followed.contains(*symbol)) {
            if reader.view().security(symbol)?.is_none() {
                return Ok(Err(WatchlistError::NotStored(symbol.clone())));
            }
        }
        for one in securities.iter_mut().filter(|one| !followed.contains(&one.symbol)) {
            let market = one.symbol.market();
            if admitted.permit.holds(market.into()) {
                let last = core.history.last_price(reader, &one.symbol, floors.of(market), as_of)?;
                one.price = last.map(|(price, decimals)| price.text(decimals).to_string());
            }
        }
        Ok(Ok(()))
    });
    let checked = priced.map_err(|error: HistoryError| {
        let detail = in_full(&error);
        Problem::from(Refusal::from(error)).detailed(detail)
    })?;
    checked.map_err(refused)?;
    Ok(securities)
}

fn refused(error: WatchlistError) -> Problem {
    match error {
        WatchlistError::NotFound => Problem::not_found().because("there is no such watchlist group"),
        WatchlistError::Failed(error) => Problem::from_access(error),
        error => wrong(error.to_string()).detailed(error.to_string()),
    }
}
