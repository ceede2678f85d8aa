//! Helpers for paged lists and request bodies.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::shown::rows;
use crate::remote::field;

/// Maximum number of pages read from a list.
pub(super) const PAGES_MAX: usize = 1_000;

/// Returns the rows whose IDs are not in `seen`, and adds those IDs to it.
pub(super) fn unseen(answer: &Value, list: &str, id: &str, seen: &mut HashSet<String>) -> Vec<Value> {
    let is_new = |row: &&Value| field(row, id).as_str().is_some_and(|id| seen.insert(id.to_owned()));
    rows(answer, list).iter().filter(is_new).cloned().collect()
}

/// Fields of a request body. Absent values are not sent.
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
