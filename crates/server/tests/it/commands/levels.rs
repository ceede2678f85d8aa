//! Changes of an account's level, rights and quota month while its connection is open.

use access::{Actor, Created, Level, RateRule, Right, Step, Table, Terms, Validity};
use market::{Market, Timestamp, Zone};
use wire::quote::{
    OffsetRequest, QuoteProfileRequest, QuoteProfileResponse, SecurityCandlestickResponse,
    SecurityHistoryCandlestickRequest,
};

use crate::support::{Client, Running, TRANSPORTS};

/// Monday 2026-11-16, midnight in Hong Kong: the trading day after the Sunday on which the test
/// market's clock starts.
const MONDAY: i64 = 1_794_758_400;
const SECURITIES: [&str; 3] = ["700.HK", "AAPL.US", "600519.SH"];

async fn ask(client: &mut Client, symbol: &str) -> Result<(), (u8, u64, String)> {
    let request = SecurityHistoryCandlestickRequest {
        symbol: symbol.to_owned(),
        period: 1000,
        query_type: 1,
        offset_request: Some(OffsetRequest { count: 1, ..Default::default() }),
        ..Default::default()
    };
    client.ask::<SecurityCandlestickResponse>(27, &request).await.map(drop)
}

async fn profile(client: &mut Client) -> QuoteProfileResponse {
    client.ask(4, &QuoteProfileRequest { language: "en".to_owned() }).await.unwrap()
}

fn unlimited() -> Terms {
    Terms { rate: Some(RateRule::Unlimited), ..Terms::default() }
}

/// Sets the quotas of the first two levels to one and two securities.
fn narrow(server: &Running) {
    let step =
        |number, quota, assets| Step { level: Level::new(number).unwrap(), quota, assets, orders: None };
    for step in [step(1, 1, None), step(2, 2, Some(10_000))] {
        server.access.change_level(step, &Actor::Operator, server.present()).unwrap();
    }
}

fn tell_assets(server: &Running, name: &str, day: &str, amount: &str) {
    let mut table = Table::new(&["account", "day", "currency", "amount"]);
    table.push(None, [name, day, "HKD", amount].map(str::to_owned).to_vec()).unwrap();
    server.access.report_assets(&table, &Actor::Operator, server.present()).unwrap();
}

#[tokio::test]
async fn a_level_raised_at_midnight_applies_to_open_connections() {
    assert_eq!(Zone::of(Market::Hk).rfc3339(Timestamp(MONDAY)), "2026-11-16T00:00:00+08:00");
    for transport in TRANSPORTS {
        let server = Running::start().await;
        narrow(&server);
        let account = server.account("ann", unlimited());
        let mut client = server.enter(transport, &account, &[]).await;
        ask(&mut client, SECURITIES[0]).await.unwrap();
        // Assets reported for Sunday count starting on Tuesday, when Monday is the last complete
        // trading day.
        tell_assets(&server, "ann", "2026-11-15", "10000");
        server.noticed().await;
        server.set_now(MONDAY - 1);
        let (status, code, text) = ask(&mut client, SECURITIES[1]).await.unwrap_err();
        assert_eq!((status, code), (7, 301_607));
        assert!(
            text.contains("1 of 1 securities in 2026-11 (level 1)") && text.contains("2026-12-01"),
            "{text}"
        );
        assert_eq!(profile(&mut client).await.history_candlestick_limit, 1);
        server.set_now(MONDAY);
        ask(&mut client, SECURITIES[1]).await.unwrap_err();
        server.set_now(MONDAY + 86_400 - 1);
        ask(&mut client, SECURITIES[1]).await.unwrap_err();
        server.set_now(MONDAY + 86_400);
        ask(&mut client, SECURITIES[1]).await.unwrap();
        let seen = profile(&mut client).await;
        assert_eq!(seen.history_candlestick_limit, 2);
        let detail = seen.quote_level_detail.unwrap();
        assert_eq!(detail.by_market_code["HK"].packages[0].name, "HK candles (2/2, level 2)");
        assert_eq!(ask(&mut client, SECURITIES[2]).await.unwrap_err().1, 301_607);
        let levels = access::AuditFilter { event: Some("level.changed"), limit: 10, ..Default::default() };
        let rows = server.access.audit(&levels).unwrap();
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert_eq!(
            (rows[0].actor.as_str(), rows[0].reason.as_str()),
            ("service", "level 1 to 2 on 2026-11-17: assets HKD 10,000.00 on 2026-11-15 reach level 2")
        );
    }
}

#[tokio::test]
async fn a_refused_request_records_a_lower_level() {
    let server = Running::start().await;
    narrow(&server);
    let account = server.account("ann", unlimited());
    tell_assets(&server, "ann", "2026-11-12", "10000");
    tell_assets(&server, "ann", "2026-11-13", "0");
    let mut client = server.signed_in(&account).await;
    ask(&mut client, SECURITIES[0]).await.unwrap();
    server.set_now(MONDAY);
    assert_eq!(ask(&mut client, SECURITIES[1]).await.unwrap_err().1, 301_607);
    let levels = access::AuditFilter { event: Some("level.changed"), limit: 10, ..Default::default() };
    let rows = server.access.audit(&levels).unwrap();
    let rows: Vec<_> = rows.iter().map(|row| (row.actor.as_str(), row.reason.as_str())).collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(
        rows[0],
        ("service", "level 2 to 1 on 2026-11-16: neither assets nor orders reach a higher level")
    );
}

#[tokio::test]
async fn an_operators_change_applies_to_the_next_request() {
    let server = Running::start().await;
    narrow(&server);
    let account = server.account("ann", unlimited());
    let mut client = server.signed_in(&account).await;
    ask(&mut client, SECURITIES[0]).await.unwrap();
    ask(&mut client, SECURITIES[1]).await.unwrap_err();
    // The level on this Sunday is that of Friday, which is based on Thursday, the last complete
    // trading day before Friday.
    tell_assets(&server, "ann", "2026-11-12", "10000");
    server.noticed().await;
    ask(&mut client, SECURITIES[1]).await.unwrap();
    ask(&mut client, SECURITIES[2]).await.unwrap_err();
    server.change_terms(&account, &Terms { level: Level::new(6), ..unlimited() }).await;
    ask(&mut client, SECURITIES[2]).await.unwrap();
}

#[tokio::test]
async fn the_quota_month_starts_at_midnight_in_hong_kong() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { quota: Some(1), ..unlimited() });
    let mut client = server.signed_in(&account).await;
    let december = Zone::of(Market::Hk).midnight(market::Date::constant(2026, 12, 1)).0;
    server.set_now(december - 1);
    ask(&mut client, SECURITIES[0]).await.unwrap();
    ask(&mut client, SECURITIES[1]).await.unwrap_err();
    server.set_now(december);
    ask(&mut client, SECURITIES[1]).await.unwrap();
    let (_, code, text) = ask(&mut client, SECURITIES[0]).await.unwrap_err();
    assert_eq!(code, 301_607);
    assert!(text.contains("in 2026-12") && text.contains("2027-01-01"), "{text}");
}

async fn refusal(client: &mut Client, symbol: &str) -> String {
    let (status, code, text) = ask(client, symbol).await.unwrap_err();
    assert_eq!((status, code), (7, 301_604), "{text}");
    text
}

#[tokio::test]
async fn a_rights_change_applies_to_the_next_request() {
    for transport in TRANSPORTS {
        let server = Running::start().await;
        let account = server.account("ann", unlimited());
        let Created { account_id: id, .. } = account;
        let mut client = server.enter(transport, &account, &[]).await;
        ask(&mut client, "AAPL.US").await.unwrap();
        assert!(server.access.withdraw(id, Right::Us, &Actor::Operator, Timestamp(1)).unwrap());
        server.noticed().await;
        assert_eq!(
            refusal(&mut client, "AAPL.US").await,
            "this account lacks the right US: ask the operator to grant it"
        );
        ask(&mut client, "700.HK").await.unwrap();
        let validity = Validity { starts_at: Some(Timestamp(MONDAY)), ends_at: Some(Timestamp(MONDAY + 60)) };
        assert!(server.access.grant(id, Right::Us, validity, &Actor::Operator, Timestamp(1)).unwrap());
        server.noticed().await;
        assert!(refusal(&mut client, "AAPL.US").await.contains("begins 2026-11-15T16:00:00Z"));
        let warning =
            &profile(&mut client).await.quote_level_detail.unwrap().by_market_code["US"].warning_msg;
        assert_eq!(warning, "no access: US begins 2026-11-15T16:00:00Z");
        server.set_now(MONDAY);
        ask(&mut client, "AAPL.US").await.unwrap();
        let detail = profile(&mut client).await.quote_level_detail.unwrap();
        let package = &detail.by_market_code["US"].packages[0];
        assert_eq!((package.start, package.end), (MONDAY, MONDAY + 60));
        server.set_now(MONDAY + 60);
        assert!(refusal(&mut client, "AAPL.US").await.contains("ended 2026-11-15T16:01:00Z"));
    }
}
