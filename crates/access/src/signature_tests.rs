use super::*;

const SECRET: &str = "secret_demo_0001";
const LIST: &str = "authorization;x-api-key;x-timestamp";
const SENT: Timestamp = Timestamp(1_700_000_000);
const S1: &str = "c42668a9e5b8f8655209e5a11d7c9b7910366acdec94755395a1a204add90c54";
const S2: &str = "b32d86e64adbcceea2529a94a876d8780bdee447e07606628598f11437f708e5";
const S3: &str = "2a9abebe10d3b958a584f5f1ba6ad1079963b658b0bc8fe2b375cd74d6fbbdda";
const S2_BODY: &str = r#"{"adjust_type":0,"date_request":{"end_date":"20230201","start_date":"20230101"},"period":1000,"query_type":2,"symbol":"AAPL.US","trade_session":100}"#;

/// A test request: request line (`GET /path?query`), headers and body.
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

    /// Signs the request over these headers.
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
fn documented_examples_verify() {
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
fn any_change_in_transit_breaks_the_signature() {
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
fn a_single_wrong_digit_is_refused() {
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
fn key_timestamp_and_token_must_be_signed() {
    let left_out = "the signature leaves out a header it must cover: authorization, x-api-key or x-timestamp";
    for list in
        ["authorization;x-api-key", "authorization;x-timestamp", "x-api-key;x-timestamp", "authorization"]
    {
        assert_eq!(refused(&s1().signed(list)), left_out, "{list}");
    }
    // A request without a token has none to sign.
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
    /// A malformed header must not panic.
    #[test]
    fn a_malformed_signature_header_does_not_panic(text in ".{0,80}", list in "[a-z;=, -]{0,40}") {
        s1().with("x-api-signature", &text).verify().unwrap_err();
        let half = format!("HMAC-SHA256 SignedHeaders={list}, Signature={S1}");
        if list != LIST {
            s1().with("x-api-signature", &half).verify().unwrap_err();
        }
    }
}
