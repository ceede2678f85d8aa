//! Parses a file's session column, which is optional. A row with an unreadable session is assigned
//! the session that contains its time.

use market::Session;

use crate::cells::lossy;

/// Parses session cells and counts unreadable ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions {
    unread: u64,
    /// Line and text of the first unreadable cell.
    first: Option<(u64, String)>,
}

impl Sessions {
    pub(crate) fn read(&mut self, line: u64, cell: &[u8]) -> Option<Session> {
        match cell {
            b"" => return None,
            // Fast path for the most common value.
            b"intraday" => return Some(Session::Intraday),
            _ => {}
        }
        let session = std::str::from_utf8(cell).ok().and_then(parse);
        if session.is_none() {
            self.unread += 1;
            self.first.get_or_insert_with(|| (line, lossy(cell).chars().take(40).collect()));
        }
        session
    }

    pub(crate) fn note(&self) -> Option<String> {
        let (line, text) = self.first.as_ref()?;
        Some(format!(
            "sessions that are not intraday, pre, post or overnight: {}, the first in line {line}: {text:?}; the time decided",
            self.unread
        ))
    }
}

/// Parses our names for sessions and those of the SDKs: Python prints `TradeSession.Intraday`, and
/// the protocol uses `NORMAL_TRADE`.
fn parse(text: &str) -> Option<Session> {
    let word = text.rsplit_once(['.', ':']).map_or(text, |(_, word)| word).trim();
    Session::parse(word).or_else(|| {
        let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        let plain = plain.to_ascii_lowercase();
        let plain = plain.strip_prefix("tradesession").unwrap_or(&plain);
        let plain = ["trade", "market", "trading", "hours"]
            .iter()
            .find_map(|end| plain.strip_suffix(end))
            .unwrap_or(plain);
        match plain {
            "intraday" | "normal" | "regular" | "rth" | "day" => Some(Session::Intraday),
            "pre" => Some(Session::Pre),
            "post" | "after" | "afterhours" => Some(Session::Post),
            "overnight" | "night" => Some(Session::Overnight),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_names_of_the_sdks_are_parsed() {
        let spellings = [
            (
                Session::Intraday,
                "intraday Intraday TradeSession.Intraday TradeSession.Normal Normal NORMAL_TRADE TradeSession.NormalTrade regular 0",
            ),
            (Session::Pre, "pre Pre TradeSession.Pre PRE_TRADE PreTrade PreMarket pre-market 1"),
            (Session::Post, "post Post TradeSession.Post POST_TRADE PostMarket after-hours 2"),
            (
                Session::Overnight,
                "overnight Overnight TradeSession.Overnight OVERNIGHT_TRADE OvernightTrade 3",
            ),
        ];
        for (session, words) in spellings {
            for word in words.split(' ') {
                assert_eq!(parse(word), Some(session), "{word}");
            }
        }
        for word in ["lunch", "4", "TradeSession.", "TradeSession", "."] {
            assert_eq!(parse(word), None, "{word}");
        }
    }
}
