//! Tests for path matching, and consistency checks of the route tables.

use super::*;

/// Returns the destination of a request as text: its path pattern and parameter values, the allowed
/// methods, or `nothing`.
fn found(method: &str, path: &str) -> String {
    let way = way(&Method::from_bytes(method.as_bytes()).unwrap(), path);
    match way.found {
        Destination::Target(_, values) => {
            let values = values.iter().map(|(_, value)| format!(" {value}"));
            format!("{}{}", way.route, values.collect::<String>())
        }
        Destination::Options(allow) => format!("options {}", allow.to_str().unwrap()),
        Destination::OtherMethod(allow) => format!("only {}", allow.to_str().unwrap()),
        Destination::Moved(path) => format!("moved to {path}"),
        Destination::Upgrade => "upgrade".to_owned(),
        Destination::File => "file".to_owned(),
        Destination::Nothing => "nothing".to_owned(),
    }
}

#[test]
fn extra_leading_slashes_are_ignored() {
    for (method, path, wanted) in [
        ("GET", "/v1/socket/token", "/v1/socket/token"),
        ("HEAD", "//v1/socket/token", "/v1/socket/token"),
        ("GET", "///v2/socket/token", "/v2/socket/token"),
        ("GET", "/v1//socket/token", "nothing"),
        ("get", "/health", "only GET, HEAD, OPTIONS"),
        ("GET", "/quote/quotes", "only POST, OPTIONS"),
        ("OPTIONS", "/quote/quotes", "options POST, OPTIONS"),
        ("OPTIONS", "*", "options GET, HEAD, POST, PUT, DELETE, OPTIONS"),
        ("DELETE", "/v1/connections/7", "/v1/connections/{id} 7"),
        ("GET", "/v1/connections/7", "only DELETE, OPTIONS"),
        ("GET", "", "nothing"),
    ] {
        assert_eq!(found(method, path), wanted, "{method} {path:?}");
    }
}

#[test]
fn a_path_parameter_matches_text_up_to_the_limit() {
    let at = |name: &str| found("GET", &format!("/v1/securities/{name}/actions"));
    let is = |value: &str| format!("/v1/securities/{{symbol}}/actions {value}");
    assert_eq!(at("7"), is("7"));
    assert_eq!(at("a%2Fb%20+%e7%ac%a6"), is("a/b +符"));
    assert_eq!(at(&"%41".repeat(512)), is(&"A".repeat(512)));
    for other in ["", "7/8", "%", "%4", "%+1", "%zz", "%ff", &"A".repeat(513)] {
        assert_eq!(at(other), "nothing", "{other}");
    }
    for other in ["/v1/securities/7/actions/", "/v1/securities/7/others"] {
        assert_eq!(found("GET", other), "nothing", "{other}");
    }
}

#[test]
fn a_path_may_have_several_parameters() {
    let path = "/v1/ai/agents/a%201/conversations/b/messages/c/continue";
    let Destination::Target(_, values) = way(&Method::POST, path).found else { panic!("{path}") };
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(values, [("agent_id", "a 1"), ("conversation_id", "b"), ("message_id", "c")]);
    assert_eq!(found("POST", "/v1/ai/agents/a/conversations/%zz/messages/c/continue"), "nothing");
}

fn rows() -> impl Iterator<Item = &'static Row> {
    GROUPS.into_iter().flatten()
}

#[test]
fn no_two_rows_conflict_and_every_method_is_known() {
    for row in rows() {
        let Row { method, path, .. } = row;
        assert!(METHODS.contains(method), "{method} {path}");
        assert!(path.starts_with('/'), "{path}");
        let whole = |segment: &str| segment.starts_with('{') && segment.ends_with('}') && segment.len() > 2;
        assert!(path.split('/').all(|segment| !segment.contains(['{', '}']) || whole(segment)), "{path}");
        // The row was not dropped in favor of another pattern that matches the same paths.
        let found = way(&Method::from_bytes(method.as_bytes()).unwrap(), path).row().unwrap();
        assert_eq!((found.method, found.path), (*method, *path));
    }
}

#[test]
fn a_missing_feature_is_listed_once_and_not_served() {
    let served: BTreeSet<&str> = rows().map(|row| row.path).collect();
    let mut seen = BTreeSet::new();
    for (method, path, feature) in not_offered::paths() {
        assert!(METHODS.contains(&method), "{method} {path}");
        assert!(path.starts_with('/') && is_of_programs(path), "{path}");
        assert!(seen.insert((method, path)), "{method} {path} is there twice");
        assert!(!served.contains(path), "{path} is in both tables");
        let way = way(&Method::from_bytes(method.as_bytes()).unwrap(), path);
        let Some(Target::NotOffered(found)) = way.target() else { panic!("{method} {path}: {way:?}") };
        assert_eq!((found.what, way.task, way.route), (feature.what, Task::Other, path));
    }
    let whats: BTreeSet<&str> = not_offered::MISSING_FEATURES.iter().map(|feature| feature.what).collect();
    assert_eq!(whats.len(), not_offered::MISSING_FEATURES.len(), "an feature has two rows");
}

#[test]
fn api_paths_are_recognized_by_their_first_segment() {
    let roots: Vec<&str> = PROGRAM_ROOTS.iter().copied().collect();
    assert_eq!(roots, [".well-known", "content", "files", "oauth2", "quote", "udf", "v1", "v2", "v3"]);
    for (path, is) in [
        ("/v1", true),
        ("//quote/nothing", true),
        ("/health/more", false),
        ("/", false),
        ("/assets/x", false),
    ] {
        assert_eq!(is_of_programs(path), is, "{path}");
    }
}

#[test]
fn a_moved_path_reports_the_new_path_for_any_method() {
    for (old, new) in moved::MOVED {
        assert!(rows().all(|row| row.path != *old) && rows().any(|row| row.path == *new), "{old}");
        for method in METHODS.into_iter().chain(["HEAD", "OPTIONS", "PATCH"]) {
            assert_eq!(found(method, &format!("/{old}")), format!("moved to {new}"), "{method}");
        }
        assert_eq!(found("GET", &format!("{old}/")), "nothing");
    }
}

#[test]
fn the_http_page_lists_every_missing_feature() {
    let page = include_str!("../../../../docs/http.md");
    let (_, section) = page.split_once("\n## Not offered\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    // The last cell of each row below the table header.
    let cells = section.lines().filter_map(|line| line.strip_suffix(" |")?.rsplit_once("| ")).skip(1);
    let named: BTreeSet<&str> = cells.flat_map(|(_, cell)| cell.split(", ")).collect();
    let missing: BTreeSet<&str> = not_offered::MISSING_FEATURES.iter().map(|feature| feature.what).collect();
    assert_eq!(named, missing);
}

#[test]
fn a_literal_segment_takes_precedence_over_a_parameter() {
    let what = |path: &str| match way(&Method::GET, path).target() {
        Some(Target::NotOffered(feature)) => Some(feature.what),
        _ => None,
    };
    assert_eq!(what("/v1/content/700.HK/news"), Some("news"));
    assert_eq!(what("/v1/content/topics/news"), None);
    for (method, path, wanted) in [
        ("HEAD", "/v1/asset/account", "/v1/asset/account"),
        ("GET", "//v1/content/topics/mine", "/v1/content/topics/mine"),
        ("GET", "/content/topics/12", "/content/topics/{topic_id} 12"),
        ("GET", "/v1/content/700.HK/topics", "/v1/content/{symbol}/topics 700.HK"),
        ("GET", "/v1/sharelists/popular", "/v1/sharelists/popular"),
        ("GET", "/v1/sharelists/7", "/v1/sharelists/{id} 7"),
        ("GET", "/v1/sharelists/", "nothing"),
        ("PATCH", "/v1/trade/order", "only GET, HEAD, POST, PUT, DELETE, OPTIONS"),
        ("OPTIONS", "/v1/trade/order", "options GET, HEAD, POST, PUT, DELETE, OPTIONS"),
    ] {
        assert_eq!(found(method, path), wanted, "{method} {path}");
    }
}

#[test]
fn the_documented_candle_parameters_match_the_parser() {
    let document: serde_json::Value = serde_json::from_slice(document::openapi()).unwrap();
    let parameters = &document["paths"]["/v1/quote/history-candlesticks"]["get"]["parameters"];
    let described: BTreeSet<&str> =
        parameters.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    // `counter_id` is rewritten to a symbol before the names are checked.
    assert_eq!(described, quote::parameters::KNOWN.into_iter().chain(["counter_id"]).collect());
}

#[test]
fn an_unknown_path_is_not_used_as_the_route() {
    assert_eq!(way(&Method::GET, "/nothing.js").route, "-");
    assert_eq!(way(&Method::HEAD, "//v1/quota").route, "/v1/quota");
    // With a method that has no endpoint, the route is still the path pattern.
    assert_eq!(way(&Method::PUT, "/v1/admin/accounts/alice").route, "/v1/admin/accounts/{name}");
}

#[test]
fn the_example_in_contributing_is_the_compiled_one() {
    let (page, example) = (include_str!("../../../../CONTRIBUTING.md"), include_str!("example.rs"));
    assert!(page.contains(&format!("```rust\n{example}```")), "CONTRIBUTING.md shows another example.rs");
    let [row] = super::super::example::ROUTES else { panic!("one row") };
    assert!(row.needs_proof() && !row.credential_terms().is_change(&Method::GET) && row.doc.is_some());
}
