//! Determines the size of the terminal on stdout, and which colours and characters it supports.

use std::io::IsTerminal;

use terminal_size::{Height, Width};

use crate::chart::{ChartOptions, Glyphs};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terminal {
    width: u16,
    height: u16,
    colour: bool,
    glyphs: Glyphs,
    is_dumb: bool,
}

/// Default size of a chart, in columns and lines, if stdout is a pipe or a file.
const PAGE: (u16, u16) = (100, 30);

impl Terminal {
    pub(crate) fn of_stdout() -> Terminal {
        let out = std::io::stdout();
        let is_terminal = out.is_terminal();
        let size = if is_terminal { terminal_size::terminal_size_of(&out) } else { None };
        let size = size.map(|(Width(width), Height(height))| (width, height));
        Terminal::of(is_terminal, size, |name| std::env::var(name).ok())
    }

    fn of(is_terminal: bool, size: Option<(u16, u16)>, env: impl Fn(&str) -> Option<String>) -> Terminal {
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        let number = |name: &str| env(name).and_then(|value| value.parse::<u16>().ok()).filter(|n| *n > 0);
        let (width, height) = match size {
            Some((width, height)) if width > 0 && height > 0 => (width, height),
            _ => (number("COLUMNS").unwrap_or(PAGE.0), number("LINES").unwrap_or(PAGE.1)),
        };
        let colour = colours(is_terminal, env);
        // Windows does not set `TERM`, and its terminals support all control sequences used here.
        let is_dumb = env("TERM").map_or(cfg!(unix), |term| term == "dumb");
        let glyphs = glyphs(is_terminal, env);
        // One line is reserved for the prompt below the chart.
        Terminal { width, height: height.saturating_sub(1).max(1), colour, glyphs, is_dumb }
    }

    /// Returns whether the terminal cannot move the cursor and only supports output line by line.
    pub(crate) fn is_dumb(&self) -> bool {
        self.is_dumb
    }

    /// Returns the maximum number of candles in a chart of this width, one per column.
    pub(crate) fn candles_that_fit(&self) -> u16 {
        self.width
    }

    pub(crate) fn chart(&self) -> ChartOptions {
        ChartOptions { width: self.width, height: self.height, colour: self.colour, glyphs: self.glyphs }
    }

    /// Returns chart options for output to a file: the same size, without colours.
    pub(crate) fn chart_without_colour(&self) -> ChartOptions {
        ChartOptions { colour: false, ..self.chart() }
    }
}

/// Returns the width of the terminal on stdout in columns, or `None` if stdout is not a terminal or
/// its width is unknown.
pub(crate) fn width_of_stdout() -> Option<usize> {
    let out = std::io::stdout();
    let size = if out.is_terminal() { terminal_size::terminal_size_of(&out) } else { None };
    size.map(|(Width(width), _)| usize::from(width)).filter(|width| *width > 0)
}

/// Returns whether to use colours. `NO_COLOR` takes precedence over `CLICOLOR_FORCE`.
pub(crate) fn colours(is_terminal: bool, env: impl Fn(&str) -> Option<String>) -> bool {
    let env = |name: &str| env(name).filter(|value| !value.is_empty());
    let dumb = env("TERM").is_none_or(|term| term == "dumb");
    let forced = env("CLICOLOR_FORCE").is_some_and(|value| value != "0");
    env("NO_COLOR").is_none() && (forced || is_terminal && !dumb)
}

/// Determines from the locale whether box-drawing characters are supported. They are also used if
/// stdout is not a terminal or no locale is set.
pub(crate) fn glyphs(is_terminal: bool, env: impl Fn(&str) -> Option<String>) -> Glyphs {
    let env = |name: &str| env(name).filter(|value| !value.is_empty());
    let locale = env("LC_ALL").or_else(|| env("LC_CTYPE")).or_else(|| env("LANG"));
    let modern = locale.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    if modern || !is_terminal { Glyphs::Unicode } else { Glyphs::Ascii }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(is_terminal: bool, variables: &[(&str, &str)]) -> Terminal {
        let find = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        Terminal::of(is_terminal, Some((90, 20)).filter(|_| is_terminal), |name| {
            find(name).map(str::to_owned)
        })
    }

    #[test]
    fn a_chart_leaves_a_line_for_the_prompt() {
        assert_eq!((with(true, &[]).width, with(true, &[]).height), (90, 19));
        let page = with(false, &[("COLUMNS", "70"), ("LINES", "0")]);
        assert_eq!((page.width, page.height), (70, 29));
    }

    #[test]
    fn colours_need_a_terminal_or_an_explicit_variable() {
        let xterm = ("TERM", "xterm-256color");
        assert!(with(true, &[xterm]).colour);
        assert!(!with(false, &[xterm]).colour);
        assert!(!with(true, &[xterm, ("NO_COLOR", "1")]).colour);
        assert!(!with(true, &[("TERM", "dumb")]).colour);
        assert!(with(false, &[("CLICOLOR_FORCE", "1")]).colour);
        assert!(!with(false, &[("CLICOLOR_FORCE", "0")]).colour);
        assert!(!with(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).colour);
    }

    #[test]
    fn a_terminal_is_dumb_if_term_is_dumb_or_unset() {
        assert_eq!(
            ["dumb", "", "xterm"].map(|term| with(true, &[("TERM", term)]).is_dumb),
            [true, true, false]
        );
    }

    #[test]
    fn box_characters_require_a_utf8_locale() {
        let glyphs = |locale| with(true, &[("LANG", locale)]).glyphs;
        assert_eq!(["en_GB.UTF-8", "C.utf8", ""].map(glyphs), [Glyphs::Unicode; 3]);
        assert_eq!(["C", "POSIX", "de_DE.ISO-8859-1"].map(glyphs), [Glyphs::Ascii; 3]);
        assert_eq!(with(false, &[("LC_ALL", "C")]).glyphs, Glyphs::Unicode, "a pipe is modern");
        assert_eq!(with(true, &[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]).glyphs, Glyphs::Ascii);
    }
}
