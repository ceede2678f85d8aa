use rusqlite::{Error, ErrorCode, ffi};

use crate::engine::Fault;
use crate::engine::error::{Kind, Trouble};

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Engine(Trouble { kind: kind(&error), cause: error.into() })
    }
}

fn kind(error: &Error) -> Kind {
    let extended = error.sqlite_error().map(|error| error.extended_code);
    if extended == Some(ffi::SQLITE_READONLY_ROLLBACK) {
        return Kind::Interrupted;
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::TooBig) => Kind::Damaged,
        Some(ErrorCode::DiskFull) => Kind::Full,
        Some(ErrorCode::SystemIoFailure) => Kind::Disk,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => Kind::Denied,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Kind::Locked,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::engine::StoreUrl;
    use crate::engine::error::StoreError;

    #[test]
    fn sqlite_and_system_errors_have_equal_messages() {
        let place = StoreUrl::from("/store");
        let sqlite = |code| {
            let error = Error::SqliteFailure(ffi::Error::new(code), None);
            StoreError::of("try it", &place, error.into())
        };
        let system = |kind: io::ErrorKind| StoreError::io("try it", "/store", kind.into());
        let advice = |error: StoreError| error.to_string().rsplit(": ").next().map(str::to_owned);
        for (code, kind) in [
            (ffi::SQLITE_FULL, io::ErrorKind::StorageFull),
            (ffi::SQLITE_READONLY, io::ErrorKind::ReadOnlyFilesystem),
            (ffi::SQLITE_CANTOPEN, io::ErrorKind::PermissionDenied),
        ] {
            assert_eq!(sqlite(code).to_string(), system(kind).to_string());
        }
        assert!(matches!(sqlite(ffi::SQLITE_IOERR_FSYNC), StoreError::Disk { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_BUSY), StoreError::Locked { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_READONLY_ROLLBACK), StoreError::Interrupted { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_CORRUPT), StoreError::Damaged { .. }));
        assert!(matches!(sqlite(ffi::SQLITE_INTERNAL), StoreError::Engine { .. }));
        assert_eq!(advice(sqlite(ffi::SQLITE_READONLY)).as_deref(), Some("check its owner and mode"));
    }
}
