//! Query types for orders, executions, cash and statements, and helpers for paged lists and request
//! bodies.

use std::collections::HashSet;

use access::parse_instant;
use clap::Args;
use market::{Date, Symbol, Timestamp};
use serde_json::{Map, Value};
use trading::statement::StatementKind;
use trading::{GridId, GridStatus, OrderId, OrderStatus, Side};

use super::shown::{grid_status, rows};
use crate::failure::{Failure, usage};
use crate::remote::field;

/// A range of time on the command line.
#[derive(Debug, Args)]
pub(crate) struct Range {
    /// Start: a date (its start in Hong Kong) or an instant such as 2026-11-13T01:30:00Z
    #[arg(long, value_name = "TIME")]
    start: Option<String>,
    /// End, inclusive: a date (its end in Hong Kong) or an instant
    #[arg(long, value_name = "TIME")]
    end: Option<String>,
}

/// Time range with inclusive bounds. `None` is an open bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Between {
    pub(crate) start: Option<Timestamp>,
    pub(crate) end: Option<Timestamp>,
}

const DAY_SECONDS: i64 = 86_400;

impl Range {
    pub(crate) fn between(&self) -> Result<Between, Failure> {
        let time = |text: &Option<String>| text.as_deref().map(parse_instant).transpose().map_err(usage);
        let (start, mut end) = (time(&self.start)?, time(&self.end)?);
        // An end date includes the whole day. Hong Kong has no daylight saving time, so every day
        // has the same length.
        if self.end.as_deref().is_some_and(|text| !text.contains('T')) {
            end = end.map(|at| Timestamp(at.0.saturating_add(DAY_SECONDS - 1)));
        }
        match (start, end) {
            (Some(start), Some(end)) if start > end => Err(usage("--start is after --end")),
            _ => Ok(Between { start, end }),
        }
    }

    pub(crate) fn is_given(&self) -> bool {
        self.start.is_some() || self.end.is_some()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct OrdersQuestion {
    pub(crate) symbol: Option<Symbol>,
    pub(crate) statuses: Vec<OrderStatus>,
    pub(crate) side: Option<Side>,
    /// Lists orders from earlier days instead of today's orders if set. The bounds apply to the
    /// submission time.
    pub(crate) history: Option<Between>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct TradesQuestion {
    pub(crate) symbol: Option<Symbol>,
    pub(crate) order: Option<OrderId>,
    pub(crate) history: Option<Between>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct CashQuestion {
    pub(crate) symbol: Option<Symbol>,
    pub(crate) between: Between,
}

/// Query for statements of one kind, newest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementsQuestion {
    pub(crate) kind: StatementKind,
    pub(crate) from: Option<Date>,
    pub(crate) limit: u32,
}

/// Returns a date in the format of statement lists, for example 20260318.
pub(crate) fn digits(date: Date) -> i32 {
    i32::from(date.year()) * 10_000 + i32::from(date.month()) * 100 + i32::from(date.day())
}

/// Parses an order ID, as shown in a list.
pub(crate) fn order_id(text: &str) -> Result<OrderId, Failure> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| is_digits)
        .ok_or_else(|| usage(format!("{text:?} is not an order id: `chandler order list` shows them")))
}

#[derive(Clone, Debug, Default)]
pub(crate) struct GridsQuestion {
    pub(crate) symbol: Option<Symbol>,
    /// Wanted grid states. Empty for all states.
    pub(crate) statuses: Vec<GridStatus>,
}

/// Changes of a grid other than replacing its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GridChange {
    Cancel,
    Suspend,
    Restart,
}

/// Parses a grid ID, as shown in a list.
pub(crate) fn grid_id(text: &str) -> Result<GridId, Failure> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|_| is_digits)
        .ok_or_else(|| usage(format!("{text:?} is not a grid id: `chandler grid list` shows them")))
}

/// Parses a grid state from its label or its API name.
pub(crate) fn grid_state(text: &str) -> Result<GridStatus, Failure> {
    let word = |status: &GridStatus| grid_status(status.as_str());
    let is_meant = |status: &GridStatus| {
        status.as_str().eq_ignore_ascii_case(text) || word(status).eq_ignore_ascii_case(text)
    };
    GridStatus::ALL.iter().copied().find(is_meant).ok_or_else(|| {
        let words: Vec<String> = GridStatus::ALL.iter().map(|status| format!("{:?}", word(status))).collect();
        usage(format!("{text:?} is not a grid state: write one of {}", words.join(", ")))
    })
}

/// Maximum number of pages read from a list.
pub(super) const PAGES_MAX: usize = 1_000;

/// Returns the rows of `list` whose IDs are not in `seen`, and adds the IDs to `seen`.
pub(super) fn unseen(answer: &Value, list: &str, id: &str, seen: &mut HashSet<String>) -> Vec<Value> {
    let is_new = |row: &&Value| field(row, id).as_str().is_some_and(|id| seen.insert(id.to_owned()));
    rows(answer, list).iter().filter(is_new).cloned().collect()
}

/// Fields of a request body. Absent values are omitted.
#[derive(Default)]
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    pub(super) fn text(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.to_string().into());
        }
    }

    pub(super) fn number(&mut self, name: &str, value: Option<i64>) {
        if let Some(value) = value {
            self.0.insert(name.to_owned(), value.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(start: &str, end: &str) -> Result<Between, Failure> {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Range { start: text(start), end: text(end) }.between()
    }

    #[test]
    fn an_end_date_includes_the_whole_day() {
        let holds = |between: Between, at: Timestamp| {
            between.start.is_none_or(|start| start <= at) && between.end.is_none_or(|end| at <= end)
        };
        let day = between("2026-11-13", "2026-11-13").unwrap();
        let zone = market::Zone::of(market::Market::Hk);
        let noon = zone.instant(jiff::civil::date(2026, 11, 13), 12 * 3600);
        assert!(holds(day, noon));
        let (before, after) = (Timestamp(noon.0 - DAY_SECONDS), Timestamp(noon.0 + DAY_SECONDS));
        assert!(!holds(day, before) && !holds(day, after));
        assert!(holds(between("", "").unwrap(), noon));
        assert!(between("2026-11-14", "2026-11-13").is_err() && between("soon", "").is_err());
        assert!(!holds(between("", "2026-11-13T03:59:59Z").unwrap(), noon), "an instant is itself");
    }

    #[test]
    fn a_grid_state_is_parsed_from_its_label_or_api_name() {
        for (text, status) in [
            ("running", GridStatus::Performing),
            ("Performing", GridStatus::Performing),
            ("PAUSED", GridStatus::Suspended),
            ("canceled", GridStatus::Canceled),
            ("expired", GridStatus::Expired),
        ] {
            assert_eq!(grid_state(text).unwrap(), status, "{text}");
        }
        let refusal = grid_state("asleep").unwrap_err().to_string();
        assert!(
            refusal.ends_with("write one of \"running\", \"paused\", \"cancelled\", \"expired\""),
            "{refusal}"
        );
        assert!(grid_id("1900000001").is_ok() && grid_id("").is_err() && grid_id("-1").is_err());
    }
}
