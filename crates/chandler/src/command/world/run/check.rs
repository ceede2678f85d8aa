//! `--check`: a condition on a figure of the report, such as `max_drawdown < 0.2`.

use std::cmp::Ordering;
use std::str::FromStr;

use serde_json::{Value, json};
use trading::Money;

use super::report::{Figure, ParseFigureError, Report};

/// Maximum number of conditions per run.
pub(super) const CHECKS_MAX: usize = 100;

/// A figure, a comparison and a number: `trades >= 10`, `return > 5%`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    text: String,
    figure: Figure,
    comparison: Comparison,
    /// The number on the right of the comparison, in billionths.
    bound: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    NotEqual,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ParseCheckError {
    #[error("{0:?} is not a check: write a figure, a comparison and a number, such as 'max_drawdown < 0.2'")]
    Form(String),
    #[error(transparent)]
    Figure(#[from] ParseFigureError),
    #[error("{0:?} is not a number with at most 9 decimals, or a percentage such as 20%")]
    Number(String),
    #[error("{0} is not a ratio: compare it with a number without %")]
    Percent(&'static str),
}

impl FromStr for Check {
    type Err = ParseCheckError;

    fn from_str(text: &str) -> Result<Check, ParseCheckError> {
        let shown: String = text.chars().take(80).collect();
        let form = || ParseCheckError::Form(shown.clone());
        let (at, symbol, comparison) = Comparison::ALL
            .into_iter()
            .filter_map(|(symbol, comparison)| Some((text.find(symbol)?, symbol, comparison)))
            // At the same position, `<=` takes precedence over `<`.
            .min_by_key(|(at, symbol, _)| (*at, usize::MAX - symbol.len()))
            .ok_or_else(form)?;
        let (name, rest) = (text.get(..at), text.get(at + symbol.len()..));
        let (Some(name), Some(number)) = (name.map(str::trim), rest.map(str::trim)) else {
            return Err(form());
        };
        if name.is_empty() || number.is_empty() {
            return Err(form());
        }
        let figure: Figure = name.parse()?;
        let wrong = || ParseCheckError::Number(number.chars().take(40).collect());
        let (digits, whole) = match number.strip_suffix('%') {
            Some(_) if !figure.is_ratio() => return Err(ParseCheckError::Percent(figure.name())),
            Some(digits) => (digits.trim_end(), Money::whole(100)),
            None => (number, Money::whole(1)),
        };
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        if decimals > 9 || whole == Money::whole(100) && decimals > 7 {
            return Err(wrong());
        }
        let bound = Money::parse(digits).ok().and_then(|number| number.billionths_of(whole));
        Ok(Check { text: text.trim().to_owned(), figure, comparison, bound: bound.ok_or_else(wrong)? })
    }
}

impl Comparison {
    const ALL: [(&str, Comparison); 6] = [
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];

    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Comparison::Less => ordering.is_lt(),
            Comparison::AtMost => ordering.is_le(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::AtLeast => ordering.is_ge(),
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
        }
    }
}

/// A check with the actual value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckResult {
    pub(super) text: String,
    pub(super) figure: Figure,
    /// The value as text. `None` if the figure has no value, in which case the check fails.
    pub(super) value: Option<String>,
    pub(super) passed: bool,
}

impl Check {
    pub(super) fn of(&self, report: &Report) -> CheckResult {
        let value = report.value(self.figure);
        let passed = value.is_some_and(|value| self.comparison.holds(value.billionths().cmp(&self.bound)));
        CheckResult {
            text: self.text.clone(),
            figure: self.figure,
            value: value.map(|value| value.to_string()),
            passed,
        }
    }
}

impl CheckResult {
    pub(super) fn json(&self, report: &Report) -> Value {
        let value = report.value(self.figure).map(super::report::FigureValue::json);
        json!({"check": self.text, "value": value, "passed": self.passed})
    }

    /// Returns the result as a sentence.
    pub(super) fn line(&self) -> String {
        let verdict = if self.passed { "passed" } else { "failed" };
        let value = self.value.as_deref().unwrap_or("no value");
        format!("{verdict}: {} ({} is {value})", self.text, self.figure.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Figure, Comparison, i128), String> {
        let check = text.parse::<Check>().map_err(|error| error.to_string())?;
        Ok((check.figure, check.comparison, check.bound))
    }

    #[test]
    fn a_check_is_a_figure_a_comparison_and_a_number() {
        use Comparison::*;
        let cases = [
            ("max_drawdown < 0.2", (Figure::MaxDrawdown, Less, 200_000_000)),
            ("max_drawdown<20%", (Figure::MaxDrawdown, Less, 200_000_000)),
            ("trades >= 10", (Figure::Trades, AtLeast, 10_000_000_000)),
            (" return > -1.5 % ", (Figure::Return, Greater, -15_000_000)),
            ("fees<=500.25", (Figure::Fees, AtMost, 500_250_000_000)),
            ("refused == 0", (Figure::Refused, Equal, 0)),
            ("fills != 0", (Figure::Fills, NotEqual, 0)),
        ];
        for (text, check) in cases {
            assert_eq!(parsed(text), Ok(check), "{text}");
        }
    }

    #[test]
    fn invalid_checks_are_refused_with_advice() {
        for (text, says) in [
            ("", "write a figure, a comparison and a number"),
            ("return", "write a figure, a comparison and a number"),
            ("return >", "write a figure, a comparison and a number"),
            ("> 3", "write a figure, a comparison and a number"),
            ("luck > 3", "\"luck\" is not a figure: the figures are return, benchmark_return,"),
            ("return > much", "\"much\" is not a number"),
            ("return => 3", "\"return =\" is not a figure"),
            ("return > 0.0000000001", "at most 9 decimals"),
            ("return > 0.12345678%", "at most 9 decimals"),
            ("return > 1e3", "is not a number"),
            ("return < 3 < 4", "\"3 < 4\" is not a number"),
            ("trades > 10%", "trades is not a ratio"),
        ] {
            let said = parsed(text).unwrap_err();
            assert!(said.contains(says), "{text:?}: {said}");
        }
    }
}
