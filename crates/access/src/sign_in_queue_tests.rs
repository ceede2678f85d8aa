use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::*;
use crate::throttle::{SignInAttempt, SignIns};

const START: Duration = Duration::from_secs(100_000);
const HOUR: Duration = Duration::from_secs(3_600);
const NAME: &str = "ann";

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn begin(sign_ins: &SignIns, address: IpAddr, at: Duration) -> Result<(), Duration> {
    sign_ins.begin(SignInAttempt { name: NAME, address, device: None }, at).map(drop)
}

/// `count` addresses, each of another provider.
fn apart(count: u32) -> Vec<IpAddr> {
    (0..count).map(|number| Ipv6Addr::from_bits(u128::from(0x2a00_0000 + number) << 96).into()).collect()
}

/// `count` /64 networks of one /48.
fn neighbours(count: u32) -> Vec<IpAddr> {
    let house = "2001:db8:1::".parse::<Ipv6Addr>().unwrap().to_bits();
    (0..count).map(|number| Ipv6Addr::from_bits(house | u128::from(number) << 64).into()).collect()
}

/// Persistent guessers: each returns as soon as its wait is over. After `patience` wrong guesses in
/// a row one is silent for an hour, so that its failures expire.
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

    fn go_on(&mut self, sign_ins: &SignIns, until: Duration) {
        while let Some(Reverse((at, index))) = self.next.pop() {
            if at > until {
                self.next.push(Reverse((at, index)));
                return;
            }
            let again = match begin(sign_ins, self.networks[index], at) {
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

/// The owner signs in from each of `addresses` in the middle of an attack, at several times.
/// Returns the longest wait until they were admitted.
fn longest_wait(mut attack: Attack, addresses: &[IpAddr]) -> Duration {
    let sign_ins = SignIns::default();
    let mut longest = Duration::ZERO;
    for (number, address) in (1..).zip(addresses) {
        let mut at = START + seconds(701) * number;
        attack.go_on(&sign_ins, at);
        let asked = at;
        while let Err(wait) = begin(&sign_ins, *address, at) {
            assert_eq!(begin(&sign_ins, *address, at), Err(wait), "asking again changes nothing");
            at += wait;
            attack.go_on(&sign_ins, at);
        }
        longest = longest.max(at - asked);
    }
    longest
}

#[test]
fn a_fresh_address_gets_in_within_half_a_minute_however_many_guess() {
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
fn a_guesser_with_many_networks_slows_its_neighbours_and_not_its_whole_provider() {
    let next_door: Vec<IpAddr> =
        (1..20).map(|number| format!("2001:db8:{number}:ffff::7").parse().unwrap()).collect();
    let (one_house, others) = next_door.split_first().unwrap();
    let wait = |address: &[IpAddr]| longest_wait(Attack::new(neighbours(100), NEVER), address);
    assert!(wait(others) <= FRESH_WAIT, "{:?}", wait(others));
    assert!(wait(&[*one_house]) > FRESH_WAIT);
}

#[test]
fn an_owner_who_mistypes_in_an_attack_waits_longer_and_gets_in() {
    let sign_ins = SignIns::default();
    let mut attack = Attack::new(apart(500), NEVER);
    let (mut at, mut waits) = (START + HOUR, Vec::new());
    for _ in 0..5 {
        attack.go_on(&sign_ins, at);
        let Err(wait) = begin(&sign_ins, [198, 51, 100, 7].into(), at) else { panic!("through at {at:?}") };
        at += wait;
        attack.go_on(&sign_ins, at);
        assert_eq!(begin(&sign_ins, [198, 51, 100, 7].into(), at), Ok(()));
        waits.push(wait.as_secs());
    }
    assert_eq!(waits, [30, 60, 120, 240, 480]);
}

/// Guesses at one name in a day.
fn guesses(networks: Vec<IpAddr>, patience: u32) -> u64 {
    let mut attack = Attack::new(networks, patience);
    attack.go_on(&SignIns::default(), START + HOUR * 24);
    attack.total
}

#[test]
fn guessers_have_120_tries_an_hour_and_four_more_for_each_network() {
    // The numbers of docs/pages.md.
    for count in [1, 2, 10, 50, 200] {
        for patience in [NEVER, 4, 5, 6] {
            let total = guesses(apart(count), patience);
            let most = u64::from(AT_ONCE) + 24 * (120 + 4 * u64::from(count));
            assert!(total <= most, "{count} networks, patience {patience}: {total} of {most}");
        }
    }
}

#[test]
fn the_networks_of_one_house_are_worth_four_and_those_of_a_provider_thirty_two() {
    let house = |count| guesses(neighbours(count), NEVER);
    let most = u64::from(AT_ONCE) + 24 * (120 + 4 * 4);
    let total = house(100);
    assert!(total <= most, "{total} of {most}");
    let provider: Vec<IpAddr> = (0..200_u32)
        .map(|number| Ipv6Addr::from_bits(0x2a00_0000 << 96 | u128::from(number) << 80).into())
        .collect();
    let most = u64::from(AT_ONCE) + 24 * (120 + 4 * 32);
    let total = guesses(provider, NEVER);
    assert!(total <= most, "{total} of {most}");
}

#[test]
fn an_unused_place_expires_and_an_unverified_attempt_gets_its_place_back() {
    let sign_ins = SignIns::default();
    for last in 0..20 {
        begin(&sign_ins, [203, 0, 113, last].into(), START).unwrap();
    }
    let (one, other) = (IpAddr::from([198, 51, 100, 1]), IpAddr::from([192, 0, 2, 1]));
    assert_eq!(begin(&sign_ins, one, START), Err(seconds(30)));
    let at = START + seconds(30);
    let attempt = sign_ins.begin(SignInAttempt { name: NAME, address: one, device: None }, at).unwrap();
    sign_ins.undone(&attempt);
    assert_eq!(begin(&sign_ins, one, at), Ok(()), "the gate was full, and the place is still theirs");
    assert_eq!(begin(&sign_ins, other, at), Err(seconds(30)));
    let mut queues = Queues::default();
    let (who, own) = ((NAME.to_owned(), other), OwnFailures { failures: 0, wait: Duration::ZERO });
    (0..AT_ONCE).for_each(|_| queues.lengthen(NAME, START));
    assert_eq!(queues.come(&who, own, START), Err(seconds(30)));
    (0..AT_ONCE).for_each(|_| queues.lengthen(NAME, START + PLACE_KEPT));
    assert_eq!(
        queues.come(&who, own, START + PLACE_KEPT + seconds(29)),
        Ok(Turn::Place(START + seconds(30)))
    );
    assert_eq!(queues.come(&who, own, START + PLACE_KEPT + seconds(29)), Err(seconds(30)));
    let late = START + PLACE_KEPT * 2 + seconds(59);
    (0..AT_ONCE).for_each(|_| queues.lengthen(NAME, late));
    assert_eq!(queues.come(&who, own, late), Err(seconds(30)), "a new one");
}

#[test]
fn queues_and_places_are_bounded_and_the_near_ones_stay() {
    let mut queues = Queues::default();
    let most = u32::try_from(KEPT_MAX).unwrap();
    for number in 0..most + 100 {
        queues.lengthen(&number.to_string(), START);
        assert!(queues.full_at.len() <= KEPT_MAX);
    }
    queues.lengthen("later", START + SPACING);
    assert_eq!(queues.full_at.len(), 1);
    let (near, far) = (apart(most * 2), START + HOUR);
    let who = |index: usize| (NAME.to_owned(), near[index]);
    for index in 0..KEPT_MAX {
        queues.keep(&who(index), if index < 100 { START } else { far + seconds(index as u64) }, START);
    }
    for index in KEPT_MAX..near.len() {
        queues.keep(&who(index), far * 2, START);
        assert!(queues.places.len() <= KEPT_MAX);
    }
    assert!((0..100).all(|index| queues.places.contains_key(&who(index))));
}
