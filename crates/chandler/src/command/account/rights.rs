//! `chandler account grant`. Revoking a package is in `money.rs`, because `withdraw` also pays
//! money out.

use access::{Access, Actor, Present, Right, Validity, parse_instant};
use clap::Args;
use serde_json::json;

use super::words::{say, theirs};
use crate::failure::{Failure, usage};
use crate::local::named;
use crate::output::Format;

#[derive(Debug, Args)]
pub(super) struct Grant {
    name: String,
    /// HK, US, US_OVERNIGHT, CN, SG or US_OPTIONS
    package: String,
    /// When it begins: a date (its first moment in Hong Kong) or an instant such as
    /// 2026-11-13T01:30:00Z [default: immediately]
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// When it ends, that moment not included [default: never]
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

impl Grant {
    pub(super) fn run(&self, access: &Access, present: Present) -> Result<(), Failure> {
        let right: Right = self.package.parse().map_err(usage)?;
        let time = |text: &Option<String>| text.as_deref().map(parse_instant).transpose().map_err(usage);
        let validity = Validity { starts_at: time(&self.from)?, ends_at: time(&self.until)? };
        let account = named(access, &self.name)?;
        access.grant(account.id, right, validity, &Actor::Operator, present.machine).map_err(theirs)?;
        let [from, until] = [validity.starts_at, validity.ends_at].map(|at| at.map(|at| at.to_string()));
        let document = json!({
            "account_id": account.id.0, "name": account.name, "package": right.as_str(), "from": from, "until": until,
        });
        say(self.format, &format!("account {:?} has {right} {validity}", account.name), document)
    }
}
