//! The manifest of a backup. Parsing is strict: a manifest is rejected if serializing it again does
//! not give the same bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use blake3::Hash;
use serde::{Deserialize, Serialize};

use super::BackupError;
use crate::engine::StoreError;

pub(super) const FILE: &str = "MANIFEST.json";
/// Manifest format version. Incremented when older programs could misread a backup.
const FORMAT: u32 = 1;
/// Maximum size of a manifest, in bytes. Actual manifests are far smaller.
const BYTES_MAX: u64 = 65_536;

/// A file of a backup. The set is closed, so that a name in a manifest cannot refer to another
/// path.
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
    /// BLAKE3 digest in hexadecimal.
    pub blake3: String,
    /// Schema version; `None` for the key.
    pub schema: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    pub series: u64,
    pub blocks: u64,
    pub candles: u64,
    pub accounts: u64,
    /// Omitted if zero, so that manifests written before trades existed still serialize to the same
    /// bytes.
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
    /// Version of the program that made the backup.
    pub chandler: String,
    /// Wall-clock time in RFC 3339.
    pub created_at: String,
    pub files: Vec<PartEntry>,
    /// Digest of the key that encrypts app secrets, even if the key is not included. The key is
    /// random, so the digest reveals nothing.
    pub key_blake3: Option<String>,
    pub counts: Counts,
    /// BLAKE3 digest of all other fields, in hexadecimal.
    pub manifest_blake3: String,
}

/// The only field that all manifest formats share.
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

    /// Reads and verifies the manifest of a backup. Does not read the other files.
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
            return Err(wrong("it has been modified"));
        }
        let names: Vec<Part> = manifest.files.iter().map(|file| file.name).collect();
        if !names.is_sorted_by(|one, next| one < next) || names.first() != Some(&Part::Candles) {
            return Err(wrong("its files do not form a store"));
        }
        Ok(manifest)
    }

    /// Serializes the manifest, including its own digest.
    pub(super) fn text(&self) -> serde_json::Result<String> {
        let bare = Manifest { manifest_blake3: String::new(), ..self.clone() };
        let digest = blake3::hash(serde_json::to_string(&bare)?.as_bytes()).to_hex().to_string();
        Ok(serde_json::to_string_pretty(&Manifest { manifest_blake3: digest, ..bare })? + "\n")
    }

    pub fn file(&self, part: Part) -> Option<&PartEntry> {
        self.files.iter().find(|file| file.name == part)
    }

    /// Returns the total size of all files, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }
}

impl PartEntry {
    /// Returns whether the size and digest match this entry.
    pub(super) fn is(&self, bytes: u64, digest: Hash) -> bool {
        self.bytes == bytes && Hash::from_hex(&self.blake3).is_ok_and(|known| known == digest)
    }
}
