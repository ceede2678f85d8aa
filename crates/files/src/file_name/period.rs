//! Words for periods in file names.

use market::{Minutes, Period, Span};

use super::words::split;

const WEEK: Period = Period::Calendar(Span::Week);
const MONTH: Period = Period::Calendar(Span::Month);

/// Words for periods that are not minutes.
const WORDS: [(&str, Period); 31] = [
    ("1d", Period::DAY),
    ("d1", Period::DAY),
    ("day", Period::DAY),
    ("days", Period::DAY),
    ("1day", Period::DAY),
    ("daily", Period::DAY),
    ("eod", Period::DAY),
    ("tag", Period::DAY),
    ("日线", Period::DAY),
    ("日k", Period::DAY),
    ("1w", WEEK),
    ("w1", WEEK),
    ("1wk", WEEK),
    ("week", WEEK),
    ("1week", WEEK),
    ("weekly", WEEK),
    ("周线", WEEK),
    ("周k", WEEK),
    ("1mo", MONTH),
    ("mn", MONTH),
    ("mn1", MONTH),
    ("month", MONTH),
    ("1month", MONTH),
    ("monthly", MONTH),
    ("月线", MONTH),
    ("月k", MONTH),
    ("quarterly", Period::Calendar(Span::Quarter)),
    ("季线", Period::Calendar(Span::Quarter)),
    ("yearly", Period::Calendar(Span::Year)),
    ("annual", Period::Calendar(Span::Year)),
    ("年线", Period::Calendar(Span::Year)),
];

/// Words for minutes and hours, before or behind their number.
const MINUTES: [&str; 7] = ["m", "min", "mins", "minute", "minutes", "分钟", "分钟线"];
const HOURS: [&str; 5] = ["h", "hour", "hours", "hourly", "hr"];

/// Returns whether a word is one for a period. Numbers are not: they have to be next to one.
pub(super) fn is_word(word: &str) -> bool {
    let lower = word.to_lowercase();
    of_word(&lower).is_some()
        || ["d", "w"].contains(&lower.as_str())
        || MINUTES.contains(&lower.as_str()) && lower != "m"
        || HOURS.contains(&lower.as_str()) && lower != "h"
}

/// Returns the period of a word in lower case: `daily`, `5min`, `m15`, `1h`.
fn of_word(lower: &str) -> Option<Period> {
    if let Some((_, period)) = WORDS.iter().find(|(word, _)| *word == lower) {
        return Some(*period);
    }
    let digits = |text: &str| text.parse::<u16>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let with_unit = |units: &[&str]| {
        units.iter().find_map(|unit| {
            let number = lower.strip_prefix(unit).or_else(|| lower.strip_suffix(unit))?;
            digits(number)
        })
    };
    match (with_unit(&MINUTES), with_unit(&HOURS)) {
        (Some(minutes), _) => clock(minutes),
        (None, Some(hours)) => clock(hours.checked_mul(60)?),
        (None, None) => (lower == "hourly").then(|| clock(60)).flatten(),
    }
}

fn clock(minutes: u16) -> Option<Period> {
    Minutes::new(minutes).map(Period::Clock)
}

/// Returns the period that a name without its extension has, or `None` if it has none or several.
pub(super) fn of_stem(stem: &str) -> Option<Period> {
    if let Some((_, behind)) = stem.split_once(", ") {
        return tradingview(behind);
    }
    if let Some((_, period)) = metatrader(stem) {
        return Some(period);
    }
    let words: Vec<String> = split(stem).into_iter().map(str::to_lowercase).collect();
    let mut found: Vec<Period> = words.iter().filter_map(|word| of_word(word)).collect();
    found.extend(words.windows(2).filter_map(|pair| {
        let [first, second] = pair else { return None };
        let is_minute = |word: &String| MINUTES.contains(&word.as_str()) && word != "m";
        let number = match (is_minute(first), is_minute(second)) {
            (true, false) => second,
            (false, true) => first,
            _ => return None,
        };
        clock(number.parse().ok()?)
    }));
    // Stooq ends its names with one letter: aapl_us_d.
    if found.is_empty() {
        found.extend(stem.rsplit_once('_').and_then(|(_, last)| match last {
            "d" => Some(Period::DAY),
            "w" => Some(WEEK),
            "m" => Some(MONTH),
            _ => None,
        }));
    }
    found.dedup();
    match found.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// Reads TradingView's period, which follows a comma: `1D`, `1W`, `1M` for a month, and bare minutes.
/// Names may continue with a letter code after an underscore.
fn tradingview(text: &str) -> Option<Period> {
    let word = text.split(['_', ' ']).next().unwrap_or(text);
    match word {
        "D" | "1D" => Some(Period::DAY),
        "W" | "1W" => Some(WEEK),
        "M" | "1M" => Some(MONTH),
        "3M" => Some(Period::Calendar(Span::Quarter)),
        "12M" => Some(Period::Calendar(Span::Year)),
        minutes => clock(minutes.parse().ok()?),
    }
}

/// Splits a name of MetaTrader 4, a ticker and its minutes: `AAPL1440`. Returns `None` for others.
pub(super) fn metatrader(stem: &str) -> Option<(&str, Period)> {
    let stem = stem.strip_prefix('#').unwrap_or(stem);
    let at = stem.find(|letter: char| letter.is_ascii_digit())?;
    let (ticker, digits) = stem.split_at_checked(at)?;
    let is_ticker = (1..=5).contains(&ticker.len()) && ticker.bytes().all(|byte| byte.is_ascii_uppercase());
    let period = match digits {
        "1" => clock(1),
        "5" => clock(5),
        "15" => clock(15),
        "30" => clock(30),
        "60" => clock(60),
        "240" => clock(240),
        "1440" => Some(Period::DAY),
        "10080" => Some(WEEK),
        "43200" => Some(MONTH),
        _ => None,
    };
    // W1 and M15 are periods of other names, and H1 is not a ticker either.
    Some((ticker, period?)).filter(|_| is_ticker && of_word(&stem.to_ascii_lowercase()).is_none())
}
