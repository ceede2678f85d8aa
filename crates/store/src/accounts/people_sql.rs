//! SQL statements of passwords and browser sessions.

use crate::engine::statements::statements;

statements! {
    for crate::engine::migrations::ACCOUNTS;
    PERSON: "read a password", "select id, revoked_at, password from sealed_account where name = $1";
    HAS_PASSWORD: "look for a password", "select password is not null from sealed_account where id = $1";
    SET_PASSWORD: "change a password",
        "update account set password = $1 where id = $2 and (password is not null or cast($1 as text) is not null)";
    // No session begins if the password was changed or the account revoked while the hash was
    // computed.
    ADD_SESSION: "begin a browser session",
        "insert into browser_session (hash, account_id, created_at, expires_at) \
         select $1, id, $2, $3 from sealed_account where id = $4 and password = $5 and revoked_at is null";
    // For guests of a demonstration without a password, and for one-time links of this machine's
    // user.
    ADD_GUEST: "sign a guest in",
        "insert into browser_session (hash, account_id, created_at, expires_at) \
         select $1, id, $2, $3 from sealed_account where id = $4 and revoked_at is null";
    SESSION: "read who is signed in",
        "select account.id, account.name, browser_session.expires_at from sealed_browser_session browser_session \
         join sealed_account account on account.id = browser_session.account_id \
         where browser_session.hash = $1 and browser_session.expires_at > $2 and account.revoked_at is null";
    END_SESSION: "end a browser session", "delete from browser_session where hash = $1 returning account_id";
    END_SESSIONS_OF: "sign an account out everywhere", "delete from browser_session where account_id = $1";
    END_OLDEST: "sign out where an account was first signed in",
        "delete from browser_session where hash in (select hash from browser_session \
         where account_id = $1 order by created_at desc, hash limit 1000 offset $2)";
    FORGET_EXPIRED: "forget who was signed in",
        "delete from browser_session where hash in \
         (select hash from browser_session where expires_at <= $1 order by expires_at limit $2)";
}
