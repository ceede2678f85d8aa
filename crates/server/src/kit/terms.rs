//! The part of a row that authentication needs. It is separate to avoid a dependency cycle: rows
//! refer to handlers, handlers take a request, and requests refer to these terms.

use access::Repetition;
use hyper::Method;

/// The part of a row that authentication needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CredentialTerms {
    pub(crate) home: Home,
    pub(crate) effect: Effect,
    /// Whether a browser session is accepted as credentials.
    pub(crate) takes_session: bool,
}

/// Which accounts a regional listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// All accounts: the endpoint is public, or for signing in, or it returns market data, for
    /// which the route itself checks the region.
    Anywhere,
    /// Only accounts of its region, because the endpoint concerns the account itself. Tokens of
    /// other accounts are invalid here.
    OwnRegion,
}

/// Whether a request changes state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Changes state unless the method is GET, HEAD or OPTIONS.
    ByMethod,
    /// Never changes state, whatever the method. SDKs sign with a timestamp in seconds, so two
    /// equal requests within a second have the same signature. Both are answered, whereas a change
    /// with a repeated signature is refused.
    Question,
    /// Changes state unless the method is GET, HEAD or OPTIONS, and a client may intend the same
    /// change twice: two equal orders within a second are both executed.
    Orders,
}

impl CredentialTerms {
    /// Terms of a request without an endpoint, which changes nothing.
    pub(crate) const NO_ROW: CredentialTerms =
        CredentialTerms { home: Home::Anywhere, effect: Effect::Question, takes_session: false };

    /// Returns whether a request with this method changes state.
    pub(crate) fn is_change(self, method: &Method) -> bool {
        let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        !is_safe && self.effect != Effect::Question
    }

    /// Returns whether the signature of a change may be repeated.
    pub(crate) fn repetition(self) -> Repetition {
        match self.effect {
            Effect::Orders => Repetition::InAMoment,
            Effect::ByMethod | Effect::Question => Repetition::Never,
        }
    }
}
