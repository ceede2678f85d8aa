//! `config`: the features that this datafeed supports.

use market::Region;
use schemars::JsonSchema;
use serde::Serialize;

use super::form::{OrError, TOKEN, WORDS, udf};
use super::resolution;
use crate::kit::doc::{AnswerDoc, Doc, Media};

pub(super) const CONFIG: Doc = udf("udfConfig", "Capabilities of this datafeed")
    .answers(&[AnswerDoc::ok(WORDS, &[Media::json::<OrError<UdfConfig>>()])]);
pub(super) const CONFIG_BY_KEY: Doc = CONFIG.also("udfConfigByKey", &[TOKEN]);

pub(super) const STOCK: &str = "stock";
pub(super) const INDEX: &str = "index";

/// Supported requests, exchanges, security types and resolutions.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct UdfConfig {
    supports_search: bool,
    supports_group_request: bool,
    supports_marks: bool,
    supports_timescale_marks: bool,
    supports_time: bool,
    exchanges: Vec<UdfExchange>,
    symbols_types: Vec<UdfSymbolType>,
    supported_resolutions: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UdfExchange {
    value: &'static str,
    name: &'static str,
    desc: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UdfSymbolType {
    value: &'static str,
    name: &'static str,
}

pub(super) fn document() -> UdfConfig {
    let types = [("", "All"), (STOCK, "Stock"), (INDEX, "Index")];
    UdfConfig {
        supports_search: true,
        supports_group_request: false,
        supports_marks: true,
        supports_timescale_marks: false,
        supports_time: true,
        exchanges: exchanges(),
        symbols_types: types.map(|(value, name)| UdfSymbolType { value, name }).into(),
        supported_resolutions: resolution::names().collect(),
    }
}

/// Returns the exchanges that a search can be restricted to, identified by symbol suffix.
fn exchanges() -> Vec<UdfExchange> {
    let all = UdfExchange { value: "", name: "All", desc: "All exchanges" };
    let of_region = |region: Region| {
        let suffix = region.as_str();
        UdfExchange { value: suffix, name: suffix, desc: place(region) }
    };
    std::iter::once(all).chain(Region::ALL.map(of_region)).collect()
}

fn place(region: Region) -> &'static str {
    match region {
        Region::Hk => "Hong Kong",
        Region::Us => "United States",
        Region::Sh => "Shanghai",
        Region::Sz => "Shenzhen",
    }
}
