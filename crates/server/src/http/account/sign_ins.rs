//! Programs that act for an account, for its owner to see and to end. A program sees them too, and ends its own access
//! alone.

use access::{Actor, Caller, SignIn};
use serde_json::{Value, json};

use crate::kit::Site;
use crate::kit::envelope::{self, Problem};
use crate::kit::{Admitted, Answer, Call};

pub(super) fn list(_: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (account, who) = (admitted.account(), admitted.who());
    let sign_ins = site.core.access.sign_ins(account.id, site.core.machine_now());
    let sign_ins = sign_ins.map_err(Problem::from_access)?;
    let sign_ins: Vec<Value> = sign_ins.iter().map(|sign_in| described(sign_in, who)).collect();
    Ok(envelope::success(json!({"sign_ins": sign_ins})))
}

/// Somebody else's is not told from none at all.
pub(super) fn end(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (account, who) = (admitted.account(), admitted.who());
    let (id, by) = (call.parameter, Actor::Account(account.id));
    if who.is_oauth() && !who.is_of(id) {
        return Err(Problem::forbidden_to_programs());
    }
    let ended = site.core.access.end_sign_in(account.id, id, &by, site.core.machine_now());
    if !ended.map_err(Problem::from_access)? {
        return Err(Problem::not_found());
    }
    Ok(envelope::success(json!({"id": id})))
}

fn described(sign_in: &SignIn, who: &Caller) -> Value {
    json!({
        "id": sign_in.id,
        "client_id": sign_in.client.id,
        "client_name": sign_in.client.name,
        "current": who.is_of(&sign_in.id),
        "since": sign_in.since.to_string(),
        "refreshed_at": sign_in.refreshed_at.to_string(),
        "expires_at": sign_in.expires_at.to_string(),
    })
}
