//! Paths of the pages. Endpoints refer to some of these paths, too.

/// Page for entering a device code.
pub(crate) const CONFIRM: &str = "/oauth2/device/authorize/confirm";
/// Page for authorizing an OAuth client.
pub(crate) const AUTHORIZE: &str = "/oauth2/authorize";
/// Page for setting an account's password, opened with a link from an operator.
pub(crate) const PASSWORD: &str = "/password";
pub(crate) const SIGN_IN: &str = "/signin";
/// Path that opens a one-time link.
pub(crate) const SIGN_IN_ONCE: &str = "/signin/once";
pub(crate) const SIGN_OUT: &str = "/signout";
pub(crate) const END: &str = "/signin/end";
pub(crate) const STYLE: &str = "/assets/pages.css";
pub(crate) const CHART: &str = "/";
pub(crate) const SECURITIES: &str = "/securities";
pub(crate) const PORTFOLIO: &str = "/portfolio";
pub(crate) const TOPICS: &str = "/topics";
pub(crate) const TOPIC: &str = "/topics/{id}";
pub(crate) const QUOTA: &str = "/quota";
pub(crate) const CONNECTIONS: &str = "/connections";
pub(crate) const COVERAGE: &str = "/coverage";
pub(crate) const IMPORTS: &str = "/imports";
pub(crate) const ADMIN: &str = "/admin";
pub(crate) const ADMIN_AUDIT: &str = "/admin/audit";
pub(crate) const ADMIN_STATUS: &str = "/admin/status";
/// All pages that can be opened, and to which a user may be redirected. The rows contain the same
/// paths, but their handlers need this list. A test compares the rows with the list.
pub(crate) const PAGES: [&str; 17] = [
    CONFIRM,
    AUTHORIZE,
    SIGN_IN,
    SIGN_IN_ONCE,
    PASSWORD,
    CHART,
    SECURITIES,
    PORTFOLIO,
    TOPICS,
    TOPIC,
    QUOTA,
    CONNECTIONS,
    COVERAGE,
    IMPORTS,
    ADMIN,
    ADMIN_AUDIT,
    ADMIN_STATUS,
];

/// Returns whether `path` matches `page`, in which a segment in braces matches any non-empty
/// segment.
pub(crate) fn is_at(page: &str, path: &str) -> bool {
    let (mut wanted, mut found) = (page.split('/'), path.split('/'));
    loop {
        match (wanted.next(), found.next()) {
            (None, None) => return true,
            (Some(wanted), Some(found))
                if wanted == found || (wanted.starts_with('{') && !found.is_empty()) => {}
            _ => return false,
        }
    }
}
