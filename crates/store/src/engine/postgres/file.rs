//! Reads small files that an address refers to.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Returns the contents of a file, or a message why it cannot be read.
pub(super) fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        Ok(_) if bytes.len() as u64 > bytes_max => {
            Err(format!("{} is larger than {bytes_max} bytes: name another file", path.display()))
        }
        Ok(_) => Ok(bytes),
    }
}
