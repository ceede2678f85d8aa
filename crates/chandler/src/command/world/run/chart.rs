//! Line charts as inline SVG. The colours are classes of the page's style sheet.

use std::fmt::Write;

const WIDTH: f64 = 960.0;
/// Space for the labels on the left and below.
const LEFT: f64 = 12.0;
const RIGHT: f64 = 84.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;
/// Number of steps between horizontal lines.
const STEPS: u32 = 4;

/// A line through one value for each label.
pub(super) struct Line<'a> {
    pub(super) class: &'static str,
    /// Class of the area between the line and the base. Empty for none.
    pub(super) area: &'static str,
    pub(super) values: &'a [f64],
}

pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) height: f64,
    /// Value at which areas end, which is always visible.
    pub(super) base: f64,
    /// Labels of the values, of which the first, the middle and the last are shown.
    pub(super) labels: &'a [String],
    pub(super) lines: &'a [Line<'a>],
    /// Formats a value of the vertical axis.
    pub(super) axis: fn(f64) -> String,
}

impl Chart<'_> {
    /// Returns the chart as an `svg` element.
    pub(super) fn svg(&self) -> String {
        let scale = self.scale();
        let mut out = format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">",
            self.height, self.title
        );
        for step in 0..=STEPS {
            let value = scale.low + (scale.high - scale.low) * f64::from(step) / f64::from(STEPS);
            let (y, right) = (scale.y(value), WIDTH - RIGHT);
            let label = (self.axis)(value);
            push(&mut out, format_args!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>"));
            push(&mut out, format_args!("<text x=\"{}\" y=\"{:.1}\">{label}</text>", right + 8.0, y + 4.0));
        }
        for line in self.lines {
            self.draw(&mut out, &scale, line);
        }
        let last = self.labels.len().saturating_sub(1);
        let mut shown = vec![0, last / 2, last];
        shown.dedup();
        for at in shown {
            let Some(label) = self.labels.get(at) else { continue };
            let anchor = match at {
                0 if last > 0 => "start",
                at if at == last && last > 0 => "end",
                _ => "middle",
            };
            let (x, y) = (scale.x(at), self.height - 8.0);
            push(
                &mut out,
                format_args!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{label}</text>"),
            );
        }
        out.push_str("</svg>");
        out
    }

    fn draw(&self, out: &mut String, scale: &Scale, line: &Line<'_>) {
        let mut path = String::new();
        for (at, value) in line.values.iter().enumerate() {
            let command = if at == 0 { 'M' } else { 'L' };
            push(&mut path, format_args!("{command}{:.1} {:.1}", scale.x(at), scale.y(*value)));
        }
        let Some(last) = line.values.len().checked_sub(1) else { return };
        if !line.area.is_empty() {
            let (base, end, begin) = (scale.y(self.base), scale.x(last), scale.x(0));
            push(
                out,
                format_args!("<path class=\"{}\" d=\"{path}L{end:.1} {base:.1}H{begin:.1}Z\"/>", line.area),
            );
        }
        push(out, format_args!("<path class=\"{}\" d=\"{path}\"/>", line.class));
    }

    fn scale(&self) -> Scale {
        let (mut low, mut high) = (self.base, self.base);
        for value in self.lines.iter().flat_map(|line| line.values) {
            low = low.min(*value);
            high = high.max(*value);
        }
        if high - low < 1e-6 {
            high = low + 0.01;
        }
        let count = self.labels.len().saturating_sub(1).max(1);
        Scale { low, high, count, is_single: self.labels.len() == 1, height: self.height }
    }
}

struct Scale {
    low: f64,
    high: f64,
    count: usize,
    is_single: bool,
    height: f64,
}

impl Scale {
    fn x(&self, at: usize) -> f64 {
        let width = WIDTH - LEFT - RIGHT;
        if self.is_single { LEFT + width / 2.0 } else { LEFT + width * at as f64 / self.count as f64 }
    }

    fn y(&self, value: f64) -> f64 {
        let height = self.height - TOP - BOTTOM;
        TOP + height * (self.high - value) / (self.high - self.low)
    }
}

/// Appends formatted text. Writing to a string never fails.
pub(super) fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).ok();
}
