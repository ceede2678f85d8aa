//! Checks the font for Chinese PDF statements.

use std::path::Path;

use server::{PdfError, statement_font};

use super::check::{AS_SERVICE, Check};

const NAME: &str = "statement font";

/// Checks that a font with Chinese characters is installed. Without it, Chinese statements are
/// refused; English statements need no font.
pub(super) fn statements(named: Option<&Path>) -> Check {
    match statement_font(named) {
        Ok(path) => Check::ok(NAME, format!("Chinese statements use {}", path.display())),
        Err(PdfError::NoFont) => Check::warn(
            NAME,
            "no font with Chinese characters was found: PDF statements are available only in English",
            "install fonts-noto-cjk or fonts-wqy-microhei, or name a font file in statement_font (docs/statements.md)",
        ),
        Err(error) => {
            let advice = match &error {
                PdfError::Read { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                    AS_SERVICE
                }
                _ => {
                    "set statement_font to a TrueType or OpenType file with Chinese characters, or leave it empty \
                    (docs/statements.md)"
                }
            };
            Check::fail(NAME, error.to_string(), advice)
        }
    }
}
