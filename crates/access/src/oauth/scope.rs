use super::OAuthError;
use crate::scope::{Scope, Scopes};

/// The only scope that clients request. It covers everything an account may do except operator
/// functions.
pub const SCOPE: &str = "openapi";
/// Name of the scope in the public API documentation.
const ALIAS: &str = "3";

/// Parses a requested scope: empty, `openapi` or its alias.
pub(super) fn parse(text: &str) -> Result<&'static str, OAuthError> {
    let all_known =
        text.split(' ').filter(|word| !word.is_empty()).all(|word| word == SCOPE || word == ALIAS);
    if all_known { Ok(SCOPE) } else { Err(OAuthError::InvalidScope) }
}

/// Returns the scopes of a token, the union of its words. Unknown words grant nothing, and no word
/// grants the operator scope.
pub(crate) fn granted(scope: &str) -> Scopes {
    scope.split(' ').fold(Scopes::NONE, |all, word| match word {
        SCOPE => all.or(Scopes::PROGRAM),
        "quote" => all.with(Scope::Quote),
        "trade" => all.with(Scope::Trade),
        "account" => all.with(Scope::Account),
        _ => all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_token_are_parsed_as_scopes() {
        for (scope, wanted) in [
            ("openapi", "quote trade account"),
            ("quote", "quote"),
            ("account trade", "trade account"),
            ("quote openapi", "quote trade account"),
            ("", ""),
            ("operator", ""),
            ("profile email", ""),
        ] {
            assert_eq!(granted(scope).to_string(), wanted, "{scope:?}");
        }
    }
}
