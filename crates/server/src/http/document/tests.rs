//! Compares the OpenAPI document with the rows it is built from. `tests/it/conformance.rs`
//! validates actual responses against the document.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::*;
use crate::kit::doc::refusals::{FAILED, FORBIDDEN, UNAUTHENTICATED};
use crate::kit::{RowPace, codes};
use crate::refusal::Refusal;

fn rows() -> impl Iterator<Item = &'static Row> {
    routes::GROUPS.into_iter().flatten()
}

fn document() -> Value {
    serde_json::from_slice(openapi()).unwrap()
}

/// Returns the method, path and operation object of every endpoint.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let mut operations = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            operations.push((method.to_ascii_uppercase(), path.clone(), operation));
        }
    }
    operations
}

/// Returns the names of an operation's parameters in one location, such as `path` or `query`.
fn named<'a>(operation: &'a Value, place: &str) -> BTreeSet<&'a str> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    parameters.filter(|one| one["in"] == place).map(|one| one["name"].as_str().unwrap()).collect()
}

/// Calls `see` with each key and value of all nested objects.
fn walk<'a>(value: &'a Value, see: &mut impl FnMut(&'a str, &'a Value)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                see(name, field);
                walk(field, see);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, see)),
        _ => {}
    }
}

#[test]
fn the_document_has_exactly_one_operation_per_row() {
    for row in rows() {
        assert!(row.doc.is_some(), "{} {} is not described", row.method, row.path);
    }
    let document = document();
    let described: BTreeSet<_> =
        operations(&document).into_iter().map(|(method, path, _)| (method, path)).collect();
    let served: BTreeSet<_> = rows().map(|row| (row.method.to_owned(), row.path.to_owned())).collect();
    assert_eq!(served.len(), rows().count(), "a row is listed twice");
    assert_eq!(described, served);
}

#[test]
fn references_resolve_and_schemas_are_used() {
    let document = document();
    let mut seen = BTreeSet::new();
    walk(&document, &mut |name, value| {
        if name == "$ref" {
            seen.insert(value.as_str().unwrap().strip_prefix('#').unwrap());
        }
    });
    for target in &seen {
        assert!(document.pointer(target).is_some(), "{target}");
    }
    for (kind, members) in document["components"].as_object().unwrap() {
        for name in members.as_object().unwrap().keys().filter(|_| kind != "securitySchemes") {
            assert!(seen.contains(format!("/components/{kind}/{name}").as_str()), "{kind} {name}");
        }
    }
    assert!(seen.len() > 50, "{} references", seen.len());
    assert_eq!(document["openapi"], "3.1.0");
}

/// The schema generator would append a number to a duplicate name, and the row order would decide
/// which type gets the number.
#[test]
fn no_two_types_share_a_name() {
    let document = document();
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()), "{name}: give one of them another name");
    }
}

#[test]
fn operations_have_unique_names_and_document_their_responses() {
    let document = document();
    let operations = operations(&document);
    let names: BTreeSet<&str> =
        operations.iter().map(|(_, _, one)| one["operationId"].as_str().unwrap()).collect();
    assert_eq!(names.len(), operations.len());
    for (method, path, operation) in &operations {
        let answers = operation["responses"].as_object().unwrap();
        let succeeds = answers.keys().any(|status| status.starts_with(['2', '3']));
        assert!(succeeds || operation["tags"][0] == "not offered", "{method} {path}");
    }
}

#[test]
fn path_parameters_match_the_path_template() {
    let document = document();
    for (method, path, operation) in operations(&document) {
        let braced = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        assert_eq!(named(operation, "path"), braced.collect(), "{method} {path}");
    }
}

#[test]
fn operations_list_their_security_schemes() {
    let document = document();
    let ways = |method: &str, path: &str| -> Vec<String> {
        let ways = document["paths"][path][method]["security"].as_array().unwrap();
        ways.iter().map(|way| way.as_object().unwrap().keys().next().unwrap().clone()).collect()
    };
    assert_eq!(ways("get", "/health"), [""; 0]);
    assert_eq!(ways("get", "/healthz"), [""; 0]);
    assert_eq!(ways("get", "/metrics"), ["bearer", "accessToken", "session"]);
    assert_eq!(ways("get", "/v1/socket/token"), ["bearer", "accessToken"]);
    assert_eq!(ways("get", "/v1/me"), ["bearer", "accessToken", "session"]);
    assert_eq!(ways("get", "/udf/config"), ["bearer", "accessToken", "inAddress", "session"]);
    assert_eq!(ways("get", "/udf/key/{token}/config"), [""; 0]);
    assert_eq!(ways("get", "/oauth2/register/{client_id}"), ["registrationToken"]);
}

#[test]
fn rate_limit_headers_and_refusals_match_the_row() {
    for row in rows() {
        let Row { method, path, pace, doc, .. } = row;
        let doc = doc.unwrap();
        let mut headers = doc.answers.iter().flat_map(|answer| answer.headers);
        let is_told = headers.any(|header| header.field == "x-ratelimit-limit");
        assert_eq!(is_told, *pace == RowPace::History, "{method} {path}");
        // UDF datafeeds report rate limits in a response with status 200.
        let is_limited = !matches!(pace, RowPace::Unlimited | RowPace::Calls);
        if is_limited && doc.tag != Tag::Udf {
            assert!(doc.refusals.iter().any(|refusal| refusal.status == "429"), "{method} {path}");
        }
    }
}

/// Returns one refusal of each kind. The exhaustive match fails to compile when a kind is added.
fn refusals() -> Vec<Refusal> {
    let (text, retry_after) = (String::new(), Duration::ZERO);
    let after = |refusal: &Refusal| {
        Some(match refusal {
            Refusal::Malformed(_) => Refusal::UnknownCommand(0),
            Refusal::UnknownCommand(_) => Refusal::Unauthenticated,
            Refusal::Unauthenticated => Refusal::Revoked,
            Refusal::Revoked => Refusal::TooFast { text: text.clone(), retry_after },
            Refusal::TooFast { .. } => Refusal::TooManyCalls { text: text.clone(), retry_after },
            Refusal::TooManyCalls { .. } => Refusal::Busy,
            Refusal::Busy => Refusal::BadQuery(text.clone()),
            Refusal::BadQuery(_) => Refusal::NoQuotes(text.clone()),
            Refusal::NoQuotes(_) => Refusal::NoAccess(text.clone()),
            Refusal::NoAccess(_) => Refusal::QuotaSpent(text.clone()),
            Refusal::QuotaSpent(_) => Refusal::TooMany(text.clone()),
            Refusal::TooMany(_) => Refusal::NotOffered(""),
            Refusal::NotOffered(_) => Refusal::Away(text.clone()),
            Refusal::Away(_) => Refusal::DiskFull,
            Refusal::DiskFull => Refusal::ClockMoves,
            Refusal::ClockMoves => Refusal::Internal,
            // `TimedOut` and `TooManySubscriptions` are reported only on long connections and `Waits`
            // is never sent, so the chain ends with `Internal`.
            Refusal::Internal | Refusal::TimedOut | Refusal::TooManySubscriptions(_) | Refusal::Waits => {
                return None;
            }
        })
    };
    std::iter::successors(Some(Refusal::Malformed(text.clone())), after).collect()
}

#[test]
fn the_refusals_table_lists_every_code() {
    for refusal in refusals() {
        let (status, (_, code)) = (refusal.on_http().to_string(), refusal.on_wire());
        assert!(codes::meaning(&status, code).is_some(), "{status} {code}");
    }
    for row in rows() {
        for refusal in row.doc.unwrap().refusals.iter().chain([&FAILED, &FORBIDDEN, &UNAUTHENTICATED]) {
            let unknown = refusal.codes.iter().find(|code| codes::meaning(refusal.status, **code).is_none());
            assert_eq!(unknown, None, "{}", refusal.name);
            assert!(!refusal.description().is_empty(), "{}", refusal.name);
        }
    }
    let document = document();
    let table = document["info"]["description"].as_str().unwrap();
    for (status, code, words) in codes::CODES {
        assert!(table.contains(&format!("\n| {status} | {code} | {words} |\n")), "{status} {code}");
    }
}

#[test]
fn the_http_page_lists_every_code() {
    let page = include_str!("../../../../../docs/http.md");
    let (_, section) = page.split_once("\n## Codes\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<Vec<&str>> = section.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    for (status, code, _) in codes::CODES {
        let has = |cell: &str, number: String| cell.split(", ").any(|one| one == number);
        let is_it = |row: &Vec<&str>| {
            let [_, statuses, numbers, ..] = row.as_slice() else { return false };
            let is_same = *numbers == "the same" && code == u64::from(status);
            has(statuses, status.to_string()) && (is_same || has(numbers, code.to_string()))
        };
        assert!(rows.iter().any(is_it), "docs/http.md does not list {status} {code}");
    }
}
