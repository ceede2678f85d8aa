//! Information about the user's machine: folders, host and user names, and the browser.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Variable with the user's home folder.
pub(crate) const HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
/// Variable that [`data`] requires.
pub(crate) const DATA: &str = if cfg!(windows) { "LOCALAPPDATA" } else { HOME };

pub(crate) fn home() -> Option<PathBuf> {
    home_of(&variable)
}

/// Returns the user's folder for data, such as stores.
pub(crate) fn data() -> Option<PathBuf> {
    data_of(&variable)
}

/// Returns the user's folder for settings, such as logins.
pub(crate) fn config() -> Option<PathBuf> {
    config_of(&variable)
}

/// Returns the user's folder for data that can be recreated, such as a server's local candle copy.
pub(crate) fn cache() -> Option<PathBuf> {
    cache_of(&variable)
}

/// Environment variables as a lookup function, which tests replace.
type Variables<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns an environment variable as a path. `None` if the variable is unset or empty.
fn path(of: Variables<'_>, name: &str) -> Option<PathBuf> {
    of(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns an XDG base directory, or `otherwise` in the home folder if the variable is not set. A
/// relative path is ignored, as the specification requires.
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

/// Returns the user name from the environment. `None` if no variable is set.
pub(crate) fn user_name() -> Option<String> {
    first_set(&["USER", "LOGNAME", "USERNAME"])
}

pub(crate) fn host_name() -> Option<String> {
    let file = || std::fs::read_to_string("/etc/hostname").ok().map(|text| text.trim().to_owned());
    first_set(&["HOSTNAME", "COMPUTERNAME"]).or_else(file).filter(|text| !text.is_empty())
}

/// Returns the first of these variables that is set and not empty.
fn first_set(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|text| !text.is_empty()))
}

/// Opens a URL with the system's opener and returns whether an opener was started. The opener may
/// still fail to find a browser, so the caller must print the URL as well.
pub(crate) fn open_browser(address: &str) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    openers(std::env::consts::OS, is_set).iter().any(|(program, before)| {
        let mut command = Command::new(program);
        command.args(*before).arg(address);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}

type Opener = (&'static str, &'static [&'static str]);

/// Returns the openers to try, in order. Empty if there is no display, because an opener would
/// start a text browser that takes over the terminal.
fn openers(system: &str, is_set: impl Fn(&str) -> bool) -> &'static [Opener] {
    match system {
        "macos" => &[("open", &[])],
        "windows" => &[("rundll32", &["url.dll,FileProtocolHandler"])],
        // On WSL, `wslview` opens the Windows browser.
        _ if is_set("WSL_DISTRO_NAME") => &[("wslview", &[]), ("xdg-open", &[])],
        _ if ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].into_iter().any(is_set) => &[("xdg-open", &[])],
        _ => &[],
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

    #[test]
    fn openers_depend_on_the_system_and_the_display() {
        let first = |system: &str, set: &[&str]| {
            openers(system, |name| set.contains(&name)).first().map(|(program, _)| *program)
        };
        assert_eq!(first("macos", &[]), Some("open"));
        assert_eq!(first("windows", &[]), Some("rundll32"));
        assert_eq!(first("linux", &["DISPLAY"]), Some("xdg-open"));
        assert_eq!(first("linux", &["WAYLAND_DISPLAY"]), Some("xdg-open"));
        assert_eq!(first("linux", &["BROWSER"]), Some("xdg-open"));
        assert_eq!(first("linux", &["WSL_DISTRO_NAME", "DISPLAY"]), Some("wslview"));
        assert_eq!(first("freebsd", &["DISPLAY"]), Some("xdg-open"));
        assert_eq!(first("linux", &["SSH_CONNECTION"]), None);
    }
}
