//! The directory of uploaded files, next to the store's databases. A file is stored as
//! `uploads/ID/NAME`, or as `uploads/ID.part/NAME` during the upload. The name is preserved,
//! because it may be the only indication of the security. Uploads have no state elsewhere, so they
//! survive a restart and are visible to every server of the store. This file also defines the
//! reasons why a file is refused or not imported.

use std::fmt;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bytes::Bytes;
use market::Timestamp;
use store::StoreError;

const FOLDER: &str = "uploads";
/// Directory suffix of an incomplete upload.
const PART: &str = ".part";
/// Lifetime of an upload in seconds. One day allows a file that was checked in the evening to be
/// imported in the morning.
const LIFE_S: i64 = 86_400;
const NAME_BYTES_MAX: usize = 200;
const RANDOM_DIGITS: usize = 16;

/// Upload id: the time of arrival in seconds, and a random number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UploadId {
    arrived_at: i64,
    random: u64,
}

impl UploadId {
    fn new(now: Timestamp) -> UploadId {
        // `RandomState::new` has random keys, so its hasher yields a random number.
        UploadId { arrived_at: now.0.max(0), random: RandomState::new().build_hasher().finish() }
    }

    /// Parses an id. Only valid ids are looked up, which prevents path traversal.
    pub(crate) fn parse(text: &str) -> Option<UploadId> {
        let (seconds, random) = text.split_once('-')?;
        let is_written_so = random.len() == RANDOM_DIGITS
            && random.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
            && seconds.bytes().all(|byte| byte.is_ascii_digit());
        let id =
            UploadId { arrived_at: seconds.parse().ok()?, random: u64::from_str_radix(random, 16).ok()? };
        is_written_so.then_some(id)
    }

    pub(crate) fn arrived_at(&self) -> Timestamp {
        Timestamp(self.arrived_at)
    }

    pub(crate) fn expires_at(&self) -> Timestamp {
        Timestamp(self.arrived_at.saturating_add(LIFE_S))
    }
}

impl fmt::Display for UploadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.arrived_at, self.random)
    }
}

/// A completely uploaded file.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    pub(crate) id: UploadId,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    pub(super) fn beside(store: &Path) -> Folder {
        Folder { path: store.join(FOLDER) }
    }

    /// Returns complete uploads that have not expired, oldest first.
    pub(super) fn list(&self, now: Timestamp) -> io::Result<Vec<Upload>> {
        let mut uploads = Vec::new();
        for (id, path) in self.entries("")? {
            if id.expires_at() > now {
                uploads.extend(inside(id, &path)?);
            }
        }
        uploads.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(uploads)
    }

    pub(super) fn find(&self, id: &UploadId, now: Timestamp) -> io::Result<Option<Upload>> {
        if id.expires_at() <= now {
            return Ok(None);
        }
        inside(id.clone(), &self.path.join(id.to_string()))
    }

    pub(super) fn remove(&self, id: &UploadId) -> io::Result<()> {
        fs::remove_dir_all(self.path.join(id.to_string()))
    }

    /// Removes expired uploads, complete or not, except the upload in `stored`. Returns the number
    /// of uploads removed.
    pub(super) fn expire(&self, now: Timestamp, stored: Option<&UploadId>) -> io::Result<usize> {
        let mut old = self.entries("")?;
        old.extend(self.entries(PART)?);
        old.retain(|(id, _)| id.expires_at() <= now && Some(id) != stored);
        for (_, path) in &old {
            match fs::remove_dir_all(path) {
                // Another server removed the upload first.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
        }
        Ok(old.len())
    }

    /// Creates the directory for a new upload. Returns the id, the temporary directory, and the
    /// final directory.
    pub(super) fn place(&self, now: Timestamp) -> io::Result<(UploadId, PathBuf, PathBuf)> {
        let id = UploadId::new(now);
        let (arriving, arrived) = (self.path.join(format!("{id}{PART}")), self.path.join(id.to_string()));
        fs::create_dir_all(&arriving)?;
        Ok((id, arriving, arrived))
    }

    /// Returns the upload directories with this suffix. Empty if nothing was ever uploaded.
    fn entries(&self, end: &str) -> io::Result<Vec<(UploadId, PathBuf)>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(end)).and_then(UploadId::parse);
            found.extend(id.map(|id| (id, entry.path())));
        }
        Ok(found)
    }
}

/// Returns the single file in an upload directory, or `None` if the directory does not exist.
fn inside(id: UploadId, folder: &Path) -> io::Result<Option<Upload>> {
    let mut entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let Some(entry) = entries.next().transpose()? else { return Ok(None) };
    let name = entry.file_name().to_string_lossy().into_owned();
    Ok(Some(Upload { id, name, path: entry.path(), bytes: entry.metadata()?.len() }))
}

/// Returns whether two files have the same content.
pub(super) fn are_equal(one: &Path, other: &Path) -> io::Result<bool> {
    const CHUNK: u64 = 256 * 1024;
    let (one, other) = (File::open(one)?, File::open(other)?);
    let (mut of_one, mut of_other) = (Vec::new(), Vec::new());
    loop {
        of_one.clear();
        of_other.clear();
        (&one).take(CHUNK).read_to_end(&mut of_one)?;
        (&other).take(CHUNK).read_to_end(&mut of_other)?;
        if of_one != of_other || of_one.is_empty() {
            return Ok(of_one == of_other);
        }
    }
}

/// Returns the last path component, because browsers and shells may send a whole path. Returns
/// `None` if the component is not a valid file name.
pub(super) fn file_name(text: &str) -> Option<&str> {
    let name = text.rsplit(['/', '\\']).next()?.trim();
    let is_good = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !name.starts_with('.')
        && !name.chars().any(char::is_control);
    is_good.then_some(name)
}

#[derive(Debug)]
pub(crate) struct Arriving {
    id: UploadId,
    name: String,
    /// Temporary directory during the upload.
    folder: PathBuf,
    kept_in: PathBuf,
    file: Arc<File>,
    limit: u64,
    bytes: u64,
    is_kept: AtomicBool,
    _place: ArrivingPlace,
}

/// One of the few slots for concurrent uploads, released when dropped.
#[derive(Debug)]
pub(super) struct ArrivingPlace(Arc<AtomicUsize>);

impl ArrivingPlace {
    pub(super) fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<ArrivingPlace> {
        // The guard is constructed first, so that dropping it undoes the increment if no slot is
        // free.
        let place = ArrivingPlace(taken.clone());
        (taken.fetch_add(1, Ordering::AcqRel) < most).then_some(place)
    }
}

impl Drop for ArrivingPlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Arriving {
    pub(super) fn open(
        (id, folder, kept_in): (UploadId, PathBuf, PathBuf),
        name: &str,
        limit: u64,
        place: ArrivingPlace,
    ) -> io::Result<Arriving> {
        let file = Arc::new(File::create_new(folder.join(name))?);
        let (name, is_kept) = (name.to_owned(), AtomicBool::new(false));
        Ok(Arriving { id, name, folder, kept_in, file, limit, bytes: 0, is_kept, _place: place })
    }

    /// Adds `bytes` to the number of received bytes. Must be called before the bytes are buffered.
    /// Returns an error if the file exceeds the size limit.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<(), IntakeError> {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        if self.bytes > self.limit { Err(IntakeError::TooLarge { limit: self.limit }) } else { Ok(()) }
    }

    /// Writes a chunk on a blocking thread.
    pub(crate) async fn write(&mut self, piece: Bytes) -> Result<(), IntakeError> {
        let file = self.file.clone();
        let written = tokio::task::spawn_blocking(move || (&*file).write_all(&piece)).await;
        written.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())).map_err(IntakeError::from_io)
    }

    /// Completes the upload by moving it to its final directory.
    pub(crate) fn finish(&self) -> Result<Upload, IntakeError> {
        if self.bytes == 0 {
            return Err(IntakeError::Empty);
        }
        fs::rename(&self.folder, &self.kept_in).map_err(IntakeError::from_io)?;
        self.is_kept.store(true, Ordering::Release);
        let path = self.kept_in.join(&self.name);
        Ok(Upload { id: self.id.clone(), name: self.name.clone(), path, bytes: self.bytes })
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if !self.is_kept.load(Ordering::Acquire)
            && let Err(error) = fs::remove_dir_all(&self.folder)
        {
            // The expiry job removes the directory later.
            tracing::warn!(%error, "cannot remove an incomplete upload");
        }
    }
}

/// Maximum number of concurrent uploads. Each upload has a buffer in memory.
pub(super) const ARRIVING_MAX: usize = 4;

/// Reason why a file is refused or not imported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IntakeError {
    #[error(
        "the file name is required, such as ?name=AAPL.csv: a plain name of at most 200 bytes, without \
         control characters"
    )]
    Name,
    #[error("the file is empty")]
    Empty,
    #[error(
        "the file is larger than {} MiB, which is the limit of this server (upload_mb): import it with \
         `chandler import` on the store's machine", limit >> 20
    )]
    TooLarge { limit: u64 },
    #[error("{ARRIVING_MAX} files are being uploaded: try again when one has finished")]
    TooManyAtOnce,
    #[error("another dry run is in progress: try again when it has finished")]
    Looking,
    #[error("too many uploaded files: import or delete some of them first")]
    TooMany,
    #[error("the disk of the store is full")]
    DiskFull,
    #[error("upload not found: files are deleted after a day")]
    Unknown,
    #[error("{file} is being imported: wait until it has ended, or stop it")]
    Running { file: String },
    #[error("another import into this store is running: wait until it has ended")]
    StoreBusy,
    #[error("the server is shutting down")]
    Stopping,
    #[error("cannot access the upload directory: {0}")]
    Io(#[source] io::Error),
    #[error(transparent)]
    Store(StoreError),
    #[error("it ended unexpectedly")]
    Unexpected,
}

impl IntakeError {
    pub(super) fn from_io(error: io::Error) -> IntakeError {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => IntakeError::DiskFull,
            _ => IntakeError::Io(error),
        }
    }

    pub(super) fn of_store(error: StoreError) -> IntakeError {
        match error {
            StoreError::Busy { .. } => IntakeError::StoreBusy,
            error => IntakeError::Store(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_794_708_000);

    #[test]
    fn path_traversal_is_refused() {
        for (text, name) in [
            ("AAPL.csv", Some("AAPL.csv")),
            ("700.HK 日线.csv.gz", Some("700.HK 日线.csv.gz")),
            ("/etc/passwd", Some("passwd")),
            ("C:\\data\\AAPL.csv", Some("AAPL.csv")),
            ("..", None),
            ("../..", None),
            (".hidden.csv", None),
            ("", None),
            ("data/", None),
            ("a\u{0}.csv", None),
            ("a\n.csv", None),
        ] {
            assert_eq!(file_name(text), name, "{text:?}");
        }
        assert_eq!(file_name(&"x".repeat(NAME_BYTES_MAX + 1)), None);
        for text in [
            "",
            "-",
            "..",
            "1794708000",
            "1794708000-..",
            "1794708000-00000000000000ZZ",
            "+1-0000000000000001",
        ] {
            assert_eq!(UploadId::parse(text), None, "{text:?}");
        }
        let id = UploadId { arrived_at: NOW.0, random: 255 };
        assert_eq!(id.to_string(), "1794708000-00000000000000ff");
        assert_eq!(UploadId::parse(&id.to_string()), Some(id));
    }

    #[test]
    fn expired_uploads_are_hidden_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::beside(dir.path());
        assert!(folder.list(NOW).unwrap().is_empty());
        assert_eq!(folder.expire(NOW, None).unwrap(), 0);
        let place = |at: i64| {
            let (id, arriving, arrived) = folder.place(Timestamp(at)).unwrap();
            fs::write(arriving.join("AAPL.csv"), "x").unwrap();
            (id, arriving, arrived)
        };
        let (old, arriving, arrived) = place(NOW.0 - LIFE_S);
        fs::rename(&arriving, &arrived).unwrap();
        let (new, arriving, arrived) = place(NOW.0 - LIFE_S + 1);
        fs::rename(&arriving, &arrived).unwrap();
        let (part, dead, _) = place(NOW.0 - LIFE_S);
        fs::create_dir(dir.path().join(FOLDER).join("not ours")).unwrap();
        let listed: Vec<UploadId> = folder.list(NOW).unwrap().into_iter().map(|upload| upload.id).collect();
        assert_eq!(listed, std::slice::from_ref(&new));
        assert!(folder.find(&old, NOW).unwrap().is_none() && folder.find(&part, NOW).unwrap().is_none());
        // A file that is being imported is not removed until the import ends.
        assert_eq!(folder.expire(NOW, Some(&old)).unwrap(), 1);
        assert!(!dead.exists() && folder.find(&old, Timestamp(NOW.0 - 1)).unwrap().is_some());
        assert_eq!(folder.expire(NOW, None).unwrap(), 1);
        assert!(folder.find(&old, Timestamp(NOW.0 - 1)).unwrap().is_none());
        assert_eq!(folder.find(&new, NOW).unwrap().unwrap().name, "AAPL.csv");
        assert!(dir.path().join(FOLDER).join("not ours").exists());
    }
}
