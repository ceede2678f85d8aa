//! SQL statements of the account statements of paper accounts.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    ADD: "keep a statement",
        "insert into statement (account_id, kind, day, made_at, document) values ($1, $2, $3, $4, $5)";
    LAST: "look for the last statement",
        "select day from sealed_statement where account_id = $1 and kind = $2 order by day desc limit 1";
    LIST: "list the statements",
        "select day, made_at from sealed_statement \
         where account_id = $1 and kind = $2 and day >= $3 and made_at <= $4 order by day desc limit $5 offset $6";
    READ: "read a statement",
        "select made_at, document from sealed_statement where account_id = $1 and kind = $2 and day = $3";
    CUT: "take back the statements", "delete from statement where account_id = $1 and made_at > $2";

    DUE: "look when a statement is due", "select next_at from sealed_statement_due where account_id = $1";
    PUT_DUE: "note when a statement is due",
        "insert into statement_due (account_id, next_at) values ($1, $2) \
         on conflict (account_id) do update set next_at = excluded.next_at";
    CUT_DUE: "note that statements are to be looked for", "delete from statement_due where account_id = $1";
    ACCOUNTS_DUE: "list the accounts with statements due",
        "select h.account_id from sealed_journal_head h where h.account_id > $1 and h.horizon > 0 and not exists \
            (select 1 from sealed_statement_due d where d.account_id = h.account_id and d.next_at > h.horizon) \
         order by h.account_id limit $2";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn account_statements_use_the_indexes() {
        crate::engine::statements::follow_the_keys(
            crate::engine::migrations::ACCOUNTS,
            &[LAST, LIST, READ, CUT, DUE],
        );
    }
}
