//! Notifies the streams of an account after a change, so that pages request its data again. The
//! change itself is not sent: pages show the responses of the API.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use access::AccountId;
use paper::Watched;
use store::Watchlists;

use crate::mailbox::Mailbox;

/// The part of an account that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Orders, executions, positions or cash.
    Trading,
    Watchlists,
    /// A price alert has fired.
    Alerts,
}

impl Subject {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Subject::Trading => "trading",
            Subject::Watchlists => "watchlists",
            Subject::Alerts => "alerts",
        }
    }
}

/// The streams of each account.
#[derive(Debug, Default)]
pub(crate) struct AccountNews {
    followers: Mutex<HashMap<AccountId, Vec<Follower>>>,
    /// Hashes of the watchlists that are followed, to detect changes by other processes.
    watchlists: Mutex<BTreeMap<AccountId, u64>>,
}

#[derive(Clone, Debug)]
struct Follower {
    subject: Subject,
    changes: Arc<AtomicU64>,
    mailbox: Mailbox,
}

/// A stream's subscription to one subject of an account, which ends when dropped.
#[derive(Debug)]
pub(crate) struct Following {
    news: Arc<AccountNews>,
    account: AccountId,
    pub(crate) subject: Subject,
    /// Number of changes so far.
    changes: Arc<AtomicU64>,
    /// Number of changes that the stream has processed.
    taken: u64,
    /// Registered, so that changes by other processes are reported.
    _watched: Option<Watched>,
}

impl AccountNews {
    /// Subscribes a stream to one subject of an account. Its task is woken after each change.
    pub(crate) fn follow(
        self: &Arc<Self>,
        account: AccountId,
        subject: Subject,
        mailbox: &Mailbox,
        watched: Option<Watched>,
    ) -> Following {
        let changes = Arc::<AtomicU64>::default();
        let follower = Follower { subject, changes: changes.clone(), mailbox: mailbox.clone() };
        self.lock().entry(account).or_default().push(follower);
        Following { news: self.clone(), account, subject, changes, taken: 0, _watched: watched }
    }

    /// Returns the accounts whose trading is followed.
    pub(crate) fn trading_accounts(&self) -> Vec<AccountId> {
        let accounts = self.lock();
        let followed = accounts
            .iter()
            .filter(|(_, followers)| followers.iter().any(|one| one.subject == Subject::Trading));
        followed.map(|(account, _)| *account).collect()
    }

    /// Returns up to `count` accounts whose watchlists are followed, in ascending order, starting
    /// after `after` and continuing from the first one.
    pub(crate) fn watchlist_accounts(&self, after: AccountId, count: usize) -> Vec<AccountId> {
        let watchlists = self.watchlists();
        let later = watchlists.range((Bound::Excluded(after), Bound::Unbounded));
        let all = later.chain(watchlists.range(..=after));
        all.take(count).map(|(account, _)| *account).collect()
    }

    /// Compares an account's watchlists with the last known ones, and notifies its streams if they
    /// differ. Nothing is known of an account before its first stream.
    pub(crate) fn saw_watchlists(&self, account: AccountId, lists: &Watchlists) {
        let mut hasher = DefaultHasher::new();
        lists.hash(&mut hasher);
        let hash = hasher.finish();
        let followers = self.lock();
        let is_followed = |of: &Vec<Follower>| of.iter().any(|one| one.subject == Subject::Watchlists);
        if !followers.get(&account).is_some_and(is_followed) {
            return;
        }
        let before = self.watchlists().insert(account, hash);
        drop(followers);
        if before.is_some_and(|before| before != hash) {
            self.changed(account, Subject::Watchlists);
        }
    }

    /// Notifies the streams of an account of a change.
    pub(crate) fn changed(&self, account: AccountId, subject: Subject) {
        // The list is cloned, so that waking a stream does not block other accounts.
        let followers = self.lock().get(&account).cloned().unwrap_or_default();
        notify(&followers, subject);
    }

    /// Notifies the streams of all accounts.
    pub(crate) fn all_changed(&self, subject: Subject) {
        let followers: Vec<Follower> = self.lock().values().flatten().cloned().collect();
        notify(&followers, subject);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AccountId, Vec<Follower>>> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watchlists(&self) -> MutexGuard<'_, BTreeMap<AccountId, u64>> {
        self.watchlists.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn notify(followers: &[Follower], subject: Subject) {
    for follower in followers.iter().filter(|follower| follower.subject == subject) {
        follower.changes.fetch_add(1, Ordering::AcqRel);
        follower.mailbox.wake();
    }
}

impl Following {
    /// Returns whether there are unprocessed changes.
    pub(crate) fn has_changed(&self) -> bool {
        self.changes.load(Ordering::Acquire) != self.taken
    }

    /// Marks all changes so far as processed.
    pub(crate) fn take(&mut self) {
        self.taken = self.changes.load(Ordering::Acquire);
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        let mut accounts = self.news.lock();
        if let Some(followers) = accounts.get_mut(&self.account) {
            followers.retain(|follower| !Arc::ptr_eq(&follower.changes, &self.changes));
            if !followers.iter().any(|follower| follower.subject == Subject::Watchlists) {
                self.news.watchlists().remove(&self.account);
            }
            if followers.is_empty() {
                accounts.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mailbox::PUSHES_MAX;

    #[test]
    fn changes_are_taken_together_and_by_subject() {
        let news = Arc::<AccountNews>::default();
        let (mailbox, _reader) = Mailbox::new(PUSHES_MAX);
        let [ann, bob] = [AccountId(7), AccountId(8)];
        let mut trading = news.follow(ann, Subject::Trading, &mailbox, None);
        let lists = news.follow(ann, Subject::Watchlists, &mailbox, None);
        let of_bob = news.follow(bob, Subject::Watchlists, &mailbox, None);
        assert_eq!(news.trading_accounts(), [ann]);
        news.changed(ann, Subject::Trading);
        news.changed(ann, Subject::Trading);
        assert_eq!([&trading, &lists, &of_bob].map(Following::has_changed), [true, false, false]);
        trading.take();
        assert!(!trading.has_changed());
        news.all_changed(Subject::Trading);
        assert!(trading.has_changed());
        drop(trading);
        news.changed(ann, Subject::Watchlists);
        assert!(lists.has_changed() && !of_bob.has_changed());
        assert_eq!(news.trading_accounts(), []);
        drop((lists, of_bob));
        assert!(news.lock().is_empty());
    }

    #[test]
    fn watchlists_are_compared_while_a_stream_follows_them() {
        let news = Arc::<AccountNews>::default();
        let (mailbox, _reader) = Mailbox::new(PUSHES_MAX);
        let accounts = [7, 8, 9].map(AccountId);
        let follow = |account| news.follow(account, Subject::Watchlists, &mailbox, None);
        let mut following = accounts.map(follow);
        let lists = Watchlists::default();
        accounts.iter().for_each(|account| news.saw_watchlists(*account, &lists));
        assert!(!following[0].has_changed());
        assert_eq!(news.watchlist_accounts(AccountId(0), 2), accounts[..2]);
        assert_eq!(news.watchlist_accounts(AccountId(8), 2), [9, 7].map(AccountId));
        assert_eq!(news.watchlist_accounts(AccountId(9), 9), accounts);

        let group =
            store::WatchlistGroup { id: store::WatchlistId(5), name: "a".into(), symbols: Vec::new() };
        let changed = Watchlists { groups: vec![group], ..lists };
        news.saw_watchlists(accounts[0], &changed);
        assert_eq!(following.each_ref().map(Following::has_changed), [true, false, false]);
        following[0].take();
        news.saw_watchlists(accounts[0], &changed);
        assert!(!following[0].has_changed());
        drop(following);
        assert_eq!(news.watchlist_accounts(AccountId(0), 9), []);
    }
}
