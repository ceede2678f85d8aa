//! Tests of two nodes on one PostgreSQL database. Limits that a single process holds in memory
//! apply across both nodes, and each node serves for a limited time while the database is
//! unreachable.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

#[path = "../suite/fixture.rs"]
#[allow(dead_code, reason = "the other suite uses the rest of it")]
mod fixture;
#[path = "../../../store/tests/postgres/harness.rs"]
mod harness;
mod subscriptions;
#[path = "../../../store/tests/postgres/wire.rs"]
#[allow(dead_code, reason = "others use the rest of it")]
mod wire;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use access::{
    Access, AccessError, Actor, Caller, DatabaseState, Demand, Denial, Login, LoginRefused, Pace, RateLimit,
    Refusal, Repetition, Secret, SignedRequest, SlotEnding, Slots, Terms,
};
use store::StoreUrl;

use fixture::{MOMENT, NOW, START, bearer, create, sign, symbol};
use wire::{Mode, Wire};

const SECOND: Duration = Duration::from_secs(1);

/// Two nodes with the same key, each behind a proxy that can interrupt its database connections.
struct Nodes {
    one: Access,
    two: Access,
    wire_of_one: Wire,
    wire: Wire,
    _dir: tempfile::TempDir,
    place: harness::Place,
}

impl Nodes {
    fn new() -> Nodes {
        Nodes::at(harness::server().place(), "postgres")
    }

    fn at(place: harness::Place, user: &str) -> Nodes {
        let [wire_of_one, wire] = [(); 2].map(|()| Wire::to(place.server().port()));
        let dir = tempfile::tempdir().unwrap();
        let key = dir.path().join("key");
        let open = |wire: &Wire| {
            let over: StoreUrl = place.url_of(user, wire.port, "&connect_timeout=2&pool=4").parse().unwrap();
            Access::open_with_key(&over, Some(&key), NOW).unwrap().with_grace(60 * SECOND)
        };
        let (one, two) = (open(&wire_of_one), open(&wire));
        one.heartbeat("one", &[], START).unwrap();
        two.heartbeat("two", &[], START).unwrap();
        one.heartbeat("one", &[], START).unwrap();
        Nodes { one, two, wire_of_one, wire, _dir: dir, place }
    }

    /// Sends heartbeats until the second node has reconnected to the database.
    fn come_back(&self, uptime: Duration) {
        beat_until_it_is_back(&self.two, "two", uptime);
    }

    fn wires(&self) -> impl Iterator<Item = &Wire> {
        [&self.wire_of_one, &self.wire].into_iter()
    }

    fn caller(&self, name: &str, terms: Terms) -> Caller {
        let created = create(&self.one, name, terms);
        bearer(&self.one, created.access_token.expose()).unwrap()
    }
}

/// Sends heartbeats until the node has reconnected to the database.
fn beat_until_it_is_back(node: &Access, name: &str, uptime: Duration) {
    while node.heartbeat(name, &[], uptime).is_err() {
        std::thread::yield_now();
    }
}

fn at(seconds: u64) -> Duration {
    START + Duration::from_secs(seconds)
}

#[test]
fn passwords_and_sessions_are_valid_across_nodes() {
    let nodes = Nodes::new();
    let ann = nodes.caller("ann", Terms { connections: 1, ..Terms::default() });
    let otp = nodes.one.issue_otp(&ann, START).unwrap();
    let first = nodes.two.sign_on(otp.expose(), None, MOMENT).unwrap();
    assert_eq!((first.caller, first.slots), (ann, Slots { online: 1, limit: 1 }));
    for node in [&nodes.one, &nodes.two] {
        let again = node.sign_on(otp.expose(), None, MOMENT);
        assert!(matches!(again, Err(Denial::TokenInvalid(_))), "{again:?}");
        assert_eq!(node.slots(&ann).unwrap(), Slots { online: 1, limit: 1 });
    }
    // All slots are taken. The refusal does not consume the password.
    let second = nodes.one.issue_otp(&ann, START).unwrap();
    let full = nodes.one.sign_on(second.expose(), None, MOMENT);
    assert!(matches!(full, Err(Denial::ConnectionsTaken(Slots { online: 1, limit: 1 }))), "{full:?}");
    // The client resumes at the first node, and the second node closes the old connection.
    let resumed = nodes.one.resume(first.session.id.expose(), None, NOW).unwrap();
    assert_eq!((resumed.lineage, resumed.slots.online), (first.lineage, 1));
    assert!(resumed.superseded.is_empty(), "it was not here");
    let ended = nodes.two.heartbeat("two", &[], START).unwrap();
    assert_eq!(ended, [(first.connection.id(), SlotEnding::Superseded)]);
    drop((first, resumed));
    nodes.one.heartbeat("one", &[], START).unwrap();
    nodes.two.heartbeat("two", &[], START).unwrap();
    assert_eq!(nodes.two.slots(&ann).unwrap().online, 0);
    nodes.one.sign_on(second.expose(), None, MOMENT).unwrap();
}

#[test]
fn the_rate_limit_applies_across_nodes() {
    let nodes = Nodes::new();
    let ann = nodes.caller("ann", Terms::default());
    let admitted =
        (0..100).filter(|turn| [&nodes.one, &nodes.two][turn % 2].admit_rate(&ann, START).is_ok()).count();
    assert_eq!(admitted, 60);
    for node in [&nodes.one, &nodes.two] {
        let Err(Refusal::TooFast { requests: 60, seconds: 30, retry_after }) = node.admit_rate(&ann, START)
        else {
            panic!("the sixty-first");
        };
        assert!(retry_after > 20 * SECOND && retry_after <= 30 * SECOND, "{retry_after:?}");
        assert_eq!(node.allowance(&ann, START).unwrap().unwrap().remaining, 0);
    }
    // The window is by the database's clock, so the node's own clock does not matter.
    assert!(nodes.two.admit_rate(&ann, at(1)).is_err());
}

#[test]
fn rate_limits_failed_sign_ins_and_signatures_are_shared_by_both_nodes() {
    let nodes = Nodes::new();
    let limit = RateLimit { requests: 2, within: 60 * SECOND };
    let paces = [Pace::of_accounts("test", limit), Pace::of_accounts("test", limit)];
    assert_eq!(nodes.one.keep_pace(&paces[0], 7_i64, START), Ok(()));
    assert_eq!(nodes.two.keep_pace(&paces[1], 7, START), Ok(()));
    assert!(nodes.one.keep_pace(&paces[0], 7, START).is_err());
    assert_eq!(nodes.one.keep_pace(&paces[0], 8, START), Ok(()));

    let created = create(&nodes.one, "ann", Terms::default());
    let good = Secret::new("correct horse".to_owned());
    nodes.one.set_password(created.account_id, &good, &Actor::Operator, NOW).unwrap();
    let sign_in = |node: &Access, password: &str, address: [u8; 4]| {
        let password = Secret::new(password.to_owned());
        let address = IpAddr::from(address);
        node.sign_in(&Login { name: "ann", password: &password, address, device: None }, MOMENT)
    };
    for turn in 0..5 {
        let wrong = sign_in([&nodes.one, &nodes.two][turn % 2], "wrong", [192, 0, 2, 1]);
        assert!(matches!(wrong, Err(LoginRefused::Wrong)), "{wrong:?}");
    }
    for node in [&nodes.one, &nodes.two] {
        let waits = sign_in(node, "correct horse", [192, 0, 2, 1]);
        assert!(matches!(waits, Err(LoginRefused::Wait(_))), "{waits:?}");
    }
    sign_in(&nodes.two, "correct horse", [198, 51, 100, 1]).unwrap();

    let (key, token) = (created.app_key.as_str(), created.access_token.expose());
    let now = NOW.0.to_string();
    let signature = sign(token, key, created.app_secret.expose(), &now);
    let headers = [
        ("authorization", token),
        ("x-api-key", key),
        ("x-timestamp", &now),
        ("x-api-signature", &signature),
    ];
    let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let (method, path) = ("GET", "/v1/socket/token");
    let request = SignedRequest { method, path, raw_query: "", header: &header, body: b"" };
    nodes.two.identify(&request, NOW).unwrap();
    nodes.one.use_once(&request, Repetition::Never, NOW).unwrap();
    let again = nodes.two.use_once(&request, Repetition::Never, NOW);
    assert!(matches!(again, Err(Denial::SignatureInvalid(_))), "{again:?}");
}

#[test]
fn an_account_revoked_at_one_node_is_refused_at_the_other() {
    let nodes = Nodes::new();
    let ann = nodes.caller("ann", Terms::default());
    drop(nodes.two.admit_rate(&ann, START).unwrap());
    nodes.one.revoke(ann.account(), &Actor::Operator, "", NOW).unwrap();
    assert!(matches!(nodes.two.admit_rate(&ann, START), Err(Refusal::Revoked)));
}

/// Requests the history of a security, including the charge.
fn ask(node: &Access, caller: &Caller, of: &str, uptime: Duration) -> Result<(), Refusal> {
    let ticket = node.admit_rate(caller, uptime)?;
    let permit = node.admit(Demand::History { ticket, symbol: &symbol(of) }, NOW)?;
    node.spend(permit, NOW)
}

#[test]
fn an_offline_node_serves_paid_securities_within_its_share() {
    let nodes = Nodes::new();
    let created = create(&nodes.one, "ann", Terms::default());
    let token = created.access_token.expose();
    let ann = bearer(&nodes.two, token).unwrap();
    let stranger = nodes.caller("bob", Terms::default());
    ask(&nodes.two, &ann, "700.HK", START).unwrap();
    let otp = nodes.two.issue_otp(&ann, START).unwrap();
    let open = nodes.two.sign_on(otp.expose(), None, MOMENT).unwrap();

    nodes.wire.set(Mode::Refuse);
    // The outage is detected by the first request and by the heartbeat.
    ask(&nodes.two, &ann, "700.HK", at(1)).unwrap();
    assert!(nodes.two.heartbeat("two", &[], at(1)).is_err());
    assert!(matches!(nodes.two.reached(at(3)), DatabaseState::Away(_)));
    let served = (0..100).filter(|_| ask(&nodes.two, &ann, "700.HK", at(3)).is_ok()).count();
    assert_eq!(served, 28, "half of sixty, with two before");
    assert!(matches!(nodes.two.admit_rate(&ann, at(3)), Err(Refusal::TooFast { .. })));
    // A new security cannot be charged.
    let new = ask(&nodes.two, &ann, "5.HK", at(40));
    assert!(matches!(new, Err(Refusal::Unchargeable)), "{new:?}");
    assert!(new.unwrap_err().to_string().contains("nothing was charged"));
    // A caller that is not in the cache cannot be authenticated. A cached caller is authenticated
    // by its token and can resume its session.
    assert!(
        matches!(nodes.two.admit_rate(&stranger, at(41)), Err(Refusal::Failed(error)) if error.is_unreachable())
    );
    assert_eq!(bearer(&nodes.two, token).unwrap(), ann);
    assert!(matches!(bearer(&nodes.two, "unknown"), Err(Denial::Failed(_))));
    let resumed = nodes.two.resume(open.session.id.expose(), None, NOW).unwrap();
    assert_eq!(resumed.caller, ann);
    assert!(matches!(nodes.two.sign_on("o_unknown", None, MOMENT), Err(Denial::Failed(_))));
    // The other node is unaffected.
    ask(&nodes.one, &ann, "9988.HK", START).unwrap();
    assert_eq!(nodes.one.reached(START), DatabaseState::Yes);

    // The offline window is over.
    nodes.two.heartbeat("two", &[], at(61)).unwrap_err();
    assert!(matches!(nodes.two.reached(at(61)), DatabaseState::Lost(_)));
    let late = ask(&nodes.two, &ann, "700.HK", at(100));
    assert!(matches!(late, Err(Refusal::Failed(AccessError::Lost))), "{late:?}");

    nodes.wire.set(Mode::Pass);
    nodes.come_back(at(101));
    assert_eq!(nodes.two.reached(at(101)), DatabaseState::Settling, "its admissions are missing there");
    nodes.two.heartbeat("two", &[], at(130)).unwrap();
    assert_eq!(nodes.two.reached(at(130)), DatabaseState::Settling);
    nodes.two.heartbeat("two", &[], at(131)).unwrap();
    assert_eq!(nodes.two.reached(at(131)), DatabaseState::Yes);
    ask(&nodes.two, &ann, "5.HK", at(101)).unwrap();
    let charged = nodes.one.charged(ann.account(), NOW).unwrap();
    let mut charged: Vec<String> = charged.iter().map(|(of, _)| of.to_string()).collect();
    charged.sort_unstable();
    assert_eq!(charged, ["5.HK", "700.HK", "9988.HK"], "each once, and none for nothing");
    // The connection with a local slot is now counted in the database, in addition to the
    // connection that it superseded during the outage.
    assert_eq!(nodes.one.slots(&ann).unwrap().online, 2);
    drop((open, resumed));
    nodes.two.heartbeat("two", &[], at(102)).unwrap();
    assert_eq!(nodes.one.slots(&ann).unwrap().online, 0);
}

#[test]
fn a_silent_database_delays_cached_answers_by_at_most_a_second() {
    let nodes = Nodes::new();
    let created = create(&nodes.one, "ann", Terms::default());
    let ann = bearer(&nodes.two, created.access_token.expose()).unwrap();
    ask(&nodes.two, &ann, "700.HK", START).unwrap();
    let pace = Pace::of_accounts("test", RateLimit { requests: 2, within: SECOND });
    // The statement was sent but not answered, so this node decides.
    nodes.wire.set(Mode::Silent);
    assert_eq!(nodes.two.keep_pace(&pace, 1, at(1)), Ok(()));
    assert!(matches!(nodes.two.reached(at(1)), DatabaseState::Away(_)), "it was noticed");
    // Later requests do not wait for the database.
    ask(&nodes.two, &ann, "700.HK", at(1)).unwrap();

    // A failed probe also marks the database as unreachable.
    nodes.wire_of_one.set(Mode::Silent);
    let silent = nodes.one.probe().unwrap_err();
    assert!(silent.is_unreachable() && silent.to_string().contains("no answer within 1 s"), "{silent}");
    assert!(matches!(nodes.one.reached(at(1)), DatabaseState::Away(_)));

    nodes.wires().for_each(|wire| wire.set(Mode::Pass));
    beat_until_it_is_back(&nodes.one, "one", at(2));
    nodes.come_back(at(2));
    nodes.two.probe().unwrap();
    ask(&nodes.two, &ann, "5.HK", at(2)).unwrap();
}

#[test]
fn a_node_enforces_its_share_if_the_database_fails_to_count() {
    let nodes = Nodes::new();
    let pace = Pace::of_accounts("test", RateLimit { requests: 4, within: 60 * SECOND });
    nodes.place.sql("accounts", "alter table pace rename to no_pace");
    let admitted = (0..10).filter(|_| nodes.two.keep_pace(&pace, 1, START).is_ok()).count();
    assert_eq!(nodes.two.reached(START), DatabaseState::Yes, "it answers, and is not away");
    assert_eq!(admitted, 2, "half of four");
}

#[test]
fn a_cached_answer_needs_no_pooled_connection() {
    let nodes = Nodes::new();
    let created = create(&nodes.one, "ann", Terms::default());
    let ann = bearer(&nodes.two, created.access_token.expose()).unwrap();
    ask(&nodes.two, &ann, "700.HK", START).unwrap();
    let (place, is_done) = (&nodes.place, AtomicBool::new(false));
    let schema = place.schema("accounts");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let held = format!("begin; lock table {schema}.credential; select pg_sleep(60)");
            place.database_sql(&held).unwrap_err()
        });
        // A statement waits for the lock for at most four seconds, so each thread keeps sending
        // statements.
        for _ in 0..8 {
            scope.spawn(|| {
                while !is_done.load(Ordering::Acquire) {
                    bearer(&nodes.two, "unknown").ok();
                }
            });
        }
        let waiting = format!(
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and pid in \
             (select pid from pg_locks where relation = '{schema}.credential'::regclass)"
        );
        while place.database_sql(&waiting).unwrap() != "4" {
            std::thread::yield_now();
        }
        let answered = ask(&nodes.two, &ann, "700.HK", at(1));
        let state = nodes.two.reached(at(1));
        is_done.store(true, Ordering::Release);
        let release = format!(
            "select pg_terminate_backend(pid) from pg_locks where mode = 'AccessExclusiveLock' \
             and relation = '{schema}.credential'::regclass"
        );
        place.database_sql(&release).unwrap();
        assert!(answered.is_ok(), "{answered:?}");
        assert_eq!(state, DatabaseState::Yes, "it is busy, and not away");
    });
}

#[test]
fn revoked_credentials_stay_invalid_while_the_database_is_unreachable() {
    let nodes = Nodes::new();
    let token = |name: &str| create(&nodes.one, name, Terms::default()).access_token.expose().to_owned();
    let (ann, bob, eve) = (token("ann"), token("bob"), token("eve"));
    let [known, left, revoked] = [&ann, &bob, &eve].map(|token| bearer(&nodes.two, token).unwrap());
    for caller in [&known, &left, &revoked] {
        ask(&nodes.two, caller, "700.HK", START).unwrap();
    }
    nodes.one.revoke(revoked.account(), &Actor::Operator, "", NOW).unwrap();
    // The revoked caller does not contact the second node before the database becomes unreachable,
    // so only the heartbeat reports the revocation.
    nodes.two.heartbeat("two", &[], at(1)).unwrap();
    nodes.wire.set(Mode::Refuse);
    nodes.two.heartbeat("two", &[], at(2)).unwrap_err();
    ask(&nodes.two, &known, "700.HK", at(3)).unwrap();
    assert_eq!(bearer(&nodes.two, &bob).unwrap(), left, "nothing was taken from them");
    assert!(bearer(&nodes.two, &eve).is_err());
    assert!(ask(&nodes.two, &revoked, "700.HK", at(3)).is_err());
}

/// Returns how many of a hundred requests at one instant a node admits.
fn admitted(node: &Access, caller: &Caller, uptime: Duration) -> usize {
    (0..100).filter(|_| node.admit_rate(caller, uptime).is_ok()).count()
}

#[test]
fn after_an_outage_the_nodes_together_admit_only_the_limit() {
    let nodes = Nodes::new();
    let ann = nodes.caller("ann", Terms::default());
    for node in [&nodes.one, &nodes.two] {
        assert!(node.admit_rate(&ann, START).is_ok());
    }
    nodes.wires().for_each(|wire| wire.set(Mode::Refuse));
    assert_eq!(admitted(&nodes.one, &ann, START), 29);
    assert_eq!(admitted(&nodes.two, &ann, START), 29);
    // Simulates an outage so long that the rows of both nodes have expired.
    nodes.place.sql("accounts", "update node set seen_us = seen_us - 20000000");
    nodes.wires().for_each(|wire| wire.set(Mode::Pass));
    beat_until_it_is_back(&nodes.one, "one", at(1));
    assert_eq!(nodes.one.reached(at(1)), DatabaseState::Settling);
    assert_eq!(admitted(&nodes.one, &ann, at(1)), 0, "its share is half, whoever has come back");
    assert_eq!(nodes.one.allowance(&ann, at(1)).unwrap().unwrap().remaining, 0);
    nodes.come_back(at(2));
    for (node, name) in [(&nodes.one, "one"), (&nodes.two, "two")] {
        node.heartbeat(name, &[], at(4)).unwrap();
        assert_eq!(admitted(node, &ann, at(4)), 0, "sixty were admitted in this window");
    }
    // One window later these requests have expired locally, and only the database's limit applies.
    // By its own clock, the database still counts the two requests from before the outage.
    for (node, name, left) in [(&nodes.one, "one", 58), (&nodes.two, "two", 0)] {
        node.heartbeat(name, &[], at(34)).unwrap();
        assert_eq!(node.reached(at(34)), DatabaseState::Yes);
        assert_eq!(admitted(node, &ann, at(34)), left);
    }
}

#[test]
fn after_recovery_a_request_must_pass_the_database_limit() {
    let nodes = Nodes::new();
    let ann = nodes.caller("ann", Terms::default());
    ask(&nodes.two, &ann, "700.HK", START).unwrap();
    nodes.wire.set(Mode::Refuse);
    let served = (0..60).filter(|_| ask(&nodes.two, &ann, "700.HK", START).is_ok()).count();
    assert_eq!(served, 29);
    nodes.wire.set(Mode::Pass);
    nodes.come_back(START);
    // The node that was disconnected has used its share. The other node was unaffected, and the
    // database has counted one request from before the outage.
    assert_eq!(admitted(&nodes.two, &ann, at(29)), 0);
    assert_eq!(admitted(&nodes.one, &ann, START), 59);
    // A request must pass both limits, and the database's limit is used up.
    assert_eq!(admitted(&nodes.two, &ann, at(30)), 0);
}

#[test]
fn in_the_window_after_an_outage_both_limits_apply() {
    let nodes = Nodes::new();
    let ann = nodes.caller("ann", Terms::default());
    nodes.wires().for_each(|wire| wire.set(Mode::Refuse));
    // Heartbeats detect the outage, and no request is sent during the outage.
    for (node, name) in [(&nodes.one, "one"), (&nodes.two, "two")] {
        node.heartbeat(name, &[], START).unwrap_err();
    }
    nodes.wires().for_each(|wire| wire.set(Mode::Pass));
    beat_until_it_is_back(&nodes.one, "one", at(1));
    nodes.come_back(at(1));
    assert_eq!(admitted(&nodes.one, &ann, at(1)), 30);
    assert_eq!(nodes.one.allowance(&ann, at(1)).unwrap().unwrap().remaining, 0);
    assert_eq!(admitted(&nodes.two, &ann, at(1)), 30);
    // One window later only the database's limit applies, and the database has counted all
    // requests.
    assert_eq!(admitted(&nodes.two, &ann, at(31)), 0);
    nodes.place.sql("accounts", "update rate_window set times = decode('', 'hex')");
    assert_eq!(admitted(&nodes.one, &ann, at(31)), 60);
}

#[test]
fn a_crashed_server_does_not_lift_the_rate_limit() {
    let nodes = Nodes::new();
    let (ann, bob) = (nodes.caller("ann", Terms::default()), nodes.caller("bob", Terms::default()));
    for node in [&nodes.one, &nodes.two] {
        assert!((0..10).all(|_| node.admit_rate(&ann, START).is_ok()));
    }
    assert_eq!(admitted(&nodes.two, &bob, START), 60);
    // Simulates a killed server process or a failover to a standby, after which all connections are
    // broken.
    nodes.place.sql("accounts", "update rate_window set times = decode('', 'hex')");
    nodes.wires().for_each(Wire::reset);
    assert!(nodes.two.admit_rate(&bob, at(1)).is_err(), "it has admitted sixty itself");
    assert_eq!(admitted(&nodes.two, &ann, at(1)), 20, "half of sixty, with ten before");
    assert_ne!(nodes.two.reached(at(1)), DatabaseState::Yes);
    nodes.come_back(at(1));
    assert_eq!(nodes.two.reached(at(1)), DatabaseState::Settling);
    assert_eq!(admitted(&nodes.one, &ann, at(1)), 20);
    beat_until_it_is_back(&nodes.one, "one", at(2));
    nodes.two.heartbeat("two", &[], at(4)).unwrap();
    assert_eq!(nodes.two.reached(at(4)), DatabaseState::Settling);
    assert_eq!(admitted(&nodes.two, &ann, at(4)), 0, "all sixty were admitted");
    assert_eq!(admitted(&nodes.one, &ann, at(4)), 0);
}
