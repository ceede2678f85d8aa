//! Replay protection for signed write requests. A signature is valid for several minutes, so a
//! recorded request could be replayed. Used signatures are therefore stored until they expire.
//!
//! SDKs sign with a resolution of one second, so two equal orders in the same second have the same
//! signature, and so does an immediate retry. A request that may be repeated is therefore accepted
//! again for two seconds.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use market::Timestamp;
use sha2::{Digest, Sha256};
use store::{SignatureLimits, SignatureOutcome};

use crate::signature::TIMESTAMP_TOLERANCE_S;

/// Maximum number of stored signatures per app key. Further writes within ten minutes are refused.
/// A backtest that replays months in an hour sends a few hundred orders per second.
const EACH_MAX: u32 = 100_000;
/// Maximum number of stored signatures of all app keys, which take about 50 MB.
const ALL_MAX: usize = 500_000;
/// Time in seconds after its first use for which a signature may be repeated if
/// [`Repetition::InAMoment`] applies: one second for the resolution of the timestamp and one second
/// for transit.
const AGAIN_S: i64 = 2;

/// Limits per app key, across all nodes. A signature whose timestamp is ahead by the full tolerance
/// stays valid for `kept_s` seconds.
pub(crate) const LIMITS: SignatureLimits =
    SignatureLimits { each_max: EACH_MAX, kept_s: 2 * TIMESTAMP_TOLERANCE_S as i64 + 1 };

/// Whether a client may send the same request twice on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// A repetition is never intended, because the request is idempotent. A repeated signature is
    /// refused as a replay.
    Never,
    /// Two equal requests, such as orders, may both be intended within two seconds.
    InAMoment,
}

/// Result of marking a signature as used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignatureUse {
    Good,
    Again,
    /// The signature is refused, because the table is full.
    NoRoom,
}

#[derive(Debug, Default)]
pub(crate) struct Replays {
    inner: Mutex<SeenSignatures>,
}

#[derive(Debug, Default)]
struct SeenSignatures {
    /// Signatures ordered by expiry, so that expired signatures come first.
    order: BTreeSet<(Timestamp, Fingerprint)>,
    /// App key digest and time of first use of each signature.
    fingerprints: HashMap<Fingerprint, (Key, Timestamp)>,
    each: HashMap<Key, usize>,
}

/// Truncated digest of an app key and a signature, from which neither can be recovered.
type Fingerprint = [u8; 16];
type Key = [u8; 16];

impl Replays {
    /// Marks a verified signature as used, unless it was used before or the table is full.
    pub(crate) fn take(
        &self,
        app_key: &str,
        signature: &[u8; 32],
        repetition: Repetition,
        now: Timestamp,
    ) -> SignatureUse {
        let (key, fingerprint) = fingerprint(app_key, signature);
        let mut seen = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        seen.forget(now);
        if let Some((_, first)) = seen.fingerprints.get(&fingerprint) {
            return used_before(now.0.saturating_sub(first.0), repetition);
        }
        if seen.fingerprints.len() >= ALL_MAX
            || seen.each.get(&key).is_some_and(|count| *count >= EACH_MAX as usize)
        {
            return SignatureUse::NoRoom;
        }
        let until = Timestamp(now.0.saturating_add(LIMITS.kept_s));
        seen.order.insert((until, fingerprint));
        seen.fingerprints.insert(fingerprint, (key, now));
        *seen.each.entry(key).or_default() += 1;
        SignatureUse::Good
    }
}

/// Converts the outcome of the shared database to the result for a request with this `repetition`.
pub(crate) fn judged(outcome: SignatureOutcome, repetition: Repetition) -> SignatureUse {
    match outcome {
        SignatureOutcome::New => SignatureUse::Good,
        SignatureOutcome::Used(age_s) => used_before(age_s, repetition),
        SignatureOutcome::NoRoom => SignatureUse::NoRoom,
    }
}

fn used_before(age_s: i64, repetition: Repetition) -> SignatureUse {
    let is_meant = repetition == Repetition::InAMoment && age_s <= AGAIN_S;
    if is_meant { SignatureUse::Good } else { SignatureUse::Again }
}

/// Returns the digest of the app key, and the digest of the app key together with the signature.
pub(crate) fn fingerprint(app_key: &str, signature: &[u8; 32]) -> (Key, Fingerprint) {
    (digest(&[app_key.as_bytes()]), digest(&[app_key.as_bytes(), signature]))
}

impl SeenSignatures {
    fn forget(&mut self, now: Timestamp) {
        while let Some((until, fingerprint)) = self.order.first().copied()
            && until <= now
        {
            self.order.remove(&(until, fingerprint));
            let Some((key, _)) = self.fingerprints.remove(&fingerprint) else { continue };
            if let Some(count) = self.each.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    self.each.remove(&key);
                }
            }
        }
    }
}

fn digest(parts: &[&[u8]]) -> [u8; 16] {
    let mut sha = Sha256::new();
    for part in parts {
        sha.update(part.len().to_be_bytes());
        sha.update(part);
    }
    let whole: [u8; 32] = sha.finalize().into();
    let mut half = [0; 16];
    half.copy_from_slice(whole.first_chunk::<16>().unwrap_or(&[0; 16]));
    half
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_794_708_000);

    fn signature(number: u64) -> [u8; 32] {
        let mut signature = [7; 32];
        signature[..8].copy_from_slice(&number.to_be_bytes());
        signature
    }

    #[test]
    fn a_signature_can_be_used_once_while_it_is_valid() {
        let replays = Replays::default();
        let first = |key, number, after: i64| {
            replays.take(key, &signature(number), Repetition::Never, Timestamp(NOW.0 + after))
        };
        assert_eq!(first("ann", 1, 0), SignatureUse::Good);
        assert_eq!(first("ann", 1, 0), SignatureUse::Again);
        assert_eq!(first("ann", 2, 1), SignatureUse::Good);
        assert_eq!(first("bob", 1, 1), SignatureUse::Good, "the same of another key is another");
        assert_eq!(first("ann", 1, 600), SignatureUse::Again, "its clock may have been five minutes ahead");
        // After 601 s the signature is invalid for any clock within the tolerance.
        assert_eq!(first("ann", 1, 601), SignatureUse::Good);
        let later = Timestamp(NOW.0 + 10_000);
        assert_eq!(replays.take("cid", &signature(1), Repetition::Never, later), SignatureUse::Good);
        let seen = replays.inner.lock().unwrap();
        assert_eq!(
            (seen.order.len(), seen.fingerprints.len(), seen.each.len()),
            (1, 1, 1),
            "old ones are forgotten"
        );
    }

    #[test]
    fn signatures_are_refused_when_the_table_is_full() {
        let replays = Replays::default();
        let take = |key: &str, signature: &[u8; 32]| replays.take(key, signature, Repetition::Never, NOW);
        for number in 0..u64::from(EACH_MAX) {
            assert_eq!(take("ann", &signature(number)), SignatureUse::Good);
        }
        assert_eq!(take("ann", &signature(u64::MAX)), SignatureUse::NoRoom);
        assert_eq!(take("ann", &signature(0)), SignatureUse::Again);
        assert_eq!(take("bob", &signature(0)), SignatureUse::Good);
    }

    #[test]
    fn a_repeatable_change_may_be_repeated_within_two_seconds() {
        let replays = Replays::default();
        let take =
            |after: i64| replays.take("ann", &signature(1), Repetition::InAMoment, Timestamp(NOW.0 + after));
        assert_eq!([0, 0, 1, 2].map(take), [SignatureUse::Good; 4]);
        assert_eq!([3, 600].map(take), [SignatureUse::Again; 2], "by then it was recorded");
    }
}
