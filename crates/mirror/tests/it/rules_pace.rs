use std::time::Duration;

use mirror::{Kind, Next, Pace, ProfileLimit, RateFactor, RateLimits, Reply};

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Sends requests with immediate responses until one must wait. Returns how many were sent.
fn burst(pace: &mut Pace, kind: Kind, now: Duration) -> usize {
    let mut sent = 0;
    while pace.next(kind, now) == Next::Ready {
        let ticket = pace.sent(kind, now);
        pace.answered(ticket, Reply::Served, now);
        sent += 1;
        assert!(sent < 1000);
    }
    sent
}

/// Sends as many requests as possible for a number of seconds. Returns how many were sent.
fn sent_in(pace: &mut Pace, from: Duration, seconds: u64) -> usize {
    let (mut now, mut sent) = (from, 0);
    while now < from + s(seconds) {
        match pace.next(Kind::History, now) {
            Next::Ready => {
                let ticket = pace.sent(Kind::History, now);
                pace.answered(ticket, Reply::Served, now);
                sent += 1;
            }
            Next::Wait(until) => now = until,
            Next::InWork => panic!("every request was answered"),
        }
    }
    sent
}

#[test]
fn at_most_8_requests_per_second_and_55_of_command_27_in_30_seconds() {
    let mut pace = Pace::new(RateLimits::PUBLISHED);
    assert_eq!(burst(&mut pace, Kind::History, s(100)), 8);
    assert_eq!(pace.next(Kind::Other, s(100)), Next::Wait(s(101)));
    assert_eq!(burst(&mut pace, Kind::Other, s(101)), 8);
    assert_eq!(sent_in(&mut pace, s(102), 28), 47);
    assert_eq!(pace.next(Kind::History, ms(129_500)), Next::Wait(s(130)));
    assert_eq!(pace.next(Kind::Other, ms(129_500)), Next::Ready);
}

#[test]
fn at_most_two_requests_are_pending() {
    let mut pace = Pace::new(RateLimits::PUBLISHED);
    let first = pace.sent(Kind::History, s(1));
    let _second = pace.sent(Kind::Other, s(1));
    assert_eq!(pace.next(Kind::Other, s(50)), Next::InWork);
    pace.answered(first, Reply::Served, s(50));
    assert_eq!((pace.next(Kind::Other, s(50)), pace.in_work()), (Next::Ready, 1));
}

#[test]
fn a_request_counts_until_30_seconds_after_its_response() {
    let limits = RateLimits::of_profile(&[ProfileLimit { kind: Kind::History, limit: 0, burst: 1 }]);
    let mut pace = Pace::new(limits);
    let ticket = pace.sent(Kind::History, s(1));
    assert_eq!(pace.next(Kind::History, s(20)), Next::InWork);
    pace.answered(ticket, Reply::Served, s(20));
    assert_eq!(pace.next(Kind::History, s(40)), Next::Wait(s(50)));
    assert_eq!(pace.next(Kind::History, s(50)), Next::Ready);
}

#[test]
fn after_too_many_requests_the_rate_is_halved_for_ten_minutes() {
    let mut pace = Pace::new(RateLimits::PUBLISHED);
    let (a, b) = (pace.sent(Kind::History, s(0)), pace.sent(Kind::History, s(0)));
    pace.answered(a, Reply::TooFast, s(1));
    // Both requests were pending, so this is the same event.
    pace.answered(b, Reply::TooFast, s(2));
    assert_eq!(pace.next(Kind::Other, s(2)), Next::Wait(s(31)));
    // The two refused requests count too.
    assert_eq!(sent_in(&mut pace, s(40), 30), 27);
    assert_eq!(sent_in(&mut pace, s(330), 30), 27);
    assert_eq!(sent_in(&mut pace, s(631), 30), 55);

    let ticket = pace.sent(Kind::History, s(700));
    pace.answered(ticket, Reply::TooFast, s(700));
    let again = pace.sent(Kind::History, s(740));
    pace.answered(again, Reply::TooFast, s(740));
    assert_eq!(sent_in(&mut pace, s(800), 30), 13, "a quarter");
}

#[test]
fn repeated_failures_wait_at_most_one_minute() {
    let mut pace = Pace::new(RateLimits::PUBLISHED);
    let mut now = s(10);
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        let ticket = pace.sent(Kind::History, now);
        pace.answered(ticket, Reply::Failed, now);
        assert_eq!(pace.next(Kind::History, now), Next::Wait(now + s(wait)));
        now += s(wait) + ms(1);
        assert_eq!(pace.next(Kind::History, now), Next::Ready);
    }
    let ticket = pace.sent(Kind::History, now);
    pace.answered(ticket, Reply::Served, now);
    let ticket = pace.sent(Kind::History, now);
    pace.answered(ticket, Reply::Failed, now);
    assert_eq!(pace.next(Kind::History, now), Next::Wait(now + s(1)), "an answer ends the row of failures");
}

#[test]
fn the_profile_can_lower_but_not_raise_the_limits() {
    let row = |kind, limit, burst| ProfileLimit { kind, limit, burst };
    let mut pace = Pace::new(RateLimits::of_profile(&[row(Kind::History, 1, 30), row(Kind::Other, 10, 10)]));
    assert_eq!(sent_in(&mut pace, s(0), 30), 55, "1 a second and 30 more are 60 in 30 seconds");
    let mut pace = Pace::new(RateLimits::of_profile(&[row(Kind::History, 1, 5), row(Kind::Other, 1, 1)]));
    assert_eq!(burst(&mut pace, Kind::Other, s(0)), 2);
    assert_eq!(sent_in(&mut pace, s(100), 30), 35);
    let unlimited = RateLimits::of_profile(&[row(Kind::History, -1, -1), row(Kind::Other, 0, -1)]);
    assert_eq!(unlimited, RateLimits::PUBLISHED);
}

#[test]
fn a_factor_leaves_the_rest_of_the_rate_to_other_programs() {
    let half: RateFactor = "0.5".parse().unwrap();
    let mut pace = Pace::new(RateLimits::PUBLISHED.scaled(half));
    assert_eq!(burst(&mut pace, Kind::Other, s(0)), 4);
    assert_eq!(sent_in(&mut pace, s(100), 30), 27);
    // A rate below one request per second becomes one request in ten seconds.
    let mut pace = Pace::new(RateLimits::PUBLISHED.scaled(RateFactor::new(10).unwrap()));
    assert_eq!(burst(&mut pace, Kind::Other, s(0)), 1);
    assert_eq!(pace.next(Kind::Other, s(5)), Next::Wait(ms(12_500)));

    assert_eq!((half.to_string(), RateFactor::FULL.to_string()), ("0.5".into(), "1".into()));
    for text in ["0", "1.001", "-1", "0.0001", "half", ""] {
        assert!(text.parse::<RateFactor>().is_err(), "{text}");
    }
}

#[test]
fn a_restart_does_not_reset_the_window() {
    let mut pace = Pace::new(RateLimits::PUBLISHED);
    assert_eq!(sent_in(&mut pace, s(0), 30), 55);
    let recent: Vec<Duration> = pace.recent().collect();
    let mut pace = Pace::restored(RateLimits::PUBLISHED, recent, 2, s(10));
    // Two requests may have been pending when the process ended.
    assert_eq!(sent_in(&mut pace, s(10), 20), 0);
    assert_eq!(sent_in(&mut pace, s(30), 9), 53);
}

#[test]
fn the_time_left_is_when_the_last_request_can_be_sent() {
    let mut pace = Pace::new(RateLimits::PUBLISHED);
    assert_eq!((pace.time_left(0, s(0)), pace.time_left(1, s(0))), (s(0), s(0)));
    // 8 a second.
    assert_eq!(pace.time_left(17, s(0)), s(2));
    assert_eq!(sent_in(&mut pace, s(0), 5), 40);
    // 15 more in this window, and then the slots of the first requests.
    assert_eq!(pace.time_left(16, s(5)), s(25));
    assert_eq!(pace.time_left(15 + 55, s(5)), s(30));
    assert_eq!(sent_in(&mut pace, s(5), 5), 15);
    assert_eq!(pace.time_left(1, s(10)), s(20));
    assert_eq!(pace.time_left(56, s(10)), s(50));
    pace.pause(s(100));
    assert_eq!(pace.time_left(1, s(10)), s(90));
    assert_eq!(Pace::new(RateLimits::UNLIMITED).time_left(1_000, s(0)), s(0));
}

#[test]
fn without_limits_more_requests_are_pending_and_none_is_remembered() {
    let mut pace = Pace::new(RateLimits::UNLIMITED);
    let tickets: Vec<_> = (0..4).map(|_| pace.sent(Kind::History, s(1))).collect();
    assert_eq!(pace.next(Kind::History, s(1)), Next::InWork);
    for ticket in tickets {
        pace.answered(ticket, Reply::Served, s(1));
    }
    assert_eq!(pace.next(Kind::History, s(1)), Next::Ready);
    assert_eq!(pace.recent().count(), 0);
}

#[test]
fn a_clock_set_back_does_not_reset_the_window() {
    let mut pace = Pace::new(RateLimits::PUBLISHED);
    assert_eq!(burst(&mut pace, Kind::Other, s(100)), 8);
    assert_eq!(pace.next(Kind::Other, s(50)), Next::Wait(s(101)));
}

#[test]
fn the_duration_of_a_job_follows_from_the_limits() {
    // 332 requests at 55 in 30 seconds.
    assert_eq!(RateLimits::PUBLISHED.time_for(332, 0).as_secs(), 181);
    assert_eq!(RateLimits::PUBLISHED.time_for(0, 16), s(2));
}
