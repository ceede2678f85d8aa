//! Finds the tables in a folder and the folders in it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{FOLDER_DEPTH_MAX, FOLDER_FILES_MAX, FileError, Problem};

/// Endings of files that are taken from a folder.
const TABLES: [&str; 13] = [
    ".zip", ".csv", ".csv.gz", ".csv.zst", ".txt", ".txt.gz", ".txt.zst", ".tsv", ".tsv.gz", ".tsv.zst",
    ".parquet", ".pq", ".xlsx",
];
/// Maximum number of files and folders that are looked at.
const ENTRIES_MAX: usize = 200_000;

/// Returns the tables in a folder and in the folders within it, by path. Hidden files and folders,
/// and links to folders, are skipped.
pub fn tables_under(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    look_into(folder, 0, &mut found, &mut looked_at).map_err(|problem| problem.at(folder))?;
    if found.is_empty() {
        return Err(Problem::EmptyFolder.at(folder));
    }
    found.sort();
    Ok(found)
}

fn look_into(
    folder: &Path,
    depth: usize,
    found: &mut Vec<PathBuf>,
    looked_at: &mut usize,
) -> Result<(), Problem> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        *looked_at += 1;
        if *looked_at > ENTRIES_MAX {
            return Err(Problem::LargeFolder);
        }
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
        if name.starts_with('.') {
            continue;
        }
        if kind.is_dir() {
            if depth >= FOLDER_DEPTH_MAX {
                return Err(Problem::DeepFolder);
            }
            look_into(&path, depth + 1, found, looked_at)?;
        } else if TABLES.iter().any(|ending| name.ends_with(ending)) && path.is_file() {
            if found.len() >= FOLDER_FILES_MAX {
                return Err(Problem::LargeFolder);
            }
            found.push(path);
        }
    }
    Ok(())
}
