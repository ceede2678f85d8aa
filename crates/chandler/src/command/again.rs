//! Shared by `imports --undo` and `remove`: the confirmation prompt, and the command line that
//! imports the files again with the same options.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use crate::context::{CommandContext, shell_word};
use crate::failure::{Failure, usage};

/// Options that take name-value pairs. The ledger repeats the option for each pair (`map
/// time=when`); on the command line, all pairs are joined into one flag.
const PAIRS: [&str; 2] = ["map", "scale"];
const SWITCHES: [&str; 2] = ["estimate-turnover", "build-candles"];
const NAMES: [&str; 11] = [
    "period",
    "region",
    "symbol",
    "map",
    "time-format",
    "columns",
    "decimal",
    "scale",
    "stamp",
    "estimate-turnover",
    "build-candles",
];

/// Returns the command line that imports `files` again. `flags` is `--again` if the ledger lists
/// the files as imported, otherwise empty; `options` is the option text from the ledger.
pub(crate) fn command(flags: &str, options: &str, files: &[&str], context: &CommandContext) -> String {
    let mut words = vec!["import".to_owned()];
    words.extend((!flags.is_empty()).then(|| flags.to_owned()));
    words.extend(flags_of(options));
    words.extend(files.iter().map(|file| shell_word(file)));
    context.hint(&words.join(" "))
}

/// Converts option text from the ledger to command-line flags. Column names and patterns may
/// contain spaces, so a word that does not start an option belongs to the preceding option.
fn flags_of(options: &str) -> Vec<String> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for word in options.split(' ') {
        let named = |name: &&str| {
            let stands_alone = PAIRS.contains(name) || SWITCHES.contains(name);
            let rest = word.strip_prefix(*name);
            if stands_alone { rest == Some("") } else { rest.is_some_and(|rest| rest.starts_with('=')) }
        };
        let is_open = found.last().is_some_and(|(name, pair)| PAIRS.contains(name) && pair.is_empty());
        if let Some(name) = NAMES.into_iter().find(named).filter(|_| !is_open) {
            let value = word.split_once('=').map_or("", |(_, value)| value);
            found.push((name, value.to_owned()));
        } else if let Some((_, value)) = found.last_mut() {
            value.push_str(if is_open { "" } else { " " });
            value.push_str(word);
        }
    }
    let mut flags: Vec<(&str, String)> = Vec::new();
    for (name, value) in found {
        let value = if name == "scale" { with_decimals(value) } else { value };
        match flags.iter_mut().find(|(known, _)| *known == name) {
            Some((_, pairs)) if PAIRS.contains(&name) => {
                pairs.push(',');
                pairs.push_str(&value);
            }
            Some(_) => {}
            None => flags.push((name, value)),
        }
    }
    let words = flags.into_iter().map(|(name, value)| match value.as_str() {
        "" => format!("--{name}"),
        value => format!("--{name} {}", shell_word(value)),
    });
    words.collect()
}

/// Converts the factor in a `scale` pair from the ledger's fraction to the decimal form of
/// `--scale`, with at most nine decimals.
fn with_decimals(pair: String) -> String {
    const BILLION: i128 = 1_000_000_000;
    let parts = pair.split_once('=').and_then(|(name, factor)| Some((name, factor.split_once('/')?)));
    let Some((name, (numerator, denominator))) = parts else { return pair };
    match (numerator.parse::<i128>(), denominator.parse::<i128>()) {
        (Ok(numerator), Ok(denominator @ 1..=BILLION)) => {
            let billionths = numerator.saturating_mul(BILLION / denominator);
            let text = format!("{}.{:09}", billionths / BILLION, billionths % BILLION);
            format!("{name}={}", text.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => pair,
    }
}

/// Maximum length of the user's answer, in bytes.
const ANSWER_MAX: u64 = 100;

/// Returns `Ok` if `yes` is set or the user confirms at the terminal, otherwise an error.
pub(crate) fn confirm(yes: bool, question: &str) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(usage("nothing was changed: pass --yes to confirm"));
    }
    let mut terminal = io::stderr();
    write!(terminal, "{question} [y/N] ")?;
    terminal.flush()?;
    let mut answer = String::new();
    io::stdin().lock().take(ANSWER_MAX).read_line(&mut answer)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Interrupted("nothing was changed".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::flags_of;

    #[test]
    fn ledger_options_become_flags() {
        for (options, flags) in [
            ("", ""),
            ("symbol=700.HK", "--symbol 700.HK"),
            ("scale price=1/1000 scale volume=100/1", "--scale price=0.001,volume=100"),
            (
                "period=5m map symbol=the code map volume=- time-format=%d.%m.%Y %H:%M stamp=end estimate-turnover",
                "--period 5m --map 'symbol=the code,volume=-' --time-format '%d.%m.%Y %H:%M' --stamp end --estimate-turnover",
            ),
            ("region=US build-candles symbol=AAPL.US", "--region US --build-candles --symbol AAPL.US"),
        ] {
            assert_eq!(flags_of(options).join(" "), flags, "{options}");
        }
    }
}
