//! OAuth clients, pending devices, authorization codes and tokens. Secrets are stored as hashes,
//! and the caller decides what access they grant. Single use of codes and refresh tokens is
//! enforced here, in the write transaction.
//!
//! All tokens that descend from one approval form a *family*. Ending a family deletes its tokens; a
//! token without a row is invalid. Expired rows are removed in small batches by inserts, and by
//! [`Accounts::remove_expired`].

use market::Timestamp;

use super::changes::count_change;
use super::oauth_rows::{
    ClientRow, CodeRow, DeviceOutcome, DeviceRow, DeviceState, FamilyRow, NewDevice, NewTokens, Redemption,
    TokenKind, TokenRow,
};
use super::{AccountId, Accounts, AuditNote, audit, check_texts};
use crate::engine::{Db, StoreError, small};
use crate::ids::Hash;

/// Maximum number of clients. When it is reached, unused clients are evicted.
pub const CLIENTS_MAX: u32 = 10_000;
/// Time for which an approved client without tokens is not evicted.
const CLIENT_IDLE_S: i64 = 86_400;
/// Time for which a client that no account has approved is not evicted. Registration is open, so an
/// attacker who fills the table must not lock out others for a day.
const CLIENT_NEW_S: i64 = 60;
pub const DEVICES_MAX: u32 = 10_000;
/// Maximum number of pending devices per client. When it is reached, a new device evicts the
/// oldest.
pub const DEVICES_OF_CLIENT_MAX: u32 = 100;
/// Time for which a new device is not evicted, because a user may be typing its code.
const DEVICE_NEW_S: i64 = 60;
/// Time for which an expired device is retained, so that polling returns `expired_token`.
pub(super) const DEVICE_KEPT_S: i64 = 600;
/// Time for which a used code is retained, to detect reuse.
pub(super) const CODE_KEPT_S: i64 = 86_400;
/// Time for which an expired token is retained, to distinguish it from an unknown token.
pub(super) const TOKEN_KEPT_S: i64 = 7 * 86_400;
/// Maximum number of sign-ins per account. A sign-in beyond the limit ends the oldest.
pub const FAMILIES_MAX: usize = 100;
/// Maximum number of valid access tokens per family.
const ACCESS_OF_FAMILY_MAX: u32 = 20;
const REPLACED_OF_FAMILY_MAX: u32 = 100;
/// Maximum number of expired rows that one change removes as a side effect.
const FORGET_MAX: u32 = 100;
/// Maximum total size of a client's lists, in bytes.
const LISTS_MAX: usize = 16 << 10;

impl Accounts {
    pub fn client(&self, id: &str) -> Result<Option<ClientRow>, StoreError> {
        self.read().first(sql::CLIENT, [id], ClientRow::read)
    }

    /// Adds a client. Returns `false` if the table is full and no client can be evicted.
    pub fn add_client(&self, client: &ClientRow, note: &AuditNote<'_>) -> Result<bool, StoreError> {
        check_texts("a client", &[&client.id, &client.name, &client.auth_method])?;
        if client.redirect_uris.len().saturating_add(client.grant_types.len()) > LISTS_MAX {
            return Err(StoreError::unfit(
                "a client",
                format!("its lists are longer than {LISTS_MAX} bytes"),
            ));
        }
        let now = note.at.0;
        let (new, idle) = (now.saturating_sub(CLIENT_NEW_S), now.saturating_sub(CLIENT_IDLE_S));
        self.change(|db| {
            if count(db, sql::COUNT_CLIENTS, [])? >= CLIENTS_MAX
                && db.run(sql::FORGET_CLIENTS, (new, now, idle, FORGET_MAX))? == 0
            {
                return Ok(false);
            }
            db.run(
                sql::ADD_CLIENT,
                (
                    &client.id,
                    &client.name,
                    &client.redirect_uris,
                    &client.grant_types,
                    &client.auth_method,
                    client.secret_hash.as_ref().map(Hash::as_slice),
                    client.registration_hash.as_slice(),
                    client.created_at.0,
                ),
            )?;
            audit::write(db, None, "client.registered", note)?;
            Ok(true)
        })
    }

    /// Removes a client and its devices, codes and tokens. Returns whether it existed.
    pub fn remove_client(&self, id: &str, note: &AuditNote<'_>) -> Result<bool, StoreError> {
        self.change(|db| {
            let accounts =
                db.all(sql::ACCOUNTS_OF_CLIENT, (id, note.at.0), |row| Ok(AccountId(row.get(0)?)))?;
            let removed = db.run(sql::REMOVE_CLIENT, [id])? > 0;
            if removed {
                for account in &accounts {
                    let note = note.because("the client that held them was removed");
                    audit::write(db, Some(*account), "tokens.revoked", &note)?;
                }
                audit::write(db, None, "client.removed", note)?;
                count_change(db, &accounts)?;
            }
            Ok(removed)
        })
    }

    pub fn add_device(&self, device: &NewDevice<'_>) -> Result<DeviceOutcome, StoreError> {
        check_texts("a device", &[device.client_id, device.scope])?;
        let NewDevice { device_hash, user_hash, client_id, scope, created_at, expires_at } = device;
        self.change(|db| {
            db.run(sql::FORGET_DEVICES, (created_at.0.saturating_sub(DEVICE_KEPT_S), FORGET_MAX))?;
            if count(db, sql::COUNT_DEVICES, [])? >= DEVICES_MAX
                && db.run(sql::FORGET_DEVICES, (created_at.0, FORGET_MAX))? == 0
            {
                return Ok(DeviceOutcome::Full);
            }
            if count(db, sql::COUNT_WAITING, (client_id, created_at.0))? >= DEVICES_OF_CLIENT_MAX {
                let new = created_at.0.saturating_sub(DEVICE_NEW_S);
                if db.run(sql::FORGET_WAITING, (client_id, created_at.0, new))? == 0 {
                    return Ok(DeviceOutcome::Full);
                }
            }
            let (device_hash, user_hash) = (device_hash.as_slice(), user_hash.as_slice());
            let row = (device_hash, user_hash, client_id, scope, created_at.0, expires_at.0);
            let added = db.run(sql::ADD_DEVICE, row)? > 0;
            Ok(if added { DeviceOutcome::Added } else { DeviceOutcome::Taken })
        })
    }

    pub fn device(&self, hash: &Hash) -> Result<Option<DeviceRow>, StoreError> {
        self.read().first(sql::DEVICE, [hash.as_slice()], DeviceRow::read)
    }

    pub fn device_of_user(&self, hash: &Hash) -> Result<Option<DeviceRow>, StoreError> {
        self.read().first(sql::DEVICE_OF_USER, [hash.as_slice()], DeviceRow::read)
    }

    /// Approves or denies a pending device for an account. Returns `false` if the device is no
    /// longer pending or the account is revoked.
    pub fn decide_device(
        &self,
        user_hash: &Hash,
        account: AccountId,
        approve: bool,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        let (state, event) = if approve {
            (DeviceState::Approved, "device.approved")
        } else {
            (DeviceState::Denied, "device.denied")
        };
        self.change(|db| {
            let Some(device) = db.first(sql::DEVICE_OF_USER, [user_hash.as_slice()], DeviceRow::read)? else {
                return Ok(false);
            };
            let row = (state.as_str(), account.0, user_hash.as_slice(), note.at.0);
            if !is_active(db, account)? || db.run(sql::DECIDE_DEVICE, row)? == 0 {
                return Ok(false);
            }
            if approve {
                db.run(sql::USE_CLIENT, (note.at.0, &device.client_id))?;
            }
            audit::write(db, Some(account), event, note)?;
            Ok(true)
        })
    }

    /// Issues the tokens for an approved device. Only the first call issues tokens and returns
    /// `true`.
    pub fn redeem_device(
        &self,
        hash: &Hash,
        by: &str,
        tokens: &NewTokens<'_>,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        check_texts("a device", &[by])?;
        self.change(|db| {
            let row = (by, hash.as_slice(), tokens.account.0, note.at.0);
            if !is_active(db, tokens.account)? || db.run(sql::REDEEM_DEVICE, row)? == 0 {
                return Ok(false);
            }
            begin_family(db, tokens, note)?;
            Ok(true)
        })
    }

    /// Adds a sign-in that the operator has granted. Returns `false` if the account is revoked.
    pub fn add_sign_in(&self, tokens: &NewTokens<'_>, note: &AuditNote<'_>) -> Result<bool, StoreError> {
        self.change(|db| {
            if !is_active(db, tokens.account)? {
                return Ok(false);
            }
            db.run(sql::USE_CLIENT, (note.at.0, tokens.client_id))?;
            begin_family(db, tokens, note)?;
            Ok(true)
        })
    }

    pub fn add_code(&self, hash: &Hash, code: &CodeRow, note: &AuditNote<'_>) -> Result<(), StoreError> {
        let CodeRow { client_id, account, redirect_uri, scope, challenge, created_at, expires_at, .. } = code;
        check_texts("a code", &[client_id, redirect_uri, scope, challenge.as_deref().unwrap_or_default()])?;
        self.change(|db| {
            db.run(sql::FORGET_CODES, (created_at.0.saturating_sub(CODE_KEPT_S), FORGET_MAX))?;
            db.run(
                sql::ADD_CODE,
                (
                    hash.as_slice(),
                    client_id,
                    account.0,
                    redirect_uri,
                    scope,
                    challenge,
                    created_at.0,
                    expires_at.0,
                ),
            )?;
            db.run(sql::USE_CLIENT, (note.at.0, client_id))?;
            audit::write(db, Some(*account), "code.approved", note)
        })
    }

    pub fn code(&self, hash: &Hash) -> Result<Option<CodeRow>, StoreError> {
        self.read().first(sql::CODE, [hash.as_slice()], CodeRow::read)
    }

    /// Issues the tokens for an authorization code. A second use of the code ends the family that
    /// the first use created.
    pub fn redeem_code(
        &self,
        hash: &Hash,
        tokens: &NewTokens<'_>,
        note: &AuditNote<'_>,
    ) -> Result<Redemption, StoreError> {
        self.change(|db| {
            let Some(code) = db.first(sql::CODE, [hash.as_slice()], CodeRow::read)? else {
                return Ok(Redemption::No);
            };
            if let Some(family) = code.family {
                end_family(
                    db,
                    &family,
                    code.account,
                    &note.because("its authorization code was used twice"),
                )?;
                return Ok(Redemption::Again);
            }
            let row = (tokens.family, hash.as_slice(), note.at.0);
            if !is_active(db, code.account)? || db.run(sql::REDEEM_CODE, row)? == 0 {
                return Ok(Redemption::No);
            }
            begin_family(db, tokens, note)?;
            Ok(Redemption::Yes)
        })
    }

    pub fn token(&self, hash: &Hash) -> Result<Option<TokenRow>, StoreError> {
        self.read().first(sql::TOKEN, [hash.as_slice()], TokenRow::read)
    }

    /// Issues new tokens for a refresh token and marks the refresh token as replaced. A replaced
    /// token is accepted for another `grace_s` seconds, because the response may have been lost. A
    /// later use means that the token has leaked, and ends the family.
    pub fn refresh(
        &self,
        hash: &Hash,
        tokens: &NewTokens<'_>,
        grace_s: i64,
        note: &AuditNote<'_>,
    ) -> Result<Redemption, StoreError> {
        self.change(|db| {
            let Some(old) = db.first(sql::TOKEN, [hash.as_slice()], TokenRow::read)? else {
                return Ok(Redemption::No);
            };
            let same = old.family == tokens.family
                && old.client_id == tokens.client_id
                && old.account == tokens.account;
            if !same
                || old.kind != TokenKind::Refresh
                || old.expires_at <= note.at
                || !is_active(db, old.account)?
            {
                return Ok(Redemption::No);
            }
            if old.replaced_at.is_some_and(|at| note.at.0.saturating_sub(at.0) > grace_s) {
                let note = note.because("a refresh token was used after it had been replaced");
                end_family(db, &old.family, old.account, &note)?;
                return Ok(Redemption::Again);
            }
            db.run(sql::REPLACE_TOKEN, (note.at.0, hash.as_slice()))?;
            add_tokens(db, tokens, old.begun_at, note)?;
            for (kind, stored) in
                [(TokenKind::Access, ACCESS_OF_FAMILY_MAX), (TokenKind::Refresh, REPLACED_OF_FAMILY_MAX)]
            {
                db.run(sql::TRIM_FAMILY, (tokens.family, kind.as_str(), FORGET_MAX, stored))?;
            }
            audit::write(db, Some(old.account), "tokens.refreshed", note)?;
            Ok(Redemption::Yes)
        })
    }

    /// Returns whether a family has not ended and has a token that is valid at `now`.
    pub fn family_stands(&self, family: &str, now: Timestamp) -> Result<bool, StoreError> {
        self.read().one(sql::FAMILY_STANDS, (family, now.0), |row| row.get(0))
    }

    /// Returns whether a family exists, even if all of its tokens have expired. Returns `false`
    /// after the family was ended or its expired tokens were removed.
    pub fn family_is_there(&self, family: &str) -> Result<bool, StoreError> {
        self.read().one(sql::FAMILY_IS_THERE, [family], |row| row.get(0))
    }

    /// Returns an account's sign-ins that are valid at `now`, oldest first.
    pub fn families(&self, account: AccountId, now: Timestamp) -> Result<Vec<FamilyRow>, StoreError> {
        families(&self.read(), account, now)
    }

    /// Ends a family and deletes its tokens. Returns whether it existed.
    pub fn end_family(
        &self,
        family: &str,
        account: AccountId,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        self.change(|db| end_family(db, family, account, note))
    }
}

fn begin_family(db: &Db, tokens: &NewTokens<'_>, note: &AuditNote<'_>) -> Result<(), StoreError> {
    db.run(sql::FORGET_TOKENS, (note.at.0.saturating_sub(TOKEN_KEPT_S), FORGET_MAX))?;
    let families = families(db, tokens.account, note.at)?;
    let too_many = (families.len() + 1).saturating_sub(FAMILIES_MAX);
    for oldest in families.iter().take(too_many) {
        let note = note.because("the account signed in too often elsewhere, and this was the oldest");
        end_family(db, &oldest.family, tokens.account, &note)?;
    }
    add_tokens(db, tokens, note.at, note)?;
    audit::write(db, Some(tokens.account), "tokens.issued", note)
}

fn add_tokens(
    db: &Db,
    tokens: &NewTokens<'_>,
    begun_at: Timestamp,
    note: &AuditNote<'_>,
) -> Result<(), StoreError> {
    check_texts("a token", &[tokens.family, tokens.client_id, tokens.scope])?;
    let NewTokens { family, client_id, account, scope, .. } = tokens;
    for (kind, hash, expires_at) in [
        (TokenKind::Access, &tokens.access_hash, tokens.access_expires_at),
        (TokenKind::Refresh, &tokens.refresh_hash, tokens.refresh_expires_at),
    ] {
        let (hash, kind) = (hash.as_slice(), kind.as_str());
        let row = (hash, kind, family, client_id, account.0, scope, begun_at.0, note.at.0, expires_at.0);
        db.run(sql::ADD_TOKEN, row)?;
    }
    Ok(())
}

fn end_family(db: &Db, family: &str, account: AccountId, note: &AuditNote<'_>) -> Result<bool, StoreError> {
    let ended = db.run(sql::END_FAMILY, [family])? > 0;
    if ended {
        audit::write(db, Some(account), "tokens.revoked", note)?;
        count_change(db, &[account])?;
    }
    Ok(ended)
}

fn families(db: &Db, account: AccountId, now: Timestamp) -> Result<Vec<FamilyRow>, StoreError> {
    db.all(sql::FAMILIES, (account.0, now.0), |row| {
        Ok(FamilyRow {
            family: row.get(0)?,
            client_id: row.get(1)?,
            client_name: row.get(2)?,
            client_created_at: Timestamp(row.get(3)?),
            begun_at: Timestamp(row.get(4)?),
            last_at: Timestamp(row.get(5)?),
            expires_at: Timestamp(row.get(6)?),
            scope: row.get(7)?,
        })
    })
}

fn is_active(db: &Db, account: AccountId) -> Result<bool, StoreError> {
    db.one(sql::IS_ACTIVE, [account.0], |row| row.get(0))
}

fn count(db: &Db, sql: crate::engine::Sql, params: impl crate::engine::Params) -> Result<u32, StoreError> {
    db.one(sql, params, |row| small(row, 0))
}

impl AuditNote<'_> {
    fn because<'a>(&'a self, reason: &'a str) -> AuditNote<'a> {
        AuditNote { reason, ..*self }
    }
}

pub(super) mod sql {
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
        USE_CLIENT: "record the use of a client", "update oauth_client set used_at = $1 where id = $2";
        REMOVE_CLIENT: "remove a client", "delete from oauth_client where id = $1";
        ACCOUNTS_OF_CLIENT: "list the accounts that a client acts for",
            "select distinct account_id from sealed_oauth_token where client_id = $1 and expires_at > $2 order by account_id";
        FORGET_CLIENTS: "delete unused clients",
            "delete from oauth_client where id in (\
             select id from oauth_client c where (used_at is null and created_at <= $1 and not exists (\
             select 1 from device_grant d where d.client_id = c.id and d.state = 'pending' and d.expires_at > $2)) \
             or (used_at < $3 and not exists (select 1 from oauth_token t where t.client_id = c.id)) \
             order by coalesce(used_at, 0), created_at, id limit $4)";

        COUNT_DEVICES: "count the devices", "select count(*) from device_grant";
        COUNT_WAITING: "count the pending devices of a client",
            "select count(*) from device_grant where client_id = $1 and state = 'pending' and expires_at > $2";
        FORGET_WAITING: "delete the oldest pending device of a client",
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
        FORGET_DEVICES: "delete expired devices",
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
        FORGET_CODES: "delete expired authorization codes",
            "delete from authorization_code where code_hash in (\
             select code_hash from authorization_code where expires_at < $1 order by expires_at limit $2)";

        IS_ACTIVE: "check whether an account is active",
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
        FAMILY_STANDS: "check whether a sign-in is active",
            "select exists (select 1 from sealed_oauth_token where family = $1 and expires_at > $2)";
        FAMILY_IS_THERE: "check whether a sign-in has ended",
            "select exists (select 1 from sealed_oauth_token where family = $1)";
        FAMILIES: "list the sign-ins of an account",
            "select t.family, t.client_id, c.name, c.created_at, t.begun_at, max(t.issued_at), max(t.expires_at), t.scope \
             from sealed_oauth_token t join sealed_oauth_client c on c.id = t.client_id \
             where t.account_id = $1 and t.expires_at > $2 \
             group by t.family, t.client_id, c.name, c.created_at, t.begun_at, t.scope order by t.begun_at, t.family";
        END_FAMILY: "end a sign-in", "delete from oauth_token where family = $1";
        TRIM_FAMILY: "delete the oldest tokens of a sign-in",
            "delete from oauth_token where hash in (\
             select hash from oauth_token where family = $1 and kind = $2 and (kind = 'access' or replaced_at is not null) \
             order by issued_at desc, hash limit $3 offset $4)";
        FORGET_TOKENS: "delete expired tokens",
            "delete from oauth_token where hash in (\
             select hash from oauth_token where expires_at < $1 order by expires_at limit $2)";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn oauth_statements_use_the_indexes() {
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
                    IS_ACTIVE,
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
}
