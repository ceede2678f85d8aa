//! Opens an address in the user's browser.

use std::process::{Command, Stdio};

/// Opens an address with the system's opener. Returns whether an opener was started. It may still
/// find no browser, so the address is printed as well.
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

/// The openers to try. Without a display only a text browser would start, and it would take over
/// the terminal.
fn openers(system: &str, is_set: impl Fn(&str) -> bool) -> &'static [Opener] {
    match system {
        "macos" => &[("open", &[])],
        "windows" => &[("rundll32", &["url.dll,FileProtocolHandler"])],
        // WSL: opens the browser of Windows.
        _ if is_set("WSL_DISTRO_NAME") => &[("wslview", &[]), ("xdg-open", &[])],
        _ if ["DISPLAY", "WAYLAND_DISPLAY", "BROWSER"].into_iter().any(is_set) => &[("xdg-open", &[])],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_opened_where_there_is_one() {
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
