//! Requests of a world's owner and requests with a world's API key, and the refusals that they
//! share.

use std::sync::Arc;

use access::{Account, Actor};
use market::Timestamp;

use crate::kit::doc::refusals::{BAD_REQUEST, CONFLICT, NOT_FOUND};
use crate::kit::doc::{Kind, Parameter, RefusalDoc};
use crate::kit::{Admitted, Call, Problem, Site, codes};
use crate::refusal::Refusal;
use crate::worlds::{World, WorldError};

pub(super) const NAME: Parameter = Parameter::path("name", "Name of the world");
pub(super) const ACCOUNT: Parameter =
    Parameter::query("account", Kind::Text, "Owner, by name or number; only operators may name another one");
/// Refusals of endpoints with the name of a world in the path.
pub(super) const OF_A_WORLD: &[RefusalDoc] = &[BAD_REQUEST, NOT_FOUND, CONFLICT];
pub(super) const TOO_MANY: RefusalDoc = RefusalDoc::new("429", "TooManyWorlds", &[codes::TOO_OFTEN]);

/// A request by an owner, or by an operator on behalf of an owner.
pub(super) struct OwnerRequest<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) site: &'a Site,
    pub(super) admitted: &'a Admitted,
    pub(super) owner: Account,
    pub(super) by: Actor,
    /// The server's market time, which decides which rights of the owner apply to a new world.
    pub(super) now: Timestamp,
}

/// A request with the API key of a world.
pub(super) struct OwnRequest<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) site: &'a Site,
    pub(super) world: Arc<World>,
}

impl<'a> OwnerRequest<'a> {
    pub(super) fn open(
        call: &'a Call<'a>,
        site: &'a Site,
        admitted: &'a Admitted,
    ) -> Result<OwnerRequest<'a>, Problem> {
        let account = admitted.account();
        if account.is_world {
            return Err(Problem::of_world());
        }
        let owner = match call.parameter_of("account") {
            None => account.clone(),
            Some(name) if name == account.name => account.clone(),
            Some(name) => {
                admitted.as_operator(site)?;
                let owner = site.core.access.account_called(&name).map_err(Problem::from_access)?;
                owner.ok_or_else(|| Problem::nothing_there("no such account"))?
            }
        };
        let (by, now) = (Actor::Account(account.id), admitted.now());
        Ok(OwnerRequest { call, site, admitted, owner, by, now })
    }

    /// Returns the world in the path.
    pub(super) fn world(&self) -> Result<Arc<World>, Problem> {
        let accounts = self.site.core.access.database();
        self.site.core.worlds.named(&accounts, self.owner.id, self.call.path_value("name")).map_err(problem)
    }
}

impl<'a> OwnRequest<'a> {
    pub(super) fn open(call: &'a Call<'a>, site: &'a Site, by: &Admitted) -> Result<OwnRequest<'a>, Problem> {
        if !by.account().is_world {
            return Err(Problem::nothing_there("this account is not that of a world"));
        }
        let accounts = site.core.access.database();
        let world = site.core.worlds.of(&accounts, by.account().id).map_err(problem)?;
        Ok(OwnRequest { call, site, world })
    }
}

pub(super) fn wrong(text: &str) -> Problem {
    Refusal::BadQuery(text.to_owned()).into()
}

/// Parses an instant from a body or a query.
pub(super) fn instant(text: &str) -> Result<Timestamp, Problem> {
    access::parse_instant(text).map_err(|error| wrong(&error.to_string()))
}

pub(super) fn problem(error: WorldError) -> Problem {
    match error {
        error @ (WorldError::WrongState(_)
        | WorldError::Moved
        | WorldError::Unfinished { .. }
        | WorldError::RunsElsewhere
        | WorldError::LogFull) => Problem::conflict(error.to_string()),
        error @ (WorldError::Back { .. }
        | WorldError::NotPast { .. }
        | WorldError::BeforeCopy { .. }
        | WorldError::NoSpeed) => wrong(&error.to_string()),
        error @ WorldError::TooManyRunning(_) => Problem::too_many_worlds(error.to_string()),
        error @ WorldError::Unknown => Problem::nothing_there(&error.to_string()),
        WorldError::Paper(error) => Problem::from_paper(error),
        WorldError::Access(error) => Problem::from_access(error),
        WorldError::History(error) => Refusal::from(error).into(),
        WorldError::Publish(refusal) => refusal.into(),
        WorldError::Store(error) => Problem::from_store(&error, "cannot change a world"),
        error @ WorldError::Value { .. } => {
            tracing::error!(%error, "cannot read a world");
            Problem::internal()
        }
    }
}
