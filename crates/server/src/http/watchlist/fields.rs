//! Values in watchlist requests.

use access::{FOLLOWED_MAX, WatchlistId};
use market::Symbol;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::command;
use crate::kit::Problem;
use crate::kit::fields::echo;
use crate::refusal::Refusal;

/// A group number. SDKs send a number, and receive text.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
pub(super) enum GroupNumber {
    Number(i64),
    Text(String),
}

impl GroupNumber {
    /// An invalid number maps to one that no group has.
    pub(super) fn id(&self) -> WatchlistId {
        WatchlistId(match self {
            GroupNumber::Number(number) => *number,
            GroupNumber::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => {
                text.parse().unwrap_or(NOBODYS)
            }
            GroupNumber::Text(_) => NOBODYS,
        })
    }
}

const NOBODYS: i64 = 0;

/// The securities of a list without duplicates, in the order of the request. An invalid one refuses
/// all.
pub(super) fn symbols(texts: &[String]) -> Result<Vec<Symbol>, Problem> {
    if texts.len() > FOLLOWED_MAX {
        let count = texts.len();
        return Err(wrong(format!("{count} securities in one request: {FOLLOWED_MAX} are the most")));
    }
    let mut symbols: Vec<Symbol> = Vec::with_capacity(texts.len());
    for text in texts {
        let symbol = command::symbol(text)?;
        if !symbols.contains(&symbol) {
            symbols.push(symbol);
        }
    }
    Ok(symbols)
}

pub(super) fn missing(name: &str) -> Problem {
    wrong(format!("{name} required"))
}

pub(super) fn unknown(name: &str, text: &str) -> Problem {
    wrong(format!("{name} {:?} is not known", echo(text)))
}

pub(super) fn wrong(text: String) -> Problem {
    Refusal::BadQuery(text).into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_group_number_may_be_a_number_or_text() {
        let id = |value: Value| GroupNumber::deserialize(value).map(|number| number.id().0).ok();
        for (value, number) in [
            (json!(1001), Some(1001)),
            (json!("1001"), Some(1001)),
            (json!(-1), Some(-1)),
            (json!("-1"), Some(NOBODYS)),
            (json!("+1001"), Some(NOBODYS)),
            (json!(""), Some(NOBODYS)),
            (json!("99999999999999999999"), Some(NOBODYS)),
            (json!(1.5), None),
            (json!(true), None),
        ] {
            assert_eq!(id(value.clone()), number, "{value}");
        }
    }
}
