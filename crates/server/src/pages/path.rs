//! The paths of the pages.

pub(crate) const CONFIRM: &str = "/oauth2/device/authorize/confirm";
pub(crate) const AUTHORIZE: &str = "/oauth2/authorize";
pub(crate) const SIGN_IN: &str = "/signin";
pub(crate) const SIGN_OUT: &str = "/signout";
pub(crate) const END: &str = "/signin/end";
pub(crate) const STYLE: &str = "/assets/pages.css";
pub(crate) const CHART: &str = "/";
pub(crate) const PORTFOLIO: &str = "/portfolio";
pub(crate) const QUOTA: &str = "/quota";
pub(crate) const CONNECTIONS: &str = "/connections";
pub(crate) const COVERAGE: &str = "/coverage";
pub(crate) const IMPORTS: &str = "/imports";
/// The chart page and the desk, which have scripts.
pub(crate) const FRONT: [&str; 6] = [CHART, PORTFOLIO, QUOTA, CONNECTIONS, COVERAGE, IMPORTS];
