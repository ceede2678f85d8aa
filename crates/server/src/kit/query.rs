//! Query strings sent by SDKs, in which names may repeat and unknown names are ignored.

use std::str::FromStr;

use market::{Symbol, Timestamp};
use trading::{Currency, GridId, OrderId};

use super::envelope::Problem;

/// Maximum number of pairs.
const PAIRS_MAX: usize = 1_024;
/// Maximum length of a value in bytes.
const TEXT_MAX: usize = 256;
/// Maximum number of characters of an invalid value quoted in a refusal.
const ECHO_CHARS_MAX: usize = 40;
/// The last second of the year 9999, in Unix seconds.
const TIME_MAX: i64 = 253_402_300_799;

const CURRENCIES: [Currency; 3] = [Currency::HKD, Currency::USD, Currency::CNH];

pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(crate) fn parse(query: &str) -> Result<Query, Problem> {
        let mut pairs = Vec::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if pairs.len() == PAIRS_MAX {
                return Err(Problem::trade_parameter(format!("more than {PAIRS_MAX} parameters")));
            }
            if value.len() > TEXT_MAX {
                let name: String = name.chars().take(ECHO_CHARS_MAX).collect();
                return Err(Problem::trade_parameter(format!("{name} has more than {TEXT_MAX} bytes")));
            }
            // An empty value means absent, because some SDKs always send every name.
            if !value.is_empty() {
                pairs.push((name.into_owned(), value.into_owned()));
            }
        }
        Ok(Query(pairs))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, Problem> {
        self.get(name).ok_or_else(|| missing(name))
    }

    pub(crate) fn word<T: FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        self.get(name).map(|text| text.parse().map_err(|_| unknown(name, text))).transpose()
    }

    pub(crate) fn words<T: FromStr>(&self, name: &str) -> Result<Vec<T>, Problem> {
        self.all(name).map(|text| text.parse().map_err(|_| unknown(name, text))).collect()
    }

    pub(crate) fn symbol(&self) -> Result<Option<Symbol>, Problem> {
        self.get("symbol").map(|text| text.parse().map_err(|_| unknown("symbol", text))).transpose()
    }

    pub(crate) fn symbols(&self) -> Result<Vec<Symbol>, Problem> {
        self.words("symbol")
    }

    /// Returns the requested account currency, or `None` if the parameter is absent. Unsupported
    /// currencies are refused.
    pub(crate) fn currency(&self) -> Result<Option<Currency>, Problem> {
        let requested: Option<Currency> = self.word("currency")?;
        match requested {
            Some(other) if !CURRENCIES.contains(&other) => {
                Err(Problem::trade_parameter("currency is one of HKD, USD and CNH"))
            }
            requested => Ok(requested),
        }
    }

    /// Parses an order id. Returns `None` if the parameter is absent. An invalid id is reported as
    /// not found.
    pub(crate) fn order(&self) -> Result<Option<OrderId>, Problem> {
        self.get("order_id").map(|text| text.parse().map_err(|_| not_found())).transpose()
    }

    /// Parses a grid id from the named parameter. Returns `None` if the parameter is absent. An
    /// invalid id is reported as not found.
    pub(crate) fn grid(&self, name: &str) -> Result<Option<GridId>, Problem> {
        self.get(name).map(|text| text.parse().map_err(|_| grid_not_found())).transpose()
    }

    /// Parses Unix seconds from the first of several parameter names that is present. Returns
    /// `None` if all are absent, or for 0, which one SDK sends if there is no time.
    pub(crate) fn time(&self, names: &[&'static str]) -> Result<Option<Timestamp>, Problem> {
        let found = names.iter().find_map(|name| self.get(name).map(|text| (*name, text)));
        let Some((name, text)) = found else { return Ok(None) };
        match text.parse::<i64>() {
            Ok(0) => Ok(None),
            Ok(seconds) if (1..=TIME_MAX).contains(&seconds) => Ok(Some(Timestamp(seconds))),
            _ => Err(Problem::trade_parameter(format!(
                "{name} {:?} is not a time in Unix seconds",
                echo(text)
            ))),
        }
    }

    /// Parses an integer within bounds, or returns the default if the parameter is absent.
    pub(crate) fn number(
        &self,
        name: &str,
        (least, most): (u32, u32),
        otherwise: u32,
    ) -> Result<u32, Problem> {
        let Some(text) = self.get(name) else { return Ok(otherwise) };
        let number = text.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| {
            Problem::trade_parameter(format!(
                "{name} {:?} is not a number from {least} to {most}",
                echo(text)
            ))
        })
    }

    pub(crate) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|text| text.eq_ignore_ascii_case("true") || text == "1")
    }
}

pub(crate) fn missing(name: &str) -> Problem {
    Problem::trade_parameter(format!("{name} required"))
}

pub(crate) fn unknown(name: &str, text: &str) -> Problem {
    Problem::trade_parameter(format!("{name} {:?} is not known", echo(text)))
}

pub(crate) fn not_found() -> Problem {
    Problem::trade_parameter("order not found")
}

pub(crate) fn grid_not_found() -> Problem {
    Problem::trade_parameter("grid order not found")
}

pub(crate) fn echo(text: &str) -> String {
    text.chars().take(ECHO_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_unknown_parameters_of_sdks_are_ignored() {
        let query =
            Query::parse("status=A&status=B&symbol=&start_at=0&end_at=12&x=y&is_attached=true").unwrap();
        assert_eq!(query.all("status").collect::<Vec<_>>(), ["A", "B"]);
        assert_eq!(query.symbol().unwrap(), None);
        assert_eq!(query.time(&["start_time", "start_at"]).unwrap(), None);
        assert_eq!(query.time(&["end_time", "end_at"]).unwrap(), Some(Timestamp(12)));
        assert!(query.is_true("is_attached"));
    }

    #[test]
    fn the_refusal_names_the_invalid_parameter() {
        let describe = |problem: Problem| problem.into_parts().text;
        let query = Query::parse("symbol=700&start_at=1.5&page=0&order_id=abc&side=Hold").unwrap();
        assert_eq!(describe(query.symbol().unwrap_err()), "symbol \"700\" is not known");
        assert_eq!(
            describe(query.time(&["start_at"]).unwrap_err()),
            "start_at \"1.5\" is not a time in Unix seconds"
        );
        assert_eq!(
            describe(query.number("page", (1, 10), 1).unwrap_err()),
            "page \"0\" is not a number from 1 to 10"
        );
        assert_eq!(describe(query.order().unwrap_err()), "order not found");
        assert_eq!(describe(query.word::<trading::Side>("side").unwrap_err()), "side \"Hold\" is not known");
        assert_eq!(describe(query.required("price").unwrap_err()), "price required");
        let long = format!("remark={}", "x".repeat(TEXT_MAX + 1));
        assert_eq!(describe(Query::parse(&long).map(drop).unwrap_err()), "remark has more than 256 bytes");
    }
}
