//! The router: joins the rows of all groups and finds the row of a request.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use hyper::Method;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;

use super::not_offered::{self, MissingFeature};
use super::{
    account, admin, alerts, asset, content, data, document, drawings, grid, ingest, layouts, oauth, quote,
    statement, trade, udf, uploads, watch, watchlist, worlds,
};
use crate::kit::{CredentialTerms, Home, PathValue, Row};
use crate::metrics::Task;
use crate::pages;

/// The endpoint groups. SDK endpoints that are not offered are in `not_offered.rs`.
pub(super) const GROUPS: [&[Row]; 21] = [
    watch::ROUTES,
    document::ROUTES,
    oauth::ROUTES,
    pages::ROUTES,
    account::ROUTES,
    data::ROUTES,
    uploads::ROUTES,
    ingest::ROUTES,
    watchlist::ROUTES,
    alerts::ROUTES,
    drawings::ROUTES,
    layouts::ROUTES,
    admin::ROUTES,
    quote::ROUTES,
    trade::ROUTES,
    grid::ROUTES,
    asset::ROUTES,
    content::ROUTES,
    statement::ROUTES,
    udf::ROUTES,
    worlds::ROUTES,
];

/// Methods that a row may have, in the order of the `Allow` header.
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];
/// Maximum length of a decoded path parameter in bytes. Long enough for the longest account name
/// and for a token.
const PARAMETER_MAX: usize = 512;
const _: () = assert!(access::NAME_CHARS_MAX * 4 <= PARAMETER_MAX);

/// The handler of a request: a row, or a refusal.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Row(&'static Row),
    /// An SDK endpoint that is not offered.
    NotOffered(&'static MissingFeature),
}

impl Target {
    pub(super) fn row(self) -> Option<&'static Row> {
        match self {
            Target::Row(row) => Some(row),
            Target::NotOffered(_) => None,
        }
    }

    fn task(self) -> Task {
        self.row().map_or(Task::Other, |row| row.task)
    }

    /// Returns whether the request must be authenticated.
    pub(super) fn needs_proof(self) -> bool {
        self.row().is_none_or(|row| row.needs_proof())
    }

    /// Returns the kinds of credentials that the target accepts.
    fn credential_terms(self) -> CredentialTerms {
        match self {
            Target::Row(row) => row.credential_terms(),
            Target::NotOffered(feature) if feature.is_trading() => {
                CredentialTerms { home: Home::OwnRegion, ..CredentialTerms::NO_ROW }
            }
            Target::NotOffered(_) => CredentialTerms::NO_ROW,
        }
    }
}

/// Result of routing a request.
#[derive(Clone, Debug)]
pub(super) enum Destination {
    /// An endpoint, with the decoded path parameters.
    Target(Target, Vec<PathValue>),
    /// An `OPTIONS` request, with the allowed methods.
    Options(HeaderValue),
    OtherMethod(HeaderValue),
    /// A path that was renamed to the given path.
    Moved(&'static str),
    /// A WebSocket upgrade request.
    Upgrade,
    /// A static file of the front end.
    File,
    Nothing,
}

impl Destination {
    fn target(&self) -> Option<Target> {
        match self {
            Destination::Target(target, _) => Some(*target),
            _ => None,
        }
    }

    pub(super) fn row(&self) -> Option<&'static Row> {
        self.target().and_then(Target::row)
    }

    pub(super) fn credential_terms(&self) -> CredentialTerms {
        self.target().map_or(CredentialTerms::NO_ROW, Target::credential_terms)
    }

    pub(super) fn path_values(&self) -> &[PathValue] {
        match self {
            Destination::Target(_, values) => values,
            _ => &[],
        }
    }
}

/// A request's destination, and its labels for metrics and logs.
#[derive(Clone, Debug)]
pub(super) struct RouteMatch {
    pub(super) found: Destination,
    pub(super) task: Task,
    /// Path pattern of the matched row. Unknown paths are not recorded, because a client could
    /// invent any number of paths.
    pub(super) route: &'static str,
}

impl RouteMatch {
    pub(super) const UPGRADE: RouteMatch =
        RouteMatch { found: Destination::Upgrade, task: Task::Upgrade, route: "*" };
    const NOWHERE: RouteMatch = RouteMatch { found: Destination::Nothing, task: Task::Other, route: "-" };

    pub(super) fn target(&self) -> Option<Target> {
        self.found.target()
    }

    pub(super) fn row(&self) -> Option<&'static Row> {
        self.found.row()
    }

    /// Returns whether the path has no endpoint for the request's method.
    pub(super) fn has_no_endpoint_for_method(&self) -> bool {
        matches!(self.found, Destination::Nothing | Destination::Options(_) | Destination::OtherMethod(_))
    }

    /// Returns whether the path has no endpoint for any method.
    pub(super) fn is_unknown_path(&self) -> bool {
        matches!(self.found, Destination::Nothing)
    }
}

/// The targets of a path by method.
struct PathTargets {
    path: &'static str,
    targets: Vec<(&'static str, Target)>,
}

/// Matches paths to targets. A literal segment takes precedence over a parameter.
struct Router {
    numbers: matchit::Router<usize>,
    places: Vec<PathTargets>,
}

static ROUTER: LazyLock<Router> = LazyLock::new(Router::new);

impl Router {
    fn new() -> Router {
        let mut router = Router { numbers: matchit::Router::new(), places: Vec::new() };
        for row in GROUPS.into_iter().flatten() {
            router.add(row.method, row.path, Target::Row(row));
        }
        for (method, path, feature) in not_offered::paths() {
            router.add(method, path, Target::NotOffered(feature));
        }
        router
    }

    fn add(&mut self, method: &'static str, path: &'static str, target: Target) {
        if let Some(place) = self.places.iter_mut().find(|place| place.path == path) {
            return place.targets.push((method, target));
        }
        // Insertion fails if another pattern matches the same paths. A test detects such conflicts.
        if self.numbers.insert(path, self.places.len()).is_ok() {
            self.places.push(PathTargets { path, targets: vec![(method, target)] });
        }
    }

    fn place(&'static self, path: &str) -> Option<(&'static PathTargets, Vec<PathValue>)> {
        // A client whose base URL ends with a slash sends two leading slashes. Only the lookup
        // ignores the extra slash, because the signature covers the path as sent.
        let path = format!("/{}", path.trim_start_matches('/'));
        let found = self.numbers.at(&path).ok()?;
        let values = found.params.iter().map(|(name, value)| Some((name, decoded(value)?)));
        Some((self.places.get(*found.value)?, values.collect::<Option<_>>()?))
    }
}

pub(super) fn way(method: &Method, path: &str) -> RouteMatch {
    if path == "*" {
        let all = GROUPS.into_iter().flatten().map(|row| row.method);
        return RouteMatch { found: without_target(method, all), ..RouteMatch::NOWHERE };
    }
    let found = if path.is_empty() { None } else { ROUTER.place(path) };
    let Some((place, values)) = found else {
        if let Some((old, new)) = find_moved(path) {
            return RouteMatch { found: Destination::Moved(new), task: Task::Other, route: old };
        }
        if pages::is_file(path) {
            return RouteMatch { found: Destination::File, task: Task::Page, route: "/{file}" };
        }
        return RouteMatch::NOWHERE;
    };
    let wanted = if method == Method::HEAD { "GET" } else { method.as_str() };
    match place.targets.iter().find(|(method, _)| *method == wanted) {
        Some((_, target)) => {
            RouteMatch { found: Destination::Target(*target, values), task: target.task(), route: place.path }
        }
        // The path has endpoints only for other methods.
        None => {
            let there = place.targets.iter().map(|(method, _)| *method);
            RouteMatch { found: without_target(method, there), task: Task::Other, route: place.path }
        }
    }
}

/// Returns the destination of a method that has no endpoint on a path with endpoints for other
/// methods.
fn without_target<'a>(method: &Method, there: impl Iterator<Item = &'a str> + Clone) -> Destination {
    let mut allow: Vec<&str> = Vec::new();
    for known in METHODS.into_iter().filter(|known| there.clone().any(|method| method == *known)) {
        allow.push(known);
        if known == "GET" {
            allow.push("HEAD");
        }
    }
    allow.push("OPTIONS");
    let Ok(allow) = HeaderValue::from_str(&allow.join(", ")) else { return Destination::Nothing };
    if method == Method::OPTIONS { Destination::Options(allow) } else { Destination::OtherMethod(allow) }
}

/// Percent-decodes a path parameter. Returns `None` if an escape is malformed or the result is not
/// UTF-8. A plus is not decoded to a space, unlike in query strings.
fn decoded(value: &str) -> Option<String> {
    let is_byte = |rest: &str| {
        rest.as_bytes().first_chunk::<2>().is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    if !value.split('%').skip(1).all(is_byte) {
        return None;
    }
    let text = percent_decode_str(value).decode_utf8().ok()?;
    (text.len() <= PARAMETER_MAX).then(|| text.into_owned())
}

/// Returns whether the path has a GET endpoint that accepts a token in its URL. Browsers may call
/// such an endpoint from other origins.
pub(super) fn is_open_to_other_sites(path: &str) -> bool {
    way(&Method::GET, path).row().is_some_and(|row| row.takes_token_in_address())
}

/// Returns whether the path belongs to the API, whose clients expect JSON errors even for unknown
/// paths.
pub(super) fn is_of_programs(path: &str) -> bool {
    path.trim_start_matches('/').split('/').next().is_some_and(|root| PROGRAM_ROOTS.contains(root))
}

/// First segments of all API paths, including paths that are not offered. Single-segment paths are
/// excluded, because no path is below them.
static PROGRAM_ROOTS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let rows = GROUPS.into_iter().flatten().filter(|row| row.task != Task::Page).map(|row| row.path);
    let paths = rows.chain(not_offered::paths().map(|(_, path, _)| path));
    paths.filter_map(|path| Some(path.strip_prefix('/')?.split_once('/')?.0)).collect()
});

/// Returns the method for metrics and logs. Unusual methods become `other`, because a client may
/// send any text as the method.
pub(super) fn known_method(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];
    KNOWN.into_iter().find(|known| method == *known).unwrap_or("other")
}

/// Renamed paths, as pairs of old and new path. For one release, the old path responds with 410 and
/// the new path; the pair is removed in the following release. No authentication is needed, because
/// the paths are publicly documented.
pub(super) const MOVED: &[(&str, &str)] =
    &[("/v1/admin/assets", "/v1/admin/reported-assets"), ("/v1/admin/orders", "/v1/admin/reported-orders")];

/// Returns the pair of old and new path for a renamed path, or `None`. The path may begin with
/// several slashes.
pub(super) fn find_moved(path: &str) -> Option<(&'static str, &'static str)> {
    let path = path.trim_start_matches('/');
    MOVED.iter().copied().find(|(old, _)| old.strip_prefix('/') == Some(path))
}

#[cfg(test)]
mod tests {
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
            let whole =
                |segment: &str| segment.starts_with('{') && segment.ends_with('}') && segment.len() > 2;
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
        let whats: BTreeSet<&str> =
            not_offered::MISSING_FEATURES.iter().map(|feature| feature.what).collect();
        assert_eq!(whats.len(), not_offered::MISSING_FEATURES.len(), "a feature has two rows");
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
        for (old, new) in MOVED {
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
        let missing: BTreeSet<&str> =
            not_offered::MISSING_FEATURES.iter().map(|feature| feature.what).collect();
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
    fn documented_candle_parameters_match_the_parser() {
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
}
