//! Reads a file's bytes and lines. The file type is detected by content.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::archive::{self, ArchiveError, Entry};
use crate::encoding::decoded;
use crate::not_a_table;
use crate::workbook;
use crate::{FileError, LINE_MAX, Problem};

/// Number of bytes read from the file so far, before decompression.
#[derive(Clone, Debug, Default)]
pub(crate) struct Consumed(Arc<AtomicU64>);

impl Consumed {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Counted<R> {
    inner: R,
    consumed: Consumed,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.consumed.0.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// An opened file, by its detected type.
pub(crate) enum Source {
    Text(Lines),
    Parquet(File),
}

/// Returns the tables at a path: for a ZIP archive a path like `archive.zip/prices.csv` for each,
/// otherwise the path itself.
pub fn tables_in(path: &Path) -> Result<Vec<PathBuf>, FileError> {
    let list = || -> Result<Vec<PathBuf>, Problem> {
        if !path.is_file() {
            return Ok(vec![path.to_owned()]);
        }
        let mut file = File::open(path)?;
        if !begins_as_zip(&first_bytes(&mut file)?) || workbook::entries_of(&file)?.is_some() {
            return Ok(vec![path.to_owned()]);
        }
        Ok(archive::tables(&file)?.iter().map(|entry| path.join(&entry.name)).collect())
    };
    list().map_err(|problem| problem.at(path))
}

/// Opens a file, or a file in a ZIP archive, for reading.
pub fn read_bytes(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    match in_archive(path) {
        None => Ok(Box::new(File::open(path)?)),
        Some(found) => {
            let (file, entry) = found.map_err(io::Error::other)?;
            entry.open(file, |packed| packed).map_err(io::Error::other)
        }
    }
}

/// Returns the archive and the entry of a path like `archive.zip/prices.csv`, or `None` for other
/// paths.
fn in_archive(path: &Path) -> Option<Result<(File, Entry), ArchiveError>> {
    if path.exists() {
        return None;
    }
    let archive = path.ancestors().skip(1).find(|above| above.is_file())?;
    let name = path.strip_prefix(archive).ok()?.to_string_lossy().into_owned();
    let find = || -> Result<(File, Entry), ArchiveError> {
        let file = File::open(archive)?;
        let entry = archive::tables(&file)?.into_iter().find(|entry| entry.name == name);
        Ok((file, entry.ok_or(ArchiveError::Absent(name))?))
    };
    Some(find())
}

fn first_bytes(file: &mut File) -> io::Result<Vec<u8>> {
    let mut magic = Vec::with_capacity(16);
    file.by_ref().take(16).read_to_end(&mut magic)?;
    file.rewind()?;
    Ok(magic)
}

/// Returns whether the bytes begin with the signature of a ZIP archive, including that of an empty
/// archive.
fn begins_as_zip(magic: &[u8]) -> bool {
    magic.starts_with(b"PK\x03\x04") || magic.starts_with(b"PK\x05\x06")
}

/// Opens a table in an archive.
fn open_entry(path: &Path, file: File, entry: &Entry) -> Result<(Source, u64), Problem> {
    let consumed = Consumed::default();
    let reader = entry.open(file, |inner| Counted { inner, consumed: consumed.clone() })?;
    Ok((Source::Text(text_lines(path, reader, consumed)?), entry.packed))
}

/// Opens a sheet of a workbook. The position of its reader includes the workbook's other parts.
fn open_workbook(file: &File, entries: &[Entry], bytes: u64) -> Result<(Source, u64), Problem> {
    let consumed = Consumed::default();
    let sheet = workbook::open(file, entries, |inner| Counted { inner, consumed: consumed.clone() })?;
    let mut lines = Lines::new(sheet.text, consumed);
    lines.notes.push(sheet.note);
    lines.fill()?;
    Ok((Source::Text(lines), bytes))
}

/// Opens a file and detects its type by its first bytes, because extensions are unreliable: many
/// downloads are named `.csv` regardless of their content. Returns the source and its size on disk
/// in bytes.
pub(crate) fn open_source(path: &Path) -> Result<(Source, u64), Problem> {
    if let Some(found) = in_archive(path) {
        let (file, entry) = found?;
        return open_entry(path, file, &entry);
    }
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Problem::NotATable("not a file".to_owned()));
    }
    let magic = first_bytes(&mut file)?;
    let named_parquet = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet"));
    if magic.starts_with(b"PAR1") {
        return Ok((Source::Parquet(file), metadata.len()));
    }
    if magic.is_empty() {
        return Err(Problem::Empty);
    }
    if named_parquet {
        return Err(Problem::Parquet("it does not start like a Parquet file".to_owned()));
    }
    if begins_as_zip(&magic) {
        if let Some(entries) = workbook::entries_of(&file)? {
            return open_workbook(&file, &entries, metadata.len());
        }
        return match archive::tables(&file)?.as_slice() {
            [only] => open_entry(path, file, only),
            several => Err(ArchiveError::Several(several.len()).into()),
        };
    }
    if let Some(what) = not_a_table::format_of(&magic) {
        return Err(refuse(what));
    }
    let consumed = Consumed::default();
    let counted = Counted { inner: file, consumed: consumed.clone() };
    let reader: Box<dyn Read + Send> = match magic.as_slice() {
        [0x1f, 0x8b, ..] => {
            let inner = flate2::read::MultiGzDecoder::new(io::BufReader::new(counted));
            Box::new(Inflated::new(inner, metadata.len()))
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            Box::new(Inflated::new(zstd::stream::read::Decoder::new(counted)?, metadata.len()))
        }
        _ => Box::new(counted),
    };
    Ok((Source::Text(text_lines(path, reader, consumed)?), metadata.len()))
}

/// Reader of a decompressed file, with the same limits against decompression bombs as for archives.
struct Inflated<R> {
    inner: R,
    left: u64,
}

impl<R> Inflated<R> {
    fn new(inner: R, packed: u64) -> Inflated<R> {
        Inflated { inner, left: archive::unpacked_max(packed) }
    }
}

impl<R: Read> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let limit = archive::RATIO_MAX;
            io::Error::new(
                io::ErrorKind::InvalidData,
                format!("it unpacks to more than {limit} times its size; unpack it first if it is meant"),
            )
        })?;
        Ok(read)
    }
}

fn text_lines(path: &Path, reader: Box<dyn Read + Send>, consumed: Consumed) -> Result<Lines, Problem> {
    let decoded = decoded(reader)?;
    let mut lines = Lines::new(decoded.text, consumed);
    lines.notes.extend(decoded.encoding.map(|name| format!("the text is in {name} and was decoded")));
    lines.fill()?;
    let head = lines.buffered().get(..lines.buffered().len().min(4096)).unwrap_or_default();
    if head.is_empty() {
        return Err(Problem::Empty);
    }
    // Tables contain no NUL bytes.
    if head.contains(&0) {
        return Err(refuse(not_a_table::binary(path)));
    }
    match not_a_table::text_format_of(&String::from_utf8_lossy(head)) {
        Some(what) => Err(refuse(what)),
        None => Ok(lines),
    }
}

fn refuse(what: &str) -> Problem {
    Problem::NotATable(what.to_owned())
}

const BUFFER: usize = 256 * 1024;
const _: () = assert!(BUFFER > 2 * LINE_MAX);

/// Reads a text line by line, with one fixed buffer.
pub(crate) struct Lines {
    reader: Box<dyn Read + Send>,
    consumed: Consumed,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    ended: bool,
    number: u64,
    /// Offset of the last returned line in the buffer.
    line_start: usize,
    /// Notes for the user about how the text was found in the file.
    pub(crate) notes: Vec<String>,
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Lines {
    fn new(reader: Box<dyn Read + Send>, consumed: Consumed) -> Lines {
        let buffer = vec![0; BUFFER].into_boxed_slice();
        Lines {
            reader,
            consumed,
            buffer,
            start: 0,
            end: 0,
            ended: false,
            number: 0,
            line_start: 0,
            notes: Vec::new(),
        }
    }

    /// Returns the number of the last returned line, starting at 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of bytes read from the file, including bytes that are still buffered.
    pub(crate) fn consumed(&self) -> u64 {
        self.consumed.get()
    }

    fn buffered(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Puts back the last returned line. Must not be called twice in a row.
    pub(crate) fn unread(&mut self) {
        self.start = self.line_start;
        self.number = self.number.saturating_sub(1);
    }

    /// Returns the complete buffered lines that have not been returned yet, with their numbers.
    pub(crate) fn upcoming(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let buffered = self.buffered();
        let end = match buffered.iter().rposition(|byte| *byte == b'\n') {
            _ if self.ended => buffered.len(),
            Some(last) => last,
            None => 0,
        };
        let lines = buffered.get(..end).unwrap_or_default().split(|byte| *byte == b'\n');
        (self.number + 1..).zip(lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Returns whether the buffered text contains a quote.
    pub(crate) fn has_quotes(&self) -> bool {
        self.buffered().contains(&b'"')
    }

    /// Returns the next line without its line ending, or `None` at the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Problem> {
        let Some((from, until)) = self.advance()? else { return Ok(None) };
        let line = self.buffer.get(from..until).unwrap_or_default();
        let line =
            if self.number == 1 { line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line) } else { line };
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    fn advance(&mut self) -> Result<Option<(usize, usize)>, Problem> {
        loop {
            let found = find_newline(self.buffered());
            let length = match found {
                Some(at) => at,
                None if self.buffered().len() > LINE_MAX => LINE_MAX + 1,
                None if !self.ended => {
                    self.fill()?;
                    continue;
                }
                None if self.buffered().is_empty() => return Ok(None),
                None => self.buffered().len(),
            };
            self.number += 1;
            if length > LINE_MAX {
                return Err(Problem::LongLine(self.number));
            }
            let from = self.start;
            self.line_start = from;
            self.start = (from + length + usize::from(found.is_some())).min(self.end);
            return Ok(Some((from, from + length)));
        }
    }

    fn fill(&mut self) -> Result<(), Problem> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < BUFFER && !self.ended {
            let space = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.reader.read(space) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Problem::Read(error)),
            }
        }
        Ok(())
    }
}

/// Returns the index of the first newline, or `None` if there is none. Searches 16 bytes at a time,
/// which the compiler turns into a vector comparison.
fn find_newline(bytes: &[u8]) -> Option<usize> {
    let chunks = bytes.chunks_exact(16);
    let tail = chunks.remainder();
    let mut at = 0;
    for chunk in chunks {
        if chunk.iter().fold(false, |found, b| found | (*b == b'\n')) {
            return chunk.iter().position(|b| *b == b'\n').map(|within| at + within);
        }
        at += 16;
    }
    tail.iter().position(|b| *b == b'\n').map(|within| at + within)
}
