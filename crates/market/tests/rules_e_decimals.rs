//! E: decimals. Numbers have a fixed number of decimals and are rounded once, half away from zero.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "a test may panic")]

use market::{DecimalError, DecimalText, Price, Turnover, parse_scaled};

#[test]
fn e1_prices_have_three_decimals() {
    let check = |read: &str, written: &str| {
        assert_eq!(Price::parse(read).unwrap().text(3).to_string(), written, "{read}")
    };
    check("362", "362.000");
    check("362.0", "362.000");
    check("346.44", "346.440");
    check("158.745", "158.745");
    check("216.839", "216.839");
    check("0.001", "0.001");
    check("1000000", "1000000.000");
    check("9223372036854.775807", "9223372036854.776");
}

#[test]
fn e1_prices_may_have_four_decimals() {
    let check = |decimals: u32, written: &str| {
        assert_eq!(Price::parse("0.123456").unwrap().text(decimals).to_string(), written)
    };
    check(0, "0");
    check(1, "0.1");
    check(2, "0.12");
    check(3, "0.123");
    check(4, "0.1235");
    check(5, "0.12346");
    check(6, "0.123456");
    // More than six decimals are not stored.
    check(7, "0.123456");
}

#[test]
fn e2_turnover_has_three_decimals() {
    let check = |read: &str, written: &str| {
        assert_eq!(Turnover::parse(read).unwrap().text().to_string(), written, "{read}")
    };
    check("3954556819", "3954556819.000");
    check("25563965746.000", "25563965746.000");
    check("970874184.759", "970874184.759");
    check("77269032.8", "77269032.800");
    check("0", "0.000");
    check("999999999999999999.999499", "999999999999999999.999");
    check("999999999999999999.9995", "1000000000000000000.000");
}

#[test]
fn e3_values_are_rounded_once() {
    let check = |read: &str, written: &str| {
        let price = Price::parse(read).unwrap();
        assert_eq!(price.text(3).to_string(), written, "{read}");
        assert_eq!(price.rounded(3), Price::parse(written).unwrap(), "{read}");
        assert_eq!((price.rounded(6), price.rounded(7)), (price, price));
    };
    check("1.0005", "1.001");
    check("12.3455", "12.346");
    check("0.00049", "0.000");
    check("0.0005", "0.001");
    check("1.000499", "1.000");
    check("12.345499", "12.345");
    check("0.9995", "1.000");
    check("-1.0005", "-1.001");
    check("-0.0005", "-0.001");
    // A value that is rounded to zero has no sign.
    check("-0.00049", "0.000");
}

#[test]
fn e3_stored_values_have_full_precision() {
    let check = |read: &str, millionths: i64| assert_eq!(Price::parse(read), Ok(Price(millionths)), "{read}");
    check("12.3455", 12_345_500);
    check("0.000001", 1);
    check("1.0005000", 1_000_500);
    check("1.000000000000", 1_000_000);
    check(".5", 500_000);
    check("5.", 5_000_000);
    check("+5", 5_000_000);
    check("1.5e3", 1_500_000_000);
    check("15E-1", 1_500_000);
    check("9223372036854.775807", i64::MAX);
}

#[test]
fn invalid_numbers_are_refused() {
    let check =
        |read: &str, expected: DecimalError| assert_eq!(Price::parse(read), Err(expected), "{read:?}");
    use DecimalError::{Decimals, Form, Range};
    for text in [
        "", ".", "-", "+", "--1", "1,000.5", "1 000", " 1", "1 ", "1.2.3", "1e", "e5", "0x10", "NaN", "inf",
        "1e5.5", "1e5e5", "１",
    ] {
        check(text, Form);
    }
    check("1.0000001", Decimals);
    check("1e-7", Decimals);
    check("9223372036854.775808", Range);
    check("-9223372036854.775809", Range);
    check("1e60", Range);
    check("1e61", Range);
    check("1e-61", Range);
    check(&"9".repeat(60), Range);
}

#[test]
fn extreme_exponents_are_refused() {
    let check = |read: &str, expected: Result<(i128, bool), DecimalError>| {
        assert_eq!(parse_scaled(read.as_bytes(), 6), expected, "{read:?}");
    };
    check("1e-2147483648", Err(DecimalError::Range));
    check("1.5e-2147483648", Err(DecimalError::Range));
    check("1e2147483647", Err(DecimalError::Range));
    check("1e2147483648", Err(DecimalError::Form));
    // Zero is valid with any exponent.
    check("0e50", Ok((0, true)));
    check("0e-50", Ok((0, true)));
    check("1e-50", Ok((0, false)));
}

#[test]
fn parsing_reports_whether_the_result_is_exact() {
    let check = |read: &str, scale: u32, expected: (i128, bool)| {
        assert_eq!(parse_scaled(read.as_bytes(), scale), Ok(expected), "{read} to {scale}");
    };
    check("1.0005", 3, (1001, false));
    check("-1.0005", 3, (-1001, false));
    check("1.000499999999", 3, (1000, false));
    check("12.3455", 3, (12346, false));
    check("0.00049", 3, (0, false));
    check("1.001", 3, (1001, true));
    check("1.0010", 3, (1001, true));
    check("7", 0, (7, true));
    check("7.5", 0, (8, false));
}

#[test]
fn the_largest_amounts_can_be_formatted() {
    assert_eq!(Turnover(i128::MAX).text().to_string(), "170141183460469231731687303715884.106");
    assert_eq!(Turnover(i128::MIN).text().to_string(), "-170141183460469231731687303715884.106");
    assert_eq!(Price(i64::MAX).text(3).to_string(), "9223372036854.776");
    assert_eq!(Price(i64::MIN).text(6).to_string(), "-9223372036854.775808");
}

#[test]
fn formatted_decimals_can_be_aligned() {
    assert_eq!(format!("[{:>10}]", Price(1_500_000).text(3)), "[     1.500]");
}

#[test]
fn every_decimal_is_formatted_with_all_its_digits() {
    let text = |units: u128, decimals: u32| DecimalText::new(false, units, decimals).as_str().to_owned();
    for units in
        [0, 9, 10, 100_050, u128::from(u64::MAX), u128::from(u64::MAX) + 1, 10u128.pow(38), u128::MAX]
    {
        assert_eq!(text(units, 0), units.to_string());
        for decimals in [1, 3, 8, 20, 38] {
            let (whole, part) = (units / 10u128.pow(decimals), units % 10u128.pow(decimals));
            let wanted = format!("{whole}.{part:0width$}", width = decimals as usize);
            assert_eq!(text(units, decimals), wanted, "{units} with {decimals} decimals");
            assert_eq!(DecimalText::new(true, units, decimals).as_str(), format!("-{wanted}"));
        }
    }
}
