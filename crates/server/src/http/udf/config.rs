//! `config`: what this datafeed can do.

use serde_json::{Value, json};

use super::resolution;

/// The places that a search can be narrowed to, by the end of their symbols.
const EXCHANGES: [(&str, &str, &str); 5] = [
    ("", "All", "All exchanges"),
    ("HK", "HK", "Hong Kong"),
    ("US", "US", "United States"),
    ("SH", "SH", "Shanghai"),
    ("SZ", "SZ", "Shenzhen"),
];
pub(super) const STOCK: &str = "stock";
pub(super) const INDEX: &str = "index";

pub(super) fn document() -> Value {
    let exchanges = EXCHANGES.map(|(value, name, desc)| json!({"value": value, "name": name, "desc": desc}));
    let types = [("", "All"), (STOCK, "Stock"), (INDEX, "Index")];
    json!({
        "supports_search": true,
        "supports_group_request": false,
        "supports_marks": true,
        "supports_timescale_marks": false,
        "supports_time": true,
        "exchanges": exchanges,
        "symbols_types": types.map(|(value, name)| json!({"value": value, "name": name})),
        "supported_resolutions": resolution::names().collect::<Vec<_>>(),
    })
}
