//! Types shared by previews and explanations: charges, and human-readable reasons for refusals. A
//! reason names the failed check and the values involved.

use schemars::JsonSchema;
use serde::Serialize;
use trading::{Fee, Numbers, Refusal};

/// One charge on an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Charge {
    /// Charge code, such as `STAMP_DUTY`.
    pub code: String,
    pub amount: String,
}

impl Charge {
    pub(crate) fn of(fee: &Fee) -> Charge {
        Charge { code: fee.code.clone(), amount: fee.amount.text().to_string() }
    }
}

/// Reason why an order was refused or rejected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// Error code sent to clients.
    pub code: u32,
    /// Number of the failed check. `None` if the refusal was not caused by a check.
    pub check: Option<u8>,
    /// Subject of the failed check.
    pub checks: Option<&'static str>,
    /// Error text sent to clients.
    pub text: String,
    /// Specific mistake, if `text` covers several mistakes.
    pub detail: Option<String>,
    /// Subject of the values below, such as `cash in HKD` or `tick`.
    pub rule: Option<String>,
    /// Required value.
    pub needed: Option<String>,
    /// Value that the account has.
    pub available: Option<String>,
    /// Wrong quantity or price.
    pub given: Option<String>,
    /// Value with which `given` was compared: a lot, a tick, a maximum quantity, or the market
    /// price.
    pub limit: Option<String>,
    /// The complete reason as a sentence.
    pub words: String,
}

/// Subjects of the checks, in order. Check numbers start at 1.
const CHECKS: [&str; 12] = [
    "symbol",
    "order type",
    "fields",
    "time in force",
    "quantity",
    "size",
    "tick",
    "distance from the market",
    "trigger and quotes",
    "funds",
    "holdings",
    "margin",
];

impl Reason {
    pub fn of(refusal: &Refusal) -> Reason {
        let checks = refusal.check.and_then(|check| usize::from(check).checked_sub(1));
        let checks = checks.and_then(|index| CHECKS.get(index)).copied();
        let numbers = refusal.numbers.as_ref();
        let mut words = refusal.text.clone();
        if let Some(detail) = &refusal.detail {
            words = format!("{words}: {detail}");
        }
        if let Some(numbers) = numbers {
            words = format!("{words}: {}", in_words(refusal.check, numbers));
        }
        if let (Some(check), Some(checks)) = (refusal.check, checks) {
            words = format!("{words} (check {check}, {checks})");
        }
        let has_value = matches!(refusal.check, Some(5..=9));
        let first = numbers.map(|numbers| numbers.needed.clone());
        let second = numbers.map(|numbers| numbers.available.clone());
        let (limit, given, needed, available) =
            if has_value { (first, second, None, None) } else { (None, None, first, second) };
        Reason {
            code: refusal.code.into(),
            check: refusal.check,
            checks,
            text: refusal.text.clone(),
            detail: refusal.detail.clone(),
            rule: numbers.map(|numbers| numbers.rule.clone()),
            needed,
            available,
            given,
            limit,
            words,
        }
    }
}

fn in_words(check: Option<u8>, numbers: &Numbers) -> String {
    let Numbers { rule, needed, available } = numbers;
    match check {
        Some(6) => format!("{available} is more than {rule}, {needed}"),
        Some(5 | 7) => format!("{available} is not"),
        Some(9) => format!("{available} is not, and {rule} is {needed}"),
        Some(8) => format!("{available} is not within {rule}"),
        Some(10) => format!("it needs {needed} of {rule}, and there is {available}"),
        Some(11) => format!("{needed} are to be sold, and {available} are there"),
        Some(12) => {
            format!("the account is at risk level {available}, and opens nothing above level {needed}")
        }
        _ => format!("it needs {needed} of {rule}, and there is {available}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trading::Code;

    fn words(check: Option<u8>, text: &str, numbers: Option<(&str, &str, &str)>) -> String {
        let numbers = numbers.map(|(rule, needed, available)| Numbers {
            rule: rule.to_owned(),
            needed: needed.to_owned(),
            available: available.to_owned(),
        });
        Reason::of(&refusal(check, text, numbers)).words
    }

    fn refusal(check: Option<u8>, text: &str, numbers: Option<Numbers>) -> Refusal {
        Refusal {
            code: Code::Parameter,
            check,
            text: text.to_owned(),
            detail: None,
            numbers: numbers.map(Box::new),
        }
    }

    #[test]
    fn a_refusal_names_its_check_and_values() {
        assert_eq!(
            words(Some(10), "insufficient funds", Some(("cash in HKD", "61083.75", "61000.00"))),
            "insufficient funds: it needs 61083.75 of cash in HKD, and there is 61000.00 (check 10, funds)"
        );
        assert_eq!(
            words(Some(7), "price must be a multiple of 0.2", Some(("tick", "0.2", "306.1"))),
            "price must be a multiple of 0.2: 306.1 is not (check 7, tick)"
        );
        assert_eq!(
            words(Some(6), "order too large", Some(("3000 lots of 500", "1500000", "1500500"))),
            "order too large: 1500500 is more than 3000 lots of 500, 1500000 (check 6, size)"
        );
        assert_eq!(
            words(Some(9), "stop_loss_price must be below 306", Some(("the market price", "306", "310"))),
            "stop_loss_price must be below 306: 310 is not, and the market price is 306 (check 9, trigger and \
             quotes)"
        );
        assert_eq!(words(None, "order not found", None), "order not found");
        assert_eq!(words(Some(1), "no quotes", None), "no quotes (check 1, symbol)");
    }

    #[test]
    fn refusals_contain_a_limit_or_a_required_amount() {
        let numbers = |needed: &str, available: &str| Numbers {
            rule: "it".to_owned(),
            needed: needed.to_owned(),
            available: available.to_owned(),
        };
        let tick = Reason::of(&refusal(Some(7), "price", Some(numbers("0.2", "306.1"))));
        assert_eq!((tick.given.as_deref(), tick.limit.as_deref()), (Some("306.1"), Some("0.2")));
        assert_eq!((tick.needed, tick.available), (None, None));
        let funds = Reason::of(&refusal(Some(10), "funds", Some(numbers("2", "1"))));
        assert_eq!((funds.needed.as_deref(), funds.available.as_deref()), (Some("2"), Some("1")));
        assert_eq!((funds.given, funds.limit), (None, None));
    }

    #[test]
    fn a_text_for_several_mistakes_has_a_detail() {
        let text = "time in force not support";
        let detail = Some("MO must be a day order".to_owned());
        let reason = Reason::of(&Refusal { detail, ..refusal(Some(4), text, None) });
        assert_eq!(
            (reason.text.as_str(), reason.words.as_str()),
            (text, "time in force not support: MO must be a day order (check 4, time in force)")
        );
    }
}
