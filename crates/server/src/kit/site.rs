//! What the HTTP side of the server shares besides the core: how it is called from outside, what it remembers of those who ask, and
//! what it keeps for them.

use std::sync::Arc;
use std::time::Duration;

use access::AccountId;
use store::StoreError;

use super::bodies::Bodies;
use super::claims::Claims;
use super::listening::Listening;
use super::pieces::Pieces;
use crate::core::Core;
use crate::directory::{Directory, DirectoryCache};
use crate::holdings::{Holdings, HoldingsCache};
use crate::links::Links;
use crate::pace::Pace;
use crate::places::Places;
use crate::public_url::PublicUrl;
use crate::refusal::Refusal;
use crate::settings::Settings;
use crate::tls::Tls;
use crate::unproven::UnprovenPlaces;

/// Connections of one account that stay open between requests; further ones end with their answer.
pub(crate) const CONNECTIONS_EACH: usize = 256;
/// Searches of one account within [`SEARCHES_EACH`]: twice what somebody types.
const SEARCHES_MAX: u32 = 20;
const SEARCHES_EACH: Duration = Duration::from_secs(1);
/// Sessions of guests that begin within [`GUESTS_EACH`]; more than a person at a browser begins.
const GUESTS_MAX: u32 = 60;
const GUESTS_EACH: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) core: Arc<Core>,
    /// The long connections, for whoever may see or close them.
    pub(crate) links: Links,
    /// How the service is called from outside, if that is set.
    pub(crate) public_url: Option<PublicUrl>,
    /// With what the listeners of HTTP speak TLS, if they do.
    pub(crate) tls: Option<Arc<Tls>>,
    /// Where it can be reached, in the order of the settings.
    pub(crate) listeners: Vec<Listening>,
    pub(crate) connections_max: usize,
    /// Requests that are being read.
    pub(crate) bodies: Bodies,
    pub(crate) unproven: UnprovenPlaces,
    /// Connections over HTTP that stay open after somebody has proved who they are.
    pub(crate) http_places: Places<AccountId>,
    /// Who has shown which proof lately.
    pub(crate) claims: Claims,
    /// What there is to say about listening for other machines in clear text.
    pub(crate) exposure: Option<String>,
    /// Whether no request counts as one of this machine: clients may reach us through a proxy that we cannot tell from one of
    /// its own programs, or programs have a listener of their own.
    pub(crate) nobody_is_local: bool,
    /// Who somebody on this machine is without signing in, in a demonstration.
    pub(crate) guest: Option<AccountId>,
    pub(crate) guests: Pace,
    searches: Pace,
    /// Answers that somebody is taking apart.
    pub(crate) pieces: Pieces,
    directory: DirectoryCache,
    holdings: HoldingsCache,
}

impl Site {
    pub(crate) fn new(core: Arc<Core>, links: Links) -> Site {
        let (unproven, connections_max) =
            (core.limits.unproven_connections, Settings::default().connections_max);
        Site {
            core,
            links,
            public_url: None,
            tls: None,
            listeners: Vec::new(),
            connections_max,
            bodies: Bodies::default(),
            unproven: UnprovenPlaces::new(unproven, connections_max),
            http_places: Places::new(CONNECTIONS_EACH, 0),
            claims: Claims::default(),
            exposure: None,
            nobody_is_local: false,
            guest: None,
            guests: Pace::new(GUESTS_MAX, GUESTS_EACH),
            searches: Pace::new(SEARCHES_MAX, SEARCHES_EACH),
            pieces: Pieces::default(),
            directory: DirectoryCache::default(),
            holdings: HoldingsCache::default(),
        }
    }

    /// The path that a proxy has the service under; empty if it has it alone.
    pub(crate) fn base(&self) -> &str {
        self.public_url.as_ref().map_or("", |url| url.parts().1)
    }

    /// Whether browsers reach the service over https: as the operator says, else as it listens.
    pub(crate) fn is_https(&self) -> bool {
        self.public_url.as_ref().map_or(self.tls.is_some(), PublicUrl::is_https)
    }

    /// Connections of an account, open and allowed. When all are taken, those that do not answer are given up first.
    pub(crate) fn seats(&self, caller: &access::Caller) -> Result<access::Seats, access::Denial> {
        let seats = self.core.access.seats(caller)?;
        if seats.online < seats.limit || !self.links.give_up_overdue(self.core.uptime()) {
            return Ok(seats);
        }
        self.core.access.seats(caller)
    }

    /// Whether an account may search once more within the second; else how long it waits.
    pub(crate) fn may_search(&self, account: AccountId) -> Result<(), Duration> {
        self.searches.pass(account, self.core.uptime())
    }

    /// The securities that have candles.
    pub(crate) fn directory(&self) -> Result<Arc<Directory>, Refusal> {
        self.directory.current(&self.core)
    }

    /// What the store holds.
    pub(crate) fn holdings(&self) -> Result<Holdings, StoreError> {
        self.holdings.current(&self.core)
    }
}
