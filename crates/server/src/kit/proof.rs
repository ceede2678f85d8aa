//! Who asks, and what proves it. There are four proofs, and a request has one of them: a signature or a bearer token in its
//! headers; a token in its address, for tools that can be given nothing but one, where the endpoint says so; and the
//! session of a browser, which is there whether or not the person wanted this request, and so has to show more.

use std::borrow::Cow;

use access::{AccountId, Denial, Look, Offered, Permit, Scope, Secret, SignedRequest};
use hyper::Method;
use hyper::header::{AUTHORIZATION, COOKIE};
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;

use super::call::Call;
use super::claims::Claim;
use super::cookies;
use super::envelope::Problem;
use super::fields;
use super::listening::Face;
use super::site::Site;
use super::terms::Home;
use crate::caller::{Caller, Language};
use crate::metrics::{Entry, Proven};
use crate::refusal::Refusal;
use crate::workers::Who;

/// Headers that prove who asks. Given twice, either could be meant.
const PROOFS: [&str; 4] = ["authorization", "x-api-key", "x-timestamp", "x-api-signature"];
/// Where a token stands in an address: RFC 6750, section 2.3.
const IN_QUERY: &str = "access_token";
/// Where it stands in the path, for tools that write queries of their own.
const IN_PATH: &str = "/udf/key/";
/// The header in which scripts of our pages send their CSRF token, and the token's purpose.
const CSRF: &str = "x-csrf";
const CSRF_PURPOSE: &str = "ask";
/// What is written down of a path that leads nowhere, and of a segment of it: no path of the SDKs is longer, every token is.
const PATH_CHARS_MAX: usize = 256;
const SEGMENT_CHARS_MAX: usize = 32;
const SEGMENT_CHARS_KEPT: usize = 8;
const ELSEWHERE: Denial = Denial::TokenInvalid("the account is of another region than the address");

/// An account that has proved itself and was let in, itself or through a program that acts for it.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) caller: Caller,
    pub(crate) permit: Permit,
}

/// Somebody who may see how the service does. Only [`Call::watcher`] makes one.
#[derive(Debug)]
pub(crate) struct Watcher(());

impl Admitted {
    pub(crate) fn account(&self) -> &access::Account {
        self.permit.account()
    }

    pub(crate) fn who(&self) -> &access::Caller {
        &self.caller.who
    }

    /// Whether they may do besides what is for operators.
    pub(crate) fn as_operator(&self, site: &Site) -> Result<(), Problem> {
        permit(&self.caller, Scope::Operator, site).map(drop)
    }
}

/// Who asks has been looked up a moment ago, when they proved it.
fn permit(caller: &Caller, scope: Scope, site: &Site) -> Result<Permit, Problem> {
    let core = &site.core;
    Ok(core.access.admit_within(&caller.who, scope, Look::Recent, core.market_now())?)
}

/// A token that came in an address, and the query without it: it is no parameter of what is asked, and must not get into
/// links and refusals.
#[derive(Debug)]
pub(crate) struct Addressed<'a> {
    pub(crate) token: Option<Secret>,
    pub(crate) query: Cow<'a, str>,
}

impl<'a> Addressed<'a> {
    /// For an endpoint that takes tokens so.
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
                return Err(Problem::bad_request("there is more than one token in the address"));
            }
            let value = value.filter(|value| !value.is_empty());
            token = Some(Secret::new(value.ok_or_else(|| Problem::bad_request("access_token is empty"))?));
        }
        let rest: Vec<&str> = call.query.split('&').filter(|pair| !is_token(pair)).collect();
        Ok(Addressed { token, query: rest.join("&").into() })
    }
}

fn is_keyed(path: &str) -> bool {
    let path = path.trim_start_matches('/');
    IN_PATH.strip_prefix('/').is_some_and(|prefix| path.starts_with(prefix))
}

/// What a request brings along as proof, if anything. One secret is one claim, however it is spelled.
pub(crate) fn claim(parts: &Parts, site: &Site) -> Option<Claim> {
    let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let in_header = || text(AUTHORIZATION).map(|value| token(value).into());
    let in_cookie = || cookies::session(text(COOKIE)?, site.is_https()).map(Cow::from);
    let in_address = || in_address(parts.uri.path(), parts.uri.query().unwrap_or_default());
    let secret = in_header().or_else(in_cookie).or_else(in_address)?;
    Some(site.claims.of(&secret))
}

/// Remembers a claim that was good.
pub(crate) fn learn(claim: Claim, account: AccountId, site: &Site) {
    let uptime = site.core.uptime();
    if site.claims.is_fresh(claim, uptime) {
        return;
    }
    // What cannot be looked up now is learnt with the next request.
    let Ok(Some(account)) = site.core.access.account(account) else { return };
    site.claims.learn(claim, site.core.share(&account), uptime);
}

/// The token of an `Authorization` header, with its scheme or without.
fn token(header: &str) -> &str {
    const SCHEME: &str = "bearer ";
    let header = header.trim();
    match header.split_at_checked(SCHEME.len()) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case(SCHEME) => token.trim(),
        _ => header,
    }
}

/// The token in an address, decoded.
fn in_address<'a>(path: &'a str, query: &'a str) -> Option<Cow<'a, str>> {
    let in_path = || {
        let segment = path.trim_start_matches('/').split('/').nth(2).filter(|_| is_keyed(path))?;
        percent_decode_str(segment).decode_utf8().ok()
    };
    fields::values(query, IN_QUERY).next().or_else(in_path)
}

/// A path as it may be written down: without the token in it.
pub(crate) fn shown(path: &str) -> Cow<'_, str> {
    if !is_keyed(path) {
        return path.into();
    }
    let rest = path.trim_start_matches('/').splitn(4, '/').nth(3);
    format!("{IN_PATH}…{}{}", if rest.is_some() { "/" } else { "" }, rest.unwrap_or_default()).into()
}

/// The same where no route says what was meant: with nothing in it that a terminal or a reader of logs would obey, and cut. A
/// segment as long as a token may be one.
pub(crate) fn written(path: &str) -> String {
    let path = shown(path);
    let segments = path.split('/').map(|segment| cut(segment, SEGMENT_CHARS_MAX, SEGMENT_CHARS_KEPT));
    let whole = segments.collect::<Vec<_>>().join("/");
    let escaped: String = whole.chars().take(PATH_CHARS_MAX + 1).flat_map(escaped).collect();
    cut(&escaped, PATH_CHARS_MAX, PATH_CHARS_MAX)
}

fn cut(text: &str, most: usize, kept: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(kept).chain(['…']).collect()
}

fn escaped(letter: char) -> impl Iterator<Item = char> {
    let is_plain = matches!(letter, ' '..='~' | '…') && letter != '\\';
    let plain = is_plain.then_some(letter);
    plain.into_iter().chain((!is_plain).then(|| letter.escape_default()).into_iter().flatten())
}

impl Call<'_> {
    /// Who asks.
    fn caller(&self, site: &Site) -> Result<Caller, Problem> {
        if let Some(name) = PROOFS.iter().find(|name| self.headers.get_all(**name).iter().count() > 1) {
            return Err(Problem::bad_request(&format!("the header {name} is there more than once")));
        }
        let in_headers = PROOFS.iter().any(|name| self.headers.contains_key(*name));
        let session = self.session(site).filter(|_| self.terms.takes_session && !in_headers);
        let bearer = self.address_token.map(|token| Secret::new(format!("Bearer {}", token.expose())));
        let header = |name: &str| match &bearer {
            Some(bearer) if name == "authorization" => Some(bearer.expose()),
            _ => self.header(name),
        };
        let request = self.signed(&header);
        let (offered, proven) = match (&bearer, session) {
            (Some(_), _) if in_headers => {
                return Err(Problem::bad_request(
                    "a token in the address and a proof in the headers: send one",
                ));
            }
            (Some(_), _) => {
                let proven = site.core.access.identify(&request, site.core.machine_now());
                (Offered::Request(&request), proven.map(access::Caller::in_address))
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
            site.core.metrics.proof(Entry::Http, Proven::Refused);
            Problem::from(denial)
        };
        let who = proven.map_err(refused)?;
        self.note.account(who.account());
        // Whose a request is may not have been known when there was room for its answer.
        if site.core.unsent.of(Who::Account(who.account())).is_full() {
            return Err(Refusal::Busy.into());
        }
        // Last, so that what is refused for want of room may be sent again as it is.
        if self.terms.is_change(self.method) && bearer.is_none() && session.is_none() {
            site.core.access.use_once(&request, site.core.machine_now()).map_err(refused)?;
        }
        site.core.metrics.proof(Entry::Http, Proven::Accepted);
        if let (true, Some(cookie)) = (who.is_browser(), session) {
            self.is_of_our_pages(cookie, site)?;
        }
        let language = Language::parse(self.header("accept-language").unwrap_or_default());
        // The mirrors have no way to opt in: whoever has the right gets overnight hours, and the SDKs leave them out
        // themselves where the user does not want them. Leaving them out here would lose them for those who do.
        let caller = Caller { who, language, overnight: true, entrance: self.region };
        if self.terms.home == Home::OwnRegion {
            site.core.at_home(&caller).inspect_err(|_| self.note_denied(offered, &ELSEWHERE, site))?;
        }
        Ok(caller)
    }

    /// A browser sends its cookie with whatever any page makes it ask. That a page of ours does is known by what browsers say
    /// themselves, where they do; and nothing is changed without the CSRF token that only our pages can read.
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

    /// The cookie of the browser's session, good or not.
    fn session(&self, site: &Site) -> Option<&str> {
        cookies::session(self.header("cookie").unwrap_or_default(), site.is_https())
    }

    /// The CSRF token that a script of our pages has to send with every change; the same for the whole session.
    pub(crate) fn session_csrf_token(&self, site: &Site) -> Option<String> {
        self.session(site).map(|cookie| site.core.access.csrf_token(cookie, CSRF_PURPOSE))
    }

    /// A refused login is written down; that it could not be is no reason to refuse otherwise.
    fn note_denied(&self, offered: Offered<'_>, denial: &Denial, site: &Site) {
        if let Err(error) = site.core.access.note_denied(offered, denial, self.peer.ip(), site.core.moment())
        {
            tracing::error!(%error, "cannot write down a refused login");
        }
    }

    /// What a signature is about.
    pub(crate) fn signed<'a>(&'a self, header: &'a dyn Fn(&str) -> Option<&'a str>) -> SignedRequest<'a> {
        SignedRequest {
            method: self.method.as_str(),
            path: self.path,
            raw_query: self.query,
            header,
            body: self.body,
        }
    }

    /// Lets in whoever asks, for something of a scope, or says why not. There is no other way to learn who asks.
    pub(crate) fn admit(&self, scope: Scope, site: &Site) -> Result<Admitted, Problem> {
        let caller = self.caller(site)?;
        let permit = permit(&caller, scope, site)?;
        Ok(Admitted { caller, permit })
    }

    /// Lets in whoever may see how the service does: at the internal listener and on this machine everybody, else operators.
    pub(crate) fn watcher(&self, site: &Site) -> Result<Watcher, Problem> {
        if self.face != Face::Internal && !self.is_local {
            self.admit(Scope::Operator, site)?;
        }
        Ok(Watcher(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_leads_nowhere_is_written_down_in_plain_letters_and_cut() {
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
        // However it is escaped, it does not grow beyond.
        assert_eq!(written(&"/é/é".repeat(1000)).chars().count(), PATH_CHARS_MAX + 1);
    }

    #[test]
    fn a_path_is_written_down_without_its_token() {
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
    fn a_token_is_one_claim_however_it_is_spelled() {
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
