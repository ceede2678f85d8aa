//! Replaces a demo store whose schema is too old to migrate. Nothing is deleted: the old databases
//! are moved to a folder in the store's directory, because they may contain more than the demo.

use std::path::{Path, PathBuf};

use anyhow::Context;
use store::{Access, Accounts, Part, Place, Store, StoreError};

use super::demo_serve;
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::output;

/// Folder for the generated files. Only stores filled by the demo have one.
pub(super) const FILES: &str = "demo";
/// Default directories of the demo: on the command line, and in the Makefile.
pub(crate) const DEFAULT: &str = "chandler-demo";
const OF_MAKE: &str = "demo";
/// Folder for the old databases.
const OLDER: &str = "older-store";

pub(super) fn replace_if_too_old(context: &CommandContext) -> Result<(), Failure> {
    let place = context.place()?;
    let Some(directory) = context.directory().filter(|directory| is_of_demo(directory)) else {
        return Ok(());
    };
    if !is_too_old(place) {
        return Ok(());
    }
    let older = free_name(directory);
    std::fs::create_dir(&older).with_context(|| format!("cannot create {}", older.display()))?;
    for path in files(directory).into_iter().filter(|path| path.exists()) {
        let Some(name) = path.file_name() else { continue };
        std::fs::rename(&path, older.join(name))
            .with_context(|| format!("cannot move {}", path.display()))?;
    }
    output::note(format_args!(
        "the demo store in {place} has an older schema: moved it to {}, creating a new one",
        older.display()
    ));
    Ok(())
}

fn is_of_demo(directory: &Path) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| [DEFAULT, OF_MAKE].contains(&name)) && directory.join(FILES).is_dir()
}

fn is_too_old(place: &Place) -> bool {
    matches!(Store::open(place, Access::Look), Err(StoreError::TooOld { .. }))
        || matches!(Accounts::look(place), Err(StoreError::TooOld { .. }))
}

/// Returns the database files with their WAL files, and the files that belong to the accounts.
fn files(directory: &Path) -> Vec<PathBuf> {
    let databases = [Part::Candles, Part::Accounts].map(Part::file_name);
    let with_logs = databases.iter().flat_map(|name| ["", "-wal", "-shm"].map(|log| format!("{name}{log}")));
    let of_accounts = [Part::Key.file_name(), demo_serve::FILE].map(str::to_owned);
    with_logs.chain(of_accounts).map(|name| directory.join(name)).collect()
}

fn free_name(directory: &Path) -> PathBuf {
    let names =
        std::iter::once(OLDER.to_owned()).chain((2..=u32::MAX).map(|number| format!("{OLDER}-{number}")));
    let mut paths = names.map(|name| directory.join(name));
    paths.find(|path| !path.exists()).unwrap_or_else(|| directory.join(OLDER))
}
