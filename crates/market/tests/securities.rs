//! Tests a security's kind and margin factor.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use market::{MarginFactor, ParseMarginError, SecurityKind};

#[test]
fn security_kinds_ignore_case() {
    for kind in SecurityKind::ALL {
        assert_eq!(SecurityKind::parse(kind.as_str()), Some(kind));
        assert_eq!(SecurityKind::parse(&kind.to_string().to_uppercase()), Some(kind));
    }
    for word in ["", "stock", "etfs", " etf", "option", "index"] {
        assert_eq!(SecurityKind::parse(word), None, "{word:?}");
    }
}

#[test]
fn warrants_are_recognized_by_board_or_code() {
    let check = |symbol: &str, board: Option<&str>, expected: &str| {
        let found = SecurityKind::presumed(&symbol.parse().unwrap(), board);
        assert_eq!(found.as_str(), expected, "{symbol} {board:?}");
    };
    check("700.HK", None, "equity");
    check("700.HK", Some("HKEquity"), "equity");
    check("700.HK", Some("HKWarrant"), "warrant");
    check("9999.HK", None, "equity");
    check("10000.HK", None, "warrant");
    check("29999.HK", None, "warrant");
    check("30000.HK", None, "equity");
    check("42999.HK", None, "equity");
    check("43000.HK", None, "warrant");
    check("49999.HK", None, "warrant");
    check("50000.HK", None, "warrant");
    check("69999.HK", None, "warrant");
    check("70000.HK", None, "equity");
    check("HSI.HK", None, "equity");
    // Only Hong Kong reserves code ranges for warrants.
    check("12345.US", None, "equity");
    check("600519.SH", None, "equity");
}

#[test]
fn a_margin_factor_is_exact_and_bounded() {
    let check = |text: &str, expected: Result<(&str, i64), ParseMarginError>| {
        let found = MarginFactor::parse(text).map(|factor| (factor.to_string(), factor.millionths()));
        assert_eq!(found, expected.map(|(text, value)| (text.to_owned(), value)), "{text:?}");
    };
    check("0", Ok(("0", 0)));
    check("0.35", Ok(("0.35", 350_000)));
    check("0.350", Ok(("0.35", 350_000)));
    check("1", Ok(("1", 1_000_000)));
    check("1.000000", Ok(("1", 1_000_000)));
    check("0.000001", Ok(("0.000001", 1)));
    check("10", Ok(("10", 10_000_000)));
    check("3.5e-1", Ok(("0.35", 350_000)));
    check("-0", Ok(("0", 0)));
    for text in ["10.000001", "11", "-0.1", "-1", "1e30", "9999999999999999999999999999999999999999"] {
        check(text, Err(ParseMarginError::Range));
    }
    for text in ["0.0000001", "0.3500001"] {
        check(text, Err(ParseMarginError::Decimals));
    }
    for text in ["", "x", "35%", "NaN", "1,5", "0x1", "."] {
        check(text, Err(ParseMarginError::Form));
    }
    assert_eq!(ParseMarginError::Range.to_string(), "not a number from 0 to 10");
}
