//! The long connections of an account, for their owner to see and to close; an operator sees and closes everybody's.

use std::sync::Arc;

use access::{Account, Actor, ConnectionId, Role};
use serde_json::{Value, json};

use crate::kit::Site;
use crate::kit::envelope::{self, Problem};
use crate::kit::{Admitted, Answer, Call};
use crate::links::ConnectionInfo;
use crate::mailbox::ClosedBy;

/// The word for the connections of all accounts.
const ALL: &str = "all";

pub(super) fn list(call: &Call<'_>, site: &Site, me: Admitted) -> Result<Answer, Problem> {
    let whose = whose(call, &me, site)?;
    let guests = site.links.list(whose.as_ref().map(|account| account.id));
    let mut connections = Vec::with_capacity(guests.len());
    for guest in &guests {
        connections.push(described(guest, site)?);
    }
    let mut data = json!({
        "online": connections.len(),
        "limit": whose.as_ref().map(|account| account.terms.connections),
        "connections": connections,
    });
    if let (Some(account), Some(fields)) = (whose, data.as_object_mut()) {
        fields.insert("account_id".to_owned(), account.id.0.into());
        fields.insert("account".to_owned(), account.name.as_str().into());
        fields.insert("region".to_owned(), account.region.as_str().into());
    }
    Ok(envelope::success(data))
}

pub(super) fn close(call: &Call<'_>, site: &Site, me: Admitted) -> Result<Answer, Problem> {
    let id: ConnectionId = call.parameter.parse().map_err(|_| Problem::not_found())?;
    let guest = site.links.get(id).ok_or_else(Problem::not_found)?;
    let by = if guest.account == me.account().id {
        ClosedBy::Owner
    } else {
        // Somebody else's connection is told from none at all only to operators.
        if me.account().role != Role::Operator {
            return Err(Problem::not_found());
        }
        me.as_operator(site)?;
        ClosedBy::Operator
    };
    // Written down first: what was done must not be missing there.
    site.core
        .access
        .note_closed(id, guest.account, &Actor::Account(me.account().id), site.core.machine_now())
        .map_err(Problem::from_access)?;
    // If it has left by itself meanwhile, that is what was wanted.
    site.links.close(id, by);
    Ok(envelope::success(json!({"id": id.to_string()})))
}

/// Whose connections are asked for; `None` for everybody's.
fn whose(call: &Call<'_>, me: &Admitted, site: &Site) -> Result<Option<Arc<Account>>, Problem> {
    let Some(name) = call.parameter_of("account") else { return Ok(Some(me.permit.account().clone())) };
    // An account whose name is the word for all is still an account, but not for those who may see all.
    let is_all = name == ALL && me.account().role == Role::Operator;
    if name == me.account().name && !is_all {
        return Ok(Some(me.permit.account().clone()));
    }
    // Whether there is such an account is nobody else's business.
    me.as_operator(site)?;
    if name == ALL {
        return Ok(None);
    }
    let account = site.core.access.account_named(&name).map_err(Problem::from_access)?;
    account.map(|account| Some(Arc::new(account))).ok_or_else(Problem::not_found)
}

fn described(guest: &ConnectionInfo, site: &Site) -> Result<Value, Problem> {
    let account = site.core.access.account(guest.account).map_err(Problem::from_access)?;
    Ok(json!({
        "id": guest.id.to_string(),
        "account_id": guest.account.0,
        "account": account.map(|account| account.name.clone()).unwrap_or_default(),
        "door": guest.door.as_str(),
        "address": crate::proxies::shown(guest.address),
        "since": guest.since.to_string(),
    }))
}
