//! What there is to ask for, and with which method.

use hyper::Method;
use hyper::header::HeaderValue;

use super::admin::Desk;
use super::not_offered::{self, Idea};
use super::oauth::Door;
use super::udf::Feed;
use super::watch::Watch;
use crate::command::number;
use crate::metrics::Task;
use crate::pages::{self, Page, path as page_path};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Health,
    /// How the service does.
    Watch(Watch),
    OpenApi,
    Icon,
    SocketToken,
    Announce,
    Packages,
    Candles,
    /// TradingView's protocol for charts.
    Udf(Feed),
    /// A command of the long connection, by its number.
    Mirror(u8),
    Connections,
    CloseConnection,
    RefreshToken,
    Quota,
    QuotaPreview,
    /// What only operators may do.
    Admin(Desk),
    OAuth(Door),
    SignIns,
    EndSignIn,
    Me,
    Securities,
    Security,
    Actions,
    Coverage,
    CoverageDays,
    Imports,
    Quarantine,
    Page(Page),
    /// Something of the SDKs' that there is not.
    NotOffered(&'static Idea),
}

impl Endpoint {
    /// Whether it is about the account that asks. Where only one region is served, accounts of another are told that
    /// their token is not good there; what is public, signs in or tells prices has answers of its own for them.
    pub(super) fn is_business(self) -> bool {
        if let Endpoint::NotOffered(idea) = self {
            return idea.is_trading();
        }
        !matches!(
            self,
            Endpoint::Health
                | Endpoint::Watch(_)
                | Endpoint::OpenApi
                | Endpoint::Icon
                | Endpoint::SocketToken
                | Endpoint::Announce
                | Endpoint::Packages
                | Endpoint::Candles
                | Endpoint::Udf(_)
                | Endpoint::Mirror(_)
                | Endpoint::OAuth(_)
                | Endpoint::Page(_)
        )
    }
}

impl Endpoint {
    /// Whether a request with this method changes something. Questions may be asked with POST, too, and what is not offered
    /// changes nothing: SDKs sign with a time in seconds, so that two equal requests of one second have one signature.
    pub(super) fn is_change(self, method: &Method) -> bool {
        let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        !is_safe && !matches!(self, Endpoint::Mirror(_) | Endpoint::QuotaPreview | Endpoint::NotOffered(_))
    }

    /// Whether nothing is done for somebody who does not prove who they are. Those that strangers may ask have proofs of their own,
    /// or need none.
    pub(super) fn needs_proof(self) -> bool {
        !matches!(
            self,
            Endpoint::Health
                | Endpoint::Watch(_)
                | Endpoint::OpenApi
                | Endpoint::Icon
                | Endpoint::OAuth(_)
                | Endpoint::Page(_)
        )
    }
}

impl Endpoint {
    /// Whether the token may stand in the address, for tools that can be given nothing else. Addresses are kept in histories
    /// and logs, so this is for candles alone, and pages of other sites may ask for them too.
    pub(super) fn takes_token_in_address(self) -> bool {
        matches!(self, Endpoint::Candles | Endpoint::Udf(_))
    }

    /// Whether the session of a browser is a proof. What opens doors that outlive the session is for programs, and so is what
    /// only SDKs ask for.
    pub(super) fn takes_session(self) -> bool {
        matches!(
            self,
            Endpoint::Candles
                | Endpoint::Udf(_)
                | Endpoint::Packages
                | Endpoint::Connections
                | Endpoint::CloseConnection
                | Endpoint::Quota
                | Endpoint::QuotaPreview
                | Endpoint::Admin(_)
                | Endpoint::SignIns
                | Endpoint::EndSignIn
                | Endpoint::Me
                | Endpoint::Securities
                | Endpoint::Security
                | Endpoint::Actions
                | Endpoint::Coverage
                | Endpoint::CoverageDays
                | Endpoint::Imports
                | Endpoint::Quarantine
                | Endpoint::Watch(_)
        )
    }
}

impl Endpoint {
    /// What it counts as.
    fn task(self) -> Task {
        match self {
            Endpoint::Health | Endpoint::Watch(_) => Task::Watch,
            Endpoint::SocketToken => Task::SocketToken,
            Endpoint::Candles | Endpoint::Udf(Feed::History) => Task::History,
            Endpoint::Mirror(command) => Task::of_command(command),
            Endpoint::Admin(_) => Task::Admin,
            Endpoint::OAuth(_) => Task::OAuth,
            Endpoint::Page(_) => Task::Page,
            Endpoint::Connections
            | Endpoint::CloseConnection
            | Endpoint::RefreshToken
            | Endpoint::Quota
            | Endpoint::QuotaPreview
            | Endpoint::Packages
            | Endpoint::SignIns
            | Endpoint::EndSignIn
            | Endpoint::Me => Task::Account,
            Endpoint::Udf(_)
            | Endpoint::Securities
            | Endpoint::Security
            | Endpoint::Actions
            | Endpoint::Coverage
            | Endpoint::CoverageDays
            | Endpoint::Imports
            | Endpoint::Quarantine => Task::Data,
            Endpoint::OpenApi | Endpoint::Icon | Endpoint::Announce | Endpoint::NotOffered(_) => Task::Other,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// With the value of the path's parameter, decoded; empty if the path has none.
    Endpoint(Endpoint, String),
    /// Somebody asks what may be asked.
    Options(HeaderValue),
    OtherMethod(HeaderValue),
    Nothing,
}

const GET: &str = "GET";
const POST: &str = "POST";
const PUT: &str = "PUT";
const DELETE: &str = "DELETE";
/// Methods that a route may have, in the order of an `Allow` header.
const METHODS: [&str; 4] = [GET, POST, PUT, DELETE];
/// Bytes of a path's parameter, once it is decoded: the longest name of an account fits.
const PARAMETER_MAX: usize = 256;
const _: () = assert!(access::NAME_CHARS_MAX * 4 <= PARAMETER_MAX);

/// Method, path, endpoint.
pub(super) type Route = (&'static str, &'static str, Endpoint);

/// A path may have one segment in braces, which stands for any text but none at all; a path that is listed in full wins over
/// one with a parameter. What the SDKs ask for besides is in `not_offered.rs`.
pub(super) const ROUTES: &[Route] = &[
    (GET, "/health", Endpoint::Health),
    (GET, "/healthz", Endpoint::Watch(Watch::Health)),
    (GET, "/readyz", Endpoint::Watch(Watch::Ready)),
    (GET, "/metrics", Endpoint::Watch(Watch::Metrics)),
    (GET, "/status", Endpoint::Watch(Watch::Status)),
    (GET, "/openapi.json", Endpoint::OpenApi),
    (GET, "/favicon.ico", Endpoint::Icon),
    (GET, "/v1/socket/token", Endpoint::SocketToken),
    (GET, "/v2/socket/token", Endpoint::SocketToken),
    (GET, "/v1/token/refresh", Endpoint::RefreshToken),
    (GET, "/.well-known/oauth-authorization-server", Endpoint::OAuth(Door::Metadata)),
    (POST, "/oauth2/register", Endpoint::OAuth(Door::Register)),
    (GET, "/oauth2/register/{client_id}", Endpoint::OAuth(Door::ReadRegistration)),
    (DELETE, "/oauth2/register/{client_id}", Endpoint::OAuth(Door::RemoveRegistration)),
    (POST, "/oauth2/device/authorize", Endpoint::OAuth(Door::DeviceAuthorize)),
    (POST, "/oauth2/token", Endpoint::OAuth(Door::Token)),
    (POST, "/oauth2/revoke", Endpoint::OAuth(Door::Revoke)),
    (GET, page_path::CONFIRM, Endpoint::Page(Page::Confirm)),
    (POST, page_path::CONFIRM, Endpoint::Page(Page::Confirm)),
    (GET, page_path::AUTHORIZE, Endpoint::Page(Page::Authorize)),
    (POST, page_path::AUTHORIZE, Endpoint::Page(Page::Authorize)),
    (GET, page_path::SIGN_IN, Endpoint::Page(Page::SignIn)),
    (POST, page_path::SIGN_IN, Endpoint::Page(Page::SignIn)),
    (POST, page_path::SIGN_OUT, Endpoint::Page(Page::SignOut)),
    (POST, page_path::END, Endpoint::Page(Page::End)),
    (GET, page_path::STYLE, Endpoint::Page(Page::Style)),
    (GET, page_path::CHART, Endpoint::Page(Page::Chart)),
    (GET, page_path::QUOTA, Endpoint::Page(Page::Desk)),
    (GET, page_path::CONNECTIONS, Endpoint::Page(Page::Desk)),
    (GET, page_path::COVERAGE, Endpoint::Page(Page::Desk)),
    (GET, page_path::IMPORTS, Endpoint::Page(Page::Desk)),
    (GET, "/v1/me", Endpoint::Me),
    (GET, "/v1/securities", Endpoint::Securities),
    (GET, "/v1/securities/{symbol}", Endpoint::Security),
    (GET, "/v1/securities/{symbol}/actions", Endpoint::Actions),
    (GET, "/v1/coverage", Endpoint::Coverage),
    (GET, "/v1/coverage/{symbol}", Endpoint::CoverageDays),
    (GET, "/v1/imports", Endpoint::Imports),
    (GET, "/v1/quarantine", Endpoint::Quarantine),
    (GET, "/v1/quota", Endpoint::Quota),
    (POST, "/v1/quota/preview", Endpoint::QuotaPreview),
    (GET, "/v1/admin/accounts", Endpoint::Admin(Desk::Accounts)),
    (GET, "/v1/admin/accounts/{name}", Endpoint::Admin(Desk::Account)),
    (POST, "/v1/admin/accounts/{name}", Endpoint::Admin(Desk::SetAccount)),
    (POST, "/v1/admin/accounts/{name}/rights", Endpoint::Admin(Desk::Grant)),
    (DELETE, "/v1/admin/accounts/{name}/rights", Endpoint::Admin(Desk::Withdraw)),
    (GET, "/v1/admin/assets", Endpoint::Admin(Desk::Assets)),
    (POST, "/v1/admin/assets", Endpoint::Admin(Desk::ReportAssets)),
    (GET, "/v1/admin/orders", Endpoint::Admin(Desk::Orders)),
    (POST, "/v1/admin/orders", Endpoint::Admin(Desk::ReportOrders)),
    (GET, "/v1/admin/rates", Endpoint::Admin(Desk::Rates)),
    (POST, "/v1/admin/rates", Endpoint::Admin(Desk::ReportRates)),
    (GET, "/v1/admin/levels", Endpoint::Admin(Desk::Levels)),
    (POST, "/v1/admin/levels/{level}", Endpoint::Admin(Desk::SetLevel)),
    (GET, "/v1/admin/audit", Endpoint::Admin(Desk::Audit)),
    (GET, "/v1/sign-ins", Endpoint::SignIns),
    (DELETE, "/v1/sign-ins/{id}", Endpoint::EndSignIn),
    (GET, "/v1/connections", Endpoint::Connections),
    (DELETE, "/v1/connections/{id}", Endpoint::CloseConnection),
    (GET, "/v1/quote/cmd", Endpoint::Announce),
    (GET, "/v1/quote/my-quotes", Endpoint::Packages),
    (GET, "/v1/quote/history-candlesticks", Endpoint::Candles),
    (GET, "/udf/config", Endpoint::Udf(Feed::Config)),
    (GET, "/udf/time", Endpoint::Udf(Feed::Time)),
    (GET, "/udf/symbols", Endpoint::Udf(Feed::Symbols)),
    (GET, "/udf/search", Endpoint::Udf(Feed::Search)),
    (GET, "/udf/history", Endpoint::Udf(Feed::History)),
    (GET, "/udf/marks", Endpoint::Udf(Feed::Marks)),
    // For charts that can be given an address and nothing else.
    (GET, "/udf/key/{token}/config", Endpoint::Udf(Feed::Config)),
    (GET, "/udf/key/{token}/time", Endpoint::Udf(Feed::Time)),
    (GET, "/udf/key/{token}/symbols", Endpoint::Udf(Feed::Symbols)),
    (GET, "/udf/key/{token}/search", Endpoint::Udf(Feed::Search)),
    (GET, "/udf/key/{token}/history", Endpoint::Udf(Feed::History)),
    (GET, "/udf/key/{token}/marks", Endpoint::Udf(Feed::Marks)),
    (POST, "/quote/history-candlesticks", Endpoint::Mirror(number::HISTORY)),
    (POST, "/quote/candlesticks", Endpoint::Mirror(number::CANDLESTICKS)),
    (POST, "/quote/intraday", Endpoint::Mirror(number::INTRADAY)),
    (POST, "/quote/quotes", Endpoint::Mirror(number::QUOTE)),
    (POST, "/quote/static-info", Endpoint::Mirror(number::STATIC_INFO)),
    (POST, "/quote/markets/trading-sessions", Endpoint::Mirror(number::TRADING_SESSIONS)),
    (POST, "/quote/markets/trading-days", Endpoint::Mirror(number::TRADING_DAYS)),
    (POST, "/quote/profile", Endpoint::Mirror(number::PROFILE)),
    // Commands that the protocol has and Chandler does not: they are told so, instead of that nothing is there.
    (POST, "/quote/options/quotes", Endpoint::Mirror(12)),
    (POST, "/quote/warrants/quotes", Endpoint::Mirror(13)),
    (POST, "/quote/depth", Endpoint::Mirror(14)),
    (POST, "/quote/brokers", Endpoint::Mirror(15)),
    (POST, "/quote/participants", Endpoint::Mirror(16)),
    (POST, "/quote/trades", Endpoint::Mirror(17)),
    (POST, "/quote/options/expiry-dates", Endpoint::Mirror(20)),
    (POST, "/quote/options/strikes", Endpoint::Mirror(21)),
    (POST, "/quote/warrants/issuers", Endpoint::Mirror(22)),
    (POST, "/quote/warrants", Endpoint::Mirror(23)),
    (POST, "/quote/capital-flow", Endpoint::Mirror(24)),
    (POST, "/quote/capital-distribution", Endpoint::Mirror(25)),
    (POST, "/quote/calc-indexes", Endpoint::Mirror(26)),
];

/// What a request is called where it is counted and written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) endpoint: Option<Endpoint>,
    pub(super) task: Task,
    /// The pattern of the path; of a path that leads nowhere nothing is repeated.
    pub(super) route: &'static str,
}

impl Way {
    /// Whether the answer may depend on the request coming from this machine.
    pub(super) fn asks_whether_local(self) -> bool {
        matches!(self.endpoint, Some(Endpoint::Watch(_) | Endpoint::Page(_)))
    }

    /// Whether there is no endpoint, be it for this method alone.
    pub(super) fn leads_nowhere(self) -> bool {
        self.endpoint.is_none() && self.task == Task::Other
    }

    pub(super) const UPGRADE: Way = Way { endpoint: None, task: Task::Upgrade, route: "*" };
    /// A file of the front-end, whichever.
    pub(super) const FILE: Way = Way { endpoint: None, task: Task::Page, route: "/{file}" };
    pub(super) const NOWHERE: Way = Way { endpoint: None, task: Task::Other, route: "-" };
}

pub(super) fn way(method: &Method, path: &str) -> Way {
    let wanted = if method == Method::HEAD { GET } else { method.as_str() };
    let here = matching(wanted, path);
    match (here.iter().find(|((method, ..), _)| *method == wanted), here.first()) {
        (Some(((_, route, endpoint), _)), _) => {
            Way { endpoint: Some(*endpoint), task: endpoint.task(), route }
        }
        (None, _) if pages::is_file(path) => Way::FILE,
        // Something is there, for other methods.
        (None, Some(((_, route, _), _))) => Way { route, ..Way::NOWHERE },
        (None, None) => Way::NOWHERE,
    }
}

/// Whether a path is among those that programs ask for: they read JSON, also where there is nothing.
pub(super) fn is_of_programs(path: &str) -> bool {
    const ROOTS: [&str; 8] = ["v1", "v2", "v3", "quote", "content", "udf", "oauth2", ".well-known"];
    let root = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    ROOTS.contains(&root)
}

/// A method by name, if it is one of the usual ones: a client may send any word.
pub(super) fn known_method(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = [GET, POST, PUT, DELETE, "HEAD", "OPTIONS", "PATCH"];
    KNOWN.into_iter().find(|known| method == *known).unwrap_or("other")
}

pub(super) fn find(method: &str, path: &str) -> Found {
    if path == "*" {
        return without_endpoint(method, ROUTES.iter().map(|(method, ..)| *method));
    }
    let wanted = if method == "HEAD" { GET } else { method };
    let here = matching(wanted, path);
    if let Some(((.., endpoint), parameter)) = here.iter().find(|(route, _)| route.0 == wanted) {
        return Found::Endpoint(*endpoint, parameter.clone());
    }
    if here.is_empty() {
        return Found::Nothing;
    }
    without_endpoint(method, here.iter().map(|(route, _)| route.0))
}

/// The routes of a path, whatever their method, each with the value of its parameter; those that are listed in full, if there
/// are any. What is not offered is looked up only if nothing else can be meant.
fn matching(method: &str, path: &str) -> Vec<(Route, String)> {
    let of = |route: Route| Some((route, parameter(route.1, path)?));
    let is_full = |(route, _): &(Route, String)| !has_parameter(route.1);
    let mut here: Vec<_> = ROUTES.iter().copied().filter_map(of).collect();
    if !here.iter().any(|found| is_full(found) && found.0.0 == method) {
        here.extend(not_offered::routes().filter_map(of));
    }
    if here.iter().any(is_full) {
        here.retain(is_full);
    }
    here
}

/// The answer to a method that leads nowhere, where others do.
fn without_endpoint<'a>(method: &str, there: impl Iterator<Item = &'a str> + Clone) -> Found {
    let mut allow: Vec<&str> = Vec::new();
    for known in METHODS.into_iter().filter(|known| there.clone().any(|method| method == *known)) {
        allow.push(known);
        if known == GET {
            allow.push("HEAD");
        }
    }
    allow.push("OPTIONS");
    let Ok(allow) = HeaderValue::from_str(&allow.join(", ")) else { return Found::Nothing };
    if method == "OPTIONS" { Found::Options(allow) } else { Found::OtherMethod(allow) }
}

fn has_parameter(pattern: &str) -> bool {
    pattern.contains('{')
}

/// Whether a path is one of a pattern's, and if so the value of its parameter.
fn parameter(pattern: &str, path: &str) -> Option<String> {
    if path.is_empty() {
        return None;
    }
    // A base address that ends in a slash gives two at the front; the signature is still that of the path as sent.
    let (pattern, path) = (pattern.trim_start_matches('/'), path.trim_start_matches('/'));
    if !has_parameter(pattern) {
        return (pattern == path).then(String::new);
    }
    let (mut segments, mut value) = (path.split('/'), String::new());
    for wanted in pattern.split('/') {
        let segment = segments.next()?;
        if has_parameter(wanted) {
            value = decoded(segment).filter(|value| !value.is_empty() && value.len() <= PARAMETER_MAX)?;
        } else if wanted != segment {
            return None;
        }
    }
    segments.next().is_none().then_some(value)
}

/// Percent signs undone. A plus is a plus: only query strings have it stand for a space.
pub(super) fn decoded(segment: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(segment.len()), segment.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit =
                    || char::from(rest.next()?).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let (high, low) = (digit()?, digit()?);
                high << 4 | low
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[path = "routes_tests.rs"]
mod tests;
