//! Counts, which the database stores as signed integers.

use crate::engine::{Fault, Row};

/// A count; a negative one is a fault.
pub(crate) fn natural(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| Fault::value("count", &number.to_string()))
}

pub(crate) fn small(row: &Row<'_>, column: usize) -> Result<u32, Fault> {
    let number: i64 = row.get(column)?;
    u32::try_from(number).map_err(|_| Fault::value("count", &number.to_string()))
}

/// A count to be stored. No real one comes near the limit.
pub(crate) fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
