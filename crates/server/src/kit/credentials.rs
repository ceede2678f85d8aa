//! Authentication of HTTP requests. A request has one of four kinds of credentials: a signature in
//! its headers, a bearer token in its headers, a token in its URL (only where the row allows it,
//! for tools that can only be configured with a URL), or a browser session cookie. Browsers also
//! send cookies with requests triggered by other sites, so a session cookie additionally needs a
//! CSRF check.

use std::borrow::Cow;

use access::{AccountId, Denial, Freshness, Offered, Permit, Scope, Secret, SignedRequest};
use hyper::Method;
use hyper::header::{AUTHORIZATION, COOKIE};
use hyper::http::request::Parts;
use market::Timestamp;
use percent_encoding::percent_decode_str;

use super::call::{Call, Home, ListenerKind, WorldEntry};
use super::claims::Claim;
use super::envelope::Problem;
use super::site::Site;
use super::{cookies, fields};
use crate::caller::{Caller, Client, Language};
use crate::metrics::{Authenticated, Entry};
use crate::refusal::Refusal;
use crate::versions::Dated;
use crate::workers::Who;
use crate::world_changes;
use crate::worlds::{WorldError, WorldRequest};

/// Headers that contain credentials. A repeated header is refused, because it would be ambiguous.
const PROOFS: [&str; 4] = ["authorization", "x-api-key", "x-timestamp", "x-api-signature"];
/// Query parameter with a token (RFC 6750, section 2.3).
const IN_QUERY: &str = "access_token";
/// Path prefix before a token, for tools that build the query string themselves.
const IN_PATH: &str = "/udf/key/";
/// Header in which scripts on our pages send their CSRF token.
const CSRF: &str = "x-csrf";
/// Purpose of these CSRF tokens.
const CSRF_PURPOSE: &str = "ask";
/// Header in which our pages name a world of their account.
const WORLD: &str = "x-chandler-world";
/// Query parameter that is equivalent to [`WORLD`], for streams and downloads, for which a page
/// cannot set headers.
const WORLD_IN_QUERY: &str = "world";
/// Maximum length of an unknown path in the log. No SDK path exceeds this limit.
const PATH_CHARS_MAX: usize = 256;
/// Length above which a segment of an unknown path is truncated in the log. No segment of an SDK
/// path exceeds this limit, and every token does.
const SEGMENT_CHARS_MAX: usize = 32;
const SEGMENT_CHARS_KEPT: usize = 8;
const ELSEWHERE: Denial = Denial::TokenInvalid("the account belongs to another region than the listener");

/// An authenticated account with the permit for this request. The caller may be an OAuth client
/// acting for the account.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) caller: Caller,
    pub(crate) permit: Permit,
    /// While this exists, the clock of a world does not step automatically. `None` outside worlds.
    pub(crate) _world_request: Option<WorldRequest>,
}

/// Permission to read metrics and status. Only [`Call::watcher`] creates it.
#[derive(Debug)]
pub(crate) struct Watcher(());

impl Admitted {
    pub(crate) fn account(&self) -> &access::Account {
        self.permit.account()
    }

    /// Returns the API date that the caller is pinned to, or `None` if the caller uses the newest
    /// date.
    pub(crate) fn dated(&self) -> Option<Dated> {
        Dated::of(&self.caller.who, self.account())
    }

    pub(crate) fn who(&self) -> &access::Caller {
        &self.caller.who
    }

    /// Returns the market time of the request.
    pub(crate) fn now(&self) -> Timestamp {
        self.caller.now()
    }

    /// Checks that the caller may act as an operator, in addition to the row's scope.
    pub(crate) fn as_operator(&self, site: &Site) -> Result<(), Problem> {
        permit(&self.caller, Scope::Operator, site).map(drop)
    }
}

/// Checks the scope. Cached account state is recent enough, because authentication has just read
/// the account.
fn permit(caller: &Caller, scope: Scope, site: &Site) -> Result<Permit, Problem> {
    let now = caller.quota_time;
    Ok(site.core.access.admit_within(&caller.who, scope, Freshness::Recent, now)?)
}

/// A token from the URL, and the query string without the token, so that the token does not appear
/// in links or refusals.
#[derive(Debug)]
pub(crate) struct Addressed<'a> {
    pub(crate) token: Option<Secret>,
    pub(crate) query: Cow<'a, str>,
}

impl<'a> Addressed<'a> {
    /// Extracts the token, for rows that accept a token in the URL.
    pub(crate) fn of(call: &Call<'a>) -> Result<Addressed<'a>, Problem> {
        let mut token = is_keyed(call.path).then(|| Secret::new(call.path_value("token").to_owned()));
        let is_token = |pair: &&str| {
            form_urlencoded::parse(pair.as_bytes()).next().is_some_and(|(name, _)| name == IN_QUERY)
        };
        if !call.query.split('&').any(|pair| is_token(&pair)) {
            return Ok(Addressed { token, query: call.query.into() });
        }
        for pair in call.query.split('&').filter(is_token) {
            let value = form_urlencoded::parse(pair.as_bytes()).next().map(|(_, value)| value.into_owned());
            if token.is_some() {
                return Err(Problem::bad_request("the URL contains more than one token"));
            }
            let value = value.filter(|value| !value.is_empty());
            token = Some(Secret::new(value.ok_or_else(|| Problem::bad_request("access_token is empty"))?));
        }
        let rest: Vec<&str> = call.query.split('&').filter(|pair| !is_token(pair)).collect();
        Ok(Addressed { token, query: rest.join("&").into() })
    }
}

/// The world that a request names in its URL, and the query string without it.
#[derive(Debug)]
pub(crate) struct InWorld<'a> {
    pub(crate) world: Option<String>,
    pub(crate) query: Cow<'a, str>,
}

impl<'a> InWorld<'a> {
    /// Extracts the world, for rows that accept a browser session. A signature covers the complete
    /// query, so the query of a request with credentials in its headers is unchanged.
    pub(crate) fn of(call: &Call<'a>) -> Result<InWorld<'a>, Problem> {
        let is_world = |pair: &&str| {
            form_urlencoded::parse(pair.as_bytes()).next().is_some_and(|(name, _)| name == WORLD_IN_QUERY)
        };
        let in_headers = PROOFS.iter().any(|name| call.headers.contains_key(*name));
        if in_headers || !call.terms.takes_session || !call.query.split('&').any(|pair| is_world(&pair)) {
            return Ok(InWorld { world: None, query: call.query.into() });
        }
        let mut values = fields::values(call.query, WORLD_IN_QUERY);
        let world = values.next().map(Cow::into_owned);
        if values.next().is_some() {
            return Err(Problem::bad_request("the URL names more than one world"));
        }
        let rest: Vec<&str> = call.query.split('&').filter(|pair| !is_world(pair)).collect();
        Ok(InWorld { world, query: rest.join("&").into() })
    }
}

fn is_keyed(path: &str) -> bool {
    let path = path.trim_start_matches('/');
    IN_PATH.strip_prefix('/').is_some_and(|prefix| path.starts_with(prefix))
}

/// Returns the claim of a request, or `None` if the request has no credentials. A secret yields the
/// same claim regardless of its position in the request and its escaping.
pub(crate) fn claim(parts: &Parts, site: &Site) -> Option<Claim> {
    let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let in_header = || text(AUTHORIZATION).map(|value| token(value).into());
    let in_cookie = || cookies::session(text(COOKIE)?, site.is_https()).map(Cow::from);
    let in_address = || in_address(parts.uri.path(), parts.uri.query().unwrap_or_default());
    let secret = in_header().or_else(in_cookie).or_else(in_address)?;
    Some(site.claims.of(&secret))
}

/// Stores a claim for valid credentials.
pub(crate) fn learn(claim: Claim, account: AccountId, site: &Site) {
    let uptime = site.core.uptime();
    if site.claims.is_fresh(claim, uptime) {
        return;
    }
    // If the account cannot be read now, the next request retries.
    let Ok(Some(account)) = site.core.access.account(account) else { return };
    site.claims.learn(claim, site.core.share(&account), uptime);
}

/// Returns the token in an `Authorization` header, with or without the scheme.
fn token(header: &str) -> &str {
    const SCHEME: &str = "bearer ";
    let header = header.trim();
    match header.split_at_checked(SCHEME.len()) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(SCHEME) => token.trim(),
        _ => header,
    }
}

/// Returns the decoded token in a URL, or `None` if the URL has no token.
fn in_address<'a>(path: &'a str, query: &'a str) -> Option<Cow<'a, str>> {
    let in_path = || {
        let segment = path.trim_start_matches('/').split('/').nth(2).filter(|_| is_keyed(path))?;
        percent_decode_str(segment).decode_utf8().ok()
    };
    fields::values(query, IN_QUERY).next().or_else(in_path)
}

/// Returns a path for the log, with its token removed.
pub(crate) fn shown(path: &str) -> Cow<'_, str> {
    if !is_keyed(path) {
        return path.into();
    }
    let rest = path.trim_start_matches('/').splitn(4, '/').nth(3);
    format!("{IN_PATH}…{}{}", if rest.is_some() { "/" } else { "" }, rest.unwrap_or_default()).into()
}

/// Like [`shown`], for a path without a route. Control characters are escaped, so that they cannot
/// affect a terminal or a log parser. Long segments are truncated, because they could be tokens.
pub(crate) fn written(path: &str) -> String {
    let path = shown(path);
    let segments = path.split('/').map(|segment| cut(segment, SEGMENT_CHARS_MAX, SEGMENT_CHARS_KEPT));
    let whole = segments.collect::<Vec<_>>().join("/");
    let escaped: String = whole.chars().take(PATH_CHARS_MAX + 1).flat_map(escaped).collect();
    cut(&escaped, PATH_CHARS_MAX, PATH_CHARS_MAX)
}

fn cut(text: &str, most: usize, stored: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(stored).chain(['…']).collect()
}

fn escaped(letter: char) -> impl Iterator<Item = char> {
    let is_plain = matches!(letter, ' '..='~' | '…') && letter != '\\';
    let plain = is_plain.then_some(letter);
    plain.into_iter().chain((!is_plain).then(|| letter.escape_default()).into_iter().flatten())
}

impl Call<'_> {
    /// Authenticates the request.
    fn caller(&self, site: &Site) -> Result<Caller, Problem> {
        if let Some(name) = PROOFS.iter().find(|name| self.headers.get_all(**name).iter().count() > 1) {
            return Err(Problem::bad_request(&format!("the header {name} is given more than once")));
        }
        let in_headers = PROOFS.iter().any(|name| self.headers.contains_key(*name));
        let session = self.session(site).filter(|_| self.terms.takes_session && !in_headers);
        let bearer = self.address_token.map(|token| Secret::new(format!("Bearer {}", token.expose())));
        let header = |name: &str| match &bearer {
            Some(bearer) if name == "authorization" => Some(bearer.expose()),
            _ => self.header(name),
        };
        let request = self.signed(&header);
        let (offered, authenticated) = match (&bearer, session) {
            (Some(_), _) if in_headers => {
                return Err(Problem::bad_request(
                    "both a token in the URL and credentials in the headers: send one of them",
                ));
            }
            (Some(_), _) => {
                let authenticated = site.core.access.identify(&request, site.core.machine_now());
                (Offered::Request(&request), authenticated.map(access::Caller::in_address))
            }
            (None, Some(cookie)) => {
                (Offered::Browser, site.core.access.identify_browser(cookie, site.core.machine_now()))
            }
            (None, None) => {
                (Offered::Request(&request), site.core.access.identify(&request, site.core.machine_now()))
            }
        };
        let refused = |denial: Denial| {
            self.note_denied(offered, &denial, site);
            site.core.metrics.credentials(Entry::Http, Authenticated::Refused);
            Problem::from(denial)
        };
        let who = authenticated.map_err(refused)?;
        self.note.account(who.account());
        // The account was only a prediction before authentication, so its limit on unsent responses
        // is checked here.
        if site.core.unsent.of(Who::Account(who.account())).is_full() {
            return Err(Refusal::Busy.into());
        }
        // The signature is consumed last, so that a request refused as busy can be retried with the
        // same signature. A program whose clock shows a past time may sign two changes with the
        // same timestamp.
        let is_signed = bearer.is_none() && session.is_none() && !who.is_of_world();
        if self.terms.is_change(self.method) && is_signed {
            let repetition = self.terms.repetition();
            site.core.access.use_once(&request, repetition, site.core.machine_now()).map_err(refused)?;
        }
        site.core.metrics.credentials(Entry::Http, Authenticated::Accepted);
        if let (true, Some(cookie)) = (who.is_browser(), session) {
            self.is_of_our_pages(cookie, site)?;
        }
        let language = Language::preferred(self.header("accept-language").unwrap_or_default());
        // HTTP has no parameter for overnight hours, so accounts with the overnight right always
        // get overnight data. SDKs filter it out for users who do not want it.
        let client =
            Client { who, language, overnight: true, listener_region: self.region, connection: None };
        let caller = match self.named_world()? {
            None => site.core.caller(client)?,
            Some(name) => self.caller_in(name, client, site)?,
        };
        if caller.who.is_of_world() && self.terms.world == WorldEntry::Outside {
            return Err(Problem::outside_worlds());
        }
        if self.terms.home == Home::OwnRegion {
            site.core
                .own_region_only(&caller)
                .inspect_err(|_| self.note_denied(offered, &ELSEWHERE, site))?;
        }
        Ok(caller)
    }

    /// Returns whether the request names a world.
    pub(crate) fn is_in_world(&self) -> bool {
        self.headers.contains_key(WORLD) || self.world.is_some()
    }

    /// Returns the name of the world in the header or the URL.
    fn named_world(&self) -> Result<Option<&str>, Problem> {
        match (self.header(WORLD), self.world) {
            (None, world) if !self.headers.contains_key(WORLD) => Ok(world),
            (Some(name), None) => Ok(Some(name)),
            (Some(name), Some(other)) if name == other => Ok(Some(name)),
            _ => Err(Problem::bad_request("the request names more than one world")),
        }
    }

    /// Returns the caller of a browser session in a world of its account. All endpoints that take
    /// the account and the time from the caller then apply to the world.
    fn caller_in(&self, name: &str, client: Client, site: &Site) -> Result<Caller, Problem> {
        let (core, who) = (&site.core, client.who);
        if !who.is_browser() {
            let text = "only a browser session can name a world: use the API key of the world";
            return Err(Problem::bad_request(text));
        }
        if matches!(self.terms.world, WorldEntry::Refused | WorldEntry::Outside) {
            return Err(Problem::outside_worlds());
        }
        let world = match core.worlds.named(&core.access.database(), who.account(), name) {
            Err(WorldError::Unknown) => return Err(Problem::no_such_world()),
            world => world.map_err(Refusal::from)?,
        };
        let is_read = [Method::GET, Method::HEAD].contains(self.method);
        match self.terms.world {
            // A list is changed at its owner's time, regardless of the time that the page shows.
            WorldEntry::Owner if is_read => Ok(core.caller_as_of(client, Some(world.account))?),
            WorldEntry::Owner => Ok(core.caller(client)?),
            WorldEntry::World | WorldEntry::Refused | WorldEntry::Outside => {
                let entered = core.access.enter_world(&who, world.account).map_err(Problem::from_access)?;
                let who = entered.ok_or_else(Problem::no_such_world)?;
                Ok(core.caller(Client { who, ..client })?)
            }
        }
    }

    /// Performs the CSRF check for a browser session. Requests triggered by other sites are refused
    /// by `Sec-Fetch-Site`, if the browser sends that header. Changes also need the CSRF token,
    /// which only our pages can read.
    fn is_of_our_pages(&self, cookie: &str, site: &Site) -> Result<(), Problem> {
        let mut sites = self.headers.get_all("sec-fetch-site").iter();
        if !sites.all(|site| site == "same-origin" || site == "none") {
            return Err(Problem::of_another_site());
        }
        let is_safe = [Method::GET, Method::HEAD].contains(self.method);
        let token = self.header(CSRF).unwrap_or_default();
        if !is_safe && !site.core.access.is_csrf_token(token, cookie, CSRF_PURPOSE) {
            return Err(Problem::without_csrf_token());
        }
        Ok(())
    }

    /// Returns the browser session cookie, unverified.
    fn session(&self, site: &Site) -> Option<&str> {
        cookies::session(self.header("cookie").unwrap_or_default(), site.is_https())
    }

    /// Returns the CSRF token that scripts on our pages send with every change, or `None` without a
    /// session cookie. The token is constant for a session.
    pub(crate) fn session_csrf_token(&self, site: &Site) -> Option<String> {
        self.session(site).map(|cookie| site.core.access.csrf_token(cookie, CSRF_PURPOSE))
    }

    /// Records a failed authentication in the audit log. If recording fails, the refusal stays the
    /// same.
    fn note_denied(&self, offered: Offered<'_>, denial: &Denial, site: &Site) {
        if let Err(error) = site.core.access.note_denied(offered, denial, self.peer.ip(), site.core.moment())
        {
            tracing::error!(%error, "cannot record a refused login");
        }
    }

    /// Returns the parts of the request that a signature covers.
    pub(crate) fn signed<'a>(&'a self, header: &'a dyn Fn(&str) -> Option<&'a str>) -> SignedRequest<'a> {
        SignedRequest {
            method: self.method.as_str(),
            path: self.path,
            raw_query: self.query,
            header,
            body: self.body,
        }
    }

    /// Authenticates the request and checks the scope. This is the only way to obtain the caller.
    pub(crate) fn admit(&self, scope: Scope, site: &Site) -> Result<Admitted, Problem> {
        self.admit_either(scope, None, site)
    }

    /// Like [`admit`](Self::admit), but accepts credentials with either of two scopes.
    pub(crate) fn admit_either(
        &self,
        scope: Scope,
        or: Option<Scope>,
        site: &Site,
    ) -> Result<Admitted, Problem> {
        let caller = self.caller(site)?;
        let core = &site.core;
        // A read with the account scope, such as a read of the clock, does not count as activity of
        // a program.
        let is_work = self.terms.is_change(self.method) || scope != Scope::Account;
        let counts = caller.who.is_of_world() && is_work;
        if counts {
            world_changes::look(core, caller.who.account());
        }
        if counts && let Some(waiter) = core.worlds.wait(caller.who.account()) {
            self.note.wait(waiter);
            return Err(Refusal::ClockMoves.into());
        }
        // The clock may have moved since the caller was identified.
        let as_of = if counts { core.world_now(caller.who.account())? } else { caller.as_of };
        let caller = Caller { as_of, ..caller };
        let has_other = |other: &Scope| !caller.who.has(scope) && caller.who.has(*other);
        let permit = permit(&caller, or.filter(has_other).unwrap_or(scope), site)?;
        let world_request =
            counts.then(|| core.worlds.begin_request(caller.who.account(), core.uptime())).flatten();
        Ok(Admitted { caller, permit, _world_request: world_request })
    }

    /// Permits monitoring. Requests on the internal listener and from this machine are always
    /// permitted; other requests need an operator.
    pub(crate) fn watcher(&self, site: &Site) -> Result<Watcher, Problem> {
        if self.listener_kind != ListenerKind::Internal && !self.is_local {
            self.admit(Scope::Operator, site)?;
        }
        Ok(Watcher(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_path_is_logged_escaped_and_truncated() {
        let long = "x".repeat(SEGMENT_CHARS_MAX);
        let many = "/ab".repeat(1000);
        for (path, wanted) in [
            ("/v1/quote/industry-valuation-distribution", "/v1/quote/industry-valuation-distribution"),
            ("/nothing%20here", "/nothing%20here"),
            ("/a b\\c\n\u{1b}[1m\u{202e}é", "/a b\\\\c\\n\\u{1b}[1m\\u{202e}\\u{e9}"),
            ("/udf/key/ap_secret/x", "/udf/key/…/x"),
            (format!("/v1/{long}/x").as_str(), format!("/v1/{long}/x").as_str()),
            (format!("/v1//{long}x/x").as_str(), "/v1//xxxxxxxx…/x"),
            (many.as_str(), format!("{}…", &many[..PATH_CHARS_MAX]).as_str()),
        ] {
            assert_eq!(written(path), wanted);
        }
        // The limit applies after escaping.
        assert_eq!(written(&"/é/é".repeat(1000)).chars().count(), PATH_CHARS_MAX + 1);
    }

    #[test]
    fn a_path_is_logged_without_its_token() {
        for (path, written) in [
            ("/v1/quota", "/v1/quota"),
            ("/udf/config", "/udf/config"),
            ("/udf/key/ap_secret/config", "/udf/key/…/config"),
            ("//udf/key/ap_secret/a/b", "/udf/key/…/a/b"),
            ("/udf/key/ap_secret", "/udf/key/…"),
            ("/udf/key/", "/udf/key/…"),
        ] {
            assert_eq!(shown(path), written);
        }
    }

    #[test]
    fn a_token_has_the_same_claim_in_every_encoding() {
        let (site, _dir) = crate::http::tests::site();
        let of = |path: &str, authorization: Option<&str>| {
            let request = hyper::Request::get(path);
            let request = match authorization {
                Some(value) => request.header(AUTHORIZATION, value),
                None => request,
            };
            claim(&request.body(()).unwrap().into_parts().0, &site)
        };
        let one = of("/v1/me", Some("ap_token")).unwrap();
        for spelled in ["Bearer ap_token", "bearer   ap_token ", " ap_token"] {
            assert_eq!(of("/v1/me", Some(spelled)), Some(one), "{spelled:?}");
        }
        for path in [
            "/udf/history?access_token=ap_token",
            "/udf/history?symbol=x&access_token=%61p_%74oken",
            "/udf/history?%61ccess_token=ap_token",
            "/udf/key/ap_token/history",
            "/udf/key/%61p_token/history",
        ] {
            assert_eq!(of(path, None), Some(one), "{path}");
        }
        assert_ne!(of("/v1/me", Some("ap_token2")), Some(one));
        assert_eq!(of("/v1/me", None), None);
    }
}
