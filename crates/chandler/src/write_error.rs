//! Errors when writing to standard output or to a file.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error("cannot write to standard output: {0}")]
    Stdout(#[source] io::Error),
    #[error("cannot write {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Returns whether an error was caused by a closed stdout. Other broken pipes and connections are
/// ordinary errors.
pub(crate) fn is_reader_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        let written = io.and_then(|error| error.downcast_ref::<WriteError>());
        matches!(written, Some(WriteError::Stdout(error)) if error.kind() == io::ErrorKind::BrokenPipe)
    })
}
