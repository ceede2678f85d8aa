//! ZIP archives of text tables. Files may be stored or deflated.
//!
//! Nothing is unpacked to disk. An archive is refused before any file is read if its directory is
//! incomplete, lists overlapping files or exceeds the limits below. Reading fails if a file differs
//! from its directory entry.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::read::{ArchiveOffset, Config, ZipFile};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// Maximum number of files in an archive.
const ENTRIES_MAX: usize = 10_000;
/// Maximum size of an archive's directory in bytes, enough for [`ENTRIES_MAX`] files with long
/// names.
const DIRECTORY_MAX: u64 = 8 << 20;
/// Maximum compression ratio. Tables compress 5 to 10 times; deflate allows about 1,000 times.
pub(crate) const RATIO_MAX: u64 = 200;
/// Unpacked size in bytes up to which the compression ratio is not limited.
const RATIO_FROM: u64 = 1 << 20;
/// Maximum total unpacked size of an archive, in bytes.
const UNPACKED_MAX: u64 = 64 << 30;
/// Number of bytes at the end of a file that are searched for the ZIP end record. Covers the range
/// that the `zip` crate searches: the end record, a comment of up to 64 KiB, and the ZIP64 locator
/// before the end record.
const TAIL_LENGTH: u64 = 1 << 17;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot read: {0}")]
    Read(#[from] io::Error),
    #[error("not readable as a ZIP archive: {0}")]
    Broken(&'static str),
    #[error("an office document without an XLSX sheet: save the table as XLSX or CSV")]
    OtherDocument,
    #[error("a ZIP archive of {0} files: at most {ENTRIES_MAX} are read")]
    Entries(usize),
    #[error("a ZIP archive of more than 4 GiB, or with more than 65535 files: unpack it")]
    Large,
    #[error(
        "a ZIP archive in which {name:?} would unpack to {times} times its size: at most {RATIO_MAX} times are read; unpack it if it is meant"
    )]
    Ratio { name: String, times: u64 },
    #[error("a ZIP archive that would unpack to {0} bytes: at most {UNPACKED_MAX} are read")]
    Unpacked(u64),
    #[error("a ZIP archive in which {0:?} has a password: unpack it")]
    Password(String),
    #[error("a ZIP archive in which {0:?} uses an unsupported compression: unpack it")]
    Method(String),
    #[error("a ZIP archive without CSV files: of those inside, .csv, .tsv and .txt are read")]
    NoTables,
    #[error("a ZIP archive of {0} tables: name one of them, like archive.zip/prices.csv")]
    Several(usize),
    #[error("the ZIP archive has no {0:?}")]
    Absent(String),
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub name: String,
    method: CompressionMethod,
    is_encrypted: bool,
    crc: u32,
    /// Compressed size in bytes.
    pub packed: u64,
    /// Uncompressed size in bytes, according to the directory.
    pub size: u64,
    /// Offset of the compressed data in the archive, in bytes.
    at: u64,
}

/// Returns the tables in an archive, sorted by name. Returns an error if there are none, or if the
/// archive is a document of an office program.
pub(crate) fn tables(file: &File) -> Result<Vec<Entry>, ArchiveError> {
    let mut entries = entries(file)?;
    let is_of_document = |entry: &Entry| matches!(entry.name.as_str(), "[Content_Types].xml" | "mimetype");
    if entries.iter().any(is_of_document) {
        return Err(ArchiveError::OtherDocument);
    }
    entries.retain(|entry| is_table(&entry.name));
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    if entries.is_empty() { Err(ArchiveError::NoTables) } else { Ok(entries) }
}

fn is_table(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or_default();
    // macOS adds metadata files.
    let is_hidden = last.starts_with('.') || lower.starts_with("__macosx/");
    // Names become part of a displayed path that is also used for lookups, so they must not contain
    // `..`.
    let is_plain = name.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !name.chars().any(|letter| letter == '\\' || letter.is_control());
    is_plain && !is_hidden && [".csv", ".tsv", ".txt"].iter().any(|ending| last.ends_with(ending))
}

/// Returns all entries of the directory after checking them against the limits.
pub(crate) fn entries(file: &File) -> Result<Vec<Entry>, ArchiveError> {
    if has_zip64_end(file)? {
        return Err(ArchiveError::Large);
    }
    let reader = Bounded { inner: BufReader::new(file), left: DIRECTORY_MAX };
    let mut archive = ZipArchive::with_config(Config { archive_offset: ArchiveOffset::Known(0) }, reader)?;
    if archive.len() > ENTRIES_MAX {
        return Err(ArchiveError::Entries(archive.len()));
    }
    if archive.has_overlapping_entries()? {
        return Err(ArchiveError::Broken("its files overlap"));
    }
    let mut entries = Vec::with_capacity(archive.len());
    for at in 0..archive.len() {
        entries.push(Entry::from(archive.by_index_raw(at)?));
    }
    check(&entries)?;
    Ok(entries)
}

/// Returns whether the archive has a ZIP64 end record. Such archives are refused, because the `zip`
/// crate reserves memory for the announced number of files, and only the original format limits
/// that number.
fn has_zip64_end(mut file: &File) -> io::Result<bool> {
    let tail = file.metadata()?.len().min(TAIL_LENGTH);
    file.seek(SeekFrom::End(-tail.cast_signed()))?;
    let mut bytes = Vec::new();
    file.take(tail).read_to_end(&mut bytes)?;
    Ok(bytes.windows(4).any(|four| four == b"PK\x06\x07"))
}

/// Reader that fails after [`DIRECTORY_MAX`] bytes.
struct Bounded<'a> {
    inner: BufReader<&'a File>,
    left: u64,
}

impl Read for Bounded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let left = self.left.checked_sub(read as u64);
        self.left = left.ok_or_else(|| io::Error::other("the directory of the ZIP archive is too large"))?;
        Ok(read)
    }
}

impl Seek for Bounded<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

impl From<ZipError> for ArchiveError {
    fn from(error: ZipError) -> ArchiveError {
        match error {
            ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => ArchiveError::Read(error),
            ZipError::InvalidArchive(reason) if reason == "Could not find EOCD" => {
                ArchiveError::Broken("it has no end")
            }
            _ => ArchiveError::Broken("its directory is damaged or truncated"),
        }
    }
}

impl<R: Read> From<ZipFile<'_, R>> for Entry {
    fn from(file: ZipFile<'_, R>) -> Entry {
        Entry {
            // Many programs write UTF-8 names without setting the UTF-8 flag.
            name: String::from_utf8_lossy(file.name_raw()).into_owned(),
            method: file.compression(),
            is_encrypted: file.encrypted(),
            crc: file.crc32(),
            packed: file.compressed_size(),
            size: file.size(),
            at: file.data_start().unwrap_or_default(),
        }
    }
}

/// Returns the maximum unpacked size of a file, in bytes, by its packed size.
pub(crate) fn unpacked_max(packed: u64) -> u64 {
    packed.saturating_mul(RATIO_MAX).clamp(RATIO_FROM, UNPACKED_MAX)
}

/// Returns an error if the archive is a decompression bomb, according to the sizes in its
/// directory.
fn check(entries: &[Entry]) -> Result<(), ArchiveError> {
    let unpacked = entries.iter().fold(0u64, |sum, entry| sum.saturating_add(entry.size));
    if unpacked > UNPACKED_MAX {
        return Err(ArchiveError::Unpacked(unpacked));
    }
    match entries.iter().find(|entry| entry.size > unpacked_max(entry.packed)) {
        None => Ok(()),
        Some(entry) => {
            let times = entry.size / entry.packed.max(1);
            Err(ArchiveError::Ratio { name: entry.name.clone(), times })
        }
    }
}

impl Entry {
    /// Returns a reader of the uncompressed file. `counted` wraps the reader of the compressed
    /// bytes.
    pub(crate) fn open<R: Read + Send + 'static>(
        &self,
        mut file: File,
        counted: impl FnOnce(io::Take<File>) -> R,
    ) -> Result<Box<dyn Read + Send>, ArchiveError> {
        if self.is_encrypted {
            return Err(ArchiveError::Password(self.name.clone()));
        }
        file.seek(SeekFrom::Start(self.at))?;
        let packed = BufReader::new(counted(file.take(self.packed)));
        let inner: Box<dyn Read + Send> = match self.method {
            CompressionMethod::Stored => Box::new(packed),
            CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(packed)),
            _ => return Err(ArchiveError::Method(self.name.clone())),
        };
        Ok(Box::new(EntryReader { inner, crc: Crc::new(), read: 0, entry: self.clone() }))
    }
}

/// Reads a file in an archive and verifies its size and checksum.
struct EntryReader {
    inner: Box<dyn Read + Send>,
    crc: Crc,
    read: u64,
    entry: Entry,
}

impl Read for EntryReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wrong = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason.to_owned());
        let read = self.inner.read(buffer)?;
        if read == 0 && !buffer.is_empty() && (self.read, self.crc.sum()) != (self.entry.size, self.entry.crc)
        {
            return Err(wrong("the ZIP archive is damaged: a file does not match its directory entry"));
        }
        self.read += read as u64;
        if self.read > self.entry.size {
            return Err(wrong(
                "the ZIP archive is damaged: a file is longer than its directory entry states",
            ));
        }
        self.crc.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}
