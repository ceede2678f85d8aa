//! The table of routes against the document that describes them, and the finding of paths.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

fn document() -> Value {
    serde_json::from_str(super::super::OPENAPI).unwrap()
}

#[test]
fn the_document_describes_what_there_is_and_nothing_else() {
    let document = document();
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            described.insert((method.to_ascii_uppercase(), path.clone()));
        }
    }
    let served: BTreeSet<_> =
        ROUTES.iter().map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(served.len(), ROUTES.len(), "a route is listed twice");
    assert_eq!(described, served);
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    fn walk(value: &Value, document: &Value, seen: &mut usize) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    if name == "$ref" {
                        let target = field.as_str().unwrap().strip_prefix('#').unwrap();
                        assert!(document.pointer(target).is_some(), "{target}");
                        *seen += 1;
                    }
                    walk(field, document, seen);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, document, seen)),
            _ => {}
        }
    }
    let (document, mut seen) = (document(), 0);
    walk(&document, &document, &mut seen);
    assert!(seen > 50, "{seen} references");
    assert_eq!(document["openapi"], "3.1.0");
}

#[test]
fn operations_have_names_of_their_own_and_the_parameters_are_the_ones_that_are_read() {
    let document = document();
    let operations: Vec<&Value> = document["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|p| p.as_object().unwrap().values())
        .collect();
    let names: BTreeSet<&str> = operations.iter().map(|one| one["operationId"].as_str().unwrap()).collect();
    assert_eq!(names.len(), operations.len());
    let parameters = &document["paths"]["/v1/quote/history-candlesticks"]["get"]["parameters"];
    let described: BTreeSet<&str> =
        parameters.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(described, super::super::parameters::KNOWN.into_iter().collect());
}

#[test]
fn a_path_is_found_by_its_method_however_many_slashes_it_begins_with() {
    let token = Found::Endpoint(Endpoint::SocketToken, String::new());
    assert_eq!(find("GET", "/v1/socket/token"), token);
    assert_eq!(find("HEAD", "//v1/socket/token"), token);
    assert_eq!(find("GET", "///v2/socket/token"), token);
    assert_eq!(find("GET", "/v1//socket/token"), Found::Nothing);
    assert_eq!(find("get", "/health"), Found::OtherMethod(HeaderValue::from_static("GET, HEAD, OPTIONS")));
    assert_eq!(find("GET", "/quote/quotes"), Found::OtherMethod(HeaderValue::from_static("POST, OPTIONS")));
    assert_eq!(find("OPTIONS", "/quote/quotes"), Found::Options(HeaderValue::from_static("POST, OPTIONS")));
    let Found::Options(all) = find("OPTIONS", "*") else { panic!("no options") };
    assert!(all.to_str().unwrap().starts_with("GET, HEAD, POST, "), "{all:?}");
    assert_eq!(find("DELETE", "/v1/connections/7"), Found::Endpoint(Endpoint::CloseConnection, "7".into()));
    assert_eq!(
        find("GET", "/v1/connections/7"),
        Found::OtherMethod(HeaderValue::from_static("DELETE, OPTIONS"))
    );
    assert_eq!(find("GET", ""), Found::Nothing);
}

#[test]
fn a_segment_in_braces_stands_for_any_text_that_is_not_too_long() {
    let pattern = "/v1/things/{id}/parts";
    let value = |path: &str| parameter(pattern, path);
    assert_eq!(value("/v1/things/7/parts").as_deref(), Some("7"));
    assert_eq!(value("//v1/things/a%2Fb%20+%e7%ac%a6/parts").as_deref(), Some("a/b +符"));
    assert_eq!(value(&format!("/v1/things/{}/parts", "%41".repeat(256))), Some("A".repeat(256)));
    for other in [
        "/v1/things//parts",
        "/v1/things/7",
        "/v1/things/7/parts/",
        "/v1/things/7/others",
        "/v1/things/7/8/parts",
        "/v1/things/%/parts",
        "/v1/things/%4/parts",
        "/v1/things/%+1/parts",
        "/v1/things/%zz/parts",
        "/v1/things/%ff/parts",
    ] {
        assert_eq!(value(other), None, "{other}");
    }
    assert_eq!(value(&format!("/v1/things/{}/parts", "A".repeat(257))), None);
}

#[test]
fn no_path_means_two_things_and_every_method_can_be_allowed() {
    for (method, path, _) in ROUTES {
        assert!(METHODS.contains(method), "{method} {path}");
        assert!(path.starts_with('/') && path.matches('{').count() <= 1, "{path}");
        let whole = |segment: &str| segment.starts_with('{') && segment.ends_with('}') && segment.len() > 2;
        assert!(path.split('/').all(|segment| !segment.contains(['{', '}']) || whole(segment)), "{path}");
    }
}

#[test]
fn what_is_not_offered_is_listed_once_and_is_not_served_besides() {
    let mut seen: BTreeSet<(&str, &str)> = ROUTES.iter().map(|(method, path, _)| (*method, *path)).collect();
    for (method, path, endpoint) in not_offered::routes() {
        assert!(METHODS.contains(&method), "{method} {path}");
        assert!(path.starts_with('/') && is_of_programs(path), "{path}");
        assert!(seen.insert((method, path)), "{method} {path} is there twice");
        let way = way(&Method::from_bytes(method.as_bytes()).unwrap(), path);
        assert_eq!((way.endpoint, way.task, way.route), (Some(endpoint), Task::Other, path));
    }
    let whats: BTreeSet<&str> = not_offered::IDEAS.iter().map(|idea| idea.what).collect();
    assert_eq!(whats.len(), not_offered::IDEAS.len(), "an idea has two rows");
}

#[test]
fn the_page_about_http_names_everything_that_is_not_offered() {
    let page = include_str!("../../../../docs/http.md");
    for idea in not_offered::IDEAS {
        assert!(page.contains(idea.what), "docs/http.md does not speak of {}", idea.what);
    }
}

#[test]
fn a_path_in_full_wins_over_a_parameter_in_either_table() {
    let what = |method: &str, path: &str| match find(method, path) {
        Found::Endpoint(Endpoint::NotOffered(idea), _) => Some(idea.what),
        _ => None,
    };
    assert_eq!(what("GET", "/v1/content/700.HK/news"), Some("news"));
    assert_eq!(what("GET", "//v1/content/topics/mine"), Some("community topics"));
    assert_eq!(what("HEAD", "/v1/asset/account"), Some("account balances"));
    assert_eq!(way(&Method::GET, "/v1/sharelists/popular").route, "/v1/sharelists/popular");
    assert_eq!(way(&Method::GET, "/v1/sharelists/7").route, "/v1/sharelists/{id}");
    assert_eq!(find("GET", "/v1/sharelists/"), Found::Nothing);
    let allow = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE, OPTIONS");
    assert_eq!(find("PATCH", "/v1/trade/order"), Found::OtherMethod(allow.clone()));
    assert_eq!(find("OPTIONS", "/v1/trade/order"), Found::Options(allow));
}

#[test]
fn a_path_that_leads_nowhere_is_not_repeated() {
    assert_eq!(way(&Method::GET, "/nothing.js"), Way::NOWHERE);
    assert_eq!(way(&Method::HEAD, "//v1/quota").route, "/v1/quota");
    // Nor is one that is there for other methods.
    assert_eq!(way(&Method::PUT, "/v1/admin/accounts/alice").route, "/v1/admin/accounts/{name}");
}

#[test]
fn several_methods_of_one_path_are_all_allowed() {
    let there = [DELETE, GET].into_iter();
    let allow = HeaderValue::from_static("GET, HEAD, DELETE, OPTIONS");
    assert_eq!(without_endpoint("PUT", there.clone()), Found::OtherMethod(allow.clone()));
    assert_eq!(without_endpoint("OPTIONS", there), Found::Options(allow));
}
