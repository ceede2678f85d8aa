//! Names of this machine and its user.

/// Returns the user name from the environment.
pub(crate) fn user_name() -> Option<String> {
    variable(&["USER", "LOGNAME", "USERNAME"])
}

pub(crate) fn host_name() -> Option<String> {
    let file = || std::fs::read_to_string("/etc/hostname").ok().map(|text| text.trim().to_owned());
    variable(&["HOSTNAME", "COMPUTERNAME"]).or_else(file).filter(|text| !text.is_empty())
}

/// Returns the first of these variables that is set and not empty.
fn variable(names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| std::env::var(name).ok().filter(|text| !text.is_empty()))
}
