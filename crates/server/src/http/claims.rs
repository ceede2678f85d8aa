//! Which account a request is probably of, before its proof is checked: that decides with whom it takes turns, and how much of it
//! is read. A claim is the secret of a proof that was good a moment ago, so that nobody can make one in another's
//! name; that it was good then is no proof, and each request is still asked for one.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hyper::header::{AUTHORIZATION, COOKIE};
use hyper::http::request::Parts;

use super::proof;
use crate::pages;
use crate::services::Services;
use crate::workers::Share;

/// Claims kept before all are forgotten: only good proofs become any.
const KEPT_MAX: usize = 16_384;
/// How long a claim is not looked at again: what an account may have can be changed.
const FRESH_FOR: Duration = Duration::from_secs(5);
/// How long it counts for anything.
const KEPT_FOR: Duration = Duration::from_secs(600);

/// The secret of a request's proof, as a number with which it cannot be found again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim(u64);

/// Claims and whose they are.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    keys: RandomState,
    known: Mutex<HashMap<Claim, (Share, Duration)>>,
}

impl Claims {
    /// What a request brings along as proof, if anything. One secret is one claim, however it is spelled.
    pub(super) fn of(&self, parts: &Parts, services: &Services) -> Option<Claim> {
        let text = |name| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let in_header = || text(AUTHORIZATION).map(|value| token(value).into());
        let in_cookie = || pages::session(text(COOKIE)?, services).map(Cow::from);
        let in_address = || proof::in_address(parts.uri.path(), parts.uri.query().unwrap_or_default());
        let secret = in_header().or_else(in_cookie).or_else(in_address)?;
        Some(Claim(self.keys.hash_one(secret)))
    }

    /// Whose a claim was when it was last good.
    pub(super) fn find(&self, claim: Claim, uptime: Duration) -> Option<Share> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&claim).filter(|(_, since)| uptime < *since + KEPT_FOR).map(|(share, _)| *share)
    }

    fn is_fresh(&self, claim: Claim, uptime: Duration) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&claim).is_some_and(|(_, since)| uptime < *since + FRESH_FOR)
    }

    /// Remembers a claim that was good.
    pub(super) fn learn(&self, claim: Claim, account: access::AccountId, services: &Services) {
        let uptime = services.uptime();
        if self.is_fresh(claim, uptime) {
            return;
        }
        // What cannot be looked up now is learnt with the next request.
        let Ok(Some(account)) = services.access.account(account) else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KEPT_MAX && !known.contains_key(&claim) {
            known.retain(|_, (_, since)| uptime < *since + KEPT_FOR);
            if known.len() >= KEPT_MAX {
                known.clear();
            }
        }
        known.insert(claim, (services.share(&account), uptime));
    }
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

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn a_token_is_one_claim_however_it_is_spelled() {
        let (services, _dir) = super::super::tests::services();
        let claims = Claims::default();
        let of = |path: &str, authorization: Option<&str>| {
            let request = Request::get(path);
            let request = match authorization {
                Some(value) => request.header(AUTHORIZATION, value),
                None => request,
            };
            claims.of(&request.body(()).unwrap().into_parts().0, &services)
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
