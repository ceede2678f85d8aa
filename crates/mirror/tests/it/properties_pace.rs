use std::time::Duration;

use mirror::{Kind, Next, Pace, RateLimits, Reply, Ticket};
use proptest::prelude::*;

/// A request to send: time until it arrives, time until the response, and the kind of response.
#[derive(Clone, Copy, Debug)]
struct Planned {
    kind: Kind,
    there: Duration,
    back: Duration,
    reply: Reply,
    pause: Duration,
}

fn planned(reply: impl Strategy<Value = Reply>, millis: u64) -> impl Strategy<Value = Planned> {
    let kind = prop_oneof![9 => Just(Kind::History), 1 => Just(Kind::Other)];
    let span = move || (0..=millis / 2).prop_map(Duration::from_millis);
    let pause = prop_oneof![9 => Just(0_u64), 1 => 0_u64..5_000].prop_map(Duration::from_millis);
    (kind, span(), span(), reply, pause).prop_map(|(kind, there, back, reply, pause)| Planned {
        kind,
        there,
        back,
        reply,
        pause,
    })
}

/// Sends requests as fast as the limiter permits. Returns the instants of sending and of arrival.
fn run(plan: &[Planned], pauses: bool) -> Vec<(Kind, Duration, Duration)> {
    let mut pace = Pace::new(RateLimits::PUBLISHED);
    let mut now = Duration::from_secs(1_000);
    let mut in_work: Vec<(Duration, Ticket, Reply)> = Vec::new();
    let mut arrivals = Vec::new();
    for request in plan {
        if pauses {
            now += request.pause;
        }
        loop {
            in_work.sort_by_key(|(at, _, _)| *at);
            while in_work.first().is_some_and(|(at, _, _)| *at <= now) {
                let (at, ticket, reply) = in_work.remove(0);
                pace.answered(ticket, reply, at);
            }
            let next = in_work.first().map(|(at, _, _)| *at);
            match pace.next(request.kind, now) {
                Next::Ready => break,
                Next::Wait(until) => {
                    assert!(until > now, "a wait ends later");
                    now = next.map_or(until, |at| at.min(until));
                }
                Next::InWork => now = next.expect("a request is in work"),
            }
        }
        let ticket = pace.sent(request.kind, now);
        assert!(pace.in_work() <= 2);
        let arrived = now + request.there;
        in_work.push((arrived + request.back, ticket, request.reply));
        arrivals.push((request.kind, now, arrived));
    }
    arrivals
}

/// Returns the largest number of instants in any window.
fn most(mut instants: Vec<Duration>, window: Duration) -> usize {
    instants.sort_unstable();
    let count = |(index, from): (usize, &Duration)| {
        instants[index..].iter().take_while(|at| **at < *from + window).count()
    };
    instants.iter().enumerate().map(count).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_window_of_the_other_server_holds_more_than_the_limit(
        plan in prop::collection::vec(planned(prop_oneof![
            60 => Just(Reply::Served), 1 => Just(Reply::TooFast), 3 => Just(Reply::Failed)
        ], 6_000), 1..300)
    ) {
        let arrivals = run(&plan, true);
        let history = arrivals.iter().filter(|(kind, ..)| *kind == Kind::History);
        prop_assert!(most(history.map(|(_, _, at)| *at).collect(), Duration::from_secs(30)) <= 55);
        prop_assert!(most(arrivals.iter().map(|(_, _, at)| *at).collect(), Duration::from_secs(1)) <= 8);
    }

    #[test]
    fn without_refusals_the_rate_is_at_least_98_percent_of_the_limit(
        plan in prop::collection::vec(planned(Just(Reply::Served), 300), 500)
    ) {
        let plan: Vec<Planned> = plan.into_iter().map(|request| Planned { kind: Kind::History, ..request }).collect();
        let sent: Vec<Duration> = run(&plan, false).into_iter().map(|(_, sent, _)| sent).collect();
        for (from, until) in sent.iter().zip(sent.iter().skip(220)) {
            // 220 requests are four windows of 55.
            let percent = 4 * 30_000 * 100 / (*until - *from).as_millis();
            prop_assert!(percent >= 98, "{percent} %");
            prop_assert!(percent <= 100, "{percent} %");
        }
    }
}
