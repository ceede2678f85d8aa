//! SQL statements of one-time links.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    ADD: "give out a one-time link",
        "insert into sign_in_link (hash, account_id, server, next, created_at, expires_at) \
         values ($1, $2, $3, $4, $5, $6)";
    LINK: "read a one-time link",
        "select account_id, server, next, expires_at, used_at from sealed_sign_in_link where hash = $1";
    USE: "use a one-time link", "update sign_in_link set used_at = $1 where hash = $2 and used_at is null";
    FORGET: "forget one-time links",
        "delete from sign_in_link where hash in \
         (select hash from sign_in_link where expires_at <= $1 order by expires_at limit $2)";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_a_link_uses_its_index() {
        crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &[LINK]);
    }
}
