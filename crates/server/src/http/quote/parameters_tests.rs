use super::*;

fn question(query: &str) -> Result<Question, String> {
    let venues = Venues::built_in().unwrap();
    Parameters::parse(query).and_then(|found| found.question(&venues)).map_err(|refusal| refusal.text())
}

/// Checks that a query string parses to the expected history query.
#[track_caller]
fn check(query: &str, means: &str) {
    let question = question(query).unwrap();
    let Query { symbol, period, adjust, sessions, select, .. } = question.query(FloorTable::NONE).unwrap();
    let Question { limit, from, format, .. } = question;
    let mut text = format!(
        "{symbol} {period} adjust {adjust:?} session {sessions:?}: {}, limit {limit}",
        words(&select)
    );
    if let Some(format) = format {
        text += &format!(", {format:?}");
    }
    if let Some(from) = from {
        text += &format!(", from {from}");
    }
    assert_eq!(text, means);
}

fn words(select: &Select) -> String {
    match select {
        Select::Offset { direction, anchor, count } => format!("{count} to the {direction:?} of {anchor:?}"),
        Select::Dates { start, end } => format!("{start:?} to {end:?}"),
    }
}

#[test]
fn a_query_string_parses_to_the_common_query() {
    check("symbol=700.HK", "700.HK day adjust None session Intraday: 10 to the Past of Latest, limit 10");
    check(
        "symbol=00700.hk&period=5m&adjust=forward&start=2026-10-12&end=20261113&session=extended",
        "700.HK 5m adjust Forward session Extended: Some(2026-10-12) to Some(2026-11-13), limit 1000",
    );
    check(
        "symbol=AAPL.US&period=1&adjust_type=1&start_date=20261012&trade_session=100&limit=10000&query_type=2",
        "AAPL.US 1m adjust Forward session Extended: Some(2026-10-12) to None, limit 10000",
    );
    check(
        "symbol=AAPL.US&query_type=2",
        "AAPL.US day adjust None session Intraday: None to None, limit 1000",
    );
    // The minute is ignored for a weekly candle.
    check(
        "symbol=AAPL.US&period=week&direction=1&date=2026-10-12&minute=0930&count=1001&format=csv",
        "AAPL.US week adjust None session Intraday: 1000 to the Present of Day(2026-10-12), limit 1001, Csv",
    );
    check(
        "symbol=AAPL.US&period=60&direction=1&date=2026-10-12&minute=0930&count=1001&format=csv",
        "AAPL.US 60m adjust None session Intraday: 1000 to the Present of Minute(2026-10-12, 570), limit 1001, Csv",
    );
    check(
        "symbol=AAPL.US&period=60&minute=09:30",
        "AAPL.US 60m adjust None session Intraday: 10 to the Past of LatestMinute(570), limit 10",
    );
    check(
        "symbol=700.HK&period=&adjust=&start=&before=&next=&limit=",
        "700.HK day adjust None session Intraday: 10 to the Past of Latest, limit 10",
    );
    check(
        "symbol=AAPL.US&session=all",
        "AAPL.US day adjust None session All: 10 to the Past of Latest, limit 10",
    );
}

#[test]
fn a_point_is_a_date_a_local_time_or_an_instant() {
    let means = |query: &str, select: &str| {
        check(
            &format!("symbol=700.HK&period=1m&{query}"),
            &format!("700.HK 1m adjust None session Intraday: 10 to the {select}, limit 10"),
        );
    };
    means("before=2026-11-13", "Past of Day(2026-11-13)");
    means("after=20261113", "Present of Day(2026-11-13)");
    means("before=2026-11-13T09:30", "Past of Minute(2026-11-13, 570)");
    means("before=2026-11-13+09:30:00", "Past of Minute(2026-11-13, 570)");
    means("after=20261113T0930", "Present of Minute(2026-11-13, 570)");
    means("after=2026-11-13T01:30:00Z", "Present of Minute(2026-11-13, 570)");
    means("after=2026-11-13T09%3A30%3A00%2B08%3A00", "Present of Minute(2026-11-13, 570)");
    // An unencoded plus is decoded as a space, which makes the time invalid.
    question("symbol=700.HK&after=2026-11-13T09:30:00+08:00").unwrap_err();
    // Invalid texts with the length of a time with seconds.
    for time in ["12:30+08", "09:30:1x", "09:30:60", "09:30.00", "0930x:00", "é9:30:0"] {
        let refusal = question(&format!("symbol=700.HK&before=2026-11-13T{time}")).unwrap_err();
        assert!(refusal.contains(" is not a time: write 2026-11-13, 2026-11-13T09:30"), "{time}: {refusal}");
    }
    question("symbol=700.HK&before=-000001-11-13T01:30:00Z").unwrap_err();
}

#[test]
fn out_of_range_values_are_refused_as_bad_queries() {
    for (query, text) in [
        ("period=7", "period 7 is unknown"),
        ("period=7&start=2026-11-13&end=2026-11-12", "period 7 is unknown"),
        ("period=1&minute=2500", "2500"),
        ("start=2026-11-13&end=2026-11-12", "start date 2026-11-13 is after end date 2026-11-12"),
        ("period=1m&start=1999-01-04", "out of minute kline begin date"),
    ] {
        let question = question(&format!("symbol=700.HK&{query}")).unwrap();
        let refusal = question.query(FloorTable::PUBLISHED).unwrap_err();
        assert!(
            matches!(&refusal, Refusal::BadQuery(with_hint) if with_hint.contains(text)),
            "{query}: {refusal:?}"
        );
    }
}

#[test]
fn invalid_parameters_are_refused_by_name() {
    let refused = |query: &str, text: &str| {
        let refusal = question(query).unwrap_err();
        assert!(refusal.contains(text), "{query}: {refusal}");
    };
    refused("", "symbol is missing");
    refused("symbol=", "symbol is missing");
    refused("symbol=700.HK&Period=day&colour=red", r#"unknown parameter "Period", "colour""#);
    refused("symbol=700.HK&symbol=5.HK", "parameter symbol is given more than once");
    refused("symbol=700.HK&period=7m", "\"7m\" is not a period");
    refused("symbol=700.HK&period=99999999999", "period 99999999999 is unknown");
    refused("symbol=700.HK&adjust=backward", "adjust \"backward\"");
    refused("symbol=700.HK&adjust_type=2", "adjust_type \"2\"");
    refused("symbol=700.HK&adjust=none&adjust_type=0", "adjust and adjust_type cannot be combined");
    refused("symbol=700.HK&session=night", "session \"night\"");
    refused("symbol=700.HK&trade_session=1", "trade_session \"1\"");
    refused("symbol=700.HK&limit=5&count=5", "limit and count cannot be combined");
    for limit in ["0", "10001", "-1", "+5", "5.0", "99999999999999999999"] {
        refused(&format!("symbol=700.HK&limit={limit}"), "is outside 1 to 10000");
    }
    refused("symbol=700.HK&start=2026-02-30", "start \"2026-02-30\" is not a date");
    refused("symbol=700.HK&end=13.11.2026", "end \"13.11.2026\" is not a date");
    refused("symbol=700.HK&start=2026-10-12&start_date=20261012", "start and start_date cannot be combined");
    refused("symbol=700.HK&start=2026-10-12&before=2026-11-13", "start and before cannot be combined");
    refused("symbol=700.HK&before=2026-10-12&after=2026-11-13", "before and after cannot be combined");
    refused("symbol=700.HK&before=2026-10-12&direction=1", "before and direction cannot be combined");
    refused(
        "symbol=700.HK&query_type=1&end=2026-10-12",
        "query_type 1 (from a point) and end cannot be combined",
    );
    refused(
        "symbol=700.HK&query_type=2&minute=0930",
        "query_type 2 (by dates) and minute cannot be combined",
    );
    refused("symbol=700.HK&query_type=3", "query_type \"3\"");
    refused("symbol=700.HK&direction=2", "direction \"2\"");
    refused("symbol=700.HK&before=yesterday", "before \"yesterday\" is not a time");
    refused("symbol=700.HK&format=xml", "format \"xml\"");
    refused(&format!("symbol=700.HK&{}=1", "x".repeat(20_000)), "unknown parameter");
    assert!(question(&format!("symbol=700.HK&{}=1", "x".repeat(20_000))).unwrap_err().len() < 400);
    assert!(question(&format!("symbol=700.HK&before={}", "9".repeat(20_000))).unwrap_err().len() < 400);
}

#[test]
fn a_token_is_valid_only_for_its_query() {
    let at = Timestamp(1_794_708_000);
    let call = question("symbol=700.HK&period=1m&limit=3000&before=2026-11-13").unwrap();
    let token = call.token(at);
    let go_on = |rest: &str| question(&format!("symbol=00700.HK&period=1&{rest}&next={token}"));
    assert_eq!(
        go_on("before=20261113&limit=50&format=csv").unwrap().from,
        Some(at),
        "length and form may change"
    );
    for other in [
        "after=2026-11-13",
        "before=2026-11-12",
        "before=2026-11-13&adjust=forward",
        "session=all&before=2026-11-13",
    ] {
        assert!(go_on(other).unwrap_err().contains("next does not match"), "{other}");
    }
    let altered = |token: &str| question(&format!("symbol=700.HK&period=1m&before=2026-11-13&next={token}"));
    for token in
        ["1", "zz", &token[1..], &format!("{token}0"), &token.to_uppercase(), "ä".repeat(12).as_str()]
    {
        assert!(altered(token).is_err(), "{token}");
    }
    // Well-formed tokens with timestamps that are never issued.
    assert!(altered(&call.token(Timestamp(i64::MAX))).is_err());
    assert!(altered(&call.token(Timestamp(i64::MIN))).is_err());
}

#[test]
fn the_next_query_string_only_replaces_the_token() {
    let parameters =
        Parameters::parse("symbol=700.HK&before=2026-11-13+09%3A30&next=old&format=csv").unwrap();
    assert_eq!(parameters.with_next("new"), "symbol=700.HK&before=2026-11-13+09%3A30&format=csv&next=new");
}
