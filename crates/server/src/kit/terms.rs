//! The part of a row that authentication reads. It is separate, because a row refers to handlers,
//! which take a request, and the request refers to this.

use access::Repetition;
use hyper::Method;

/// The part of a row that authentication reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CredentialTerms {
    pub(crate) home: Home,
    pub(crate) effect: Effect,
    /// Whether a browser session is accepted as credentials.
    pub(crate) takes_session: bool,
}

/// The accounts that a listener of one region answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// All: the endpoint is public, or for signing in, or it returns market data, for which the
    /// route itself checks the region.
    Anywhere,
    /// Only those of its region: the endpoint is about the account itself. For others the token is
    /// invalid here.
    OwnRegion,
}

/// Whether a request changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It does unless the method is GET, HEAD or OPTIONS.
    ByMethod,
    /// It does not, whatever the method. SDKs sign with a timestamp in seconds, so two equal
    /// requests within a second have the same signature; both are answered, while a change with a
    /// repeated signature is refused.
    Question,
    /// It does unless the method is GET, HEAD or OPTIONS, and a client may intend the same change
    /// twice: two equal orders within a second both count.
    Orders,
}

impl CredentialTerms {
    /// Without an endpoint, nothing is changed.
    pub(crate) const NO_ROW: CredentialTerms =
        CredentialTerms { home: Home::Anywhere, effect: Effect::Question, takes_session: false };

    /// Whether a request with this method changes something.
    pub(crate) fn is_change(self, method: &Method) -> bool {
        let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        !is_safe && self.effect != Effect::Question
    }

    /// Whether the signature of a change may be repeated.
    pub(crate) fn repetition(self) -> Repetition {
        match self.effect {
            Effect::Orders => Repetition::InAMoment,
            Effect::ByMethod | Effect::Question => Repetition::Never,
        }
    }
}
