use super::trouble::Trouble;

/// An error inside a statement, before the statement's name is attached.
#[derive(Debug)]
pub(crate) enum Fault {
    Engine(Trouble),
    Value {
        field: &'static str,
        text: String,
    },
    /// A required row is missing.
    Missing,
}

impl Fault {
    pub(crate) fn value(field: &'static str, text: &str) -> Fault {
        Fault::Value { field, text: text.chars().take(80).collect() }
    }
}
