//! The user's standard folders on this system. Existing crates use other locations (the roaming
//! folder for data on Windows, Preferences for settings on macOS), and fall back to the account's
//! home if `HOME` is not set, which a service must not do.

use std::ffi::OsString;
use std::path::PathBuf;

/// Variable with the user's home folder.
pub(crate) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
/// Variable that [`data`] requires.
pub(crate) const DATA: &str = if cfg!(windows) { "LOCALAPPDATA" } else { HOME };

pub(crate) fn home() -> Option<PathBuf> {
    home_of(&variable)
}

/// Returns the folder for data, such as stores.
pub(crate) fn data() -> Option<PathBuf> {
    data_of(&variable)
}

/// Returns the folder for settings, such as logins.
pub(crate) fn config() -> Option<PathBuf> {
    config_of(&variable)
}

/// Returns the folder for data that can be recreated, such as a server's local candle copy.
pub(crate) fn cache() -> Option<PathBuf> {
    cache_of(&variable)
}

/// An environment, as a lookup function.
type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns a variable as a path. `None` if it is unset or empty.
fn path(of: Variables<'_>, name: &str) -> Option<PathBuf> {
    of(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns an XDG base directory. The specification requires relative paths to be ignored.
fn base(of: Variables<'_>, name: &str, otherwise: &str) -> Option<PathBuf> {
    let set = path(of, name).filter(|path| path.is_absolute());
    set.or_else(|| home_of(of).map(|home| home.join(otherwise)))
}

fn home_of(of: Variables<'_>) -> Option<PathBuf> {
    path(of, HOME)
}

fn data_of(of: Variables<'_>) -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        home_of(of).map(|home| home.join("Library/Application Support"))
    } else if cfg!(windows) {
        path(of, DATA)
    } else {
        base(of, "XDG_DATA_HOME", ".local/share")
    }
}

fn config_of(of: Variables<'_>) -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        home_of(of).map(|home| home.join("Library/Application Support"))
    } else if cfg!(windows) {
        path(of, "APPDATA").or_else(|| home_of(of).map(|home| home.join("AppData/Roaming")))
    } else {
        base(of, "XDG_CONFIG_HOME", ".config")
    }
}

fn cache_of(of: Variables<'_>) -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        home_of(of).map(|home| home.join("Library/Caches"))
    } else if cfg!(windows) {
        path(of, DATA)
    } else {
        base(of, "XDG_CACHE_HOME", ".cache")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn base_directories_follow_the_xdg_convention() {
        if !cfg!(target_os = "linux") {
            return;
        }
        for (variables, data, config) in [
            (&[("HOME", "/home/ann")][..], Some("/home/ann/.local/share"), Some("/home/ann/.config")),
            (
                &[("HOME", "/home/ann"), ("XDG_DATA_HOME", "/data"), ("XDG_CONFIG_HOME", "/config")],
                Some("/data"),
                Some("/config"),
            ),
            (
                &[("HOME", "/home/ann"), ("XDG_DATA_HOME", "data"), ("XDG_CONFIG_HOME", "")],
                Some("/home/ann/.local/share"),
                Some("/home/ann/.config"),
            ),
            (&[("XDG_DATA_HOME", "/data")], Some("/data"), None),
            (&[("HOME", "")], None, None),
            (&[], None, None),
        ] {
            let of = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            assert_eq!(data_of(&of).as_deref(), data.map(Path::new), "{variables:?}");
            assert_eq!(config_of(&of).as_deref(), config.map(Path::new), "{variables:?}");
            let cache = variables.contains(&("HOME", "/home/ann")).then_some(Path::new("/home/ann/.cache"));
            assert_eq!(cache_of(&of).as_deref(), cache, "{variables:?}");
        }
    }
}
