//! Parses and copies the existing account or world from which a new world starts.

use std::sync::Arc;

use access::Account;
use market::Timestamp;
use store::AccountId;

use super::request::{OwnerRequest, instant, problem, wrong};
use crate::core::Core;
use crate::kit::Problem;
use crate::world_changes;
use crate::worlds::{World, WorldError};

/// An account or a world to copy, as of an instant.
#[derive(Debug)]
pub(super) struct Source {
    of: SourceOf,
    pub(super) at: Timestamp,
}

#[derive(Debug)]
enum SourceOf {
    Account(AccountId),
    World(Arc<World>),
}

impl OwnerRequest<'_> {
    /// Parses `account:NAME@INSTANT` or `world:NAME@INSTANT`, and looks up the account or world.
    /// Only operators may name an account other than the owner, or a world of another account.
    pub(super) fn source(&self, text: &str) -> Result<Source, Problem> {
        let malformed = || wrong("from is account:NAME@INSTANT or world:NAME@INSTANT");
        let (named, at) = text.rsplit_once('@').ok_or_else(malformed)?;
        let (kind, name) = named.split_once(':').ok_or_else(malformed)?;
        let at = instant(at)?;
        let of = match kind {
            "account" => SourceOf::Account(self.source_account(name, at)?.id),
            "world" => SourceOf::World(self.source_world(name, at)?),
            _ => return Err(malformed()),
        };
        Ok(Source { of, at })
    }

    fn source_account(&self, name: &str, at: Timestamp) -> Result<Account, Problem> {
        let account = self.account_called(name)?;
        if account.is_world {
            return Err(wrong("from: the account of a world is named world:NAME@INSTANT"));
        }
        // An account without a world uses the server's clock.
        if at > self.now {
            return Err(wrong(&format!("from: {at} is after the market clock, which is at {}", self.now)));
        }
        Ok(account)
    }

    fn source_world(&self, name: &str, at: Timestamp) -> Result<Arc<World>, Problem> {
        let core = &self.site.core;
        let (owner, name) = match name.split_once('/') {
            Some((owner, name)) => (self.account_called(owner)?.id, name),
            None => (self.owner.id, name),
        };
        let world = core.worlds.named(&core.access.database(), owner, name).map_err(problem)?;
        world_changes::check_past(core, &world, at).map_err(problem)?;
        Ok(world)
    }

    /// Returns the account of this name. Only operators may name an account other than the owner.
    fn account_called(&self, name: &str) -> Result<Account, Problem> {
        if name == self.owner.name {
            return Ok(self.owner.clone());
        }
        self.admitted.as_operator(self.site)?;
        let account = self.site.core.access.account_called(name).map_err(Problem::from_access)?;
        account.ok_or_else(|| Problem::nothing_there("no such account"))
    }
}

impl Source {
    /// Checks that `start`, the start of the new world, is not before the instant of the copy.
    pub(super) fn check(&self, start: Timestamp) -> Result<(), Problem> {
        if start < self.at {
            return Err(wrong(&format!("the start {start} is before {}, the instant of from", self.at)));
        }
        Ok(())
    }

    /// Copies the account into the account of a new world.
    pub(super) fn copy(&self, core: &Core, to: AccountId, by: &str) -> Result<(), WorldError> {
        match &self.of {
            SourceOf::Account(account) => world_changes::copy_plain_account(core, *account, to, self.at, by),
            SourceOf::World(world) => world_changes::copy_account(core, world, to, self.at, by),
        }
    }
}
