//! Listeners for single regions, and accounts of other regions.

use std::net::SocketAddr;

use access::{Actor, Created, NewAccount, Region, Terms};
use serde_json::json;
use server::Settings;
use wire::quote;

use crate::support::{Client, Response, Running, machine_now};

/// Starts a server with one listener per region in addition to the all-region listener.
async fn start() -> Running {
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let regional = vec![(Region::Us, any), (Region::Ap, any)];
    Running::start_with(Settings { regional, ..Settings::default() }).await
}

fn at(server: &Running, region: Region) -> SocketAddr {
    server.regional.iter().find(|(known, _)| *known == region).unwrap().1
}

fn account(server: &Running, region: Region) -> Created {
    let name = format!("somebody of {region}");
    let new = NewAccount { region, ..NewAccount::named(name, Terms::default()) };
    server.access.create(&new, &Actor::Operator, machine_now()).unwrap()
}

/// Sends a request with a header that names the wrong region, which must be ignored.
async fn ask(
    server: &Running,
    address: SocketAddr,
    account: &Created,
    (method, path, body): (&str, &str, &str),
) -> Response {
    let token = account.access_token.expose();
    let hint = if token.starts_with("us_") { "ap" } else { "us" };
    let head = format!("authorization: Bearer {token}\r\nx-dc-region: {hint}\r\n");
    server.http_to(address, method, path, &head, body.as_bytes()).await
}

const HISTORY: &str = r#"{"symbol":"700.HK","period":1000,"query_type":1,"offset_request":{"count":1}}"#;

#[tokio::test]
async fn tokens_are_prefixed_with_their_region() {
    let server = start().await;
    for region in Region::ALL {
        let token = account(&server, region).access_token;
        assert!(token.expose().starts_with(&format!("{region}_")));
    }
}

#[tokio::test]
async fn regional_listeners_serve_only_their_region() {
    let server = start().await;
    for region in Region::ALL {
        let account = account(&server, region);
        for address in [server.addresses.http, at(&server, region)] {
            for request in [
                ("POST", "/quote/history-candlesticks", HISTORY),
                ("GET", "/v1/quote/history-candlesticks?symbol=700.HK&period=day&limit=1", ""),
                ("POST", "/quote/quotes", r#"{"symbol":["700.HK"]}"#),
                ("GET", "/v1/connections", ""),
                ("GET", "/v1/socket/token", ""),
            ] {
                let answer = ask(&server, address, &account, request).await;
                assert_eq!(answer.status, 200, "{request:?}: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn prices_are_refused_to_accounts_of_another_region() {
    let server = start().await;
    for (home, other) in [(Region::Ap, Region::Us), (Region::Us, Region::Ap)] {
        let (account, address) = (account(&server, home), at(&server, other));
        for request in [
            ("POST", "/quote/history-candlesticks", HISTORY),
            ("GET", "/v1/quote/history-candlesticks?symbol=700.HK&period=day&limit=1", ""),
            ("POST", "/quote/candlesticks", r#"{"symbol":"700.HK","period":1000,"count":1}"#),
            ("POST", "/quote/intraday", r#"{"symbol":"700.HK"}"#),
            ("POST", "/quote/quotes", r#"{"symbol":["700.HK"]}"#),
        ] {
            let answer = ask(&server, address, &account, request).await;
            let json = answer.json();
            assert_eq!((answer.status, &json["code"]), (403, &301_604.into()), "{request:?}: {answer:?}");
            let text = json["message"].as_str().unwrap();
            for word in [home.as_str(), other.as_str(), &server.addresses.http.to_string()] {
                assert!(text.contains(word), "{word} is not in {text:?}");
            }
        }
        for request in [
            ("POST", "/quote/static-info", r#"{"symbol":["700.HK"]}"#),
            ("POST", "/quote/markets/trading-sessions", "{}"),
            (
                "POST",
                "/quote/markets/trading-days",
                r#"{"market":"HK","beg_day":"20261102","end_day":"20261106"}"#,
            ),
            ("POST", "/quote/profile", "{}"),
            ("GET", "/v1/socket/token", ""),
            ("GET", "/v1/quote/my-quotes", ""),
        ] {
            let answer = ask(&server, address, &account, request).await;
            assert_eq!(answer.status, 200, "{request:?}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn an_invalid_request_is_refused_before_the_region_check() {
    let server = start().await;
    let (account, address) = (account(&server, Region::Us), at(&server, Region::Ap));
    for (body, code) in [
        (json!({"symbol": "nothing", "period": 1000, "query_type": 1, "offset_request": {}}), 301_600),
        (json!({"symbol": "5.HK", "period": 1000, "query_type": 1, "offset_request": {}}), 301_603),
    ] {
        let request = ("POST", "/quote/history-candlesticks", body.to_string());
        let answer = ask(&server, address, &account, (request.0, request.1, &request.2)).await;
        assert_eq!(answer.json()["code"], code, "{answer:?}");
    }
    // Refused requests are not charged.
    let charged = server.access.charged(account.account_id, crate::support::NOW).unwrap();
    assert!(charged.is_empty());
}

#[tokio::test]
async fn account_calls_to_a_listener_of_another_region_get_401() {
    let server = start().await;
    let (account, address) = (account(&server, Region::Us), at(&server, Region::Ap));
    for request in [
        ("GET", "/v1/connections", ""),
        ("DELETE", "/v1/connections/1", ""),
        ("GET", "/v1/token/refresh", ""),
        ("GET", "/v1/quota", ""),
        ("POST", "/v1/quota/preview", r#"{"symbols":["700.HK"]}"#),
        ("GET", "/v1/admin/accounts", ""),
        ("GET", "/v1/asset/account", ""),
    ] {
        let answer = ask(&server, address, &account, request).await;
        let json = answer.json();
        assert_eq!((answer.status, &json["code"]), (401, &401_004.into()), "{request:?}: {answer:?}");
        assert!(json["message"].as_str().unwrap().contains("region"), "{json}");
    }
}

async fn candles(client: &mut Client) -> Result<quote::SecurityCandlestickResponse, (u8, u64, String)> {
    let request = quote::SecurityCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1000,
        count: 1,
        ..Default::default()
    };
    client.ask(19, &request).await
}

#[tokio::test]
async fn the_region_check_uses_the_connections_own_listener() {
    let server = start().await;
    let account = account(&server, Region::Us);
    let mut sessions = Vec::new();
    for (fetched, used, served) in [
        (at(&server, Region::Ap), server.addresses.http, true),
        (at(&server, Region::Ap), at(&server, Region::Us), true),
        (server.addresses.http, at(&server, Region::Ap), false),
        (at(&server, Region::Us), at(&server, Region::Ap), false),
    ] {
        let answer = ask(&server, fetched, &account, ("GET", "/v1/socket/token", "")).await.json();
        let mut client = server.websocket_to(used, "/v2?version=1&codec=1&platform=9").await;
        let otp = answer["data"]["otp"].as_str().unwrap();
        sessions.push(client.sign_in(otp, &[("accept-language", "en")]).await.session_id);
        match candles(&mut client).await {
            Ok(_) => assert!(served),
            Err((status, code, text)) => {
                assert_eq!((served, status, code), (false, 7, 301_604), "{text}");
                assert!(text.contains(&server.addresses.http.to_string()), "{text}");
            }
        }
        let profile: quote::QuoteProfileResponse =
            client.ask(4, &quote::QuoteProfileRequest::default()).await.unwrap();
        assert_eq!(profile.member_id, account.account_id.0);
        let symbols = quote::SymbolsRequest { symbol: vec!["700.HK".to_owned()] };
        let known: quote::StaticInfoResponse = client.ask(10, &symbols).await.unwrap();
        assert_eq!(known.secu_static_info.len(), 1);
    }
    // A session that is resumed on another listener is limited to that listener's region.
    let mut client = server.websocket_to(at(&server, Region::Ap), "/v2").await;
    let request =
        wire::control::ReconnectRequest { session_id: sessions.remove(0), metadata: Default::default() };
    let _: wire::control::AuthResponse = client.ask(3, &request).await.unwrap();
    assert_eq!(candles(&mut client).await.unwrap_err().1, 301_604);
    // The TCP listener serves all regions.
    let mut client = server.enter(crate::support::TransportLabel::Tcp, &account, &[]).await;
    candles(&mut client).await.unwrap();
}
