use std::sync::atomic::{AtomicUsize, Ordering};

use access::Grant;

use super::*;

const PAIR: [Option<Region>; 2] = [Some(Region::Ap), Some(Region::Us)];

#[test]
fn an_approved_device_gets_tokens_for_the_region_of_the_account() {
    let house = house();
    for (account, prefix) in [(house.ap, "ap_"), (house.us, "us_")] {
        let device = house.start();
        assert_eq!(error(house.poll(&device, None, MOMENT)), "authorization_pending");
        let shown = house.access().pending_device(device.user_code.expose(), NOW).unwrap().unwrap();
        assert_eq!((shown.client.name.as_str(), shown.scope.as_str()), ("ana@lab", "openapi"));
        assert_eq!(shown.user_code, device.user_code.expose());
        assert_eq!((shown.created_at, shown.expires_at), (NOW, Timestamp(NOW.0 + 600)));
        house.approve(&device, account);
        let tokens = house.poll(&device, None, later(5)).unwrap();
        let caller = crate::fixture::bearer(house.access(), tokens.access_token.expose()).unwrap();
        assert_eq!(caller.account(), account);
        assert!(caller.is_oauth());
        assert!(tokens.access_token.expose().starts_with(prefix));
        assert!(tokens.refresh_token.expose().starts_with(&format!("{prefix}rt_")));
        assert_eq!((tokens.expires_in, tokens.scope.as_str()), (2_592_000, "openapi"));
    }
    assert_eq!((house.audited("device.approved"), house.audited("tokens.issued")), (2, 2));
}

#[test]
fn a_user_code_is_accepted_in_any_case_and_spacing() {
    let house = house();
    let device = house.start();
    let code = device.user_code.expose();
    for typed in [code.to_lowercase(), code.replace('-', ""), format!(" {} ", code.replace('-', " "))] {
        assert!(house.access().pending_device(&typed, NOW).unwrap().is_some(), "{typed:?}");
    }
    assert!(house.access().decide_device(&code.to_lowercase(), house.ap, true, NOW).unwrap());
}

#[test]
fn unknown_expired_and_decided_user_codes_get_the_same_answer() {
    let house = house();
    let (late, decided) = (house.start(), house.start());
    assert!(house.access().decide_device(decided.user_code.expose(), house.ap, false, NOW).unwrap());
    let end = Timestamp(NOW.0 + 600);
    for (code, now) in [
        ("BCDF-GHJK", NOW),
        ("", NOW),
        ("AEIO-UAEI", NOW),
        (late.user_code.expose(), end),
        (decided.user_code.expose(), NOW),
    ] {
        assert_eq!(house.access().pending_device(code, now).unwrap(), None);
        assert!(!house.access().decide_device(code, house.ap, true, now).unwrap());
    }
    assert_eq!(error(house.poll(&decided, None, MOMENT)), "access_denied");
    assert_eq!((house.audited("device.approved"), house.audited("device.denied")), (0, 1));
}

#[test]
fn denied_and_expired_devices_get_distinct_errors() {
    let house = house();
    let (denied, late) = (house.start(), house.start());
    house.access().decide_device(denied.user_code.expose(), house.ap, false, NOW).unwrap();
    for poller in PAIR {
        assert_eq!(error(house.poll(&denied, poller, later(5))), "access_denied");
        assert_eq!(error(house.poll(&late, poller, later(599))), "authorization_pending");
        assert_eq!(error(house.poll(&late, poller, later(600))), "expired_token");
        assert_eq!(error(house.poll(&denied, poller, later(600))), "expired_token");
    }
    // Approval does not prevent a code from expiring.
    let slow = house.start();
    house.approve(&slow, house.ap);
    assert_eq!(error(house.poll(&slow, None, later(600))), "expired_token");
}

#[test]
fn each_poller_has_its_own_interval() {
    let house = house();
    let device = house.start();
    for poller in PAIR {
        assert_eq!(error(house.poll(&device, poller, later(5))), "authorization_pending");
    }
    for poller in PAIR {
        assert_eq!(error(house.poll(&device, poller, later(10))), "authorization_pending");
    }
    assert_eq!(error(house.poll(&device, PAIR[0], later(11))), "slow_down");
    assert_eq!(error(house.poll(&device, PAIR[1], later(15))), "authorization_pending");
    assert_eq!(error(house.poll(&device, PAIR[0], later(16))), "slow_down", "ten seconds from now on");
    assert_eq!(error(house.poll(&device, PAIR[0], later(31))), "authorization_pending");
    // An approved device gets its tokens regardless of its polling interval.
    house.approve(&device, house.ap);
    house.poll(&device, PAIR[0], later(32)).unwrap();
}

#[test]
fn after_redemption_the_other_poller_stays_pending() {
    let house = house();
    let device = house.start();
    house.approve(&device, house.us);
    house.poll(&device, PAIR[0], later(5)).unwrap();
    for seconds in [5, 10, 15, 595] {
        assert_eq!(error(house.poll(&device, PAIR[1], later(seconds))), "authorization_pending");
    }
    assert_eq!(error(house.poll(&device, PAIR[0], later(10))), "invalid_grant");
    assert_eq!(error(house.poll(&device, PAIR[1], later(600))), "expired_token");
    assert_eq!(house.audited("tokens.issued"), 1);
}

#[test]
fn one_of_several_concurrent_polls_gets_tokens() {
    let house = house();
    let device = house.start();
    house.approve(&device, house.ap);
    let (issued, waiting, refused) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for number in 0..32 {
            let (house, device, issued, waiting, refused) = (&house, &device, &issued, &waiting, &refused);
            scope.spawn(move || {
                let count = match house.poll(device, PAIR[number % 2], later(5)) {
                    Ok(_) => issued,
                    Err(OAuthError::AuthorizationPending | OAuthError::SlowDown) => waiting,
                    Err(OAuthError::InvalidGrant(_)) => refused,
                    Err(other) => panic!("{other:?}"),
                };
                count.fetch_add(1, Ordering::Relaxed);
            });
        }
    });
    let [issued, waiting, refused] = [issued, waiting, refused].map(AtomicUsize::into_inner);
    assert_eq!((issued, waiting, refused), (1, 16, 15));
    assert_eq!(house.access().sign_ins(house.ap, NOW).unwrap().len(), 1);
}

#[test]
fn a_device_code_is_bound_to_its_client() {
    let house = house();
    let other = register(house.access(), &usual());
    let device = house.start();
    house.approve(&device, house.ap);
    let grant = Grant::Device { device_code: device.device_code.expose(), poller: None };
    assert_eq!(error(house.access().redeem(&credentials(&other), &grant, None, MOMENT)), "invalid_grant");
    for wrong in ["", "dc_unknown", device.user_code.expose(), &"x".repeat(10_000)] {
        let grant = Grant::Device { device_code: wrong, poller: None };
        assert_eq!(error(house.access().redeem(&house.credentials(), &grant, None, MOMENT)), "invalid_grant");
    }
    house.poll(&device, None, MOMENT).unwrap();
}

#[test]
fn a_device_stays_pending_at_a_listener_of_another_region() {
    let house = house();
    let device = house.start();
    house.approve(&device, house.us);
    assert_eq!(error(house.poll_at(&device, PAIR[0], Some(Region::Ap), later(5))), "authorization_pending");
    assert_eq!(error(house.poll_at(&device, PAIR[0], Some(Region::Ap), later(6))), "slow_down");
    house.poll_at(&device, PAIR[1], Some(Region::Us), later(6)).unwrap();
}

#[test]
fn a_device_of_a_revoked_account_gets_no_tokens() {
    let house = house();
    let device = house.start();
    house.approve(&device, house.ap);
    house.access().revoke(house.ap, &Actor::Operator, "", NOW).unwrap();
    assert_eq!(error(house.poll(&device, None, MOMENT)), "access_denied");
    let another = house.start();
    assert!(!house.access().decide_device(another.user_code.expose(), house.ap, true, NOW).unwrap());
}

#[test]
fn unknown_scopes_are_refused() {
    let house = house();
    let start = |scope: &str| house.access().start_device(&house.credentials(), scope, HERE, MOMENT);
    for scope in ["", "openapi", "3", "openapi 3", " "] {
        start(scope).unwrap();
    }
    for scope in ["openid", "openapi trade", "OPENAPI", "33"] {
        assert_eq!(error(start(scope)), "invalid_scope", "{scope:?}");
    }
}

#[test]
fn pending_devices_are_limited_by_client_and_address() {
    let house = house();
    let start = |last: u8, seconds| {
        let from = IpAddr::from([192, 0, 2, last]);
        house.access().start_device(&house.credentials(), "", from, later(seconds))
    };
    for _ in 0..60 {
        start(1, 0).unwrap();
    }
    assert_eq!(error(start(1, 0)), "temporarily_unavailable");
    for _ in 60..100 {
        start(2, 0).unwrap();
    }
    assert_eq!(error(start(2, 0)), "temporarily_unavailable");
    // Expired devices are no longer counted as pending.
    start(3, 600).unwrap();
}

#[test]
fn decided_devices_do_not_count_as_pending() {
    let house = house();
    let start = |number: u8| {
        let from = IpAddr::from([192, 0, 2, number / 50]);
        house.access().start_device(&house.credentials(), "", from, MOMENT)
    };
    for number in 0..100 {
        let device = start(number).unwrap();
        let approve = number % 2 == 0;
        let code = device.user_code.expose();
        assert!(house.access().decide_device_by(code, house.ap, approve, &Actor::Operator, NOW).unwrap());
    }
    for number in 100..200 {
        start(number).unwrap();
    }
    assert_eq!(error(start(200)), "temporarily_unavailable");
}

#[test]
fn the_oldest_device_is_evicted_once_it_has_waited_a_minute() {
    let house = house();
    let start = |last: u8, seconds| {
        let from = IpAddr::from([192, 0, 2, last]);
        house.access().start_device(&house.credentials(), "", from, later(seconds))
    };
    let oldest = start(1, 0).unwrap();
    let second = start(1, 1).unwrap();
    for number in 2..100 {
        start(number / 50, 1).unwrap();
    }
    let waits = |device: &DeviceStart| {
        house.access().pending_device(device.user_code.expose(), later(61).now).unwrap().is_some()
    };
    assert_eq!(error(start(9, 60)), "temporarily_unavailable", "somebody may just be typing its code");
    assert!(waits(&oldest));
    let new = start(9, 61).unwrap();
    assert_eq!((waits(&oldest), waits(&second), waits(&new)), (false, true, true));
    assert_eq!(error(start(9, 61)), "temporarily_unavailable");
    // The limit applies per client, so devices of other clients are unaffected.
    let other = register(house.access(), &usual());
    house.access().start_device(&credentials(&other), "", HERE, later(61)).unwrap();
}
