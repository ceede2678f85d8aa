//! Paths of pages that endpoints name in their answers.

/// Where a person enters the code of a device.
pub(crate) const CONFIRM: &str = "/oauth2/device/authorize/confirm";
/// Where a person lets a program in.
pub(crate) const AUTHORIZE: &str = "/oauth2/authorize";
/// Where a person sets the password of their account, with a link of an operator's.
pub(crate) const PASSWORD: &str = "/password";
