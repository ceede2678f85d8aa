//! Calls an account's endpoints in this process, for the command line on a local store. This
//! process has no listeners, background jobs, rate limits or quotas, and reads write nothing to the
//! store.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use access::{Access, AccountId};
use bytes::Bytes;
use history::History;
use hyper::Method;
use hyper::header::HeaderMap;
use paper::Paper;
use store::Store;
use trading::Tables;

use super::dated::whole;
use super::{routes, statement};
use crate::caller::{Client, Language};
use crate::core::{Clock, Core};
use crate::kit::{Admitted, Auth, Call, ListenerKind, Permitted, Problem, RequestNotes, Row, Site};
use crate::links::Links;
use crate::market_clock::MarketClock;

/// Placeholder peer address, because in-process requests have no network peer.
const NOWHERE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The account endpoints over a store that this process has opened.
#[derive(Debug)]
pub struct InProcess {
    site: Site,
}

/// A request made as an account.
#[derive(Clone, Copy, Debug)]
pub struct InProcessRequest<'a> {
    pub account: AccountId,
    pub method: &'a str,
    /// Path and query string.
    pub target: &'a str,
    pub body: &'a [u8],
}

/// The response to a successful in-process request.
#[derive(Clone, Debug)]
pub struct InProcessAnswer {
    /// The JSON response envelope.
    pub body: Bytes,
    /// Whether this is a retry of a request that was already executed with the same idempotency
    /// key.
    pub is_repeated: bool,
}

/// A refused in-process request.
#[derive(Clone, Debug)]
pub struct InProcessRefusal {
    pub status: u16,
    pub code: u64,
    /// The message that a server would send to the client.
    pub message: String,
    /// The full reason, which a server would only log.
    pub detail: Option<String>,
}

impl InProcess {
    pub fn new(
        store: Store,
        history: History,
        access: Access,
        tables: Tables,
        market: MarketClock,
        machine: Clock,
    ) -> InProcess {
        let core = Core::for_command_line(store, history, access, tables, market, machine);
        InProcess { site: Site::new(Arc::new(core), Links::default()) }
    }

    /// Returns the paper account service.
    pub fn paper(&self) -> &Paper {
        &self.site.core.paper
    }

    /// Answers a request as the endpoint would. The response is always in the newest format, even
    /// if the account is pinned to an API date. Only endpoints that require a permit are available.
    pub fn call(&self, request: &InProcessRequest<'_>) -> Result<InProcessAnswer, InProcessRefusal> {
        self.answer(request).map_err(InProcessRefusal::of)
    }

    /// Returns the content of a statement by its `file_key` from the statement list.
    pub fn statement(&self, account: AccountId, file_key: &str) -> Result<Vec<u8>, InProcessRefusal> {
        let found =
            self.admitted(account).and_then(|admitted| statement::stored(&self.site, &admitted, file_key));
        found.map(|(_, text)| text).map_err(InProcessRefusal::of)
    }

    fn admitted(&self, account: AccountId) -> Result<Admitted, Problem> {
        let core = &self.site.core;
        let as_of = core.market_now_of(account);
        let admitted = core.access.admit_in_process(account, as_of.now()).map_err(Problem::from_access)?;
        let (who, permit) = admitted.ok_or_else(|| Problem::nothing_there("no such account"))?;
        let language = Language::En;
        let client = Client { who, language, overnight: true, listener_region: None, connection: None };
        Ok(Admitted { caller: client.at(as_of, as_of.now()), permit, _world_request: None })
    }

    fn answer(&self, request: &InProcessRequest<'_>) -> Result<InProcessAnswer, Problem> {
        let InProcessRequest { account, method, target, body } = *request;
        let method = Method::from_bytes(method.as_bytes()).map_err(|_| Problem::not_found())?;
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let found = routes::way(&method, path).found;
        let Some(Row { auth: Auth::Permitted(Permitted { answer, .. }), .. }) = found.row() else {
            return Err(Problem::not_found());
        };
        let (headers, note) = (HeaderMap::new(), RequestNotes::default());
        let call = Call {
            terms: found.credential_terms(),
            method: &method,
            path,
            path_values: found.path_values(),
            query,
            headers: &headers,
            body,
            arriving: None,
            peer: NOWHERE,
            reached: NOWHERE,
            region: None,
            address_token: None,
            world: None,
            listener_kind: ListenerKind::Public,
            is_local: true,
            note: &note,
        };
        let answer = answer(&call, &self.site, self.admitted(account)?)?;
        Ok(InProcessAnswer { body: whole(answer.into_body()), is_repeated: note.is_repeated() })
    }
}

impl InProcessRefusal {
    fn of(problem: Problem) -> InProcessRefusal {
        let parts = problem.into_parts();
        InProcessRefusal { status: parts.status, code: parts.code, message: parts.text, detail: parts.detail }
    }
}
