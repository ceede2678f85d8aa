//! Invalid tables are refused with file and line, and invalid numbers in requests are refused.

use trading::{Money, Percent, Quantity, Rate, Share, Tables, parse_price};

use crate::common::{date, tables, venues};

/// Checks the error of an invalid table that replaces a compiled-in table.
fn refused(file: &str, text: &str, expected: &str) {
    let tables = Tables::with(|name| (name == file).then(|| text.to_owned()));
    assert_eq!(tables.map(|_| ()).unwrap_err().to_string(), expected);
}

const TICKS: &str = "market,for,from,over,to,tick,includes\n";

#[test]
fn invalid_tick_tables_are_refused() {
    let wrong = |rows: &str, expected: &str| refused("ticks.csv", &format!("{TICKS}{rows}"), expected);
    let us = "US,*,-,0,-,0.01,lower";
    wrong(
        &format!("{us}\nHK,*,-,0,1,0.01,upper\nHK,*,-,2,3,0.01,upper"),
        "ticks.csv:4: a gap: this band begins above the end of the previous one",
    );
    wrong(
        &format!("{us}\nHK,*,-,0,2,0.01,upper\nHK,*,-,1,3,0.01,upper"),
        "ticks.csv:4: an overlap: this band begins below the end of the previous one",
    );
    wrong(
        &format!("{us}\nHK,*,-,0,2,0.01,upper\nHK,*,-,2,3,0.01,lower"),
        "ticks.csv:4: bands of one table include the same end",
    );
    wrong("HK,*,-,0,0.255,0.01,upper", "ticks.csv:2: the ends of a band must be multiples of its tick");
    wrong(
        "HK,*,-,1,1,0.01,upper",
        "ticks.csv:2: a band must end above its start, and its tick must be above zero",
    );
    wrong("HK,bond,-,0,1,0.01,upper", "ticks.csv:2: \"bond\" is not a kind");
    wrong("HK,AAPL.US,-,0,1,0.01,upper", "ticks.csv:2: AAPL.US is not a security of HK");
    wrong("HK,*,soon,0,1,0.01,upper", "ticks.csv:2: \"soon\" is not a date");
    wrong("XX,*,-,0,1,0.01,upper", "ticks.csv:2: \"XX\" is not a market");
    wrong("HK,*,-,0,1,-0.01,upper", "ticks.csv:2: tick \"-0.01\" is not a decimal of at most 6 decimals");
    wrong("HK,*,-,0,1,0.01", "ticks.csv:2: expected 7 fields: market,for,from,over,to,tick,includes");
    wrong(us, "ticks.csv:0: HK: no rows for every security (*)");
    refused("ticks.csv", "a,b\n", "ticks.csv:1: expected the header market,for,from,over,to,tick,includes");
    refused("ticks.csv", "# nothing\n", "ticks.csv:0: no rows");
}

#[test]
fn ticks_of_a_symbol_override_those_of_its_kind() {
    let (_, text) = trading::tables::BUILT_IN[0];
    let narrow = "US,AAPL.US,2027-11-01,0,1,0.0001,lower\nUS,AAPL.US,2027-11-01,1,-,0.005,lower\n";
    let tables = Tables::with(|name| (name == "ticks.csv").then(|| format!("{text}{narrow}"))).unwrap();
    let tick = |symbol: &str, day: &str| {
        let ticks = tables.ticks.of(&symbol.parse().unwrap(), trading::Kind::Equity, day.parse().unwrap());
        trading::plain_price(ticks.tick(market::Price(190_000_000))).to_string()
    };
    assert_eq!(tick("AAPL.US", "2027-10-29"), "0.01");
    assert_eq!(tick("AAPL.US", "2027-11-01"), "0.005");
    assert_eq!(tick("MSFT.US", "2027-11-01"), "0.01");
}

#[test]
fn other_invalid_tables_are_refused() {
    let fees = |row: &str, expected: &str| {
        let text = format!("market,kind,code,group,side,from,base,rate,least,most,round\n{row}");
        refused("fees.csv", &text, expected);
    };
    fees(
        "HK,*,X,THIRD_FEES,both,-,amount,0.02,-,-,cent",
        "fees.csv:2: a rate of more than 1 % of the amount",
    );
    fees(
        "HK,*,X,THIRD_FEES,both,-,weight,0.02,-,-,cent",
        "fees.csv:2: base is not one of order, amount, quantity",
    );
    fees("HK,*,X,MY_FEES,both,-,order,1,-,-,cent", "fees.csv:2: \"MY_FEES\" is not a group");
    fees(
        "HK,*,X,THIRD_FEES,both,2025-01-01,order,1,-,-,cent\nHK,*,X,THIRD_FEES,both,2024-01-01,order,1,-,-,cent",
        "fees.csv:3: dates of X must ascend",
    );
    let days = |rows: &str, expected: &str| {
        refused("settlement.csv", &format!("market,kind,from,days\n{rows}"), expected);
    };
    days("HK,*,-,two", "settlement.csv:2: \"two\" is not a number of days");
    days("HK,*,-,11", "settlement.csv:2: more than 10 days");
    days("HK,bond,-,1", "settlement.csv:2: \"bond\" is not a kind");
    days("HK,*,-,1\nHK,*,-,2", "settlement.csv:3: dates of one market and kind must ascend");
    refused(
        "interest.csv",
        "currency,from,rate,days\n*,-,0.068,366",
        "interest.csv:2: days is neither 360 nor 365",
    );
    refused(
        "interest.csv",
        "currency,from,rate,days\n*,-,6.8,365",
        "interest.csv:2: a rate of more than 100 % a year",
    );
}

#[test]
fn options_settle_on_the_next_trading_day() {
    let settles = |kind: trading::Kind, day: &str| {
        tables().settlement.date(venues().of(market::Market::Us), kind, date(day)).to_string()
    };
    assert_eq!(settles(trading::Kind::Option, "2024-05-24"), "2024-05-28");
    assert_eq!(settles(trading::Kind::Etf, "2024-05-24"), "2024-05-29");
    assert_eq!(settles(trading::Kind::Option, "2026-05-04"), "2026-05-05");
}

#[test]
fn request_numbers_are_validated() {
    let nines = "9".repeat(40);
    for word in ["NaN", "inf", "-inf", "1e3", "1E+2", "0x1", "", " 1", "1_000", "１"] {
        assert!(Quantity::parse(word).is_err(), "{word:?}");
        assert!(Money::parse(word).is_err(), "{word:?}");
        assert!(Percent::parse(word).is_err(), "{word:?}");
        assert!(Rate::parse(word).is_err(), "{word:?}");
        assert!(Share::parse(word).is_err(), "{word:?}");
        assert!(parse_price(word).is_err(), "{word:?}");
    }
    assert!(
        Quantity::parse(&nines).is_err() && Money::parse(&nines).is_err() && parse_price(&nines).is_err()
    );
    assert!(Quantity::parse("10000000000").is_ok() && Quantity::parse("10000000000.0001").is_err());
    assert!(Quantity::parse("0.0001").is_ok() && Quantity::parse("0.00001").is_err());
    assert!(Money::parse("10000000000000").is_ok() && Money::parse("10000000000000.01").is_err());
    assert!(Rate::parse("0").is_err() && Rate::parse("-7.8").is_err() && Rate::parse("7.8").is_ok());
    assert!(Share::parse("1.000001").is_err() && Share::parse("-0.1").is_err());
    assert_eq!(Quantity::parse("200.0").unwrap().to_string(), "200");
    assert_eq!(Quantity::parse("1.50").unwrap().to_string(), "1.5");
    assert_eq!(Money::parse("-0.005").unwrap().text().to_string(), "-0.01");
    assert_eq!(Money::parse("-0.004").unwrap().text().to_string(), "0.00");
}
