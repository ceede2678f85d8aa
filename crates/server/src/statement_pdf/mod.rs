//! Renders a statement as an A4 PDF for filing, in one of three languages, with table headings on
//! every page.
//!
//! Latin letters and digits are set in Helvetica, which every PDF reader has. Chinese needs a font
//! file, which is named by the operator or comes from a Debian package. Only the used glyphs are
//! embedded ([decision 9](../../../../docs/decisions/0009-statements-as-pdf.md)).

mod body;
mod font;
mod labels;
mod sheet;

use std::path::{Path, PathBuf};

use paper::StatementDocument;

use crate::caller::Language;
use body::Body;
use font::FontFile;
pub use font::PdfError;
use sheet::Sheet;

/// Renders the document as a PDF. `language` has the syntax of `accept-language`, and `font` is the
/// operator's font file, if any.
pub fn statement_pdf(
    document: &StatementDocument,
    language: &str,
    font: Option<&Path>,
) -> Result<Vec<u8>, PdfError> {
    typeset(document, Language::preferred(language), font)
}

/// Returns the path of the font for Chinese: the operator's file if named, otherwise one of the
/// usual files. Returns an error if the font is missing or unsuitable.
pub fn statement_font(named: Option<&Path>) -> Result<PathBuf, PdfError> {
    let file = FontFile::find(named)?;
    file.face(Language::ZhCn)?;
    Ok(file.path().to_owned())
}

pub(crate) fn typeset(
    document: &StatementDocument,
    language: Language,
    font: Option<&Path>,
) -> Result<Vec<u8>, PdfError> {
    let body = Body::of(document, language);
    // Most statements in English need no font file.
    let file = if body.is_latin() { None } else { Some(FontFile::find(font)?) };
    let face = file.as_ref().map(|file| file.face(language)).transpose()?;
    let mut sheet = Sheet::new(face);
    body.set(&mut sheet);
    sheet.finish(&body.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> StatementDocument {
        let text = include_str!("../../tests/it/http/statement.json");
        serde_json::from_str(text).unwrap()
    }

    /// Returns the PDF's streams, decompressed if necessary.
    fn inflated(pdf: &[u8]) -> String {
        let mut all = String::new();
        let mut rest = pdf;
        while let Some(start) = find(rest, b"stream\n") {
            let (_, body) = rest.split_at(start + 7);
            let end = find(body, b"\nendstream").unwrap();
            let (stream, after) = body.split_at(end);
            let mut text = Vec::new();
            let mut decoder = flate2::read::ZlibDecoder::new(stream);
            if std::io::Read::read_to_end(&mut decoder, &mut text).is_ok() {
                all.push_str(&String::from_utf8_lossy(&text));
            }
            let (_, next) = after.split_at(b"\nendstream".len());
            rest = next;
        }
        all
    }

    fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
        bytes.windows(part.len()).position(|window| window == part)
    }

    #[test]
    fn a_statement_in_english_needs_no_font() {
        let pdf = typeset(&document(), Language::En, Some(Path::new("/nowhere.ttf"))).unwrap();
        assert!(pdf.starts_with(b"%PDF-1.") && pdf.ends_with(b"%%EOF"));
        let text = inflated(&pdf);
        for part in ["Daily statement", "438,875.25", "700.HK", "-61,124.75 HKD", "Maintenance", "1 / 1"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn chinese_text_is_embedded_and_searchable() {
        // `setup.sh` installs a font with Chinese glyphs.
        for language in [Language::ZhCn, Language::ZhHk] {
            let pdf = typeset(&document(), language, None).unwrap();
            let all = String::from_utf8_lossy(&pdf);
            assert!(all.contains("/CIDFontType") && all.contains("/Identity-H"), "a font is embedded");
            // The map from glyphs to characters contains U+65E5.
            assert!(inflated(&pdf).to_uppercase().contains("<65E5>"), "日 can be copied");
            assert!(pdf.len() < 400_000, "not the whole font: {} bytes", pdf.len());
        }
    }

    #[test]
    fn the_error_names_an_invalid_font_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("font.ttf");
        let describe = || typeset(&document(), Language::ZhCn, Some(&path)).unwrap_err().to_string();
        assert!(describe().starts_with("cannot read the font "), "{}", describe());
        std::fs::write(&path, b"not a font").unwrap();
        assert!(describe().ends_with("font.ttf is not a font that can be embedded"), "{}", describe());
        assert_eq!(statement_font(Some(&path)).unwrap_err().to_string(), describe());
        assert!(statement_font(None).unwrap().is_file(), "`setup.sh` installs one");
    }

    #[test]
    fn long_names_and_fees_wrap_at_normal_size() {
        let mut document = document();
        let trade = &mut document.stock_trade_sums[0].trades[0];
        let fee = trade.fees[0].clone();
        trade.fees = ["PLATFORM", "STAMP_DUTY", "TRADING_FEE", "SFC_LEVY", "AFRC_LEVY", "SETTLEMENT"]
            .map(|code| paper::StatementFee { code: code.to_owned(), ..fee.clone() })
            .to_vec();
        let holding = &mut document.equity_holding_sums[0].equity_holdings[0];
        holding.name = "Lamp and Wick Holdings of the Northern Territories".to_owned();
        let text = inflated(&typeset(&document, Language::En, None).unwrap());
        // Each part is a separate text object in the normal size.
        for part in
            ["(PLATFORM 84.75,)", "(TRADING_FEE 84.75,)", "(SETTLEMENT 84.75)", "(Northern Territories)"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        let is_small = |line: &str| {
            let size = line.strip_suffix(" Tf").and_then(|font| font.rsplit(' ').next());
            size.and_then(|size| size.parse::<f32>().ok()).is_some_and(|size| size < 7.0)
        };
        assert!(!text.lines().any(is_small), "{text}");
    }

    #[test]
    fn a_long_statement_has_numbered_pages() {
        let mut document = document();
        let sums = &mut document.account_balance_change_sums[0];
        let row = sums.account_balance_changes[0].clone();
        sums.account_balance_changes = vec![row; 300];
        let text = inflated(&typeset(&document, Language::En, None).unwrap());
        let last = (5..9).find(|last| text.contains(&format!("{last} / {last}")));
        assert!(last.is_some_and(|last| text.contains(&format!("1 / {last}"))), "300 rows are some pages");
    }
}
