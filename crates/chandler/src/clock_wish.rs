//! Moves the stopped clock of a running server of the local store. This needs write access to the
//! folder of the store, like every operator command on the store: the command writes the wanted time
//! into a file, and the server replaces the file with an answer.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use market::Timestamp;
use serde::{Deserialize, Serialize};

/// How often the server looks for a wish. Only servers with a stopped clock do.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often a command looks for the answer, and how many times.
const WAIT: Duration = Duration::from_millis(50);
const WAITS_MAX: u32 = 1_200;
const FILE_MAX: usize = 4 << 10;

/// Paths of the files of a store.
#[derive(Clone, Debug)]
pub(crate) struct WishPath {
    wish: PathBuf,
    answer: PathBuf,
    lock: PathBuf,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Wish {
    /// Process that waits for the answer.
    by: u32,
    /// Unix seconds.
    to: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reply {
    by: u32,
    /// Why the clock was not moved.
    refused: Option<String>,
}

/// Why a wish was not fulfilled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WishError {
    #[error("cannot tell the server of this store: {0}")]
    File(#[from] io::Error),
    #[error("{0}")]
    Refused(String),
    #[error("the server of this store does not answer")]
    Silent,
}

impl WishPath {
    /// Returns the paths beside a store's clock file.
    pub(crate) fn beside(note: &Path) -> WishPath {
        let named = |ending: &str| note.with_extension(ending);
        WishPath { wish: named("wish"), answer: named("answer"), lock: named("wish.lock") }
    }

    /// Asks the running server to move its clock, and waits until it has.
    pub(crate) fn ask(&self, to: Timestamp) -> Result<(), WishError> {
        // One command at a time.
        let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&self.lock)?;
        lock.lock()?;
        let by = std::process::id();
        write(&self.wish, &Wish { by, to: to.0 })?;
        for _ in 0..WAITS_MAX {
            if let Some(reply) = read::<Reply>(&self.answer).filter(|reply| reply.by == by) {
                remove(&self.answer)?;
                return reply.refused.map_or(Ok(()), |text| Err(WishError::Refused(text)));
            }
            thread::sleep(WAIT);
        }
        remove(&self.wish)?;
        Err(WishError::Silent)
    }

    /// Fulfils a wish, if there is one.
    pub(crate) fn serve(&self, move_to: impl FnOnce(Timestamp) -> Result<(), String>) -> io::Result<()> {
        let Some(wish) = read::<Wish>(&self.wish) else { return Ok(()) };
        // The wish is removed first, so that it is never fulfilled twice.
        remove(&self.wish)?;
        let refused = move_to(Timestamp(wish.to)).err();
        write(&self.answer, &Reply { by: wish.by, refused })
    }
}

/// Reads a file. `None` if it is missing or cannot be parsed.
fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Option<T> {
    let file = File::open(path).ok()?;
    let mut text = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, FILE_MAX as u64), &mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Replaces a file atomically.
fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let partial = path.with_added_extension(format!("{}.partial", std::process::id()));
    std::fs::write(&partial, serde_json::to_vec(value)?)?;
    std::fs::rename(&partial, path)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_is_fulfilled_once_and_answered() {
        let folder = tempfile::tempdir().unwrap();
        let path = WishPath::beside(&folder.path().join("market-clock.json"));
        path.serve(|to| panic!("moved to {to} without a wish")).unwrap();
        for (to, refused) in [(60, None), (30, Some("only forward"))] {
            let asking = thread::spawn({
                let path = path.clone();
                move || path.ask(Timestamp(to))
            });
            let mut seen = None;
            while seen.is_none() {
                let answer = |at| {
                    seen = Some(at);
                    refused.map_or(Ok(()), |text| Err(text.to_owned()))
                };
                path.serve(answer).unwrap();
                thread::yield_now();
            }
            assert_eq!(seen, Some(Timestamp(to)));
            match (asking.join().unwrap(), refused) {
                (Ok(()), None) => {}
                (Err(WishError::Refused(text)), Some(refused)) => assert_eq!(text, refused),
                other => panic!("{other:?}"),
            }
        }
        path.serve(|to| panic!("moved to {to} twice")).unwrap();
    }
}
