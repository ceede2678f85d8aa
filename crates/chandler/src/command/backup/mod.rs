//! `chandler backup`: copies the store while it is in use, and verifies the copy.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};
use store::{Backup, KeyFile, Manifest, Part, StoreUrl};
pub(super) use watched::{CheckDepth, Interruptible, UNCHANGED, Words};

use crate::clock::Clock;
use crate::context::CommandContext;
use crate::failure::{Failure, usage};
use crate::output::{self, Column, Format};
use crate::progress::Flags;

pub(super) mod server;
mod watched;

/// Program version, written to manifests.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Prefix and suffix of a dated backup's name, around the time.
const DATED: (&str, &str) = ("chandler-", "Z");
/// Suffix of a backup's name until the backup is complete.
const PARTIAL: &str = ".partial";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder to create; with --keep, the parent folder of dated backups
    #[arg(required_unless_present = "verify")]
    destination: Option<PathBuf>,
    /// With a store on PostgreSQL: verify a pg_dump file by restoring it into a temporary database,
    /// or a pg_basebackup folder
    #[arg(long, value_name = "BACKUP", conflicts_with_all = ["destination", "keep", "without_key", "no_verify"])]
    verify: Option<PathBuf>,
    /// With --verify: an empty database to restore into, instead of a temporary one
    #[arg(long, value_name = "STORE", requires = "verify")]
    into: Option<String>,
    /// Create DESTINATION/chandler-TIME, and remove the oldest backups beyond this number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    keep: Option<u32>,
    /// Exclude secret.key: without it no account can sign in after a restore, so store that file
    /// elsewhere
    #[arg(long)]
    without_key: bool,
    /// Do not verify every page and block of the copy
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    progress: Flags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, context: &CommandContext) -> Result<(), Failure> {
    let directory = match (context.url()?, &arguments.verify) {
        (StoreUrl::Path(directory), None) => directory,
        (StoreUrl::Path(_), Some(backup)) => {
            let backup = backup.display();
            return Err(usage(format!(
                "--verify is for PostgreSQL backups: a backup of a directory is verified with `chandler restore \
                {backup} --check`"
            )));
        }
        (StoreUrl::Server(address), Some(backup)) => {
            let into = arguments.into.as_deref();
            return server::verify(address, backup, into, context, arguments.progress, arguments.format);
        }
        (StoreUrl::Server(address), None) => {
            let to = arguments.destination.as_deref().unwrap_or(Path::new("."));
            return server::say_backup(address, to, context, arguments.format);
        }
    };
    let destination = arguments.destination.as_deref().unwrap_or(Path::new("."));
    // Backups are dated by the machine's clock, because the market clock may be fixed.
    let now = Clock::Machine.now();
    let watched = Interruptible::begin(arguments.progress)?;
    let mut folder_lock = None;
    let to = match arguments.keep {
        None => destination.to_owned(),
        Some(_) => {
            let to = destination;
            fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
            folder_lock = BackupFolderLock::enter(to)?;
            let time: String = now.to_string().chars().filter(|letter| !"-:".contains(*letter)).collect();
            to.join(format!("{}{time}", DATED.0))
        }
    };
    let key = if arguments.without_key { KeyFile::LeaveOut } else { KeyFile::Include };
    let backup = Backup { store: directory, to: &to, key, chandler: VERSION, now };
    let manifest = watched.run(|watch| backup.make(watch))?;
    drop(folder_lock);
    let looked = if arguments.no_verify {
        None
    } else {
        let words = Words {
            damaged: "the backup matches the store, but the store is damaged: use an older backup, or import the \
                named series again",
            stopped: &format!("stopped: {} is written, but not verified", to.display()),
        };
        Some(watched.check(&to, context.history.venues(), &words)?)
    };
    // Old backups are removed only after the check, so that a damaged store does not displace
    // backups made before the damage.
    let removed = arguments.keep.map_or(Ok(Vec::new()), |keep| rotate(destination, keep))?;
    match arguments.format {
        Format::Json => output::json(&json!({
            "backup": to.display().to_string(), "verified": looked == Some(CheckDepth::AtBlocks), "manifest": manifest_json(&manifest),
            "removed": removed.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        }))?,
        Format::Table => {
            let mut out = output::stdout();
            describe(&mut out, &manifest)?;
            let verdict = match looked {
                None => "not verified",
                Some(CheckDepth::AtBlocks) => "verified",
                Some(CheckDepth::AtPages) => NOT_BLOCKS,
            };
            writeln!(out, "{}: {}, {verdict}", to.display(), output::size(manifest.bytes()))?;
            if manifest.key_blake3.is_some() && manifest.file(Part::Key).is_none() {
                writeln!(out, "secret.key is not included: store a copy of it elsewhere")?;
            }
            for path in &removed {
                writeln!(out, "removed {}", path.display())?;
            }
            out.flush()?;
        }
    }
    Ok(())
}

/// Note for a backup whose candles have an older schema.
pub(super) const NOT_BLOCKS: &str = "pages verified, blocks not verified: the candles have an older schema, and a \
    restore verifies the blocks after migrating them";

/// Shared lock on the folder of dated backups, held while a backup is written to it. The operating
/// system releases the lock when the process ends.
struct BackupFolderLock {
    _folder: File,
}

impl BackupFolderLock {
    /// Takes the lock. First removes the partial folders of killed backups, unless another backup
    /// holds the lock. `None` if the system cannot lock folders; in that case nothing is removed.
    fn enter(dir: &Path) -> Result<Option<BackupFolderLock>, Failure> {
        let Ok(folder) = File::open(dir) else { return Ok(None) };
        if folder.try_lock().is_ok() {
            for path in dated(dir, |name| name.strip_suffix(PARTIAL).is_some_and(is_dated))? {
                fs::remove_dir_all(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        // Other backups that find this lock do not remove partial folders.
        Ok(folder.lock_shared().is_ok().then_some(BackupFolderLock { _folder: folder }))
    }
}

/// Returns the paths of the subfolders whose names satisfy `is_wanted`, sorted by name.
fn dated(dir: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(&is_wanted) && entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Removes all but the newest `keep` dated backups, ordered by name, and returns the removed paths.
/// Other files in the folder are not touched.
fn rotate(dir: &Path, keep: u32) -> Result<Vec<PathBuf>, Failure> {
    let mut dated = dated(dir, is_dated)?;
    dated.retain(|path| path.join("MANIFEST.json").is_file());
    let over = dated.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    dated.truncate(over);
    for path in &dated {
        fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(dated)
}

/// Returns whether a name has the form `chandler-20261115T231101Z`.
fn is_dated(name: &str) -> bool {
    let time = name.strip_prefix(DATED.0).and_then(|rest| rest.strip_suffix(DATED.1));
    time.and_then(|time| time.split_once('T')).is_some_and(|(day, time)| {
        (day.len(), time.len()) == (8, 6)
            && [day, time].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Prints the files of a backup and their contents.
pub(super) fn describe(out: &mut impl Write, manifest: &Manifest) -> Result<(), Failure> {
    let columns = [Column::Left("file"), Column::Right("bytes"), Column::Left("BLAKE3")];
    let rows = manifest.files.iter().map(|file| {
        vec![file.name.file_name().to_owned(), output::thousands(file.bytes), file.blake3.clone()]
    });
    writeln!(out, "{}", output::text(output::table(&columns, rows)))?;
    let counts = manifest.counts;
    let trades = match counts.trades {
        0 => String::new(),
        trades => format!("{}; ", output::count(trades, "trade")),
    };
    writeln!(
        out,
        "{} in {} of {} series; {trades}{}; as of {}",
        output::count(counts.candles, "candle"),
        output::count(counts.blocks, "block"),
        output::thousands(counts.series),
        output::count(counts.accounts, "account"),
        manifest.created_at
    )?;
    Ok(())
}

pub(super) fn manifest_json(manifest: &Manifest) -> Value {
    let files: Vec<Value> = manifest
        .files
        .iter()
        .map(|file| {
            json!({"name": file.name.file_name(), "bytes": file.bytes, "blake3": file.blake3, "schema": file.schema})
        })
        .collect();
    let counts = manifest.counts;
    json!({
        "format": manifest.format, "chandler": manifest.chandler, "created_at": manifest.created_at, "files": files,
        "counts": {"series": counts.series, "blocks": counts.blocks, "candles": counts.candles, "trades": counts.trades, "accounts": counts.accounts},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_backups_are_removed_when_no_backup_is_running() {
        let dir = tempfile::tempdir().unwrap();
        let left = ["chandler-20261115T231101Z.partial", "chandler-20261115T231101Z", "mine.partial"]
            .map(|name| dir.path().join(name));
        left.iter().for_each(|path| fs::create_dir(path).unwrap());
        let there = || left.each_ref().map(|path| path.exists());
        let writing = File::open(dir.path()).unwrap();
        writing.lock_shared().unwrap();
        let second = BackupFolderLock::enter(dir.path()).unwrap();
        assert!(second.is_some(), "two may write");
        assert_eq!(there(), [true; 3]);
        drop((writing, second));
        let third = BackupFolderLock::enter(dir.path()).unwrap();
        assert_eq!(there(), [false, true, true]);
        assert!(third.is_some() && File::open(dir.path()).unwrap().try_lock().is_err());
    }

    #[test]
    fn only_folders_with_dated_names_are_rotated() {
        for (name, is) in [
            ("chandler-20261115T231101Z", true),
            ("chandler-20261115T231101Z.partial", false),
            ("chandler-2026T11", false),
            ("chandler-20261115T23110xZ", false),
            ("before-restore-20261115T231101Z", false),
            ("chandler-", false),
        ] {
            assert_eq!(is_dated(name), is, "{name}");
        }
    }
}
