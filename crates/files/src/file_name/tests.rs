use std::fmt::Write;

use expect_test::expect;

use super::*;

fn said(name: &str, region: Option<Region>) -> String {
    let path = Path::new(name);
    let period = period_of(path).map(|period| format!(", {period}")).unwrap_or_default();
    match symbol_of(path, region) {
        Ok((symbol, Certainty::Said)) => format!("{symbol}{period}"),
        Ok((symbol, Certainty::RegionAssumed)) => format!("{symbol}, region assumed{period}"),
        Ok((symbol, Certainty::Guessed)) => format!("{symbol}, guessed{period}"),
        Err(NoName { perhaps: Some(symbol), .. }) => format!("ask, perhaps {symbol}{period}"),
        Err(NoName { perhaps: None, .. }) => format!("ask{period}"),
    }
}

fn list(names: &[&str]) -> String {
    names.iter().fold(String::new(), |mut text, name| {
        writeln!(text, "{name}: {}", said(name, None)).unwrap();
        text
    })
}

#[test]
fn names_of_tradingview_have_exchange_ticker_and_period() {
    let names = [
        "NASDAQ_AAPL, 1D.csv",
        "NASDAQ_AAPL, 1D (1).csv",
        "NASDAQ_AAPL, 5_a1b2c.csv",
        "BATS_SPY, 60.csv",
        "NYSE_BRK.B, 1W.csv",
        "NYSE_KO, 1M.csv",
        "HKEX_700, 1D.csv",
        "HKEX_DLY_9988, 15.csv",
        "SSE_600519, 60.csv",
        "SZSE_DLY_000001, 240.csv",
        "NASDAQ_AAPL_1D.csv",
        "NYSE_IBM.csv",
        "BINANCE_BTCUSDT, 60.csv",
        "BINANCE_BTCUSDT.csv",
        "VIE_EBS, 1D.csv",
    ];
    expect![[r#"
        NASDAQ_AAPL, 1D.csv: AAPL.US, day
        NASDAQ_AAPL, 1D (1).csv: AAPL.US, day
        NASDAQ_AAPL, 5_a1b2c.csv: AAPL.US, 5m
        BATS_SPY, 60.csv: SPY.US, 60m
        NYSE_BRK.B, 1W.csv: BRK.B.US, week
        NYSE_KO, 1M.csv: KO.US, month
        HKEX_700, 1D.csv: 700.HK, day
        HKEX_DLY_9988, 15.csv: 9988.HK, 15m
        SSE_600519, 60.csv: 600519.SH, 60m
        SZSE_DLY_000001, 240.csv: 000001.SZ, 240m
        NASDAQ_AAPL_1D.csv: AAPL.US, day
        NYSE_IBM.csv: IBM.US
        BINANCE_BTCUSDT, 60.csv: ask, 60m
        BINANCE_BTCUSDT.csv: ask
        VIE_EBS, 1D.csv: ask, day
    "#]]
    .assert_eq(&list(&names));
}

#[test]
fn names_of_other_vendors_are_read() {
    let names = [
        "AAPL Historical Data.csv",
        "AAPL Stock Price History.csv",
        "AAPL Historical Data (2).csv",
        "daily_adjusted_IBM.csv",
        "intraday_5min_IBM.csv",
        "weekly_adjusted_IBM.csv",
        "AAPL_Daily_2024-01-01_2024-12-31.csv",
        "AAPL1440.csv",
        "AAPL5.csv",
        "AAPL_M15_202401020930_202401051600.csv",
        "#AAPL_H1.csv",
        "AAPL_MN1.csv",
        "SH#600519.txt",
        "SZ#000001.txt",
        "31#00700.txt",
        "74#AAPL.txt",
        "SH600519.txt",
        "sz000001.csv",
        "hk00700.csv",
        "sh.600519.csv",
        "aapl_us_d.csv",
        "aapl_us_w.csv",
        "brk-b_us_d.csv",
        "NVDL_US_Min_1_2024-01-02_2024-05-01.csv",
        "yahoofinance-AAPL-20040819-20180120.csv",
        "stooq_msft.csv",
        "AAPL_5min.csv",
        "600519_日线_前复权.csv",
        "HistoricalData_1731628800000.csv",
        "^HSI.csv",
    ];
    expect![[r#"
        AAPL Historical Data.csv: AAPL.US, guessed
        AAPL Stock Price History.csv: AAPL.US, guessed
        AAPL Historical Data (2).csv: AAPL.US, guessed
        daily_adjusted_IBM.csv: IBM.US, guessed, day
        intraday_5min_IBM.csv: IBM.US, guessed, 5m
        weekly_adjusted_IBM.csv: IBM.US, guessed, week
        AAPL_Daily_2024-01-01_2024-12-31.csv: AAPL.US, guessed, day
        AAPL1440.csv: AAPL.US, guessed, day
        AAPL5.csv: AAPL.US, guessed, 5m
        AAPL_M15_202401020930_202401051600.csv: AAPL.US, guessed, 15m
        #AAPL_H1.csv: AAPL.US, region assumed, 60m
        AAPL_MN1.csv: AAPL.US, region assumed, month
        SH#600519.txt: 600519.SH
        SZ#000001.txt: 000001.SZ
        31#00700.txt: 700.HK
        74#AAPL.txt: AAPL.US
        SH600519.txt: 600519.SH
        sz000001.csv: 000001.SZ
        hk00700.csv: 700.HK
        sh.600519.csv: 600519.SH
        aapl_us_d.csv: AAPL.US, day
        aapl_us_w.csv: AAPL.US, week
        brk-b_us_d.csv: BRK.B.US, day
        NVDL_US_Min_1_2024-01-02_2024-05-01.csv: NVDL.US, guessed, 1m
        yahoofinance-AAPL-20040819-20180120.csv: AAPL.US, guessed
        stooq_msft.csv: MSFT.US, guessed
        AAPL_5min.csv: AAPL.US, region assumed, 5m
        600519_日线_前复权.csv: 600519.SH, guessed, day
        HistoricalData_1731628800000.csv: ask
        ^HSI.csv: HSI.HK
    "#]]
    .assert_eq(&list(&names));
}

#[test]
fn plain_names_are_tickers() {
    let names = [
        "AAPL.csv",
        "ko.csv",
        "BRK-B.csv",
        "BRK.B.csv",
        "aapl_1d.csv",
        "AAPL.US.csv",
        "AAPL.US_1m.csv",
        "700.HK.csv",
        "0700_HK_daily.csv",
        "HK.00700_daily.csv",
        "600519.SS.csv",
        "600519_SH_day_2024.csv",
        "data_700.HK_2024.csv",
        "AAPL_2024.csv",
        "AAPL.xlsx",
        "600519.csv",
        "000001.csv",
        "00700.csv",
        "0700.csv",
        "AAPL260417C190000.US_1m.csv",
    ];
    expect![[r#"
        AAPL.csv: AAPL.US, region assumed
        ko.csv: KO.US, region assumed
        BRK-B.csv: BRK.B.US, region assumed
        BRK.B.csv: BRK.B.US, region assumed
        aapl_1d.csv: AAPL.US, region assumed, day
        AAPL.US.csv: AAPL.US
        AAPL.US_1m.csv: AAPL.US, 1m
        700.HK.csv: 700.HK
        0700_HK_daily.csv: 700.HK, day
        HK.00700_daily.csv: 700.HK, day
        600519.SS.csv: 600519.SH
        600519_SH_day_2024.csv: 600519.SH, guessed, day
        data_700.HK_2024.csv: 700.HK, guessed
        AAPL_2024.csv: AAPL.US, guessed
        AAPL.xlsx: AAPL.US, region assumed
        600519.csv: 600519.SH, region assumed
        000001.csv: 000001.SZ, region assumed
        00700.csv: 700.HK, region assumed
        0700.csv: 700.HK, region assumed
        AAPL260417C190000.US_1m.csv: AAPL260417C190000.US, 1m
    "#]]
    .assert_eq(&list(&names));
}

#[test]
fn names_that_do_not_name_a_security_are_asked_about() {
    let names = [
        "prices.csv",
        "data.csv",
        "Stocks.csv",
        "Book1.xlsx",
        "Mappe1.xlsx",
        "工作簿1.xlsx",
        "export.csv",
        "history.csv",
        "download (1).csv",
        "stock_data-2.csv",
        "us_prices.csv",
        "yahoo.csv",
        "daily.csv",
        "minutes.csv",
        "quotes_2024.csv",
        "2024-01-02.csv",
        "202401.csv",
        "700.csv",
        "Apple.csv",
        "Apple Historical Data.csv",
        "my data.csv",
        "Tencent Holdings Stock Price History.csv",
        "yahoo-AAPL-MSFT.csv",
        "AAPL.US_MSFT.US.csv",
        "BTC-USD.csv",
        "EURUSD_M5.csv",
        "msft data.csv",
    ];
    expect![[r#"
        prices.csv: ask
        data.csv: ask
        Stocks.csv: ask
        Book1.xlsx: ask
        Mappe1.xlsx: ask
        工作簿1.xlsx: ask
        export.csv: ask
        history.csv: ask
        download (1).csv: ask
        stock_data-2.csv: ask
        us_prices.csv: ask
        yahoo.csv: ask
        daily.csv: ask, day
        minutes.csv: ask
        quotes_2024.csv: ask
        2024-01-02.csv: ask
        202401.csv: ask
        700.csv: ask, perhaps 700.HK
        Apple.csv: ask
        Apple Historical Data.csv: ask
        my data.csv: ask
        Tencent Holdings Stock Price History.csv: ask
        yahoo-AAPL-MSFT.csv: ask, perhaps AAPL.US
        AAPL.US_MSFT.US.csv: ask, perhaps AAPL.US
        BTC-USD.csv: ask, perhaps BTC.US
        EURUSD_M5.csv: ask, 5m
        msft data.csv: ask, perhaps MSFT.US
    "#]]
    .assert_eq(&list(&names));
}

#[test]
fn a_region_completes_tickers_but_not_words() {
    let of = |name: &str, region| said(name, Some(region));
    assert_eq!(of("AAPL.csv", Region::Us), "AAPL.US");
    assert_eq!(of("700.csv", Region::Hk), "700.HK");
    assert_eq!(of("00700_1d.csv", Region::Hk), "700.HK, day");
    assert_eq!(of("yahoofinance-AAPL-20040819.csv", Region::Us), "AAPL.US, guessed");
    assert_eq!(of("prices.csv", Region::Us), "ask");
    assert_eq!(of("NASDAQ_AAPL, 1D.csv", Region::Hk), "AAPL.US, day");
}
