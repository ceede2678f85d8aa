//! Checks the font for Chinese PDF statements.

use std::path::Path;

use server::{PdfError, statement_font};

use super::check::{AS_SERVICE, Check};

const NAME: &str = "statement font";

/// Checks that a font with Chinese characters is installed. Without it, Chinese statements are
/// refused; English statements need no font.
pub(super) fn statements(named: Option<&Path>) -> Check {
    match statement_font(named) {
        Ok(path) => Check::ok(NAME, format!("statements in Chinese are set in {}", path.display())),
        Err(PdfError::NoFont) => Check::warn(
            NAME,
            "no font with Chinese was found: statements as PDF are made in English alone",
            "install fonts-noto-cjk or fonts-wqy-microhei, or name a font file in statement_font (docs/statements.md)",
        ),
        Err(error) => {
            let advice = match &error {
                PdfError::Read { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                    AS_SERVICE
                }
                _ => {
                    "name a TrueType or OpenType file with Chinese in statement_font, or nothing (docs/statements.md)"
                }
            };
            Check::fail(NAME, error.to_string(), advice)
        }
    }
}
