//! What the row of a request says about its proof. It is below the request, which rows and their handlers are made of.

use hyper::Method;

/// Read when a request proves who sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProofTerms {
    pub(crate) home: Home,
    pub(crate) effect: Effect,
    /// Whether the session of a browser is a proof.
    pub(crate) takes_session: bool,
}

/// Whose accounts are answered, where a listener is for one region alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// Any: it is public, signs in, or tells prices, which have a refusal of their own.
    Anywhere,
    /// It is about the account itself: one of another region is told that its token is not good here.
    OwnRegion,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// By its method: GET asks, the others change something.
    ByMethod,
    /// It only asks, with whatever method. SDKs sign with a time in seconds, so that two equal questions of one second have one
    /// signature, and both are answered.
    Question,
}

impl ProofTerms {
    /// Where no endpoint is, nothing is changed.
    pub(crate) const NO_ROW: ProofTerms =
        ProofTerms { home: Home::Anywhere, effect: Effect::Question, takes_session: false };

    /// Whether a request with this method changes something.
    pub(crate) fn is_change(self, method: &Method) -> bool {
        let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        !is_safe && self.effect == Effect::ByMethod
    }
}
