//! `/v1/admin/accounts/{name}/rights`: grants and withdraws quote packages.

use access::{Right, Validity};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::accounts::{AS_IT_IS_NOW, AdminAccount};
use super::admin_request::{AdminRequest, NAME, WRONG_OR_UNKNOWN, instant, problem, wrong};
use crate::kit::Problem;
use crate::kit::doc::{Doc, Kind, Media, Parameter, Tag, described_only};

pub(super) const GRANT: Doc = Doc::new(Tag::Admin, "adminGrant", "Grant a package, or change its times")
    .parameters(&[NAME])
    .body(&[Media::json::<Grant>()])
    .answers(AS_IT_IS_NOW)
    .refuses(WRONG_OR_UNKNOWN);

pub(super) const WITHDRAW: Doc =
    Doc::new(Tag::Admin, "adminWithdraw", "Withdraw a package, from the next request on")
        .parameters(&[
            NAME,
            Parameter::query("package", Kind::Text, "HK, US, US_OVERNIGHT, CN, SG or US_OPTIONS").required(),
        ])
        .answers(AS_IT_IS_NOW)
        .refuses(WRONG_OR_UNKNOWN);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AdminGrant")]
pub(super) struct Grant {
    /// A package such as US_OVERNIGHT, in upper or lower case.
    pub(super) package: String,
    /// A date (from its start in Hong Kong) or an instant as text, or Unix seconds; default: now.
    #[serde(default)]
    #[schemars(with = "Option<Moment>")]
    pub(super) from: Option<Value>,
    /// The same, exclusive; by default there is no end.
    #[serde(default)]
    #[schemars(with = "Option<Moment>")]
    pub(super) until: Option<Value>,
}

described_only! {
    #[schemars(untagged, inline)]
    enum Moment {
        Text(String),
        Seconds(i64),
    }
}

impl AdminRequest<'_> {
    pub(super) fn grant(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let Grant { package, from, until } = self.call.json()?;
        let right = right(&package)?;
        let validity = Validity { starts_at: instant(from)?, ends_at: instant(until)? };
        let machine = self.present.machine;
        self.site.core.access.grant(account.id, right, validity, &self.by, machine).map_err(problem)?;
        self.described(&self.named(self.call.path_value("name"))?)
    }

    pub(super) fn withdraw(&self) -> Result<AdminAccount, Problem> {
        let account = self.named(self.call.path_value("name"))?;
        let package = self.call.parameter_of("package");
        let right = right(&package.ok_or_else(|| wrong("name the package: ?package=US"))?)?;
        let machine = self.present.machine;
        if !self.site.core.access.withdraw(account.id, right, &self.by, machine).map_err(problem)? {
            return Err(Problem::not_found());
        }
        self.described(&self.named(self.call.path_value("name"))?)
    }
}

pub(super) fn right(name: &str) -> Result<Right, Problem> {
    name.parse().map_err(|error: access::ParseRightError| wrong(&error.to_string()))
}
