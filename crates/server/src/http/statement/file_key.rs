//! Identifiers of a statement file: the key in the statement list, and the file name in the
//! download URL.

use access::AccountId;
use market::Date;
use paper::StatementId;
use trading::statement::StatementKind;

/// File format of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Pdf,
}

impl Format {
    fn as_str(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Pdf => "pdf",
        }
    }

    fn parse(text: &str) -> Option<Format> {
        [Format::Json, Format::Pdf].into_iter().find(|format| format.as_str() == text)
    }
}

/// Identifies a statement file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct FileKey {
    pub(super) account: AccountId,
    pub(super) of: StatementId,
    pub(super) format: Format,
}

/// Maximum length of a key or file name in bytes. Every valid key and name is shorter.
const LENGTH_MAX: usize = 128;

impl FileKey {
    /// Returns the key shown in the statement list.
    pub(super) fn key(&self) -> String {
        let StatementId { kind, date } = self.of;
        let (kind, date, account) = (kind.number(), digits(date), self.account.0);
        format!("/statement_data/data/lb/{kind}/{date:08}/{account}.{}", self.format.as_str())
    }

    /// Parses the exact output of [`FileKey::key`].
    pub(super) fn parse_key(text: &str) -> Option<FileKey> {
        let (kind, rest) = text
            .get(..LENGTH_MAX.min(text.len()))?
            .strip_prefix("/statement_data/data/lb/")?
            .split_once('/')?;
        let (date, name) = rest.split_once('/')?;
        let (account, format) = name.split_once('.')?;
        FileKey::of_parts(account, kind, date, format).filter(|key| key.key() == text)
    }

    /// Returns the file name in the URL.
    pub(super) fn name(&self) -> String {
        let StatementId { kind, date } = self.of;
        format!("{}-{}-{:08}.{}", self.account.0, kind.number(), digits(date), self.format.as_str())
    }

    /// Parses the exact output of [`FileKey::name`].
    pub(super) fn parse_name(text: &str) -> Option<FileKey> {
        let (stem, format) = text.get(..LENGTH_MAX.min(text.len()))?.split_once('.')?;
        let (account, rest) = stem.split_once('-')?;
        let (kind, date) = rest.split_once('-')?;
        FileKey::of_parts(account, kind, date, format).filter(|key| key.name() == text)
    }

    fn of_parts(account: &str, kind: &str, date: &str, format: &str) -> Option<FileKey> {
        let account = AccountId(account.parse().ok()?);
        let kind = StatementKind::from_number(kind.parse().ok()?)?;
        let of = StatementId { kind, date: date_of(date.parse().ok()?)? };
        Some(FileKey { account, of, format: Format::parse(format)? })
    }
}

/// Encodes a date as a number such as 20260318.
pub(super) fn digits(date: Date) -> u32 {
    let number = i32::from(date.year()) * 10_000 + i32::from(date.month()) * 100 + i32::from(date.day());
    u32::try_from(number).unwrap_or_default()
}

/// Decodes a number such as 20260318. Returns `None` if the number is not a valid date.
pub(super) fn date_of(digits: u32) -> Option<Date> {
    let year = i16::try_from(digits / 10_000).ok()?;
    let [month, day] = [digits / 100 % 100, digits % 100].map(|part| i8::try_from(part).ok());
    Date::new(year, month?, day?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> FileKey {
        let of = StatementId { kind: StatementKind::Daily, date: Date::constant(2026, 3, 27) };
        FileKey { account: AccountId(10_000_104), of, format: Format::Json }
    }

    #[test]
    fn a_key_is_parsed_only_in_its_canonical_form() {
        assert_eq!(key().key(), "/statement_data/data/lb/1/20260327/10000104.json");
        assert_eq!(key().name(), "10000104-1-20260327.json");
        assert_eq!(FileKey::parse_key(&key().key()), Some(key()));
        let pdf = FileKey { format: Format::Pdf, ..key() };
        assert_eq!(FileKey::parse_name(&pdf.name()), Some(pdf));
        for wrong in [
            "",
            "/",
            "/statement_data/data/lb/1/20260327/10000104",
            "/statement_data/data/lb/1/20260327/10000104.exe",
            "/statement_data/data/lb/1/20260327/010000104.json",
            "/statement_data/data/lb/1/20260327/+10000104.json",
            "/statement_data/data/lb/3/20260327/10000104.json",
            "/statement_data/data/lb/1/20260231/10000104.json",
            "/statement_data/data/lb/1/2026327/10000104.json",
            "/statement_data/data/lb/1/20260327/../10000104.json",
            " /statement_data/data/lb/1/20260327/10000104.json",
            "/statement_data/data/lb/1/99999999999/1.json",
        ] {
            assert_eq!(FileKey::parse_key(wrong), None, "{wrong}");
        }
        for wrong in
            ["", "none", "1-1-20260327", "1-1-20260327.json.pdf", "1-1-20260327.", "1--1-20260327.json"]
        {
            assert_eq!(FileKey::parse_name(wrong), None, "{wrong}");
        }
        assert_eq!(FileKey::parse_key(&"/".repeat(10_000)), None);
        assert_eq!(FileKey::parse_name(&"日".repeat(100)), None);
    }

    #[test]
    fn only_existing_dates_are_decoded() {
        for (number, date) in [(20_260_318, Some("2026-03-18")), (20_240_229, Some("2024-02-29"))] {
            assert_eq!(date_of(number).map(|date| date.to_string()).as_deref(), date);
            assert_eq!(date_of(number).map(digits), Some(number));
        }
        for number in [20_260_229, 20_261_301, 20_260_100, 20_260_132, u32::MAX] {
            assert_eq!(date_of(number), None, "{number}");
        }
    }
}
