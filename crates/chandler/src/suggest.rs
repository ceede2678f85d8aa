//! Parses candle periods by their common names, and suggests stored symbols ("did you mean"). For
//! words and flags there are the tips in `tips`, and clap's own suggestions.

use std::ffi::OsStr;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use history::HistoryError;
use market::{ParsePeriodError, ParseSymbolError, Period, Region, Symbol};
use store::{Access, Security, Store, StoreUrl};

use crate::failure::{Failure, usage};

/// Maximum number of suggestions.
const SHOWN: usize = 3;
/// Maximum length, in characters, of typed text that is compared. No security has a longer name.
const TYPED_MAX: usize = 40;

/// Parses a period by any unambiguous name, and lists all periods for completion and error
/// messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeriodParser;

impl TypedValueParser for PeriodParser {
    type Value = Period;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Period, clap::Error> {
        match period.parse_ref(command, argument, value)? {
            Some(period) => Ok(period),
            None => {
                let names = PossibleValuesParser::new(NAMES.iter().map(String::as_str));
                names.try_map(|name| name.parse::<Period>()).parse_ref(command, argument, value)
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(NAMES.iter().map(|name| PossibleValue::new(name.as_str()))))
    }
}

/// Names of all periods, in ascending order of length.
static NAMES: LazyLock<Vec<String>> =
    LazyLock::new(|| Period::all().map(|period| period.to_string()).collect());

/// Lists all periods for a flag's help text: `1m 2m …, day, week, month, quarter or year`.
pub(crate) fn periods() -> String {
    let (minutes, mut spans): (Vec<Period>, Vec<Period>) =
        Period::all().partition(|period| period.is_clock());
    let last = spans.pop().map(|last| format!(" or {last}")).unwrap_or_default();
    let join = |periods: Vec<Period>, by: &str| {
        let names: Vec<String> = periods.iter().map(ToString::to_string).collect();
        names.join(by)
    };
    format!("{}, {}{last}", join(minutes, " "), join(spans, ", "))
}

/// Names of periods in other programs, in addition to the names that [`Period`] parses.
const ALIASES: [(&str, &[&str]); 8] = [
    ("1m", &["min", "minute", "minutely"]),
    ("30m", &["halfhour"]),
    ("60m", &["hour", "hourly", "h", "1hr"]),
    ("day", &["days", "1day"]),
    ("week", &["weeks", "1week", "1wk", "wk"]),
    ("month", &["months", "1month", "1mon", "mon"]),
    ("quarter", &["quarters", "1quarter", "3mo"]),
    ("year", &["years", "1year", "1yr", "12mo", "annual"]),
];

/// Parses the name of a period. `None` if the name is unknown. An ambiguous name is an error.
fn period(text: &str) -> Result<Option<Period>, ParsePeriodError> {
    let typed: String =
        text.chars().take(TYPED_MAX).filter(|letter| !matches!(letter, '-' | '_' | ' ')).collect();
    match typed.parse() {
        Ok(period) => Ok(Some(period)),
        // The text must not be converted to lower case, where it would mean minutes.
        Err(error @ ParsePeriodError::Ambiguous { .. }) => Err(error),
        Err(ParsePeriodError::Unknown(_)) => {
            let plain = typed.to_lowercase();
            let alias = ALIASES.iter().find(|(_, aliases)| aliases.contains(&plain.as_str()));
            alias.map(|(name, _)| name.parse()).transpose()
        }
    }
}

/// Parses a symbol. The error for an invalid symbol suggests stored symbols.
pub(crate) fn symbol(text: &str, store: Option<&Store>) -> Result<Symbol, Failure> {
    text.parse().map_err(|error: ParseSymbolError| {
        let stored = store.and_then(|store| securities(store).ok()).unwrap_or_default();
        let names = nearest(text, stored.iter());
        usage(format!("{error}{}", question(&names)))
    })
}

/// Adds suggestions to an error about an unknown symbol. Other errors are returned unchanged.
pub(crate) fn hinted(failure: Failure, store: &Store) -> Failure {
    let Failure::Data(error) = &failure else { return failure };
    let hint = match error.downcast_ref() {
        Some(HistoryError::UnknownSecurity(symbol)) => for_unknown(symbol, store),
        Some(HistoryError::NoCandles(symbol)) => collection("", symbol, store),
        _ => String::new(),
    };
    if hint.is_empty() {
        return failure;
    }
    anyhow::anyhow!("{error}{hint}").into()
}

/// Returns suggestions for a symbol that is not stored, and the commands that collect it if a
/// mirror is set up. Empty if the symbol is stored or there is nothing to suggest.
pub(crate) fn for_unknown(symbol: &Symbol, store: &Store) -> String {
    let stored = securities(store).unwrap_or_default();
    if stored.iter().any(|security| security.symbol == *symbol) {
        return String::new();
    }
    collection(&question(&nearest(symbol.as_str(), stored.iter())), symbol, store)
}

/// Appends the commands with which the first mirror collects a security. Unchanged without a
/// mirror.
fn collection(question: &str, symbol: &Symbol, store: &Store) -> String {
    let commands = || -> Result<Option<String>, store::StoreError> {
        let mut reader = store.reader()?;
        let view = reader.view();
        let Some(mirror) = view.mirrors()?.into_iter().next() else { return Ok(None) };
        let name = &mirror.name;
        let is_listed = view.mirror_securities(mirror.id)?.iter().any(|listed| listed.symbol == *symbol);
        Ok(Some(match is_listed {
            true => format!("`chandler mirror run {name}`"),
            false => format!("`chandler mirror plan {name} {symbol}`, then `chandler mirror run {name}`"),
        }))
    };
    match commands() {
        Ok(Some(commands)) if question.is_empty() => format!("; to collect it: {commands}"),
        Ok(Some(commands)) => format!("{question} To collect it: {commands}"),
        _ => question.to_owned(),
    }
}

/// Returns suggestions for a word that is not a valid symbol. Empty if no stored symbol is similar.
pub(crate) fn for_word(word: &str, store: &Store) -> String {
    let stored = securities(store).unwrap_or_default();
    question(&nearest(word, stored.iter()))
}

/// Formats suggestions as `; did you mean 700.HK or 701.HK?`. Empty if there are none.
pub(crate) fn question(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => format!("; did you mean {one}?"),
        [rest @ .., last] => format!("; did you mean {} or {last}?", rest.join(", ")),
    }
}

fn securities(store: &Store) -> Result<Vec<Security>, store::StoreError> {
    store.reader()?.snapshot()?.securities()
}

/// Opens the store for suggestions. `None` if the store cannot be opened.
pub(crate) fn store_for_hints(place: &StoreUrl) -> Option<Store> {
    Store::open(place, Access::Read).ok()
}

/// Returns up to [`SHOWN`] symbols that are closest to a text, best match first.
pub(crate) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a Security>) -> Vec<String> {
    let typed: String = typed.trim().chars().take(TYPED_MAX).collect::<String>().to_ascii_uppercase();
    let (ticker, region) = match typed.rsplit_once('.') {
        Some((ticker, region)) if !ticker.is_empty() => (ticker, Region::parse(region)),
        _ => (typed.as_str(), None),
    };
    let mut found: Vec<(usize, bool, bool, &str)> = known
        .filter_map(|security| {
            let symbol = &security.symbol;
            let distance = distance(ticker, symbol.ticker()).or_else(|| is_named(security, &typed))?;
            let elsewhere = region.is_some_and(|region| region != symbol.region());
            Some((distance, elsewhere, symbol.ticker() != ticker, symbol.as_str()))
        })
        .collect();
    found.sort_unstable();
    // If there is an exact match, other matches are dropped.
    let exact = found.first().is_some_and(|(distance, ..)| *distance == 0);
    let fits = found.iter().filter(|(distance, ..)| !exact || *distance == 0);
    fits.take(SHOWN).map(|(.., symbol)| (*symbol).to_owned()).collect()
}

/// Returns the edit distance between two tickers. `None` if the distance is too large for a
/// suggestion.
fn distance(typed: &str, stored: &str) -> Option<usize> {
    let bare = |text: &str| text.trim_start_matches('0').replace(['-', '.', ' ', '_'], "");
    let (typed, stored) = (bare(typed), bare(stored));
    if typed.is_empty() {
        return None;
    }
    let apart = strsim::osa_distance(&typed, &stored);
    // A quarter of the letters may differ, or one letter in a short ticker. A one-letter ticker
    // must match exactly.
    let allowed = (typed.len().max(stored.len()) / 4).max(1);
    (apart <= allowed && apart < typed.len()).then_some(apart)
}

/// Returns a large distance if the text is part of the security's name, so that matches by name
/// follow similar tickers. `None` if the name does not match.
fn is_named(security: &Security, typed: &str) -> Option<usize> {
    const NAME_LETTERS_MIN: usize = 2;
    if typed.chars().count() < NAME_LETTERS_MIN || typed.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let names = [&security.name_en, &security.name_cn, &security.name_hk];
    let named = names.into_iter().flatten().any(|name| name.to_uppercase().contains(typed));
    named.then_some(TYPED_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Period, String> {
        let command = clap::Command::new("test");
        PeriodParser.parse_ref(&command, None, OsStr::new(text)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_period_is_parsed_by_any_of_its_names() {
        for (text, means) in [
            ("1d", "day"),
            ("Daily", "day"),
            ("1-day", "day"),
            ("hour", "60m"),
            ("hourly", "60m"),
            ("1h", "60m"),
            ("5min", "5m"),
            ("5 min", "5m"),
            ("1mo", "month"),
            ("1mon", "month"),
            ("w", "week"),
            ("1wk", "week"),
            ("3mo", "quarter"),
            ("annual", "year"),
        ] {
            assert_eq!(parse(text).map(|period| period.to_string()), Ok(means.to_owned()), "{text}");
        }
    }

    #[test]
    fn completion_and_help_list_every_period() {
        let completed = PeriodParser.possible_values().unwrap();
        assert_eq!(completed.count(), Period::all().count());
        assert_eq!(
            periods(),
            "1m 2m 3m 5m 10m 15m 20m 30m 45m 60m 120m 180m 240m, day, week, month, quarter or year"
        );
    }

    #[test]
    fn an_unknown_period_suggests_a_similar_one() {
        for (text, means) in [("90m", "60m"), ("wekly", "week"), ("yaer", "year")] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("[possible values: 1m, 2m, "), "{text}: {error}");
            assert!(error.contains(&format!("a similar value exists: '{means}'")), "{text}: {error}");
        }
        for text in ["", "x", "5x", "fortnight", "99999999999m"] {
            assert!(!parse(text).unwrap_err().contains("similar"), "{text}");
        }
    }

    #[test]
    fn a_capital_m_is_ambiguous() {
        for (text, means) in
            [("1M", "1m or month"), ("1 M", "1m or month"), ("3M", "3m or quarter"), ("12M", "year")]
        {
            let error = parse(text).unwrap_err();
            assert!(error.contains(&format!("did you mean {means}?")), "{text}: {error}");
        }
        assert_eq!(parse("5MIN"), parse("5m"));
    }

    fn known() -> Vec<Security> {
        let named = |symbol: &str, name: &str| Security {
            name_en: Some(name.to_owned()),
            name_hk: Some("騰訊".to_owned()).filter(|_| name == "Tencent"),
            ..Security::new(symbol.parse().unwrap())
        };
        vec![
            named("700.HK", "Tencent"),
            named("701.HK", "Other"),
            named("9988.HK", "Alibaba"),
            named("AAPL.US", "Apple Inc."),
            named("BRK-B.US", "Berkshire"),
            named("600519.SH", "Moutai"),
            named("000001.SZ", "Bank"),
            named("1.HK", "Wick"),
        ]
    }

    fn hints(text: &str) -> String {
        nearest(text, known().iter()).join(" ")
    }

    #[test]
    fn symbols_are_suggested_from_any_region() {
        assert_eq!(hints("700"), "700.HK");
        assert_eq!(hints("00700"), "700.HK");
        assert_eq!(hints("700.US"), "700.HK");
        assert_eq!(hints("600519.SS"), "600519.SH");
        assert_eq!(hints("aapl"), "AAPL.US");
        assert_eq!(hints("BRK.B"), "BRK-B.US");
        assert_eq!(hints("1"), "1.HK 000001.SZ");
        assert_eq!(hints("000001"), "000001.SZ 1.HK");
    }

    #[test]
    fn symbols_are_suggested_by_name_and_despite_typos() {
        assert_eq!(hints("APPL.US"), "AAPL.US");
        assert_eq!(hints("9989.HK"), "9988.HK");
        assert_eq!(hints("702.HK"), "700.HK 701.HK");
        assert_eq!(hints("apple"), "AAPL.US");
        assert_eq!(hints("騰訊"), "700.HK");
        for nothing in ["", ".", "X.US", "ZZZZ.US", "8", "\u{1b}[31m"] {
            assert_eq!(hints(nothing), "", "{nothing:?}");
        }
    }

    #[test]
    fn suggestions_are_formatted_as_a_question() {
        let names =
            |names: &[&str]| question(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&[]), "");
        assert_eq!(names(&["A"]), "; did you mean A?");
        assert_eq!(names(&["A", "B", "C"]), "; did you mean A, B or C?");
    }
}
