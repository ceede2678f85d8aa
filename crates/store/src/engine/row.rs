//! Result rows. Columns are read by index.

use super::params::Value;
use super::{Fault, postgres, sqlite};

/// A row of either engine, borrowed from its statement.
#[derive(Debug)]
pub(crate) enum Row<'a> {
    Sqlite(&'a sqlite::Row<'a>),
    Postgres(&'a postgres::Row),
}

impl<'a> Row<'a> {
    pub(crate) fn value(&self, column: usize) -> Result<Value<'a>, Fault> {
        match self {
            Row::Sqlite(row) => sqlite::column(row, column),
            Row::Postgres(row) => postgres::column(row, column),
        }
    }

    pub(crate) fn get<T: FromValue>(&self, column: usize) -> Result<T, Fault> {
        T::from_value(self.value(column)?)
    }

    /// Returns a text column without copying it. Fails if the column is null.
    pub(crate) fn text(&self, column: usize) -> Result<&'a str, Fault> {
        self.text_or_null(column)?.ok_or_else(|| unlike("text", Value::Null))
    }

    pub(crate) fn text_or_null(&self, column: usize) -> Result<Option<&'a str>, Fault> {
        match self.value(column)? {
            Value::Text(text) => Ok(Some(text)),
            Value::Null => Ok(None),
            other => Err(unlike("text", other)),
        }
    }

    /// Returns a blob column without copying it. Fails if the column is null.
    pub(crate) fn bytes(&self, column: usize) -> Result<&'a [u8], Fault> {
        self.bytes_or_null(column)?.ok_or_else(|| unlike("blob", Value::Null))
    }

    pub(crate) fn bytes_or_null(&self, column: usize) -> Result<Option<&'a [u8]>, Fault> {
        match self.value(column)? {
            Value::Blob(bytes) => Ok(Some(bytes)),
            Value::Null => Ok(None),
            other => Err(unlike("blob", other)),
        }
    }
}

/// A type that a column can be converted to.
pub(crate) trait FromValue: Sized {
    fn from_value(value: Value<'_>) -> Result<Self, Fault>;
}

impl FromValue for i64 {
    fn from_value(value: Value<'_>) -> Result<i64, Fault> {
        match value {
            Value::Int(number) => Ok(number),
            other => Err(unlike("number", other)),
        }
    }
}

impl FromValue for bool {
    fn from_value(value: Value<'_>) -> Result<bool, Fault> {
        i64::from_value(value).map(|number| number != 0)
    }
}

impl FromValue for String {
    fn from_value(value: Value<'_>) -> Result<String, Fault> {
        match value {
            Value::Text(text) => Ok(text.to_owned()),
            other => Err(unlike("text", other)),
        }
    }
}

impl FromValue for Vec<u8> {
    fn from_value(value: Value<'_>) -> Result<Vec<u8>, Fault> {
        match value {
            Value::Blob(bytes) => Ok(bytes.to_owned()),
            other => Err(unlike("blob", other)),
        }
    }
}

impl<const N: usize> FromValue for [u8; N] {
    fn from_value(value: Value<'_>) -> Result<[u8; N], Fault> {
        match value {
            Value::Blob(bytes) => bytes.try_into().map_err(|_| unlike("blob", value)),
            other => Err(unlike("blob", other)),
        }
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value<'_>) -> Result<Option<T>, Fault> {
        match value {
            Value::Null => Ok(None),
            other => T::from_value(other).map(Some),
        }
    }
}

fn unlike(field: &'static str, found: Value<'_>) -> Fault {
    match found {
        Value::Null => Fault::value(field, "nothing"),
        Value::Int(number) => Fault::value(field, &number.to_string()),
        Value::Text(text) => Fault::value(field, text),
        // Only the length is shown, because the bytes may be a secret.
        Value::Blob(bytes) => Fault::value(field, &format!("{} bytes", bytes.len())),
    }
}

/// Reads a count. Fails if the value is negative.
pub(crate) fn natural(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| Fault::value("count", &number.to_string()))
}

pub(crate) fn small(row: &Row<'_>, column: usize) -> Result<u32, Fault> {
    let number: i64 = row.get(column)?;
    u32::try_from(number).map_err(|_| Fault::value("count", &number.to_string()))
}

/// Converts a count for storage. Saturates at `i64::MAX`, which no actual count reaches.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
