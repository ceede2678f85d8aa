//! Why a workbook cannot be read.

#[derive(Debug, thiserror::Error)]
pub enum WorkbookError {
    #[error("a workbook without sheets")]
    NoSheets,
    #[error("a workbook without cells: its sheets are empty")]
    NoCells,
    #[error(
        "a workbook in which {name:?} unpacks to {size} bytes: at most {limit} are read; save the sheet as CSV"
    )]
    Large { name: String, size: u64, limit: u64 },
    #[error("not readable as an XLSX workbook: {0}; save the sheet as CSV")]
    Broken(String),
}

pub(super) fn broken(error: impl std::fmt::Display) -> WorkbookError {
    WorkbookError::Broken(error.to_string())
}
