//! What kind of screen, if any, is looking at stdout.

use std::io::IsTerminal;

use terminal_size::{Height, Width};

use crate::chart::{ChartOptions, Glyphs};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    width: u16,
    height: u16,
    colour: bool,
    glyphs: Glyphs,
}

/// A chart in a pipe or a file has nobody's window to fit; this is a comfortable page.
const PAGE: (u16, u16) = (100, 30);

impl Terminal {
    pub(crate) fn of_stdout() -> Terminal {
        let out = std::io::stdout();
        let is_terminal = out.is_terminal();
        let env = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let number = |name: &str| env(name).and_then(|value| value.parse::<u16>().ok()).filter(|n| *n > 0);
        let size = if is_terminal { terminal_size::terminal_size_of(&out) } else { None };
        let (width, height) = match size {
            Some((Width(width), Height(height))) if width > 0 && height > 0 => (width, height),
            _ => (number("COLUMNS").unwrap_or(PAGE.0), number("LINES").unwrap_or(PAGE.1)),
        };
        let dumb = env("TERM").is_none_or(|term| term == "dumb");
        let colour = is_terminal && env("NO_COLOR").is_none() && !dumb;
        // The locale says whether the screen can draw box characters; a pipe is taken to be modern.
        let locale = env("LC_ALL").or_else(|| env("LC_CTYPE")).or_else(|| env("LANG"));
        let ascii = locale.is_some_and(|locale| locale == "C" || locale == "POSIX") && is_terminal;
        let glyphs = if ascii { Glyphs::Ascii } else { Glyphs::Unicode };
        // The prompt wants a line below the chart.
        Terminal { width, height: height.saturating_sub(1).max(1), colour, glyphs }
    }

    /// How many candles a chart of this width could hold, one column each.
    pub(crate) fn candles_that_fit(&self) -> u16 {
        self.width
    }

    pub(crate) fn chart(&self) -> ChartOptions {
        ChartOptions { width: self.width, height: self.height, colour: self.colour, glyphs: self.glyphs }
    }

    /// For a file: no colours, the same size.
    pub(crate) fn chart_without_colour(&self) -> ChartOptions {
        ChartOptions { colour: false, ..self.chart() }
    }
}
