//! Hints in refusals on how to lift an account's limit, shown only to operators with suitable
//! credentials. All other callers get the published text.

use access::{AccountId, Caller};
use store::StoreUrl;

use crate::core::Core;
use crate::refusal::Refusal;

/// Adds the command that lifts the limit to the refusal, if the caller is an operator.
pub(crate) fn with_hint(refusal: Refusal, who: &Caller, core: &Core) -> Refusal {
    let text = if refusal.is_limit() { text(who, core) } else { None };
    match text {
        Some(text) => refusal.followed_by(&format!("; {text}")),
        None => refusal,
    }
}

/// Returns `` `chandler …` lifts it `` for an operator, otherwise `None`.
pub(crate) fn text(who: &Caller, core: &Core) -> Option<String> {
    // If the lookup fails, the refusal is sent without the hint.
    let is_operator = core.access.is_operator(who).unwrap_or(false);
    is_operator.then(|| format!("`{}` lifts it", command(who.account(), core.store.url())))
}

/// Returns the command that lifts an account's limits. The command uses the account id, because a
/// name may need quoting that a message could garble.
fn command(account: AccountId, store: &StoreUrl) -> String {
    format!("chandler --store {} account set {} --unlimited", shell_word(&store_name(store)), account.0)
}

/// Returns the store's `--store` argument with an absolute path, because the command may be run in
/// a directory other than the server's.
pub(crate) fn store_name(store: &StoreUrl) -> String {
    match store.path() {
        Some(directory) => {
            let whole = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
            format!("sqlite:{}", whole.display())
        }
        None => store.to_string(),
    }
}

/// Quotes a word for a POSIX shell, if it needs quoting.
fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@%+,=".contains(letter);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_quoted_for_a_shell() {
        let of = |store: &str| command(AccountId(7), &store.into());
        assert_eq!(of("/srv/own"), "chandler --store sqlite:/srv/own account set 7 --unlimited");
        assert_eq!(of("/it's mine"), "chandler --store 'sqlite:/it'\\''s mine' account set 7 --unlimited");
    }
}
