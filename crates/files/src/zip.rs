//! ZIP archives of tables: stored or deflated files, listed in the directory at the end.
//!
//! Nothing is unpacked to the disk. An archive is refused before anything is read if its directory
//! exceeds the limits below, has overlapping files, or is incomplete; and while it is read, if a
//! file differs from its directory entry.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::read::DeflateDecoder;

/// The most files an archive may have.
const ENTRIES_MAX: usize = 10_000;
/// The largest directory that is read: room for that many long names.
const DIRECTORY_MAX: u64 = 8 << 20;
/// Tables shrink to a fifth or a tenth. Deflate itself cannot do more than about a thousand.
pub(crate) const RATIO_MAX: u64 = 200;
/// Below this, no ratio is suspicious.
const RATIO_FROM: u64 = 1 << 20;
/// All files of an archive together.
const UNPACKED_MAX: u64 = 64 << 30;
const END_LENGTH: usize = 22;
const HEADER_LENGTH: usize = 46;
const LOCAL_LENGTH: u64 = 30;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("cannot read: {0}")]
    Read(#[from] io::Error),
    #[error("not readable as a ZIP archive: {0}")]
    Broken(&'static str),
    #[error("a spreadsheet: save it as CSV")]
    Spreadsheet,
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
    #[error("a ZIP archive in which {0:?} is packed in a way that is not read: unpack it")]
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
    method: u16,
    is_encrypted: bool,
    crc: u32,
    /// Bytes in the archive.
    pub packed: u64,
    /// Bytes of the file itself, according to the directory.
    pub size: u64,
    at: u64,
}

/// The files of an archive that are tables, by name.
pub(crate) fn tables(file: &mut File) -> Result<Vec<Entry>, ArchiveError> {
    let mut entries = entries(file)?;
    if entries.iter().any(|entry| entry.name == "[Content_Types].xml") {
        return Err(ArchiveError::Spreadsheet);
    }
    entries.retain(|entry| is_table(&entry.name));
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    if entries.is_empty() { Err(ArchiveError::NoTables) } else { Ok(entries) }
}

fn is_table(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or_default();
    // Metadata files of macOS.
    let is_hidden = last.starts_with('.') || lower.starts_with("__macosx/");
    // Names become part of a path that is shown and looked up here: nothing may lead out of the
    // archive.
    let is_plain = name.split('/').all(|part| !matches!(part, "" | "." | ".."))
        && !name.chars().any(|letter| letter == '\\' || letter.is_control());
    is_plain && !is_hidden && [".csv", ".tsv", ".txt"].iter().any(|ending| last.ends_with(ending))
}

/// Everything the directory lists, after validation.
fn entries(file: &mut File) -> Result<Vec<Entry>, ArchiveError> {
    let length = file.metadata()?.len();
    let (count, size, at) = directory(file, length)?;
    if count > ENTRIES_MAX {
        return Err(ArchiveError::Entries(count));
    }
    if size > DIRECTORY_MAX || at.checked_add(size).is_none_or(|end| end > length) {
        return Err(ArchiveError::Broken("its directory is not where it should be"));
    }
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.by_ref().take(size).read_to_end(&mut bytes)?;
    let mut left = bytes.as_slice();
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let (entry, rest) = entry(left)?;
        left = rest;
        entries.push(entry);
    }
    check(&mut entries, at)?;
    Ok(entries)
}

/// The number of files and the position of their directory, from the end record of the archive,
/// after which there may be a comment.
fn directory(file: &mut File, length: u64) -> Result<(usize, u64, u64), ArchiveError> {
    let tail = length.min(END_LENGTH as u64 + u64::from(u16::MAX));
    file.seek(SeekFrom::Start(length - tail))?;
    let mut bytes = Vec::new();
    file.by_ref().take(tail).read_to_end(&mut bytes)?;
    let end = bytes.windows(END_LENGTH).rev().find(|window| window.starts_with(b"PK\x05\x06"));
    let end = end.ok_or(ArchiveError::Broken("it has no end"))?;
    let (count, size, at) = (short(end, 10), long(end, 12), long(end, 16));
    if count == u16::MAX || size == u32::MAX || at == u32::MAX {
        return Err(ArchiveError::Large);
    }
    if short(end, 4) != 0 || short(end, 6) != 0 {
        return Err(ArchiveError::Broken("it is one of several parts"));
    }
    Ok((usize::from(count), size.into(), at.into()))
}

fn entry(bytes: &[u8]) -> Result<(Entry, &[u8]), ArchiveError> {
    const CUT: ArchiveError = ArchiveError::Broken("its directory is cut short");
    let header = bytes.get(..HEADER_LENGTH).filter(|header| header.starts_with(b"PK\x01\x02")).ok_or(CUT)?;
    let name_end = HEADER_LENGTH + usize::from(short(header, 28));
    let end = name_end + usize::from(short(header, 30)) + usize::from(short(header, 32));
    let name = bytes.get(HEADER_LENGTH..name_end).ok_or(CUT)?;
    let rest = bytes.get(end..).ok_or(CUT)?;
    let (packed, size, at) = (long(header, 20), long(header, 24), long(header, 42));
    if packed == u32::MAX || size == u32::MAX || at == u32::MAX {
        return Err(ArchiveError::Large);
    }
    let entry = Entry {
        name: String::from_utf8_lossy(name).into_owned(),
        method: short(header, 10),
        is_encrypted: short(header, 8) & 1 != 0,
        crc: long(header, 16),
        packed: packed.into(),
        size: size.into(),
        at: at.into(),
    };
    Ok((entry, rest))
}

/// How much a file may unpack to, by its packed size.
pub(crate) fn unpacked_max(packed: u64) -> u64 {
    packed.saturating_mul(RATIO_MAX).clamp(RATIO_FROM, UNPACKED_MAX)
}

/// No file may exceed the limits, nor overlap with another: both are decompression bombs.
fn check(entries: &mut [Entry], directory: u64) -> Result<(), ArchiveError> {
    let unpacked: u64 = entries.iter().map(|entry| entry.size).sum();
    if unpacked > UNPACKED_MAX {
        return Err(ArchiveError::Unpacked(unpacked));
    }
    if let Some(entry) = entries.iter().find(|entry| entry.size > unpacked_max(entry.packed)) {
        let times = entry.size / entry.packed.max(1);
        return Err(ArchiveError::Ratio { name: entry.name.clone(), times });
    }
    entries.sort_by_key(|entry| entry.at);
    let ends = entries.iter().map(|entry| entry.at + LOCAL_LENGTH + entry.packed);
    let begins = entries.iter().skip(1).map(|entry| entry.at).chain([directory]);
    if ends.zip(begins).any(|(end, next)| end > next) {
        return Err(ArchiveError::Broken("its files overlap"));
    }
    Ok(())
}

impl Entry {
    /// The unpacked bytes of this file. `counted` wraps the reader of the archive.
    pub(crate) fn open<R: Read + Send + 'static>(
        &self,
        mut file: File,
        counted: impl FnOnce(io::Take<File>) -> R,
    ) -> Result<Box<dyn Read + Send>, ArchiveError> {
        if self.is_encrypted {
            return Err(ArchiveError::Password(self.name.clone()));
        }
        file.seek(SeekFrom::Start(self.at))?;
        let mut header = Vec::new();
        file.by_ref().take(LOCAL_LENGTH).read_to_end(&mut header)?;
        if !header.starts_with(b"PK\x03\x04") || header.len() as u64 != LOCAL_LENGTH {
            return Err(ArchiveError::Broken("a file is not where the directory says"));
        }
        let data = self.at + LOCAL_LENGTH + u64::from(short(&header, 26)) + u64::from(short(&header, 28));
        file.seek(SeekFrom::Start(data))?;
        let packed = BufReader::new(counted(file.take(self.packed)));
        let inner: Box<dyn Read + Send> = match self.method {
            0 => Box::new(packed),
            8 => Box::new(DeflateDecoder::new(packed)),
            _ => return Err(ArchiveError::Method(self.name.clone())),
        };
        Ok(Box::new(EntryReader { inner, crc: Crc::new(), read: 0, entry: self.clone() }))
    }
}

/// Reads a file of an archive, and verifies it against its directory entry.
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
            return Err(wrong("the ZIP archive is damaged: a file is not what its directory says"));
        }
        self.read += read as u64;
        if self.read > self.entry.size {
            return Err(wrong("the ZIP archive is damaged: a file is longer than its directory says"));
        }
        self.crc.update(buffer.get(..read).unwrap_or_default());
        Ok(read)
    }
}

/// Two bytes at an offset, zero beyond the end.
fn short(bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..at + 2) {
        Some(&[a, b]) => u16::from_le_bytes([a, b]),
        _ => 0,
    }
}

fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from(short(bytes, at)) | u32::from(short(bytes, at + 2)) << 16
}
