//! `GET /v1/me`: the signed-in account, and the CSRF token for page scripts. `GET
//! /v1/quote/my-quotes`: the account's quote packages.

use access::{Hold, Right, Role};
use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::doc::refusals::BAD_REQUEST;
use crate::kit::doc::{self, AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::fields::QueryParameters;
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::limit_hint;
use crate::refusal::Refusal;

pub(super) const ME: Doc =
    Doc::new(Tag::Account, "me", "The authenticated account, and the CSRF token of its browser session")
        .answers(&[AnswerDoc::ok("The account", &[data::<Identity>()])])
        .refuses(&[BAD_REQUEST]);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Me")]
struct Identity {
    account: String,
    #[schemars(schema_with = "doc::role")]
    role: &'static str,
    /// Value of the x-csrf header, which a browser session must send with every POST, PUT and
    /// DELETE; null for other credentials.
    csrf: Option<String>,
    /// API date that the account is pinned to; absent if the account uses the newest date.
    #[serde(skip_serializing_if = "Option::is_none")]
    api_date: Option<String>,
    /// Whether no limit of quota, rate, connections or subscriptions applies to the account.
    unlimited: bool,
    /// Store address as given to --store, for commands on the server's machine; null unless the
    /// caller is an operator.
    store: Option<String>,
    /// Replay speed of the simulated prices, in market seconds per second; absent outside the demo.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated_speed: Option<f64>,
}

pub(super) fn me(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let (account, who) = (admitted.account(), admitted.who());
    QueryParameters::parse(call.query, &[])?;
    // Browsers attach only the session cookie automatically, so other credentials need no CSRF
    // token.
    let csrf = if who.is_browser() { call.session_csrf_token(site) } else { None };
    let store = (account.role == Role::Operator).then(|| limit_hint::store_name(site.core.store.url()));
    Ok(envelope::success(Identity {
        account: account.name.clone(),
        role: account.role.as_str(),
        csrf,
        api_date: account.terms.api_date.map(|date| date.to_string()),
        unlimited: account.terms.is_unlimited(),
        store,
        simulated_speed: site.is_simulated.then(|| site.core.market_clock().pace().factor()),
    }))
}

pub(super) const PACKAGES: Doc =
    Doc::new(Tag::Service, "packages", "List the account's market data packages")
        .parameters(&[
            Parameter::query("market", Kind::Text, "HK, US, CN, SG or ALL").or(Word::Text("ALL")),
            Parameter::query("account_channel", Kind::Text, "Ignored"),
        ])
        .answers(&[AnswerDoc::ok(
            "Packages granted to the account, and the remaining ones",
            &[data::<Packages>()],
        )]);

#[derive(Debug, Serialize, JsonSchema)]
struct Packages {
    activated_lists: Vec<Package>,
    unactivated_lists: Vec<Package>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Package {
    package_key: String,
    name: String,
    description: String,
    market: &'static str,
    tags: Vec<String>,
    expired_msg: String,
    /// Expiry in Unix seconds; 0 if the package does not expire.
    end_time: String,
}

/// Lists the account's packages with names and descriptions that clients print unchanged.
pub(super) fn packages(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let Admitted { caller, permit, .. } = admitted;
    let wanted = call.parameter_of("market").unwrap_or_else(|| "ALL".to_owned());
    let standing = site.core.access.standing_for(&permit).map_err(Problem::from_access)?;
    let usage = site.core.access.usage(permit.account().id, caller.quota_time);
    let used = usage.map_err(Problem::from_access)?.map_or(0, |usage| usage.used);
    let (mut held, mut others) = (Vec::new(), Vec::new());
    for right in Right::ALL {
        let (market, name) = match right {
            Right::UsOvernight => ("US", "US overnight".to_owned()),
            Right::UsOptions => ("US", "US options".to_owned()),
            market => (market.as_str(), format!("{market} candles")),
        };
        if wanted != "ALL" && wanted != market {
            continue;
        }
        let hold = permit.hold(right);
        let ends = permit.account().rights.validity(right).and_then(|validity| validity.ends_at);
        let package = Package {
            package_key: format!("chandler_{}", right.as_str().to_ascii_lowercase()),
            name,
            description: format!(
                "{used} of {} securities used this month, level {}",
                standing.limit, standing.level
            ),
            market,
            tags: Vec::new(),
            expired_msg: if let Hold::Ended(at) = hold { format!("ended {at}") } else { String::new() },
            end_time: ends.map_or(0, |at| at.0).to_string(),
        };
        if hold == Hold::Held { held.push(package) } else { others.push(package) }
    }
    site.core.access.spend(permit, site.core.machine_now()).map_err(Refusal::from)?;
    Ok(envelope::success(Packages { activated_lists: held, unactivated_lists: others }))
}
