//! The order of refusals: decoding, rate limit, parameters and symbol, no data, access, quota.

use access::{Actor, RateRule, Right, Terms, Validity};
use wire::quote::{
    DateRequest, IntradayRequest, OffsetRequest, SecurityCandlestickRequest, SecurityCandlestickResponse,
    SecurityHistoryCandlestickRequest,
};

use crate::support::{Client, NOW, Running, TRANSPORTS, TransportLabel, request};

type History = SecurityHistoryCandlestickRequest;

fn days(symbol: &str) -> History {
    History {
        symbol: symbol.to_owned(),
        period: 1000,
        query_type: 1,
        offset_request: Some(OffsetRequest { count: 1, ..Default::default() }),
        ..Default::default()
    }
}

async fn ask(client: &mut Client, request: &History) -> Result<usize, (u8, u64, String)> {
    client.ask::<SecurityCandlestickResponse>(27, request).await.map(|answer| answer.candlesticks.len())
}

async fn refused(client: &mut Client, request: &History) -> (u8, u64) {
    let refusal = ask(client, request).await.expect_err("a refusal");
    (refusal.0, refusal.1)
}

fn used(server: &Running, account: &access::Created) -> u32 {
    server.access.usage(account.account_id, NOW).unwrap().unwrap().used
}

#[tokio::test]
async fn invalid_parameters_are_refused_with_a_message() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { rate: Some(RateRule::Unlimited), ..Terms::default() });
    let offset = |offset: OffsetRequest| History { offset_request: Some(offset), ..days("700.HK") };
    let dates = |period: i32, start: &str, end: &str| History {
        period,
        query_type: 2,
        offset_request: None,
        date_request: Some(DateRequest { start_date: start.to_owned(), end_date: end.to_owned() }),
        ..days("700.HK")
    };
    let text = str::to_owned;
    let cases = [
        (days(""), "symbol"),
        (days("700"), "700"),
        (days("700.XX"), "700.XX"),
        (days("BTCUSD.HAS"), "BTCUSD.HAS"),
        (days("9999.HK"), "9999.HK"),
        (days(&"7".repeat(5_000)), ""),
        (History { period: 0, ..days("700.HK") }, "period 0"),
        (History { period: 7, ..days("700.HK") }, "period 7"),
        (History { period: -1, ..days("700.HK") }, "period -1"),
        (History { adjust_type: 2, ..days("700.HK") }, "adjust_type 2"),
        (History { trade_session: 1, ..days("700.HK") }, "trade_session 1"),
        (History { query_type: 0, ..days("700.HK") }, "query_type 0"),
        (History { query_type: 3, ..days("700.HK") }, "query_type 3"),
        (History { offset_request: None, ..days("700.HK") }, "offset_request"),
        (History { query_type: 2, ..days("700.HK") }, "date_request"),
        (offset(OffsetRequest { count: 1001, ..Default::default() }), "count 1001"),
        (offset(OffsetRequest { count: -1, ..Default::default() }), "count -1"),
        (offset(OffsetRequest { direction: 2, ..Default::default() }), "direction 2"),
        (offset(OffsetRequest { date: text("20260230"), ..Default::default() }), "20260230"),
        (offset(OffsetRequest { date: text("2026"), ..Default::default() }), "2026"),
        (
            History { period: 1, ..offset(OffsetRequest { minute: text("2561"), ..Default::default() }) },
            "2561",
        ),
        (dates(1000, "20261102", "20261101"), "after"),
        (dates(1000, "yesterday", ""), "yesterday"),
        // The live service sends this message, which clients match.
        (dates(1, "20200101", "20261101"), "out of minute kline begin date"),
    ];
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        for (request, word) in &cases {
            let (status, code, text) = ask(&mut client, request).await.expect_err(word);
            assert_eq!((status, code), (7, 301_600), "{request:?}");
            assert!(text.contains(word) && !text.is_empty() && text.len() < 300, "{text:?}: {word:?}");
        }
    }
    assert_eq!(used(&server, &account), 0);
}

/// longbridge 0.2 sends history requests as command 26.
#[tokio::test]
async fn command_26_is_accepted_for_history_requests() {
    let server = Running::start().await;
    let terms = Terms { rate: Some("8/3600".parse().unwrap()), quota: Some(1), ..Terms::default() };
    // Symbol, period 1000, and either query type 1 with an offset of one candle or query type 2
    // without dates.
    let head = b"\x0a\x06700.HK\x10\xe8\x07";
    let by_offset = [&head[..], b"\x20\x01\x2a\x02\x20\x01"].concat();
    let by_date = [&head[..], b"\x20\x02\x32\x00"].concat();
    let without_type = [&head[..], b"\x2a\x02\x20\x01"].concat();
    let cut_short = [&head[..], b"\x20\x01\x2a\x09"].concat();
    let other_symbol = [&b"\x0a\x07AAPL.US"[..], &by_offset[8..]].concat();
    let indexes = [&b"\x0a\x06700.HK"[..], b"\x12\x01\x01"].concat();
    for (name, transport) in ["ann", "bob"].into_iter().zip(TRANSPORTS) {
        let account = server.account(name, terms.clone());
        let mut client = server.enter(transport, &account, &[]).await;
        for (body, code) in [
            (&by_offset, None),
            (&by_date, None),
            (&without_type, Some(301_600)),
            (&cut_short, Some(301_600)),
            (&other_symbol, Some(301_607)),
            (&indexes, None),
        ] {
            let mut answers = Vec::new();
            for command in [26, 27] {
                if command == 27 && body == &indexes {
                    continue;
                }
                client.send(&request(command, 1, 0, body)).await;
                answers.push(client.response().await.1);
            }
            let refused = answers[0].as_ref().err().map(|(_, code, _)| *code);
            assert_eq!(refused, code, "{body:?}");
            assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        }
        assert_eq!(used(&server, &account), 1);
        let (status, code) = {
            client.send(&request(26, 1, 0, &by_offset)).await;
            let refusal = client.response().await.1.unwrap_err();
            (refusal.0, refusal.1)
        };
        assert_eq!((status, code), (3, 301_606));
    }
}

#[tokio::test]
async fn refusals_follow_the_specified_order() {
    let server = Running::start().await;
    let account = server.account_with("ann", "none", Terms { quota: Some(0), ..Terms::default() });
    let mut client = server.signed_in(&account).await;
    let nonsense = History { period: 7, ..days("AAPL261120C200000.US") };
    // Each request would also be refused for every later reason.
    assert_eq!(refused(&mut client, &nonsense).await, (7, 301_600));
    assert_eq!(refused(&mut client, &days("9999.HK")).await, (7, 301_600));
    assert_eq!(refused(&mut client, &days("AAPL261120C200000.US")).await, (7, 301_603));
    assert_eq!(refused(&mut client, &days("5.HK")).await, (7, 301_603));
    assert_eq!(refused(&mut client, &days("700.HK")).await, (7, 301_604));
    let (id, by) = (account.account_id, Actor::Operator);
    assert!(server.access.grant(id, Right::Hk, Validity::ALWAYS, &by, NOW).unwrap());
    server.noticed().await;
    assert_eq!(refused(&mut client, &days("700.HK")).await, (7, 301_607));
    let once = Terms { rate: Some("1/3600".parse().unwrap()), ..Terms::default() };
    server.change_terms(&account, &once).await;
    assert_eq!(refused(&mut client, &nonsense).await, (3, 301_606));
    client.send(&request(27, 1, 0, &[0xff])).await;
    assert_eq!(client.response().await.1.unwrap_err().1, 301_600);
}

#[tokio::test]
async fn all_candle_commands_refuse_the_same_requests() {
    let server = Running::start().await;
    let account = server.account_with("ann", "HK", Terms::default());
    let mut client = server.signed_in(&account).await;
    let cases = [
        ("9999.HK", 301_600),
        ("700", 301_600),
        ("AAPL261120C200000.US", 301_603),
        ("5.HK", 301_603),
        ("AAPL.US", 301_604),
    ];
    for (symbol, code) in cases {
        let symbol = symbol.to_owned();
        let latest =
            SecurityCandlestickRequest { symbol: symbol.clone(), period: 1, count: 1, ..Default::default() };
        let refusal = client.ask::<()>(19, &latest).await.unwrap_err();
        assert_eq!((refusal.0, refusal.1), (7, code), "{latest:?}");
        let line = IntradayRequest { symbol, trade_session: 0 };
        let refusal = client.ask::<()>(18, &line).await.unwrap_err();
        assert_eq!((refusal.0, refusal.1), (7, code), "{line:?}");
    }
    for bad in [
        SecurityCandlestickRequest { period: 0, count: 1, ..Default::default() },
        SecurityCandlestickRequest { period: 1, count: 1, adjust_type: 3, ..Default::default() },
        SecurityCandlestickRequest { period: 1, count: 1, trade_session: 3, ..Default::default() },
    ] {
        let bad = SecurityCandlestickRequest { symbol: "700.HK".to_owned(), ..bad };
        assert_eq!(client.ask::<()>(19, &bad).await.unwrap_err().1, 301_600, "{bad:?}");
    }
    let bad = IntradayRequest { symbol: "700.HK".to_owned(), trade_session: 7 };
    assert_eq!(client.ask::<()>(18, &bad).await.unwrap_err().1, 301_600);
}

#[tokio::test]
async fn the_rate_limit_is_shared_by_all_transports() {
    let server = Running::start().await;
    let (account, other) = (server.account("ann", Terms::default()), server.account("bob", Terms::default()));
    let mut websocket = server.signed_in(&account).await;
    let mut tcp = server.enter(TransportLabel::Tcp, &account, &[]).await;
    let body = r#"{"symbol":"700.HK","period":1000,"query_type":2,"date_request":{}}"#;
    for number in 0..20 {
        assert_eq!(ask(&mut websocket, &days("700.HK")).await, Ok(1));
        // Requests that are refused after the rate limit are counted.
        let bad = History { period: 7, ..days("700.HK") };
        let counted = if number % 2 == 0 { days("AAPL.US") } else { bad };
        ask(&mut tcp, &counted).await.ok();
        assert_eq!(server.post("/quote/history-candlesticks", &account, body).await.status, 200);
    }
    for _ in 0..3 {
        assert_eq!(refused(&mut websocket, &days("700.HK")).await, (3, 301_606));
        assert_eq!(refused(&mut tcp, &days("nonsense")).await, (3, 301_606));
        let answer = server.post("/quote/history-candlesticks", &account, body).await;
        assert_eq!((answer.status, &answer.json()["code"]), (429, &301_606.into()));
        assert!((1..=30).contains(&answer.header("retry-after").unwrap().parse::<u32>().unwrap()));
    }
    let (_, _, text) = ask(&mut websocket, &days("700.HK")).await.unwrap_err();
    assert!(text.contains("60 history requests in 30 s"), "{text}");
    // Other commands and other accounts are not affected by the limit.
    websocket.ask::<wire::quote::TradingSessionsResponse>(8, &()).await.unwrap();
    assert_eq!(ask(&mut server.signed_in(&other).await, &days("700.HK")).await, Ok(1));
}

#[tokio::test]
async fn the_monthly_quota_counts_each_security_once() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { quota: Some(2), ..Terms::default() });
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        // A refused request is not charged.
        for refused in ["9999.HK", "5.HK", "AAPL261120C200000.US"] {
            ask(&mut client, &days(refused)).await.unwrap_err();
        }
        let before = if transport == TransportLabel::WebSocket { 0 } else { 2 };
        assert_eq!(used(&server, &account), before);
        // A response without candles is charged.
        let empty = History {
            query_type: 2,
            date_request: Some(DateRequest { start_date: "20300101".to_owned(), end_date: String::new() }),
            ..days("700.HK")
        };
        assert_eq!(ask(&mut client, &empty).await, Ok(0));
        assert_eq!(ask(&mut client, &days("00700.hk")).await, Ok(1));
        assert_eq!(ask(&mut client, &days("AAPL.US")).await, Ok(1));
        let (status, code, text) = ask(&mut client, &days("600519.SH")).await.unwrap_err();
        assert_eq!((status, code), (7, 301_607));
        assert!(text.contains("2 of 2 securities"), "{text}");
        assert_eq!(ask(&mut client, &days("700.HK")).await, Ok(1));
        let minutes = History { period: 5, adjust_type: 1, trade_session: 100, ..days("AAPL.US") };
        assert_eq!(ask(&mut client, &minutes).await, Ok(1));
        assert_eq!(used(&server, &account), 2);
        // The profile reports the quota.
        let profile: wire::quote::QuoteProfileResponse = client.ask(4, &()).await.unwrap();
        assert_eq!(profile.history_candlestick_limit, 2);
        let package = &profile.quote_level_detail.unwrap().by_market_code["HK"].packages[0];
        assert!(package.name.ends_with("(2/2, level 1)"), "{}", package.name);
    }
}

#[tokio::test]
async fn the_quota_resets_monthly_in_hong_kong_time() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { quota: Some(1), ..Terms::default() });
    let mut client = server.signed_in(&account).await;
    // 2026-11-30 23:59:59 in Hong Kong, and one second later.
    server.set_now(1_796_054_399);
    assert_eq!(ask(&mut client, &days("700.HK")).await, Ok(1));
    assert_eq!(refused(&mut client, &days("AAPL.US")).await, (7, 301_607));
    server.set_now(1_796_054_400);
    assert_eq!(ask(&mut client, &days("AAPL.US")).await, Ok(1));
    assert_eq!(refused(&mut client, &days("700.HK")).await, (7, 301_607));
}

#[tokio::test]
async fn concurrent_requests_cannot_exceed_the_quota() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { quota: Some(1), ..Terms::default() });
    let mut client = server.signed_in(&account).await;
    for symbol in ["700.HK", "AAPL.US", "600519.SH"] {
        client.request(27, &days(symbol)).await;
    }
    let mut answered = 0;
    for _ in 0..3 {
        match client.response().await.1 {
            Ok(_) => answered += 1,
            Err((status, code, _)) => assert_eq!((status, code), (7, 301_607)),
        }
    }
    assert_eq!((answered, used(&server, &account)), (1, 1));
}
