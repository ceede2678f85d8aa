//! The subscription limit of an account in a single process.

use access::{Caller, Fit, Reserved, SignedOn, Terms};
use market::Symbol;

use crate::fixture::{Fresh, MOMENT, NOW, START, fresh, symbol};

fn sign_on(fresh: &Fresh, caller: &Caller) -> SignedOn {
    let otp = fresh.access.issue_otp(caller, START).unwrap();
    fresh.access.sign_on(otp.expose(), None, MOMENT).unwrap()
}

fn symbols(names: &str) -> Vec<Symbol> {
    names.split_whitespace().map(symbol).collect()
}

fn reserve(fresh: &Fresh, of: &SignedOn, names: &str, fit: Fit) -> (u32, String, String) {
    let (account, limit) = (of.caller.account(), 3);
    let reserved =
        fresh.access.reserve_subscriptions(account, of.connection.id(), &symbols(names), (limit, fit));
    let Reserved { used, added, over } = reserved.unwrap();
    let names = |symbols: Vec<Symbol>| symbols.iter().map(Symbol::as_str).collect::<Vec<_>>().join(" ");
    (used, names(added), names(over))
}

fn found(used: u32, added: &str, over: &str) -> (u32, String, String) {
    (used, added.to_owned(), over.to_owned())
}

#[test]
fn distinct_symbols_are_counted_over_all_connections() {
    let fresh = fresh();
    assert!(!fresh.access.is_shared());
    let caller = fresh.caller("alice", Terms::default());
    let (one, two) = (sign_on(&fresh, &caller), sign_on(&fresh, &caller));
    assert_eq!(reserve(&fresh, &one, "2.HK 1.HK 2.HK", Fit::AllOrNothing), found(2, "1.HK 2.HK", ""));
    assert_eq!(reserve(&fresh, &one, "2.HK", Fit::AllOrNothing), found(2, "", ""), "it has that one");
    let refused = reserve(&fresh, &two, "5.HK 4.HK 1.HK", Fit::AllOrNothing);
    assert_eq!(refused, found(2, "", "4.HK 5.HK"));
    assert_eq!(reserve(&fresh, &two, "5.HK 4.HK 1.HK", Fit::Smallest), found(3, "1.HK 4.HK", "5.HK"));
    fresh.access.release_subscriptions(two.connection.id(), Some(&symbols("1.HK 4.HK 9.HK")));
    assert_eq!(reserve(&fresh, &two, "5.HK", Fit::AllOrNothing), found(3, "5.HK", ""));
    fresh.access.release_subscriptions(one.connection.id(), None);
    assert_eq!(reserve(&fresh, &two, "1.HK 2.HK 3.HK", Fit::Smallest), found(3, "1.HK 2.HK", "3.HK"));
    // Another account has a separate limit.
    let bob = sign_on(&fresh, &fresh.caller("bob", Terms::default()));
    assert_eq!(reserve(&fresh, &bob, "8.HK", Fit::AllOrNothing), found(1, "8.HK", ""));
}

#[test]
fn a_closed_or_superseded_connection_has_no_subscriptions() {
    let fresh = fresh();
    let caller = fresh.caller("alice", Terms::default());
    let first = sign_on(&fresh, &caller);
    assert_eq!(reserve(&fresh, &first, "1.HK 2.HK 3.HK", Fit::AllOrNothing).0, 3);
    // The client reconnects, and its old connection is not closed yet.
    let second = fresh.access.resume(first.session.id.expose(), None, NOW).unwrap();
    assert_eq!(reserve(&fresh, &second, "4.HK", Fit::AllOrNothing), found(1, "4.HK", ""));
    drop(first);
    let other = sign_on(&fresh, &caller);
    assert_eq!(reserve(&fresh, &other, "5.HK", Fit::AllOrNothing).0, 2);
    drop(second);
    assert_eq!(reserve(&fresh, &other, "6.HK", Fit::AllOrNothing).0, 2);
}

#[test]
fn a_stream_counts_toward_subscriptions_but_not_toward_connections() {
    let fresh = fresh();
    let terms = Terms { connections: 1, ..Terms::default() };
    let caller = fresh.caller("alice", terms);
    let stream = fresh.access.open_stream(caller.account(), "127.0.0.1:1", NOW).unwrap();
    let of_stream = |names: &str| {
        let limit = (3, Fit::Smallest);
        let account = caller.account();
        fresh.access.reserve_subscriptions(account, stream.id(), &symbols(names), limit).unwrap().used
    };
    assert_eq!(of_stream("1.HK 2.HK"), 2);
    let connection = sign_on(&fresh, &caller);
    assert_eq!(connection.slots.online, 1);
    assert_eq!(reserve(&fresh, &connection, "2.HK 3.HK 4.HK", Fit::Smallest), found(3, "2.HK 3.HK", "4.HK"));
    drop(stream);
    assert_eq!(reserve(&fresh, &connection, "4.HK", Fit::AllOrNothing), found(3, "4.HK", ""));
}
