//! SQL statements of OAuth clients, codes and tokens.

use crate::engine::statements::statements;

macro_rules! select_device {
    () => {
        "select client_id, scope, state, account_id, redeemed_by, created_at, expires_at from sealed_device_grant "
    };
}

statements! {
    for crate::engine::migrations::ACCOUNTS;
    CLIENT: "read a client",
        "select id, name, redirect_uris, grant_types, auth_method, secret_hash, registration_hash, created_at, used_at \
         from sealed_oauth_client where id = $1";
    COUNT_CLIENTS: "count the clients", "select count(*) from oauth_client";
    ADD_CLIENT: "add a client",
        "insert into oauth_client (id, name, redirect_uris, grant_types, auth_method, secret_hash, registration_hash, \
         created_at, used_at) values ($1, $2, $3, $4, $5, $6, $7, $8, null)";
    USE_CLIENT: "note the use of a client", "update oauth_client set used_at = $1 where id = $2";
    REMOVE_CLIENT: "remove a client", "delete from oauth_client where id = $1";
    ACCOUNTS_OF_CLIENT: "list the accounts that a client acts for",
        "select distinct account_id from sealed_oauth_token where client_id = $1 and expires_at > $2 order by account_id";
    FORGET_CLIENTS: "forget clients that nobody uses",
        "delete from oauth_client where id in (\
         select id from oauth_client c where (used_at is null and created_at <= $1 and not exists (\
         select 1 from device_grant d where d.client_id = c.id and d.state = 'pending' and d.expires_at > $2)) \
         or (used_at < $3 and not exists (select 1 from oauth_token t where t.client_id = c.id)) \
         order by coalesce(used_at, 0), created_at, id limit $4)";

    COUNT_DEVICES: "count the devices", "select count(*) from device_grant";
    COUNT_WAITING: "count the devices of a client that wait",
        "select count(*) from device_grant where client_id = $1 and state = 'pending' and expires_at > $2";
    FORGET_WAITING: "forget the device of a client that has waited longest",
        "delete from device_grant where device_hash in (\
         select device_hash from device_grant where client_id = $1 and state = 'pending' and expires_at > $2 \
         and created_at < $3 order by created_at, device_hash limit 1)";
    ADD_DEVICE: "add a device",
        "insert into device_grant (device_hash, user_hash, client_id, scope, state, created_at, expires_at) \
         values ($1, $2, $3, $4, 'pending', $5, $6) on conflict do nothing";
    DEVICE: "read a device", concat!(select_device!(), "where device_hash = $1");
    DEVICE_OF_USER: "read a device", concat!(select_device!(), "where user_hash = $1");
    DECIDE_DEVICE: "decide about a device",
        "update device_grant set state = $1, account_id = $2 \
         where user_hash = $3 and state = 'pending' and expires_at > $4";
    REDEEM_DEVICE: "redeem a device code",
        "update device_grant set state = 'redeemed', redeemed_by = $1 \
         where device_hash = $2 and state = 'approved' and account_id = $3 and expires_at > $4";
    FORGET_DEVICES: "forget devices that are late",
        "delete from device_grant where device_hash in (\
         select device_hash from device_grant where expires_at < $1 order by expires_at limit $2)";

    ADD_CODE: "add an authorization code",
        "insert into authorization_code \
         (code_hash, client_id, account_id, redirect_uri, scope, challenge, created_at, expires_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)";
    CODE: "read an authorization code",
        "select client_id, account_id, redirect_uri, scope, challenge, family, created_at, expires_at \
         from sealed_authorization_code where code_hash = $1";
    REDEEM_CODE: "redeem an authorization code",
        "update authorization_code set family = $1 where code_hash = $2 and family is null and expires_at > $3";
    FORGET_CODES: "forget authorization codes that are late",
        "delete from authorization_code where code_hash in (\
         select code_hash from authorization_code where expires_at < $1 order by expires_at limit $2)";

    STANDS: "see whether an account stands",
        "select exists (select 1 from sealed_account where id = $1 and revoked_at is null)";
    ADD_TOKEN: "add a token",
        "insert into oauth_token \
         (hash, kind, family, client_id, account_id, scope, begun_at, issued_at, expires_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    TOKEN: "read a token",
        "select kind, family, client_id, account_id, scope, begun_at, issued_at, expires_at, replaced_at \
         from sealed_oauth_token where hash = $1";
    REPLACE_TOKEN: "replace a refresh token",
        "update oauth_token set replaced_at = $1 where hash = $2 and replaced_at is null";
    FAMILY_STANDS: "see whether a sign-in stands",
        "select exists (select 1 from sealed_oauth_token where family = $1 and expires_at > $2)";
    FAMILY_IS_THERE: "see whether a sign-in was ended",
        "select exists (select 1 from sealed_oauth_token where family = $1)";
    FAMILIES: "list the sign-ins of an account",
        "select t.family, t.client_id, c.name, c.created_at, t.begun_at, max(t.issued_at), max(t.expires_at) \
         from sealed_oauth_token t join sealed_oauth_client c on c.id = t.client_id \
         where t.account_id = $1 and t.expires_at > $2 \
         group by t.family, t.client_id, c.name, c.created_at, t.begun_at order by t.begun_at, t.family";
    END_FAMILY: "end a sign-in", "delete from oauth_token where family = $1";
    TRIM_FAMILY: "forget the oldest tokens of a sign-in",
        "delete from oauth_token where hash in (\
         select hash from oauth_token where family = $1 and kind = $2 and (kind = 'access' or replaced_at is not null) \
         order by issued_at desc, hash limit $3 offset $4)";
    FORGET_TOKENS: "forget tokens that are late",
        "delete from oauth_token where hash in (\
         select hash from oauth_token where expires_at < $1 order by expires_at limit $2)";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statements_of_a_client_use_the_indexes() {
        crate::engine::statements::follow_the_keys(
            crate::engine::migrations::ACCOUNTS,
            &[
                CLIENT,
                COUNT_WAITING,
                FORGET_WAITING,
                DEVICE,
                DEVICE_OF_USER,
                DECIDE_DEVICE,
                REDEEM_DEVICE,
                FORGET_DEVICES,
                CODE,
                REDEEM_CODE,
                FORGET_CODES,
                STANDS,
                TOKEN,
                REPLACE_TOKEN,
                FAMILY_STANDS,
                FAMILY_IS_THERE,
                FAMILIES,
                END_FAMILY,
                FORGET_TOKENS,
                REMOVE_CLIENT,
            ],
        );
    }
}
