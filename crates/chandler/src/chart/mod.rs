//! Renders candlestick charts as terminal text. This module builds strings and does no output.
//!
//! Each candle is one column, with the newest candle at the right. A character cell is split into
//! two halves, which doubles the vertical resolution. Start with [`draw`]. `scale.rs` maps prices
//! to rows, `axis.rs` draws the time axis, and `text.rs` measures character widths.

mod axis;
mod scale;
#[cfg(test)]
mod tests;
mod text;

use std::fmt::Write;

use market::{Candle, Candles, Period, Price, Zone};

use scale::Scale;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChartOptions {
    /// Size of the whole chart, in columns and lines.
    pub(crate) width: u16,
    pub(crate) height: u16,
    pub(crate) colour: bool,
    pub(crate) glyphs: Glyphs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glyphs {
    Unicode,
    Ascii,
}

pub(crate) const WIDTH_MIN: u16 = 20;
pub(crate) const HEIGHT_MIN: u16 = 8;
/// Minimum width, in columns, at which the heading shows more than the title.
const FACTS_WIDTH: usize = 40;
/// Maximum width and height of a chart, in columns and lines. Bounds the memory that a mistyped
/// size allocates.
const SIDE_MAX: u16 = 1000;

/// Draws the chart as newline-terminated lines. If not all candles fit, only the newest candles are
/// drawn and the heading shows how many candles were omitted.
pub(crate) fn draw(
    title: &str,
    candles: &Candles,
    zone: &Zone,
    period: Period,
    decimals: u32,
    options: ChartOptions,
) -> String {
    let ChartOptions { width, height, .. } = options;
    if width < WIDTH_MIN || height < HEIGHT_MIN {
        return format!(
            "a chart needs {WIDTH_MIN} columns and {HEIGHT_MIN} lines; here are {width} and {height}\n"
        );
    }
    let (width, height) = (usize::from(width.min(SIDE_MAX)), usize::from(height.min(SIDE_MAX)));
    let Some(last) = candles.last() else {
        return format!("{}: no candles\n", text::fit(title, width, options.glyphs));
    };

    let gutter = gutter_width(candles, width, decimals);
    let pen = Pen { options, decimals, labels: gutter > 1 };
    let plot = width - gutter;
    let shown: Vec<Candle> = candles.iter().rev().take(plot).collect::<Vec<_>>().into_iter().rev().collect();
    let left_out = candles.len() - shown.len();
    let before = left_out.checked_sub(1).and_then(|row| candles.get(row));

    let footer = footer(&last, shown.iter().rev().nth(1).or(before.as_ref()), &shown, zone, period, decimals);
    let mut footer = text::wrap(&footer, width, options.glyphs);
    // On a narrow screen the footer wraps into many lines. It is truncated so that the candles get
    // at least four rows and half of the screen.
    footer.truncate(height.saturating_sub(7).min(height / 3));
    let has_volume = shown.iter().any(|candle| candle.volume > 0);
    // The heading takes one line and the time axis two.
    let free = height.saturating_sub(3 + footer.len());
    let volume_rows = if has_volume { (free / 6).clamp(1, 6) } else { 0 };
    let price_rows = free.saturating_sub(volume_rows).max(1);

    let scale = Scale::new(&shown, price_rows, decimals);
    let columns = Columns::new(&shown, &scale, plot, volume_rows);
    let mut chart = heading(title, period, shown.len(), left_out, width, options.glyphs);
    pen.prices(&mut chart, &columns, &scale, &last, price_rows);
    pen.volumes(&mut chart, &columns, &shown, volume_rows);
    axis::draw(&mut chart, &shown, zone, period, &columns, width, options.glyphs);
    footer.iter().for_each(|line| chart.extend([line, "\n"]));
    chart
}

/// Minimum width of the price column in characters: room for the axis and an abbreviated volume.
const GUTTER_MIN: usize = 8;
// The candles get more than half of the width even in the narrowest chart.
const _: () = assert!(GUTTER_MIN * 2 < WIDTH_MIN as usize);

/// Returns the width of the price column: the axis, a blank or a pointer, and the widest price.
/// Returns 1, for an axis without labels, if the candles would otherwise get less than a third of
/// the width.
fn gutter_width(candles: &Candles, width: usize, decimals: u32) -> usize {
    let visible = candles.len().saturating_sub(width);
    let highest = candles.high.iter().skip(visible).max().copied().unwrap_or(0);
    // A round label may be slightly above the highest price, but it has no more digits than twice
    // that price.
    let widest = Price(highest.saturating_mul(2)).text(decimals).to_string().len();
    let gutter = (widest + 2).max(GUTTER_MIN);
    if gutter * 3 > width * 2 { 1 } else { gutter }
}

fn heading(
    title: &str,
    period: Period,
    shown: usize,
    left_out: usize,
    width: usize,
    glyphs: Glyphs,
) -> String {
    if width < FACTS_WIDTH {
        return format!("{}\n", text::fit(title, width, glyphs));
    }
    let count = if shown == 1 { "1 candle".to_owned() } else { format!("{shown} candles") };
    let mut facts = format!("{period}, {count}");
    // On a narrow screen the name is more important than the number of omitted candles.
    let wide = width > FACTS_WIDTH + text::width(title).min(FACTS_WIDTH / 2);
    if left_out > 0 && wide {
        let _ = write!(facts, ", {left_out} earlier left out");
    }
    let title = text::fit(title, width.saturating_sub(facts.len() + 2), glyphs);
    let gap = width.saturating_sub(text::width(&title) + facts.len());
    format!("{title}{:gap$}{}\n", "", text::fit(&facts, width, glyphs))
}

/// Returns the text below the chart as pieces that must not be split across lines.
fn footer(
    last: &Candle,
    before: Option<&Candle>,
    shown: &[Candle],
    zone: &Zone,
    period: Period,
    decimals: u32,
) -> Vec<String> {
    let price = |price: Price| price.text(decimals).to_string();
    let (date, seconds) = zone.local(last.time);
    let mut pieces = vec![match period {
        Period::Clock(_) => format!("{date} {:02}:{:02}", seconds / 3600, seconds / 60 % 60),
        Period::Calendar(_) => date.to_string(),
    }];
    let prices = [("O", last.open), ("H", last.high), ("L", last.low), ("C", last.close)];
    pieces.extend(prices.map(|(name, value)| format!("{name} {}", price(value))));
    pieces.push(format!("V {}", last.volume));
    // The first candle in a history has no previous close, so the change is measured from its open.
    let from = before.map_or(last.open, |before| before.close);
    pieces.push(scale::percent(from, last.close));
    let low = shown.iter().map(|c| c.low).min().unwrap_or(last.low);
    let high = shown.iter().map(|c| c.high).max().unwrap_or(last.high);
    pieces.push(format!("range {} to {}", price(low), price(high)));
    pieces.push(zone.name().to_owned());
    pieces
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
    Unchanged,
}

/// Drawn candle. Positions are in half rows, counted from the top.
#[derive(Clone, Copy, Debug)]
struct Column {
    high: usize,
    top: usize,
    bottom: usize,
    low: usize,
    direction: Direction,
    /// Height of the volume bar, in eighths of a row.
    volume: usize,
}

/// Layout of the candles: `margin` empty columns, then each candle followed by `step - 1` empty
/// columns.
#[derive(Debug)]
struct Columns {
    margin: usize,
    step: usize,
    each: Vec<Column>,
}

impl Columns {
    fn new(shown: &[Candle], scale: &Scale, plot: usize, volume_rows: usize) -> Columns {
        let most = shown.iter().map(|candle| candle.volume).max().unwrap_or(0).max(1);
        let eighths = |volume: i64| {
            let height = i128::from(volume) * (volume_rows as i128 * 8) / i128::from(most);
            // Any non-zero volume is drawn as at least one eighth.
            usize::try_from(height).unwrap_or(0).max(usize::from(volume > 0))
        };
        let each = shown.iter().map(|candle| Column {
            high: scale.half(candle.high),
            top: scale.half(candle.open.max(candle.close)),
            bottom: scale.half(candle.open.min(candle.close)),
            low: scale.half(candle.low),
            direction: match candle.close.cmp(&candle.open) {
                std::cmp::Ordering::Greater => Direction::Up,
                std::cmp::Ordering::Less => Direction::Down,
                std::cmp::Ordering::Equal => Direction::Unchanged,
            },
            volume: eighths(candle.volume),
        });
        // If there is room, candles are separated by an empty column.
        let step = if shown.len() * 2 <= plot { 2 } else { 1 };
        Columns { margin: plot - shown.len() * step, step, each: each.collect() }
    }

    /// Returns the text column of the candle at `index`.
    fn place(&self, index: usize) -> usize {
        self.margin + index * self.step
    }
}

/// Content of the upper or lower half of a character cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Empty,
    Wick,
    Body,
}

impl Column {
    fn half(&self, at: usize) -> Half {
        if (self.top..=self.bottom).contains(&at) {
            Half::Body
        } else if (self.high..=self.low).contains(&at) {
            Half::Wick
        } else {
            Half::Empty
        }
    }

    /// Returns the character for one cell. Without colour, rising bodies are thin and falling
    /// bodies are solid.
    fn glyph(&self, row: usize, options: ChartOptions) -> char {
        use Half::{Body, Empty, Wick};
        let halves = (self.half(row * 2), self.half(row * 2 + 1));
        let solid = self.direction == Direction::Down && !options.colour;
        match (options.glyphs, halves) {
            (_, (Empty, Empty)) => ' ',
            (Glyphs::Ascii, (Body, _) | (_, Body)) => match self.direction {
                Direction::Up => 'O',
                Direction::Down => '#',
                Direction::Unchanged => '-',
            },
            (Glyphs::Ascii, _) => '|',
            (_, (Wick, Wick)) => '│',
            (_, (Empty, Wick)) => '╷',
            (_, (Wick, Empty)) => '╵',
            (_, _) if self.direction == Direction::Unchanged => self.cross(row),
            (_, (Body, Body)) => {
                if solid {
                    '█'
                } else {
                    '┃'
                }
            }
            (_, (Empty, Body)) => {
                if solid {
                    '▄'
                } else {
                    '╻'
                }
            }
            (_, (Body, Empty)) => {
                if solid {
                    '▀'
                } else {
                    '╹'
                }
            }
            (_, (Wick, Body)) => {
                if solid {
                    '▄'
                } else {
                    '╽'
                }
            }
            (_, (Body, Wick)) => {
                if solid {
                    '▀'
                } else {
                    '╿'
                }
            }
        }
    }

    /// Returns the character for a candle whose close equals its open: a dash, crossed by its
    /// wicks.
    fn cross(&self, row: usize) -> char {
        match (self.high / 2 < row || self.high < self.top, self.low / 2 > row || self.low > self.bottom) {
            (true, true) => '┼',
            (true, false) => '┴',
            (false, true) => '┬',
            (false, false) => '─',
        }
    }

    fn volume_glyph(&self, rows_below: usize, options: ChartOptions) -> char {
        let eighths = self.volume.saturating_sub(rows_below * 8).min(8);
        let glyphs = match options.glyphs {
            Glyphs::Unicode => " ▁▂▃▄▅▆▇█",
            Glyphs::Ascii => " ...:::##",
        };
        glyphs.chars().nth(eighths).unwrap_or(' ')
    }
}

/// Writes chart rows. Emits a colour code only where the colour changes.
#[derive(Clone, Copy, Debug)]
struct Pen {
    options: ChartOptions,
    decimals: u32,
    /// Whether there is room for price labels next to the axis.
    labels: bool,
}

impl Pen {
    fn prices(&self, chart: &mut String, columns: &Columns, scale: &Scale, last: &Candle, rows: usize) {
        let last_row = scale.half(last.close) / 2;
        let labels = scale.labels(rows);
        for row in 0..rows {
            self.row(chart, columns, |column| column.glyph(row, self.options));
            if !self.labels {
                chart.push_str(if self.options.glyphs == Glyphs::Unicode { "│\n" } else { "|\n" });
                continue;
            }
            let label = labels.iter().find(|(at, _)| *at == row);
            let price = |price: Price| price.text(self.decimals);
            let _ = match (self.options.glyphs, label) {
                (Glyphs::Unicode, _) if row == last_row => writeln!(chart, "│◂{}", price(last.close)),
                (Glyphs::Ascii, _) if row == last_row => writeln!(chart, "|<{}", price(last.close)),
                (Glyphs::Unicode, Some((_, value))) => writeln!(chart, "├ {}", price(*value)),
                (Glyphs::Ascii, Some((_, value))) => writeln!(chart, "+ {}", price(*value)),
                (Glyphs::Unicode, None) => writeln!(chart, "│"),
                (Glyphs::Ascii, None) => writeln!(chart, "|"),
            };
        }
    }

    fn volumes(&self, chart: &mut String, columns: &Columns, shown: &[Candle], rows: usize) {
        let most = shown.iter().map(|candle| candle.volume).max().unwrap_or(0);
        for row in 0..rows {
            self.row(chart, columns, |column| column.volume_glyph(rows - 1 - row, self.options));
            let (plain, mark) =
                if self.options.glyphs == Glyphs::Unicode { ("│", "├") } else { ("|", "+") };
            let _ = if row == 0 && self.labels {
                writeln!(chart, "{mark} {}", scale::short(most))
            } else {
                writeln!(chart, "{plain}")
            };
        }
    }

    fn row(&self, chart: &mut String, columns: &Columns, glyph: impl Fn(&Column) -> char) {
        let blanks = |chart: &mut String, count: usize| chart.extend(std::iter::repeat_n(' ', count));
        let mut current = None;
        blanks(chart, columns.margin);
        for column in &columns.each {
            let glyph = glyph(column);
            let wanted = match column.direction {
                _ if !self.options.colour || glyph == ' ' => current,
                Direction::Up => Some("\x1b[32m"),
                Direction::Down => Some("\x1b[31m"),
                Direction::Unchanged => Some("\x1b[39m"),
            };
            if wanted != current {
                chart.push_str(wanted.unwrap_or_default());
                current = wanted;
            }
            chart.push(glyph);
            blanks(chart, columns.step - 1);
        }
        if current.is_some() {
            chart.push_str("\x1b[0m");
        }
    }
}
