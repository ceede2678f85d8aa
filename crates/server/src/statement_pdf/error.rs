use std::path::PathBuf;

/// Why a PDF cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum PdfError {
    #[error(
        "this statement has Chinese text, and no font for it was found: install fonts-noto-cjk or fonts-wqy-microhei, or name a font \
         file in statement_font"
    )]
    NoFont,
    #[error("cannot read the font {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is no font that can be embedded", path.display())]
    Unfit { path: PathBuf },
}
