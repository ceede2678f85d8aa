//! Tests that every security code has one canonical form.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use market::{Market, OptionRight, ParseSymbolError, Region, Symbol};

fn symbol(text: &str) -> Symbol {
    text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"))
}

#[test]
fn every_spelling_has_one_canonical_form() {
    let check = |read: &str, canonical: &str, ticker: &str, region: Region| {
        let symbol = symbol(read);
        assert_eq!(
            (symbol.as_str(), symbol.ticker(), symbol.region()),
            (canonical, ticker, region),
            "{read}"
        );
        assert_eq!(symbol.to_string(), canonical);
        assert_eq!(self::symbol(canonical), symbol, "the canonical form reads back");
        assert_eq!(Symbol::new(ticker, region), Ok(symbol));
    };
    use Region::{Hk, Sh, Sz, Us};
    check("700.HK", "700.HK", "700", Hk);
    check("00700.HK", "700.HK", "700", Hk);
    check("00700.hk", "700.HK", "700", Hk);
    check("9988.HK", "9988.HK", "9988", Hk);
    check("2800.HK", "2800.HK", "2800", Hk);
    check("00001.HK", "1.HK", "1", Hk);
    check("12345.HK", "12345.HK", "12345", Hk);
    check("69999.HK", "69999.HK", "69999", Hk);
    check("HSI.HK", "HSI.HK", "HSI", Hk);
    check("hstech.hk", "HSTECH.HK", "HSTECH", Hk);
    check("AAPL.US", "AAPL.US", "AAPL", Us);
    check("aapl.us", "AAPL.US", "AAPL", Us);
    check("Aapl.uS", "AAPL.US", "AAPL", Us);
    // The region is the part after the last dot.
    check("BRK.A.US", "BRK.A.US", "BRK.A", Us);
    check("BRK.B.US", "BRK.B.US", "BRK.B", Us);
    check("brk-b.us", "BRK-B.US", "BRK-B", Us);
    // An index starts with a dot; without the dot, it is a different symbol.
    check(".VIX.US", ".VIX.US", ".VIX", Us);
    check(".dji.us", ".DJI.US", ".DJI", Us);
    check(".DJUS.US", ".DJUS.US", ".DJUS", Us);
    check("DJI.US", "DJI.US", "DJI", Us);
    check("AAPL220429P162500.US", "AAPL220429P162500.US", "AAPL220429P162500", Us);
    // Mainland codes keep their leading zeros.
    check("600519.SH", "600519.SH", "600519", Sh);
    check("000001.SH", "000001.SH", "000001", Sh);
    check("000568.sz", "000568.SZ", "000568", Sz);
    check("399001.SZ", "399001.SZ", "399001", Sz);
}

#[test]
fn symbols_of_two_regions_differ() {
    assert_ne!(symbol("000001.SH"), symbol("000001.SZ"));
    assert_ne!(symbol("DJI.US"), symbol(".DJI.US"));
    assert_ne!(symbol("700.HK"), symbol("700.US"));
}

#[test]
fn regions_have_markets_and_currencies() {
    let check = |region: &str, market: Market, currency: &str| {
        let region = Region::parse(region).unwrap();
        assert_eq!((region.market(), region.market().currency()), (market, currency));
    };
    check("HK", Market::Hk, "HKD");
    check("US", Market::Us, "USD");
    check("SH", Market::Cn, "CNY");
    check("sz", Market::Cn, "CNY");
    assert_eq!(Region::parse("CN"), None);
    assert_eq!(Market::parse("cn"), Some(Market::Cn));
    assert_eq!(Market::parse("SH"), None);
}

#[test]
fn errors_distinguish_form_region_and_ticker() {
    let check = |read: &str, expected: &str| {
        let found = match read.parse::<Symbol>() {
            Ok(symbol) => symbol.to_string(),
            Err(ParseSymbolError::Form(_)) => "form".to_owned(),
            Err(ParseSymbolError::Region(_)) => "region".to_owned(),
            Err(ParseSymbolError::Ticker(_, region)) => format!("ticker of {region}"),
        };
        assert_eq!(found, expected, "{read:?}");
    };
    // The dot, or the ticker before it, is missing.
    for text in ["", "AAPL", "700", ".US", ".", "HK"] {
        check(text, "form");
    }
    // Unsupported regions, including crypto
    for text in ["D05.SG", "BTCUSD.HAS", "AAPL.", "AAPL.XX", "700.HK ", "AAPL.US.", "600519.CN", "AAPL.USA"] {
        check(text, "region");
    }
    for text in [
        " AAPL.US",
        "AA PL.US",
        "AAPL,.US",
        "..VIX.US",
        "BRK..B.US",
        "BRK.-B.US",
        "-.US",
        "BRK-.US",
        "ÄPL.US",
        "A\u{0}.US",
        "A/B.US",
        "A'B.US",
    ] {
        check(text, "ticker of US");
    }
    for text in ["0.HK", "00000.HK", "100000.HK", ".HSI.HK"] {
        check(text, "ticker of HK");
    }
    for text in ["60051.SH", "6005190.SH", "ABCDEF.SH", "60051A.SH"] {
        check(text, "ticker of SH");
    }
    check("1.SZ", "ticker of SZ");
    check(&format!("{}.US", "A".repeat(25)), "ticker of US");
    check(&format!("{}.US", "A".repeat(24)), &format!("{}.US", "A".repeat(24)));
}

#[test]
fn an_error_quotes_at_most_forty_characters() {
    let error = "x".repeat(100_000).parse::<Symbol>().unwrap_err().to_string();
    assert!(error.len() < 200, "{error}");
    let escaped = "\u{1b}[31m.XX".parse::<Symbol>().unwrap_err().to_string();
    assert!(!escaped.contains('\u{1b}'), "{escaped:?}");
}

#[test]
fn us_options_are_recognised_by_their_code() {
    let check = |read: &str, option: bool| assert_eq!(symbol(read).is_us_option(), option, "{read}");
    check("AAPL220429P162500.US", true);
    check("aapl220429c162500.us", true);
    check("A220429C1.US", true);
    check("SPXW261120C99999999.US", true);
    check("TSLA240229C200000.US", true);
    check("AAPL220429P00162500.US", true);
    // A root may end in a digit, for instance after a split.
    check("AAPL1220429P162500.US", true);
    // These codes have the length of an option code but an invalid part.
    check("AAPL220429P.US", false);
    check("AAPL220429X162500.US", false);
    check("AAPL220431P162500.US", false);
    check("AAPL221329P162500.US", false);
    check("AAPL230229P162500.US", false);
    check("AAPL22042P162500.US", false);
    check("AAPL220429P123456789.US", false);
    check("220429P162500.US", false);
    check(".AAPL220429P162500.US", false);
    check("AAPL220429P162500.HK", false);
    check("AAPL220429PC162500.US", false);
    check("AAPL.US", false);
    check("CPPPPPPPC1.US", false);
    check("C.US", false);
    check("600519.SH", false);
}

#[test]
fn only_leading_zeros_of_a_strike_are_removed() {
    let check =
        |read: &str, plain: &str| assert_eq!(symbol(read).with_plain_strike(), symbol(plain), "{read}");
    check("AAPL220429P00162500.US", "AAPL220429P162500.US");
    check("aapl220429c00000500.us", "AAPL220429C500.US");
    check("AAPL220429C00000000.US", "AAPL220429C0.US");
    for same in
        ["AAPL220429P162500.US", "AAPL220431P00162500.US", "X00700.US", "AAPL.US", "000001.SZ", "700.HK"]
    {
        check(same, same);
    }
}

#[test]
fn option_terms_are_parsed_from_the_code() {
    let check = |read: &str, expected: Option<(&str, &str, OptionRight, &str)>| {
        let symbol = symbol(read);
        let found = symbol.option().map(|terms| {
            let strike = terms.strike.text(3).to_string();
            (terms.underlying.to_string(), terms.expiry.to_string(), terms.right, strike)
        });
        let expected = expected.map(|(underlying, expiry, right, strike)| {
            (underlying.to_owned(), expiry.to_owned(), right, strike.to_owned())
        });
        assert_eq!(found, expected, "{read}");
        assert!(symbol.option().is_none() || symbol.is_us_option(), "{read}");
    };
    use OptionRight::{Call, Put};
    check("AAPL260417C190000.US", Some(("AAPL.US", "2026-04-17", Call, "190.000")));
    check("AAPL220429P162500.US", Some(("AAPL.US", "2022-04-29", Put, "162.500")));
    check("AAPL220429P00162500.US", Some(("AAPL.US", "2022-04-29", Put, "162.500")));
    check("A220429C1.US", Some(("A.US", "2022-04-29", Call, "0.001")));
    check("SPXW261120C99999999.US", Some(("SPXW.US", "2026-11-20", Call, "99999.999")));
    check("TSLA240229C200000.US", Some(("TSLA.US", "2024-02-29", Call, "200.000")));
    check("AAPL1220429P162500.US", Some(("AAPL1.US", "2022-04-29", Put, "162.500")));
    check("BRK.B260417P450000.US", Some(("BRK.B.US", "2026-04-17", Put, "450.000")));
    check("C260417C60000.US", Some(("C.US", "2026-04-17", Call, "60.000")));
    for other in
        ["AAPL.US", "700.HK", ".VIX.US", "AAPL230229P162500.US", ".AAPL220429P162500.US", "600519.SH"]
    {
        check(other, None);
    }
    check("AAPL220429P162500.HK", None);
    // The code has the form of an option, but its root is not a valid ticker.
    check("A-220429P1.US", None);
    assert!(symbol("A-220429P1.US").is_us_option());
}
