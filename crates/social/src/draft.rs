//! Validates topics, and finds symbols such as `700.HK` in their text. A parsed [`Draft`] is always
//! valid.

use market::{Region, Symbol};

use crate::text::{self, TextError};

pub const TITLE_CHARS_MAX: usize = 200;
pub const POST_CHARS_MAX: usize = 5_000;
pub const ARTICLE_CHARS_MAX: usize = 20_000;
pub const REPLY_CHARS_MAX: usize = 2_000;
/// Maximum number of symbols that a client may list with a topic, not counting symbols found in the
/// text.
pub const TICKERS_MAX: usize = 10;
pub const HASHTAGS_MAX: usize = 5;
pub const HASHTAG_CHARS_MAX: usize = 50;
/// Maximum length of an operator's reason for hiding a topic or reply, in characters.
pub const REASON_CHARS_MAX: usize = 200;

/// Kind of topic: a plain text post, or a Markdown article, which requires a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Post,
    Article,
}

/// A topic as received from a client, not yet validated.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawDraft<'a> {
    pub kind: Option<&'a str>,
    pub title: &'a str,
    pub body: &'a str,
    pub tickers: &'a [String],
    pub hashtags: &'a [String],
}

/// A validated topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub(crate) kind: Kind,
    pub(crate) title: String,
    pub(crate) body: String,
    /// Symbols listed by the client, followed by symbols found in the title and body.
    pub(crate) tickers: Vec<Symbol>,
    pub(crate) hashtags: Vec<String>,
}

impl Kind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::Post => "post",
            Kind::Article => "article",
        }
    }

    pub fn parse(text: &str) -> Result<Kind, TextError> {
        [Kind::Post, Kind::Article].into_iter().find(|kind| kind.as_str() == text).ok_or(TextError::Kind)
    }
}

impl Draft {
    pub fn parse(raw: &RawDraft<'_>) -> Result<Draft, TextError> {
        let kind = raw.kind.map_or(Ok(Kind::Post), Kind::parse)?;
        let title = raw.title.trim();
        if kind == Kind::Article || !title.is_empty() {
            text::line("title", title, TITLE_CHARS_MAX)?;
        }
        let most = match kind {
            Kind::Post => POST_CHARS_MAX,
            Kind::Article => ARTICLE_CHARS_MAX,
        };
        text::lines("body", raw.body, most)?;
        let mut tickers = named(raw.tickers)?;
        for symbol in mentions(title).chain(mentions(raw.body)).take(READ_MAX) {
            if tickers.len() < TICKERS_MAX + KEPT_MAX && !tickers.contains(&symbol) {
                tickers.push(symbol);
            }
        }
        let hashtags = hashtags(raw.hashtags)?;
        Ok(Draft { kind, title: title.to_owned(), body: raw.body.to_owned(), tickers, hashtags })
    }
}

/// Validates the text of a reply.
pub fn reply_text(body: &str) -> Result<(), TextError> {
    text::lines("body", body, REPLY_CHARS_MAX)
}

/// Trims and validates an operator's reason for hiding a topic or reply.
pub fn hide_reason(text: &str) -> Result<&str, TextError> {
    let text = text.trim();
    text::line("reason", text, REASON_CHARS_MAX)?;
    Ok(text)
}

fn named(tickers: &[String]) -> Result<Vec<Symbol>, TextError> {
    if tickers.len() > TICKERS_MAX {
        return Err(TextError::TooMany { what: "tickers", most: TICKERS_MAX });
    }
    let mut symbols: Vec<Symbol> = Vec::new();
    for ticker in tickers {
        let symbol: Symbol = ticker.trim().parse()?;
        if !symbols.contains(&symbol) {
            symbols.push(symbol);
        }
    }
    Ok(symbols)
}

/// Validates hashtags and removes duplicates and the leading `#` that some clients send.
fn hashtags(given: &[String]) -> Result<Vec<String>, TextError> {
    if given.len() > HASHTAGS_MAX {
        return Err(TextError::TooMany { what: "hashtags", most: HASHTAGS_MAX });
    }
    let mut words: Vec<String> = Vec::new();
    for hashtag in given {
        let hashtag = hashtag.trim();
        let word = hashtag.strip_prefix('#').unwrap_or(hashtag);
        text::word("a hashtag", word, HASHTAG_CHARS_MAX)?;
        if !words.iter().any(|known| known == word) {
            words.push(word.to_owned());
        }
    }
    Ok(words)
}

/// Maximum number of symbols found in the text that are stored with a topic, in addition to the
/// [`TICKERS_MAX`] symbols that the client may list.
const KEPT_MAX: usize = 20;
/// Maximum number of symbols parsed from a text, including repeated symbols.
const READ_MAX: usize = 1_000;

/// Returns the symbols mentioned in a text, in order. Only upper-case tickers are recognized,
/// because lower-case text such as `see.US` is usually not a symbol.
fn mentions(text: &str) -> impl Iterator<Item = Symbol> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-');
    text.split(move |letter: char| !is_part(letter)).filter_map(symbol)
}

fn symbol(word: &str) -> Option<Symbol> {
    // Strip punctuation around the symbol, except a leading period, as in `.SPX.US`.
    let word = word.trim_end_matches(['.', '-']).trim_start_matches('-');
    let (ticker, region) = word.rsplit_once('.')?;
    let region = Region::ALL.into_iter().find(|known| known.as_str() == region)?;
    if ticker.contains(|letter: char| letter.is_ascii_lowercase()) {
        return None;
    }
    Symbol::new(ticker, region).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<'a>(change: impl FnOnce(&mut RawDraft<'a>)) -> Result<Draft, String> {
        let mut raw = RawDraft { body: "a text", ..RawDraft::default() };
        change(&mut raw);
        Draft::parse(&raw).map_err(|error| error.to_string())
    }

    fn texts(all: &[&str]) -> Vec<String> {
        all.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_title_is_required_for_articles_only() {
        assert_eq!(parse(|_| {}).unwrap().kind, Kind::Post);
        assert_eq!(parse(|raw| raw.kind = Some("article")).unwrap_err(), "title is required");
        assert_eq!(parse(|raw| raw.kind = Some("Article")).unwrap_err(), "topic_type is article or post");
        assert_eq!(parse(|raw| raw.title = " On lots ").unwrap().title, "On lots");
        assert_eq!(parse(|raw| raw.body = " \n").unwrap_err(), "body is required");
    }

    #[test]
    fn texts_longer_than_the_limit_are_refused() {
        for (kind, most) in [("post", POST_CHARS_MAX), ("article", ARTICLE_CHARS_MAX)] {
            for letter in ["x", "数", "🙂"] {
                let [fits, over] = [most, most + 1].map(|length| letter.repeat(length));
                let draft = |body: &str| {
                    Draft::parse(&RawDraft { kind: Some(kind), title: "t", body, ..RawDraft::default() })
                };
                assert_eq!(draft(&fits).unwrap().body, fits);
                assert_eq!(draft(&over), Err(TextError::TooLong { what: "body", most }));
            }
        }
        let [fits, over] = [TITLE_CHARS_MAX, TITLE_CHARS_MAX + 1].map(|length| "题".repeat(length));
        assert!(parse(|raw| raw.title = &fits).is_ok());
        assert_eq!(parse(|raw| raw.title = &over).unwrap_err(), "title has more than 200 characters");
        assert!(reply_text(&"🙂".repeat(REPLY_CHARS_MAX)).is_ok());
        assert!(reply_text(&"🙂".repeat(REPLY_CHARS_MAX + 1)).is_err());
        assert_eq!(hide_reason(" advertising "), Ok("advertising"));
        assert!(hide_reason(&"x".repeat(REASON_CHARS_MAX + 1)).is_err());
    }

    #[test]
    fn symbols_in_the_text_follow_the_listed_symbols() {
        let given = texts(&["AAPL.US", " 00700.hk", "AAPL.US"]);
        let draft = parse(|raw| {
            raw.tickers = &given;
            raw.title = "600519.SH";
            raw.body = "Of 700.HK and 5.HK, not of nothing.else.";
        })
        .unwrap();
        let found: Vec<&str> = draft.tickers.iter().map(Symbol::as_str).collect();
        assert_eq!(found, ["AAPL.US", "700.HK", "600519.SH", "5.HK"]);
        let many = texts(&["1.HK"; 11]);
        assert_eq!(parse(|raw| raw.tickers = &many).unwrap_err(), "there are more than 10 tickers");
        let wrong = texts(&["700"]);
        assert!(parse(|raw| raw.tickers = &wrong).unwrap_err().starts_with("\"700\" is not a symbol"));
    }

    #[test]
    fn hashtags_are_accepted_with_or_without_a_hash_sign() {
        let given = texts(&["#lots", " 手数 ", "lots"]);
        assert_eq!(parse(|raw| raw.hashtags = &given).unwrap().hashtags, ["lots", "手数"]);
        for (hashtag, says) in [
            ("", "a hashtag is required"),
            ("#", "a hashtag is required"),
            ("two words", "a hashtag has a space: write one word"),
            ("a\u{202e}b", "a hashtag has the invisible character U+202E, which could disguise it"),
        ] {
            let given = texts(&[hashtag]);
            assert_eq!(parse(|raw| raw.hashtags = &given).unwrap_err(), says, "{hashtag:?}");
        }
        let six = texts(&["a", "b", "c", "d", "e", "f"]);
        assert_eq!(parse(|raw| raw.hashtags = &six).unwrap_err(), "there are more than 5 hashtags");
    }

    #[test]
    fn symbols_are_found_within_a_sentence() {
        for (text, expected) in [
            ("700.HK", "700.HK"),
            ("Buy 00700.HK, sell AAPL.US.", "700.HK AAPL.US"),
            ("看好700.HK和600519.SH！", "700.HK 600519.SH"),
            ("(BRK.B.US) -- .SPX.US - 5.HK-", "BRK.B.US .SPX.US 5.HK"),
            ("[700.HK](https://example.com/700.HK)", "700.HK 700.HK"),
            ("see.US the.HK 700.hk 700.XX 700 .HK 1234567.HK", ""),
            ("1.SH 700.HK5 A700.HKD", ""),
            ("", ""),
        ] {
            let found: Vec<String> = mentions(text).map(|symbol| symbol.to_string()).collect();
            assert_eq!(found.join(" "), expected, "{text:?}");
        }
    }
}
