//! Determines a file's decimal mark, point or comma, from the prices in its first rows.

use crate::cells::{Cells, lossy};
use crate::source::Lines;
use crate::written::{DecimalMark, MarkSeen, mark_of};
use crate::{Problem, ReadOptions};

/// Returns the decimal mark of a text table whose header has been read. If prices are ambiguous,
/// the mark is determined from the volumes, because they have no fractions.
pub(crate) fn of_table(
    lines: &Lines,
    delimiter: u8,
    prices: &[usize],
    volumes: &[usize],
    options: &ReadOptions,
) -> Result<DecimalMark, Problem> {
    if let Some(mark) = options.decimal {
        return Ok(mark);
    }
    // In a table with comma delimiters and no quotes, no cell can contain a decimal comma.
    if delimiter == b',' && !lines.has_quotes() {
        return Ok(DecimalMark::Point);
    }
    let mut cells = Cells::default();
    let (mut point, mut comma, mut either) = (None, None, None);
    let mut has_thousands = false;
    for (number, line) in lines.upcoming() {
        if cells.split(line, delimiter).is_err() {
            continue;
        }
        for cell in prices.iter().map(|column| cells.get(line, *column)) {
            match mark_of(cell) {
                MarkSeen::Certainly(DecimalMark::Point) => point = point.or(Some(number)),
                MarkSeen::Certainly(DecimalMark::Comma) => comma = comma.or(Some(number)),
                MarkSeen::Either => either = either.or_else(|| Some((number, lossy(cell)))),
                MarkSeen::Nothing => {}
            }
        }
        has_thousands |= volumes.iter().any(|column| {
            let cell = cells.get(line, *column);
            let is_grouped = cell.contains(&b',') && !cell.contains(&b'.');
            is_grouped && matches!(mark_of(cell), MarkSeen::Either | MarkSeen::Certainly(DecimalMark::Point))
        });
    }
    match (point, comma, either) {
        (Some(point), Some(comma), _) => Err(Problem::MixedDecimals { point, comma }),
        (None, Some(_), _) => Ok(DecimalMark::Comma),
        (None, None, Some((line, price))) if !has_thousands => {
            Err(Problem::AmbiguousDecimals { line, price })
        }
        _ => Ok(DecimalMark::Point),
    }
}
