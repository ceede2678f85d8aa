//! An endpoint as a row: where it is, who may ask and what answers, for whose accounts it is, and what it counts as.

use access::Scope;

use super::call::{Answer, Call};
use super::doc::Doc;
use super::envelope::Problem;
use super::proof::{Admitted, Watcher};
use super::site::Site;
use super::terms::{Effect, Home, ProofTerms};
use crate::metrics::Task;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) method: &'static str,
    /// A segment in braces stands for any text but none at all.
    pub(crate) path: &'static str,
    pub(crate) gate: Gate,
    pub(crate) home: Home,
    pub(crate) effect: Effect,
    pub(crate) task: Task,
    /// What clients are told about it. A test finds the row that has none.
    pub(crate) doc: Option<&'static Doc>,
}

/// Who may ask, and what answers them. What needs a proof is answered by functions that take a permit: a row that forgets to ask for
/// one does not compile.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gate {
    /// Needs no thread that may wait: whether the process answers must not depend on whether it has one to spare.
    AtOnce(Audience, fn() -> Answer),
    /// Without a proof, or with one of its own.
    Open(Audience, OpenHandler),
    /// For those who keep the service running.
    Watched(WatchedHandler),
    /// For an account, within a scope.
    Permitted(Permitted),
}

pub(crate) type OpenHandler = fn(&Call<'_>, &Site) -> Result<Answer, Problem>;
pub(crate) type WatchedHandler = fn(&Call<'_>, &Site, Watcher) -> Result<Answer, Problem>;
pub(crate) type PermittedHandler = fn(&Call<'_>, &Site, Admitted) -> Result<Answer, Problem>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Permitted {
    pub(crate) asks: Asks,
    /// What the credentials must be good for.
    pub(crate) scope: Scope,
    pub(crate) answer: PermittedHandler,
    /// How somebody is told that they are not let in.
    pub(crate) refuse: fn(Problem) -> Answer,
}

/// Who may ask where nobody has to prove who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    Anyone,
    /// A person at a browser. Who that is, is the page's own matter.
    Person,
    /// Anyone, at the internal listener too: programs that look whether the service is there.
    Monitor,
}

/// Which proofs are taken of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// A program that proves itself in its headers. What outlives the session of a browser is for programs, and so is what only SDKs
    /// ask for.
    Program,
    /// The same, or a browser with a session.
    Account,
    /// The same, or a tool that can be given nothing but an address, with the token in it. Addresses are kept in histories and
    /// logs, so this is for candles alone, and pages of other sites may ask for them too.
    Address,
}

impl Row {
    pub(crate) const fn get(
        path: &'static str,
        asks: Asks,
        scope: Scope,
        task: Task,
        handler: PermittedHandler,
    ) -> Row {
        Row::new("GET", path, task, Gate::permitted(asks, scope, handler))
    }

    pub(crate) const fn post(
        path: &'static str,
        asks: Asks,
        scope: Scope,
        task: Task,
        handler: PermittedHandler,
    ) -> Row {
        Row::new("POST", path, task, Gate::permitted(asks, scope, handler))
    }

    pub(crate) const fn put(
        path: &'static str,
        asks: Asks,
        scope: Scope,
        task: Task,
        handler: PermittedHandler,
    ) -> Row {
        Row::new("PUT", path, task, Gate::permitted(asks, scope, handler))
    }

    pub(crate) const fn delete(
        path: &'static str,
        asks: Asks,
        scope: Scope,
        task: Task,
        handler: PermittedHandler,
    ) -> Row {
        Row::new("DELETE", path, task, Gate::permitted(asks, scope, handler))
    }

    pub(crate) const fn open_get(path: &'static str, to: Audience, task: Task, handler: OpenHandler) -> Row {
        Row::new("GET", path, task, Gate::Open(to, handler))
    }

    pub(crate) const fn open_post(path: &'static str, to: Audience, task: Task, handler: OpenHandler) -> Row {
        Row::new("POST", path, task, Gate::Open(to, handler))
    }

    pub(crate) const fn open_delete(
        path: &'static str,
        to: Audience,
        task: Task,
        handler: OpenHandler,
    ) -> Row {
        Row::new("DELETE", path, task, Gate::Open(to, handler))
    }

    pub(crate) const fn at_once(
        path: &'static str,
        to: Audience,
        task: Task,
        handler: fn() -> Answer,
    ) -> Row {
        Row::new("GET", path, task, Gate::AtOnce(to, handler))
    }

    pub(crate) const fn watched(path: &'static str, task: Task, handler: WatchedHandler) -> Row {
        Row::new("GET", path, task, Gate::Watched(handler))
    }

    const fn new(method: &'static str, path: &'static str, task: Task, gate: Gate) -> Row {
        Row { method, path, gate, home: Home::Anywhere, effect: Effect::ByMethod, task, doc: None }
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

    /// The same, with words of its own for those who are not let in.
    pub(crate) const fn refusing(self, refuse: fn(Problem) -> Answer) -> Row {
        let gate = match self.gate {
            Gate::Permitted(permitted) => Gate::Permitted(Permitted { refuse, ..permitted }),
            gate => gate,
        };
        Row { gate, ..self }
    }

    /// What it says about the proof of a request.
    pub(crate) fn proof_terms(&self) -> ProofTerms {
        ProofTerms { home: self.home, effect: self.effect, takes_session: self.takes_session() }
    }

    /// Which proofs are taken, if one is needed.
    fn asks(&self) -> Option<Asks> {
        match self.gate {
            Gate::Permitted(Permitted { asks, .. }) => Some(asks),
            Gate::AtOnce(..) | Gate::Open(..) | Gate::Watched(_) => None,
        }
    }

    /// Whether nothing is done for somebody who does not prove who they are. The others have proofs of their own, or need none.
    pub(crate) fn needs_proof(&self) -> bool {
        self.asks().is_some()
    }

    /// Whether the session of a browser is a proof.
    pub(crate) fn takes_session(&self) -> bool {
        matches!(self.gate, Gate::Watched(_)) || self.asks().is_some_and(|asks| asks != Asks::Program)
    }

    /// Whether the token may stand in the address.
    pub(crate) fn takes_token_in_address(&self) -> bool {
        self.asks() == Some(Asks::Address)
    }

    /// Whether the answer may depend on the request coming from this machine.
    pub(crate) fn asks_whether_local(&self) -> bool {
        matches!(self.gate, Gate::Watched(_) | Gate::Open(Audience::Person, _))
    }

    /// Whether the internal listener answers it.
    pub(crate) fn is_internal(&self) -> bool {
        use Audience::Monitor;
        matches!(self.gate, Gate::Watched(_) | Gate::Open(Monitor, _) | Gate::AtOnce(Monitor, _))
    }
}

impl Gate {
    const fn permitted(asks: Asks, scope: Scope, answer: PermittedHandler) -> Gate {
        Gate::Permitted(Permitted { asks, scope, answer, refuse: Problem::answer })
    }
}
