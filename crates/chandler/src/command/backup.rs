//! `chandler backup`: a verified copy of the store, taken while it is in use.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};
use store::{
    Access, Backup, BackupError, KeyFile, Manifest, Part, Progress, Stage, Store, StoreError, Watch,
};

use crate::clock::Clock;
use crate::failure::Failure;
use crate::output::{self, Column, Format};
use crate::progress::{Bar, Flags};
use crate::surroundings::Surroundings;

/// The version of the program, for manifests.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// What dated backups are called before and after their time.
const DATED: (&str, &str) = ("chandler-", "Z");

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder to make; with --keep, the folder in which dated ones are made
    destination: PathBuf,
    /// Make DESTINATION/chandler-TIME, and remove the oldest beyond so many
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    keep: Option<u32>,
    /// Leave out secret.key, without which nobody can sign in after a restore: keep that file elsewhere
    #[arg(long)]
    without_key: bool,
    /// Do not read the copy again to check every page and every block
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    progress: Flags,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, surroundings: &Surroundings) -> Result<(), Failure> {
    // The time of a backup is the machine's: the market's may stand still.
    let now = Clock::Machine.now();
    let to = match arguments.keep {
        None => arguments.destination.clone(),
        Some(_) => {
            let to = &arguments.destination;
            fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
            let time: String = now.to_string().chars().filter(|letter| !"-:".contains(*letter)).collect();
            to.join(format!("{}{time}", DATED.0))
        }
    };
    let key = if arguments.without_key { KeyFile::LeaveOut } else { KeyFile::Include };
    let backup = Backup { store: surroundings.directory(), to: &to, key, chandler: VERSION, now };
    let manifest = watched(arguments.progress, |watch| backup.make(watch))?;
    if !arguments.no_verify {
        let what = "the backup is a true copy, but what was copied is damaged: find an older backup, or import the named series again";
        check(&to, surroundings, what)?;
    }
    // Only now, so that a damaged store does not push out the backups from before the damage.
    let removed = arguments.keep.map_or(Ok(Vec::new()), |keep| rotate(&arguments.destination, keep))?;
    match arguments.format {
        Format::Json => output::json(&json!({
            "backup": to.display().to_string(), "verified": !arguments.no_verify, "manifest": manifest_json(&manifest),
            "removed": removed.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        }))?,
        Format::Table => {
            let mut out = output::stdout();
            describe(&mut out, &manifest)?;
            let verdict = if arguments.no_verify { "not verified" } else { "verified" };
            writeln!(out, "{}: {}, {verdict}", to.display(), output::size(manifest.bytes()))?;
            if manifest.key_blake3.is_some() && manifest.file(Part::Key).is_none() {
                writeln!(out, "secret.key is not in it: keep that file elsewhere")?;
            }
            for path in &removed {
                writeln!(out, "removed {}", path.display())?;
            }
            out.flush()?;
        }
    }
    Ok(())
}

/// Removes the oldest dated backups, by their names, beyond a number. Whatever else is in the folder stays.
fn rotate(dir: &Path, keep: u32) -> Result<Vec<PathBuf>, Failure> {
    let mut dated = Vec::new();
    for entry in fs::read_dir(dir).with_context(|| format!("cannot list {}", dir.display()))? {
        let path = entry?.path();
        let is_dated = path.file_name().and_then(|name| name.to_str()).is_some_and(is_dated);
        if is_dated && path.join("MANIFEST.json").is_file() {
            dated.push(path);
        }
    }
    dated.sort();
    let over = dated.len().saturating_sub(usize::try_from(keep).unwrap_or(usize::MAX));
    dated.truncate(over);
    for path in &dated {
        fs::remove_dir_all(path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(dated)
}

/// `chandler-20261115T231101Z` and nothing else.
fn is_dated(name: &str) -> bool {
    let time = name.strip_prefix(DATED.0).and_then(|rest| rest.strip_suffix(DATED.1));
    time.and_then(|time| time.split_once('T')).is_some_and(|(day, time)| {
        (day.len(), time.len()) == (8, 6)
            && [day, time].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// Runs work that can be watched: with a bar if a person is looking, and stopped by the first Ctrl-C.
pub(super) fn watched<T>(
    flags: Flags,
    work: impl FnOnce(&mut Watch<'_>) -> Result<T, BackupError>,
) -> Result<T, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut shown: Option<((Stage, Part), Bar)> = None;
    let mut watch = |progress: Progress| {
        let of = (progress.stage, progress.part);
        if shown.as_ref().is_none_or(|(known, _)| *known != of) {
            let bar = flags.bytes(progress.bytes_total);
            bar.say(|| format!("{} {}", word(progress.stage), progress.part.file_name()));
            shown = Some((of, bar));
        }
        if let Some((_, bar)) = &shown {
            bar.set(progress.bytes);
        }
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    work(&mut watch).map_err(|error| match error {
        BackupError::Stopped => Failure::Interrupted("stopped: nothing was changed".to_owned()),
        error => error.into(),
    })
}

fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Copy => "copying",
        Stage::Verify => "reading",
        Stage::Replace => "replacing",
    }
}

/// Looks at every page, every block and every reference of a backup. `what` is said where something is wrong.
pub(super) fn check(dir: &Path, surroundings: &Surroundings, what: &str) -> Result<(), Failure> {
    store::check_accounts(dir)?;
    let store = match Store::open(dir, Access::Read) {
        // Blocks are looked at once a restore has brought them forward.
        Err(StoreError::Outdated { .. }) => return Ok(()),
        opened => opened?,
    };
    let report = history::check(&store, surroundings.history.venues())?;
    if report.damage.is_empty() {
        return Ok(());
    }
    for damage in &report.damage {
        eprintln!("{}", output::printable(&damage.problem));
    }
    eprintln!("chandler: {what}");
    Err(Failure::Reported)
}

/// The files of a backup, and what is in them.
pub(super) fn describe(out: &mut impl Write, manifest: &Manifest) -> Result<(), Failure> {
    let columns = [Column::Left("file"), Column::Right("bytes"), Column::Left("BLAKE3")];
    let rows = manifest.files.iter().map(|file| {
        vec![file.name.file_name().to_owned(), output::thousands(file.bytes), file.blake3.clone()]
    });
    writeln!(out, "{}", output::text(&output::table(&columns, rows)))?;
    let counts = manifest.counts;
    let [series, blocks, candles, accounts] =
        [counts.series, counts.blocks, counts.candles, counts.accounts].map(output::thousands);
    writeln!(
        out,
        "{candles} candles in {blocks} blocks of {series} series; {accounts} accounts; as of {}",
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
        "counts": {"series": counts.series, "blocks": counts.blocks, "candles": counts.candles, "accounts": counts.accounts},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_dated_backups_are_ever_removed() {
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
