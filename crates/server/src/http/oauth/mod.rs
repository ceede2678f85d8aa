//! OAuth 2.0 for programs: registration, device authorization, tokens, revocation, metadata. Plain OAuth JSON, without the
//! envelope of the other answers. The pages that a person sees are elsewhere; the rules are in `access::oauth`.

mod answer;
mod client;
mod form;
mod metadata;
mod register;
mod token;

use access::{Moment, OAuthError};

use super::{Answer, Asked};
use crate::services::Services;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Door {
    Metadata,
    Register,
    ReadRegistration,
    RemoveRegistration,
    DeviceAuthorize,
    Token,
    Revoke,
}

pub(super) fn answer(asked: &Asked<'_>, door: Door, services: &Services) -> Answer {
    match door {
        Door::Metadata => metadata::describe(asked, services),
        Door::Register => register::add(asked, services).unwrap_or_else(answer::refused),
        Door::ReadRegistration => register::read(asked, services).unwrap_or_else(answer::refused),
        Door::RemoveRegistration => register::remove(asked, services).unwrap_or_else(answer::refused),
        Door::DeviceAuthorize => token::authorize_device(asked, services),
        Door::Token => token::issue(asked, services),
        Door::Revoke => token::revoke(asked, services),
    }
}

fn moment(services: &Services) -> Moment {
    Moment { now: services.machine_now(), uptime: services.uptime() }
}

type Refusable<T> = Result<T, OAuthError>;
