//! An endpoint as a row: where it is, who may ask, for whose accounts it is, what it counts as, and what answers.

use hyper::Method;

use super::call::{Answer, Call};
use super::doc::Doc;
use super::envelope::Problem;
use super::site::Site;
use crate::metrics::Task;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) method: &'static str,
    /// With at most one segment in braces, which stands for any text but none at all.
    pub(crate) path: &'static str,
    pub(crate) asks: Asks,
    pub(crate) home: Home,
    pub(crate) effect: Effect,
    pub(crate) task: Task,
    pub(crate) handler: Handler,
    /// What clients are told about it. A test finds the row that has none.
    pub(crate) doc: Option<&'static Doc>,
}

/// Who may ask, and which proofs are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Anyone, without a proof.
    Anyone,
    /// A person at a browser. Who that is, is the page's own matter.
    Person,
    /// Who keeps the service running: anyone on this machine or at the internal listener, else an operator.
    Watcher,
    /// A program that proves itself in its headers. What outlives the session of a browser is for programs, and so is what only SDKs
    /// ask for.
    Program,
    /// The same, or a browser with a session.
    Account,
    /// The same, or a tool that can be given nothing but an address, with the token in it. Addresses are kept in histories and
    /// logs, so this is for candles alone, and pages of other sites may ask for them too.
    Address,
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

/// What answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Handler {
    /// Needs no thread that may wait: whether the process answers must not depend on whether it has one to spare.
    AtOnce(fn() -> Answer),
    MayWait(fn(&Call<'_>, &Site) -> Result<Answer, Problem>),
}

type MayWait = fn(&Call<'_>, &Site) -> Result<Answer, Problem>;

impl Row {
    pub(crate) const fn get(path: &'static str, asks: Asks, task: Task, handler: MayWait) -> Row {
        Row::new("GET", path, asks, task, Handler::MayWait(handler))
    }

    pub(crate) const fn post(path: &'static str, asks: Asks, task: Task, handler: MayWait) -> Row {
        Row::new("POST", path, asks, task, Handler::MayWait(handler))
    }

    pub(crate) const fn delete(path: &'static str, asks: Asks, task: Task, handler: MayWait) -> Row {
        Row::new("DELETE", path, asks, task, Handler::MayWait(handler))
    }

    pub(crate) const fn at_once(path: &'static str, asks: Asks, task: Task, handler: fn() -> Answer) -> Row {
        Row::new("GET", path, asks, task, Handler::AtOnce(handler))
    }

    const fn new(method: &'static str, path: &'static str, asks: Asks, task: Task, handler: Handler) -> Row {
        Row { method, path, asks, home: Home::Anywhere, effect: Effect::ByMethod, task, handler, doc: None }
    }

    /// The same, for accounts of the listener's region alone.
    pub(crate) const fn at_home(self) -> Row {
        Row { home: Home::OwnRegion, ..self }
    }

    /// The same, and it changes nothing.
    pub(crate) const fn question(self) -> Row {
        Row { effect: Effect::Question, ..self }
    }

    /// The same, described.
    pub(crate) const fn doc(self, doc: &'static Doc) -> Row {
        Row { doc: Some(doc), ..self }
    }

    /// Whether a request with this method changes something.
    pub(crate) fn is_change(&self, method: &Method) -> bool {
        let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(method);
        !is_safe && self.effect == Effect::ByMethod
    }
}

impl Asks {
    /// Whether nothing is done for somebody who does not prove who they are. The others have proofs of their own, or need none.
    pub(crate) fn needs_proof(self) -> bool {
        matches!(self, Asks::Program | Asks::Account | Asks::Address)
    }

    /// Whether the session of a browser is a proof.
    pub(crate) fn takes_session(self) -> bool {
        matches!(self, Asks::Watcher | Asks::Account | Asks::Address)
    }

    /// Whether the token may stand in the address.
    pub(crate) fn takes_token_in_address(self) -> bool {
        self == Asks::Address
    }

    /// Whether the answer may depend on the request coming from this machine.
    pub(crate) fn asks_whether_local(self) -> bool {
        matches!(self, Asks::Person | Asks::Watcher)
    }
}
