//! SQL statements for accounts, in the same dialect as `candles/sql.rs`.

use crate::engine::statements::statements;

macro_rules! select_account {
    () => {
        "select id, name, region, created_at, revoked_at, epoch, role, level, quota, rate, connections, \
         subscriptions, floors, read_only, api_date, \
         (select world.owner_id from sealed_world world where world.account_id = account.id) \
         from sealed_account account "
    };
}
macro_rules! select_credential {
    () => {
        "select app_key, account_id, app_secret, token_hash, token_expires_at, created_at from sealed_credential "
    };
}

statements! {
    for crate::engine::migrations::ACCOUNTS;
    ACCOUNTS: "list the accounts", concat!(select_account!(), "order by id");
    ACCOUNT: "read an account", concat!(select_account!(), "where id = $1");
    ACCOUNT_NAMED: "read an account", concat!(select_account!(), "where name = $1");
    ACCOUNT_COUNT: "count the accounts", "select count(*) from sealed_account";
    ANY_ACCOUNT: "find accounts", "select exists (select 1 from sealed_account)";
    ADD_ACCOUNT: "add an account",
        "insert into account \
         (id, name, region, role, created_at, epoch, level, quota, rate, connections, subscriptions, floors, \
         read_only, api_date) values ($1, $2, $3, $4, $5, 0, $6, $7, $8, $9, $10, $11, $12, $13) \
         on conflict (name) do nothing";
    CHANGE_TERMS: "change an account",
        "update account set level = $1, quota = $2, rate = $3, connections = $4, \
         subscriptions = $5, floors = $6, read_only = $7, api_date = $8 where id = $9";
    REVOKE: "revoke an account",
        "update account set revoked_at = $1, epoch = epoch + 1 where id = $2 and revoked_at is null";
    WORLDS_OF: "list the accounts of an owner's worlds",
        "select account_id from sealed_world where owner_id = $1 order by id";
    OTHER_OF_ROLE: "find another account of a role",
        "select exists (select 1 from sealed_account where role = $1 and id <> $2 and revoked_at is null)";

    RIGHTS_OF: "list the rights of an account",
        "select package, starts_at, ends_at from sealed_quote_right where account_id = $1 order by package";
    GRANT: "grant a right",
        "insert into quote_right (account_id, package, starts_at, ends_at) values ($1, $2, $3, $4) \
         on conflict (account_id, package) do update set starts_at = excluded.starts_at, ends_at = excluded.ends_at";
    WITHDRAW: "withdraw a right", "delete from quote_right where account_id = $1 and package = $2";

    ADD_CREDENTIAL: "add a credential",
        "insert into credential (app_key, account_id, app_secret, token_hash, token_expires_at, created_at) \
         values ($1, $2, $3, $4, $5, $6)";
    CREDENTIAL_BY_KEY: "read a credential", concat!(select_credential!(), "where app_key = $1");
    CREDENTIAL_BY_TOKEN: "read a credential", concat!(select_credential!(), "where token_hash = $1");
    ANY_CREDENTIAL: "read a credential", concat!(select_credential!(), "order by app_key limit 1");
    CREDENTIALS_OF: "list the credentials of an account",
        concat!(select_credential!(), "where account_id = $1 order by created_at, app_key");

    USED: "find a security in the quota",
        "select exists (select 1 from sealed_usage where account_id = $1 and month = $2 and symbol = $3), \
         (select count(*) from sealed_usage where account_id = $1 and month = $2)";
    USED_TOTAL: "count the securities charged to an account",
        "select count(*) from sealed_usage where account_id = $1 and month = $2";
    SPEND: "spend the quota",
        "insert into usage (account_id, month, symbol, first_at) values ($1, $2, $3, $4)";
    USAGE: "list the securities charged to an account",
        "select symbol, first_at from sealed_usage where account_id = $1 and month = $2 order by first_at, symbol";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_request_statements_use_the_indexes() {
        crate::engine::statements::follow_the_keys(
            crate::engine::migrations::ACCOUNTS,
            &[
                crate::candles::sql::VERSION,
                ACCOUNT,
                CREDENTIAL_BY_KEY,
                CREDENTIAL_BY_TOKEN,
                RIGHTS_OF,
                USED,
                USED_TOTAL,
            ],
        );
    }
}
