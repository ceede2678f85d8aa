//! The bytes around the columns: header, constants, session runs, page directory and checksum. All
//! numbers are little-endian; `docs/block-format.md` specifies the layout.

use std::ops::Range;

use market::Session;

use crate::column::Kind;
use crate::residual::{COLUMNS, Guess, Mean, SHIFT_MAX, Units};
use crate::{BlockError, PAGE_ROWS_MAX, ROWS_MAX};

const MAGIC: [u8; 4] = *b"CNDL";
const VERSION: u8 = 1;
/// Number of the only supported codec: pco's wrapped format in plain mode, without deltas.
pub(crate) const CODEC: u8 = 1;
const CHECKSUM_BYTES: usize = 4;
const RUN_BYTES: usize = 3;
const ENTRY_BYTES: usize = 20;
/// Major version that the codec's header must have.
pub(crate) const CODEC_MAJOR: u8 = 4;

/// Header of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) rows: usize,
    pub(crate) page_rows: usize,
    pub(crate) first_time: i64,
    pub(crate) last_time: i64,
    pub(crate) units: Units,
    pub(crate) guess: Guess,
    pub(crate) codec_version: [u8; 2],
    pub(crate) kinds: [Kind; COLUMNS],
    pub(crate) constants: [i64; COLUMNS],
}

/// Directory entry of a page: the end of its bytes, and the values from which its first row is
/// decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// End of the page's bytes, relative to the end of the column tables.
    pub(crate) end: usize,
    pub(crate) first_time: i64,
    /// Close of the row before the page, in price units.
    pub(crate) previous_close: i64,
}

/// A parsed block whose columns are not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'a> {
    pub(crate) header: Header,
    runs: &'a [u8],
    directory: &'a [u8],
    /// Column tables, followed by the pages.
    pub(crate) body: &'a [u8],
}

impl Header {
    pub(crate) fn pages(&self) -> usize {
        self.rows.div_ceil(self.page_rows)
    }

    /// Returns the row range of a page.
    pub(crate) fn page(&self, page: usize) -> Range<usize> {
        let start = page * self.page_rows;
        start..(start + self.page_rows).min(self.rows)
    }

    /// Appends the header to `out`. [`seal`] fills in the length later.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&[VERSION, CODEC]);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&(self.rows as u16).to_le_bytes());
        out.extend_from_slice(&(self.page_rows as u16).to_le_bytes());
        out.extend_from_slice(&self.first_time.to_le_bytes());
        out.extend_from_slice(&self.last_time.to_le_bytes());
        out.extend_from_slice(&self.units.time.to_le_bytes());
        out.extend_from_slice(&self.units.price.to_le_bytes());
        out.extend_from_slice(&self.units.volume.to_le_bytes());
        out.extend_from_slice(&self.units.turnover.to_le_bytes());
        out.extend_from_slice(&[self.guess.mean.code(), self.guess.shift]);
        out.extend_from_slice(&self.guess.factor.to_le_bytes());
        out.extend_from_slice(&self.codec_version);
        out.extend_from_slice(&self.kinds.map(Kind::code));
        for (kind, constant) in self.kinds.iter().zip(self.constants) {
            if kind.has_constant() {
                out.extend_from_slice(&constant.to_le_bytes());
            }
        }
    }

    fn read(bytes: &mut Cursor<'_>) -> Result<Header, BlockError> {
        let rows = usize::from(u16::from_le_bytes(bytes.take()?));
        let page_rows = usize::from(u16::from_le_bytes(bytes.take()?));
        let first_time = i64::from_le_bytes(bytes.take()?);
        let last_time = i64::from_le_bytes(bytes.take()?);
        let units = Units {
            time: u64::from_le_bytes(bytes.take()?),
            price: i64::from_le_bytes(bytes.take()?),
            volume: i64::from_le_bytes(bytes.take()?),
            turnover: i64::from_le_bytes(bytes.take()?),
        };
        let [mean, shift] = bytes.take()?;
        let factor = u64::from_le_bytes(bytes.take()?);
        let codec_version = bytes.take()?;
        let mut kinds = [Kind::Zero; COLUMNS];
        for (kind, code) in kinds.iter_mut().zip(bytes.take::<COLUMNS>()?) {
            *kind = Kind::from_code(code).ok_or(BlockError::Malformed("a column of an unknown kind"))?;
        }
        let mut constants = [0; COLUMNS];
        for (constant, _) in constants.iter_mut().zip(kinds).filter(|(_, kind)| kind.has_constant()) {
            *constant = i64::from_le_bytes(bytes.take()?);
        }
        let mean = Mean::from_code(mean).ok_or(BlockError::Malformed("an unknown guess at turnovers"))?;
        let guess = Guess { mean, factor, shift };
        let header =
            Header { rows, page_rows, first_time, last_time, units, guess, codec_version, kinds, constants };
        header.check()
    }

    fn check(self) -> Result<Header, BlockError> {
        let units = &self.units;
        if !(1..=ROWS_MAX).contains(&self.rows) || !(1..=PAGE_ROWS_MAX).contains(&self.page_rows) {
            return Err(BlockError::Malformed("the number of rows is out of range"));
        }
        if units.time == 0 || units.price <= 0 || units.volume <= 0 || units.turnover <= 0 {
            return Err(BlockError::Malformed("a unit is not above zero"));
        }
        if self.first_time > self.last_time || (self.first_time == self.last_time) != (self.rows == 1) {
            return Err(BlockError::Malformed("the first time is not before the last"));
        }
        if self.guess.shift > SHIFT_MAX || self.codec_version.first() != Some(&CODEC_MAJOR) {
            return Err(BlockError::Malformed("a field of the codec is out of range"));
        }
        Ok(self)
    }
}

/// Appends the sessions to `out` with run-length encoding: the number of runs, followed by the
/// session code and length of each run.
pub(crate) fn write_sessions(sessions: &[Session], out: &mut Vec<u8>) {
    let runs = || sessions.chunk_by(|a, b| a == b);
    out.extend_from_slice(&(runs().count() as u16).to_le_bytes());
    for run in runs() {
        out.extend(run.first().map(|session| session.code()));
        out.extend_from_slice(&(run.len() as u16).to_le_bytes());
    }
}

pub(crate) fn write_directory(entries: impl Iterator<Item = Entry>, out: &mut Vec<u8>) {
    for entry in entries {
        out.extend_from_slice(&(entry.end as u32).to_le_bytes());
        out.extend_from_slice(&entry.first_time.to_le_bytes());
        out.extend_from_slice(&entry.previous_close.to_le_bytes());
    }
}

/// Fills in the length field of the header, and appends the checksum.
pub(crate) fn seal(block: &mut Vec<u8>) {
    let length = ((block.len() + CHECKSUM_BYTES) as u32).to_le_bytes();
    for (byte, length) in block.iter_mut().skip(MAGIC.len() + 2).zip(length) {
        *byte = length;
    }
    let checksum = crc32fast::hash(block);
    block.extend_from_slice(&checksum.to_le_bytes());
}

/// Whether the checksum is verified. Only fuzzers and tests skip the verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    Full,
    AllButChecksum,
}

/// Verifies the magic, version, codec, length and checksum of a block. Returns a cursor over the
/// bytes between the length field and the checksum.
pub(crate) fn sealed(
    bytes: &[u8],
    magic: [u8; 4],
    known: u8,
    check: Check,
) -> Result<Cursor<'_>, BlockError> {
    let mut cursor = Cursor(bytes);
    if cursor.take().ok() != Some(magic) {
        return Err(BlockError::Magic);
    }
    let [version, codec] = cursor.take()?;
    if version != known {
        return Err(BlockError::Version(version));
    }
    if codec != CODEC {
        return Err(BlockError::Codec(codec));
    }
    let expected = u32::from_le_bytes(cursor.take()?) as usize;
    if expected != bytes.len() {
        return Err(BlockError::Length { expected, found: bytes.len() });
    }
    let (sealed, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().ok_or(CUT_SHORT)?;
    if check == Check::Full && crc32fast::hash(sealed) != u32::from_le_bytes(*checksum) {
        return Err(BlockError::Checksum);
    }
    let (rest, _) = cursor.0.split_last_chunk::<CHECKSUM_BYTES>().ok_or(CUT_SHORT)?;
    Ok(Cursor(rest))
}

impl<'a> Layout<'a> {
    pub(crate) fn parse(bytes: &'a [u8], check: Check) -> Result<Layout<'a>, BlockError> {
        let mut cursor = sealed(bytes, MAGIC, VERSION, check)?;
        let header = Header::read(&mut cursor)?;
        let runs = usize::from(u16::from_le_bytes(cursor.take()?));
        let runs = cursor.slice(runs * RUN_BYTES)?;
        let directory = cursor.slice(header.pages() * ENTRY_BYTES)?;
        Layout { header, runs, directory, body: cursor.0 }.check()
    }

    fn check(self) -> Result<Layout<'a>, BlockError> {
        let mut rows = 0;
        for run in self.runs.chunks_exact(RUN_BYTES) {
            let (session, length) = read_run(run).ok_or(BlockError::Malformed("an unknown session"))?;
            rows += length;
            if length == 0 || session.is_none() {
                return Err(BlockError::Malformed("an empty run, or an unknown session"));
            }
        }
        if rows != self.header.rows {
            return Err(BlockError::Malformed("the number of sessions differs from the number of rows"));
        }
        let mut before: Option<Entry> = None;
        for entry in self.entries() {
            let ascends = match before {
                None => entry.first_time == self.header.first_time,
                Some(before) => before.end <= entry.end && before.first_time < entry.first_time,
            };
            if !ascends || entry.end > self.body.len() || entry.first_time > self.header.last_time {
                return Err(BlockError::Malformed("the page directory does not ascend"));
            }
            before = Some(entry);
        }
        Ok(self)
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.directory.chunks_exact(ENTRY_BYTES).filter_map(|bytes| {
            let (end, rest) = bytes.split_first_chunk()?;
            let (first_time, rest) = rest.split_first_chunk()?;
            let (previous_close, _) = rest.split_first_chunk()?;
            Some(Entry {
                end: u32::from_le_bytes(*end) as usize,
                first_time: i64::from_le_bytes(*first_time),
                previous_close: i64::from_le_bytes(*previous_close),
            })
        })
    }

    /// Returns the bytes of all pages, or `None` if the directory has no entry or the body is too
    /// short. The last page ends at the end of the body, so the column tables need not be parsed to
    /// find the first page.
    pub(crate) fn pages(&self) -> Option<&'a [u8]> {
        let length = self.entries().last()?.end;
        self.body.get(self.body.len().checked_sub(length)?..)
    }

    /// Appends the sessions of `rows` to `out`.
    pub(crate) fn sessions(&self, rows: Range<usize>, out: &mut Vec<Session>) {
        let mut start = 0;
        for (session, length) in self.runs.chunks_exact(RUN_BYTES).filter_map(read_run) {
            let end = start + length;
            let wanted = rows.end.min(end).saturating_sub(rows.start.max(start));
            out.extend(std::iter::repeat_n(session.unwrap_or_default(), wanted));
            start = end;
        }
    }
}

fn read_run(bytes: &[u8]) -> Option<(Option<Session>, usize)> {
    let &[code, low, high] = bytes else { return None };
    Some((Session::from_code(code), usize::from(u16::from_le_bytes([low, high]))))
}

const CUT_SHORT: BlockError = BlockError::Malformed("the bytes end early");

/// Reads values from the front of a byte slice.
pub(crate) struct Cursor<'a>(pub(crate) &'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) fn take<const N: usize>(&mut self) -> Result<[u8; N], BlockError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CUT_SHORT)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], BlockError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT_SHORT)?;
        self.0 = rest;
        Ok(taken)
    }
}
