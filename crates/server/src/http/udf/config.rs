//! `config`: what this datafeed supports.

use schemars::JsonSchema;
use serde::Serialize;

use super::resolution;

/// The exchanges that a search can be restricted to, by the suffix of their symbols.
const EXCHANGES: [(&str, &str, &str); 5] = [
    ("", "All", "All exchanges"),
    ("HK", "HK", "Hong Kong"),
    ("US", "US", "United States"),
    ("SH", "SH", "Shanghai"),
    ("SZ", "SZ", "Shenzhen"),
];
pub(super) const STOCK: &str = "stock";
pub(super) const INDEX: &str = "index";

/// Supported requests, exchanges, kinds of securities and resolutions.
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
    let exchanges = EXCHANGES.map(|(value, name, desc)| UdfExchange { value, name, desc });
    let types = [("", "All"), (STOCK, "Stock"), (INDEX, "Index")];
    UdfConfig {
        supports_search: true,
        supports_group_request: false,
        supports_marks: true,
        supports_timescale_marks: false,
        supports_time: true,
        exchanges: exchanges.into(),
        symbols_types: types.map(|(value, name)| UdfSymbolType { value, name }).into(),
        supported_resolutions: resolution::names().collect(),
    }
}
