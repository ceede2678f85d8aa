//! Watchlists: the securities that accounts follow, with the time and price at which they were
//! added, and the accounts' groups of securities. `access` enforces the rules for contents and
//! group names.

use std::collections::{HashMap, HashSet};

use market::{Symbol, Timestamp};

use crate::accounts::{Accounts, WriteLock, check_texts, take};
use crate::engine::{Db, Fault, Row, StoreError};
use crate::ids::AccountId;

/// Id of a watchlist group, unique over all accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatchlistId(pub i64);

/// The followed securities and groups of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Watchlists {
    /// All followed securities, in display order.
    pub followed: Vec<FollowedSecurity>,
    /// User-defined groups, oldest first.
    pub groups: Vec<WatchlistGroup>,
}

/// A security that an account follows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FollowedSecurity {
    pub symbol: Symbol,
    /// Market time at which the security was followed.
    pub at: Timestamp,
    /// The price displayed at that time, as text; `None` if no price was available.
    pub price: Option<String>,
    pub is_pinned: bool,
}

/// A group of followed securities.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchlistGroup {
    pub id: WatchlistId,
    pub name: String,
    /// Members in display order.
    pub symbols: Vec<Symbol>,
}

/// Allocates ids for new groups within a change.
#[derive(Clone, Copy, Debug)]
pub struct WatchlistIds<'a>(&'a Db);

impl WatchlistIds<'_> {
    pub fn take(self) -> Result<WatchlistId, StoreError> {
        take(self.0, "watchlist").map(WatchlistId)
    }
}

impl Accounts {
    pub fn watchlists(&self, id: AccountId) -> Result<Watchlists, StoreError> {
        let db = self.read();
        db.begin_read()?;
        let rows = WatchlistRows::read(&db, id);
        db.commit().ok();
        Ok(rows?.lists())
    }

    /// Replaces an account's watchlists with those that `decide` computes from the current
    /// watchlists. The current watchlists are read in the write transaction, so concurrent changes
    /// are not lost. Writes nothing if `decide` returns an error.
    pub fn change_watchlists<T, E: From<StoreError>>(
        &self,
        id: AccountId,
        decide: impl FnOnce(&mut Watchlists, WatchlistIds<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.within(WriteLock::Of(&[id]), |db| {
            let rows = WatchlistRows::read(db, id)?;
            let mut lists = rows.lists();
            let answer = decide(&mut lists, WatchlistIds(db))?;
            rows.write_followed(db, id, &lists.followed)?;
            rows.write_groups(db, id, &lists.groups)?;
            Ok(answer)
        })
    }
}

/// An account's watchlist rows, each with its position.
struct WatchlistRows {
    followed: Vec<(i64, FollowedSecurity)>,
    groups: Vec<(WatchlistId, String)>,
    members: Vec<(WatchlistId, i64, Symbol)>,
}

impl WatchlistRows {
    fn read(db: &Db, id: AccountId) -> Result<WatchlistRows, StoreError> {
        let mut followed = db.all(sql::FOLLOWED, [id.0], |row| {
            let one = FollowedSecurity {
                symbol: symbol(row, 1)?,
                at: Timestamp(row.get(2)?),
                price: row.get(3)?,
                is_pinned: row.get(4)?,
            };
            Ok((row.get::<i64>(0)?, one))
        })?;
        followed.sort_by_key(|(place, _)| *place);
        let groups = db.all(sql::GROUPS, [id.0], |row| Ok((WatchlistId(row.get(0)?), row.get(1)?)))?;
        let mut members = db.all(sql::MEMBERS, [id.0], |row| {
            Ok((WatchlistId(row.get(0)?), row.get::<i64>(1)?, symbol(row, 2)?))
        })?;
        members.sort_by_key(|(group, place, _)| (*group, *place));
        Ok(WatchlistRows { followed, groups, members })
    }

    fn lists(&self) -> Watchlists {
        let symbols = |id: WatchlistId| -> Vec<Symbol> {
            let of_group = self.members.iter().filter(move |(group, ..)| *group == id);
            of_group.map(|(.., symbol)| symbol.clone()).collect()
        };
        let group = |(id, name): &(WatchlistId, String)| WatchlistGroup {
            id: *id,
            name: name.clone(),
            symbols: symbols(*id),
        };
        Watchlists {
            followed: self.followed.iter().map(|(_, one)| one.clone()).collect(),
            groups: self.groups.iter().map(group).collect(),
        }
    }

    fn write_followed(
        &self,
        db: &Db,
        id: AccountId,
        followed: &[FollowedSecurity],
    ) -> Result<(), StoreError> {
        let stored: HashSet<&Symbol> = followed.iter().map(|one| &one.symbol).collect();
        for (_, one) in self.followed.iter().filter(|(_, one)| !stored.contains(&one.symbol)) {
            db.run(sql::UNFOLLOW, (id.0, one.symbol.as_str()))?;
        }
        let known: HashMap<&Symbol, (i64, &FollowedSecurity)> =
            self.followed.iter().map(|(place, one)| (&one.symbol, (*place, one))).collect();
        let mut last = 0;
        for one in followed {
            let before = known.get(&one.symbol).copied();
            last = next_place(last, before.map(|(place, _)| place));
            if before == Some((last, one)) {
                continue;
            }
            let FollowedSecurity { symbol, at, price, is_pinned } = one;
            check_texts("a watched security", &[price.as_deref().unwrap_or_default()])?;
            db.run(sql::FOLLOW, (id.0, symbol.as_str(), at.0, price, is_pinned, last))?;
        }
        Ok(())
    }

    fn write_groups(&self, db: &Db, id: AccountId, groups: &[WatchlistGroup]) -> Result<(), StoreError> {
        let wanted: HashSet<(WatchlistId, &Symbol)> =
            groups.iter().flat_map(|group| group.symbols.iter().map(|symbol| (group.id, symbol))).collect();
        for (group, _, symbol) in &self.members {
            if !wanted.contains(&(*group, symbol)) {
                db.run(sql::REMOVE_MEMBER, (id.0, group.0, symbol.as_str()))?;
            }
        }
        for (group, _) in &self.groups {
            if !groups.iter().any(|stored| stored.id == *group) {
                db.run(sql::REMOVE_GROUP, [group.0])?;
            }
        }
        let places: HashMap<(WatchlistId, &Symbol), i64> =
            self.members.iter().map(|(group, place, symbol)| ((*group, symbol), *place)).collect();
        for group in groups {
            check_texts("a watchlist", &[&group.name])?;
            match self.groups.iter().find(|(known, _)| *known == group.id) {
                None => {
                    db.run(sql::ADD_GROUP, (group.id.0, id.0, &group.name))?;
                }
                Some((_, name)) if *name != group.name => {
                    db.run(sql::RENAME_GROUP, (&group.name, group.id.0))?;
                }
                Some(_) => {}
            }
            let mut last = 0;
            for symbol in &group.symbols {
                let before = places.get(&(group.id, symbol)).copied();
                last = next_place(last, before);
                if before != Some(last) {
                    db.run(sql::PUT_MEMBER, (id.0, group.id.0, symbol.as_str(), last))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns the position of the next row. A row keeps its position if that is after `last`, so that
/// adding or removing a row does not move other rows.
fn next_place(last: i64, before: Option<i64>) -> i64 {
    before.filter(|place| *place > last).unwrap_or_else(|| last.saturating_add(1))
}

fn symbol(row: &Row<'_>, column: usize) -> Result<Symbol, Fault> {
    let text = row.text(column)?;
    text.parse().map_err(|_| Fault::value("symbol", text))
}

pub(super) mod sql {
    use crate::engine::statements::statements;

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        FOLLOWED: "list the followed securities of an account",
            "select place, symbol, watched_at, price, pinned from sealed_watched_security where account_id = $1";
        FOLLOW: "follow a security",
            "insert into watched_security (account_id, symbol, watched_at, price, pinned, place) \
             values ($1, $2, $3, $4, $5, $6) \
             on conflict (account_id, symbol) do update set watched_at = excluded.watched_at, price = excluded.price, \
                pinned = excluded.pinned, place = excluded.place";
        UNFOLLOW: "unfollow a security", "delete from watched_security where account_id = $1 and symbol = $2";

        GROUPS: "list the watchlists of an account",
            "select id, name from sealed_watchlist_group where account_id = $1 order by id";
        ADD_GROUP: "add a watchlist", "insert into watchlist_group (id, account_id, name) values ($1, $2, $3)";
        RENAME_GROUP: "rename a watchlist", "update watchlist_group set name = $1 where id = $2";
        REMOVE_GROUP: "remove a watchlist", "delete from watchlist_group where id = $1";

        MEMBERS: "read the watchlists of an account",
            "select group_id, place, symbol from sealed_watchlist_member where account_id = $1";
        PUT_MEMBER: "add a security to a watchlist",
            "insert into watchlist_member (account_id, group_id, symbol, place) values ($1, $2, $3, $4) \
             on conflict (account_id, group_id, symbol) do update set place = excluded.place";
        REMOVE_MEMBER: "remove a security from a watchlist",
            "delete from watchlist_member where account_id = $1 and group_id = $2 and symbol = $3";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        /// These statements run for each page view, so they must not scan a table.
        #[test]
        fn reading_watchlists_uses_the_indexes() {
            let all = [
                FOLLOWED,
                FOLLOW,
                UNFOLLOW,
                GROUPS,
                ADD_GROUP,
                RENAME_GROUP,
                REMOVE_GROUP,
                MEMBERS,
                PUT_MEMBER,
                REMOVE_MEMBER,
            ];
            crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &all);
        }
    }
}
