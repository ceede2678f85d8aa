//! `GET /v1/quote/my-quotes`: an account's quote packages.

use access::{Hold, Right};
use schemars::JsonSchema;
use serde::Serialize;

use crate::kit::doc::{AnswerDoc, Doc, Kind, Parameter, Tag, Word, data};
use crate::kit::{Admitted, Answer, Call, Problem, Site, envelope};
use crate::refusal::Refusal;

pub(super) const DOC: Doc = Doc::new(Tag::Service, "packages", "The markets of the account, as packages")
    .parameters(&[
        Parameter::query("market", Kind::Text, "HK, US, CN, SG or ALL").or(Word::Text("ALL")),
        Parameter::query("account_channel", Kind::Text, "Ignored"),
    ])
    .answers(&[AnswerDoc::ok("Markets that are granted, and those that are not", &[data::<Packages>()])]);

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
    /// Unix seconds; 0 for none.
    end_time: String,
}

/// Lists the account's packages with names and descriptions that clients print unchanged.
pub(super) fn list(call: &Call<'_>, site: &Site, admitted: Admitted) -> Result<Answer, Problem> {
    let Admitted { caller, permit } = admitted;
    let wanted = call.parameter_of("market").unwrap_or_else(|| "ALL".to_owned());
    let standing = site.core.access.standing_for(&permit).map_err(Problem::from_access)?;
    let usage = site.core.access.usage(permit.account().id, caller.now());
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
