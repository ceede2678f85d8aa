//! Accounts of worlds. A world's account gets the rights that its owner has when the world is
//! created. API keys are its only credentials.

use market::Timestamp;
use store::{AccountId, AddWorldOutcome, AuditNote, NewWorldRow, WorldClock, WorldId, WorldRow};

use crate::access::DraftAccount;
use crate::{
    Access, AccessError, Account, Actor, Caller, Created, Freshness, Hold, NewAccount, Present, QUOTA_MAX,
    RateRule, Right, Rights, Role, TOKEN_LIFE_DEFAULT_S, Terms,
};

/// A new world. Its values are already validated.
#[derive(Clone, Copy, Debug)]
pub struct NewWorld<'a> {
    pub owner: &'a Account,
    pub name: &'a str,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    pub settings: &'a str,
    /// Whether the owner's rate limit and quota apply.
    pub is_limited: bool,
    pub clock: &'a WorldClock,
    /// Maximum number of worlds in the store.
    pub worlds_max: u32,
}

/// Maximum number of API keys of a world.
pub const WORLD_KEYS_MAX: u32 = 16;

/// A new world and its credentials, which are shown only once.
#[derive(Debug)]
pub struct CreatedWorld {
    pub id: WorldId,
    pub credentials: Created,
}

/// Why a world cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum WorldRefused {
    #[error("there is a world or an account with this name")]
    NameTaken,
    #[error("there are {0} worlds already, which is the limit worlds_max: delete some")]
    TooMany(u32),
    #[error("a world cannot own worlds")]
    OwnedByWorld,
    #[error("there is no such world")]
    Unknown,
    #[error("the world has {WORLD_KEYS_MAX} API keys already")]
    TooManyKeys,
    #[error(transparent)]
    Access(#[from] AccessError),
}

impl Access {
    /// Creates a world with its account and one API key.
    pub fn create_world(
        &self,
        new: &NewWorld<'_>,
        by: &Actor,
        present: Present,
    ) -> Result<CreatedWorld, WorldRefused> {
        let NewWorld { owner, name, starts_at, ends_at, settings, is_limited, clock, worlds_max } = *new;
        if owner.is_world {
            return Err(WorldRefused::OwnedByWorld);
        }
        let account = NewAccount {
            name: format!("{}/{name}", owner.name),
            region: owner.region,
            role: Role::User,
            rights: rights_held(owner, present.market),
            terms: terms(&owner.terms, is_limited),
            token_expires_at: None,
        };
        let DraftAccount { row, credential, created } = self.draft(&account, present.machine)?;
        let (actor, reason) = (by.to_string(), format!("{:?}, {starts_at} to {ends_at}", account.name));
        let note = AuditNote { at: present.machine, actor: &actor, reason: &reason };
        let world = NewWorldRow { owner: owner.id, name, starts_at, ends_at, settings, clock };
        let added =
            self.accounts.add_world((created.account_id, &row, &credential), &world, worlds_max, &note);
        match added.map_err(AccessError::from)? {
            AddWorldOutcome::Added(id) => Ok(CreatedWorld { id, credentials: created }),
            AddWorldOutcome::NameTaken => Err(WorldRefused::NameTaken),
            AddWorldOutcome::TooMany => Err(WorldRefused::TooMany(worlds_max)),
        }
    }

    /// Creates another API key of a world.
    pub fn create_world_key(
        &self,
        account: AccountId,
        by: &Actor,
        now: Timestamp,
    ) -> Result<Created, WorldRefused> {
        let account = self.account(account)?.filter(|account| account.is_world);
        let account = account.ok_or(WorldRefused::Unknown)?;
        let expires_at = Timestamp(now.0.saturating_add(TOKEN_LIFE_DEFAULT_S));
        let (credential, created) = self.draft_key(account.id, account.region, (now, expires_at))?;
        let (actor, reason) = (by.to_string(), format!("app key {}", created.app_key));
        let note = AuditNote { at: now, actor: &actor, reason: &reason };
        let added = self.accounts.add_world_key(&credential, WORLD_KEYS_MAX, &note);
        if added.map_err(AccessError::from)? { Ok(created) } else { Err(WorldRefused::TooManyKeys) }
    }

    /// Returns whether an account exists and belongs to a world.
    pub fn is_world(&self, account: AccountId) -> Result<bool, AccessError> {
        Ok(self.look(account, Freshness::Recent)?.is_some_and(|(_, account)| account.is_world))
    }

    /// Returns the caller for a world, authenticated by its owner's browser session, or `None` if
    /// the world was deleted. The caller expires with the browser session.
    pub fn enter_world(&self, session: &Caller, world: AccountId) -> Result<Option<Caller>, AccessError> {
        let found = self.look(world, Freshness::Fresh)?;
        let open = found.filter(|(_, account)| account.is_world && account.revoked_at.is_none());
        Ok(open.map(|(_, account)| Caller::of(&account, session.until()).of_browser()))
    }

    /// Deletes a world and revokes its account, if the world's clock still equals `world.clock`.
    /// Returns whether the world was deleted.
    pub fn delete_world(&self, world: &WorldRow, by: &Actor, now: Timestamp) -> Result<bool, AccessError> {
        let actor = by.to_string();
        let note = AuditNote { at: now, actor: &actor, reason: &world.name };
        Ok(self.accounts.remove_world(world.account, &world.clock, &note)?)
    }
}

/// Returns the rights that the owner has at `now`, without time limits, because the world may be at
/// a date before these rights were granted.
fn rights_held(owner: &Account, now: Timestamp) -> Rights {
    let held = Right::ALL.into_iter().filter(|right| owner.rights.hold(*right, now) == Hold::Held);
    held.fold(Rights::NONE, Rights::with)
}

/// Returns the terms of a world's account: those of the owner, but never read-only, and with the
/// maximum quota and no rate limit unless `is_limited`.
fn terms(owner: &Terms, is_limited: bool) -> Terms {
    let own = Terms { read_only: false, ..owner.clone() };
    match is_limited {
        true => own,
        false => Terms { quota: Some(QUOTA_MAX), rate: Some(RateRule::Unlimited), ..own },
    }
}
