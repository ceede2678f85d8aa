//! Connections subscribed to accounts' orders and grids, and the next planned run of the job that
//! advances accounts. This file also encodes the events that subscribers receive:
//! `order_changed_lb` for orders, and `gridtrading_order` for grids. Every key of an event is
//! always present, because one SDK drops events that lack a key.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::{AccountId, ConnectionId};
use bytes::Bytes;
use market::Timestamp;
use paper::Watched;
use prost::Message;
use serde::Serialize;
use store::Store;
use tokio::sync::Notify;
use trading::{GridPush, OrderPush, Plain, Push, exact_price, plain_price};
use wire::trade;

use crate::account_news::{AccountNews, Subject};
use crate::caller::Language;
use crate::mailbox::{self, Mailbox};
use crate::names::{SecurityLookup, stock_name};
use crate::versions::Dated;

/// Subscribers of each account.
#[derive(Debug)]
pub(crate) struct TradeListeners {
    accounts: Mutex<HashMap<AccountId, Vec<Subscriber>>>,
    /// Number of events that were queued, by account, for accounts with subscribers.
    sent: Mutex<HashMap<AccountId, Counts>>,
    /// Streams that follow accounts.
    news: Arc<AccountNews>,
    securities: SecurityLookup,
    /// Market time of the next planned run in Unix seconds, or `i64::MAX` if no run is planned.
    planned: AtomicI64,
    /// Notified to trigger a run earlier than planned.
    sooner: Arc<Notify>,
}

#[derive(Clone, Debug)]
struct Subscriber {
    connection: ConnectionId,
    mailbox: Mailbox,
    language: Language,
    /// API date that the subscriber is pinned to, or `None` for the newest date.
    dated: Option<Dated>,
}

/// Number of events that were queued for an account and for each of its connections.
#[derive(Debug, Default)]
struct Counts {
    all: u64,
    of_connections: BTreeMap<ConnectionId, u64>,
}

/// A subscription, which ends when dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    listeners: Arc<TradeListeners>,
    account: AccountId,
    connection: ConnectionId,
    _watched: Watched,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut accounts = self.listeners.lock();
        if let Some(subscribers) = accounts.get_mut(&self.account) {
            subscribers.retain(|subscriber| subscriber.connection != self.connection);
            if let Some(counts) = self.listeners.counts().get_mut(&self.account) {
                counts.of_connections.remove(&self.connection);
            }
            if subscribers.is_empty() {
                accounts.remove(&self.account);
                self.listeners.counts().remove(&self.account);
            }
        }
    }
}

impl TradeListeners {
    /// Topic to which clients subscribe.
    pub(crate) const TOPIC: &str = TOPIC;

    pub(crate) fn new(store: Store) -> TradeListeners {
        TradeListeners {
            accounts: Mutex::default(),
            sent: Mutex::default(),
            news: Arc::default(),
            securities: SecurityLookup::new(store),
            planned: AtomicI64::new(i64::MIN),
            sooner: Arc::default(),
        }
    }

    /// Subscribes a connection to all order changes of an account from now on, including changes
    /// made by other processes.
    pub(crate) fn listen(
        self: &Arc<Self>,
        watched: Watched,
        account: AccountId,
        (connection, mailbox): (ConnectionId, Mailbox),
        (language, dated): (Language, Option<Dated>),
    ) -> Listening {
        let subscriber = Subscriber { connection, mailbox, language, dated };
        self.lock().entry(account).or_default().push(subscriber);
        Listening { listeners: self.clone(), account, connection, _watched: watched }
    }

    /// Returns all accounts with subscribers or streams.
    pub(crate) fn accounts(&self) -> Vec<AccountId> {
        let mut accounts: Vec<AccountId> = self.lock().keys().copied().collect();
        accounts.extend(self.news.trading_accounts());
        accounts.sort_unstable();
        accounts.dedup();
        accounts
    }

    /// Returns the streams that follow accounts.
    pub(crate) fn news(&self) -> &Arc<AccountNews> {
        &self.news
    }

    /// Sets the market time of the next planned run, or clears it if `at` is `None`.
    pub(crate) fn plan(&self, at: Option<Timestamp>) {
        self.planned.store(at.map_or(i64::MAX, |at| at.0), Ordering::Release);
    }

    /// Returns the notifier that starts a run immediately.
    pub(crate) fn sooner(&self) -> &Arc<Notify> {
        &self.sooner
    }

    /// Removes subscribers whose connection has ended or reads too slowly. Their clients can
    /// request the missed changes as lists.
    fn drop_ended(&self, account: AccountId) {
        if let Some(subscribers) = self.lock().get_mut(&account) {
            subscribers.retain(|subscriber| !subscriber.mailbox.has_ended());
        }
    }

    /// Returns the number of events that were queued for an account since its first subscriber.
    pub(crate) fn sent(&self, account: AccountId) -> u64 {
        self.counts().get(&account).map_or(0, |counts| counts.all)
    }

    /// Returns the number of events that were queued for one connection of an account.
    pub(crate) fn sent_to(&self, account: AccountId, connection: ConnectionId) -> u64 {
        self.counts()
            .get(&account)
            .and_then(|counts| counts.of_connections.get(&connection).copied())
            .unwrap_or(0)
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<AccountId, Counts>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AccountId, Vec<Subscriber>>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn add(&mut self, more: Counts) {
        self.all += more.all;
        for (connection, count) in more.of_connections {
            *self.of_connections.entry(connection).or_default() += count;
        }
    }
}

impl paper::Listener for TradeListeners {
    fn changed(&self, account: AccountId, pushes: &[Push]) {
        self.news.changed(account, Subject::Trading);
        if pushes.is_empty() {
            return;
        }
        // The list is cloned, so that name lookups and encoding do not block subscriptions and
        // pushes of other accounts. The caller serializes calls for one account.
        let Some(mut subscribers) = self.lock().get(&account).cloned() else { return };
        let before = subscribers.len();
        let mut securities = BTreeMap::new();
        let mut sent = Counts::default();
        for push in pushes {
            match push {
                Push::Order(push) => {
                    let security = securities
                        .entry(&push.symbol)
                        .or_insert_with(|| self.securities.security(&push.symbol));
                    tell_in_language(&mut subscribers, |language| {
                        let name = stock_name(security.as_ref(), &push.symbol, language);
                        order_notification(account, push, &name)
                    });
                }
                Push::Grid(push) => {
                    let body = Bytes::from(grid_notification(push));
                    subscribers.retain(|subscriber| put(subscriber, body.clone()));
                }
            }
            for subscriber in &subscribers {
                sent.all += 1;
                *sent.of_connections.entry(subscriber.connection).or_default() += 1;
            }
        }
        self.counts().entry(account).or_default().add(sent);
        if subscribers.len() < before {
            self.drop_ended(account);
        }
    }

    fn waits(&self, until: Timestamp) {
        if until.0 < self.planned.fetch_min(until.0, Ordering::AcqRel) {
            self.sooner.notify_one();
        }
    }
}

/// Sends a notification to subscribers in their languages, and removes subscribers whose mailbox
/// does not accept it. The notification is encoded once per language.
fn tell_in_language(subscribers: &mut Vec<Subscriber>, text: impl Fn(Language) -> Vec<u8>) {
    let mut bodies: Vec<(Language, Bytes)> = Vec::new();
    subscribers.retain(|subscriber| {
        let language = subscriber.language;
        let made = bodies.iter().find(|(of, _)| *of == language).map(|(_, body)| body.clone());
        let body = made.unwrap_or_else(|| {
            let body = Bytes::from(text(language));
            bodies.push((language, body.clone()));
            body
        });
        put(subscriber, body)
    });
}

/// Sends a message to a subscriber. Returns false if the mailbox does not accept the message.
fn put(subscriber: &Subscriber, body: Bytes) -> bool {
    let body = match subscriber.dated {
        None => Some(body),
        Some(dated) => dated.notification(&body),
    };
    // Events newer than the API date are not sent.
    body.is_none_or(|body| subscriber.mailbox.put(mailbox::Push::new(NOTIFY, body)).is_ok())
}

const NOTIFY: u8 = trade::Command::Notify as u8;

/// The only subscription topic.
const TOPIC: &str = "private";

#[derive(Serialize)]
struct Event<T> {
    event: &'static str,
    data: T,
}

#[derive(Serialize)]
struct OrderChanged<'a> {
    side: &'static str,
    stock_name: &'a str,
    submitted_quantity: String,
    symbol: &'a str,
    order_type: &'static str,
    submitted_price: String,
    executed_quantity: String,
    executed_price: String,
    order_id: String,
    currency: &'a str,
    status: &'static str,
    submitted_at: String,
    updated_at: String,
    trigger_price: String,
    msg: &'a str,
    tag: &'static str,
    trigger_status: &'static str,
    trigger_at: String,
    trailing_amount: String,
    trailing_percent: String,
    limit_offset: String,
    account_no: String,
    last_share: String,
    last_price: String,
    remark: &'a str,
    /// Same value as `submitted_quantity`, under the name that older clients read.
    quantity: String,
    /// Same value as `submitted_price`, under the name that older clients read.
    price: String,
}

/// Payload of a grid event. Numbers are JSON numbers and all other values are strings, because one
/// SDK drops events with other types.
#[derive(Serialize)]
struct GridChanged<'a> {
    order_id: String,
    status: &'static str,
    symbol: &'a str,
    suspend_reason: &'static str,
    submitted_base_price: String,
    current_base_price: String,
    upper_limit_price: String,
    lower_limit_price: String,
    trigger_price_type: i32,
    trigger_quantity: String,
    settlement_currency: &'a str,
    time_in_force: i32,
    rth: i32,
    grid_order_type_up: &'static str,
    grid_order_type_down: &'static str,
}

/// Encodes the notification of an order change.
fn order_notification(account: AccountId, push: &OrderPush, stock_name: &str) -> Vec<u8> {
    let price = |price: Option<market::Price>| price.map(|price| exact_price(price, push.decimals));
    let text =
        |plain: Option<Plain>, none: &str| plain.map_or_else(|| none.to_owned(), |plain| plain.to_string());
    // SDKs drop an event with an empty price.
    let submitted_price = text(price(push.submitted_price), "0");
    let data = OrderChanged {
        quantity: push.submitted_quantity.to_string(),
        price: submitted_price.clone(),
        side: push.side.as_str(),
        stock_name,
        submitted_quantity: push.submitted_quantity.to_string(),
        symbol: push.symbol.as_str(),
        order_type: push.order_type.as_str(),
        submitted_price,
        executed_quantity: push.executed_quantity.to_string(),
        executed_price: text(push.executed_price, "0"),
        order_id: push.order_id.to_string(),
        currency: push.currency.as_str(),
        status: push.status.as_str(),
        submitted_at: push.submitted_at.0.to_string(),
        updated_at: push.updated_at.0.to_string(),
        trigger_price: text(price(push.trigger_price), ""),
        msg: &push.msg,
        tag: push.tag.as_str(),
        trigger_status: push.trigger_status.as_str(),
        trigger_at: push.trigger_at.unwrap_or_default().0.to_string(),
        trailing_amount: text(price(push.trailing_amount), ""),
        trailing_percent: push.trailing_percent.map(|percent| percent.to_string()).unwrap_or_default(),
        limit_offset: text(price(push.limit_offset), ""),
        account_no: account_no(account),
        last_share: push.last.map(|(quantity, _)| quantity.to_string()).unwrap_or_default(),
        last_price: text(price(push.last.map(|(_, price)| price)), ""),
        remark: &push.remark,
    };
    notification(&Event { event: "order_changed_lb", data })
}

/// Encodes the notification of a grid change.
fn grid_notification(push: &GridPush) -> Vec<u8> {
    let rule = &push.rule;
    let price = |price: market::Price| plain_price(price).to_string();
    let data = GridChanged {
        order_id: push.id.to_string(),
        status: push.status.as_str(),
        symbol: push.symbol.as_str(),
        suspend_reason: push.suspend_reason.map_or("", |reason| reason.as_str()),
        submitted_base_price: price(rule.base),
        current_base_price: price(push.base),
        upper_limit_price: price(rule.upper),
        lower_limit_price: price(rule.lower),
        trigger_price_type: rule.step.code(),
        trigger_quantity: rule.quantity.to_string(),
        settlement_currency: push.settlement_currency.as_str(),
        time_in_force: rule.time_in_force.code(),
        rth: rule.hours.code(),
        grid_order_type_up: rule.sell_type.as_str(),
        grid_order_type_down: rule.buy_type.as_str(),
    };
    notification(&Event { event: "gridtrading_order", data })
}

fn notification(event: &impl Serialize) -> Vec<u8> {
    let notification = trade::Notification {
        topic: TOPIC.to_owned(),
        content_type: trade::ContentType::Json.into(),
        dispatch_type: trade::DispatchType::Direct.into(),
        data: serde_json::to_vec(event).unwrap_or_default(),
    };
    notification.encode_to_vec()
}

/// Returns the account number shown to clients. The prefix `P` marks paper accounts.
fn account_no(account: AccountId) -> String {
    format!("P{}", account.0)
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use access::Access;
    use history::History;
    use market::Venues;
    use paper::{Listener, Paper};
    use trading::{
        Currency, OrderId, OrderStatus, OrderTag, OrderType, Quantity, Side, Tables, TriggerStatus,
    };

    use super::*;
    use crate::mailbox::{Kick, Mail, MailboxReader};

    const NOW: Timestamp = Timestamp(1_794_708_000);
    const ANN: AccountId = AccountId(7);

    fn push(number: i64) -> Push {
        Push::Order(Box::new(OrderPush {
            order_id: OrderId::of(7, 1),
            symbol: "700.HK".parse().unwrap(),
            side: Side::Buy,
            order_type: OrderType::Limit,
            status: OrderStatus::New,
            submitted_quantity: Quantity::whole(100),
            submitted_price: None,
            executed_quantity: Quantity::ZERO,
            executed_price: None,
            currency: Currency::HKD,
            submitted_at: NOW,
            updated_at: NOW,
            trigger_price: None,
            msg: String::new(),
            tag: OrderTag::Normal,
            trigger_status: TriggerStatus::NotUsed,
            trigger_at: None,
            trailing_amount: None,
            trailing_percent: None,
            limit_offset: None,
            last: None,
            remark: number.to_string(),
            decimals: 3,
        }))
    }

    /// Returns the remarks in the pushes received since the previous call.
    fn heard(reader: &MailboxReader) -> Vec<i64> {
        let remark = |push: mailbox::Push| {
            let notification = trade::Notification::decode(push.body()).unwrap();
            let event: serde_json::Value = serde_json::from_slice(&notification.data).unwrap();
            event["data"]["remark"].as_str().unwrap().parse().unwrap()
        };
        std::iter::from_fn(|| reader.take()).map(remark).collect()
    }

    struct Scene {
        _dir: tempfile::TempDir,
        listeners: Arc<TradeListeners>,
        paper: Paper,
    }

    fn scene() -> Scene {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), store::Access::Write { now: NOW }).unwrap();
        let listeners = Arc::new(TradeListeners::new(store));
        let access = Access::open(dir.path(), NOW).unwrap();
        let history = History::new(Venues::built_in().unwrap());
        let tables = Tables::built_in().unwrap();
        let paper = Paper::new(access.database(), history, tables, listeners.clone());
        Scene { _dir: dir, listeners, paper }
    }

    fn listen(scene: &Scene, connection: &str) -> (Listening, MailboxReader) {
        let (mailbox, reader) = Mailbox::new(crate::mailbox::PUSHES_MAX);
        let whose = (connection.parse().unwrap(), mailbox);
        let watched = scene.paper.watch(ANN).unwrap();
        let listening = scene.listeners.listen(watched, ANN, whose, (Language::En, None));
        (listening, reader)
    }

    #[test]
    fn a_slow_subscriber_does_not_affect_other_subscribers() {
        let scene = scene();
        let ((_one, slow), (other, quick)) = (listen(&scene, "1"), listen(&scene, "2"));
        let mut report = Vec::new();
        for number in 0..5_000 {
            scene.listeners.changed(ANN, &[push(number)]);
            report.extend(heard(&quick));
        }
        assert!(report.into_iter().eq(0..5_000));
        let slow = slow.look(&Context::from_waker(Waker::noop()));
        assert!(matches!(slow, Mail::Kick(Kick::TooSlow { .. })), "{slow:?}");
        // The account has no subscribers after the other connection ends, even if the task of the
        // first connection has not detected yet that it was closed.
        drop(other);
        assert_eq!(scene.listeners.accounts(), Vec::<AccountId>::new());
    }

    #[test]
    fn pushes_go_only_to_current_subscribers_of_the_account() {
        let scene = scene();
        let (listening, reader) = listen(&scene, "1");
        scene.listeners.changed(AccountId(8), &[push(1)]);
        scene.listeners.changed(ANN, &[push(2), push(3)]);
        assert_eq!((heard(&reader), scene.listeners.accounts()), (vec![2, 3], vec![ANN]));
        drop(listening);
        scene.listeners.changed(ANN, &[push(4)]);
        assert_eq!(heard(&reader), Vec::<i64>::new());
    }

    #[tokio::test]
    async fn an_earlier_wake_time_triggers_a_run() {
        let listeners = scene().listeners;
        let is_told = async || {
            let notified = listeners.sooner().notified();
            tokio::time::timeout(std::time::Duration::ZERO, notified).await.is_ok()
        };
        listeners.plan(Some(Timestamp(100)));
        listeners.waits(Timestamp(160));
        assert!(!is_told().await, "it will be found in time");
        listeners.waits(Timestamp(99));
        assert!(is_told().await);
        // During a run no time is planned, so any new wait triggers another run.
        listeners.plan(None);
        listeners.waits(Timestamp(1_000));
        assert!(is_told().await);
    }
}
