//! Paths of pages that endpoints refer to.

/// The page to enter the code of a device.
pub(crate) const CONFIRM: &str = "/oauth2/device/authorize/confirm";
/// The page to authorize a program.
pub(crate) const AUTHORIZE: &str = "/oauth2/authorize";
/// The page to set an account's password, with a link from an operator.
pub(crate) const PASSWORD: &str = "/password";
