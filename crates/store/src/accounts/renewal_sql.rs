//! SQL statements of token renewal.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    FORGET: "forget replaced tokens", "delete from replaced_token where good_until <= $1";
    COUNT: "count replaced tokens", "select count(*) from sealed_replaced_token where app_key = $1";
    KEEP: "keep a replaced token",
        "insert into replaced_token (hash, app_key, good_until) values ($1, $2, $3)";
    RENEW: "renew a token",
        "update credential set token_hash = $1, token_expires_at = $2 where app_key = $3";
    CREDENTIAL: "read the credential of a replaced token",
        "select c.app_key, c.account_id, c.app_secret, c.token_hash, c.token_expires_at, c.created_at \
         from sealed_replaced_token r join sealed_credential c on c.app_key = r.app_key where r.hash = $1 and r.good_until > $2";
}
