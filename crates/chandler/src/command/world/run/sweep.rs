//! `--sweep`: the combinations of parameter values, one world for each.

use std::str::FromStr;

/// Maximum number of combinations.
pub(super) const COMBINATIONS_MAX: usize = 256;
/// Prefix of the environment variables of a combination.
const VARIABLE: &str = "CHANDLER_SWEEP_";

/// A parameter and its values: `fast=5,10,20`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sweep {
    name: String,
    values: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ParseSweepError {
    #[error("{0:?} is not a parameter with values: write fast=5,10,20")]
    Form(String),
    #[error("{0:?} is not the name of a parameter: use letters, digits and _")]
    Name(String),
}

impl FromStr for Sweep {
    type Err = ParseSweepError;

    fn from_str(text: &str) -> Result<Sweep, ParseSweepError> {
        let shown = |text: &str| text.chars().take(80).collect();
        let (name, values) = text.split_once('=').ok_or_else(|| ParseSweepError::Form(shown(text)))?;
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.is_empty() || !name.bytes().all(is_letter) {
            return Err(ParseSweepError::Name(shown(name)));
        }
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            return Err(ParseSweepError::Form(shown(text)));
        }
        Ok(Sweep { name: name.to_owned(), values })
    }
}

/// One value of each parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Combination(pub(super) Vec<(String, String)>);

/// Returns all combinations. The last parameter changes fastest. Fails if the parameters are
/// invalid, with the reason.
pub(super) fn combinations(sweeps: &[Sweep]) -> Result<Vec<Combination>, String> {
    let mut all = vec![Combination::default()];
    for (at, sweep) in sweeps.iter().enumerate() {
        let is_same = |other: &Sweep| other.name.eq_ignore_ascii_case(&sweep.name);
        if sweeps.iter().take(at).any(is_same) {
            return Err(format!("the parameter {} is given twice", sweep.name));
        }
        if all.len().saturating_mul(sweep.values.len()) > COMBINATIONS_MAX {
            return Err(format!("at most {COMBINATIONS_MAX} combinations can be run: use fewer values"));
        }
        let with = |known: &Combination, value: &String| {
            let mut parts = known.0.clone();
            parts.push((sweep.name.clone(), value.clone()));
            Combination(parts)
        };
        all = all.iter().flat_map(|known| sweep.values.iter().map(|value| with(known, value))).collect();
    }
    Ok(all)
}

impl Combination {
    /// Replaces `{fast}` in the arguments of a command.
    pub(super) fn substitute(&self, command: &[String]) -> Vec<String> {
        let replace = |word: &String| {
            let parts = self.0.iter();
            parts.fold(word.clone(), |word, (name, value)| word.replace(&format!("{{{name}}}"), value))
        };
        command.iter().map(replace).collect()
    }

    /// Returns the environment variables, such as `CHANDLER_SWEEP_FAST=5`.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let variable = |(name, value): &(String, String)| {
            (format!("{VARIABLE}{}", name.to_ascii_uppercase()), value.clone())
        };
        self.0.iter().map(variable).collect()
    }

    /// Returns the combination as text: `fast=5 slow=30`.
    pub(super) fn text(&self) -> String {
        let parts: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        parts.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(sweeps: &[&str]) -> Result<Vec<String>, String> {
        let sweeps: Vec<Sweep> = sweeps.iter().map(|text| text.parse().unwrap()).collect();
        Ok(combinations(&sweeps)?.iter().map(Combination::text).collect())
    }

    #[test]
    fn all_values_are_combined() {
        assert_eq!(all(&[]).unwrap(), [""]);
        let found = all(&["fast=5,10", "slow=30, 60"]).unwrap();
        assert_eq!(found, ["fast=5 slow=30", "fast=5 slow=60", "fast=10 slow=30", "fast=10 slow=60"]);
    }

    #[test]
    fn a_combination_sets_variables_and_replaces_placeholders() {
        let combination = Combination(vec![("fast".to_owned(), "5".to_owned())]);
        assert_eq!(combination.environment(), [("CHANDLER_SWEEP_FAST".to_owned(), "5".to_owned())]);
        let command = ["run", "--fast={fast}", "{slow}"].map(str::to_owned);
        assert_eq!(combination.substitute(&command), ["run", "--fast=5", "{slow}"]);
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for text in ["fast", "fast=", "fast=1,,2", "=1", "fa st=1", "a-b=1"] {
            assert!(text.parse::<Sweep>().is_err(), "{text}");
        }
        assert!(all(&["a=1", "A=2"]).unwrap_err().contains("twice"));
        let many: Vec<String> = (0..17).map(|number| number.to_string()).collect();
        let (first, second) = (format!("a={}", many.join(",")), format!("b={}", many.join(",")));
        assert!(all(&[&first, &second]).unwrap_err().contains("at most 256"));
    }
}
