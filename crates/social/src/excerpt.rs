//! Excerpts of topics for lists: the beginning of the body on one line, without Markdown markup.

use crate::draft::Kind;

const CHARS_MAX: usize = 140;
/// Number of bytes after which no more text is collected. An excerpt is shorter, but collapsing
/// whitespace may discard much of the collected text. The limit is needed because searching for
/// links is quadratic in the number of brackets.
const READ_BYTES_MAX: usize = CHARS_MAX * 8;

pub(crate) fn of(kind: Kind, body: &str) -> String {
    let mut words = String::new();
    for line in body.lines() {
        match kind {
            Kind::Post => words.push_str(line),
            Kind::Article => plain(line, &mut words),
        }
        words.push(' ');
        if words.len() > READ_BYTES_MAX {
            break;
        }
    }
    cut(&words)
}

/// Collapses whitespace and truncates the text to `CHARS_MAX` characters. A truncated text ends
/// with an ellipsis.
fn cut(text: &str) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match folded.char_indices().nth(CHARS_MAX) {
        None => folded,
        Some((end, _)) => {
            let stored = folded.get(..end).unwrap_or_default();
            format!("{}…", stored.trim_end())
        }
    }
}

/// Appends the text of a Markdown line to `words`, without block markers, asterisks and backticks.
/// Links and images are replaced by their labels, and code fences are skipped.
fn plain(line: &str, words: &mut String) {
    let line = line.trim_start();
    if line.starts_with("```") || line.starts_with("~~~") {
        return;
    }
    let line = line.trim_start_matches('#').trim_start_matches('>').trim_start();
    let line = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
    let mut rest = line;
    while let Some(letter) = rest.chars().next().filter(|_| words.len() <= READ_BYTES_MAX) {
        if let Some((name, after)) = link(rest) {
            words.push_str(name);
            rest = after;
            continue;
        }
        if !matches!(letter, '*' | '`') {
            words.push(letter);
        }
        rest = rest.get(letter.len_utf8()..).unwrap_or_default();
    }
}

/// Parses a Markdown link or image at the start of `text`. Returns its label and the remaining
/// text, or `None` if `text` does not start with a link or image.
fn link(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix("![").or_else(|| text.strip_prefix('['))?;
    let (name, rest) = inner.split_once("](")?;
    let (address, after) = rest.split_once(')')?;
    let is_one = !name.contains(['[', ']']) && !address.contains('(');
    is_one.then_some((name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_line_without_markup() {
        for (kind, body, expected) in [
            (Kind::Post, "hello", "hello"),
            (Kind::Post, " a\n\n b\tc ", "a b c"),
            (Kind::Post, "# not *Markdown*", "# not *Markdown*"),
            (Kind::Article, "# Lot sizes\n\nOf **700.HK** and `5.HK`.", "Lot sizes Of 700.HK and 5.HK."),
            (Kind::Article, "> quoted\n- one\n* two", "quoted one two"),
            (
                Kind::Article,
                "See [the rules](https://example.com/a) and ![a chart](x.png)!",
                "See the rules and a chart!",
            ),
            (Kind::Article, "[not](a link", "[not](a link"),
            (Kind::Article, "```\nx = 1\n```", "x = 1"),
            (Kind::Article, "<script>alert(1)</script>", "<script>alert(1)</script>"),
            (Kind::Article, "###", ""),
        ] {
            assert_eq!(of(kind, body), expected, "{body:?}");
        }
    }

    #[test]
    fn an_excerpt_is_truncated_at_a_character_boundary() {
        assert_eq!(of(Kind::Post, &"🙂".repeat(140)), "🙂".repeat(140));
        assert_eq!(of(Kind::Post, &"🙂".repeat(141)), format!("{}…", "🙂".repeat(140)));
        assert_eq!(of(Kind::Post, &"word ".repeat(5_000)).chars().count(), 140);
    }
}
