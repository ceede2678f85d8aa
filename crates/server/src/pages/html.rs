//! HTML builder with escaping. All pages are written through this builder, so nothing is output
//! unescaped.

/// An HTML fragment.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Adds trusted markup.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Adds untrusted text, between tags or in a quoted attribute.
    pub(super) fn text(&mut self, words: &str) -> &mut Html {
        for letter in words.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // Replaces bidi control characters, with which a name could reorder the surrounding
                // sentence.
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => self.0.push('\u{fffd}'),
                letter => self.0.push(letter),
            }
        }
        self
    }

    /// Adds a sentence, with untrusted text in place of `{}`.
    pub(super) fn filled(&mut self, sentence: &str, words: &str) -> &mut Html {
        self.text(&sentence.replacen("{}", words, 1))
    }

    /// Adds a paragraph.
    pub(super) fn p(&mut self, words: &str) -> &mut Html {
        self.raw("<p>").text(words).raw("</p>")
    }

    /// Adds a link.
    pub(super) fn a(&mut self, address: &str, words: &str) -> &mut Html {
        self.raw("<a href=\"").text(address).raw("\">").text(words).raw("</a>")
    }

    /// Adds a hidden field.
    pub(super) fn hidden(&mut self, name: &'static str, value: &str) -> &mut Html {
        self.raw("<input type=\"hidden\" name=\"").raw(name).raw("\" value=\"").text(value).raw("\">")
    }

    pub(super) fn append(&mut self, other: &Html) -> &mut Html {
        self.0.push_str(&other.0);
        self
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Html) -> &mut Html) -> String {
        let mut html = Html::default();
        write(&mut html);
        html.into_string()
    }

    #[test]
    fn text_is_escaped_everywhere() {
        let hostile = "<img src=x onerror=\"alert('1')\">&amp;";
        let safe = "&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;amp;";
        assert_eq!(written(|html| html.text(hostile)), safe);
        assert_eq!(written(|html| html.p(hostile)), format!("<p>{safe}</p>"));
        let hidden = written(|html| html.hidden("next", hostile));
        assert_eq!(hidden, format!("<input type=\"hidden\" name=\"next\" value=\"{safe}\">"));
        assert_eq!(written(|html| html.filled("Not {}?", "<b>")), "Not &lt;b&gt;?");
        assert_eq!(
            written(|html| html.filled("{} {}", "a{}")),
            "a{} {}",
            "what is filled in is not filled again"
        );
    }

    #[test]
    fn bidi_controls_are_replaced() {
        assert_eq!(written(|html| html.text("a\u{202e}b\u{2066}c愛")), "a\u{fffd}b\u{fffd}c愛");
    }
}
