//! Prometheus text format: a help line and a type line for each family, followed by its samples.

use std::fmt::{Display, Write};

use super::{BOUNDS_NS, Histogram};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// Label names and values. The values are constants that need no escaping.
pub(crate) type Labels<'a> = [(&'a str, &'a str)];

#[derive(Debug, Default)]
pub(crate) struct Text {
    text: String,
    name: &'static str,
}

impl Text {
    pub(crate) fn finish(self) -> String {
        self.text
    }

    /// Starts a family, to which the following samples belong.
    pub(crate) fn family(&mut self, kind: Kind, name: &'static str, help: &str) -> &mut Text {
        self.name = name;
        let kind = kind.as_str();
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
        self
    }

    pub(crate) fn sample(&mut self, labels: &Labels<'_>, value: impl Display) -> &mut Text {
        self.write("", labels, &value);
        self
    }

    /// Writes a family with one sample, or without a sample if the value is unknown.
    pub(crate) fn one(&mut self, kind: Kind, name: &'static str, help: &str, value: Option<impl Display>) {
        self.family(kind, name, help);
        if let Some(value) = value {
            self.sample(&[], value);
        }
    }

    pub(crate) fn histogram(&mut self, labels: &Labels<'_>, histogram: &Histogram) {
        let (counts, sum) = histogram.read();
        let mut so_far = 0_u64;
        for (bound, count) in BOUNDS_NS.iter().map(Some).chain([None]).zip(counts) {
            so_far = so_far.saturating_add(count);
            let bound = bound.map_or_else(|| "+Inf".to_owned(), |bound| seconds(*bound));
            let mut labels = labels.to_vec();
            labels.push(("le", &bound));
            self.write("_bucket", &labels, &so_far);
        }
        self.write("_sum", labels, &seconds(sum));
        self.write("_count", labels, &so_far);
    }

    fn write(&mut self, suffix: &str, labels: &Labels<'_>, value: &dyn Display) {
        let name = self.name;
        let labels = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect::<Vec<_>>();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        self.line(format_args!("{name}{suffix}{labels} {value}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a `String` never fails.
        writeln!(self.text, "{line}").ok();
    }
}

/// Formats nanoseconds as seconds, exactly and without trailing zeros.
pub(crate) fn seconds(nanoseconds: u64) -> String {
    let (whole, part) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
    let text = format!("{whole}.{part:09}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_without_trailing_zeros() {
        for (nanoseconds, text) in
            [(0, "0"), (1, "0.000000001"), (25_000, "0.000025"), (2_500_000_000, "2.5"), (1_000_000_000, "1")]
        {
            assert_eq!(seconds(nanoseconds), text);
        }
    }

    #[test]
    fn bucket_bounds_are_inclusive() {
        let histogram = Histogram::default();
        for nanoseconds in [0, BOUNDS_NS[0], BOUNDS_NS[0] + 1, u64::MAX / 4] {
            histogram.observe(std::time::Duration::from_nanos(nanoseconds));
        }
        let mut text = Text::default();
        text.family(Kind::Histogram, "x_seconds", "About x.").histogram(&[("door", "tcp")], &histogram);
        let text = text.finish();
        assert!(text.starts_with("# HELP x_seconds About x.\n# TYPE x_seconds histogram\n"), "{text}");
        for line in [
            "x_seconds_bucket{door=\"tcp\",le=\"0.000025\"} 2\n",
            "x_seconds_bucket{door=\"tcp\",le=\"0.0001\"} 3\n",
            "x_seconds_bucket{door=\"tcp\",le=\"+Inf\"} 4\n",
            "x_seconds_count{door=\"tcp\"} 4\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }
}
