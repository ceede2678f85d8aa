//! Tests that a request reads the market clock only once, so that all its parts see the same
//! instant. The test clock advances on every read.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use access::{Actor, NewAccount, Role, Terms};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::policy_tests::{CANDLES, PolicyRequest};
use super::routes;
use super::tests::{NOW, connect_from, site_under};
use crate::kit::{Gate, ListenerKind, Site};
use crate::market_clock::tests::Ticking;

/// The one endpoint that reads the clock twice: it also returns the server's current time.
const CLOCK: (&str, &str) = ("GET", "/v1/admin/clock");

/// Sends a request as a new operator account from a new IP address.
async fn send(request: &PolicyRequest, symbol: &str, number: u32, site: &Arc<Site>) -> String {
    let named = NewAccount::named(format!("account {number}"), Terms::default());
    let new = NewAccount { role: Role::Operator, ..named };
    let created = site.core.access.create(&new, &Actor::Operator, NOW).unwrap();
    let token = created.access_token.expose();
    let peer = SocketAddr::from((Ipv4Addr::from_bits(0x0a80_0000 + number), 50_000));
    let mut far = connect_from(peer, None, ListenerKind::Public, site);
    let (path, query) = request.target(token);
    let query = if query.is_empty() { symbol } else { query };
    let header = match request.pattern.contains("{token}") {
        true => String::new(),
        false => format!("authorization: Bearer {token}\r\n"),
    };
    let (method, body) = (request.method, request.body());
    let length = body.len();
    let bytes = format!(
        "{method} {path}?{query} HTTP/1.1\r\nhost: chandler.example\r\nconnection: close\r\n{header}\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    far.write_all(bytes.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    far.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn a_request_over_http_reads_the_market_clock_once() {
    let clock = Arc::new(Ticking::default());
    let (site, _dir) = site_under(clock.clone(), CANDLES);
    let rows = routes::GROUPS.into_iter().flatten().filter(|row| matches!(row.gate, Gate::Permitted(_)));
    let (mut number, mut answered) = (0, 0);
    for row in rows {
        let request = PolicyRequest { method: row.method, pattern: row.path, scope: String::new() };
        for symbol in ["", "symbol=700.HK"] {
            number += 1;
            let before = clock.reads();
            let answer = send(&request, symbol, number, &site).await;
            let expected = if (row.method, row.path) == CLOCK { 2 } else { 1 };
            assert_eq!(clock.reads() - before, expected, "{} {}?{symbol}: {answer}", row.method, row.path);
            answered += u32::from(answer.starts_with("HTTP/1.1 200 "));
        }
    }
    assert!(answered > 100, "{answered} of {number} requests have an answer");
}
