//! Signatures of API-key mode: HMAC-SHA256 over the SHA-1 of the canonical request.

use std::fmt;

use hmac::Mac;
use market::Timestamp;
use sha1::{Digest, Sha1};

use crate::keys::hmac;
use crate::random::hex;
use crate::{Denial, Secret};

/// Maximum difference between the clocks of client and server, in either direction.
pub const TIMESTAMP_TOLERANCE_S: u32 = 300;
const _: () = assert!(TIMESTAMP_TOLERANCE_S == 300, "the message of `check_time` says so");
/// Timestamps from here are in milliseconds. Clients send seconds, with or without a fraction, or
/// milliseconds; seconds stay below this value until the year 5138.
const MILLISECONDS_FROM: f64 = 1e11;
const ALGORITHM: &str = "HMAC-SHA256";
const HEADER_BYTES_MAX: usize = 1_024;
const SIGNED_HEADERS_MAX: usize = 16;

/// A request as received, before decoding or reordering.
pub struct SignedRequest<'a> {
    pub method: &'a str,
    /// Path as on the request line, percent-encoded.
    pub path: &'a str,
    /// Query without the question mark; empty if there is none.
    pub raw_query: &'a str,
    /// Returns the value of a header by its lower-case name.
    pub header: &'a dyn Fn(&str) -> Option<&'a str>,
    pub body: &'a [u8],
}

impl fmt::Debug for SignedRequest<'_> {
    /// Omits query, headers and body, which may contain credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignedRequest({} {})", self.method, self.path)
    }
}

/// A parsed `HMAC-SHA256 SignedHeaders=a;b, Signature=<hex>` header.
struct Signature<'a> {
    headers: &'a str,
    value: [u8; 32],
}

/// Verifies that the request was signed with `secret` within [`TIMESTAMP_TOLERANCE_S`] of `now`.
/// The client chooses which headers it signs, but the app key and the timestamp must be among them,
/// and the access token if one is sent.
pub fn verify_signature(request: &SignedRequest<'_>, secret: &Secret, now: Timestamp) -> Result<(), Denial> {
    let header = (request.header)("x-api-signature")
        .ok_or(Denial::SignatureInvalid("the request is not signed: x-api-signature is missing"))?;
    let signature = Signature::parse(header)?;
    signature.covers("x-api-key")?;
    signature.covers("x-timestamp")?;
    if (request.header)("authorization").is_some() {
        signature.covers("authorization")?;
    }
    let sent_at = (request.header)("x-timestamp").unwrap_or_default();
    check_time(sent_at, now)?;
    let digest = canonical_digest(request, signature.headers)?;
    hmac(secret.expose().as_bytes(), &[ALGORITHM.as_bytes(), b"|", hex(&digest).as_bytes()])
        .verify_slice(&signature.value)
        .map_err(|_| Denial::SignatureInvalid("the signature does not match the request and the app secret"))
}

/// Returns the signature of a request without verifying it.
pub(crate) fn signature_of(request: &SignedRequest<'_>) -> Option<[u8; 32]> {
    (request.header)("x-api-signature").and_then(|text| Signature::parse(text).ok()).map(|found| found.value)
}

impl<'a> Signature<'a> {
    fn parse(text: &'a str) -> Result<Signature<'a>, Denial> {
        let wrong = || {
            Denial::SignatureInvalid(
                "x-api-signature is not of the form: HMAC-SHA256 SignedHeaders=<names>, Signature=<64 hex digits>",
            )
        };
        if text.len() > HEADER_BYTES_MAX {
            return Err(wrong());
        }
        let (algorithm, rest) = text.trim().split_once(' ').ok_or_else(wrong)?;
        if algorithm != ALGORITHM {
            return Err(Denial::SignatureInvalid("the signature is not made with HMAC-SHA256"));
        }
        let (mut headers, mut value) = (None, None);
        for part in rest.split(',') {
            let slot = match part.trim().split_once('=').ok_or_else(wrong)? {
                ("SignedHeaders", text) => (&mut headers, text),
                ("Signature", text) => (&mut value, text),
                _ => continue,
            };
            // Duplicates are ambiguous.
            if slot.0.replace(slot.1).is_some() {
                return Err(wrong());
            }
        }
        let headers = headers.ok_or_else(wrong)?;
        if headers.split(';').count() > SIGNED_HEADERS_MAX {
            return Err(wrong());
        }
        let value = value.and_then(unhex).ok_or_else(wrong)?;
        Ok(Signature { headers, value })
    }

    fn covers(&self, name: &str) -> Result<(), Denial> {
        if self.headers.split(';').any(|header| header.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        Err(Denial::SignatureInvalid(
            "the signature leaves out a header it must cover: authorization, x-api-key or x-timestamp",
        ))
    }
}

/// Returns the SHA-1 of method, path, query, signed headers (one per line), their list, and the
/// SHA-1 of the body, separated by `|`.
fn canonical_digest(request: &SignedRequest<'_>, signed_headers: &str) -> Result<[u8; 20], Denial> {
    let mut sha = Sha1::new();
    for part in [request.method, "|", request.path, "|", request.raw_query, "|"] {
        sha.update(part);
    }
    for name in signed_headers.split(';') {
        let name = name.to_ascii_lowercase();
        let value = (request.header)(&name)
            .ok_or(Denial::SignatureInvalid("the signature names a header that the request does not have"))?;
        for part in [&name, ":", value, "\n"] {
            sha.update(part);
        }
    }
    for part in ["|", signed_headers, "|"] {
        sha.update(part);
    }
    if !request.body.is_empty() {
        sha.update(hex(&Sha1::digest(request.body)));
    }
    Ok(sha.finalize().into())
}

fn check_time(text: &str, now: Timestamp) -> Result<(), Denial> {
    let number = text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let sent_at: f64 = number
        .then(|| text.parse().ok())
        .flatten()
        .ok_or(Denial::SignatureInvalid("x-timestamp is missing or not a Unix time"))?;
    let sent_at = if sent_at >= MILLISECONDS_FROM { sent_at / 1_000.0 } else { sent_at };
    // The precision of `f64` is sufficient for a comparison with the tolerance.
    if (sent_at - now.0 as f64).abs() > f64::from(TIMESTAMP_TOLERANCE_S) {
        return Err(Denial::SignatureInvalid(
            "x-timestamp is more than 300 seconds from the time of the service: set the clock and try again",
        ));
    }
    Ok(())
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let digit = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
}

#[cfg(test)]
#[path = "signature_tests.rs"]
mod tests;
