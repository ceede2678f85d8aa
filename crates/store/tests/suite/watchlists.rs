//! Tests of watchlists: their order is preserved, and concurrent changes are atomic.

use std::sync::Barrier;

use market::Symbol;
use store::{
    AccountId, Accounts, Depth, FollowedSecurity, StoreError, WatchlistGroup, WatchlistId, Watchlists,
};

use crate::accounts::add;
use crate::fixture::{Home, NOW, symbol};

fn open() -> (Home, Accounts, AccountId) {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    let ann = add(&accounts, "ann").unwrap();
    (home, accounts, ann)
}

fn followed(text: &str) -> FollowedSecurity {
    let price = text.starts_with('7').then(|| "305.20".to_owned());
    FollowedSecurity { symbol: symbol(text), at: NOW, price, is_pinned: false }
}

fn symbols(texts: &[&str]) -> Vec<Symbol> {
    texts.iter().map(|text| symbol(text)).collect()
}

/// Returns the followed securities and groups of an account, as text.
fn describe(lists: &Watchlists) -> String {
    let listed = |all: Vec<&Symbol>| all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let mut text = listed(lists.followed.iter().map(|one| &one.symbol).collect());
    for group in &lists.groups {
        text += &format!(" | {}: {}", group.name, listed(group.symbols.iter().collect()));
    }
    text
}

fn change(accounts: &Accounts, id: AccountId, work: impl FnOnce(&mut Watchlists)) -> String {
    let changed = accounts.change_watchlists(id, |lists, _| {
        work(lists);
        Ok::<_, StoreError>(lists.clone())
    });
    let read = accounts.watchlists(id).unwrap();
    assert_eq!(changed.unwrap(), read);
    describe(&read)
}

pub(crate) fn create(accounts: &Accounts, id: AccountId, name: &str, texts: &[&str]) -> WatchlistId {
    let created = accounts.change_watchlists(id, |lists, ids| {
        let group = ids.take()?;
        for text in texts {
            if !lists.followed.iter().any(|one| one.symbol == symbol(text)) {
                lists.followed.push(followed(text));
            }
        }
        lists.groups.push(WatchlistGroup { id: group, name: name.to_owned(), symbols: symbols(texts) });
        Ok::<_, StoreError>(group)
    });
    created.unwrap()
}

#[test]
fn watchlists_retain_their_order() {
    let (home, accounts, ann) = open();
    assert_eq!(accounts.watchlists(ann).unwrap(), Watchlists::default());
    let first = create(&accounts, ann, "first", &["700.HK", "5.HK", "AAPL.US"]);
    let second = create(&accounts, ann, "second", &["AAPL.US", "9988.HK"]);
    assert!(first.0 > 1_000 && second > first, "the first thousand numbers are not given out");
    let all = "700.HK 5.HK AAPL.US 9988.HK";
    assert_eq!(
        describe(&accounts.watchlists(ann).unwrap()),
        format!("{all} | first: 700.HK 5.HK AAPL.US | second: AAPL.US 9988.HK")
    );

    let moved = change(&accounts, ann, |lists| {
        lists.followed.reverse();
        lists.groups[0].symbols = symbols(&["AAPL.US", "700.HK"]);
        lists.groups[1].name = "2nd".to_owned();
    });
    assert_eq!(moved, "9988.HK AAPL.US 5.HK 700.HK | first: AAPL.US 700.HK | 2nd: AAPL.US 9988.HK");
    let between = change(&accounts, ann, |lists| {
        lists.followed.insert(1, followed("1.HK"));
        lists.groups[0].symbols.insert(1, symbol("1.HK"));
        lists.followed[0].is_pinned = true;
    });
    assert_eq!(
        between,
        "9988.HK 1.HK AAPL.US 5.HK 700.HK | first: AAPL.US 1.HK 700.HK | 2nd: AAPL.US 9988.HK"
    );
    let gone = change(&accounts, ann, |lists| {
        lists.followed.retain(|one| one.symbol != symbol("AAPL.US"));
        lists.groups.remove(0);
        lists.groups[0].symbols.remove(0);
    });
    assert_eq!(gone, "9988.HK 1.HK 5.HK 700.HK | 2nd: 9988.HK");

    // All lists persist after reopening, and their rows are sealed.
    drop(accounts);
    let accounts = Accounts::open(&home, NOW).unwrap();
    let lists = accounts.watchlists(ann).unwrap();
    assert_eq!(describe(&lists), gone);
    let last = lists.followed.last().unwrap();
    assert_eq!((last.price.as_deref(), last.at, last.is_pinned), (Some("305.20"), NOW, false));
    assert!(lists.followed[0].is_pinned && lists.followed[0].price.is_none());
    assert!(accounts.check(Depth::Full).unwrap().is_empty());
}

#[test]
fn a_refused_change_of_a_list_writes_nothing() {
    let (_dir, accounts, ann) = open();
    create(&accounts, ann, "first", &["700.HK"]);
    let before = accounts.watchlists(ann).unwrap();
    let refused = accounts.change_watchlists(ann, |lists, ids| {
        lists.followed.clear();
        lists.groups[0].name = "x".repeat(2_000);
        lists.groups.push(WatchlistGroup { id: ids.take()?, name: "new".to_owned(), symbols: Vec::new() });
        Ok::<_, StoreError>(())
    });
    assert!(matches!(refused, Err(StoreError::Unfit { .. })), "{refused:?}");
    assert_eq!(accounts.watchlists(ann).unwrap(), before);
}

#[test]
fn accounts_do_not_see_each_others_lists() {
    let (_dir, accounts, ann) = open();
    let bob = add(&accounts, "bob").unwrap();
    create(&accounts, ann, "hers", &["700.HK"]);
    create(&accounts, bob, "his", &["5.HK", "700.HK"]);
    change(&accounts, bob, |lists| *lists = Watchlists::default());
    assert_eq!(describe(&accounts.watchlists(ann).unwrap()), "700.HK | hers: 700.HK");
    assert_eq!(describe(&accounts.watchlists(bob).unwrap()), "");
}

#[test]
fn concurrent_list_changes_are_not_lost() {
    let (home, accounts, ann) = open();
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for region in ["HK", "US"] {
            let (home, barrier) = (&home, &barrier);
            scope.spawn(move || {
                // The threads use separate connections, like two processes.
                let accounts = Accounts::open(home, NOW).unwrap();
                barrier.wait();
                for number in 1..=20 {
                    let text = if region == "HK" { format!("{number}.HK") } else { format!("T{number}.US") };
                    create(&accounts, ann, &text, &[&text]);
                }
            });
        }
    });
    let lists = accounts.watchlists(ann).unwrap();
    assert_eq!((lists.followed.len(), lists.groups.len()), (40, 40));
    let mut ids: Vec<WatchlistId> = lists.groups.iter().map(|group| group.id).collect();
    ids.dedup();
    assert!(ids.len() == 40 && ids.is_sorted());
}
