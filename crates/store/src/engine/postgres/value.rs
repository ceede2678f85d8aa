//! Conversion between parameter values, columns and PostgreSQL types.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use tokio_postgres::Row;
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::Trouble;
use crate::engine::Fault;
use crate::engine::params::Value;

/// A parameter value in the form that the driver needs.
pub(super) struct Param<'a>(pub(super) Value<'a>);

/// Does not show the value, because the driver logs parameters at trace level and a parameter may
/// be a secret.
impl fmt::Debug for Param<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(kind(self.0))
    }
}

impl ToSql for Param<'_> {
    fn to_sql(&self, expected: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match (self.0, expected) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Int(number), &Type::INT8) => number.to_sql(expected, out),
            (Value::Int(number), &Type::INT4) => i32::try_from(number)?.to_sql(expected, out),
            (Value::Int(number), &Type::INT2) => i16::try_from(number)?.to_sql(expected, out),
            (Value::Int(number), &Type::OID) => u32::try_from(number)?.to_sql(expected, out),
            (Value::Int(number), &Type::BOOL) => (number != 0).to_sql(expected, out),
            (Value::Text(text), _) => text.to_sql(expected, out),
            (Value::Blob(bytes), _) => bytes.to_sql(expected, out),
            (Value::Int(_), _) => Err(format!("a number where {expected} is expected").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// The values of one column of many rows, sent as an array.
pub(super) struct Column<'a>(Vec<Param<'a>>);

impl<'a> Column<'a> {
    /// Returns the columns of rows.
    pub(super) fn all_of(rows: &[&[Value<'a>]]) -> Vec<Column<'a>> {
        let width = rows.first().map_or(0, |row| row.len());
        let column = |at: usize| rows.iter().filter_map(move |row| row.get(at).copied());
        (0..width).map(|at| Column(column(at).map(Param).collect())).collect()
    }
}

impl fmt::Debug for Column<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("many values")
    }
}

impl ToSql for Column<'_> {
    fn to_sql(&self, expected: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.to_sql(expected, out)
    }

    fn accepts(expected: &Type) -> bool {
        matches!(expected.kind(), Kind::Array(_))
    }

    to_sql_checked!();
}

/// Checks that columns match the statement's parameters, which are arrays.
pub(super) fn fit_columns(columns: &[Column<'_>], expected: &[Type]) -> Result<(), Trouble> {
    if columns.len() != expected.len() {
        return Err(Trouble::Misuse("the number of columns differs from the number of placeholders"));
    }
    columns.iter().zip(expected).try_for_each(|(column, expected)| match expected.kind() {
        Kind::Array(member) => column.0.iter().try_for_each(|value| fits(value.0, member)),
        _ => Err(Trouble::Misuse("a statement for many rows has a parameter that is not an array")),
    })
}

/// Checks that the values match the statement's parameters. Called before anything is sent.
pub(super) fn fit(values: &[Value<'_>], expected: &[Type]) -> Result<(), Trouble> {
    if values.len() != expected.len() {
        return Err(Trouble::Misuse("the number of values differs from the number of placeholders"));
    }
    values.iter().zip(expected).try_for_each(|(value, expected)| fits(*value, expected))
}

fn fits(value: Value<'_>, expected: &Type) -> Result<(), Trouble> {
    let range = |fits: bool| match fits {
        true => Ok(()),
        false => Err(Trouble::Unfit { reason: format!("a number is outside the range of {expected}") }),
    };
    match (value, expected) {
        (Value::Null, _) | (Value::Int(_), &Type::INT8) => Ok(()),
        (Value::Int(number), &Type::INT4) => range(i32::try_from(number).is_ok()),
        (Value::Int(number), &Type::INT2) => range(i16::try_from(number).is_ok()),
        (Value::Int(number), &Type::OID) => range(u32::try_from(number).is_ok()),
        (Value::Int(number), &Type::BOOL) => range(matches!(number, 0 | 1)),
        (Value::Text(text), &(Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN)) => {
            match text.contains('\0') {
                true => Err(Trouble::Unfit {
                    reason: "a text has a NUL in it, which PostgreSQL cannot hold".to_owned(),
                }),
                false => Ok(()),
            }
        }
        (Value::Blob(_), &Type::BYTEA) => Ok(()),
        (value, expected) => {
            Err(Trouble::Unfit { reason: format!("a statement expects {expected} but got {}", kind(value)) })
        }
    }
}

fn kind(value: Value<'_>) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Int(_) => "a number",
        Value::Text(_) => "a text",
        Value::Blob(_) => "bytes",
    }
}

/// Returns a column of a row, borrowed from the row.
pub(crate) fn column(row: &Row, index: usize) -> Result<Value<'_>, Fault> {
    let Some(column) = row.columns().get(index) else {
        return Err(Fault::value("column", &format!("{} columns", row.len())));
    };
    let given = column.type_();
    let value = match *given {
        Type::INT8 => row.try_get::<_, Option<i64>>(index).map(|number| number.map(Value::Int)),
        Type::INT4 => row.try_get::<_, Option<i32>>(index).map(|number| number.map(|n| Value::Int(n.into()))),
        Type::INT2 => row.try_get::<_, Option<i16>>(index).map(|number| number.map(|n| Value::Int(n.into()))),
        Type::OID => row.try_get::<_, Option<u32>>(index).map(|number| number.map(|n| Value::Int(n.into()))),
        Type::BOOL => row.try_get::<_, Option<bool>>(index).map(|is| is.map(|is| Value::Int(is.into()))),
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN => {
            row.try_get::<_, Option<&str>>(index).map(|text| text.map(Value::Text))
        }
        Type::BYTEA => row.try_get::<_, Option<&[u8]>>(index).map(|bytes| bytes.map(Value::Blob)),
        // The result of a function that returns nothing.
        Type::VOID => Ok(None),
        _ => return Err(Fault::value("number, text or blob", given.name())),
    };
    match value {
        Ok(value) => Ok(value.unwrap_or(Value::Null)),
        Err(error) => Err(Fault::value("column", &error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(value: Value<'_>, expected: &Type) -> Option<Vec<u8>> {
        let mut out = BytesMut::new();
        match Param(value).to_sql_checked(expected, &mut out).unwrap() {
            IsNull::Yes => None,
            IsNull::No => Some(out.to_vec()),
        }
    }

    #[test]
    fn a_number_has_the_width_that_the_server_expects() {
        assert_eq!(sent(Value::Int(-2), &Type::INT8).unwrap(), (-2_i64).to_be_bytes());
        assert_eq!(sent(Value::Int(-2), &Type::INT4).unwrap(), (-2_i32).to_be_bytes());
        assert_eq!(sent(Value::Int(-2), &Type::INT2).unwrap(), (-2_i16).to_be_bytes());
        assert_eq!(sent(Value::Int(1), &Type::BOOL).unwrap(), [1]);
        assert_eq!(sent(Value::Int(7), &Type::OID).unwrap(), 7_u32.to_be_bytes());
        assert_eq!(sent(Value::Text("é"), &Type::TEXT).unwrap(), "é".as_bytes());
        assert_eq!(sent(Value::Blob(&[0, 255]), &Type::BYTEA).unwrap(), [0, 255]);
        assert_eq!(sent(Value::Null, &Type::BYTEA), None);
    }

    #[test]
    fn mismatched_values_are_refused_before_they_are_sent() {
        let describe =
            |value, expected: &Type| fit(&[value], std::slice::from_ref(expected)).unwrap_err().to_string();
        assert_eq!(describe(Value::Int(1 << 40), &Type::INT4), "a number is outside the range of int4");
        assert_eq!(describe(Value::Int(2), &Type::BOOL), "a number is outside the range of bool");
        assert_eq!(describe(Value::Text("7"), &Type::INT8), "a statement expects int8 but got a text");
        assert_eq!(describe(Value::Int(7), &Type::TEXT), "a statement expects text but got a number");
        assert_eq!(describe(Value::Blob(&[]), &Type::TEXT), "a statement expects text but got bytes");
        assert!(describe(Value::Text("a\0b"), &Type::TEXT).contains("NUL"));
        assert!(fit(&[], &[Type::INT8]).is_err());
        assert!(fit(&[Value::Null, Value::Int(7)], &[Type::NUMERIC, Type::INT8]).is_ok());
    }

    #[test]
    fn the_columns_of_many_rows_are_arrays() {
        let rows: [&[Value<'_>]; 2] =
            [&[Value::Int(1), Value::Blob(b"one")], &[Value::Int(2), Value::Blob(b"two")]];
        let columns = Column::all_of(&rows);
        let types = [Type::INT8_ARRAY, Type::BYTEA_ARRAY];
        fit_columns(&columns, &types).unwrap();
        for (column, expected) in columns.iter().zip(&types) {
            let (mut out, mut same) = (BytesMut::new(), BytesMut::new());
            column.to_sql_checked(expected, &mut out).unwrap();
            match *expected {
                Type::INT8_ARRAY => vec![1_i64, 2].to_sql(expected, &mut same).unwrap(),
                _ => vec![b"one".as_slice(), b"two"].to_sql(expected, &mut same).unwrap(),
            };
            assert_eq!(out, same);
        }
        assert!(fit_columns(&columns, &[Type::INT8_ARRAY, Type::TEXT_ARRAY]).is_err());
        assert!(fit_columns(&columns, &[Type::INT8_ARRAY, Type::BYTEA]).is_err());
        assert!(fit_columns(&columns, &types[..1]).is_err());
    }

    #[test]
    fn a_value_is_not_shown_in_the_drivers_log() {
        assert_eq!(format!("{:?}", Param(Value::Text("secret"))), "a text");
        assert_eq!(format!("{:?}", Param(Value::Int(7))), "a number");
        assert_eq!(format!("{:?}", Column::all_of(&[&[Value::Text("secret")]])), "[many values]");
    }
}
