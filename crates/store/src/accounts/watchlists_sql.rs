//! SQL statements of watchlists.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    FOLLOWED: "list what an account follows",
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
    PUT_MEMBER: "put a security on a watchlist",
        "insert into watchlist_member (account_id, group_id, symbol, place) values ($1, $2, $3, $4) \
         on conflict (account_id, group_id, symbol) do update set place = excluded.place";
    REMOVE_MEMBER: "take a security from a watchlist",
        "delete from watchlist_member where account_id = $1 and group_id = $2 and symbol = $3";
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pages run these whenever one is opened.
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
