//! Numbers for people.

/// `-80000.5` as `-80,000.5`. Text that is not a number is unchanged.
pub(super) fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if whole.bytes().any(|byte| !byte.is_ascii_digit()) {
        return text.to_owned();
    }
    let groups: Vec<&str> =
        whole.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap_or_default()).collect();
    format!("{sign}{}{rest}", groups.join(","))
}

/// An amount of a currency; empty if there is no amount.
pub(super) fn with_currency(amount: &str, currency: &str) -> String {
    if amount.is_empty() { String::new() } else { format!("{} {currency}", grouped(amount)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_grouped_and_no_digit_is_lost() {
        for (text, shown) in [
            ("0.00", "0.00"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-1000", "-1,000"),
            ("123456", "123,456"),
            ("-1096517.35", "-1,096,517.35"),
            ("1605.6426410959", "1,605.6426410959"),
            ("", ""),
            ("-", "-"),
            ("no rate for USD", "no rate for USD"),
            ("1e9", "1e9"),
        ] {
            assert_eq!(grouped(text), shown);
        }
        assert_eq!(with_currency("2675.67", "HKD"), "2,675.67 HKD");
        assert_eq!(with_currency("", "HKD"), "");
    }
}
