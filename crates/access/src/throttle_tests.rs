use super::*;
use crate::failures::FORGOTTEN_AFTER;

const START: Duration = Duration::from_secs(100_000);

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

fn from(name: &str, last: u8) -> SignInAttempt<'_> {
    SignInAttempt { name, address: address(last), device: None }
}

/// How long to wait before an attempt, or `Ok` if it was admitted.
fn begin(sign_ins: &SignIns, who: SignInAttempt<'_>, at: Duration) -> Result<(), Duration> {
    sign_ins.begin(who, at).map(drop)
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Fails as often as that is admitted at one time.
fn exhaust(sign_ins: &SignIns, who: SignInAttempt<'_>, at: Duration) -> u32 {
    (0..).take_while(|_| sign_ins.begin(who, at).is_ok()).count().try_into().unwrap()
}

#[test]
fn five_tries_are_free_and_then_the_wait_doubles_up_to_a_minute() {
    let sign_ins = SignIns::default();
    let (mut at, who) = (START, from("ann", 1));
    assert_eq!(exhaust(&sign_ins, who, at), 5);
    for wait in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
        assert_eq!(begin(&sign_ins, who, at), Err(seconds(wait)));
        let early = seconds(wait) - Duration::from_millis(1);
        assert_eq!(
            begin(&sign_ins, who, at + early),
            Err(Duration::from_millis(1)),
            "asking early costs nothing"
        );
        at += seconds(wait);
        assert_eq!(begin(&sign_ins, who, at), Ok(()), "after {wait} s there is another try");
    }
}

#[test]
fn a_right_password_takes_its_failures_back() {
    let sign_ins = SignIns::default();
    let who = from("ann", 1);
    for _ in 0..4 {
        sign_ins.begin(who, START).unwrap();
    }
    sign_ins.right(sign_ins.begin(who, START).unwrap());
    assert_eq!(exhaust(&sign_ins, who, START), 5);
}

#[test]
fn an_unverified_attempt_is_no_failure() {
    let sign_ins = SignIns::default();
    for _ in 0..1_000 {
        sign_ins.undone(&sign_ins.begin(from("ann", 1), START).unwrap());
    }
    let inner = sign_ins.inner.lock().unwrap();
    assert_eq!((inner.pairs.len(), inner.addresses.len()), (0, 0));
    drop(inner);
    let through = (0..100).filter(|last| sign_ins.begin(from("ann", *last), START).is_ok()).count();
    assert_eq!(through, 20, "nor has anybody a try less for it");
}

#[test]
fn one_address_cannot_try_name_after_name() {
    let sign_ins = SignIns::default();
    let names: Vec<String> = (0..100).map(|number| format!("name {number}")).collect();
    let through = names.iter().filter(|name| sign_ins.begin(from(name, 1), START).is_ok()).count();
    assert_eq!(through, 10);
    assert_eq!(begin(&sign_ins, from("ann", 2), START), Ok(()), "others are not held up by it");
}

#[test]
fn many_addresses_cannot_try_one_name_and_its_owner_still_gets_in() {
    let sign_ins = SignIns::default();
    let (home, phone) = (from("ann", 200), SignInAttempt { device: Some([7; 16]), ..from("ann", 201) });
    sign_ins.right(sign_ins.begin(home, START).unwrap());
    let through = (0..100).filter(|last| sign_ins.begin(from("ann", *last), START).is_ok()).count();
    assert_eq!(through, 20);
    assert!(sign_ins.begin(from("ann", 150), START).is_err(), "a stranger waits");
    assert_eq!(begin(&sign_ins, home, START), Ok(()), "an address that has signed in before does not");
    assert_eq!(begin(&sign_ins, phone, START), Ok(()), "nor does a browser that has");
    assert_eq!(begin(&sign_ins, from("bob", 150), START), Ok(()), "nor does an attempt at another name");
}

#[test]
fn a_known_browser_has_no_more_guesses_than_others() {
    let sign_ins = SignIns::default();
    let thief = SignInAttempt { device: Some([7; 16]), ..from("ann", 1) };
    assert_eq!(exhaust(&sign_ins, thief, START), 5);
    assert_eq!(begin(&sign_ins, SignInAttempt { address: address(9), ..thief }, START), Err(seconds(1)));
}

#[test]
fn failures_are_forgotten_after_an_hour() {
    let sign_ins = SignIns::default();
    exhaust(&sign_ins, from("ann", 1), START);
    let later = START + FORGOTTEN_AFTER;
    assert_eq!(exhaust(&sign_ins, from("ann", 1), later), 5);
}

#[test]
fn an_ipv6_network_counts_as_one_address_and_a_mapped_address_is_ipv4() {
    let of = |text: &str| network_of(text.parse().unwrap()).to_string();
    assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    assert_eq!(of("::ffff:192.0.2.1"), "192.0.2.1");
    assert_eq!(of("192.0.2.1"), "192.0.2.1");
}

#[test]
fn addresses_that_have_signed_in_are_bounded() {
    let mut known_addresses = KnownAddresses::default();
    for number in 0..(KNOWN_ADDRESSES_MAX as u32 + 5) {
        known_addresses.meet(number.to_string(), address(1));
    }
    assert_eq!(
        (known_addresses.known.len(), known_addresses.order.len()),
        (KNOWN_ADDRESSES_MAX, KNOWN_ADDRESSES_MAX)
    );
    assert!(!known_addresses.knows("4", address(1)) && known_addresses.knows("5", address(1)));
}
