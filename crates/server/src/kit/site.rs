//! Shared HTTP state besides the core: public URL and listeners, limits on callers, and caches.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use access::{AccountId, Pace, RateLimit};
use history::AsOf;
use hyper::header::HOST;
use store::{Reader, StoreError, Totals};

use super::call::{Call, Listening};
use super::claims::Claims;
use super::pieces::Pieces;
use crate::connection_limits::{ConnectionLimits, UnauthenticatedLimits};
use crate::core::Core;
use crate::directory::{Directory, DirectoryCache};
use crate::links::Links;
use crate::list_cache::{CoverageCache, FiguresCache};
use crate::public_url::{PublicUrl, own_host};
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::tls::Tls;
use crate::unsent::Bodies;

/// Maximum number of keep-alive connections per account. Further connections are closed after their
/// response.
pub(crate) const CONNECTIONS_EACH: usize = 256;
/// Maximum number of searches per account within [`SEARCHES_EACH`], which is twice as many as a
/// person types.
const SEARCHES_MAX: u32 = 20;
const SEARCHES_EACH: Duration = Duration::from_secs(1);
/// Maximum number of requests per account for watchlists and security lists within [`LISTS_EACH`].
/// Equal to the protocol's limit on quote calls.
const LISTS_MAX: u32 = 10;
const LISTS_EACH: Duration = Duration::from_secs(1);
/// Maximum number of requests per account for orders and assets within [`TRADES_EACH`], as in the
/// protocol.
const TRADES_MAX: u32 = 30;
const TRADES_EACH: Duration = Duration::from_secs(30);
/// Maximum number of requests that read a whole journal, from an account's browser sessions, within
/// [`TRADES_EACH`].
const JOURNAL_READS_MAX: u32 = 60;
/// Maximum number of community requests per account within [`COMMUNITY_EACH`].
const COMMUNITY_MAX: u32 = 100;
const COMMUNITY_EACH: Duration = Duration::from_secs(10);
/// Maximum number of guest sessions that may start within [`GUESTS_EACH`], which is more than one
/// person needs.
const GUESTS_MAX: u32 = 60;
const GUESTS_EACH: Duration = Duration::from_secs(60);

/// Returns a limiter that allows at most `requests` in any interval of length `within`.
fn pace<K: Eq + std::hash::Hash + std::fmt::Display>(
    kind: &'static str,
    requests: u32,
    within: Duration,
) -> Pace<K> {
    Pace::of_accounts(kind, RateLimit { requests, within })
}

#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) core: Arc<Core>,
    /// Long connections, which their owners and operators may list and close.
    pub(crate) links: Links,
    /// Public URL of the service, if configured.
    pub(crate) public_url: Option<PublicUrl>,
    /// TLS configuration of the HTTP listeners, if any.
    pub(crate) tls: Option<Arc<Tls>>,
    /// Listeners, in settings order.
    pub(crate) listeners: Vec<Listening>,
    pub(crate) connections_max: usize,
    /// Memory limits for request bodies.
    pub(crate) bodies: Bodies,
    pub(crate) unauthenticated: UnauthenticatedLimits,
    /// Authenticated keep-alive connections per account.
    pub(crate) http_slots: ConnectionLimits<AccountId>,
    /// Accounts of recently used credentials.
    pub(crate) claims: Claims,
    /// Warning about a listener that is reachable from other machines without TLS.
    pub(crate) exposure: Option<String>,
    /// Whether no request is treated as local. This is the case if clients may come through a proxy
    /// on this machine that is indistinguishable from other local programs, or if local programs
    /// have a separate listener.
    pub(crate) nobody_is_local: bool,
    /// Whether one-time links can sign in the user of this machine.
    pub(crate) has_sign_in_links: bool,
    /// In demo mode, the account of local callers that have not signed in.
    pub(crate) guest: Option<AccountId>,
    guests: Pace<i64>,
    /// Whether the stored prices are simulated.
    pub(crate) is_simulated: bool,
    /// Validity of a statement's download URL in seconds.
    pub(crate) statement_link_s: u32,
    pub(crate) statement_font: Option<PathBuf>,
    /// Limiter of searches. Like the limiters below, it is keyed by account id and shared by all
    /// nodes.
    searches: Pace<i64>,
    lists: Pace<i64>,
    trades: Pace<i64>,
    journal_reads: Pace<i64>,
    community: Pace<i64>,
    /// Responses that are read in ranges.
    pub(crate) pieces: Pieces,
    /// Cached coverage letters.
    pub(crate) coverage: CoverageCache,
    pub(crate) figures: FiguresCache,
    directory: DirectoryCache,
    totals: StoreTotalsCache,
}

impl Site {
    pub(crate) fn new(core: Arc<Core>, links: Links) -> Site {
        let (unauthenticated, connections_max) =
            (core.limits.unproven_connections, Settings::default().connections_max);
        Site {
            core,
            links,
            public_url: None,
            tls: None,
            listeners: Vec::new(),
            connections_max,
            bodies: Bodies::default(),
            unauthenticated: UnauthenticatedLimits::new(unauthenticated, connections_max),
            http_slots: ConnectionLimits::new(CONNECTIONS_EACH, 0),
            claims: Claims::default(),
            exposure: None,
            nobody_is_local: false,
            has_sign_in_links: false,
            guest: None,
            is_simulated: false,
            guests: pace("guest", GUESTS_MAX, GUESTS_EACH),
            statement_link_s: Settings::default().statement_link_seconds,
            statement_font: None,
            searches: pace("search", SEARCHES_MAX, SEARCHES_EACH),
            lists: pace("list", LISTS_MAX, LISTS_EACH),
            trades: pace("trade", TRADES_MAX, TRADES_EACH),
            journal_reads: pace("journal", JOURNAL_READS_MAX, TRADES_EACH),
            community: pace("community", COMMUNITY_MAX, COMMUNITY_EACH),
            pieces: Pieces::default(),
            coverage: CoverageCache::default(),
            figures: FiguresCache::default(),
            directory: DirectoryCache::default(),
            totals: StoreTotalsCache::default(),
        }
    }

    /// Returns the path prefix of the public URL, or an empty string.
    pub(crate) fn base(&self) -> &str {
        self.public_url.as_ref().map_or("", |url| url.parts().1)
    }

    /// Returns whether browsers reach the service over HTTPS, according to the public URL or else
    /// the listeners.
    pub(crate) fn is_https(&self) -> bool {
        self.public_url.as_ref().map_or(self.tls.is_some(), PublicUrl::is_https)
    }

    /// Returns the number of an account's open connections, and its connection limit. If all slots
    /// are taken, connections that do not answer pings are closed first.
    pub(crate) fn slots(&self, caller: &access::Caller) -> Result<access::Slots, access::Denial> {
        let slots = self.core.access.slots(caller)?;
        if slots.online < slots.limit || !self.links.give_up_overdue(self.core.uptime()) {
            return Ok(slots);
        }
        self.core.access.slots(caller)
    }

    /// Counts a search. The error is the time to wait before the next search.
    pub(crate) fn may_search(&self, account: AccountId) -> Result<(), Duration> {
        self.core.access.keep_pace(&self.searches, account.0, self.core.uptime())
    }

    /// Counts a request for watchlists or security lists. The error is the time to wait before a
    /// retry.
    pub(crate) fn may_list(&self, account: AccountId) -> Result<(), Duration> {
        self.core.access.keep_pace(&self.lists, account.0, self.core.uptime())
    }

    /// Counts a request for orders or assets. The error is the time to wait before a retry.
    pub(crate) fn may_trade(&self, account: AccountId) -> Result<(), Duration> {
        self.core.access.keep_pace(&self.trades, account.0, self.core.uptime())
    }

    /// Counts a request from a page that reads an account's whole journal. The error is the time to
    /// wait before a retry.
    pub(crate) fn may_read_journal(&self, account: AccountId) -> Result<(), Duration> {
        self.core.access.keep_pace(&self.journal_reads, account.0, self.core.uptime())
    }

    /// Counts a community request. The error is the time to wait before a retry.
    pub(crate) fn may_converse(&self, account: AccountId) -> Result<(), Duration> {
        self.core.access.keep_pace(&self.community, account.0, self.core.uptime())
    }

    /// Counts a new guest session. The error is the time to wait before a retry.
    pub(crate) fn may_enter_as_guest(&self, account: AccountId) -> Result<(), Duration> {
        self.core.access.keep_pace(&self.guests, account.0, self.core.uptime())
    }

    /// Returns the securities that have candles at an instant.
    pub(crate) fn directory(&self, as_of: AsOf) -> Result<Arc<Directory>, Refusal> {
        self.directory.current(&self.core, as_of)
    }

    /// Returns the store totals.
    pub(crate) fn totals(&self) -> Result<StoreTotals, StoreError> {
        self.totals.current(&self.core)
    }
}

/// Returns the configured public URL, or else a URL with a host that is known to belong to this
/// service.
pub(crate) fn base_url(call: &Call<'_>, site: &Site) -> String {
    if let Some(url) = &site.public_url {
        return url.to_string();
    }
    let host = call.headers.get(HOST).and_then(|host| host.to_str().ok());
    let names = site.tls.as_ref().map(|tls| tls.certificate().names.clone()).unwrap_or_default();
    let scheme = if site.is_https() { "https" } else { "http" };
    format!("{scheme}://{}", own_host(host, call.reached, &names))
}

/// Store totals of one version.
#[derive(Clone, Debug)]
pub(crate) struct StoreTotals {
    pub(crate) version: i64,
    pub(crate) totals: Totals,
}

/// Cached totals of the most recently requested store version. Computing the totals scans all
/// series.
#[derive(Debug, Default)]
pub(crate) struct StoreTotalsCache(Mutex<Option<StoreTotals>>);

impl StoreTotalsCache {
    pub(crate) fn current(&self, core: &Core) -> Result<StoreTotals, StoreError> {
        core.with_reader(|reader: &mut Reader| {
            let version = reader.version()?;
            let state = self.0.lock().ok().and_then(|state| state.clone());
            if let Some(state) = state.filter(|state| state.version == version) {
                return Ok(state);
            }
            let snapshot = reader.snapshot()?;
            let totals = StoreTotals { version: snapshot.version()?, totals: snapshot.totals()? };
            if let Ok(mut state) = self.0.lock() {
                *state = Some(totals.clone());
            }
            Ok(totals)
        })
    }
}
