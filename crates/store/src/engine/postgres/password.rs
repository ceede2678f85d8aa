//! The password of a connection. It is read from a file or the environment for each connection, so
//! that a changed password needs no restart.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::address::{Address, Host, HostAt, PasswordFrom};
use super::read_file;

/// A password; its debug output is redacted.
#[derive(PartialEq, Eq)]
pub(super) struct Password(pub(super) Vec<u8>);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

const PASSWORD_BYTES_MAX: u64 = 4_096;
const PASSFILE_BYTES_MAX: u64 = 1 << 20;

/// Returns the password for a host, or `None` if no password is configured. The error is a
/// user-facing message.
pub(super) fn password(
    address: &Address,
    host: &Host,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<Password>, String> {
    let set = |name| environment(name).filter(|value| !value.is_empty());
    match &address.password {
        PasswordFrom::File(path) => alone(path).map(Some),
        PasswordFrom::Passfile(path) => listed(path, address, host),
        PasswordFrom::Environment => {
            if let Some(password) = set("PGPASSWORD") {
                return Ok(Some(Password(password.into_encoded_bytes())));
            }
            match set("PGPASSFILE") {
                Some(path) => listed(&PathBuf::from(path), address, host),
                None => Ok(None),
            }
        }
    }
}

/// Reads a file that contains only the password. One trailing line break is ignored.
fn alone(path: &Path) -> Result<Password, String> {
    let mut bytes = read_file(path, PASSWORD_BYTES_MAX)?;
    for end in [b'\n', b'\r'] {
        if bytes.last() == Some(&end) {
            bytes.pop();
        }
    }
    match bytes.is_empty() || bytes.contains(&b'\n') || bytes.contains(&0) {
        true => Err(format!(
            "{} is not a file of one password: write the password alone, in one line",
            path.display()
        )),
        false => Ok(Password(bytes)),
    }
}

/// Returns the password from the first matching line of libpq's password file, or `None` if no line
/// matches.
fn listed(path: &Path, address: &Address, host: &Host) -> Result<Option<Password>, String> {
    let open_to_others = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.mode() & 0o077 != 0);
    if open_to_others {
        return Err(format!("{} can be read by others: `chmod 600` it", path.display()));
    }
    let text = read_file(path, PASSFILE_BYTES_MAX)?;
    let port = host.port.to_string();
    let name = match &host.at {
        HostAt::Network(name) => name.clone(),
        // libpq uses `localhost` for its default socket directory, and the directory name for other
        // directories.
        HostAt::Socket(directory) if is_usual(directory) => "localhost".to_owned(),
        HostAt::Socket(directory) => directory.to_string_lossy().into_owned(),
    };
    let requested = [name.as_bytes(), port.as_bytes(), address.database.as_bytes(), address.user.as_bytes()];
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut lines = lines.filter(|line| !line.starts_with(b"#"));
    Ok(lines.find_map(|line| {
        let fields = fields(line);
        let (password, about) = fields.split_last()?;
        let is_about = about.len() == requested.len()
            && about.iter().zip(requested).all(|(field, requested)| field.matches(requested));
        (is_about && !password.bytes.is_empty()).then(|| Password(password.bytes.clone()))
    }))
}

fn is_usual(directory: &Path) -> bool {
    ["/var/run/postgresql", "/run/postgresql", "/tmp"].iter().any(|usual| directory == Path::new(usual))
}

#[derive(Default)]
struct Field {
    bytes: Vec<u8>,
    /// Whether the field contains an escape. An unescaped `*` matches any text, and an escaped `*`
    /// is literal.
    is_escaped: bool,
}

impl Field {
    fn matches(&self, requested: &[u8]) -> bool {
        (self.bytes == b"*" && !self.is_escaped) || self.bytes == requested
    }
}

/// Splits a line into five fields, of which the last is the password. A backslash escapes the next
/// character.
fn fields(line: &[u8]) -> Vec<Field> {
    let mut fields = vec![];
    let mut field = Field::default();
    let mut rest = line.iter();
    while let Some(byte) = rest.next() {
        match byte {
            b'\\' => {
                field.is_escaped = true;
                field.bytes.extend(rest.next());
            }
            b':' if fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            byte => field.bytes.push(*byte),
        }
    }
    fields.push(field);
    fields
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn found(query: &str, host: usize, environment: &[(&str, &str)]) -> Result<Option<String>, String> {
        let text = format!("postgres://me@one,two:6432,%2Frun%2Fpostgresql/market?{query}");
        let address: Address = text.parse().unwrap();
        let look =
            |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        let password = password(&address, &address.hosts[host], look)?;
        Ok(password.map(|password| String::from_utf8(password.0).unwrap()))
    }

    fn written(directory: &tempfile::TempDir, text: &str, mode: u32) -> String {
        let path = directory.path().join("passwords");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_string_lossy().into_owned()
    }

    #[test]
    fn the_password_file_has_precedence_over_the_environment() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(&directory, "of the file\n", 0o444);
        let environment = [("PGPASSWORD", "of the environment"), ("PGPASSFILE", "/absent")];
        let file = format!("password_file={path}");
        assert_eq!(found(&file, 0, &environment), Ok(Some("of the file".to_owned())));
        assert_eq!(found("", 0, &environment), Ok(Some("of the environment".to_owned())));
        assert_eq!(found("", 0, &[]), Ok(None));
        assert_eq!(found("", 0, &[("PGPASSWORD", "")]), Ok(None));
        assert!(found("", 0, &environment[1..]).unwrap_err().starts_with("cannot read /absent"));
    }

    #[test]
    fn a_password_file_has_one_line() {
        let directory = tempfile::tempdir().unwrap();
        for (text, password) in [("a b", "a b"), ("a b\n", "a b"), ("a b\r\n", "a b"), (" a ", " a ")] {
            let path = written(&directory, text, 0o600);
            assert_eq!(found(&format!("password_file={path}"), 0, &[]), Ok(Some(password.to_owned())));
        }
        for text in ["", "\n", "hunter2\nhunter3\n"] {
            let path = written(&directory, text, 0o600);
            let report = found(&format!("password_file={path}"), 0, &[]).unwrap_err();
            assert!(report.contains("in one line") && !report.contains("hunter"), "{report}");
        }
    }

    #[test]
    fn the_first_matching_line_of_a_passfile_is_used() {
        let directory = tempfile::tempdir().unwrap();
        let text = "# a comment\nother:5432:market:me:wrong\none:5432:market:me:a:b\\:c\\\\\n\
                    two:*:\\*:me:wrong\ntwo:6432:*:*:second\nlocalhost:5432:market:me:of the socket\n*:*:*:*:any\n";
        let path = written(&directory, text, 0o600);
        let file = format!("passfile={path}");
        assert_eq!(found(&file, 0, &[]), Ok(Some("a:b:c\\".to_owned())));
        assert_eq!(found(&file, 1, &[]), Ok(Some("second".to_owned())));
        assert_eq!(found(&file, 2, &[]), Ok(Some("of the socket".to_owned())));
        assert_eq!(found("", 1, &[("PGPASSFILE", &path)]), Ok(Some("second".to_owned())));
        let none = written(&directory, "other:*:*:*:wrong\nshort:line\n", 0o600);
        assert_eq!(found(&format!("passfile={none}"), 0, &[]), Ok(None));
    }

    #[test]
    fn a_passfile_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(&directory, "*:*:*:*:any\n", 0o640);
        let report = found(&format!("passfile={path}"), 0, &[]).unwrap_err();
        assert!(report.contains("`chmod 600` it"), "{report}");
    }

    #[test]
    fn debug_output_does_not_show_the_password() {
        assert_eq!(format!("{:?}", Password(b"hunter2".to_vec())), "Password");
    }
}
