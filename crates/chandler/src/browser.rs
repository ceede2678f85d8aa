//! Opens a URL in the user's browser.

use std::process::{Command, Stdio};

/// Opens a URL with the system's opener and returns whether an opener was started. The opener may
/// still fail to find a browser, so callers print the URL as well.
pub(crate) fn open(address: &str) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    openers(std::env::consts::OS, is_set).iter().any(|(program, before)| {
        let mut command = Command::new(program);
        command.args(*before).arg(address);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    })
}

type Opener = (&'static str, &'static [&'static str]);

/// Returns the openers to try, in order. The list is empty without a display: only a text browser
/// would start, and it would take over the terminal.
fn openers(system: &str, is_set: impl Fn(&str) -> bool) -> &'static [Opener] {
    match system {
        "macos" => &[("open", &[])],
        "windows" => &[("rundll32", &["url.dll,FileProtocolHandler"])],
        // WSL: opens the Windows browser.
        _ if is_set("WSL_DISTRO_NAME") => &[("wslview", &[]), ("xdg-open", &[])],
        _ if ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].into_iter().any(is_set) => &[("xdg-open", &[])],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
