//! Who may ask for what. Every row is asked for with every proof, by an account of every role, over a connection like a client's, and
//! what comes of it is compared with `policy.txt`, which is to be read as the policy. `UPDATE_EXPECT=1` writes it anew.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use access::{
    ACCESS_TOKEN_LIFE_S, Actor, BROWSER_LIFE_S, ClientProof, Created, Grant, Moment, NewAccount, NewClient,
    Region, Role, Terms,
};
use hmac::{Hmac, KeyInit, Mac};
use market::Timestamp;
use sha1::{Digest, Sha1};
use sha2::Sha256;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::tests::{connect_from, site_with};
use super::{not_offered, routes};
use crate::kit::{Face, Gate, Permitted, Site};

const BACK: &str = "http://localhost:1/back";
const CANDLES: &str =
    "700.HK,2026-11-12,500,501,499,500,1000,500000\n700.HK,2026-11-13,500,501,499,500,1000,500000\n";

const HEADING: &str = "\
Who may ask for what, as a test has found it by asking, at a listener for accounts of the region ap.

yes: let in, whatever else is wrong with the request. A number is the status of the refusal.
plain, operator: accounts of the listener's region. other region: a plain account of the region us.
Forms are sent without the token of the form.
";

/// The order of the tables.
const SCOPES: [&str; 6] = ["none", "quote", "quote or trade", "trade", "account", "operator"];

/// The columns.
const ROLES: [(&str, Role, Region); 3] = [
    ("plain", Role::User, Region::Ap),
    ("operator", Role::Operator, Region::Ap),
    ("other region", Role::User, Region::Us),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Proof {
    Nothing,
    Signature,
    Bearer,
    /// With the scope of the token.
    OAuth(&'static str),
    Session,
    /// Without the token that our pages send besides.
    BareSession,
    Address,
}

/// Whether a proof is still good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    Good,
    Expired,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Outside,
    ThisMachine,
    Internal,
}

/// The rows of the table.
const PROOFS: [(&str, Proof, Age, Place); 18] = [
    ("signature", Proof::Signature, Age::Good, Place::Outside),
    ("bearer", Proof::Bearer, Age::Good, Place::Outside),
    ("OAuth openapi", Proof::OAuth("openapi"), Age::Good, Place::Outside),
    ("OAuth quote", Proof::OAuth("quote"), Age::Good, Place::Outside),
    ("OAuth trade", Proof::OAuth("trade"), Age::Good, Place::Outside),
    ("OAuth account", Proof::OAuth("account"), Age::Good, Place::Outside),
    ("OAuth operator", Proof::OAuth("operator"), Age::Good, Place::Outside),
    ("session", Proof::Session, Age::Good, Place::Outside),
    ("session without x-csrf", Proof::BareSession, Age::Good, Place::Outside),
    ("address", Proof::Address, Age::Good, Place::Outside),
    ("nobody", Proof::Nothing, Age::Good, Place::Outside),
    ("nobody on this machine", Proof::Nothing, Age::Good, Place::ThisMachine),
    ("nobody at the internal listener", Proof::Nothing, Age::Good, Place::Internal),
    ("expired signature", Proof::Signature, Age::Expired, Place::Outside),
    ("expired bearer", Proof::Bearer, Age::Expired, Place::Outside),
    ("expired OAuth", Proof::OAuth("openapi"), Age::Expired, Place::Outside),
    ("expired session", Proof::Session, Age::Expired, Place::Outside),
    ("expired address", Proof::Address, Age::Expired, Place::Outside),
];

/// One thing to ask for.
struct Asked {
    method: &'static str,
    pattern: &'static str,
    /// The scope that its row names.
    scope: String,
}

/// Everything there is to ask for, and of what is not offered one path each.
fn asked() -> Vec<Asked> {
    let rows = routes::GROUPS.into_iter().flatten().map(|row| {
        let scope = match row.gate {
            Gate::Permitted(Permitted { scope, or: Some(or), .. }) => {
                format!("{} or {}", scope.as_str(), or.as_str())
            }
            Gate::Permitted(permitted) => permitted.scope.as_str().to_owned(),
            Gate::Watched(_) => "operator".to_owned(),
            Gate::AtOnce(..) | Gate::Open(..) => "none".to_owned(),
        };
        Asked { method: row.method, pattern: row.path, scope }
    });
    let mut ideas: Vec<(&str, &str, &not_offered::MissingFeature)> = not_offered::paths().collect();
    ideas.dedup_by_key(|(_, _, idea)| idea.what);
    let ideas = ideas.into_iter().map(|(method, pattern, idea)| {
        let scope = idea.scope().as_str().to_owned();
        Asked { method, pattern, scope }
    });
    rows.chain(ideas).collect()
}

impl Asked {
    /// The path and the query of a question that is refused for nothing but who asks, where that is easily had.
    fn target(&self, token: &str) -> (String, &'static str) {
        let segment = |segment: &str| match segment {
            "{symbol}" => "700.HK".to_owned(),
            "{token}" => token.to_owned(),
            other if other.starts_with('{') => "none".to_owned(),
            other => other.to_owned(),
        };
        let path: Vec<String> = self.pattern.split('/').map(segment).collect();
        let query = match self.pattern.rsplit('/').next() {
            Some("history-candlesticks") if self.method == "GET" => "symbol=700.HK&period=day&count=1",
            Some("history") => "symbol=700.HK&resolution=1D&to=1794700000&countback=1",
            Some("symbols" | "marks") => "symbol=700.HK",
            _ => "",
        };
        (path.join("/"), query)
    }

    fn body(&self) -> &'static str {
        match (self.method, self.pattern) {
            ("GET", _) => "",
            (_, "/quote/history-candlesticks") => {
                r#"{"symbol":"700.HK","period":1000,"query_type":1,"offset_request":{"direction":0,"count":1}}"#
            }
            (_, "/quote/candlesticks") => r#"{"symbol":"700.HK","period":1000,"count":1}"#,
            (_, "/quote/intraday") => r#"{"symbol":"700.HK"}"#,
            (_, "/quote/quotes" | "/quote/static-info") => r#"{"symbol":["700.HK"]}"#,
            _ => "{}",
        }
    }

    /// Forms want their own type.
    fn content_type(&self) -> &'static str {
        let is_form = self.scope == "none" && !self.pattern.ends_with("/register");
        if is_form { "application/x-www-form-urlencoded" } else { "application/json" }
    }
}

/// An account, and what it proves itself with.
struct Person {
    created: Created,
    /// Of OAuth or of a browser, where that is the proof.
    secret: String,
}

impl Person {
    fn new(
        number: usize,
        (_, role, region): (&str, Role, Region),
        proof: Proof,
        age: Age,
        site: &Site,
    ) -> Person {
        let (access, now) = (&site.core.access, site.core.machine_now());
        // What has expired was made so long ago that it ended a second ago.
        let begun = |life: i64| match age {
            Age::Good => now,
            Age::Expired => Timestamp(now.0 - life - 1),
        };
        let token_expires_at = (age == Age::Expired).then_some(Timestamp(now.0 - 1));
        let named = NewAccount::named(format!("account {number}"), Terms::default());
        let new = NewAccount { role, region, token_expires_at, ..named };
        let created = access.create(&new, &Actor::Operator, begun(0)).unwrap();
        let secret = match proof {
            Proof::OAuth(scope) => oauth(&created, scope, begun(ACCESS_TOKEN_LIFE_S), site),
            Proof::Session | Proof::BareSession => {
                let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
                let guest = access.sign_in_guest(created.account_id, from, begun(BROWSER_LIFE_S));
                guest.unwrap().unwrap().session.expose().to_owned()
            }
            _ => String::new(),
        };
        Person { created, secret }
    }

    /// The headers of a request that prove who asks.
    fn headers(&self, proof: Proof, asked: &Asked, path: &str, query: &str, site: &Site) -> String {
        let token = self.created.access_token.expose();
        let session = format!("cookie: chandler_session={}\r\n", self.secret);
        match proof {
            Proof::Nothing | Proof::Address => String::new(),
            Proof::Signature => self.signature(asked, path, query, site),
            Proof::Bearer => format!("authorization: Bearer {token}\r\n"),
            Proof::OAuth(_) => format!("authorization: Bearer {}\r\n", self.secret),
            Proof::Session => {
                format!("{session}x-csrf: {}\r\n", site.core.access.csrf_token(&self.secret, "ask"))
            }
            Proof::BareSession => session,
        }
    }

    fn signature(&self, asked: &Asked, path: &str, query: &str, site: &Site) -> String {
        const NAMES: &str = "authorization;x-api-key;x-timestamp";
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let (token, key, now) =
            (self.created.access_token.expose(), &self.created.app_key, site.core.machine_now().0);
        let body = match asked.body() {
            "" => String::new(),
            body => hex(&Sha1::digest(body)),
        };
        let lines = format!("authorization:{token}\nx-api-key:{key}\nx-timestamp:{now}\n");
        let canonical = format!("{}|{path}|{query}|{lines}|{NAMES}|{body}", asked.method);
        let mut mac = Hmac::<Sha256>::new_from_slice(self.created.app_secret.expose().as_bytes()).unwrap();
        mac.update(format!("HMAC-SHA256|{}", hex(&Sha1::digest(canonical))).as_bytes());
        let signature = hex(&mac.finalize().into_bytes());
        format!(
            "authorization: {token}\r\nx-api-key: {key}\r\nx-timestamp: {now}\r\n\
             x-api-signature: HMAC-SHA256 SignedHeaders={NAMES}, Signature={signature}\r\n"
        )
    }
}

/// A token of OAuth with a scope, also one that clients cannot ask for yet.
fn oauth(created: &Created, scope: &str, at: Timestamp, site: &Site) -> String {
    let (access, moment) = (&site.core.access, Moment { now: at, uptime: site.core.uptime() });
    // Whoever registers many clients is made to wait.
    let from = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + u32::try_from(created.account_id.0).unwrap()));
    let new = NewClient {
        name: Some("policy".to_owned()),
        redirect_uris: vec![BACK.to_owned()],
        ..NewClient::default()
    };
    let client = access.register_client(&new, from, moment).unwrap().client;
    let query = format!("response_type=code&client_id={}", client.id);
    let mut request = access.check_authorization(&query).unwrap();
    request.scope = scope.to_owned();
    let back = access.approve_authorization(&request, created.account_id, at).unwrap();
    let code = back.split_once("code=").unwrap().1.split('&').next().unwrap();
    let grant = Grant::Code { code, redirect_uri: None, verifier: None };
    let tokens = access.redeem(&ClientProof { id: &client.id, secret: None }, &grant, None, moment).unwrap();
    tokens.access_token.expose().to_owned()
}

/// What somebody is told.
async fn told(
    asked: &Asked,
    proof: Proof,
    from: Place,
    person: &Person,
    peer: u32,
    site: &Arc<Site>,
) -> String {
    let is_keyed = asked.pattern.contains("{token}");
    let token = person.created.access_token.expose();
    let (path, query) = asked.target(if proof == Proof::Address { token } else { "none" });
    let query = match query {
        query if proof != Proof::Address || is_keyed => query.to_owned(),
        "" => format!("access_token={token}"),
        query => format!("{query}&access_token={token}"),
    };
    let (face, host) = match from {
        Place::Outside => (Face::Public, "chandler.example"),
        Place::ThisMachine => (Face::Public, "localhost"),
        Place::Internal => (Face::Internal, "chandler.example"),
    };
    // Everybody outside has an address of their own, so that nobody is kept waiting for the refusals of others.
    let peer = if from == Place::ThisMachine {
        Ipv4Addr::LOCALHOST
    } else {
        Ipv4Addr::from_bits(0x0a80_0000 + peer)
    };
    let mut far = connect_from(SocketAddr::from((peer, 50_000)), Some(Region::Ap), face, site);
    let (method, body, content_type) = (asked.method, asked.body(), asked.content_type());
    let headers = person.headers(proof, asked, &path, &query, site);
    let question = if query.is_empty() { "" } else { "?" };
    let length = body.len();
    let request = format!(
        "{method} {path}{question}{query} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\
         content-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    far.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    far.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.split(' ').nth(1).unwrap();
    let is_refused = ["401", "403"].contains(&status)
        // The internal listener has little to show; two proofs at once are none.
        || (status == "404" && from == Place::Internal)
        || (status == "400" && answer.contains("send one"));
    // Datafeeds are told in the body.
    let is_foreign = answer.contains("\"s\":\"error\"") && answer.contains("this account is of region");
    assert_ne!(status, "500", "{method} {path}: {answer}");
    match status {
        status if is_refused => status.to_owned(),
        _ if is_foreign => "no".to_owned(),
        _ => "yes".to_owned(),
    }
}

/// What all are told about one thing to ask for, equal lines once, those of most at the end.
fn matrix(outcomes: &[[String; ROLES.len()]]) -> String {
    let mut lines: Vec<(&[String; ROLES.len()], Vec<&str>)> = Vec::new();
    for (cells, (name, ..)) in outcomes.iter().zip(PROOFS) {
        match lines.iter_mut().find(|(known, _)| *known == cells) {
            Some((_, names)) => names.push(name),
            None => lines.push((cells, vec![name])),
        }
    }
    lines.sort_by_key(|(_, names)| names.len() > PROOFS.len() / 2);
    let [one, two, three] = ROLES.map(|(name, ..)| name);
    let mut text = format!("    {one:<8}{two:<10}{three}\n");
    for ([one, two, three], names) in lines {
        let names = match names.len() {
            count if count == PROOFS.len() => "all".to_owned(),
            count if count > PROOFS.len() / 2 => "all others".to_owned(),
            _ => names.join(", "),
        };
        writeln!(text, "    {one:<8}{two:<10}{three:<14}{names}").unwrap();
    }
    text
}

#[tokio::test]
async fn every_row_lets_in_whom_the_policy_names() {
    let (site, _dir) = site_with(CANDLES);
    let all = asked();
    let mut outcomes = vec![vec![<[String; ROLES.len()]>::default(); PROOFS.len()]; all.len()];
    let (mut number, mut peer) = (0, 0);
    for (line, (_, proof, age, from)) in PROOFS.into_iter().enumerate() {
        for (column, role) in ROLES.into_iter().enumerate() {
            number += 1;
            let person = Person::new(number, role, proof, age, &site);
            for (asked, outcomes) in all.iter().zip(&mut outcomes) {
                peer += 1;
                outcomes[line][column] = told(asked, proof, from, &person, peer, &site).await;
            }
        }
    }
    // What all are told the same about stands together.
    let mut groups: Vec<(&str, String, Vec<String>)> = Vec::new();
    for (asked, outcomes) in all.iter().zip(&outcomes) {
        let (matrix, row) = (matrix(outcomes), format!("{} {}", asked.method, asked.pattern));
        match groups.iter_mut().find(|(scope, known, _)| *scope == asked.scope && *known == matrix) {
            Some((_, _, rows)) => rows.push(row),
            None => groups.push((asked.scope.as_str(), matrix, vec![row])),
        }
    }
    groups.sort_by_key(|(scope, ..)| SCOPES.iter().position(|known| known == scope));
    let mut policy = HEADING.to_owned();
    for (scope, matrix, rows) in groups {
        write!(policy, "\nscope: {scope}\n{}\n{matrix}", rows.join("\n")).unwrap();
    }
    expect_test::expect_file!["policy.txt"].assert_eq(&policy);
}
