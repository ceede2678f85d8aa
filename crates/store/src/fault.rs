use rusqlite::types::FromSqlError;

/// Trouble inside a statement, before it knows which one it was.
#[derive(Debug)]
pub(crate) enum Fault {
    Sqlite(rusqlite::Error),
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

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sqlite(error)
    }
}

impl From<FromSqlError> for Fault {
    fn from(error: FromSqlError) -> Fault {
        Fault::value("value", &error.to_string())
    }
}
