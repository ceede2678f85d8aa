use access::{Actor, Denial, Moment, NewAccount, OTP_LIFE, Right, SESSION_LIFE_S, Slots, Terms};
use market::Timestamp;

use crate::fixture::{MOMENT, NOW, PRESENT, START, bearer, fresh};

fn terms(connections: u32) -> Terms {
    Terms { connections, ..Terms::default() }
}

#[test]
fn a_password_signs_on_once_and_its_session_resumes() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("alice", terms(3));
    let otp = access.issue_otp(&caller, START).unwrap();
    assert_eq!(access.slots(&caller).unwrap(), Slots { online: 0, limit: 3 });
    let first = access.sign_on(otp.expose(), None, MOMENT).unwrap();
    assert_eq!(first.caller, caller);
    assert_eq!(first.slots, Slots { online: 1, limit: 3 });
    assert_eq!(first.session.expires_at_ms, (NOW.0 + SESSION_LIFE_S) * 1_000);
    assert!(matches!(access.sign_on(otp.expose(), None, MOMENT), Err(Denial::TokenInvalid(_))));

    let later = Timestamp(NOW.0 + 3_600);
    let second = access.resume(first.session.id.expose(), None, later).unwrap();
    assert_eq!(second.caller, caller);
    assert_eq!(second.superseded, [first.connection.id()]);
    assert_eq!(second.slots.online, 1);
    assert_ne!(second.session.id.expose(), first.session.id.expose());
    // Either session id resumes the connection of the same client and supersedes its last
    // connection.
    let third = access.resume(first.session.id.expose(), None, later).unwrap();
    assert_eq!(third.superseded, [second.connection.id()]);
    drop((first, second));
    assert_eq!(access.slots(&caller).unwrap().online, 1);
    drop(third);
    assert_eq!(access.slots(&caller).unwrap().online, 0);
}

#[test]
fn a_session_survives_a_restart_and_expires_after_a_day() {
    let fresh = fresh();
    let caller = fresh.caller("alice", Terms::default());
    let otp = fresh.access.issue_otp(&caller, START).unwrap();
    let session = fresh.access.sign_on(otp.expose(), None, MOMENT).unwrap().session;
    let restarted = fresh.other();
    let last = Timestamp(NOW.0 + SESSION_LIFE_S - 1);
    assert_eq!(restarted.resume(session.id.expose(), None, last).unwrap().caller, caller);
    let late = restarted.resume(session.id.expose(), None, Timestamp(last.0 + 1));
    assert!(matches!(late, Err(Denial::TokenExpired(_))), "{late:?}");
    assert!(matches!(restarted.resume("mine", None, NOW), Err(Denial::TokenInvalid(_))));
}

#[test]
fn a_sign_on_without_a_free_slot_does_not_consume_the_password() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("alice", terms(1));
    let otp = |_| access.issue_otp(&caller, START).unwrap();
    let [first, second] = [0, 1].map(otp);
    let open = access.sign_on(first.expose(), None, MOMENT).unwrap();
    let taken = access.sign_on(second.expose(), None, MOMENT).unwrap_err();
    assert!(matches!(taken, Denial::ConnectionsTaken(Slots { online: 1, limit: 1 })), "{taken:?}");
    assert_eq!(
        taken.to_string(),
        "connections limitation is hit: 1 of 1 connections of this account are open: close one and try again"
    );
    // Signing on again on an open connection takes no second slot.
    let again = access.sign_on(second.expose(), Some(&open.connection), MOMENT).unwrap();
    assert_eq!(again.slots.online, 1);
    drop(open);
    assert_eq!(access.slots(&caller).unwrap().online, 1);
}

#[test]
fn an_expired_one_time_password_is_refused() {
    let fresh = fresh();
    let caller = fresh.caller("alice", Terms::default());
    let otp = fresh.access.issue_otp(&caller, START).unwrap();
    let late = Moment { uptime: START + OTP_LIFE, ..MOMENT };
    assert!(matches!(fresh.access.sign_on(otp.expose(), None, late), Err(Denial::TokenExpired(_))));
}

#[test]
fn revocation_in_any_process_ends_passwords_and_sessions() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("alice", Terms::default());
    let otps = [0, 1].map(|_| access.issue_otp(&caller, START).unwrap());
    let open = access.sign_on(otps[0].expose(), None, MOMENT).unwrap();
    fresh.other().revoke(caller.account(), &Actor::Operator, "", NOW).unwrap();
    assert!(matches!(access.sign_on(otps[1].expose(), None, MOMENT), Err(Denial::TokenInvalid(_))));
    assert!(matches!(access.resume(open.session.id.expose(), None, NOW), Err(Denial::TokenInvalid(_))));
    assert!(matches!(access.slots(&caller), Err(Denial::TokenInvalid(_))));
}

#[test]
fn changing_terms_does_not_end_sessions() {
    let fresh = fresh();
    let access = &fresh.access;
    let caller = fresh.caller("alice", terms(5));
    let otp = access.issue_otp(&caller, START).unwrap();
    let session = access.sign_on(otp.expose(), None, MOMENT).unwrap().session;
    assert!(fresh.other().change_terms(caller.account(), &terms(2), &Actor::Operator, PRESENT).unwrap());
    assert!(fresh.other().withdraw(caller.account(), Right::Us, &Actor::Operator, NOW).unwrap());
    let back = access.resume(session.id.expose(), None, NOW).unwrap();
    assert_eq!(back.slots, Slots { online: 1, limit: 2 });
}

#[test]
fn sessions_expire_with_the_api_key_token() {
    let fresh = fresh();
    let access = &fresh.access;
    let end = Timestamp(NOW.0 + SESSION_LIFE_S + 100);
    let new = NewAccount { token_expires_at: Some(end), ..NewAccount::named("alice", terms(3)) };
    let created = access.create(&new, &Actor::Operator, NOW).unwrap();
    let caller = bearer(access, created.access_token.expose()).unwrap();
    let otp = access.issue_otp(&caller, START).unwrap();
    let first = access.sign_on(otp.expose(), None, MOMENT).unwrap();
    assert_eq!(first.session.expires_at_ms, (NOW.0 + SESSION_LIFE_S) * 1_000);
    let later = Timestamp(NOW.0 + SESSION_LIFE_S - 1);
    let second = access.resume(first.session.id.expose(), None, later).unwrap();
    assert_eq!(second.session.expires_at_ms, end.0 * 1_000);
    let third = access.resume(second.session.id.expose(), None, Timestamp(end.0 - 1)).unwrap();
    for session in [&second.session, &third.session] {
        let late = access.resume(session.id.expose(), None, end);
        assert!(matches!(late, Err(Denial::TokenExpired(_))), "{late:?}");
    }
    access.slots(&third.caller).unwrap();
}
