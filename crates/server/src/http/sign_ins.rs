//! Programs that act for an account, for its owner to see and to end.

use access::{Actor, SignIn};
use serde_json::{Value, json};

use super::envelope::{self, Problem};
use super::{Answer, Asked};
use crate::services::Services;

pub(super) fn list(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let me = asked.account(services)?;
    let sign_ins = services.access.sign_ins(me.id, services.machine_now()).map_err(Problem::from_access)?;
    let sign_ins: Vec<Value> = sign_ins.iter().map(described).collect();
    Ok(envelope::success(json!({"sign_ins": sign_ins})))
}

/// Somebody else's is not told from none at all.
pub(super) fn end(asked: &Asked<'_>, services: &Services) -> Result<Answer, Problem> {
    let me = asked.account(services)?;
    let (id, by) = (asked.parameter, Actor::Account(me.id));
    let ended = services.access.end_sign_in(me.id, id, &by, services.machine_now());
    if !ended.map_err(Problem::from_access)? {
        return Err(Problem::not_found());
    }
    Ok(envelope::success(json!({"id": id})))
}

fn described(sign_in: &SignIn) -> Value {
    json!({
        "id": sign_in.id,
        "client_id": sign_in.client.id,
        "client_name": sign_in.client.name,
        "refreshed_at": sign_in.refreshed_at.to_string(),
        "expires_at": sign_in.expires_at.to_string(),
    })
}
