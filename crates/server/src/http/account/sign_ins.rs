//! Lists and revokes the programs that hold OAuth tokens for an account. The owner may revoke every
//! program. A program may list all programs but revoke only its own access.

use access::{Actor, Caller, SignIn};
use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::Site;
use crate::kit::doc::refusals::NOT_FOUND;
use crate::kit::doc::{AnswerDoc, Doc, Parameter, Tag, data};
use crate::kit::envelope::{self, Problem};
use crate::kit::{Admitted, Answer, Call};
use crate::written::Instant;

pub(super) const LIST: Doc =
    Doc::new(Tag::Account, "signIns", "List the OAuth clients that have access to the account")
        .answers(&[AnswerDoc::ok("The sign-ins, oldest first", &[data::<SignIns>()])]);

pub(super) const END: Doc = Doc::new(
    Tag::Account,
    "endSignIn",
    "End a sign-in: revoke its tokens and close its connections; a client may end its own",
)
.parameters(&[Parameter::path("id", "Sign-in id, from the list of sign-ins")])
.answers(&[AnswerDoc::ok("The sign-in has ended", &[data::<EndedSignIn>()])])
.refuses(&[NOT_FOUND]);

#[derive(Debug, Serialize, JsonSchema)]
struct SignIns {
    sign_ins: Vec<Program>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignIn")]
struct Program {
    id: String,
    client_id: String,
    /// Client name from its registration.
    client_name: String,
    /// Whether the token of this request belongs to the sign-in.
    current: bool,
    /// Granted scope: `openapi`, or `ingest`, which may be limited to symbols, as in `ingest:*.HK`.
    scope: String,
    /// Time at which access was granted.
    since: Instant,
    /// Time at which tokens were last issued.
    refreshed_at: Instant,
    /// Time at which the sign-in expires unless its tokens are refreshed.
    expires_at: Instant,
}

#[derive(Debug, Serialize, JsonSchema)]
struct EndedSignIn {
    id: String,
}

pub(super) fn list(_: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (account, who) = (admitted.account(), admitted.who());
    let sign_ins = site.core.access.sign_ins(account.id, site.core.machine_now());
    let sign_ins = sign_ins.map_err(Problem::from_access)?;
    let sign_ins = sign_ins.iter().map(|sign_in| described(sign_in, who)).collect();
    Ok(envelope::success(SignIns { sign_ins }))
}

/// Revokes a program's access. Returns 404 for another account's sign-in, as for an unknown
/// sign-in.
pub(super) fn end(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (account, who) = (admitted.account(), admitted.who());
    let (id, by) = (call.path_value("id"), Actor::Account(account.id));
    if who.is_oauth() && !who.is_of(id) {
        return Err(Problem::forbidden_to_programs());
    }
    let ended = site.core.access.end_sign_in(account.id, id, &by, site.core.machine_now());
    if !ended.map_err(Problem::from_access)? {
        return Err(Problem::not_found());
    }
    Ok(envelope::success(EndedSignIn { id: id.to_owned() }))
}

fn described(sign_in: &SignIn, who: &Caller) -> Program {
    Program {
        id: sign_in.id.clone(),
        client_id: sign_in.client.id.clone(),
        client_name: sign_in.client.name.clone(),
        current: who.is_of(&sign_in.id),
        scope: sign_in.scope.clone(),
        since: Instant::utc(sign_in.since),
        refreshed_at: Instant::utc(sign_in.refreshed_at),
        expires_at: Instant::utc(sign_in.expires_at),
    }
}
