//! The manifest of a backup. The text is exact: a manifest that does not serialize to the same
//! bytes again is rejected.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use blake3::Hash;
use serde::{Deserialize, Serialize};

use super::BackupError;
use crate::StoreError;

pub(super) const FILE: &str = "MANIFEST.json";
/// Raised whenever an older program could misread a backup.
const FORMAT: u32 = 1;
/// Far more than any manifest; a longer file is something else.
const BYTES_MAX: u64 = 65_536;

/// A file of a backup. The set is closed, so a name in a manifest cannot lead to another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    #[serde(rename = "candles.db")]
    Candles,
    #[serde(rename = "accounts.db")]
    Accounts,
    #[serde(rename = "secret.key")]
    Key,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartEntry {
    pub name: Part,
    pub bytes: u64,
    /// In hexadecimal.
    pub blake3: String,
    /// For databases only.
    pub schema: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    pub series: u64,
    pub blocks: u64,
    pub candles: u64,
    pub accounts: u64,
    /// Omitted if there are none, as by programs that predate trades.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub trades: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub format: u32,
    /// The version of the program that made it.
    pub chandler: String,
    /// RFC 3339, by the machine's clock.
    pub created_at: String,
    pub files: Vec<PartEntry>,
    /// The digest of the key that seals the accounts, even if the key itself was left out. The key
    /// is random, so the digest reveals nothing.
    pub key_blake3: Option<String>,
    pub counts: Counts,
    /// The digest of everything above.
    pub manifest_blake3: String,
}

/// The one field that every format has.
#[derive(Deserialize)]
struct Probe {
    format: u32,
}

impl Part {
    pub const ALL: [Part; 3] = [Part::Candles, Part::Accounts, Part::Key];

    pub fn file_name(self) -> &'static str {
        match self {
            Part::Candles => crate::engine::CANDLES_FILE,
            Part::Accounts => crate::engine::ACCOUNTS_FILE,
            Part::Key => crate::engine::KEY_FILE,
        }
    }
}

impl Manifest {
    pub(super) fn new(
        chandler: &str,
        created_at: String,
        files: Vec<PartEntry>,
        key: Option<Hash>,
        counts: Counts,
    ) -> Manifest {
        let key_blake3 = key.map(|key| key.to_hex().to_string());
        let (chandler, manifest_blake3) = (chandler.to_owned(), String::new());
        Manifest { format: FORMAT, chandler, created_at, files, key_blake3, counts, manifest_blake3 }
    }

    /// Reads the manifest of a backup, without examining the files.
    pub fn read(dir: &Path) -> Result<Manifest, BackupError> {
        let path = dir.join(FILE);
        let fail = |source| StoreError::io("read", dir.join(FILE), source);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Err(BackupError::Absent { path: dir.to_owned() });
            }
            Err(source) => return Err(fail(source).into()),
        };
        let mut text = String::new();
        let read = file.take(BYTES_MAX + 1).read_to_string(&mut text);
        let wrong = |reason: &str| BackupError::Manifest { path: path.clone(), reason: reason.to_owned() };
        match read {
            Ok(length) if length as u64 > BYTES_MAX => return Err(wrong("it is too long")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(wrong("it is not text")),
            Err(source) => return Err(fail(source).into()),
        }
        match serde_json::from_str(&text) {
            Ok(Probe { format: 1..=FORMAT }) => {}
            Ok(Probe { format: 0 }) => return Err(wrong("its format has no number")),
            Ok(Probe { format }) => return Err(BackupError::Newer { path, found: format, known: FORMAT }),
            Err(error) => return Err(wrong(&error.to_string())),
        }
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
        if manifest.text().map_err(|error| wrong(&error.to_string()))? != text {
            return Err(wrong("it has been changed"));
        }
        let names: Vec<Part> = manifest.files.iter().map(|file| file.name).collect();
        if !names.is_sorted_by(|one, next| one < next) || names.first() != Some(&Part::Candles) {
            return Err(wrong("its files are not those of a store"));
        }
        Ok(manifest)
    }

    /// The text to write, including its own digest.
    pub(super) fn text(&self) -> serde_json::Result<String> {
        let bare = Manifest { manifest_blake3: String::new(), ..self.clone() };
        let digest = blake3::hash(serde_json::to_string(&bare)?.as_bytes()).to_hex().to_string();
        Ok(serde_json::to_string_pretty(&Manifest { manifest_blake3: digest, ..bare })? + "\n")
    }

    pub fn file(&self, part: Part) -> Option<&PartEntry> {
        self.files.iter().find(|file| file.name == part)
    }

    /// The size of all files together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }
}

impl PartEntry {
    /// Whether size and digest match.
    pub(super) fn is(&self, bytes: u64, digest: Hash) -> bool {
        self.bytes == bytes && Hash::from_hex(&self.blake3).is_ok_and(|known| known == digest)
    }
}
