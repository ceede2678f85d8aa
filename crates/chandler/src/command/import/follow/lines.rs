//! Reads the complete lines of a growing file or of standard input, and identifies positions in a
//! file.

use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use history::ingest::fingerprint;
use serde_json::{Value, json};

use crate::failure::Failure;

/// Pause at the end of a file before the next read.
const PAUSE: Duration = Duration::from_millis(50);
/// Number of bytes before a position that identify the file.
const TAIL_BYTES: u64 = 4 << 10;

/// A complete line, and the position after it.
pub(super) enum Piece {
    Line(String, u64),
    /// The file is read from its beginning.
    Restarted,
}

#[cfg(unix)]
fn device(data: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::dev(data)
}

#[cfg(unix)]
fn inode(data: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(data)
}

#[cfg(not(unix))]
fn device(_: &Metadata) -> u64 {
    0
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// Returns a value that identifies an offset in a file, by the device, the inode, the offset and a
/// hash of the preceding bytes.
pub(super) fn position(path: &Path, offset: u64) -> Result<Value, Failure> {
    let mut file = File::open(path)?;
    let data = file.metadata()?;
    let from = offset.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    file.take(offset - from).read_to_end(&mut tail)?;
    let hash = fingerprint(&tail);
    Ok(json!({"device": device(&data), "inode": inode(&data), "offset": offset, "hash": hash}))
}

/// Returns the offset of a position, or `None` if the file was replaced or the bytes before the
/// offset have changed.
pub(super) fn known_offset(path: &Path, known: &Value) -> Result<Option<u64>, Failure> {
    let offset = known.get("offset").and_then(Value::as_u64).unwrap_or_default();
    let is_same = offset > 0 && path.exists() && position(path, offset)? == *known;
    Ok(is_same.then_some(offset))
}

pub(super) fn read_input(sender: &SyncSender<Piece>) {
    let mut end = 0;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        end += line.len() as u64 + 1;
        if sender.send(Piece::Line(line, end)).is_err() {
            return;
        }
    }
}

/// Sends the lines of a growing file until `stop` is set. A file that was truncated or replaced is
/// read from its beginning.
pub(super) fn read_file(path: &Path, mut at: u64, stop: &AtomicBool, sender: &SyncSender<Piece>) {
    let mut open: Option<(u64, BufReader<File>)> = None;
    while !stop.load(Ordering::Relaxed) {
        let Ok(found) = std::fs::metadata(path) else {
            std::thread::sleep(PAUSE);
            continue;
        };
        let is_other = open.as_ref().is_some_and(|(known, _)| *known != inode(&found));
        if is_other || found.len() < at {
            (open, at) = (None, 0);
            if sender.send(Piece::Restarted).is_err() {
                return;
            }
        }
        if open.is_none() {
            let Ok(mut file) = File::open(path) else { continue };
            if file.seek(SeekFrom::Start(at)).is_err() {
                return;
            }
            open = Some((inode(&found), BufReader::new(file)));
        }
        let Some((_, reader)) = &mut open else { continue };
        let mut line = Vec::new();
        let read = reader.read_until(b'\n', &mut line).unwrap_or_default();
        if line.last() != Some(&b'\n') {
            // An incomplete line is read again when the file has grown.
            if reader.seek_relative(-i64::try_from(read).unwrap_or_default()).is_err() {
                return;
            }
            std::thread::sleep(PAUSE);
            continue;
        }
        at += read as u64;
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if sender.send(Piece::Line(text, at)).is_err() {
            return;
        }
    }
}
