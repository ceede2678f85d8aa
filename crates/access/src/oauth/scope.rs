use super::OAuthError;
use crate::scope::{Scope, Scopes};

/// The one scope that clients ask for; it covers everything an account may do but what is for operators.
pub const SCOPE: &str = "openapi";
/// What public documents call it.
const ALIAS: &str = "3";

/// A scope as clients write it: nothing, the one there is, or its alias.
pub(super) fn parse(text: &str) -> Result<&'static str, OAuthError> {
    let all_known =
        text.split(' ').filter(|word| !word.is_empty()).all(|word| word == SCOPE || word == ALIAS);
    if all_known { Ok(SCOPE) } else { Err(OAuthError::InvalidScope) }
}

/// What a token with this scope is good for: the words of a list add up. One that is not known is good for nothing, and none makes a
/// program an operator.
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
    fn a_token_is_good_for_what_its_words_say() {
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
