//! One-time passwords. A client obtains a password with an HTTP request, and a connection uses the
//! password to sign on as the caller of that request.
//!
//! A single process stores one-time passwords in memory, because they are valid for only a minute.
//! Nodes that share a database store them there ([`store::Shared`]), and `sign_on.rs` redeems them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use store::AccountId;
use zeroize::Zeroizing;

use crate::oauth::Family;
use crate::scope::Scopes;
use crate::secret::random;
use crate::{AccessError, Caller, Denial, Secret};

/// Lifetime of a one-time password.
pub const OTP_LIFE: Duration = Duration::from_secs(60);
/// Time for which passwords are stored, so that an expired password can be distinguished from an
/// unknown one.
const REMEMBERED: Duration = Duration::from_secs(600);
const ALL_MAX: usize = 10_000;
/// Maximum number of passwords per account, so that one account cannot evict the passwords of
/// others.
pub(crate) const OF_ACCOUNT_MAX: u32 = 100;
const TEXT_MAX: usize = 128;

pub(crate) const UNKNOWN: Denial =
    Denial::TokenInvalid("the one-time password is unknown or already used: request a new one");
pub(crate) const EXPIRED: Denial =
    Denial::TokenExpired("the one-time password has expired: request a new one");

#[derive(Debug, Default)]
pub(crate) struct Otps {
    /// Issued passwords in order of issue, which is also the order of expiry. Linear search is fast
    /// enough, because few passwords are stored at any time.
    issued: Mutex<VecDeque<Issued>>,
}

#[derive(Debug)]
struct Issued {
    hash: [u8; 32],
    caller: Caller,
    at: Duration,
}

impl Otps {
    pub(crate) fn issue(&self, caller: Caller, uptime: Duration) -> Result<Secret, AccessError> {
        let otp = new()?;
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        while issued.front().is_some_and(|first| first.at + REMEMBERED <= uptime) {
            issued.pop_front();
        }
        let of_account = |issued: &Issued| issued.caller.account() == caller.account();
        if issued.iter().filter(|one| of_account(one)).count() >= OF_ACCOUNT_MAX as usize
            && let Some(oldest) = issued.iter().position(of_account)
        {
            issued.remove(oldest);
        }
        if issued.len() >= ALL_MAX {
            issued.pop_front();
        }
        issued.push_back(Issued { hash: hash(otp.expose()), caller, at: uptime });
        Ok(otp)
    }

    /// Returns the account that a password was issued to, even if the password has expired. Returns
    /// `None` if the password is unknown, used or evicted.
    pub(crate) fn issued_to(&self, otp: &str) -> Option<AccountId> {
        let hash = hash(otp);
        let issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        issued.iter().find(|one| one.hash == hash).map(|one| one.caller.account())
    }

    /// Passes the caller of a password to `accept`, and consumes the password only if `accept`
    /// succeeds. The lock is held during `accept`, so a second connection with the same password is
    /// refused.
    pub(crate) fn redeem<T>(
        &self,
        otp: &str,
        uptime: Duration,
        accept: impl FnOnce(Caller) -> Result<T, Denial>,
    ) -> Result<T, Denial> {
        let hash = fitting_hash(otp).ok_or(UNKNOWN)?;
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((at, found)) = issued.iter().enumerate().find(|(_, one)| one.hash == hash) else {
            return Err(UNKNOWN);
        };
        if found.at + OTP_LIFE <= uptime {
            return Err(EXPIRED);
        }
        let accepted = accept(found.caller)?;
        issued.remove(at);
        Ok(accepted)
    }
}

pub(crate) fn new() -> Result<Secret, AccessError> {
    let bytes = Zeroizing::new(random::<24>()?);
    Ok(Secret::new(format!("o_{}", URL_SAFE_NO_PAD.encode(bytes.as_slice()))))
}

pub(crate) fn hash(otp: &str) -> [u8; 32] {
    Sha256::digest(otp.as_bytes()).into()
}

/// Returns the hash of a one-time password, or `None` if the text is too long to be one.
pub(crate) fn fitting_hash(otp: &str) -> Option<[u8; 32]> {
    (otp.len() <= TEXT_MAX).then(|| hash(otp))
}

/// Version of the encoded caller. The encoding consists of this byte, the account, the epoch, the
/// token expiry, the scopes, the browser flag and, for an OAuth token, the token family.
const CALLER_VERSION: u8 = 1;

pub(crate) fn write_caller(caller: &Caller) -> Vec<u8> {
    let mut bytes = vec![CALLER_VERSION];
    bytes.extend(caller.account().0.to_be_bytes());
    bytes.extend(caller.epoch().to_be_bytes());
    bytes.extend(caller.until().0.to_be_bytes());
    bytes.push(caller.scopes().bits());
    bytes.push(u8::from(caller.is_browser()));
    bytes.extend(caller.family().into_iter().flat_map(|family| family.0));
    bytes
}

pub(crate) fn read_caller(bytes: &[u8]) -> Option<Caller> {
    let (&CALLER_VERSION, rest) = bytes.split_first()? else { return None };
    let (account, rest) = rest.split_first_chunk::<8>()?;
    let (epoch, rest) = rest.split_first_chunk::<4>()?;
    let (until, rest) = rest.split_first_chunk::<8>()?;
    let ([scopes, is_browser], rest) = rest.split_first_chunk::<2>()?;
    let account = AccountId(i64::from_be_bytes(*account));
    let until = market::Timestamp(i64::from_be_bytes(*until));
    let caller = Caller::new(account, u32::from_be_bytes(*epoch), until);
    let caller = match rest {
        [] => caller,
        family => caller.of_family(Family(family.try_into().ok()?)),
    };
    let caller = if *is_browser == 1 { caller.of_browser() } else { caller };
    Some(caller.within(Scopes::of_bits(*scopes)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(1_000);

    fn caller(id: i64) -> Caller {
        Caller::new(AccountId(id), 0, market::Timestamp(i64::MAX))
    }

    fn redeem(otps: &Otps, otp: &str, at: Duration) -> Result<Caller, Denial> {
        otps.redeem(otp, at, Ok)
    }

    #[test]
    fn a_password_can_be_used_once_within_a_minute() {
        let otps = Otps::default();
        let (first, second) = (otps.issue(caller(1), START).unwrap(), otps.issue(caller(2), START).unwrap());
        let last = START + OTP_LIFE - Duration::from_nanos(1);
        assert_eq!(redeem(&otps, second.expose(), last).unwrap(), caller(2));
        assert_eq!(redeem(&otps, first.expose(), last).unwrap(), caller(1));
        let used = redeem(&otps, first.expose(), last);
        assert!(matches!(used, Err(Denial::TokenInvalid(_))), "{used:?}");
    }

    #[test]
    fn a_stored_caller_round_trips() {
        let plain = caller(7);
        for caller in [
            plain,
            plain.of_browser(),
            plain.of_family(Family([5; 16])),
            plain.of_family(Family([5; 16])).within(Scopes::NONE.with(crate::Scope::Trade)),
        ] {
            assert_eq!(read_caller(&write_caller(&caller)), Some(caller));
        }
        for bad in [&[][..], &[1, 2], &[9; 23], &[1; 24]] {
            assert_eq!(read_caller(bad), None);
        }
    }

    #[test]
    fn an_expired_password_is_distinguished_from_an_unknown_one() {
        let otps = Otps::default();
        let otp = otps.issue(caller(1), START).unwrap();
        let late = redeem(&otps, otp.expose(), START + OTP_LIFE);
        assert!(matches!(late, Err(Denial::TokenExpired(_))), "{late:?}");
        for unknown in ["", "o_", &"o".repeat(10_000)] {
            let unknown = redeem(&otps, unknown, START);
            assert!(matches!(unknown, Err(Denial::TokenInvalid(_))), "{unknown:?}");
        }
    }

    #[test]
    fn a_refused_sign_on_does_not_consume_the_password() {
        let otps = Otps::default();
        let otp = otps.issue(caller(1), START).unwrap();
        let refused: Result<(), _> = otps.redeem(otp.expose(), START, |_| Err(Denial::KeyUnknown));
        assert!(matches!(refused, Err(Denial::KeyUnknown)));
        redeem(&otps, otp.expose(), START).unwrap();
    }

    #[test]
    fn concurrent_sign_ons_consume_a_password_once() {
        let otps = Otps::default();
        let otp = otps.issue(caller(1), START).unwrap();
        let entered: usize = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| redeem(&otps, otp.expose(), START).is_ok())).collect();
            threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum()
        });
        assert_eq!(entered, 1);
    }

    #[test]
    fn one_account_cannot_evict_the_password_of_another() {
        let otps = Otps::default();
        let mine = otps.issue(caller(1), START).unwrap();
        let first = otps.issue(caller(2), START).unwrap();
        let rest: Vec<_> = (0..OF_ACCOUNT_MAX).map(|_| otps.issue(caller(2), START).unwrap()).collect();
        redeem(&otps, mine.expose(), START).unwrap();
        redeem(&otps, first.expose(), START).unwrap_err();
        assert!(rest.iter().all(|otp| redeem(&otps, otp.expose(), START).is_ok()));
    }

    #[test]
    fn stored_passwords_are_bounded_and_old_ones_are_dropped() {
        let otps = Otps::default();
        let length = || otps.issued.lock().unwrap().len();
        for id in 0..ALL_MAX as i64 + 10 {
            // The password is pushed directly, because `issue` searches the queue for the account
            // and would make this test slow.
            let mut issued = otps.issued.lock().unwrap();
            issued.push_back(Issued { hash: [0; 32], caller: caller(id), at: START });
            issued.truncate(ALL_MAX);
        }
        otps.issue(caller(1), START).unwrap();
        assert_eq!(length(), ALL_MAX);
        otps.issue(caller(1), START + REMEMBERED).unwrap();
        assert_eq!(length(), 1);
    }
}
