//! Commands 10, 11 and 18: security details, quotes, and intraday prices.

use access::Terms;
use wire::quote::{
    IntradayRequest, IntradayResponse, PrePost, QuoteResponse, StaticInfoResponse, SymbolsRequest,
};

use crate::support::{OVERNIGHT, Running, TRANSPORTS, TransportLabel, import_files};

fn symbols(symbols: &[&str]) -> SymbolsRequest {
    SymbolsRequest { symbol: symbols.iter().map(|symbol| (*symbol).to_owned()).collect() }
}

#[tokio::test]
async fn securities_are_returned_in_request_order() {
    let server = Running::start().await;
    // Security details need no quote right.
    let account = server.account_with("ann", "none", Terms::default());
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        let request = symbols(&[
            "AAPL.US",
            "9999.HK",
            "00005.HK",
            "700.hk",
            "nonsense",
            "",
            "00700.HK",
            "5.HK",
            "600519.SH",
        ]);
        let answer: StaticInfoResponse = client.ask(10, &request).await.unwrap();
        let shown: Vec<[&str; 6]> = answer
            .secu_static_info
            .iter()
            .map(|one| {
                [&one.symbol, &one.name_en, &one.name_cn, &one.name_hk, &one.currency, &one.board]
                    .map(String::as_str)
            })
            .collect();
        assert_eq!(
            shown,
            [
                ["AAPL.US", "", "", "", "USD", "USMain"],
                ["5.HK", "HSBC", "汇丰", "滙豐", "HKD", "HKEquity"],
                ["700.HK", "Tencent", "腾讯控股", "騰訊控股", "HKD", "HKEquity"],
                ["600519.SH", "", "", "", "CNY", "SHMainConnect"],
            ]
        );
        let lots: Vec<i32> = answer.secu_static_info.iter().map(|one| one.lot_size).collect();
        assert_eq!(lots, [1, 400, 100, 1]);
        assert_eq!(answer.secu_static_info[1].exchange, "SEHK");
        let none: StaticInfoResponse = client.ask(10, &symbols(&["9999.HK"])).await.unwrap();
        assert!(none.secu_static_info.is_empty());
    }
}

#[tokio::test]
async fn an_option_with_stored_candles_has_a_board_and_a_name() {
    let server = Running::start().await;
    let path = server.dir.path().join("option.csv");
    let rows = "symbol,time,open,high,low,close,volume\nAAPL260417C192500.US,2026-03-18 10:00,5,5,5,5,10\n";
    std::fs::write(&path, rows).unwrap();
    import_files(server.dir.path(), &[path]);
    let account = server.account("ann", access::Terms::default());
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        let answer: StaticInfoResponse = client.ask(10, &symbols(&["AAPL260417C192500.US"])).await.unwrap();
        let one = &answer.secu_static_info[0];
        assert_eq!((one.board.as_str(), one.currency.as_str(), one.lot_size), ("USOption", "USD", 1));
        for name in [&one.name_en, &one.name_cn, &one.name_hk] {
            assert_eq!(name, "AAPL 2026-04-17 192.5 Call");
        }
    }
}

#[tokio::test]
async fn a_list_has_one_to_five_hundred_symbols() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let mut client = server.signed_in(&account).await;
    for command in [10, 11] {
        let (status, code, _) = client.ask::<()>(command, &symbols(&[])).await.unwrap_err();
        assert_eq!((status, code), (7, 301_600));
        let (status, code, text) = client.ask::<()>(command, &symbols(&["700.HK"; 501])).await.unwrap_err();
        assert_eq!((status, code), (7, 301_607));
        assert!(text.contains("501 symbols"), "{text}");
        client.ask::<()>(command, &symbols(&["700.HK"; 500])).await.unwrap();
    }
}

#[tokio::test]
async fn quotes_are_from_the_last_trading_day() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    let mut client = server.signed_in(&account).await;
    let request =
        symbols(&["600519.SH", "9999.HK", "5.HK", "00700.HK", "AAPL261120C200000.US", "700.HK", "x"]);
    let answer: QuoteResponse = client.ask(11, &request).await.unwrap();
    let [moutai, tencent] = answer.secu_quote.as_slice() else { panic!("{answer:?}") };
    assert_eq!((moutai.symbol.as_str(), moutai.last_done.as_str()), ("600519.SH", "124.500"));
    let shown = [
        &tencent.symbol,
        &tencent.last_done,
        &tencent.prev_close,
        &tencent.open,
        &tencent.high,
        &tencent.low,
        &tencent.turnover,
    ];
    assert_eq!(shown, ["700.HK", "123.500", "122.500", "123.000", "125.000", "122.000", "123000.000"]);
    assert_eq!((tencent.volume, tencent.trade_status), (1000, 0));
    // The end of the day, 16:10 in Hong Kong.
    assert_eq!(tencent.timestamp, 1_794_557_400);
    assert_eq!((&tencent.pre_market_quote, &tencent.over_night_quote), (&None, &None));
}

#[tokio::test]
async fn us_quotes_include_pre_post_and_overnight_sessions() {
    let server = Running::start().await;
    let account = server.account_with("ann", OVERNIGHT, Terms::default());
    let beside = |last_done: &str, timestamp, first: i64, count: i64, prev_close: &str| {
        Some(PrePost {
            last_done: last_done.to_owned(),
            timestamp,
            // Minute `n` of the day has a volume of `n + 1`.
            volume: (first + 1..=first + count).sum(),
            turnover: format!("{count}000.000"),
            high: "124.990".to_owned(),
            low: "124.000".to_owned(),
            prev_close: prev_close.to_owned(),
        })
    };
    // 480 overnight minutes, 330 pre-market, 390 regular, 240 post-market.
    let (overnight, pre, post) = (
        beside("124.790", 1_794_560_399, 0, 480, "123.500"),
        beside("124.090", 1_794_580_199, 480, 330, "123.500"),
        beside("124.390", 1_794_617_999, 1200, 240, "124.500"),
    );
    for (metadata, overnight) in [(&[][..], None), (&[("need_over_night_quote", "true")], overnight)] {
        let mut client = server.enter(TransportLabel::Tcp, &account, metadata).await;
        let answer: QuoteResponse = client.ask(11, &symbols(&["AAPL.US"])).await.unwrap();
        let quote = &answer.secu_quote[0];
        assert_eq!((quote.last_done.as_str(), quote.prev_close.as_str()), ("124.500", "123.500"));
        assert_eq!(quote.pre_market_quote, pre);
        assert_eq!(quote.post_market_quote, post);
        assert_eq!(quote.over_night_quote, overnight);
    }
    // Without the right, requesting overnight quotes has no effect.
    let account = server.account("bob", Terms::default());
    let mut client = server.enter(TransportLabel::Tcp, &account, &[("need_over_night_quote", "true")]).await;
    let answer: QuoteResponse = client.ask(11, &symbols(&["AAPL.US"])).await.unwrap();
    assert_eq!(answer.secu_quote[0].over_night_quote, None);
}

#[tokio::test]
async fn quotes_without_a_right_are_omitted() {
    let server = Running::start().await;
    let account = server.account_with("ann", "CN", Terms::default());
    let mut client = server.signed_in(&account).await;
    let request = symbols(&["700.HK", "AAPL.US", "600519.SH"]);
    let answer: QuoteResponse = client.ask(11, &request).await.unwrap();
    let shown: Vec<&str> = answer.secu_quote.iter().map(|quote| quote.symbol.as_str()).collect();
    assert_eq!(shown, ["600519.SH"]);
}

#[tokio::test]
async fn the_intraday_line_has_a_running_average_price() {
    let server = Running::start().await;
    let account = server.account_with("ann", OVERNIGHT, Terms::default());
    let mut client =
        server.enter(TransportLabel::WebSocket, &account, &[("need_over_night_quote", "true")]).await;
    let mut ask = async |symbol: &str, trade_session| {
        client
            .ask::<IntradayResponse>(18, &IntradayRequest { symbol: symbol.to_owned(), trade_session })
            .await
            .unwrap()
    };
    let answer = ask("00700.hk", 0).await;
    assert_eq!(answer.symbol, "700.HK");
    // The day has 150 minutes in the morning, 180 in the afternoon, and the close.
    assert_eq!(answer.lines.len(), 331);
    // Each minute has a turnover of 1000 and the volumes are 1, 2, 3, so the averages are 1000 / 1,
    // 2000 / 3, 3000 / 6.
    let shown: Vec<[&str; 3]> = answer
        .lines
        .iter()
        .take(3)
        .map(|line| [&line.price, &line.turnover, &line.avg_price].map(String::as_str))
        .collect();
    assert_eq!(
        shown,
        [
            ["123.000", "1000.000", "1000.000000"],
            ["123.010", "1000.000", "666.666667"],
            ["123.020", "1000.000", "500.000000"],
        ]
    );
    assert_eq!(answer.lines[0].timestamp, 1_794_533_400);
    assert!(answer.lines.is_sorted_by_key(|line| line.timestamp));
    let counts = [ask("AAPL.US", 0).await, ask("AAPL.US", 100).await].map(|answer| answer.lines.len());
    assert_eq!(counts, [390, 1440]);
    // A security with only daily candles has no intraday prices.
    assert!(ask("600519.SH", 0).await.lines.is_empty());
    let mut plain = server.signed_in(&account).await;
    let request = IntradayRequest { symbol: "AAPL.US".to_owned(), trade_session: 100 };
    let without: IntradayResponse = plain.ask(18, &request).await.unwrap();
    assert_eq!(without.lines.len(), 960);
}

#[tokio::test]
async fn early_session_quotes_are_relative_to_the_last_close() {
    let server = Running::start().await;
    let account = server.account_with("ann", OVERNIGHT, Terms::default());
    // Monday, 08:00 in New York: after the overnight session and four hours of the pre-market
    // session.
    let now = 1_794_834_000;
    server.set_now(now);
    let venues = market::Venues::built_in().unwrap();
    let day = venues.of(market::Market::Us).day("2026-11-16".parse().unwrap()).unwrap();
    let mut text = "symbol,time,open,high,low,close,volume,turnover\n".to_owned();
    for (at, _) in day.minutes().filter(|(at, _)| at.0 <= now) {
        text += &format!("AAPL.US,{},130,130,130,130,2,260\n", at.0);
    }
    let path = server.dir.path().join("monday.csv");
    std::fs::write(&path, text).unwrap();
    import_files(server.dir.path(), &[path]);
    let mut client = server.enter(TransportLabel::Tcp, &account, &[("need_over_night_quote", "true")]).await;
    let answer: QuoteResponse = client.ask(11, &symbols(&["AAPL.US"])).await.unwrap();
    let quote = &answer.secu_quote[0];
    // Regular and post-market quotes are those of Friday.
    assert_eq!((quote.last_done.as_str(), quote.prev_close.as_str()), ("124.500", "123.500"));
    assert_eq!(quote.post_market_quote.as_ref().unwrap().last_done, "124.390");
    // Of the one-minute candle that begins at 08:00, only the open is known, without volume.
    for (beside, minutes) in [(&quote.over_night_quote, 480), (&quote.pre_market_quote, 240)] {
        let beside = beside.as_ref().unwrap();
        assert_eq!((beside.last_done.as_str(), beside.prev_close.as_str()), ("130.000", "124.500"));
        assert_eq!(beside.volume, 2 * minutes);
    }
    for (trade_session, lines) in [(0, 390), (100, 721)] {
        let request = IntradayRequest { symbol: "AAPL.US".to_owned(), trade_session };
        let answer: IntradayResponse = client.ask(18, &request).await.unwrap();
        assert_eq!(answer.lines.len(), lines);
    }
}
