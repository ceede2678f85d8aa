//! Shows the progress of a run: a bar on a terminal, otherwise one line for each market date.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use market::{Date, Market, Timestamp, Zone};
use serde_json::Value;

use crate::client::Client;
use crate::command::trade::shown::{rows, text};
use crate::command::trade::{Between, OrdersQuestion};
use crate::output;
use crate::progress::{Bar, Flags};

/// Interval between lines of text.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Interval between measurements of speed and orders for a bar.
const MEASURE_EVERY: Duration = Duration::from_secs(1);
/// Number of parts of the bar.
pub(super) const PARTS: u64 = 1_000;

/// Progress of one run.
pub(super) struct Watch {
    flags: Flags,
    bar: Option<Arc<Bar>>,
    /// Name of the run in a sweep.
    prefix: String,
    begin: Timestamp,
    end: Timestamp,
    /// Last observed instant of the world, and when it was observed.
    seen: Option<(Timestamp, Instant)>,
    speed: Option<f64>,
    date: Option<Date>,
    written: Option<Instant>,
    orders: HashSet<String>,
    /// Market time of the last count of orders.
    counted: Timestamp,
}

impl Watch {
    pub(super) fn new(
        flags: Flags,
        bar: Option<Arc<Bar>>,
        prefix: String,
        (begin, end): (Timestamp, Timestamp),
    ) -> Watch {
        let (seen, date, written) = (None, None, None);
        let (speed, orders, counted) = (None, HashSet::new(), begin);
        Watch { flags, bar, prefix, begin, end, seen, speed, date, written, orders, counted }
    }

    /// Shows the progress at a market time, unless `--quiet` was given.
    pub(super) fn show(&mut self, at: Timestamp, client: &Client) {
        if self.flags.quiet {
            return;
        }
        let now = Instant::now();
        let date = Zone::of(Market::Hk).date(at);
        let has_bar = self.bar.as_ref().is_some_and(|bar| bar.is_shown());
        let every = if has_bar { MEASURE_EVERY } else { LINE_EVERY };
        let is_due = self.written.is_none_or(|written| now.duration_since(written) >= every);
        if !(has_bar || is_due && self.date != Some(date)) {
            return;
        }
        if is_due {
            self.written = Some(now);
            self.measure(at, now);
            self.count_orders(at, client);
        }
        self.date = Some(date);
        let speed = self.speed.map(speed_text).unwrap_or_default();
        let text = format!("{date}  {} orders  {speed}", self.orders.len());
        match &self.bar {
            Some(bar) if has_bar => {
                bar.set(share(self.begin, at, self.end));
                bar.say(|| text);
            }
            _ => {
                let percent = share(self.begin, at, self.end) * 100 / PARTS;
                self.flags.note(&format!("{}{percent:>3} %  {text}", self.prefix));
            }
        }
    }

    fn measure(&mut self, at: Timestamp, now: Instant) {
        if let Some((before, since)) = self.seen {
            let machine_seconds = now.duration_since(since).as_secs_f64();
            self.speed = Some((at.0 - before.0) as f64 / machine_seconds.max(0.001));
        }
        self.seen = Some((at, now));
    }

    /// Adds the orders submitted since the last count to `orders`, from earlier days and from
    /// today.
    fn count_orders(&mut self, at: Timestamp, client: &Client) {
        let since = Between { start: Some(self.counted), end: None };
        let earlier = OrdersQuestion { history: Some(since), ..OrdersQuestion::default() };
        for question in [earlier, OrdersQuestion::default()] {
            if let Ok(found) = client.orders(&question) {
                let is_new = |order: &&Value| {
                    text(order, "submitted_at").parse().is_ok_and(|at: i64| at >= self.begin.0)
                };
                let new = rows(&found, "orders").iter().filter(is_new);
                self.orders.extend(new.map(|order| text(order, "order_id")));
            }
        }
        self.counted = at;
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.set(PARTS);
        }
    }
}

/// Returns the elapsed part of the range in units of 1 / [`PARTS`].
fn share(begin: Timestamp, at: Timestamp, end: Timestamp) -> u64 {
    let (over, whole) = (u64::try_from(at.0 - begin.0).unwrap_or(0), u64::try_from(end.0 - begin.0));
    let whole = whole.unwrap_or(0);
    over.saturating_mul(PARTS).checked_div(whole).unwrap_or(PARTS).min(PARTS)
}

/// Formats market seconds per second.
fn speed_text(speed: f64) -> String {
    if speed >= 10.0 { format!("{}×", output::thousands(speed as u64)) } else { format!("{speed:.1}×") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_elapsed_part_never_exceeds_the_whole() {
        let at = Timestamp;
        let cases = [((0, 0, 100), 0), ((0, 50, 100), 500), ((0, 200, 100), 1000), ((5, 5, 5), 1000)];
        for ((begin, now, end), part) in cases {
            assert_eq!(share(at(begin), at(now), at(end)), part);
        }
        assert_eq!((speed_text(0.5), speed_text(12_345.6)), ("0.5×".to_owned(), "12,345×".to_owned()));
    }
}
