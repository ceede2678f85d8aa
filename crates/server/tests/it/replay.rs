//! Replay: with a set clock, no transport may return future data. For every request, a server with
//! the whole store must answer like a server with a copy that ends at the current time.

use std::fmt::Write;
use std::path::Path;

use access::{Actor, NewAccount};
use access::{Created, Role, Terms};
use market::{Date, Session, Symbol, Timestamp, Venues};
use server::Settings;
use wire::quote::{
    IntradayResponse, OffsetRequest, QuoteResponse, SecurityCandlestickRequest, SecurityCandlestickResponse,
    SecurityHistoryCandlestickRequest, SymbolsRequest,
};

use crate::support::{Client, OVERNIGHT, Running, TransportLabel, import_files};

/// Securities with one-minute and daily candles of three days. The last security starts on the
/// third day.
const SECURITIES: [(&str, &str); 4] =
    [("9.HK", "2026-11-11"), ("Q.US", "2026-11-11"), ("600001.SH", "2026-11-11"), ("LATE.US", "2026-11-13")];
const LAST: &str = "2026-11-13";
/// End of regular hours on a full day in minutes after midnight, and whether a closing candle
/// exists ten minutes before the end.
const ENDS: [(market::Market, i64, bool); 3] = [
    (market::Market::Hk, 16 * 60 + 10, true),
    (market::Market::Us, 16 * 60, false),
    (market::Market::Cn, 15 * 60 + 10, true),
];

/// Fills a store in `dir`, either completely or only with the data visible at `now`.
fn store(dir: &Path, now: Option<Timestamp>) {
    let venues = Venues::built_in().unwrap();
    let mut minutes = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    let (mut days, mut actions) = (minutes.clone(), "symbol,ex_date,split\n".to_owned());
    for (name, first) in SECURITIES {
        let symbol: Symbol = name.parse().unwrap();
        let venue = venues.of(symbol.market());
        let (_, end, has_tail) = *ENDS.iter().find(|(market, ..)| *market == symbol.market()).unwrap();
        let (first, last): (Date, Date) = (first.parse().unwrap(), LAST.parse().unwrap());
        for (number, (date, _)) in venue.calendar().days(first, last).enumerate() {
            let midnight = venue.zone().midnight(date).0;
            if now.is_none_or(|now| midnight + end * 60 <= now.0) {
                writeln!(days, "{name},{midnight},50,999,1,{},123456,7.5", 700 + number).unwrap();
            }
            if now.is_none_or(|now| midnight <= now.0) && number == 1 {
                writeln!(actions, "{name},{date},2").unwrap();
            }
            for (minute, (at, slot)) in venue.day(date).unwrap().minutes().enumerate() {
                let open = 100 + minute;
                let tail = has_tail
                    && slot.segment.session == Session::Intraday
                    && at.0 == midnight + (end - 10) * 60;
                match now.map(|now| now.0 - at.0) {
                    Some(..0) => {}
                    Some(..600) if tail => {}
                    Some(..60) => {
                        writeln!(minutes, "{name},{},{open},{open},{open},{open},0,0", at.0).unwrap()
                    }
                    _ => {
                        let (high, low, close) = (open + 3, open - 2, open + 1);
                        writeln!(minutes, "{name},{},{open},{high},{low},{close},{},1.5", at.0, 7 + minute)
                            .unwrap();
                    }
                }
            }
        }
    }
    let mut securities = "symbol,name_en\n".to_owned();
    SECURITIES.iter().for_each(|(name, _)| writeln!(securities, "{name},Harbour {name}").unwrap());
    let files = [("securities", securities), ("actions", actions), ("minutes", minutes), ("days", days)];
    let paths: Vec<_> = files
        .iter()
        .filter(|(_, text)| text.lines().count() > 1)
        .map(|(name, text)| {
            let path = dir.join(format!("{name}.csv"));
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
    import_files(dir, &paths);
}

/// Starts a server with this store and an operator who may see all of it.
async fn serve(now: Option<Timestamp>) -> (Running, Created) {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), now);
    let server = Running::start_in(dir, Settings::default()).await;
    let terms = Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() };
    let new = NewAccount {
        rights: OVERNIGHT.parse().unwrap(),
        role: Role::Operator,
        ..NewAccount::named("ann", terms)
    };
    let account = server.access.create(&new, &Actor::Operator, server.present().machine).unwrap();
    (server, account)
}

/// Returns requests to all HTTP interfaces.
fn addresses(name: &str, now: Timestamp) -> Vec<String> {
    let mut all = Vec::new();
    for period in ["1m", "5m", "15m", "60m", "240m", "day", "week", "month", "quarter", "year"] {
        for rest in
            ["count=3", "count=3&adjust=forward", "count=4&session=all", "start=2026-11-12&end=2026-11-13"]
        {
            all.push(format!("/v1/quote/history-candlesticks?symbol={name}&period={period}&{rest}"));
        }
    }
    for resolution in ["1", "15", "60", "1D", "1W", "1M"] {
        let to = now.0 + 86_400;
        all.push(format!("/udf/history?symbol={name}&resolution={resolution}&to={to}&countback=3"));
        all.push(format!(
            "/udf/history?symbol={name}&resolution={resolution}&from={}&to={to}",
            now.0 - 7_200
        ));
    }
    all.push(format!("/udf/symbols?symbol={name}"));
    all.push(format!("/udf/marks?symbol={name}&from=0&to=1900000000&resolution=1D"));
    all.push(format!("/v1/securities/{name}/actions"));
    all.push(format!("/v1/coverage/{name}"));
    all
}

#[tokio::test]
async fn no_transport_returns_future_data() {
    let (whole, ann) = serve(None).await;
    let mut client = whole.enter(TransportLabel::Tcp, &ann, &[("need_over_night_quote", "true")]).await;
    // In Hong Kong, the times are before the open, in the first and second minute, during lunch,
    // after the mainland close, in the closing auction, and after the auction. In New York, they
    // are before, during and after regular hours, and in the night before the last day.
    for now in [
        "2026-11-11T12:00:00-05:00",
        "2026-11-12T09:29:59+08:00",
        "2026-11-12T09:30:20+08:00",
        "2026-11-12T09:31:20+08:00",
        "2026-11-12T12:30:00+08:00",
        "2026-11-12T15:05:00+08:00",
        "2026-11-12T16:05:00+08:00",
        "2026-11-12T16:10:00+08:00",
        "2026-11-12T08:00:30-05:00",
        "2026-11-12T09:31:20-05:00",
        "2026-11-12T15:59:59-05:00",
        "2026-11-12T16:00:00-05:00",
        "2026-11-12T20:05:30-05:00",
    ] {
        let at = Timestamp(now.parse::<jiff::Timestamp>().unwrap().as_second());
        let (copy, bob) = serve(Some(at)).await;
        [&whole, &copy].iter().for_each(|server| server.set_now(at.0));
        let mut other = copy.enter(TransportLabel::Tcp, &bob, &[("need_over_night_quote", "true")]).await;
        let names: Vec<String> = SECURITIES.iter().map(|(name, _)| (*name).to_owned()).collect();
        let mut questions: Vec<String> = names.iter().flat_map(|name| addresses(name, at)).collect();
        questions.extend(
            ["/v1/securities", "/v1/securities?query=harbour", "/v1/coverage", "/v1/inventory"]
                .map(str::to_owned),
        );
        questions.push("/udf/search?query=harbour&limit=9".to_owned());
        for question in &questions {
            let (one, two) = (whole.get(question, &ann).await, copy.get(question, &bob).await);
            assert_eq!((one.status, one.text()), (two.status, two.text()), "{question} at {now}");
        }
        let all = SymbolsRequest { symbol: names.clone() };
        let quotes = client.ask::<QuoteResponse>(11, &all).await;
        assert_eq!(quotes, other.ask(11, &all).await, "quotes at {now}");
        for name in &names {
            let line = wire::quote::IntradayRequest { symbol: name.clone(), trade_session: 100 };
            let lines = client.ask::<IntradayResponse>(18, &line).await;
            assert_eq!(lines, other.ask(18, &line).await, "line of {name} at {now}");
            same_candles(&mut client, &mut other, name, now).await;
        }
    }
}

/// Compares latest and historical candles, from columns and from pages. The second request finds
/// the pages in the cache.
async fn same_candles(client: &mut Client, other: &mut Client, name: &str, now: &str) {
    for (period, adjust_type, trade_session) in [1, 15, 60, 1000, 2000]
        .into_iter()
        .flat_map(|period| [(period, 0, 0), (period, 0, 0), (period, 0, 100), (period, 1, 100)])
    {
        let symbol = name.to_owned();
        let latest = SecurityCandlestickRequest { symbol, period, count: 5, adjust_type, trade_session };
        let history = SecurityHistoryCandlestickRequest {
            symbol: name.to_owned(),
            period,
            adjust_type,
            trade_session,
            query_type: 1,
            offset_request: Some(OffsetRequest { count: 5, ..Default::default() }),
            ..Default::default()
        };
        let about = format!("{period} of {name}, adjust {adjust_type}, session {trade_session} at {now}");
        let candles = client.ask::<SecurityCandlestickResponse>(19, &latest).await;
        assert_eq!(candles, other.ask(19, &latest).await, "19: {about}");
        let candles = client.ask::<SecurityCandlestickResponse>(27, &history).await;
        assert_eq!(candles, other.ask(27, &history).await, "27: {about}");
    }
}

#[tokio::test]
async fn quotes_and_daily_candles_include_the_open_of_the_current_minute() {
    let (server, ann) = serve(None).await;
    server.set_now("2026-11-12T09:31:20+08:00".parse::<jiff::Timestamp>().unwrap().as_second());
    // The first candle opened at 100, reached 103 and 98, and has a volume of 7. The second candle
    // opened at 101.
    let prices = ["101.000", "100.000", "103.000", "98.000", "700.000"].map(str::to_owned);
    assert_eq!(quote(&server, &ann, "9.HK").await, (prices, 7));
    let day = server.get("/v1/quote/history-candlesticks?symbol=9.HK&period=day&count=1", &ann).await.json();
    let candle = &day["data"]["candlesticks"][0];
    assert_eq!((&candle["close"], &candle["volume"]), (&"101.000".into(), &7.into()), "{day}");
    let week =
        server.get("/v1/quote/history-candlesticks?symbol=9.HK&period=week&count=1", &ann).await.json();
    assert_eq!(week["data"]["candlesticks"][0]["volume"], 123_456 + 7, "{week}");
}

#[tokio::test]
async fn a_live_clock_shows_all_stored_data() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), None);
    // The security has only daily candles, including an unfinished candle of the 12th, as a live
    // feed would send it.
    let days = "symbol,time,open,high,low,close,volume,turnover\n\
                8.HK,2026-11-11,50,60,40,55,1000,5.5\n8.HK,2026-11-12,55,65,45,58,2000,6.5\n";
    let path = dir.path().join("only-days.csv");
    std::fs::write(&path, days).unwrap();
    import_files(dir.path(), &[path]);
    let server = Running::start_in(dir, Settings::default()).await;
    server.go_live();
    server.set_now("2026-11-12T09:31:20+08:00".parse::<jiff::Timestamp>().unwrap().as_second());
    let ann = server.account("ann", Terms { rate: Some("unlimited".parse().unwrap()), ..Terms::default() });
    // The second one-minute candle is stored completely, so it is visible. It reached 104, closed
    // at 102 and has a volume of 8.
    let made = ["102.000", "100.000", "104.000", "98.000", "700.000"].map(str::to_owned);
    assert_eq!(quote(&server, &ann, "9.HK").await, (made, 15));
    let stored = ["58.000", "55.000", "65.000", "45.000", "55.000"].map(str::to_owned);
    assert_eq!(quote(&server, &ann, "8.HK").await, (stored, 2_000));
    for (name, close, volume) in [("9.HK", "102.000", 15), ("8.HK", "58.000", 2_000)] {
        let path = format!("/v1/quote/history-candlesticks?symbol={name}&period=day&count=1");
        let day = server.get(&path, &ann).await.json();
        let candle = &day["data"]["candlesticks"][0];
        assert_eq!((&candle["close"], &candle["volume"]), (&close.into(), &volume.into()), "{day}");
    }
}

/// Returns a security's last price, open, high, low and previous close, and its volume.
async fn quote(server: &Running, account: &Created, name: &str) -> ([String; 5], i64) {
    let mut client = server.signed_in(account).await;
    let quotes: QuoteResponse =
        client.ask(11, &SymbolsRequest { symbol: vec![name.to_owned()] }).await.unwrap();
    let [quote] = quotes.secu_quote.as_slice() else { panic!("{quotes:?}") };
    let prices = [&quote.last_done, &quote.open, &quote.high, &quote.low, &quote.prev_close];
    (prices.map(Clone::clone), quote.volume)
}
