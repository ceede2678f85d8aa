//! Weighted lists of client preferences in the headers `Accept`, `Accept-Encoding` and
//! `Accept-Language` (RFC 9110, 12.4.2). Each caller decides how to treat an invalid weight.

/// Maximum number of values parsed. Browsers send half a dozen.
pub(crate) const READ_MAX: usize = 32;
/// The maximum and default weight, in thousandths.
pub(crate) const FULL: u16 = 1_000;

/// One value in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preference<'a> {
    pub(crate) value: &'a str,
    /// Weight in thousandths, or `None` if the weight cannot be parsed.
    pub(crate) weight: Option<u16>,
    /// Whether there are parameters besides the weight.
    pub(crate) has_parameters: bool,
}

/// Parses the values on all lines of a header, in order.
pub(crate) fn preferences<'a>(lines: impl Iterator<Item = &'a str>) -> impl Iterator<Item = Preference<'a>> {
    let items = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|item| !item.is_empty());
    items.take(READ_MAX).map(|item| {
        let (value, parameters) = item.split_once(';').unwrap_or((item, ""));
        let parameters = || parameters.split(';').map(str::trim).filter(|parameter| !parameter.is_empty());
        Preference {
            value: value.trim(),
            weight: parameters().find_map(weight).map_or(Some(FULL), thousandths),
            has_parameters: parameters().any(|parameter| weight(parameter).is_none()),
        }
    })
}

/// Returns the weight as text, or `None` if the parameter is not a weight.
fn weight(parameter: &str) -> Option<&str> {
    let (name, text) = parameter.split_once('=')?;
    name.trim().eq_ignore_ascii_case("q").then(|| text.trim())
}

/// Parses a number from 0 to 1 with at most three decimals, and returns it in thousandths.
fn thousandths(text: &str) -> Option<u16> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    if decimals.len() > 3 || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let thousandths = format!("{decimals:0<3}").parse().ok()?;
    match (whole, thousandths) {
        ("0", _) => Some(thousandths),
        ("1", 0) => Some(FULL),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Vec<(&str, Option<u16>, bool)> {
        let read = preferences([line].into_iter());
        read.map(|one| (one.value, one.weight, one.has_parameters)).collect()
    }

    #[test]
    fn weights_and_other_parameters_are_parsed() {
        assert!(read("").is_empty());
        assert_eq!(read(" ,, a ,"), [("a", Some(1000), false)]);
        assert_eq!(
            read("a;q=0.5, b ; Q = 0.75;c=d, e;f, g;"),
            [
                ("a", Some(500), false),
                ("b", Some(750), true),
                ("e", Some(1000), true),
                ("g", Some(1000), false)
            ]
        );
    }

    #[test]
    fn invalid_weights_are_not_parsed() {
        let weights = ["0", "0.", "0.5", "0.05", "0.999", "1", "1.", "1.000"];
        assert_eq!(weights.map(thousandths), [0, 0, 500, 50, 999, 1000, 1000, 1000].map(Some));
        for wrong in ["", ".5", "0.9999", "1.001", "2", "-1", "+1", "0.+1", "0,5", "x", "é", "0.é"] {
            assert_eq!(thousandths(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn header_lines_are_joined_and_limited() {
        let lines = ["a, b", "c"].into_iter();
        assert_eq!(preferences(lines).map(|one| one.value).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(read(&"a,".repeat(READ_MAX + 1)).len(), READ_MAX);
    }
}
