//! A route table row: the method, path, authentication and scope, handler, region rule, rate limit,
//! metrics label, and documentation of one endpoint.

use access::Scope;

use super::call::{Answer, Call, CredentialTerms, Effect, Home, WorldEntry};
use super::credentials::{Admitted, Watcher};
use super::doc::Doc;
use super::envelope::Problem;
use super::pace::RowPace;
use super::site::Site;
use crate::metrics::Task;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) method: &'static str,
    /// Path pattern. A segment in braces is a parameter and matches any non-empty text.
    pub(crate) path: &'static str,
    pub(crate) auth: Auth,
    pub(crate) home: Home,
    pub(crate) effect: Effect,
    /// What callers in a world get, unless the scope determines it.
    pub(crate) in_worlds: Option<WorldEntry>,
    pub(crate) body: RowBody,
    pub(crate) pace: RowPace,
    pub(crate) task: Task,
    /// Endpoint description in the OpenAPI document. A test fails for rows without a description.
    pub(crate) doc: Option<&'static Doc>,
}

/// How a request body is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowBody {
    /// The body is read into memory.
    Whole,
    /// The body is read into memory, up to the size of an ingested batch.
    Batch,
    /// The body is written to a file, after authentication. The handler finds the file in
    /// [`Call::arriving`].
    File,
}

/// Who may call the endpoint, and its handler. Handlers that need authentication take a permit as
/// an argument, so a row that does not check for a permit does not compile.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Auth {
    /// Answered without a worker thread, so that a liveness check does not fail when all worker
    /// threads are busy.
    AtOnce(Audience, fn() -> Answer),
    /// No authentication, or authentication by the handler.
    Open(Audience, OpenHandler),
    /// Monitoring endpoint, which requires a [`Call::watcher`].
    Watched(WatchedHandler),
    /// Requires an account with credentials for a scope.
    Permitted(Permitted),
}

pub(crate) type OpenHandler = fn(&Call<'_>, &Site) -> Result<Answer, Problem>;
pub(crate) type WatchedHandler = fn(&Call<'_>, &Site, Watcher) -> Result<Answer, Problem>;
pub(crate) type PermittedHandler = fn(&Call<'_>, &Site, Admitted) -> Result<Answer, Problem>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Permitted {
    pub(crate) accepts: Accepts,
    /// Scope that the credentials must have.
    pub(crate) scope: Scope,
    /// Scope that is accepted instead of `scope`.
    pub(crate) or: Option<Scope>,
    pub(crate) answer: PermittedHandler,
    /// Builds the response if authentication, authorization or the rate limit refuses the request.
    pub(crate) refuse: fn(Problem) -> Answer,
}

/// The audience of an endpoint without authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    Anyone,
    /// A user with a browser. The page itself checks the sign-in.
    Person,
    /// Any client, also at the internal listener, such as monitoring programs.
    Monitor,
}

/// The credentials that an endpoint accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// A signature or bearer token in the headers. Used for endpoints that only SDKs call, and for
    /// issuing credentials that outlive a browser session.
    Program,
    /// Credentials as for `Program`, or a browser session.
    Account,
    /// Credentials as for `Account`, or a token in the URL, for tools that can only be configured
    /// with a URL. URLs end up in histories and logs, so only candles can be requested this way.
    /// Pages on other sites may use such an endpoint too (CORS).
    Address,
}

impl Row {
    pub(crate) const fn get(
        path: &'static str,
        accepts: Accepts,
        scope: Scope,
        task: Task,
        handler: PermittedHandler,
    ) -> Row {
        Row::new("GET", path, task, Auth::permitted(accepts, scope, handler))
    }

    pub(crate) const fn post(
        path: &'static str,
        accepts: Accepts,
        scope: Scope,
        task: Task,
        handler: PermittedHandler,
    ) -> Row {
        Row::new("POST", path, task, Auth::permitted(accepts, scope, handler))
    }

    pub(crate) const fn put(
        path: &'static str,
        accepts: Accepts,
        scope: Scope,
        task: Task,
        handler: PermittedHandler,
    ) -> Row {
        Row::new("PUT", path, task, Auth::permitted(accepts, scope, handler))
    }

    pub(crate) const fn delete(
        path: &'static str,
        accepts: Accepts,
        scope: Scope,
        task: Task,
        handler: PermittedHandler,
    ) -> Row {
        Row::new("DELETE", path, task, Auth::permitted(accepts, scope, handler))
    }

    pub(crate) const fn open_get(path: &'static str, to: Audience, task: Task, handler: OpenHandler) -> Row {
        Row::new("GET", path, task, Auth::Open(to, handler))
    }

    pub(crate) const fn open_post(path: &'static str, to: Audience, task: Task, handler: OpenHandler) -> Row {
        Row::new("POST", path, task, Auth::Open(to, handler))
    }

    pub(crate) const fn open_delete(
        path: &'static str,
        to: Audience,
        task: Task,
        handler: OpenHandler,
    ) -> Row {
        Row::new("DELETE", path, task, Auth::Open(to, handler))
    }

    pub(crate) const fn at_once(
        path: &'static str,
        to: Audience,
        task: Task,
        handler: fn() -> Answer,
    ) -> Row {
        Row::new("GET", path, task, Auth::AtOnce(to, handler))
    }

    pub(crate) const fn watched(path: &'static str, task: Task, handler: WatchedHandler) -> Row {
        Row::new("GET", path, task, Auth::Watched(handler))
    }

    const fn new(method: &'static str, path: &'static str, task: Task, auth: Auth) -> Row {
        Row {
            method,
            path,
            auth,
            home: Home::Anywhere,
            effect: Effect::ByMethod,
            in_worlds: None,
            body: RowBody::Whole,
            pace: RowPace::Unlimited,
            task,
            doc: None,
        }
    }

    /// Restricts the endpoint to accounts of the listener's region.
    pub(crate) const fn own_region_only(self) -> Row {
        Row { home: Home::OwnRegion, ..self }
    }

    /// Marks the endpoint as read-only, whatever the method.
    pub(crate) const fn question(self) -> Row {
        Row { effect: Effect::Question, ..self }
    }

    /// Marks the endpoint as one that may receive the same change twice on purpose.
    pub(crate) const fn orders(self) -> Row {
        Row { effect: Effect::Orders, ..self }
    }

    /// Marks an endpoint that serves data of the owner's account even to a browser session in a
    /// world.
    pub(crate) const fn of_owner(self) -> Row {
        Row { in_worlds: Some(WorldEntry::Owner), ..self }
    }

    /// Refuses all callers in worlds, because the endpoint serves current data.
    pub(crate) const fn outside_worlds(self) -> Row {
        Row { in_worlds: Some(WorldEntry::Outside), ..self }
    }

    /// Accepts a body of the size of an ingested batch.
    pub(crate) const fn takes_batch(self) -> Row {
        Row { body: RowBody::Batch, ..self }
    }

    /// Reads the request body into a file.
    pub(crate) const fn takes_file(self) -> Row {
        Row { body: RowBody::File, ..self }
    }

    /// Sets the rate limit.
    pub(crate) const fn paced(self, pace: RowPace) -> Row {
        Row { pace, ..self }
    }

    /// Sets the OpenAPI description.
    pub(crate) const fn doc(self, doc: &'static Doc) -> Row {
        Row { doc: Some(doc), ..self }
    }

    /// Adds an alternative scope.
    pub(crate) const fn or_scope(self, scope: Scope) -> Row {
        let auth = match self.auth {
            Auth::Permitted(permitted) => Auth::Permitted(Permitted { or: Some(scope), ..permitted }),
            auth => auth,
        };
        Row { auth, ..self }
    }

    /// Sets the response format for requests refused by authentication, authorization or the rate
    /// limit.
    pub(crate) const fn refusing(self, refuse: fn(Problem) -> Answer) -> Row {
        let auth = match self.auth {
            Auth::Permitted(permitted) => Auth::Permitted(Permitted { refuse, ..permitted }),
            auth => auth,
        };
        Row { auth, ..self }
    }

    /// Returns the row's rules for authentication.
    pub(crate) fn credential_terms(&self) -> CredentialTerms {
        CredentialTerms {
            home: self.home,
            effect: self.effect,
            takes_session: self.takes_session(),
            world: self.world_entry(),
        }
    }

    /// Returns what a browser session may do in a world: read the market, trade, and use its lists.
    fn world_entry(&self) -> WorldEntry {
        if let Some(entry) = self.in_worlds {
            return entry;
        }
        match self.auth {
            Auth::Permitted(Permitted { scope: Scope::Quote | Scope::Trade, .. }) => WorldEntry::World,
            Auth::Permitted(_) | Auth::AtOnce(..) | Auth::Open(..) | Auth::Watched(_) => WorldEntry::Refused,
        }
    }

    /// Returns the accepted credentials, or `None` if the endpoint needs no credentials.
    fn accepts(&self) -> Option<Accepts> {
        match self.auth {
            Auth::Permitted(Permitted { accepts, .. }) => Some(accepts),
            Auth::AtOnce(..) | Auth::Open(..) | Auth::Watched(_) => None,
        }
    }

    /// Returns whether the request is authenticated before the handler is called.
    pub(crate) fn needs_proof(&self) -> bool {
        self.accepts().is_some()
    }

    /// Returns whether the row is a page or a form on a page.
    pub(crate) fn is_for_people(&self) -> bool {
        matches!(self.auth, Auth::Open(Audience::Person, _))
    }

    /// Returns whether a browser session is accepted as credentials.
    pub(crate) fn takes_session(&self) -> bool {
        matches!(self.auth, Auth::Watched(_))
            || self.accepts().is_some_and(|accepts| accepts != Accepts::Program)
    }

    /// Returns whether a token in the URL is accepted as credentials.
    pub(crate) fn takes_token_in_address(&self) -> bool {
        self.accepts() == Some(Accepts::Address)
    }

    /// Returns whether the response may depend on the request coming from this machine.
    pub(crate) fn asks_whether_local(&self) -> bool {
        matches!(self.auth, Auth::Watched(_) | Auth::Open(Audience::Person, _))
    }

    /// Returns whether the internal listener serves the row.
    pub(crate) fn is_internal(&self) -> bool {
        use Audience::Monitor;
        matches!(self.auth, Auth::Watched(_) | Auth::Open(Monitor, _) | Auth::AtOnce(Monitor, _))
    }
}

impl Auth {
    const fn permitted(accepts: Accepts, scope: Scope, answer: PermittedHandler) -> Auth {
        Auth::Permitted(Permitted { accepts, scope, or: None, answer, refuse: Problem::answer })
    }
}
