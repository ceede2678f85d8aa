//! How documents about orders and money are shown. What a server says is shown, not believed.

use std::io::Write;

use market::{Market, Symbol, Timestamp, Zone};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{self, Column};
use crate::remote::field;

/// A field as text; numbers as they are, nothing for what is not there.
pub(crate) fn text(document: &Value, name: &str) -> String {
    match field(document, name) {
        Value::Null => String::new(),
        Value::String(text) => output::printable(text),
        other => output::printable(&other.to_string()),
    }
}

/// Fields of a request, and what they are called at the command line.
const FLAGS: [(&str, &str); 12] = [
    ("submitted_quantity", "the quantity"),
    ("submitted_price", "--limit"),
    ("trigger_price", "--trigger"),
    ("limit_offset", "--limit-offset"),
    ("trailing_amount", "--trailing-amount"),
    ("trailing_percent", "--trailing-percent"),
    ("monitor_price", "--monitor"),
    ("limit_depth_level", "--depth-level"),
    ("trigger_count", "--trigger-count"),
    ("expire_date", "--expire"),
    ("delayed_until", "--delay-until"),
    ("client_request_id", "--request-id"),
];

/// A refusal in the words of the command line: `--limit required`.
pub(crate) fn in_flags(words: &str) -> String {
    FLAGS.iter().fold(words.to_owned(), |words, (field, flag)| words.replace(field, flag))
}

pub(crate) fn rows<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    field(document, name).as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Unix seconds as the market's clock showed them: `2026-03-18 10:02:00`.
pub(crate) fn clock(document: &Value, name: &str, symbol: &str) -> String {
    let market = symbol.parse::<Symbol>().map_or(Market::Hk, |symbol| symbol.market());
    match text(document, name).parse() {
        Ok(0) | Err(_) => String::new(),
        Ok(seconds) => local(Timestamp(seconds), market),
    }
}

pub(crate) fn local(at: Timestamp, market: Market) -> String {
    let (date, seconds) = Zone::of(market).local(at);
    format!("{date} {:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// `-80000.5` as `-80,000.5`.
pub(crate) fn grouped(plain: &str) -> String {
    let (sign, digits) = plain.strip_prefix('-').map_or(("", plain), |digits| ("-", digits));
    let (whole, rest) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let Ok(whole) = whole.parse() else { return plain.to_owned() };
    let rest = rest.map(|rest| format!(".{rest}")).unwrap_or_default();
    format!("{sign}{}{rest}", output::thousands(whole))
}

/// An amount of a document, grouped.
pub(crate) fn amount(document: &Value, name: &str) -> String {
    grouped(&text(document, name))
}

/// The state of an order as a person would say it.
pub(crate) fn status(literal: &str) -> &str {
    match literal {
        "NotReported" => "waits for its session",
        "DelayedNotReported" => "waits for its time",
        "VarietiesNotReported" => "waits for its price",
        "WaitToNew" | "NewStatus" => "open",
        "WaitToReplace" | "PendingReplaceStatus" => "being replaced",
        "PartialFilledStatus" => "filled in part",
        "FilledStatus" => "filled",
        "WaitToCancel" | "PendingCancelStatus" => "being cancelled",
        "CanceledStatus" => "cancelled",
        "RejectedStatus" => "rejected",
        "ExpiredStatus" => "expired",
        "PartialWithdrawal" => "filled in part, cancelled",
        other => other,
    }
}

/// A table, or a sentence where there is nothing to put in one.
pub(crate) fn table(columns: &[Column], rows: Vec<Vec<String>>, nothing: &str) -> Result<(), Failure> {
    let mut out = output::stdout();
    if rows.is_empty() {
        writeln!(out, "{nothing}")?;
    } else {
        writeln!(out, "{}", output::text(&output::table(columns, rows)))?;
    }
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_refusal_names_the_flag_and_not_the_field() {
        for (words, shown) in [
            ("submitted_price required (check 3, fields)", "--limit required (check 3, fields)"),
            ("trigger_price must differ from 305", "--trigger must differ from 305"),
            ("limit_offset must not be below 0", "--limit-offset must not be below 0"),
            ("insufficient funds", "insufficient funds"),
        ] {
            assert_eq!(in_flags(words), shown);
        }
    }

    #[test]
    fn amounts_are_grouped_and_times_are_the_markets() {
        for (plain, shown) in
            [("80000.50", "80,000.50"), ("-1234567", "-1,234,567"), ("0.5", "0.5"), ("", ""), ("no", "no")]
        {
            assert_eq!(grouped(plain), shown);
        }
        let document = json!({"at": "1773799320", "none": "0", "evil": "\u{1b}[31m"});
        assert_eq!(clock(&document, "at", "700.HK"), "2026-03-18 10:02:00");
        assert_eq!(clock(&document, "at", "AAPL.US"), "2026-03-17 22:02:00");
        assert_eq!((clock(&document, "none", "700.HK"), text(&document, "absent")), Default::default());
        assert_eq!(text(&document, "evil"), " [31m");
    }
}
