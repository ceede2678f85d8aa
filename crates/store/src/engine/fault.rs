use super::trouble::Trouble;

/// Trouble inside a statement, before it knows which one it was.
#[derive(Debug)]
pub(crate) enum Fault {
    Engine(Trouble),
    Value {
        field: &'static str,
        text: String,
    },
    /// A row that must be there is not.
    Missing,
}

impl Fault {
    pub(crate) fn value(field: &'static str, text: &str) -> Fault {
        Fault::Value { field, text: text.chars().take(80).collect() }
    }
}
