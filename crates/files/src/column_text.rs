//! One cell of an Arrow column as text.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{DataType, TimeUnit};

/// The text of a cell, as in a text table; empty for nulls and for unsupported types. For small
/// tables, split dates and reports, where speed does not matter.
pub(crate) fn text_of(array: &dyn Array, at: usize) -> String {
    if at >= array.len() || array.is_null(at) {
        return String::new();
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(at).trim().to_owned(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(at).trim().to_owned(),
        DataType::Int64 => native::<Int64Type>(array, at),
        DataType::Int32 => native::<Int32Type>(array, at),
        DataType::Int16 => native::<Int16Type>(array, at),
        DataType::Int8 => native::<Int8Type>(array, at),
        DataType::UInt64 => native::<UInt64Type>(array, at),
        DataType::UInt32 => native::<UInt32Type>(array, at),
        DataType::UInt16 => native::<UInt16Type>(array, at),
        DataType::UInt8 => native::<UInt8Type>(array, at),
        DataType::Float64 => native::<Float64Type>(array, at),
        DataType::Float32 => native::<Float32Type>(array, at),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(at),
        DataType::Date32 => array
            .as_primitive::<Date32Type>()
            .value_as_date(at)
            .map_or(String::new(), |date| date.to_string()),
        DataType::Timestamp(unit, zone) => {
            let (value, per) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(at), 1),
                TimeUnit::Millisecond => (array.as_primitive::<TimestampMillisecondType>().value(at), 1_000),
                TimeUnit::Microsecond => {
                    (array.as_primitive::<TimestampMicrosecondType>().value(at), 1_000_000)
                }
                TimeUnit::Nanosecond => {
                    (array.as_primitive::<TimestampNanosecondType>().value(at), 1_000_000_000)
                }
            };
            let text = market::Timestamp(value.div_euclid(per)).to_string();
            if zone.is_some() { text } else { text.trim_end_matches('Z').to_owned() }
        }
        _ => String::new(),
    }
}

fn native<T: ArrowPrimitiveType>(array: &dyn Array, at: usize) -> String
where
    T::Native: std::fmt::Display,
{
    array.as_primitive::<T>().value(at).to_string()
}

/// The same, without a copy of text.
pub(crate) fn with_cell<T>(array: &dyn Array, at: usize, read: impl FnOnce(&[u8]) -> T) -> T {
    match array.as_string_opt::<i32>() {
        Some(text) if text.is_valid(at) => read(text.value(at).trim().as_bytes()),
        _ => read(text_of(array, at).as_bytes()),
    }
}
