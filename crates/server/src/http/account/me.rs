//! `GET /v1/me`: the signed-in account, and the CSRF token for page scripts.

use access::Role;
use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::Site;
use crate::kit::doc::refusals::BAD_REQUEST;
use crate::kit::doc::{self, AnswerDoc, Doc, Tag, data};
use crate::kit::envelope::{self, Problem};
use crate::kit::named::QueryParameters;
use crate::kit::{Admitted, Answer, Call};
use crate::lifting;

pub(super) const DOC: Doc =
    Doc::new(Tag::Account, "me", "Who asks, and the CSRF token that scripts of the pages send as x-csrf")
        .answers(&[AnswerDoc::ok("The account", &[data::<Identity>()])])
        .refuses(&[BAD_REQUEST]);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Me")]
struct Identity {
    account: String,
    #[schemars(schema_with = "doc::role")]
    role: &'static str,
    /// The x-csrf header of every POST, PUT and DELETE in a browser session; null otherwise.
    csrf: Option<String>,
    /// The API date that the account's programs are pinned to; absent for the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_date: Option<String>,
    /// The store as --store names it, for commands on the server's machine; null except for
    /// operators.
    store: Option<String>,
}

pub(super) fn show(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (account, who) = (admitted.account(), admitted.who());
    QueryParameters::parse(call.query, &[])?;
    // Browsers attach only the session cookie automatically, so other credentials need no CSRF
    // token.
    let csrf = if who.is_browser() { call.session_csrf_token(site) } else { None };
    let store = (account.role == Role::Operator).then(|| lifting::store_name(site.core.store.place()));
    Ok(envelope::success(Identity {
        account: account.name.clone(),
        role: account.role.as_str(),
        csrf,
        api_date: account.terms.api_date.map(|date| date.to_string()),
        store,
    }))
}
