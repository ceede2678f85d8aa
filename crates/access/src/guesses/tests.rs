use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use store::{AccountId, GuardKey, GuardTable, Hash};

use super::device::{CountedCode, GONE_AFTER};
use super::queue::{self, AT_ONCE, FRESH_WAIT, PLACE_KEPT, SPACING, Turn};
use super::rows::{FORGOTTEN_AFTER, ROWS_MAX, Rows, SignInKeys, Slope};
use super::sign_in::{self, AdmittedAttempt};
use super::{Guesses, SignInAttempt};
use crate::Region;
use crate::rate_limiter::network_of;

const START: Duration = Duration::from_secs(100_000);
const HOUR: Duration = Duration::from_secs(3_600);
const NAME: &str = "ann";

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn here() -> Guesses {
    Guesses::of(None)
}

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

fn from(name: &str, last: u8) -> SignInAttempt<'_> {
    SignInAttempt { name, address: address(last), device: None }
}

fn attempt(guesses: &Guesses, who: SignInAttempt<'_>, at: Duration) -> Result<AdmittedAttempt, Duration> {
    guesses.begin_sign_in(who, at).unwrap()
}

/// Begins a sign-in attempt. Returns the wait if the attempt was refused.
fn begin(guesses: &Guesses, who: SignInAttempt<'_>, at: Duration) -> Result<(), Duration> {
    attempt(guesses, who, at).map(drop)
}

fn sign_in(guesses: &Guesses, who: SignInAttempt<'_>, at: Duration) {
    guesses.sign_in_was_right(&attempt(guesses, who, at).unwrap(), at).unwrap();
}

/// Fails to sign in repeatedly at one time until an attempt is refused. Returns the number of
/// admitted attempts.
fn exhaust(guesses: &Guesses, who: SignInAttempt<'_>, at: Duration) -> u32 {
    (0..).take_while(|_| begin(guesses, who, at).is_ok()).count().try_into().unwrap()
}

#[test]
fn five_tries_are_free_and_then_the_wait_doubles_up_to_a_minute() {
    let guesses = here();
    let (mut at, who) = (START, from("ann", 1));
    assert_eq!(exhaust(&guesses, who, at), 5);
    for wait in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
        assert_eq!(begin(&guesses, who, at), Err(seconds(wait)));
        let early = seconds(wait) - Duration::from_millis(1);
        assert_eq!(
            begin(&guesses, who, at + early),
            Err(Duration::from_millis(1)),
            "asking early costs nothing"
        );
        at += seconds(wait);
        assert_eq!(begin(&guesses, who, at), Ok(()), "after {wait} s there is another try");
    }
}

#[test]
fn a_correct_password_clears_earlier_failures() {
    let guesses = here();
    let who = from("ann", 1);
    for _ in 0..4 {
        begin(&guesses, who, START).unwrap();
    }
    sign_in(&guesses, who, START);
    assert_eq!(exhaust(&guesses, who, START), 5);
}

#[test]
fn an_unverified_attempt_is_not_counted() {
    let guesses = here();
    for _ in 0..1_000 {
        let attempt = attempt(&guesses, from("ann", 1), START).unwrap();
        guesses.sign_in_was_undone(&attempt, START).unwrap();
    }
    assert_eq!((guesses.memory.len("pair"), guesses.memory.len("address")), (0, 0));
    let through = (0..100).filter(|last| begin(&guesses, from("ann", *last), START).is_ok()).count();
    assert_eq!(through, 20, "nor has anybody a try less for it");
}

#[test]
fn an_address_is_limited_across_names() {
    let guesses = here();
    let names: Vec<String> = (0..100).map(|number| format!("name {number}")).collect();
    let through = names.iter().filter(|name| begin(&guesses, from(name, 1), START).is_ok()).count();
    assert_eq!(through, 10);
    assert_eq!(begin(&guesses, from("ann", 2), START), Ok(()), "others are not held up by it");
}

#[test]
fn a_name_is_limited_across_unknown_addresses() {
    let guesses = here();
    let (home, phone) = (from("ann", 200), SignInAttempt { device: Some([7; 16]), ..from("ann", 201) });
    sign_in(&guesses, home, START);
    let through = (0..100).filter(|last| begin(&guesses, from("ann", *last), START).is_ok()).count();
    assert_eq!(through, 20);
    assert!(begin(&guesses, from("ann", 150), START).is_err(), "a stranger waits");
    assert_eq!(begin(&guesses, home, START), Ok(()), "an address that has signed in before does not");
    assert_eq!(begin(&guesses, phone, START), Ok(()), "nor does a browser that has");
    assert_eq!(begin(&guesses, from("bob", 150), START), Ok(()), "nor does an attempt at another name");
}

#[test]
fn a_known_browser_is_also_limited() {
    let guesses = here();
    let thief = SignInAttempt { device: Some([7; 16]), ..from("ann", 1) };
    assert_eq!(exhaust(&guesses, thief, START), 5);
    assert_eq!(begin(&guesses, SignInAttempt { address: address(9), ..thief }, START), Err(seconds(1)));
}

#[test]
fn failures_expire_after_an_hour() {
    let guesses = here();
    exhaust(&guesses, from("ann", 1), START);
    let later = START + FORGOTTEN_AFTER;
    assert_eq!(exhaust(&guesses, from("ann", 1), later), 5);
}

#[test]
fn addresses_in_one_ipv6_network_share_a_limit() {
    let of = |text: &str| network_of(text.parse().unwrap()).to_string();
    assert_eq!(of("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
    assert_eq!(of("::ffff:192.0.2.1"), "192.0.2.1");
    assert_eq!(of("192.0.2.1"), "192.0.2.1");
}

#[test]
fn known_addresses_are_bounded_and_the_oldest_are_evicted() {
    let guesses = here();
    let names: Vec<String> = (0..ROWS_MAX + 5).map(|number| number.to_string()).collect();
    for (number, name) in (0_u64..).zip(&names) {
        sign_in(&guesses, from(name, 1), START + Duration::from_millis(number));
        assert!(guesses.memory.len("known") <= ROWS_MAX);
    }
    let is_known = |name: &str| {
        let key = SignInKeys::of(name, address(1), None).known;
        guesses.memory.judge(std::slice::from_ref(&key), START, |rows| rows.get(&key).is_some())
    };
    assert!(!is_known("4") && is_known(&(ROWS_MAX / 2).to_string()) && is_known(&names[ROWS_MAX]));
}

#[test]
fn a_full_table_evicts_the_lowest_counters() {
    let guesses = here();
    let fail = |text: &str| {
        let key = GuardKey { kind: "pair", key: text.to_owned() };
        guesses.memory.judge(std::slice::from_ref(&key), START, |rows| {
            rows.fail(&key);
            rows.wait(&key, Slope { free: 5, longest: seconds(60) })
        })
    };
    assert_eq!((0..10).map(|_| fail("guesser")).max(), Some(seconds(32)));
    for number in 0..ROWS_MAX * 3 {
        fail(&number.to_string());
        assert!(guesses.memory.len("pair") <= ROWS_MAX);
    }
    assert_eq!(fail("guesser"), seconds(60), "the eleventh");
}

/// Nodes that share the rows in a database must make the same decisions as a single process.
#[test]
fn database_rows_and_memory_give_the_same_decisions() {
    let (guesses, mut table) = (here(), GuardTable::default());
    let start = seconds(1_700_000_000);
    let mut refused = 0;
    for step in 0..400_u32 {
        let now = start + seconds(u64::from(step) * 3);
        let who = from("ann", (step % 23) as u8);
        let keys = SignInKeys::of(who.name, who.address, None);
        table.now_us = i64::try_from(now.as_micros()).unwrap();
        let there = sign_in::begin(&keys, false, &mut Rows(&mut table));
        let here = attempt(&guesses, who, now);
        assert_eq!(here.as_ref().err(), there.as_ref().err(), "step {step}");
        refused += usize::from(here.is_err());
        let Ok(attempt) = here else { continue };
        match step % 41 {
            0 => {
                guesses.sign_in_was_right(&attempt, now).unwrap();
                sign_in::right(&attempt, &mut Rows(&mut table));
            }
            1 => {
                guesses.sign_in_was_undone(&attempt, now).unwrap();
                sign_in::undone(&attempt, &mut Rows(&mut table));
            }
            _ => {}
        }
    }
    assert!((50..390).contains(&refused), "{refused}");
}

fn try_at(guesses: &Guesses, address: IpAddr, at: Duration) -> Result<(), Duration> {
    begin(guesses, SignInAttempt { name: NAME, address, device: None }, at)
}

/// Returns `count` addresses, each in the network of a different provider.
fn apart(count: u32) -> Vec<IpAddr> {
    (0..count).map(|number| Ipv6Addr::from_bits(u128::from(0x2a00_0000 + number) << 96).into()).collect()
}

/// Returns `count` /64 networks in the same /48 network.
fn neighbours(count: u32) -> Vec<IpAddr> {
    let house = "2001:db8:1::".parse::<Ipv6Addr>().unwrap().to_bits();
    (0..count).map(|number| Ipv6Addr::from_bits(house | u128::from(number) << 64).into()).collect()
}

/// Persistent attackers, each of which retries as soon as its wait is over. After `patience` wrong
/// guesses in a row, an attacker pauses for an hour, so that its failures expire.
struct Attack {
    networks: Vec<IpAddr>,
    patience: u32,
    guesses: Vec<u32>,
    next: BinaryHeap<Reverse<(Duration, usize)>>,
    total: u64,
}

impl Attack {
    fn new(networks: Vec<IpAddr>, patience: u32) -> Attack {
        let next = (0..networks.len()).map(|index| Reverse((START, index))).collect();
        Attack { guesses: vec![0; networks.len()], networks, patience, next, total: 0 }
    }

    fn go_on(&mut self, guesses: &Guesses, until: Duration) {
        while let Some(Reverse((at, index))) = self.next.pop() {
            if at > until {
                self.next.push(Reverse((at, index)));
                return;
            }
            let again = match try_at(guesses, self.networks[index], at) {
                Err(wait) => at + wait,
                Ok(()) => {
                    self.total += 1;
                    self.guesses[index] += 1;
                    if self.guesses[index].is_multiple_of(self.patience) { at + HOUR } else { at }
                }
            };
            self.next.push(Reverse((again, index)));
        }
    }
}

const NEVER: u32 = u32::MAX;

/// Signs in from each of `addresses` during an attack, at several times. Returns the longest time
/// until an attempt was admitted.
fn longest_wait(mut attack: Attack, addresses: &[IpAddr]) -> Duration {
    let guesses = here();
    let mut longest = Duration::ZERO;
    for (number, address) in (1..).zip(addresses) {
        let mut at = START + seconds(701) * number;
        attack.go_on(&guesses, at);
        let request = at;
        while let Err(wait) = try_at(&guesses, *address, at) {
            assert_eq!(try_at(&guesses, *address, at), Err(wait), "asking again changes nothing");
            at += wait;
            attack.go_on(&guesses, at);
        }
        longest = longest.max(at - request);
    }
    longest
}

#[test]
fn a_fresh_address_waits_at_most_30_s_during_an_attack() {
    let fresh: Vec<IpAddr> = (0..20).map(|last| IpAddr::from([198, last, 100, 7])).collect();
    for networks in [apart(1), apart(2), apart(50), apart(400), neighbours(2), neighbours(50)] {
        for patience in [NEVER, 5] {
            let count = networks.len();
            let wait = longest_wait(Attack::new(networks.clone(), patience), &fresh);
            assert!(wait <= FRESH_WAIT, "{count} guessers: {wait:?}");
        }
    }
}

#[test]
fn an_attacker_delays_its_48_network_but_not_its_provider() {
    let next_door: Vec<IpAddr> =
        (1..20).map(|number| format!("2001:db8:{number}:ffff::7").parse().unwrap()).collect();
    let (one_house, others) = next_door.split_first().unwrap();
    let wait = |address: &[IpAddr]| longest_wait(Attack::new(neighbours(100), NEVER), address);
    assert!(wait(others) <= FRESH_WAIT, "{:?}", wait(others));
    assert!(wait(&[*one_house]) > FRESH_WAIT);
}

#[test]
fn the_wait_doubles_with_each_mistyped_password_during_an_attack() {
    let guesses = here();
    let mut attack = Attack::new(apart(500), NEVER);
    let (mut at, mut waits) = (START + HOUR, Vec::new());
    for _ in 0..5 {
        attack.go_on(&guesses, at);
        let Err(wait) = try_at(&guesses, [198, 51, 100, 7].into(), at) else { panic!("through at {at:?}") };
        at += wait;
        attack.go_on(&guesses, at);
        assert_eq!(try_at(&guesses, [198, 51, 100, 7].into(), at), Ok(()));
        waits.push(wait.as_secs());
    }
    assert_eq!(waits, [30, 60, 120, 240, 480]);
}

/// Returns the number of guesses that attackers get at one name in a day.
fn guesses_of(networks: Vec<IpAddr>, patience: u32) -> u64 {
    let mut attack = Attack::new(networks, patience);
    attack.go_on(&here(), START + HOUR * 24);
    attack.total
}

#[test]
fn attackers_get_120_guesses_an_hour_plus_four_per_network() {
    // These limits are documented in docs/pages.md.
    for count in [1, 2, 10, 50, 200] {
        for patience in [NEVER, 4, 5, 6] {
            let total = guesses_of(apart(count), patience);
            let most = u64::from(AT_ONCE) + 24 * (120 + 4 * u64::from(count));
            assert!(total <= most, "{count} networks, patience {patience}: {total} of {most}");
        }
    }
}

#[test]
fn a_wider_network_limits_the_guesses_of_its_addresses() {
    let house = |count| guesses_of(neighbours(count), NEVER);
    let most = u64::from(AT_ONCE) + 24 * (120 + 4 * 4);
    let total = house(100);
    assert!(total <= most, "{total} of {most}");
    let provider: Vec<IpAddr> = (0..200_u32)
        .map(|number| Ipv6Addr::from_bits(0x2a00_0000 << 96 | u128::from(number) << 80).into())
        .collect();
    let most = u64::from(AT_ONCE) + 24 * (120 + 4 * 32);
    let total = guesses_of(provider, NEVER);
    assert!(total <= most, "{total} of {most}");
}

/// Takes `times` tokens from the token bucket of a name.
fn lengthen(guesses: &Guesses, name: &str, times: u32, at: Duration) {
    let key = SignInKeys::of(name, address(1), None).queue;
    guesses.memory.judge(std::slice::from_ref(&key), at, |rows| {
        (0..times).for_each(|_| queue::lengthen(&key, rows));
    });
}

#[test]
fn an_unused_place_expires_and_an_unverified_attempt_restores_it() {
    let guesses = here();
    for last in 0..20 {
        try_at(&guesses, [203, 0, 113, last].into(), START).unwrap();
    }
    let (one, other) = (IpAddr::from([198, 51, 100, 1]), IpAddr::from([192, 0, 2, 1]));
    assert_eq!(try_at(&guesses, one, START), Err(seconds(30)));
    let at = START + seconds(30);
    let admitted = attempt(&guesses, SignInAttempt { name: NAME, address: one, device: None }, at).unwrap();
    guesses.sign_in_was_undone(&admitted, at).unwrap();
    assert_eq!(try_at(&guesses, one, at), Ok(()), "the gate was full, and the place is still theirs");
    assert_eq!(try_at(&guesses, other, at), Err(seconds(30)));

    let guesses = here();
    let keys = SignInKeys::of(NAME, other, None);
    let come = |at| guesses.memory.judge(&keys.all(), at, |rows| queue::come(&keys, Duration::ZERO, rows));
    lengthen(&guesses, NAME, AT_ONCE, START);
    assert_eq!(come(START), Err(seconds(30)));
    lengthen(&guesses, NAME, AT_ONCE, START + PLACE_KEPT);
    assert_eq!(come(START + PLACE_KEPT + seconds(29)), Ok(Turn::Place(START + seconds(30))));
    assert_eq!(come(START + PLACE_KEPT + seconds(29)), Err(seconds(30)));
    let late = START + PLACE_KEPT * 2 + seconds(59);
    lengthen(&guesses, NAME, AT_ONCE, late);
    assert_eq!(come(late), Err(seconds(30)), "a new one");
}

#[test]
fn queues_and_places_are_bounded() {
    let guesses = here();
    for number in 0..ROWS_MAX {
        lengthen(&guesses, &number.to_string(), 1, START);
    }
    assert_eq!(guesses.memory.len("queue"), ROWS_MAX);
    lengthen(&guesses, "later", 1, START + SPACING);
    assert_eq!(guesses.memory.len("queue"), 1);
    lengthen(&guesses, NAME, 5, START + SPACING);
    for number in 0..ROWS_MAX * 2 {
        lengthen(&guesses, &number.to_string(), 1, START + SPACING);
        assert!(guesses.memory.len("queue") <= ROWS_MAX);
    }
    let key = SignInKeys::of(NAME, address(1), None).queue;
    let full_at =
        guesses.memory.judge(std::slice::from_ref(&key), START + SPACING, |rows| rows.time_of(&key));
    assert_eq!(full_at, Some(START + SPACING * 6), "a queue in use stays");

    let (near, far) = (apart(u32::try_from(ROWS_MAX).unwrap() * 2), START + HOUR);
    let place = |index: usize| SignInKeys::of(NAME, near[index], None).place;
    let hold = |index: usize, due: Duration| {
        let key = place(index);
        guesses.memory.judge(std::slice::from_ref(&key), START, |rows| queue::hold(&key, due, rows));
        assert!(guesses.memory.len("place") <= ROWS_MAX);
    };
    for index in 0..ROWS_MAX {
        hold(index, if index < 100 { START } else { far + seconds(index as u64) });
    }
    for index in ROWS_MAX..near.len() {
        hold(index, far * 2);
    }
    let is_held = |index: usize| {
        let key = place(index);
        guesses.memory.judge(std::slice::from_ref(&key), START, |rows| rows.get(&key).is_some())
    };
    assert!((0..100).all(is_held));
}

const ALICE: AccountId = AccountId(1);

fn code(guesses: &Guesses, last: u8, account: AccountId, at: Duration) -> Result<CountedCode, Duration> {
    guesses.begin_code(address(last), account, at).unwrap()
}

#[test]
fn an_address_may_try_five_wrong_codes_in_ten_minutes() {
    let guesses = here();
    let begin = |last, account, at| code(&guesses, last, account, START + seconds(at)).map(drop);
    for second in 0..5 {
        begin(1, ALICE, second).unwrap();
    }
    assert_eq!(begin(1, AccountId(2), 5), Err(seconds(595)));
    assert_eq!(begin(2, ALICE, 5), Err(seconds(595)), "nor by moving house");
    begin(2, AccountId(2), 5).unwrap();
    begin(1, ALICE, 600).unwrap();
    assert_eq!(begin(1, ALICE, 600), Err(seconds(1)));
}

#[test]
fn correct_codes_are_not_counted() {
    let guesses = here();
    for _ in 0..200 {
        let counted = code(&guesses, 1, ALICE, START).unwrap();
        guesses.code_was_right(counted).unwrap();
    }
}

#[test]
fn wrong_codes_are_limited_to_a_hundred_a_minute_in_total() {
    let guesses = here();
    let begin =
        |number: u8, at| code(&guesses, number, AccountId(number.into()), START + seconds(at)).map(drop);
    for number in 0..100_u8 {
        begin(number, 0).unwrap();
    }
    assert_eq!(begin(200, 9), Err(seconds(51)));
    begin(200, 60).unwrap();
}

fn polls_too_fast(guesses: &Guesses, code: Hash, region: Option<Region>, at: u64) -> bool {
    guesses.polls_too_fast(code, region, START + seconds(at)).unwrap()
}

#[test]
fn two_pollers_that_respect_the_interval_are_not_slowed_down() {
    let guesses = here();
    for tick in 1..100 {
        for region in [Some(Region::Ap), Some(Region::Us)] {
            assert!(!polls_too_fast(&guesses, [1; 32], region, 5 * tick));
        }
    }
}

#[test]
fn the_first_poll_after_a_start_is_not_slowed_down() {
    let guesses = Guesses::of(None);
    assert!(!guesses.polls_too_fast([1; 32], None, seconds(1)).unwrap());
    assert!(guesses.polls_too_fast([1; 32], None, seconds(2)).unwrap());
}

#[test]
fn polling_too_fast_lengthens_the_interval_of_that_poller_only() {
    let guesses = here();
    let poll = |region, at| polls_too_fast(&guesses, [1; 32], region, at);
    assert!(!poll(None, 0) && !poll(Some(Region::Us), 0));
    assert!(poll(None, 1));
    assert!(poll(None, 6), "ten seconds from now on");
    assert!(!poll(None, 21), "fifteen seconds after that");
    assert!(!poll(Some(Region::Us), 5));
    assert!(!polls_too_fast(&guesses, [2; 32], None, 21), "another code");
    for _ in 0..100 {
        poll(None, 22);
    }
    assert!(!poll(None, 22 + 60), "there is a longest interval");
}

#[test]
fn poll_rows_are_bounded() {
    let guesses = here();
    let code = |number: usize| {
        let mut code = [0; 32];
        code[..8].copy_from_slice(&number.to_be_bytes());
        code
    };
    for number in 0..ROWS_MAX {
        assert!(!polls_too_fast(&guesses, code(number), None, 0));
    }
    assert_eq!(guesses.memory.len("poll"), ROWS_MAX);
    let (last, gone_after_s) = (code(ROWS_MAX), GONE_AFTER.as_secs());
    polls_too_fast(&guesses, last, None, gone_after_s);
    assert_eq!(guesses.memory.len("poll"), 1);
    guesses.forget_poller(&last, START + GONE_AFTER).unwrap();
    assert_eq!(guesses.memory.len("poll"), 0);
    for number in 0..ROWS_MAX + 10 {
        assert!(!polls_too_fast(&guesses, code(number), None, gone_after_s + number as u64));
        assert!(guesses.memory.len("poll") <= ROWS_MAX);
    }
}
