//! Parameters, limits and refusals shared by the grid endpoints.

use paper::GRID_PAGE_MAX;

use crate::kit::doc::refusals::{GRID_REFUSED, TRADE_TOO_FAST};
use crate::kit::doc::{Kind, Parameter, RefusalDoc, Word};
use crate::kit::envelope::Problem;
use crate::kit::query::Query;

pub(super) const REFUSALS: &[RefusalDoc] = &[GRID_REFUSED, TRADE_TOO_FAST];

/// Default number of rows per page.
const ROWS_DEFAULT: u32 = 50;
/// Maximum number of rows per page.
const ROWS_MAX: u32 = 1_000;
const _: () = assert!(ROWS_MAX as usize == GRID_PAGE_MAX);
const PAGES_MAX: u32 = 1_000_000;

pub(super) const ORDER_ID: Parameter = Parameter::query("order_id", Kind::Text, "Grid id");
pub(super) const PAGE: Parameter = Parameter::query("page", Kind::AtLeast(1), "").or(Word::Number(1));
pub(super) const LIMIT: Parameter =
    Parameter::query("limit", Kind::Between(1, ROWS_MAX), "Rows per page").or(Word::Number(ROWS_DEFAULT));

/// Parses the page number, which starts at 1, and the page size.
pub(super) fn page(query: &Query) -> Result<(usize, usize), Problem> {
    let page = query.number("page", (1, PAGES_MAX), 1)?;
    Ok((page as usize, limit(query)?))
}

/// Parses the maximum number of rows in the response.
pub(super) fn limit(query: &Query) -> Result<usize, Problem> {
    Ok(query.number("limit", (1, ROWS_MAX), ROWS_DEFAULT)? as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_numbers_and_sizes_are_limited() {
        let of = |text: &str| page(&Query::parse(text).unwrap()).ok();
        assert_eq!(of(""), Some((1, 50)));
        assert_eq!(of("page=&limit="), Some((1, 50)));
        assert_eq!(of("page=2&limit=1000"), Some((2, 1_000)));
        assert_eq!(of("page=1000000&limit=1"), Some((1_000_000, 1)));
        for wrong in ["limit=0", "limit=1001", "page=0", "page=1000001", "page=x", "limit=-1", "page=1.5"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
