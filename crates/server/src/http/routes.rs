//! The router: the rows of all groups, and the search for the row of a request.

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

/// The groups of endpoints. SDK endpoints that are not offered are in `not_offered.rs`.
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

/// The methods that a row may have, in the order of an `Allow` header.
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];
/// Longest path parameter in bytes, decoded: the longest account name fits, and a token.
const PARAMETER_MAX: usize = 512;
const _: () = assert!(access::NAME_CHARS_MAX * 4 <= PARAMETER_MAX);

/// The target of a request.
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

    /// Whether the request must be authenticated.
    pub(super) fn needs_proof(self) -> bool {
        self.row().is_none_or(|row| row.needs_proof())
    }

    /// The credentials that the target accepts.
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

/// The result of routing a request.
#[derive(Clone, Debug)]
pub(super) enum Destination {
    /// With the decoded path parameters.
    Target(Target, Vec<PathValue>),
    /// `OPTIONS`, with the allowed methods.
    Options(HeaderValue),
    OtherMethod(HeaderValue),
    /// The endpoint has a new path.
    Moved(&'static str),
    /// A WebSocket request.
    Upgrade,
    /// A file of the front end.
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

/// The destination of a request, and its names in metrics and the log.
#[derive(Clone, Debug)]
pub(super) struct RouteMatch {
    pub(super) found: Destination,
    pub(super) task: Task,
    /// The pattern of the path. An unknown path is not included: a client could make up any number
    /// of them.
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

    /// Whether the path has no endpoint for this method.
    pub(super) fn has_no_endpoint_for_method(&self) -> bool {
        matches!(self.found, Destination::Nothing | Destination::Options(_) | Destination::OtherMethod(_))
    }

    /// Whether the path has no endpoint for any method.
    pub(super) fn is_unknown_path(&self) -> bool {
        matches!(self.found, Destination::Nothing)
    }
}

/// The targets of one path, by method.
struct PathTargets {
    path: &'static str,
    targets: Vec<(&'static str, Target)>,
}

/// All paths. A literal path wins over one with a parameter.
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
        // Fails if another pattern matches the same paths; a test finds such a table.
        if self.numbers.insert(path, self.places.len()).is_ok() {
            self.places.push(PathTargets { path, targets: vec![(method, target)] });
        }
    }

    fn place(&'static self, path: &str) -> Option<(&'static PathTargets, Vec<PathValue>)> {
        // A client whose base URL ends in a slash sends two at the front. The signature covers the
        // path as sent.
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
        // The path has endpoints for other methods.
        None => {
            let there = place.targets.iter().map(|(method, _)| *method);
            RouteMatch { found: without_target(method, there), task: Task::Other, route: place.path }
        }
    }
}

/// The destination of a method without an endpoint, on a path that has others.
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

/// Percent-decodes a path parameter. `None` if an escape is malformed or the result is not UTF-8. A
/// plus stays a plus: it is a space only in query strings.
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

/// Whether the path has a GET endpoint that accepts a token in its URL.
pub(super) fn is_open_to_other_sites(path: &str) -> bool {
    way(&Method::GET, path).row().is_some_and(|row| row.takes_token_in_address())
}

/// Whether the path is for programs, which expect JSON even if the path does not exist.
pub(super) fn is_of_programs(path: &str) -> bool {
    path.trim_start_matches('/').split('/').next().is_some_and(|root| PROGRAM_ROOTS.contains(root))
}

/// The first segments of the paths for programs, offered or not. A path of one segment has nothing
/// below it.
static PROGRAM_ROOTS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
    let rows = GROUPS.into_iter().flatten().filter(|row| row.task != Task::Page).map(|row| row.path);
    let paths = rows.chain(not_offered::paths().map(|(_, path, _)| path));
    paths.filter_map(|path| Some(path.strip_prefix('/')?.split_once('/')?.0)).collect()
});

/// The method for metrics and the log. Unusual ones are `other`: a client may send any word.
pub(super) fn known_method(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];
    KNOWN.into_iter().find(|known| method == *known).unwrap_or("other")
}

#[cfg(test)]
#[path = "routes_tests.rs"]
mod tests;
