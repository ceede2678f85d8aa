//! The ticker of a security in a chart: the symbol, followed by options after `@`, because the UDF
//! protocol has no parameters for such options.
//!
//! `CNDL.US` means unadjusted prices in regular hours; `CNDL.US@forward`, `CNDL.US@extended` and
//! `CNDL.US@forward@all` are variants.

use std::fmt;

use history::{Adjust, Sessions};
use market::{Market, Symbol};

use super::form::echo;
use crate::caller::Language;
use crate::command;
use crate::refusal::Refusal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ticker {
    pub(super) symbol: Symbol,
    pub(super) adjust: Adjust,
    pub(super) sessions: Sessions,
}

/// Maximum length of a ticker in bytes. A symbol with two options is shorter.
const BYTES_MAX: usize = 64;
const FORWARD: &str = "forward";
const EXTENDED: &str = "extended";
const ALL: &str = "all";

impl Ticker {
    /// Creates the plain variant: unadjusted prices in regular hours.
    pub(super) fn plain(symbol: Symbol) -> Ticker {
        Ticker { symbol, adjust: Adjust::None, sessions: Sessions::Intraday }
    }

    /// Parses a ticker. Charts prepend an exchange when they save a layout; the exchange is
    /// ignored, because the symbol contains its region.
    pub(super) fn parse(text: &str) -> Result<Ticker, Refusal> {
        if text.len() > BYTES_MAX {
            return Err(Refusal::BadQuery(format!("symbol {:?} is too long", echo(text))));
        }
        let text = text.rsplit_once(':').map_or(text, |(_, symbol)| symbol);
        let mut parts = text.split('@');
        let mut ticker = Ticker::plain(command::symbol(parts.next().unwrap_or_default())?);
        for word in parts {
            let word = word.to_ascii_lowercase();
            match (word.as_str(), ticker.adjust, ticker.sessions) {
                (FORWARD, Adjust::None, _) => ticker.adjust = Adjust::Forward,
                (EXTENDED, _, Sessions::Intraday) => ticker.sessions = Sessions::Extended,
                (ALL, _, Sessions::Intraday) => ticker.sessions = Sessions::All,
                (FORWARD | EXTENDED | ALL, ..) => return Err(wrong(text, "has a duplicate modifier")),
                _ => {
                    return Err(wrong(
                        text,
                        "has an unknown modifier after the @: use forward, extended or all",
                    ));
                }
            }
        }
        Ok(ticker)
    }

    /// Returns all variants of a security, the plain variant first. Only US securities have
    /// extended hours.
    pub(super) fn variants(symbol: &Symbol) -> Vec<Ticker> {
        let sessions: &[Sessions] = match symbol.market() {
            Market::Us => &[Sessions::Intraday, Sessions::Extended, Sessions::All],
            Market::Hk | Market::Cn => &[Sessions::Intraday],
        };
        let of = |adjust: Adjust| {
            sessions.iter().map(move |sessions| Ticker {
                symbol: symbol.clone(),
                adjust,
                sessions: *sessions,
            })
        };
        of(Adjust::None).chain(of(Adjust::Forward)).collect()
    }

    /// Describes the variant in a language.
    pub(super) fn manner(&self, language: Language) -> String {
        let pick = |words: [&'static str; 3]| match (language, words) {
            (Language::En, [word, ..]) | (Language::ZhCn, [_, word, _]) | (Language::ZhHk, [.., word]) => {
                word
            }
        };
        let adjust = match self.adjust {
            Adjust::None => None,
            Adjust::Forward => Some(pick(["adjusted", "前复权", "前復權"])),
        };
        let sessions = match self.sessions {
            Sessions::Intraday => None,
            Sessions::Extended => Some(pick(["pre and post", "盘前盘后", "盤前盤後"])),
            Sessions::All => Some(pick(["all hours", "全时段", "全時段"])),
        };
        let words: Vec<&str> = adjust.into_iter().chain(sessions).collect();
        words.join(", ")
    }
}

impl fmt::Display for Ticker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol.as_str())?;
        if self.adjust == Adjust::Forward {
            write!(f, "@{FORWARD}")?;
        }
        match self.sessions {
            Sessions::Intraday => Ok(()),
            Sessions::Extended => write!(f, "@{EXTENDED}"),
            Sessions::All => write!(f, "@{ALL}"),
        }
    }
}

fn wrong(text: &str, what: &str) -> Refusal {
    Refusal::BadQuery(format!("symbol {:?} {what}", echo(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticker_has_one_canonical_form() {
        for (text, canonical) in [
            ("CNDL.US", "CNDL.US"),
            ("cndl.us@FORWARD", "CNDL.US@forward"),
            ("NASD:CNDL.US@all", "CNDL.US@all"),
            ("00700.HK", "700.HK"),
            ("CNDL.US@extended@forward", "CNDL.US@forward@extended"),
        ] {
            let ticker = Ticker::parse(text).unwrap();
            assert_eq!(ticker.to_string(), canonical);
            assert_eq!(Ticker::parse(canonical), Ok(ticker));
        }
    }

    #[test]
    fn contradictory_or_unknown_options_are_refused() {
        for text in [
            "CNDL",
            "CNDL.US@",
            "CNDL.US@back",
            "CNDL.US@all@extended",
            "A.US@forward@forward",
            &"A".repeat(65),
        ] {
            assert!(matches!(Ticker::parse(text), Err(Refusal::BadQuery(_))), "{text}");
        }
    }

    #[test]
    fn each_variant_of_a_security_is_listed_once() {
        let names = |symbol: &str| {
            let all = Ticker::variants(&symbol.parse().unwrap());
            all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("700.HK"), "700.HK 700.HK@forward");
        assert_eq!(
            names("A.US"),
            "A.US A.US@extended A.US@all A.US@forward A.US@forward@extended A.US@forward@all"
        );
    }
}
