//! The SQL statement of password links.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    NEWEST: "look for a link to set a password",
        "select id, at, event from sealed_audit where account_id = $1 and event in ('password.link.issued', \
            'password.link.withdrawn', 'password.set', 'password.removed') order by id desc limit 1";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finding_a_link_uses_the_index_of_its_account() {
        crate::engine::statements::follow_the_keys(crate::engine::migrations::ACCOUNTS, &[NEWEST]);
    }
}
