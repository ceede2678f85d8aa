//! Paths of pages that endpoints refer to.

/// Page for entering a device code.
pub(crate) const CONFIRM: &str = "/oauth2/device/authorize/confirm";
/// Page for authorizing an OAuth client.
pub(crate) const AUTHORIZE: &str = "/oauth2/authorize";
/// Page for setting an account's password, opened with a link from an operator.
pub(crate) const PASSWORD: &str = "/password";
