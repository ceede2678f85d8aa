//! The connections that want to be told of an account's orders, and the instant at which accounts are looked at next.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::{AccountId, ConnectionId};
use bytes::Bytes;
use market::Timestamp;
use store::Store;
use tokio::sync::Notify;
use trading::Push;
use wire::trade;

use super::event::{TOPIC, notification};
use crate::caller::Language;
use crate::mailbox::{self, Mailbox};
use crate::names::{SecurityLookup, stock_name};

/// Who listens to which account.
#[derive(Debug)]
pub(crate) struct TradeListeners {
    accounts: Mutex<HashMap<AccountId, Vec<Subscriber>>>,
    securities: SecurityLookup,
    /// When accounts will be looked at next, by the market's clock.
    planned: AtomicI64,
    /// Has them looked at sooner.
    sooner: Arc<Notify>,
}

#[derive(Debug)]
struct Subscriber {
    connection: ConnectionId,
    mailbox: Mailbox,
    language: Language,
}

/// A subscription. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    listeners: Arc<TradeListeners>,
    account: AccountId,
    connection: ConnectionId,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut accounts = self.listeners.lock();
        if let Some(subscribers) = accounts.get_mut(&self.account) {
            subscribers.retain(|subscriber| subscriber.connection != self.connection);
            if subscribers.is_empty() {
                accounts.remove(&self.account);
            }
        }
    }
}

impl TradeListeners {
    /// The topic that can be listened to.
    pub(crate) const TOPIC: &str = TOPIC;

    pub(crate) fn new(store: Store) -> TradeListeners {
        TradeListeners {
            accounts: Mutex::default(),
            securities: SecurityLookup::new(store),
            planned: AtomicI64::new(i64::MIN),
            sooner: Arc::default(),
        }
    }

    /// Has a connection told of everything that happens to an account's orders from now on.
    pub(crate) fn listen(
        self: &Arc<Self>,
        account: AccountId,
        (connection, mailbox): (ConnectionId, Mailbox),
        language: Language,
    ) -> Listening {
        let subscriber = Subscriber { connection, mailbox, language };
        self.lock().entry(account).or_default().push(subscriber);
        Listening { listeners: self.clone(), account, connection }
    }

    /// Every account that somebody listens to.
    pub(crate) fn accounts(&self) -> Vec<AccountId> {
        let mut accounts: Vec<AccountId> = self.lock().keys().copied().collect();
        accounts.sort_unstable();
        accounts
    }

    /// Accounts are looked at by then, unless something happens sooner.
    pub(crate) fn plan(&self, at: Option<Timestamp>) {
        self.planned.store(at.map_or(i64::MAX, |at| at.0), Ordering::Release);
    }

    /// Begins a look at accounts.
    pub(crate) fn sooner(&self) -> &Arc<Notify> {
        &self.sooner
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AccountId, Vec<Subscriber>>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl paper::Listener for TradeListeners {
    fn changed(&self, account: AccountId, pushes: &[Push]) {
        let mut accounts = self.lock();
        let Some(subscribers) = accounts.get_mut(&account) else { return };
        for push in pushes {
            let security = self.securities.security(&push.symbol);
            let mut bodies: Vec<(Language, Bytes)> = Vec::new();
            subscribers.retain(|subscriber| {
                let language = subscriber.language;
                let made = bodies.iter().find(|(of, _)| *of == language).map(|(_, body)| body.clone());
                let body = made.unwrap_or_else(|| {
                    let name = stock_name(security.as_ref(), &push.symbol, language);
                    let body = Bytes::from(notification(account, push, &name));
                    bodies.push((language, body.clone()));
                    body
                });
                // A connection that has ended, or takes nothing, is told no more: the lists have the rest.
                subscriber.mailbox.put(mailbox::Push::lasting(NOTIFY, body)).is_ok()
            });
        }
    }

    fn waits(&self, until: Timestamp) {
        if until.0 < self.planned.fetch_min(until.0, Ordering::AcqRel) {
            self.sooner.notify_one();
        }
    }
}

const NOTIFY: u8 = trade::Command::Notify as u8;
