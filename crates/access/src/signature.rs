//! Request signatures of API-key mode: HMAC-SHA256 over the SHA-1 of the canonical request.

use std::fmt;

use hmac::Mac;
use market::Timestamp;
use sha1::{Digest, Sha1};

use crate::keys::hmac;
use crate::secret::hex;
use crate::{Denial, Secret};

/// Maximum difference in seconds between the clocks of client and server, in either direction.
pub const TIMESTAMP_TOLERANCE_S: u32 = 300;
const _: () = assert!(TIMESTAMP_TOLERANCE_S == 300, "the message of `check_time` says so");
/// Timestamps of at least this value are in milliseconds. Clients send seconds, with or without a
/// fraction, or milliseconds. Timestamps in seconds stay below this value until the year 5138.
const MILLISECONDS_FROM: f64 = 1e11;
const ALGORITHM: &str = "HMAC-SHA256";
const HEADER_BYTES_MAX: usize = 1_024;
const SIGNED_HEADERS_MAX: usize = 16;

/// A request as received, before decoding or reordering.
pub struct SignedRequest<'a> {
    pub method: &'a str,
    /// Path as on the request line, percent-encoded.
    pub path: &'a str,
    /// Query string without the question mark, or empty if there is none.
    pub raw_query: &'a str,
    /// Function that returns the value of a header by its lower-case name.
    pub header: &'a dyn Fn(&str) -> Option<&'a str>,
    pub body: &'a [u8],
}

impl fmt::Debug for SignedRequest<'_> {
    /// Omits the query, headers and body, which may contain credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignedRequest({} {})", self.method, self.path)
    }
}

/// A parsed `HMAC-SHA256 SignedHeaders=a;b, Signature=<hex>` header.
struct Signature<'a> {
    headers: &'a str,
    value: [u8; 32],
}

/// Verifies that a request was signed with `secret` within [`TIMESTAMP_TOLERANCE_S`] seconds of
/// `now`. The client chooses which headers to sign, but they must include the app key, the
/// timestamp and, if it is sent, the access token.
pub fn verify_signature(request: &SignedRequest<'_>, secret: &Secret, now: Timestamp) -> Result<(), Denial> {
    verify(request, secret, |sent_at| check_time(sent_at, now))
}

/// Like [`verify_signature`], but for any time at which the request may have been signed.
pub(crate) fn verify_undated(request: &SignedRequest<'_>, secret: &Secret) -> Result<(), Denial> {
    verify(request, secret, |_| Ok(()))
}

fn verify(
    request: &SignedRequest<'_>,
    secret: &Secret,
    check_time: impl Fn(&str) -> Result<(), Denial>,
) -> Result<(), Denial> {
    let header = (request.header)("x-api-signature")
        .ok_or(Denial::SignatureInvalid("the request is not signed: x-api-signature is missing"))?;
    let signature = Signature::parse(header)?;
    signature.covers("x-api-key")?;
    signature.covers("x-timestamp")?;
    if (request.header)("authorization").is_some() {
        signature.covers("authorization")?;
    }
    let sent_at = (request.header)("x-timestamp").unwrap_or_default();
    check_time(sent_at)?;
    let digest = canonical_digest(request, signature.headers)?;
    hmac(secret.expose().as_bytes(), &[ALGORITHM.as_bytes(), b"|", hex(&digest).as_bytes()])
        .verify_slice(&signature.value)
        .map_err(|_| Denial::SignatureInvalid("the signature does not match the request and the app secret"))
}

/// Returns the signature of a request without verifying it, or `None` if it is missing or
/// malformed.
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
            // A duplicate would be ambiguous.
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
            "the signature does not cover a required header: authorization, x-api-key or x-timestamp",
        ))
    }
}

/// Returns the SHA-1 of the canonical request: method, path, query, signed headers (one per line),
/// list of signed headers, and SHA-1 of the body, separated by `|`.
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
    // The precision of `f64` is sufficient for the comparison with the tolerance.
    if (sent_at - now.0 as f64).abs() > f64::from(TIMESTAMP_TOLERANCE_S) {
        return Err(Denial::SignatureInvalid(
            "x-timestamp differs from the server time by more than 300 seconds: set the clock and try again",
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
mod tests {
    use super::*;

    const SECRET: &str = "secret_demo_0001";
    const LIST: &str = "authorization;x-api-key;x-timestamp";
    const SENT: Timestamp = Timestamp(1_700_000_000);
    const S1: &str = "c42668a9e5b8f8655209e5a11d7c9b7910366acdec94755395a1a204add90c54";
    const S2: &str = "b32d86e64adbcceea2529a94a876d8780bdee447e07606628598f11437f708e5";
    const S3: &str = "2a9abebe10d3b958a584f5f1ba6ad1079963b658b0bc8fe2b375cd74d6fbbdda";
    const S2_BODY: &str = r#"{"adjust_type":0,"date_request":{"end_date":"20230201","start_date":"20230101"},"period":1000,"query_type":2,"symbol":"AAPL.US","trade_session":100}"#;

    /// A test request with a request line (`GET /path?query`), headers and a body.
    struct Sent {
        line: String,
        headers: Vec<(String, String)>,
        body: String,
    }

    impl Sent {
        fn new(line: &str, body: &str, signature: &str) -> Sent {
            let headers = [
                ("authorization", "tok_demo_0001".to_owned()),
                ("x-api-key", "key_demo_0001".to_owned()),
                ("x-timestamp", "1700000000".to_owned()),
                ("x-api-signature", format!("HMAC-SHA256 SignedHeaders={LIST}, Signature={signature}")),
            ];
            let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            Sent { line: line.to_owned(), headers, body: body.to_owned() }
        }

        fn with(mut self, name: &str, value: &str) -> Sent {
            self.headers.retain(|(known, _)| known != name);
            self.headers.push((name.to_owned(), value.to_owned()));
            self
        }

        fn without(mut self, name: &str) -> Sent {
            self.headers.retain(|(known, _)| known != name);
            self
        }

        /// Signs the request with the headers in `list`.
        fn signed(self, list: &str) -> Sent {
            let digest = self.ask(|request| canonical_digest(request, list).unwrap());
            let mac = hmac(SECRET.as_bytes(), &[b"HMAC-SHA256|", hex(&digest).as_bytes()]);
            let signature = hex(&mac.finalize().into_bytes());
            self.with("x-api-signature", &format!("HMAC-SHA256 SignedHeaders={list}, Signature={signature}"))
        }

        fn ask<T>(&self, ask: impl FnOnce(&SignedRequest<'_>) -> T) -> T {
            let (method, target) = self.line.split_once(' ').unwrap();
            let (path, raw_query) = target.split_once('?').unwrap_or((target, ""));
            let header = |name: &str| {
                self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
            };
            ask(&SignedRequest { method, path, raw_query, header: &header, body: self.body.as_bytes() })
        }

        fn verify(&self) -> Result<(), Denial> {
            self.verify_at(SENT)
        }

        fn verify_at(&self, now: Timestamp) -> Result<(), Denial> {
            self.ask(|request| verify_signature(request, &Secret::new(SECRET.to_owned()), now))
        }
    }

    #[track_caller]
    fn refused(sent: &Sent) -> &'static str {
        match sent.verify() {
            Err(Denial::SignatureInvalid(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    fn s1() -> Sent {
        Sent::new("GET /v1/socket/token", "", S1)
    }

    #[test]
    fn documented_signatures_are_accepted() {
        for (line, body, digest, signature) in [
            ("GET /v1/socket/token", "", "3f255238ec8455d6d59140dd2f5cf63791a9ab48", S1),
            ("POST /quote/history-candlesticks", S2_BODY, "5024a3a43db6eaf6813d5a7519eeb52e805e17c5", S2),
            (
                "GET /v1/quote/get_security_list?market=US&category=Overnight",
                "",
                "b75b88e0f90f51b092b055897c866f60e8515f87",
                S3,
            ),
        ] {
            let sent = Sent::new(line, body, signature);
            let canonical = sent.ask(|request| canonical_digest(request, LIST).unwrap());
            assert_eq!(hex(&canonical), digest, "{line}");
            sent.verify().unwrap();
        }
    }

    #[test]
    fn a_modified_request_is_refused() {
        let mismatch = "the signature does not match the request and the app secret";
        assert_eq!(refused(&Sent::new("POST /v1/socket/token", "", S1)), mismatch);
        assert_eq!(refused(&Sent::new("GET /v2/socket/token", "", S1)), mismatch);
        assert_eq!(refused(&Sent::new("GET /v1/socket/token?a=1", "", S1)), mismatch);
        assert_eq!(refused(&Sent::new("GET /v1/socket/token", "x", S1)), mismatch);
        assert_eq!(refused(&s1().with("authorization", "tok_demo_0002")), mismatch);
        assert_eq!(refused(&s1().with("x-api-key", "key_demo_0002")), mismatch);
        assert_eq!(refused(&s1().with("x-timestamp", "1700000001")), mismatch);
        let query = "GET /v1/quote/get_security_list?category=Overnight&market=US";
        assert_eq!(refused(&Sent::new(query, "", S3)), mismatch, "the query is not put in order");
        let other = s1().ask(|request| verify_signature(request, &Secret::new("other".to_owned()), SENT));
        assert!(matches!(other, Err(Denial::SignatureInvalid(_))));
    }

    #[test]
    fn a_signature_with_one_wrong_digit_is_refused() {
        for at in 0..S1.len() {
            let mut wrong = S1.as_bytes().to_vec();
            wrong[at] = if wrong[at] == b'0' { b'1' } else { b'0' };
            refused(&Sent::new("GET /v1/socket/token", "", std::str::from_utf8(&wrong).unwrap()));
        }
    }

    #[test]
    fn timestamps_in_all_formats_are_accepted_within_five_minutes() {
        for text in ["1700000000", "1700000000.5", "1700000000500", "1700000000000"] {
            let sent = s1().with("x-timestamp", text).signed(LIST);
            sent.verify_at(Timestamp(SENT.0 - 299)).unwrap();
            sent.verify_at(Timestamp(SENT.0 + 300)).unwrap();
            sent.verify_at(Timestamp(SENT.0 - 301)).unwrap_err();
            sent.verify_at(Timestamp(SENT.0 + 302)).unwrap_err();
        }
        for text in [
            "",
            "now",
            "1.7e9",
            "inf",
            "NaN",
            "-1700000000",
            "1.2.3",
            "0x10",
            "17000000000000000000000000000000000",
        ] {
            let why = refused(&s1().with("x-timestamp", text).signed(LIST));
            assert_eq!(why, "x-timestamp is missing or not a Unix time", "{text}");
        }
    }

    #[test]
    fn the_app_key_timestamp_and_token_must_be_signed() {
        let left_out =
            "the signature does not cover a required header: authorization, x-api-key or x-timestamp";
        for list in
            ["authorization;x-api-key", "authorization;x-timestamp", "x-api-key;x-timestamp", "authorization"]
        {
            assert_eq!(refused(&s1().signed(list)), left_out, "{list}");
        }
        // A request without a token has no authorization header to sign.
        s1().without("authorization").signed("x-api-key;x-timestamp").verify().unwrap();
        // The client may sign additional headers, in any order.
        let more = s1()
            .with("content-type", "application/json")
            .signed("x-timestamp;x-api-key;content-type;authorization");
        more.verify().unwrap();
        refused(&more.with("content-type", "text/plain"));
    }

    #[test]
    fn a_malformed_signature_header_is_refused() {
        let good = format!("HMAC-SHA256 SignedHeaders={LIST}, Signature={S1}");
        s1().with("x-api-signature", &good).verify().unwrap();
        for (text, why) in [
            (String::new(), "not of the form"),
            (good.replace("SHA256", "SHA1"), "not made with HMAC-SHA256"),
            (good.replace("HMAC-SHA256", "HMAC-MD5"), "not made with HMAC-SHA256"),
            (good.replace(", ", " "), "not of the form"),
            (good.replace("Signature=", "Sign="), "not of the form"),
            (format!("HMAC-SHA256 Signature={S1}"), "not of the form"),
            (good.replace(S1, &S1[1..]), "not of the form"),
            (good.replace(S1, &S1.replace('c', "g")), "not of the form"),
            (good.replace(S1, &format!("{S1}00")), "not of the form"),
            (format!("{good}, Signature={S1}"), "not of the form"),
            (good.replace(LIST, &format!("{LIST};x-missing")), "does not have"),
            (good.replace(LIST, &format!("{LIST}{}", ";x-api-key".repeat(20))), "not of the form"),
            (good.replace(LIST, &"x".repeat(2_000)), "not of the form"),
        ] {
            let given = refused(&s1().with("x-api-signature", &text));
            assert!(given.contains(why), "{text:?}: {given}");
        }
        assert!(refused(&s1().without("x-api-signature")).contains("not signed"));
    }

    proptest::proptest! {
        #[test]
        fn a_malformed_signature_header_does_not_panic(text in ".{0,80}", list in "[a-z;=, -]{0,40}") {
            s1().with("x-api-signature", &text).verify().unwrap_err();
            let half = format!("HMAC-SHA256 SignedHeaders={list}, Signature={S1}");
            if list != LIST {
                s1().with("x-api-signature", &half).verify().unwrap_err();
            }
        }
    }
}
