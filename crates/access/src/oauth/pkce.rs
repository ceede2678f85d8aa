//! Proof Key for Code Exchange (PKCE, RFC 7636). A verifier is checked if the client sent a
//! challenge, and a challenge is required where a code could be intercepted.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::redirect;

/// Which public clients must use PKCE. A public client is a client without a secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PkceRule {
    /// All public clients.
    Always,
    /// Public clients whose redirect address is on another machine. The public SDKs do not use
    /// PKCE, and receive the code on a local port of the user's machine.
    #[default]
    Remote,
    Never,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a PKCE requirement: write always, remote or never")]
pub struct ParsePkceRuleError(String);

impl PkceRule {
    pub fn as_str(self) -> &'static str {
        match self {
            PkceRule::Always => "always",
            PkceRule::Remote => "remote",
            PkceRule::Never => "never",
        }
    }

    /// Returns whether a public client with this redirect address must use PKCE.
    pub(super) fn asks(self, redirect_uri: &str) -> bool {
        match self {
            PkceRule::Always => true,
            PkceRule::Remote => !redirect::is_of_this_machine(redirect_uri),
            PkceRule::Never => false,
        }
    }
}

impl fmt::Display for PkceRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for PkceRule {
    type Err = ParsePkceRuleError;

    fn from_str(text: &str) -> Result<PkceRule, ParsePkceRuleError> {
        let all = [PkceRule::Always, PkceRule::Remote, PkceRule::Never];
        let found = all.into_iter().find(|rule| rule.as_str() == text);
        found.ok_or_else(|| ParsePkceRuleError(text.chars().take(40).collect()))
    }
}

/// Returns whether a challenge or verifier has a valid length and character set (RFC 7636, 4.1).
fn is_fit(text: &str) -> bool {
    (43..=128).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// Returns a challenge in stored form, `method:challenge`, or `None` if there is no challenge. The
/// default method is `plain`. Fails if the method is unknown or the challenge is malformed.
pub(super) fn remember(
    challenge: Option<&str>,
    method: Option<&str>,
) -> Result<Option<String>, &'static str> {
    let Some(challenge) = challenge else {
        return match method {
            Some(_) => Err("code_challenge_method is given without code_challenge"),
            None => Ok(None),
        };
    };
    let method = method.unwrap_or("plain");
    if !["plain", "S256"].contains(&method) {
        return Err("code_challenge_method is plain or S256");
    }
    if !is_fit(challenge) {
        return Err("code_challenge has 43 to 128 letters, digits or - . _ ~");
    }
    Ok(Some(format!("{method}:{challenge}")))
}

/// Returns whether a verifier matches the stored challenge. A verifier without a challenge is
/// refused, and so is a challenge without a verifier. Returns `true` if there is neither.
pub(super) fn is_proved(remembered: Option<&str>, verifier: Option<&str>) -> bool {
    let (remembered, verifier) = match (remembered, verifier) {
        (None, None) => return true,
        (Some(remembered), Some(verifier)) => (remembered, verifier),
        _ => return false,
    };
    if !is_fit(verifier) {
        return false;
    }
    let Some((method, challenge)) = remembered.split_once(':') else { return false };
    let answer = match method {
        "S256" => URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())),
        _ => verifier.to_owned(),
    };
    answer.as_bytes().ct_eq(challenge.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7636, appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn the_rfc_example_is_accepted() {
        let remembered = remember(Some(CHALLENGE), Some("S256")).unwrap();
        assert!(is_proved(remembered.as_deref(), Some(VERIFIER)));
        assert!(!is_proved(remembered.as_deref(), Some(CHALLENGE)));
        let plain = remember(Some(VERIFIER), None).unwrap();
        assert_eq!(plain, remember(Some(VERIFIER), Some("plain")).unwrap());
        assert!(is_proved(plain.as_deref(), Some(VERIFIER)));
        assert!(!is_proved(plain.as_deref(), Some(CHALLENGE)));
    }

    #[test]
    fn a_verifier_or_a_challenge_alone_is_refused() {
        let remembered = remember(Some(CHALLENGE), Some("S256")).unwrap();
        assert!(!is_proved(remembered.as_deref(), None));
        assert!(!is_proved(remembered.as_deref(), Some("")));
        assert!(!is_proved(None, Some(VERIFIER)));
        assert!(is_proved(None, None));
    }

    #[test]
    fn a_malformed_challenge_is_refused() {
        for (challenge, method) in [
            (Some("short"), Some("S256")),
            (Some(""), None),
            (Some(CHALLENGE), Some("s256")),
            (Some(CHALLENGE), Some("none")),
            (None, Some("S256")),
        ] {
            remember(challenge, method).unwrap_err();
        }
        remember(Some(&"x".repeat(129)), None).unwrap_err();
        remember(Some(&" ".repeat(50)), None).unwrap_err();
        assert_eq!(remember(None, None), Ok(None));
    }
}
