//! The router: joins the rows of all groups and finds the row of a request.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use hyper::Method;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;

use super::moved;
use super::not_offered::{self, MissingFeature};
use super::{
    account, admin, asset, content, data, document, grid, oauth, quote, statement, trade, udf, uploads,
    watch, watchlist,
};
use crate::kit::{CredentialTerms, Home, PathValue, Row};
use crate::metrics::Task;
use crate::pages;

/// The endpoint groups. SDK endpoints that are not offered are in `not_offered.rs`.
pub(super) const GROUPS: [&[Row]; 16] = [
    watch::ROUTES,
    document::ROUTES,
    oauth::ROUTES,
    pages::ROUTES,
    account::ROUTES,
    data::ROUTES,
    uploads::ROUTES,
    watchlist::ROUTES,
    admin::ROUTES,
    quote::ROUTES,
    trade::ROUTES,
    grid::ROUTES,
    asset::ROUTES,
    content::ROUTES,
    statement::ROUTES,
    udf::ROUTES,
];

/// Methods that a row may have, in the order of the `Allow` header.
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];
/// Maximum length of a decoded path parameter in bytes. The longest account name and a token both
/// fit.
const PARAMETER_MAX: usize = 512;
const _: () = assert!(access::NAME_CHARS_MAX * 4 <= PARAMETER_MAX);

/// What serves a request.
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
    /// A path that was renamed to this one.
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
    /// invent any number of them.
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
        // ignores them, because the signature covers the path as sent.
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
        if let Some((old, new)) = moved::find(path) {
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
/// such endpoints from other origins.
pub(super) fn is_open_to_other_sites(path: &str) -> bool {
    way(&Method::GET, path).row().is_some_and(|row| row.takes_token_in_address())
}

/// Returns whether the path belongs to the API, whose clients expect JSON errors even for unknown
/// paths.
pub(super) fn is_of_programs(path: &str) -> bool {
    path.trim_start_matches('/').split('/').next().is_some_and(|root| PROGRAM_ROOTS.contains(root))
}

/// First segments of all API paths, including those not offered. Single-segment paths are excluded,
/// because nothing is below them.
static PROGRAM_ROOTS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let rows = GROUPS.into_iter().flatten().filter(|row| row.task != Task::Page).map(|row| row.path);
    let paths = rows.chain(not_offered::paths().map(|(_, path, _)| path));
    paths.filter_map(|path| Some(path.strip_prefix('/')?.split_once('/')?.0)).collect()
});

/// Returns the method for metrics and logs. Unusual methods become `other`, because a client may
/// send any token.
pub(super) fn known_method(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];
    KNOWN.into_iter().find(|known| method == *known).unwrap_or("other")
}

#[cfg(test)]
#[path = "routes_tests.rs"]
mod tests;
