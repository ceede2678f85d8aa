//! User passwords, stored as Argon2id hashes.
//!
//! A hash takes 19 MiB and some milliseconds by design, so clients that trigger hashes could
//! exhaust the machine. Two hashes run concurrently, up to sixteen more wait, and further requests
//! are refused as busy.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};

use crate::secret::random;
use crate::{AccessError, Secret};

pub const PASSWORD_BYTES_MIN: usize = 8;
/// Maximum length of a password in bytes. The limit is far above any real password and bounds the
/// cost of hashing.
pub const PASSWORD_BYTES_MAX: usize = 1_024;

const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;

/// Hash that is verified for a name without a password, so that the check takes as long as for an
/// account with a password. No password is known to match this hash, and even a match is refused.
const UNKNOWN_ACCOUNT_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5J3Mgc2FsdDE2Ng$3Hq8m0yYQz1Zb6iQyYk0bYFJw2o9o2wq7m0jz8iYy2M";

/// Maximum number of concurrent hashes, each of which takes 19 MiB.
const AT_ONCE: usize = 2;
/// Maximum number of waiting hashes, each of which blocks a thread. Sixteen hashes take a fraction
/// of a second.
const WAITING_MAX: usize = 16;
const WAIT_MAX: Duration = Duration::from_secs(5);

/// The password was not hashed, because too many hashes are running or waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy;

#[derive(Debug, Default)]
pub(crate) struct HashLimiter {
    inner: Mutex<HashLoad>,
    free: Condvar,
}

#[derive(Debug, Default)]
struct HashLoad {
    working: usize,
    waiting: usize,
}

/// Permission to compute one hash, released on drop.
struct HashPermit<'a>(&'a HashLimiter);

impl Drop for HashPermit<'_> {
    fn drop(&mut self) {
        self.0.inner.lock().unwrap_or_else(PoisonError::into_inner).working -= 1;
        self.0.free.notify_one();
    }
}

impl HashLimiter {
    fn enter(&self) -> Result<HashPermit<'_>, Busy> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.working >= AT_ONCE {
            if inner.waiting >= WAITING_MAX {
                return Err(Busy);
            }
            inner.waiting += 1;
            let full = |inner: &mut HashLoad| inner.working >= AT_ONCE;
            let (mut after, _) =
                self.free.wait_timeout_while(inner, WAIT_MAX, full).unwrap_or_else(PoisonError::into_inner);
            after.waiting -= 1;
            if after.working >= AT_ONCE {
                return Err(Busy);
            }
            inner = after;
        }
        inner.working += 1;
        Ok(HashPermit(self))
    }

    /// Verifies a password against a hash. If `hash` is `None`, does the same work and returns
    /// `false`.
    pub(crate) fn verify(&self, password: &Secret, hash: Option<&str>) -> Result<bool, Busy> {
        let _place = self.enter()?;
        let same = PasswordHash::new(hash.unwrap_or(UNKNOWN_ACCOUNT_HASH))
            .is_ok_and(|known| argon2().verify_password(password.expose().as_bytes(), &known).is_ok());
        Ok(same && hash.is_some())
    }

    /// Validates and hashes a password sent over the network, within the limit on concurrent
    /// hashes.
    pub(crate) fn hash(&self, password: &Secret) -> Result<Result<String, AccessError>, Busy> {
        // An invalid password is refused before it takes a hash permit.
        if let Err(unfit) = check(password) {
            return Ok(Err(unfit));
        }
        let _place = self.enter()?;
        Ok(hash(password))
    }
}

/// Validates a new password and hashes it with a random salt.
pub(crate) fn hash(password: &Secret) -> Result<String, AccessError> {
    check(password)?;
    let salt = random::<SALT_BYTES>()?;
    let hashed = argon2().hash_password_with_salt(password.expose().as_bytes(), &salt);
    Ok(hashed.map_err(|_| AccessError::Password("it cannot be hashed"))?.to_string())
}

fn check(password: &Secret) -> Result<(), AccessError> {
    const _: () =
        assert!(PASSWORD_BYTES_MIN == 8 && PASSWORD_BYTES_MAX == 1_024, "the messages below say so");
    let reason = match password.expose() {
        short if short.len() < PASSWORD_BYTES_MIN => "it has fewer than 8 bytes",
        long if long.len() > PASSWORD_BYTES_MAX => "it has more than 1024 bytes",
        // Browsers drop or change control characters.
        text if text.chars().any(char::is_control) => "it has control characters",
        _ => return Ok(()),
    };
    Err(AccessError::Password(reason))
}

fn argon2() -> Argon2<'static> {
    // The fallback to the default is never used, because the parameters are within Argon2's limits.
    // A test checks the parameters of a hash.
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text.to_owned())
    }

    #[test]
    fn a_password_matches_only_its_own_hash() {
        let hashing = HashLimiter::default();
        let (one, two) = (hash(&secret("correct horse")).unwrap(), hash(&secret("correct horse")).unwrap());
        assert!(one.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{one}");
        assert_ne!(one, two, "each has a salt of its own");
        assert_eq!(hashing.verify(&secret("correct horse"), Some(&one)), Ok(true));
        for wrong in ["", "correct hors", "correct horse ", "Correct horse"] {
            assert_eq!(hashing.verify(&secret(wrong), Some(&one)), Ok(false), "{wrong:?}");
        }
        assert_eq!(hashing.verify(&secret("correct horse"), Some("no hash at all")), Ok(false));
    }

    #[test]
    fn an_account_without_a_password_is_verified_with_the_same_work() {
        let known = PasswordHash::new(UNKNOWN_ACCOUNT_HASH).unwrap();
        let real = hash(&secret("correct horse")).unwrap();
        let real = PasswordHash::new(&real).unwrap();
        assert_eq!((known.algorithm, known.version), (real.algorithm, real.version));
        assert_eq!(known.params, real.params);
        assert_eq!(known.hash.unwrap().len(), real.hash.unwrap().len());
        assert_eq!(HashLimiter::default().verify(&secret("anything"), None), Ok(false));
    }

    #[test]
    fn passwords_must_have_8_to_1024_bytes_and_no_control_characters() {
        for good in ["12345678", "蠟燭臺", &"x".repeat(1_024)] {
            check(&secret(good)).unwrap();
        }
        for bad in ["", "1234567", &"x".repeat(1_025), "12345678\n", "1234\u{0}5678"] {
            let error = check(&secret(bad)).unwrap_err().to_string();
            assert!(bad.is_empty() || !error.contains(bad), "{error}");
        }
    }

    #[test]
    fn hashes_beyond_two_running_and_sixteen_waiting_are_refused() {
        let hashing = HashLimiter::default();
        let (first, second) = (hashing.enter().unwrap(), hashing.enter().unwrap());
        let all = Barrier::new(WAITING_MAX + 1);
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (0..WAITING_MAX)
                .map(|_| {
                    scope.spawn(|| {
                        all.wait();
                        hashing.enter().is_ok()
                    })
                })
                .collect();
            all.wait();
            while hashing.inner.lock().unwrap().waiting < WAITING_MAX {
                std::thread::yield_now();
            }
            assert!(hashing.enter().is_err_and(|busy| busy == Busy));
            drop((first, second));
            assert!(waiting.into_iter().all(|one| one.join().unwrap()));
        });
        let inner = hashing.inner.lock().unwrap();
        assert_eq!((inner.working, inner.waiting), (0, 0));
    }
}
