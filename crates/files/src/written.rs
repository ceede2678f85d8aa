//! Parses numbers with currency signs, separators and suffixes: `$1,234.5`, `1.5M`, `1.234,50`.

/// The mark between the integer part of a number and its fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecimalMark {
    #[default]
    Point,
    Comma,
}

impl DecimalMark {
    pub fn as_str(self) -> &'static str {
        match self {
            DecimalMark::Point => "point",
            DecimalMark::Comma => "comma",
        }
    }

    /// Returns the decimal mark and the thousands separator. Spaces and apostrophes are also
    /// accepted as thousands separators.
    fn marks(self) -> (char, char) {
        match self {
            DecimalMark::Point => ('.', ','),
            DecimalMark::Comma => (',', '.'),
        }
    }
}

/// A number in plain digits that `market::parse_scaled` can parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlainNumber {
    pub text: String,
    /// Whether the number had a suffix such as K or M, and may therefore be rounded.
    pub is_abbreviated: bool,
}

/// Currency signs. Longer signs come first, because `US$` also ends with `$`.
const CURRENCIES: [&str; 8] = ["US$", "HK$", "CN¥", "$", "€", "£", "¥", "￥"];
/// Suffixes and their powers of ten.
const MULTIPLES: [(char, u32); 10] =
    [('K', 3), ('k', 3), ('M', 6), ('m', 6), ('B', 9), ('b', 9), ('T', 12), ('t', 12), ('万', 4), ('亿', 8)];
const SPACES: [char; 5] = [' ', '\u{a0}', '\u{202f}', '\'', '’'];

/// Parses a number with currency signs, thousands separators and a suffix. Returns `None` for other
/// text.
pub(crate) fn plain(text: &[u8], mark: DecimalMark) -> Option<PlainNumber> {
    let text = without_currency(std::str::from_utf8(text).ok()?.trim());
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let text = without_currency(text.trim_start());
    let multiple =
        MULTIPLES.into_iter().find_map(|(letter, power)| Some((text.strip_suffix(letter)?, power)));
    let (number, power) = multiple.unwrap_or((text, 0));
    let digits = ungrouped(number.trim_end(), mark)?;
    let exponent = if power > 0 { format!("e{power}") } else { String::new() };
    Some(PlainNumber { text: format!("{sign}{digits}{exponent}"), is_abbreviated: power > 0 })
}

fn without_currency(text: &str) -> &str {
    let before = CURRENCIES.into_iter().find_map(|sign| text.strip_prefix(sign));
    let text = before.unwrap_or(text).trim_start();
    CURRENCIES.into_iter().find_map(|sign| text.strip_suffix(sign)).unwrap_or(text).trim_end()
}

/// Removes the thousands separators from a number like `1,234,567.5`, and replaces its decimal mark
/// with a point. Groups must have three digits and use the same separator.
fn ungrouped(number: &str, mark: DecimalMark) -> Option<String> {
    let (point, separator) = mark.marks();
    let (whole, fraction) = match number.split_once(point) {
        Some((whole, fraction)) => (whole, fraction),
        None => (number, ""),
    };
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_separator = |letter: char| letter == separator || SPACES.contains(&letter);
    let separator = whole.chars().find(|letter| is_separator(*letter)).unwrap_or(separator);
    let groups: Vec<&str> = whole.split(separator).collect();
    let (first, rest) = groups.split_first()?;
    let are_groups = rest.iter().all(|group| group.len() == 3 && are_digits(group));
    let begins =
        are_digits(first) && (rest.is_empty() || (1..=3).contains(&first.len()) && !first.starts_with('0'));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    if !(are_groups && begins && has_digits && are_digits(fraction)) {
        return None;
    }
    let whole = groups.concat();
    Some(if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") })
}

/// Evidence from one price for the file's decimal mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MarkSeen {
    Certainly(DecimalMark),
    /// Ambiguous: `1,234` may have a thousands separator or three decimals.
    Either,
    Nothing,
}

/// Classifies one price. A single point is always a decimal point, regardless of the number of
/// digits after it.
pub(crate) fn mark_of(price: &[u8]) -> MarkSeen {
    let of = |mark| plain(price, mark).is_some();
    let has = |byte: u8| price.contains(&byte);
    match (has(b'.'), has(b',')) {
        (false, false) => MarkSeen::Nothing,
        (true, false) if of(DecimalMark::Point) => MarkSeen::Certainly(DecimalMark::Point),
        // Several points are thousands separators: `1.234.567`.
        (true, false) if of(DecimalMark::Comma) => MarkSeen::Certainly(DecimalMark::Comma),
        (true, false) => MarkSeen::Nothing,
        _ => match (of(DecimalMark::Point), of(DecimalMark::Comma)) {
            (true, true) => MarkSeen::Either,
            (true, false) => MarkSeen::Certainly(DecimalMark::Point),
            (false, true) => MarkSeen::Certainly(DecimalMark::Comma),
            (false, false) => MarkSeen::Nothing,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_currencies_and_suffixes_are_parsed() {
        use DecimalMark::{Comma, Point};
        let cases = [
            ("$1,234.5", Point, Some("1234.5")),
            ("-$1,234.5", Point, Some("-1234.5")),
            ("US$ 12", Point, Some("12")),
            ("1.5M", Point, Some("1.5e6")),
            ("82.49M", Point, Some("82.49e6")),
            ("3 K", Point, Some("3e3")),
            ("1.2亿", Point, Some("1.2e8")),
            ("1,234,567", Point, Some("1234567")),
            ("1 234 567.25", Point, Some("1234567.25")),
            ("1'234.5", Point, Some("1234.5")),
            ("1.234,5", Comma, Some("1234.5")),
            ("1.234", Comma, Some("1234")),
            ("187,15 €", Comma, Some("187.15")),
            ("1\u{a0}234,5", Comma, Some("1234.5")),
            ("1,23,456", Point, None),
            ("1,5", Point, None),
            ("1234,567", Point, None),
            ("1.5", Comma, None),
            ("1,234 567", Point, None),
            ("$", Point, None),
            ("M", Point, None),
            ("", Point, None),
            ("1.5%", Point, None),
            ("twelve", Point, None),
        ];
        for (text, mark, expected) in cases {
            let read = plain(text.as_bytes(), mark).map(|number| number.text);
            assert_eq!(read.as_deref(), expected, "{text} {mark:?}");
        }
    }

    #[test]
    fn the_decimal_mark_is_detected_from_a_price() {
        use MarkSeen::{Certainly, Either, Nothing};
        let (point, comma) = (Certainly(DecimalMark::Point), Certainly(DecimalMark::Comma));
        let cases = [
            ("187.15", point),
            ("1.234", point),
            ("1,234.5", point),
            ("1,234,567", point),
            ("187,15", comma),
            ("0,123", comma),
            ("1234,567", comma),
            ("1.234,5", comma),
            ("1.234.567", comma),
            ("1,234", Either),
            ("187", Nothing),
            ("", Nothing),
            ("n/a", Nothing),
        ];
        for (text, expected) in cases {
            assert_eq!(mark_of(text.as_bytes()), expected, "{text}");
        }
    }
}
