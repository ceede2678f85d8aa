//! History floors, set by the server or per account, which must be the same on every transport.

use std::fmt::Write;

use access::{Created, Terms};
use market::{Date, Venues};
use server::Settings;
use wire::quote::{
    IntradayRequest, IntradayResponse, QuoteResponse, SecurityCandlestickRequest,
    SecurityCandlestickResponse, SymbolsRequest,
};

use crate::support::{Running, import_files};

const PUBLISHED: &str = "2004-06-01";

/// Serves a store with daily and one-minute candles in Hong Kong before and after the published
/// floors. 9.HK has no candles after the floors.
async fn serve(floors: &str) -> Running {
    let dir = tempfile::tempdir().unwrap();
    let venues = Venues::built_in().unwrap();
    let venue = venues.of(market::Market::Hk);
    let header = "symbol,time,open,high,low,close,volume,turnover\n";
    let (mut days, mut minutes) = (header.to_owned(), header.to_owned());
    let date = |text: &str| text.parse::<Date>().unwrap();
    for day in ["1995-01-03", "1995-01-04", "2004-05-31", "2004-06-01", "2004-06-02"] {
        let midnight = venue.zone().midnight(date(day)).0;
        writeln!(days, "700.HK,{midnight},10,10,10,10,1,10").unwrap();
    }
    writeln!(days, "9.HK,{},10,10,10,10,1,10", venue.zone().midnight(date("1995-01-03")).0).unwrap();
    for day in ["2022-09-26", "2022-09-27", "2022-09-28"] {
        let open = venue.zone().instant(date(day), 34_200).0;
        for at in [open, open + 60] {
            writeln!(minutes, "700.HK,{at},10,10,10,10,1,10").unwrap();
        }
    }
    let paths = [("days.csv", days), ("minutes.csv", minutes)].map(|(name, text)| {
        std::fs::write(dir.path().join(name), text).unwrap();
        dir.path().join(name)
    });
    import_files(dir.path(), &paths);
    Running::start_in(dir, Settings { floors: floors.parse().unwrap(), ..Settings::default() }).await
}

/// Returns the local date of the first candle in each response, on every transport that serves
/// candles.
async fn firsts(server: &Running, account: &Created) -> Vec<(&'static str, String)> {
    let zone = Venues::built_in().unwrap().of(market::Market::Hk).zone().clone();
    let local = |at: i64| zone.date(market::Timestamp(at)).to_string();
    let mut found = Vec::new();
    let http = async |path: &str| server.get(path, account).await.json();
    let days = http("/v1/quote/history-candlesticks?symbol=700.HK&period=day&after=1990-01-01&count=1").await;
    found.push(("http", local(days["data"]["candlesticks"][0]["timestamp"].as_i64().unwrap())));
    let chart = http("/udf/history?symbol=700.HK&resolution=1D&from=1&to=1900000000").await;
    // UDF timestamps of daily candles are midnight UTC.
    found.push(("udf", local(chart["t"][0].as_i64().unwrap())));
    let mut client = server.signed_in(account).await;
    let latest = SecurityCandlestickRequest {
        symbol: "700.HK".to_owned(),
        period: 1000,
        count: 1000,
        adjust_type: 1,
        trade_session: 0,
    };
    let answer: SecurityCandlestickResponse = client.ask(19, &latest).await.unwrap();
    found.push(("19", local(answer.candlesticks[0].timestamp)));
    found
}

#[tokio::test]
async fn every_transport_starts_at_the_account_floor() {
    let server = serve("published").await;
    let own = |floors: &str| Terms { floors: Some(floors.parse().unwrap()), ..Terms::default() };
    for (name, terms, first) in [
        ("ann", Terms::default(), PUBLISHED),
        ("bob", own("none"), "1995-01-03"),
        ("carol", own("HK.day=1995-01-04"), "1995-01-04"),
        ("dave", own("HK.day=2004-06-02"), "2004-06-02"),
    ] {
        let account = server.account(name, terms);
        for (transport, found) in firsts(&server, &account).await {
            assert_eq!(found, first, "{transport} of {name}");
        }
    }
    // The server's setting applies to accounts without individual floors.
    let open = serve("none").await;
    let (erin, frank) = (open.account("erin", Terms::default()), open.account("frank", own("published")));
    for (transport, found) in firsts(&open, &erin).await {
        assert_eq!(found, "1995-01-03", "{transport}");
    }
    for (transport, found) in firsts(&open, &frank).await {
        assert_eq!(found, PUBLISHED, "{transport}");
    }
}

#[tokio::test]
async fn minute_ranges_below_the_floor_are_refused() {
    let server = serve("published").await;
    let account = server.account("ann", Terms::default());
    let path = "/v1/quote/history-candlesticks?symbol=700.HK&period=1m&start=2022-09-26&end=2022-09-28";
    let refused = server.get(path, &account).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["message"], "out of minute kline begin date");
    for (floors, candles) in [("none", 6), ("HK.minute=2022-09-26", 6)] {
        let terms = Terms { floors: Some(floors.parse().unwrap()), ..Terms::default() };
        server.change_terms(&account, &terms).await;
        let answer = server.get(path, &account).await.json();
        assert_eq!(answer["data"]["candlesticks"].as_array().unwrap().len(), candles, "{floors}: {answer}");
    }
    let later = Terms { floors: Some("HK.minute=2022-09-27".parse().unwrap()), ..Terms::default() };
    server.change_terms(&account, &later).await;
    assert_eq!(server.get(path, &account).await.status, 400);
}

/// A response that is read in byte ranges is cached briefly. The cached response must not be used
/// after a change of the account's floors.
#[tokio::test]
async fn a_floor_change_invalidates_cached_ranges() {
    let server = serve("published").await;
    let terms = |floors: &str| Terms { floors: Some(floors.parse().unwrap()), ..Terms::default() };
    let account = server.account("ann", terms("none"));
    let path = "/v1/quote/history-candlesticks?symbol=700.HK&period=day&after=1990-01-01&count=9&format=csv";
    let head = format!("authorization: Bearer {}\r\nrange: bytes=0-\r\n", account.access_token.expose());
    for (floors, days) in [("none", 5), ("none", 5), ("published", 2), ("HK.day=1995-01-04", 4), ("none", 5)]
    {
        server.change_terms(&account, &terms(floors)).await;
        let piece = server.http("GET", path, &head, b"").await;
        assert_eq!(piece.status, 206);
        let text = String::from_utf8(piece.body).unwrap();
        // The header is one extra line.
        assert_eq!(text.lines().count(), days + 1, "{floors}: {text}");
    }
}

#[tokio::test]
async fn quotes_and_intraday_prices_respect_the_floors() {
    let server = serve("published").await;
    let symbols = SymbolsRequest { symbol: vec!["9.HK".to_owned(), "700.HK".to_owned()] };
    let line = IntradayRequest { symbol: "700.HK".to_owned(), trade_session: 0 };
    let late = Terms { floors: Some("HK.minute=2023-01-03".parse().unwrap()), ..Terms::default() };
    let all = Terms { floors: Some(market::FloorTable::NONE), ..Terms::default() };
    for (name, terms, quoted, lines) in
        [("ann", Terms::default(), 1, 2), ("bob", all, 2, 2), ("carol", late, 1, 0)]
    {
        let account = server.account(name, terms);
        let mut client = server.signed_in(&account).await;
        let quotes: QuoteResponse = client.ask(11, &symbols).await.unwrap();
        assert_eq!(quotes.secu_quote.len(), quoted, "{name}: {quotes:?}");
        let found: IntradayResponse = client.ask(18, &line).await.unwrap();
        assert_eq!(found.lines.len(), lines, "{name}: {found:?}");
    }
}
