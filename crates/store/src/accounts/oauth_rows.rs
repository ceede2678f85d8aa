//! Rows of the OAuth tables.

use market::Timestamp;

use super::AccountId;
use crate::engine::{Fault, Row};
use crate::ids::Hash;

/// A registered OAuth client. Lists are stored as text, one item per line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRow {
    pub id: String,
    pub name: String,
    pub redirect_uris: String,
    pub grant_types: String,
    pub auth_method: String,
    pub secret_hash: Option<Hash>,
    pub registration_hash: Hash,
    pub created_at: Timestamp,
    /// Time of the last approval by a user; `None` if no user has approved the client.
    pub used_at: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceState {
    Pending,
    Approved,
    Denied,
    Redeemed,
}

#[derive(Clone, Debug)]
pub struct NewDevice<'a> {
    pub device_hash: Hash,
    pub user_hash: Hash,
    pub client_id: &'a str,
    pub scope: &'a str,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRow {
    pub client_id: String,
    pub scope: String,
    pub state: DeviceState,
    /// The account that approved or denied the device; `None` while the device is pending.
    pub account: Option<AccountId>,
    /// Name under which the client polled when the tokens were issued; `None` if they were not
    /// issued yet.
    pub redeemed_by: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Result of adding a pending device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceOutcome {
    Added,
    /// Another device uses the same device code or user code.
    Taken,
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeRow {
    pub client_id: String,
    pub account: AccountId,
    /// Empty if the client sent no redirect URI.
    pub redirect_uri: String,
    pub scope: String,
    pub challenge: Option<String>,
    /// The family that the first use of the code created; `None` if the code is unused.
    pub family: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Access,
    Refresh,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRow {
    pub kind: TokenKind,
    pub family: String,
    pub client_id: String,
    pub account: AccountId,
    pub scope: String,
    /// When the family's first tokens were issued.
    pub begun_at: Timestamp,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    /// When this refresh token was exchanged for its successor; `None` if it was not exchanged.
    pub replaced_at: Option<Timestamp>,
}

/// An access token and a refresh token to issue.
#[derive(Clone, Debug)]
pub struct NewTokens<'a> {
    pub access_hash: Hash,
    pub refresh_hash: Hash,
    pub family: &'a str,
    pub client_id: &'a str,
    pub account: AccountId,
    pub scope: &'a str,
    pub access_expires_at: Timestamp,
    pub refresh_expires_at: Timestamp,
}

/// Result of redeeming a code or refresh token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redemption {
    Yes,
    /// The code or token was used before; its family was ended.
    Again,
    /// The code or token is unknown or expired, or its account is revoked.
    No,
}

/// A sign-in of an account, which is a family of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyRow {
    pub family: String,
    pub client_id: String,
    pub client_name: String,
    pub client_created_at: Timestamp,
    pub begun_at: Timestamp,
    /// When tokens were last issued.
    pub last_at: Timestamp,
    pub expires_at: Timestamp,
    pub scope: String,
}

impl DeviceState {
    const ALL: [DeviceState; 4] =
        [DeviceState::Pending, DeviceState::Approved, DeviceState::Denied, DeviceState::Redeemed];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            DeviceState::Pending => "pending",
            DeviceState::Approved => "approved",
            DeviceState::Denied => "denied",
            DeviceState::Redeemed => "redeemed",
        }
    }
}

impl TokenKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            TokenKind::Access => "access",
            TokenKind::Refresh => "refresh",
        }
    }
}

fn hash(bytes: Vec<u8>) -> Result<Hash, Fault> {
    bytes.try_into().map_err(|_| Fault::value("hash", "another length"))
}

impl ClientRow {
    pub(super) fn read(row: &Row<'_>) -> Result<ClientRow, Fault> {
        Ok(ClientRow {
            id: row.get(0)?,
            name: row.get(1)?,
            redirect_uris: row.get(2)?,
            grant_types: row.get(3)?,
            auth_method: row.get(4)?,
            secret_hash: row.get::<Option<Vec<u8>>>(5)?.map(hash).transpose()?,
            registration_hash: hash(row.get(6)?)?,
            created_at: Timestamp(row.get(7)?),
            used_at: row.get::<Option<i64>>(8)?.map(Timestamp),
        })
    }
}

impl DeviceRow {
    pub(super) fn read(row: &Row<'_>) -> Result<DeviceRow, Fault> {
        let state: String = row.get(2)?;
        let known = DeviceState::ALL.into_iter().find(|known| known.as_str() == state);
        Ok(DeviceRow {
            client_id: row.get(0)?,
            scope: row.get(1)?,
            state: known.ok_or_else(|| Fault::value("state", &state))?,
            account: row.get::<Option<i64>>(3)?.map(AccountId),
            redeemed_by: row.get(4)?,
            created_at: Timestamp(row.get(5)?),
            expires_at: Timestamp(row.get(6)?),
        })
    }
}

impl CodeRow {
    pub(super) fn read(row: &Row<'_>) -> Result<CodeRow, Fault> {
        Ok(CodeRow {
            client_id: row.get(0)?,
            account: AccountId(row.get(1)?),
            redirect_uri: row.get(2)?,
            scope: row.get(3)?,
            challenge: row.get(4)?,
            family: row.get(5)?,
            created_at: Timestamp(row.get(6)?),
            expires_at: Timestamp(row.get(7)?),
        })
    }
}

impl TokenRow {
    pub(super) fn read(row: &Row<'_>) -> Result<TokenRow, Fault> {
        let kind: String = row.get(0)?;
        let known = [TokenKind::Access, TokenKind::Refresh].into_iter().find(|known| known.as_str() == kind);
        Ok(TokenRow {
            kind: known.ok_or_else(|| Fault::value("kind of token", &kind))?,
            family: row.get(1)?,
            client_id: row.get(2)?,
            account: AccountId(row.get(3)?),
            scope: row.get(4)?,
            begun_at: Timestamp(row.get(5)?),
            issued_at: Timestamp(row.get(6)?),
            expires_at: Timestamp(row.get(7)?),
            replaced_at: row.get::<Option<i64>>(8)?.map(Timestamp),
        })
    }
}
