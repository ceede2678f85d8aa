//! Watchlists: the securities that an account follows, and groups of them. Every account has the
//! group "all", which contains every followed security, including the securities in other groups.
//! Callers supply the prices.
//!
//! The rules are functions over [`Watchlists`] values. `store` runs them in the transaction that
//! writes the result.

use std::collections::HashSet;

use market::{Symbol, Timestamp};
use store::{AccountId, FollowedSecurity, StoreError, WatchlistGroup, WatchlistId, Watchlists};

use crate::account::{is_hidden, is_selector};
use crate::{Access, AccessError};

/// Maximum number of groups per account, not counting the group "all".
pub const WATCHLIST_GROUPS_MAX: usize = 50;
/// Maximum number of securities in a group.
pub const WATCHLIST_SECURITIES_MAX: usize = 500;
/// Maximum number of securities that an account may follow.
pub const FOLLOWED_MAX: usize = 1_000;
/// Maximum number of characters in a group name.
pub const WATCHLIST_NAME_CHARS_MAX: usize = 40;
const _: () = assert!(WATCHLIST_GROUPS_MAX == 50, "the words of `TooManyGroups` say so");
const _: () = assert!(WATCHLIST_SECURITIES_MAX == 500, "the words of `TooManySecurities` say so");
const _: () = assert!(FOLLOWED_MAX == 1_000, "the words of `TooManyFollowed` say so");
const _: () = assert!(WATCHLIST_NAME_CHARS_MAX == 40, "the words of `WatchlistName` say so");
const _: () = assert!(WATCHLIST_SECURITIES_MAX <= FOLLOWED_MAX);

/// Id of the group "all", which is the same for every account. No other group has this id.
pub const ALL_FOLLOWED: WatchlistId = WatchlistId(1);
/// Name of the group "all", which cannot be changed.
pub const ALL_FOLLOWED_NAME: &str = "all";

/// A valid group name: not blank and without invisible characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchlistName(String);

impl WatchlistName {
    /// Trims and validates a group name.
    pub fn parse(text: &str) -> Result<WatchlistName, WatchlistError> {
        let text = text.trim();
        let reason = if text.chars().all(|letter| letter.is_whitespace() || is_selector(letter)) {
            "it is empty"
        } else if text.chars().count() > WATCHLIST_NAME_CHARS_MAX {
            "it has more than 40 characters"
        } else if text.chars().any(is_hidden) {
            "it has characters that cannot be seen or that change the direction of text"
        } else {
            return Ok(WatchlistName(text.to_owned()));
        };
        Err(WatchlistError::Name(reason))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A security to follow, with its current price, or `None` if the account may not see the price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PricedSecurity {
    pub symbol: Symbol,
    pub price: Option<String>,
}

/// A change to the securities of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembersChange {
    /// Appends securities. Securities that are already in the group keep their position.
    Add(Vec<PricedSecurity>),
    /// Removes securities from the group. Removal from the group "all" also removes them from every
    /// other group.
    Remove(Vec<Symbol>),
    /// Replaces all securities of the group, in this order.
    Replace(Vec<PricedSecurity>),
}

/// What happens to the securities of a deleted group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupRemains {
    /// The securities stay in the group "all".
    Followed,
    /// The securities are removed from every group and no longer followed.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    Add,
    Remove,
}

/// Why a change to watchlists was refused. The error message may be sent to the client, except for
/// `Failed`.
#[derive(Debug, thiserror::Error)]
pub enum WatchlistError {
    /// The group does not exist or belongs to another account.
    #[error("there is no such watchlist group")]
    NotFound,
    #[error("the group of all followed securities cannot be renamed or deleted")]
    AllFollowed,
    #[error("this cannot name a watchlist group: {0}")]
    Name(&'static str),
    #[error("an account has at most 50 watchlist groups: delete one first")]
    TooManyGroups,
    #[error("a watchlist group has at most 500 securities")]
    TooManySecurities,
    #[error("an account follows at most 1000 securities: unfollow some first")]
    TooManyFollowed,
    #[error("{0} has no stored data, so it cannot be added to a watchlist")]
    NotStored(Symbol),
    #[error("{0} is not on a watchlist: add it to one first")]
    NotFollowed(Symbol),
    #[error(transparent)]
    Failed(#[from] AccessError),
}

impl From<StoreError> for WatchlistError {
    fn from(error: StoreError) -> WatchlistError {
        WatchlistError::Failed(error.into())
    }
}

/// Checks a change against the limits before its securities are priced. `None` means a new group.
/// The transaction that writes the change checks the limits again.
pub fn check_watchlist_change(
    mut lists: Watchlists,
    group: Option<WatchlistId>,
    members: &MembersChange,
) -> Result<(), WatchlistError> {
    const NEW: WatchlistId = WatchlistId(i64::MAX);
    if group.is_none() {
        push_group(&mut lists, String::new(), || Ok(NEW))?;
    }
    change(&mut lists, group.unwrap_or(NEW), members, Timestamp(0))
}

impl Access {
    pub fn watchlists(&self, id: AccountId) -> Result<Watchlists, AccessError> {
        Ok(self.accounts.watchlists(id)?)
    }

    /// Creates a group with these securities, in this order. `at` is the time by the market clock.
    pub fn create_watchlist(
        &self,
        id: AccountId,
        name: &WatchlistName,
        securities: &[PricedSecurity],
        at: Timestamp,
    ) -> Result<WatchlistId, WatchlistError> {
        self.accounts.change_watchlists(id, |lists, ids| {
            let group = push_group(lists, name.as_str().to_owned(), || ids.take())?;
            add(lists, group, securities, at)?;
            Ok(group)
        })
    }

    /// Renames a group, changes its securities, or both. `at` is the time by the market clock.
    pub fn update_watchlist(
        &self,
        id: AccountId,
        group: WatchlistId,
        name: Option<&WatchlistName>,
        members: Option<&MembersChange>,
        at: Timestamp,
    ) -> Result<(), WatchlistError> {
        self.accounts.change_watchlists(id, |lists, _| {
            if let Some(name) = name {
                name.as_str().clone_into(&mut found(lists, group)?.name);
            }
            match members {
                Some(members) => change(lists, group, members, at),
                None if group == ALL_FOLLOWED => Ok(()),
                None => found(lists, group).map(drop),
            }
        })
    }

    pub fn delete_watchlist(
        &self,
        id: AccountId,
        group: WatchlistId,
        remains: GroupRemains,
    ) -> Result<(), WatchlistError> {
        self.accounts.change_watchlists(id, |lists, _| {
            let symbols = std::mem::take(&mut found(lists, group)?.symbols);
            lists.groups.retain(|one| one.id != group);
            match remains {
                GroupRemains::Followed => Ok(()),
                GroupRemains::Nothing => remove(lists, ALL_FOLLOWED, &symbols),
            }
        })
    }

    /// Pins securities to the top of every group that contains them, or unpins them. Pinning a
    /// security that is not followed fails. Unpinning a security that is not pinned has no effect.
    pub fn pin_securities(&self, id: AccountId, symbols: &[Symbol], pin: Pin) -> Result<(), WatchlistError> {
        self.accounts.change_watchlists(id, |lists, _| {
            for symbol in symbols {
                match (lists.followed.iter_mut().find(|one| one.symbol == *symbol), pin) {
                    (Some(one), pin) => one.is_pinned = pin == Pin::Add,
                    (None, Pin::Add) => return Err(WatchlistError::NotFollowed(symbol.clone())),
                    (None, Pin::Remove) => {}
                }
            }
            Ok(())
        })
    }
}

/// Appends an empty group and returns its id.
fn push_group(
    lists: &mut Watchlists,
    name: String,
    id: impl FnOnce() -> Result<WatchlistId, StoreError>,
) -> Result<WatchlistId, WatchlistError> {
    if lists.groups.len() >= WATCHLIST_GROUPS_MAX {
        return Err(WatchlistError::TooManyGroups);
    }
    let id = id()?;
    lists.groups.push(WatchlistGroup { id, name, symbols: Vec::new() });
    Ok(id)
}

fn change(
    lists: &mut Watchlists,
    group: WatchlistId,
    members: &MembersChange,
    at: Timestamp,
) -> Result<(), WatchlistError> {
    match members {
        MembersChange::Add(securities) => add(lists, group, securities, at),
        MembersChange::Remove(symbols) => remove(lists, group, symbols),
        MembersChange::Replace(securities) => replace(lists, group, securities, at),
    }
}

/// Returns a group. Fails for the group "all" and for unknown groups.
fn found(lists: &mut Watchlists, group: WatchlistId) -> Result<&mut WatchlistGroup, WatchlistError> {
    if group == ALL_FOLLOWED {
        return Err(WatchlistError::AllFollowed);
    }
    lists.groups.iter_mut().find(|one| one.id == group).ok_or(WatchlistError::NotFound)
}

fn add(
    lists: &mut Watchlists,
    group: WatchlistId,
    securities: &[PricedSecurity],
    at: Timestamp,
) -> Result<(), WatchlistError> {
    if group != ALL_FOLLOWED {
        let symbols = &mut found(lists, group)?.symbols;
        for one in securities {
            if !symbols.contains(&one.symbol) {
                symbols.push(one.symbol.clone());
            }
        }
        if symbols.len() > WATCHLIST_SECURITIES_MAX {
            return Err(WatchlistError::TooManySecurities);
        }
    }
    follow(lists, securities, at)
}

fn remove(lists: &mut Watchlists, group: WatchlistId, symbols: &[Symbol]) -> Result<(), WatchlistError> {
    if group != ALL_FOLLOWED {
        found(lists, group)?.symbols.retain(|symbol| !symbols.contains(symbol));
        return Ok(());
    }
    lists.followed.retain(|one| !symbols.contains(&one.symbol));
    for group in &mut lists.groups {
        group.symbols.retain(|symbol| !symbols.contains(symbol));
    }
    Ok(())
}

fn replace(
    lists: &mut Watchlists,
    group: WatchlistId,
    securities: &[PricedSecurity],
    at: Timestamp,
) -> Result<(), WatchlistError> {
    if group != ALL_FOLLOWED {
        found(lists, group)?.symbols.clear();
        return add(lists, group, securities, at);
    }
    let wanted: Vec<&Symbol> = securities.iter().map(|one| &one.symbol).collect();
    let followed = lists.followed.iter().map(|one| &one.symbol);
    let gone: Vec<Symbol> = followed.filter(|symbol| !wanted.contains(symbol)).cloned().collect();
    remove(lists, ALL_FOLLOWED, &gone)?;
    follow(lists, securities, at)?;
    lists.followed.sort_by_cached_key(|one| wanted.iter().position(|symbol| **symbol == one.symbol));
    Ok(())
}

/// Follows securities. Securities that are already followed keep their price and time.
fn follow(
    lists: &mut Watchlists,
    securities: &[PricedSecurity],
    at: Timestamp,
) -> Result<(), WatchlistError> {
    let mut known: HashSet<Symbol> = lists.followed.iter().map(|one| one.symbol.clone()).collect();
    for PricedSecurity { symbol, price } in securities {
        if known.insert(symbol.clone()) {
            let (symbol, price) = (symbol.clone(), price.clone());
            lists.followed.push(FollowedSecurity { symbol, at, price, is_pinned: false });
        }
    }
    if lists.followed.len() > FOLLOWED_MAX {
        return Err(WatchlistError::TooManyFollowed);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priced(texts: &str) -> Vec<PricedSecurity> {
        let one = |text: &str| PricedSecurity { symbol: text.parse().unwrap(), price: None };
        texts.split_whitespace().map(one).collect()
    }

    fn symbols(texts: &str) -> Vec<Symbol> {
        priced(texts).into_iter().map(|one| one.symbol).collect()
    }

    /// Returns watchlists with two groups that contain three securities in total.
    fn lists() -> Watchlists {
        let mut lists = Watchlists::default();
        for (id, texts) in [(1_001, "1.HK 2.HK"), (1_002, "2.HK 3.HK")] {
            let id = WatchlistId(id);
            lists.groups.push(WatchlistGroup { id, name: id.0.to_string(), symbols: Vec::new() });
            add(&mut lists, id, &priced(texts), Timestamp(7)).unwrap();
        }
        lists
    }

    fn describe(lists: &Watchlists) -> String {
        let line =
            |symbols: Vec<&Symbol>| symbols.iter().map(|one| one.ticker()).collect::<Vec<_>>().join(" ");
        let all = line(lists.followed.iter().map(|one| &one.symbol).collect());
        let groups = lists.groups.iter().map(|group| line(group.symbols.iter().collect()));
        [all].into_iter().chain(groups).collect::<Vec<_>>().join(" | ")
    }

    #[track_caller]
    fn check(work: impl FnOnce(&mut Watchlists) -> Result<(), WatchlistError>, wanted: &str) {
        let mut lists = lists();
        work(&mut lists).unwrap();
        assert_eq!(describe(&lists), wanted);
    }

    const FIRST: WatchlistId = WatchlistId(1_001);
    const LATER: Timestamp = Timestamp(9);

    #[test]
    fn a_change_beyond_the_limits_is_refused() {
        let numbered = |count: usize| -> Vec<PricedSecurity> {
            let one =
                |number| PricedSecurity { symbol: format!("{number}.HK").parse().unwrap(), price: None };
            (1..=count).map(one).collect()
        };
        let check = |lists: Watchlists, group, members: MembersChange| {
            check_watchlist_change(lists, group, &members).map_err(|error| error.to_string())
        };
        assert_eq!(check(lists(), None, MembersChange::Add(numbered(500))), Ok(()));
        assert_eq!(check(lists(), Some(ALL_FOLLOWED), MembersChange::Replace(numbered(1_000))), Ok(()));
        for (group, members, says) in [
            (None, MembersChange::Add(numbered(501)), "at most 500 securities"),
            (Some(FIRST), MembersChange::Replace(numbered(501)), "at most 500 securities"),
            (Some(ALL_FOLLOWED), MembersChange::Add(numbered(1_001)), "at most 1000 securities"),
            (Some(WatchlistId(7)), MembersChange::Add(Vec::new()), "no such watchlist group"),
        ] {
            let refusal = check(lists(), group, members).unwrap_err();
            assert!(refusal.contains(says), "{refusal}");
        }
        let mut full = lists();
        while full.groups.len() < WATCHLIST_GROUPS_MAX {
            push_group(&mut full, String::new(), || Ok(WatchlistId(9))).unwrap();
        }
        assert!(check(full, None, MembersChange::Add(Vec::new())).unwrap_err().contains("at most 50"));
    }

    #[test]
    fn every_group_is_a_subset_of_the_group_all() {
        check(|_| Ok(()), "1 2 3 | 1 2 | 2 3");
        check(|lists| add(lists, FIRST, &priced("4.HK 2.HK 4.HK"), LATER), "1 2 3 4 | 1 2 4 | 2 3");
        check(|lists| add(lists, ALL_FOLLOWED, &priced("4.HK 2.HK"), LATER), "1 2 3 4 | 1 2 | 2 3");
        check(|lists| remove(lists, FIRST, &symbols("2.HK 9.HK")), "1 2 3 | 1 | 2 3");
        check(|lists| remove(lists, ALL_FOLLOWED, &symbols("2.HK 9.HK")), "1 3 | 1 | 3");
        check(|lists| replace(lists, FIRST, &priced("3.HK 4.HK 1.HK"), LATER), "1 2 3 4 | 3 4 1 | 2 3");
        check(|lists| replace(lists, FIRST, &[], LATER), "1 2 3 |  | 2 3");
        check(|lists| replace(lists, ALL_FOLLOWED, &priced("4.HK 3.HK 1.HK 3.HK"), LATER), "4 3 1 | 1 | 3");
    }

    #[test]
    fn following_a_security_again_keeps_its_time() {
        let mut lists = lists();
        add(&mut lists, FIRST, &priced("3.HK 4.HK"), LATER).unwrap();
        replace(&mut lists, ALL_FOLLOWED, &priced("4.HK 3.HK 2.HK"), Timestamp(11)).unwrap();
        assert_eq!(lists.followed.iter().map(|one| one.at.0).collect::<Vec<_>>(), [9, 7, 7]);
    }

    #[test]
    fn the_group_all_and_unknown_groups_cannot_be_changed() {
        let mut lists = lists();
        assert!(matches!(found(&mut lists, ALL_FOLLOWED), Err(WatchlistError::AllFollowed)));
        for group in [WatchlistId(1_003), WatchlistId(0), WatchlistId(-1)] {
            assert!(matches!(add(&mut lists, group, &[], LATER), Err(WatchlistError::NotFound)));
            assert!(matches!(remove(&mut lists, group, &[]), Err(WatchlistError::NotFound)));
        }
    }

    #[test]
    fn a_list_beyond_its_limit_is_refused() {
        let many =
            |count: usize| priced(&(1..=count).map(|number| format!("{number}.HK ")).collect::<String>());
        let mut lists = lists();
        replace(&mut lists, FIRST, &many(WATCHLIST_SECURITIES_MAX), LATER).unwrap();
        let one_more = replace(&mut lists, FIRST, &many(WATCHLIST_SECURITIES_MAX + 1), LATER);
        assert!(matches!(one_more, Err(WatchlistError::TooManySecurities)));
        replace(&mut lists, ALL_FOLLOWED, &many(FOLLOWED_MAX), LATER).unwrap();
        let one_more = add(&mut lists, ALL_FOLLOWED, &priced("AAPL.US"), LATER);
        assert!(matches!(one_more, Err(WatchlistError::TooManyFollowed)));
    }

    #[test]
    fn blank_and_invisible_names_are_rejected() {
        let longest = "蠟".repeat(WATCHLIST_NAME_CHARS_MAX);
        for (text, name) in
            [("a", "a"), (" my list ", "my list"), ("🕯️ 燭", "🕯️ 燭"), (longest.as_str(), longest.as_str())]
        {
            assert_eq!(WatchlistName::parse(text).unwrap().as_str(), name);
        }
        let hidden = [
            "a\u{34f}b",
            "\u{115f}",
            "\u{2800}",
            "\u{3164}",
            "a\nb",
            "a\0",
            "a\u{202e}b",
            "\u{200f}a",
            "a\u{200b}b",
            "a\u{feff}",
            "\u{2066}a\u{2069}",
        ];
        for text in ["", "  ", "\u{3000}", "\u{fe0f}", &"x".repeat(WATCHLIST_NAME_CHARS_MAX + 1)]
            .into_iter()
            .chain(hidden)
        {
            assert!(matches!(WatchlistName::parse(text), Err(WatchlistError::Name(_))), "{text:?}");
        }
    }
}
