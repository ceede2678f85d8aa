//! Self-authenticating session ids. A client can reconnect without a database lookup of its
//! session, and session ids survive a restart.
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version: 5, or 6 if signed on with an OAuth token |
//! | 8 | account |
//! | 4 | epoch of the account |
//! | 8 | expiry, Unix milliseconds |
//! | 8 | expiry of the token used to sign on, Unix seconds |
//! | 16 | lineage, random: equal in all ids that descend from one sign-on |
//! | 1 | scopes of the token, as a bit set |
//! | 16 | version 6 only: token family |
//! | 8 | random, so that ids are unique |
//! | 16 | tag: HMAC-SHA256 over all preceding bytes, truncated |
//!
//! Numbers are big-endian, and the whole id is encoded as base64url without padding. Versions 3 and
//! 4 contain no scopes: a version 3 id has all scopes, and a version 4 id has the scopes of an
//! OAuth client. Versions 1 and 2 contain no token expiry and are refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use market::Timestamp;
use store::AccountId;

use crate::connection::Lineage;
use crate::keys::{Keys, TAG_BYTES};
use crate::oauth::Family;
use crate::scope::Scopes;
use crate::secret::random;
use crate::{AccessError, Caller, Denial, Secret};

/// Lifetime of a session id in seconds: one day, or less if the token expires sooner. A session id
/// can be used more than once.
pub const SESSION_LIFE_S: i64 = 86_400;
const VERSION: u8 = 5;
const VERSION_OAUTH: u8 = 6;
/// Versions of session ids issued by the previous release, without and with an OAuth token. These
/// ids stay valid for a day.
const UNSCOPED: u8 = 3;
const UNSCOPED_OAUTH: u8 = 4;
const BODY_BYTES_MAX: usize = 1 + 8 + 4 + 8 + 8 + 16 + 1 + 16 + 8;
const TEXT_MAX: usize = 128;

/// Session that a client uses to reconnect.
#[derive(Clone, Debug)]
pub struct Session {
    pub id: Secret,
    pub expires_at_ms: i64,
}

pub(crate) fn issue(
    keys: &Keys,
    caller: Caller,
    lineage: Lineage,
    now: Timestamp,
) -> Result<Session, AccessError> {
    let expires_at = now.0.saturating_add(SESSION_LIFE_S).min(caller.until().0);
    let expires_at_ms = expires_at.saturating_mul(1_000);
    let mut bytes = Vec::with_capacity(BODY_BYTES_MAX + TAG_BYTES);
    let family = caller.family();
    bytes.push(if family.is_some() { VERSION_OAUTH } else { VERSION });
    bytes.extend(caller.account().0.to_be_bytes());
    bytes.extend(caller.epoch().to_be_bytes());
    bytes.extend(expires_at_ms.to_be_bytes());
    bytes.extend(caller.until().0.to_be_bytes());
    bytes.extend(lineage.0);
    bytes.push(caller.scopes().bits());
    bytes.extend(family.into_iter().flat_map(|family| family.0));
    bytes.extend(random::<8>()?);
    let tag = keys.session_tag(&bytes);
    bytes.extend(tag);
    Ok(Session { id: Secret::new(URL_SAFE_NO_PAD.encode(&bytes)), expires_at_ms })
}

/// Verifies a session id and returns its caller and lineage. Does not check that the account is
/// still active.
pub(crate) fn read(keys: &Keys, id: &str, now: Timestamp) -> Result<(Caller, Lineage), Denial> {
    let invalid = || Denial::TokenInvalid("the session is unknown: authenticate again");
    if id.len() > TEXT_MAX {
        return Err(invalid());
    }
    let bytes = URL_SAFE_NO_PAD.decode(id).map_err(|_| invalid())?;
    let (body, tag) = bytes.split_last_chunk::<TAG_BYTES>().ok_or_else(invalid)?;
    if !keys.is_session_tag(body, tag) {
        return Err(invalid());
    }
    let (caller, expires_at_ms, lineage) = parse(body).ok_or_else(invalid)?;
    if now.0.saturating_mul(1_000) >= expires_at_ms {
        return Err(Denial::TokenExpired("the session has expired: authenticate again"));
    }
    Ok((caller, lineage))
}

fn parse(body: &[u8]) -> Option<(Caller, i64, Lineage)> {
    let (&version, rest) = body.split_first()?;
    let (account, rest) = rest.split_first_chunk::<8>()?;
    let (epoch, rest) = rest.split_first_chunk::<4>()?;
    let (expires, rest) = rest.split_first_chunk::<8>()?;
    let (until, rest) = rest.split_first_chunk::<8>()?;
    let (lineage, rest) = rest.split_first_chunk::<16>()?;
    let (account, epoch) = (AccountId(i64::from_be_bytes(*account)), u32::from_be_bytes(*epoch));
    let caller = Caller::new(account, epoch, Timestamp(i64::from_be_bytes(*until)));
    let (scopes, rest) = match version {
        VERSION | VERSION_OAUTH => {
            let (&bits, rest) = rest.split_first()?;
            (Scopes::of_bits(bits)?, rest)
        }
        UNSCOPED | UNSCOPED_OAUTH => (Scopes::ALL, rest),
        _ => return None,
    };
    let (caller, rest) = match version {
        VERSION_OAUTH | UNSCOPED_OAUTH => {
            let (family, rest) = rest.split_first_chunk::<16>()?;
            (caller.of_family(Family(*family)), rest)
        }
        _ => (caller, rest),
    };
    let caller = caller.within(scopes);
    (rest.len() == 8).then(|| (caller, i64::from_be_bytes(*expires), Lineage(*lineage)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Scope;

    const NOW: Timestamp = Timestamp(1_700_000_000);

    fn caller() -> Caller {
        Caller::new(AccountId(7), 3, Timestamp(NOW.0 + 10 * SESSION_LIFE_S))
    }

    fn keys() -> Keys {
        Keys::create(&Keys::path(tempfile::tempdir().unwrap().path())).unwrap()
    }

    #[test]
    fn a_session_can_be_used_repeatedly_for_a_day() {
        let keys = keys();
        let (caller, lineage) = (caller(), Lineage::new().unwrap());
        let session = issue(&keys, caller, lineage, NOW).unwrap();
        assert_eq!(session.expires_at_ms, (NOW.0 + SESSION_LIFE_S) * 1_000);
        let last = Timestamp(NOW.0 + SESSION_LIFE_S - 1);
        for now in [NOW, last, last] {
            assert_eq!(read(&keys, session.id.expose(), now).unwrap(), (caller, lineage));
        }
        let late = read(&keys, session.id.expose(), Timestamp(NOW.0 + SESSION_LIFE_S));
        assert!(matches!(late, Err(Denial::TokenExpired(_))), "{late:?}");
        let again = issue(&keys, caller, lineage, NOW).unwrap();
        assert_ne!(again.id.expose(), session.id.expose());
    }

    #[test]
    fn a_session_expires_with_its_token_and_has_its_scopes() {
        let (keys, lineage) = (keys(), Lineage::new().unwrap());
        let until = Timestamp(NOW.0 + 100);
        let plain = Caller::new(AccountId(7), 3, until);
        for caller in [
            plain,
            plain.of_family(Family([5; 16])),
            plain.of_family(Family([5; 16])).within(Scopes::NONE.with(Scope::Trade)),
            plain.within(Scopes::ADDRESS),
        ] {
            let session = issue(&keys, caller, lineage, NOW).unwrap();
            assert_eq!(session.expires_at_ms, until.0 * 1_000);
            assert_eq!(read(&keys, session.id.expose(), Timestamp(until.0 - 1)).unwrap(), (caller, lineage));
            let late = read(&keys, session.id.expose(), until);
            assert!(matches!(late, Err(Denial::TokenExpired(_))), "{late:?}");
        }
    }

    #[test]
    fn a_session_from_the_previous_release_gets_default_scopes() {
        let (keys, lineage) = (keys(), Lineage::new().unwrap());
        for (caller, version) in [(caller(), 3), (caller().of_family(Family([5; 16])), 4)] {
            let session = issue(&keys, caller, lineage, NOW).unwrap();
            let mut bytes = URL_SAFE_NO_PAD.decode(session.id.expose()).unwrap();
            bytes.truncate(bytes.len() - TAG_BYTES);
            bytes[0] = version;
            let scopes_at = 1 + 8 + 4 + 8 + 8 + 16;
            bytes.remove(scopes_at);
            bytes.extend(keys.session_tag(&bytes));
            let id = URL_SAFE_NO_PAD.encode(&bytes);
            let expected = (caller.within(Scopes::ALL), lineage);
            assert_eq!(read(&keys, &id, NOW).unwrap(), expected, "version {version}");
        }
    }

    #[test]
    fn a_forged_session_is_refused() {
        let keys = keys();
        let session = issue(&keys, caller(), Lineage::new().unwrap(), NOW).unwrap();
        let bytes = URL_SAFE_NO_PAD.decode(session.id.expose()).unwrap();
        let refuse = |id: &str| {
            let refused = read(&keys, id, NOW);
            assert!(matches!(refused, Err(Denial::TokenInvalid(_))), "{refused:?}");
        };
        for at in 0..bytes.len() {
            let mut bent = bytes.clone();
            bent[at] ^= 0x40;
            refuse(&URL_SAFE_NO_PAD.encode(&bent));
            refuse(&URL_SAFE_NO_PAD.encode(&bytes[..at]));
        }
        refuse("");
        refuse("not base64!");
        refuse(&"A".repeat(100_000));
        assert!(read(&self::keys(), session.id.expose(), NOW).is_err());
    }
}
