//! Line charts as inline SVG. The colours are classes of the page's style sheet.

use std::fmt::Write;

/// Widths of the two forms of a chart. The style sheet shows one of them.
const WIDE: f64 = 960.0;
const NARROW: f64 = 360.0;
/// Margins around the lines, for the labels on the right and at the bottom.
const LEFT: f64 = 2.0;
const RIGHT: f64 = 56.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 30.0;
/// Desired number of intervals between horizontal lines.
const STEPS: f64 = 4.0;

/// A line through one value for each label.
pub(super) struct Line<'a> {
    pub(super) class: &'static str,
    /// Class of the area between the line and the base, or an empty string for none.
    pub(super) area: &'static str,
    pub(super) values: &'a [f64],
}

pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) height: f64,
    /// Value at which areas end, which is always visible.
    pub(super) base: f64,
    /// Labels of the values. The first, the middle and the last one are shown.
    pub(super) labels: &'a [String],
    pub(super) lines: &'a [Line<'a>],
    /// Formats a value of the vertical axis.
    pub(super) axis: fn(f64) -> String,
}

impl Chart<'_> {
    /// Returns the chart as two `svg` elements, for wide and for narrow screens.
    pub(super) fn svg(&self) -> String {
        let (wide, narrow) = (self.of_width("wide", WIDE, 1.0), self.of_width("narrow", NARROW, 0.7));
        wide + &narrow
    }

    fn of_width(&self, class: &str, width: f64, height: f64) -> String {
        let scale = self.scale(width, (self.height * height).round());
        let mut out = format!(
            "<svg class=\"{class}\" viewBox=\"0 0 {width} {}\" role=\"img\" aria-label=\"{}\">",
            scale.height, self.title
        );
        let right = width - RIGHT;
        for value in scale.lines() {
            let (y, label) = (scale.y(value), (self.axis)(value));
            push(&mut out, format_args!("<path class=\"grid\" d=\"M{LEFT} {y:.1}H{right}\"/>"));
            push(&mut out, format_args!("<text x=\"{}\" y=\"{:.1}\">{label}</text>", right + 6.0, y + 4.0));
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
            let (x, y) = (scale.x(at), scale.height - 8.0);
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

    fn scale(&self, width: f64, height: f64) -> Scale {
        let (mut low, mut high) = (self.base, self.base);
        for value in self.lines.iter().flat_map(|line| line.values) {
            low = low.min(*value);
            high = high.max(*value);
        }
        if high - low < 1e-6 {
            high = low + 0.01;
        }
        let step = round_step((high - low) / STEPS);
        let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
        let count = self.labels.len().saturating_sub(1).max(1);
        Scale { low, high, step, count, is_single: self.labels.len() == 1, width, height }
    }
}

/// Returns the smallest number that is at least `least` and is 1, 2, 2.5 or 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 2.5, 5.0].into_iter().map(|factor| factor * power);
    // The tolerance is for values such as 0.1, which are not exact in binary.
    factors.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

struct Scale {
    low: f64,
    high: f64,
    step: f64,
    count: usize,
    is_single: bool,
    width: f64,
    height: f64,
}

impl Scale {
    /// Returns the values of the horizontal lines.
    fn lines(&self) -> impl Iterator<Item = f64> {
        let (low, step) = (self.low, self.step);
        let count = ((self.high - self.low) / self.step).round() as u32;
        // Avoids -0.
        (0..=count)
            .map(move |number| low + step * f64::from(number))
            .map(move |value| if value.abs() < step / 1e3 { 0.0 } else { value })
    }

    fn x(&self, at: usize) -> f64 {
        let width = self.width - LEFT - RIGHT;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn horizontal_lines_are_at_round_values_and_at_the_base() {
        let values = [-0.106, 0.027];
        let lines = [Line { class: "own", area: "", values: &values }];
        let labels = ["a".to_owned(), "b".to_owned()];
        let axis = |value| format!("{value}");
        let chart = Chart { title: "", height: 100.0, base: 0.0, labels: &labels, lines: &lines, axis };
        let scale = chart.scale(960.0, 100.0);
        let shown: Vec<String> = scale.lines().map(|value| format!("{value:.2}")).collect();
        assert_eq!(shown, ["-0.15", "-0.10", "-0.05", "0.00", "0.05"]);
        for (least, step) in [(0.1, 0.1), (0.11, 0.2), (0.3, 0.5), (0.7, 1.0), (0.0021, 0.0025)] {
            assert!((round_step(least) - step).abs() < 1e-9, "{least}");
        }
    }
}
