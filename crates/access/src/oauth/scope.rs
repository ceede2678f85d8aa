use super::OAuthError;

/// The one scope there is; it covers everything an account may do.
pub const SCOPE: &str = "openapi";
/// What public documents call it.
const ALIAS: &str = "3";

/// A scope as clients write it: nothing, the one there is, or its alias.
pub(super) fn parse(text: &str) -> Result<&'static str, OAuthError> {
    let all_known =
        text.split(' ').filter(|word| !word.is_empty()).all(|word| word == SCOPE || word == ALIAS);
    if all_known { Ok(SCOPE) } else { Err(OAuthError::InvalidScope) }
}

/// Whether a token with this scope may be used for business.
pub(crate) fn is_whole(scope: &str) -> bool {
    scope.split(' ').any(|word| word == SCOPE)
}
