//! One-time links as URLs of this server. `pages/once.rs` opens them.

use std::net::SocketAddr;
use std::sync::Arc;

use access::{AccessError, Account, AccountId, Actor, Secret};

use crate::kit::Site;
use crate::pages;

/// Issues one-time links, which sign in the user of this machine to the pages of this server.
#[derive(Clone, Debug)]
pub struct SignInLinks {
    site: Arc<Site>,
    address: SocketAddr,
}

impl SignInLinks {
    pub(crate) fn new(site: Arc<Site>, address: SocketAddr) -> SignInLinks {
        SignInLinks { site, address }
    }

    /// Whether this server has one-time links: it serves only this machine, without a proxy
    /// ([`Settings::is_for_this_machine`](crate::Settings::is_for_this_machine)).
    pub fn are_offered(&self) -> bool {
        self.site.has_sign_in_links
    }

    /// The account of the user of this machine, which is created if missing.
    pub fn local_account(&self) -> Result<Account, AccessError> {
        self.site.core.access.local_account(&Actor::Operator, self.site.core.machine_now())
    }

    /// A new link for an account; `None` if links are not offered. `next` is the page that it leads
    /// to, such as `/?symbol=700.HK`.
    pub fn issue(&self, account: AccountId, next: &str) -> Result<Option<Secret>, AccessError> {
        if !self.are_offered() {
            return Ok(None);
        }
        let (access, now) = (&self.site.core.access, self.site.core.machine_now());
        let token = access.issue_sign_in_link(account, next, &Actor::Operator, now)?;
        let link = format!("http://{}{}?token={}", self.address, pages::SIGN_IN_ONCE, token.expose());
        Ok(Some(Secret::new(link)))
    }
}
