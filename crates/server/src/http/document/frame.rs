//! The fixed parts of the OpenAPI document: title, tags and security schemes.

use serde_json::{Value, json};

use crate::kit::Row;
use crate::kit::codes::CODES;
use crate::kit::doc::{Credentials, Doc, Tag};

/// Introduction in Markdown, which ends with the header of the refusals table.
const DESCRIPTION: &str = include_str!("description.md");

const TAGS: [Tag; 11] = [
    Tag::Candles,
    Tag::Udf,
    Tag::Mirrors,
    Tag::Service,
    Tag::Account,
    Tag::Trade,
    Tag::Community,
    Tag::Admin,
    Tag::OAuth,
    Tag::Pages,
    Tag::NotOffered,
];

pub(super) fn info() -> Value {
    json!({
        "title": "Chandler",
        "version": "1",
        "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        "summary": "Historical candles of securities, from minutes to years",
        "description": description(),
    })
}

fn description() -> String {
    let row = |(status, code, words): &(u16, u64, &str)| format!("| {status} | {code} | {words} |\n");
    DESCRIPTION.to_owned() + &CODES.iter().map(row).collect::<String>()
}

pub(super) fn tags() -> Vec<Value> {
    let tag = |tag: Tag| match about(tag) {
        Some(about) => json!({"name": name(tag), "description": about}),
        None => json!({"name": name(tag)}),
    };
    TAGS.map(tag).into()
}

pub(super) fn name(tag: Tag) -> &'static str {
    match tag {
        Tag::Candles => "candles",
        Tag::Udf => "udf",
        Tag::Mirrors => "mirrors",
        Tag::Service => "service",
        Tag::Account => "account",
        Tag::Trade => "trade",
        Tag::Community => "community",
        Tag::Admin => "admin",
        Tag::OAuth => "oauth",
        Tag::Pages => "pages",
        Tag::NotOffered => "not offered",
    }
}

fn about(tag: Tag) -> Option<&'static str> {
    Some(match tag {
        Tag::Candles => "For people",
        Tag::Udf => "TradingView's chart protocol: plain objects, without code, message and data",
        Tag::Mirrors => "Commands of the long connection, for SDKs that use HTTP",
        Tag::Service => return None,
        Tag::Account => "Permissions, usage and connections of an account",
        Tag::Trade => "Paper accounts: orders, executions, cash and positions",
        Tag::Community => "Topics about securities, and replies to them",
        Tag::Admin => "For accounts with the operator role",
        Tag::OAuth => {
            "OAuth 2.0 for programs: plain objects as defined by the RFCs, without code, message and data"
        }
        Tag::Pages => "HTML pages for browsers, including error pages",
        Tag::NotOffered => "Protocol commands that are not supported",
    })
}

/// Returns the security schemes that a row accepts. A request needs only one of them.
pub(super) fn security(row: &Row, doc: &Doc) -> Value {
    let bearer = json!({"bearer": []});
    let signed = json!({"appKey": [], "accessToken": [], "timestamp": [], "signature": []});
    // A token in the path is documented as a path parameter.
    let is_in_path = row.path.contains("{token}");
    match doc.credentials {
        Credentials::Registration => json!([{"registrationToken": []}]),
        Credentials::None => json!([]),
        Credentials::ByRow if is_in_path || !is_proved(row) => json!([]),
        Credentials::ByRow => {
            let mut ways = vec![bearer, signed];
            if row.takes_token_in_address() {
                ways.push(json!({"inAddress": []}));
            }
            if row.takes_session() {
                ways.push(json!({"session": []}));
            }
            ways.into()
        }
    }
}

/// Returns whether the row requires credentials. Monitoring endpoints also count, although they
/// answer requests from this machine without credentials.
fn is_proved(row: &Row) -> bool {
    row.needs_proof() || row.takes_session()
}

/// Returns the document's default security schemes.
pub(super) fn usual_security() -> Value {
    json!([{"bearer": []}, {"appKey": [], "accessToken": [], "timestamp": [], "signature": []}])
}

pub(super) fn security_schemes() -> Value {
    let key = |place: &str, name: &str, about: &str| json!({"type": "apiKey", "in": place, "name": name, "description": about});
    let bearer = |about: &str| json!({"type": "http", "scheme": "bearer", "description": about});
    json!({
        "session": key(
            "cookie",
            "chandler_session",
            "Cookie of a browser session. POST and DELETE also require the header x-csrf with the value \
             from /v1/me, and cross-site requests are refused",
        ),
        "inAddress": key(
            "query",
            "access_token",
            "For tools that can only be configured with a URL. URLs end up in histories and logs, so keep \
             them secret",
        ),
        "registrationToken": bearer("The registration_access_token of a client"),
        "bearer": bearer("The access token issued by the operator"),
        "appKey": key("header", "x-api-key", "API-key mode: the app key"),
        "accessToken": key("header", "authorization", "API-key mode: the access token without a scheme"),
        "timestamp": key(
            "header",
            "x-timestamp",
            "API-key mode: Unix time in seconds or milliseconds, at most 300 seconds off",
        ),
        "signature": key(
            "header",
            "x-api-signature",
            "API-key mode: HMAC-SHA256 SignedHeaders=authorization;x-api-key;x-timestamp, Signature=<64 hex digits>",
        ),
    })
}
