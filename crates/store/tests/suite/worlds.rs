//! Tests of worlds: their rows, their movements, and their accounts.

use market::Timestamp;
use store::{
    AccountId, Accounts, AddWorldOutcome, AuditFilter, Credential, LinkOutcome, NewAccountRow, NewLink,
    NewWorldRow, WorldChange, WorldClock, WorldId, WorldLine, WorldSpan,
};

use crate::accounts::{add, note, terms};
use crate::fixture::{Home, NOW};

const SETTINGS: &str = "speed=0 skip=closed";
const SPAN: WorldSpan = WorldSpan { starts_at: NOW, ends_at: Timestamp(NOW.0 + 100) };

fn fresh() -> (Home, Accounts, AccountId) {
    let home = Home::new();
    let accounts = Accounts::open(&home, NOW).unwrap();
    let owner = add(&accounts, "ann").unwrap();
    (home, accounts, owner)
}

fn clock(state: &str, now: i64, step: u64) -> WorldClock {
    let digest = [u8::try_from(step).unwrap(); 32];
    WorldClock { state: state.to_owned(), now: Timestamp(NOW.0 + now), step, digest }
}

fn create(
    accounts: &Accounts,
    owner: AccountId,
    name: &str,
    most: u32,
) -> Result<(AccountId, AddWorldOutcome), store::StoreError> {
    let id = accounts.take_id()?;
    let row = NewAccountRow {
        name: format!("ann/{name}"),
        region: "ap".to_owned(),
        role: "user".to_owned(),
        created_at: NOW,
        terms: terms(),
        rights: Vec::new(),
    };
    let credential = credential(id, &format!("key {}", id.0), u8::try_from(100 + id.0).unwrap());
    let clock = clock("created", 0, 0);
    let WorldSpan { starts_at, ends_at } = SPAN;
    let world = NewWorldRow { owner, name, starts_at, ends_at, settings: SETTINGS, clock: &clock };
    Ok((id, accounts.add_world((id, &row, &credential), &world, most, &note(NOW))?))
}

fn credential(account: AccountId, app_key: &str, token: u8) -> Credential {
    Credential {
        app_key: app_key.to_owned(),
        account,
        app_secret: vec![1],
        token_hash: [token; 32],
        token_expires_at: Timestamp(NOW.0 + 1_000),
        created_at: NOW,
    }
}

#[test]
fn a_world_has_a_limited_number_of_keys() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    let version = accounts.version().unwrap();
    let add = |key: &str, token| accounts.add_world_key(&credential(account, key, token), 2, &note(NOW));
    assert!(add("second", 201).unwrap());
    assert!(accounts.version().unwrap() > version, "nodes read the keys again");
    assert!(!add("third", 202).unwrap());
    let keys: Vec<String> =
        accounts.credentials_of(account).unwrap().into_iter().map(|one| one.app_key).collect();
    assert_eq!(keys, [format!("key {}", account.0), "second".to_owned()]);
}

#[test]
fn a_world_is_found_by_its_account_and_its_name() {
    let (_home, accounts, owner) = fresh();
    let (account, added) = create(&accounts, owner, "march", 9).unwrap();
    assert_eq!(added, AddWorldOutcome::Added(WorldId(1)));
    let world = accounts.world_of(account).unwrap().unwrap();
    assert_eq!((world.id, world.owner, world.name.as_str()), (WorldId(1), owner, "march"));
    assert_eq!((world.starts_at, world.ends_at), (NOW, Timestamp(NOW.0 + 100)));
    assert_eq!((world.settings.as_str(), &world.clock), (SETTINGS, &clock("created", 0, 0)));
    assert_eq!(accounts.world_named(owner, "march").unwrap(), Some(world.clone()));
    assert_eq!(accounts.world_named(account, "march").unwrap(), None);
    create(&accounts, owner, "april", 9).unwrap();
    let names = |worlds: Vec<store::WorldRow>| worlds.into_iter().map(|world| world.name).collect::<Vec<_>>();
    assert_eq!(names(accounts.worlds_of(owner).unwrap()), ["march", "april"]);
    assert_eq!(names(accounts.worlds().unwrap()), ["march", "april"]);
    assert!(accounts.worlds_of(account).unwrap().is_empty());
    assert!(accounts.world_of(owner).unwrap().is_none());
    assert!(accounts.account(account).unwrap().unwrap().owner.is_some());
    assert!(accounts.account(owner).unwrap().unwrap().owner.is_none());
}

#[test]
fn names_are_unique_and_the_number_of_worlds_is_limited() {
    let (_home, accounts, owner) = fresh();
    create(&accounts, owner, "march", 2).unwrap();
    let (account, refused) = create(&accounts, owner, "march", 2).unwrap();
    assert_eq!(refused, AddWorldOutcome::NameTaken);
    assert!(accounts.account(account).unwrap().is_none(), "nothing is left of a refused world");
    add(&accounts, "ann/april").unwrap();
    assert_eq!(create(&accounts, owner, "april", 2).unwrap().1, AddWorldOutcome::NameTaken);
    assert_eq!(create(&accounts, owner, "may", 2).unwrap().1, AddWorldOutcome::Added(WorldId(2)));
    assert_eq!(create(&accounts, owner, "june", 2).unwrap().1, AddWorldOutcome::TooMany);
}

/// Moves the clock of a world, with log lines.
fn change(
    accounts: &Accounts,
    account: AccountId,
    (before, after): (&WorldClock, &WorldClock),
    cut: Option<u64>,
    lines: &[WorldLine],
) -> bool {
    let change = WorldChange { before, after, span: (SPAN, SPAN), settings: "speed=1", cut, lines };
    accounts.change_world(account, &change).unwrap()
}

fn line(number: u64, kind: &str) -> WorldLine {
    let at = Timestamp(NOW.0 + i64::try_from(number).unwrap());
    let digest = [u8::try_from(number).unwrap(); 32];
    let (entry, request) = (format!("entry {number}"), format!("request {number}"));
    WorldLine { number, at, step: number, entries: 2 * number, kind: kind.to_owned(), entry, request, digest }
}

#[test]
fn a_clock_is_moved_only_from_its_expected_position() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    let (start, first, second) = (clock("created", 0, 0), clock("paused", 10, 1), clock("paused", 20, 2));
    let version = accounts.version().unwrap();
    assert!(change(&accounts, account, (&start, &first), None, &[]));
    let lines = [line(1, "step")];
    assert!(!change(&accounts, account, (&start, &second), None, &lines), "it has moved");
    let world = accounts.world_of(account).unwrap().unwrap();
    assert_eq!((&world.clock, world.settings.as_str()), (&first, "speed=1"));
    assert_eq!(accounts.world_lines(account, 0, 9).unwrap(), [], "nothing was written");
    assert_eq!(accounts.version().unwrap(), version, "no account was changed");
    assert!(!change(&accounts, owner, (&start, &first), None, &[]));
}

#[test]
fn a_span_is_changed_only_from_its_expected_value() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    let (start, moved) = (clock("created", 0, 0), clock("created", 7, 0));
    let later = WorldSpan { starts_at: Timestamp(NOW.0 + 7), ends_at: Timestamp(NOW.0 + 70) };
    let change = |before, after, span| {
        let change = WorldChange { before, after, span, settings: SETTINGS, cut: None, lines: &[] };
        accounts.change_world(account, &change).unwrap()
    };
    assert!(!change(&start, &moved, (later, SPAN)), "it is another one");
    assert!(change(&start, &moved, (SPAN, later)));
    assert_eq!(accounts.world_of(account).unwrap().unwrap().span(), later);
    assert!(!change(&moved, &start, (SPAN, SPAN)), "another process has changed it");
    assert!(!change(&moved, &moved, (WorldSpan { ends_at: SPAN.ends_at, ..later }, later)));
    assert_eq!(accounts.world_of(account).unwrap().unwrap().clock, moved);
}

#[test]
fn the_end_of_a_world_is_recorded_once_and_removed_when_it_resumes() {
    let (_home, accounts, owner) = fresh();
    let [first, second, open] =
        ["first", "second", "open"].map(|name| create(&accounts, owner, name, 9).unwrap().0);
    let (start, ended, paused) = (clock("created", 0, 0), clock("ended", 9, 1), clock("paused", 5, 1));
    let at = |seconds: i64| Timestamp(NOW.0 + seconds);
    let ended_until = |seconds: i64| {
        let worlds = accounts.worlds_ended_until(at(seconds), 9).unwrap();
        worlds.into_iter().map(|world| world.account).collect::<Vec<_>>()
    };
    accounts.note_ended_worlds("ended", at(10)).unwrap();
    assert!(change(&accounts, first, (&start, &ended), None, &[]));
    assert_eq!(ended_until(100), [], "it is not noted yet");
    accounts.note_ended_worlds("ended", at(20)).unwrap();
    assert!(change(&accounts, second, (&start, &ended), None, &[]));
    // Later notes do not change the recorded end.
    assert!(change(&accounts, first, (&ended, &ended), None, &[line(1, "subscribed")]));
    accounts.note_ended_worlds("ended", at(30)).unwrap();
    assert_eq!(
        (ended_until(19), ended_until(20), ended_until(30)),
        (vec![], vec![first], vec![first, second])
    );
    assert_eq!(accounts.worlds_ended_until(at(30), 1).unwrap().len(), 1);
    // The world resumes, and ends again.
    assert!(change(&accounts, first, (&ended, &paused), None, &[]));
    assert!(change(&accounts, first, (&paused, &ended), None, &[]));
    accounts.note_ended_worlds("ended", at(40)).unwrap();
    assert_eq!((ended_until(39), ended_until(40)), (vec![second], vec![second, first]));
    assert!(accounts.world_of(open).unwrap().is_some_and(|world| world.clock == start));
}

#[test]
fn the_log_of_a_world_is_read_in_pages_and_cut() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    let (start, first, second) = (clock("created", 0, 0), clock("paused", 10, 1), clock("paused", 5, 1));
    let lines = [line(1, "created"), line(2, "event"), line(3, "step"), line(4, "step")];
    assert!(change(&accounts, account, (&start, &first), None, &lines));
    assert_eq!(accounts.world_lines(account, 0, 3).unwrap(), lines[..3]);
    assert_eq!(accounts.world_lines(account, 3, 3).unwrap(), lines[3..]);
    assert_eq!(accounts.world_lines(owner, 0, 3).unwrap(), []);
    assert_eq!(accounts.last_world_line(account, u64::MAX).unwrap().as_ref(), Some(&lines[3]));
    assert_eq!(accounts.last_world_line(account, 3).unwrap().as_ref(), Some(&lines[1]));
    assert_eq!(accounts.last_world_line(account, 1).unwrap(), None);
    assert_eq!(accounts.last_world_line_of(account, "step").unwrap().as_ref(), Some(&lines[3]));
    assert_eq!(accounts.last_world_line_of(account, "forked").unwrap(), None);
    assert_eq!(accounts.world_line_after(account, lines[1].at).unwrap(), Some(3));
    assert_eq!(accounts.world_line_after(account, lines[3].at).unwrap(), None);
    let again = [line(3, "reset")];
    assert!(change(&accounts, account, (&first, &second), Some(3), &again));
    let expected = [lines[0].clone(), lines[1].clone(), again[0].clone()];
    assert_eq!(accounts.world_lines(account, 0, 9).unwrap(), expected);
}

#[test]
fn the_log_of_a_world_is_copied_and_deleted() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    let (start, ended) = (clock("created", 0, 0), clock("ended", 10, 1));
    let lines = [line(1, "created"), line(2, "event"), line(3, "step")];
    assert!(change(&accounts, account, (&start, &ended), None, &lines));
    let copy = create(&accounts, owner, "april", 9).unwrap().0;
    accounts.copy_world_lines(account, copy, 3).unwrap();
    assert_eq!(accounts.world_lines(copy, 0, 9).unwrap(), lines[..2]);
    assert!(accounts.remove_world(account, &ended, &note(NOW)).unwrap());
    assert_eq!(accounts.world_lines(copy, 0, 9).unwrap(), lines[..2], "the copy still has them");
    assert!(accounts.remove_world(copy, &start, &note(NOW)).unwrap());
    for deleted in [account, copy] {
        assert_eq!(accounts.world_lines(deleted, 0, 9).unwrap(), []);
    }
}

#[test]
fn copies_of_copies_keep_their_lines_when_a_source_is_reset() {
    let (_home, accounts, owner) = fresh();
    let [first, second, third] =
        ["one", "two", "three"].map(|name| create(&accounts, owner, name, 9).unwrap().0);
    let (start, moved) = (clock("created", 0, 0), clock("paused", 10, 1));
    let lines = [line(1, "created"), line(2, "event"), line(3, "step"), line(4, "step")];
    assert!(change(&accounts, first, (&start, &moved), None, &lines));
    // The second world continues after two lines of the first one, and the third one after three
    // lines of the second one.
    accounts.copy_world_lines(first, second, 3).unwrap();
    let own = [line(3, "forked"), line(4, "event")];
    assert!(change(&accounts, second, (&start, &moved), None, &own));
    accounts.copy_world_lines(second, third, 4).unwrap();
    let of_second = [&lines[..2], &own].concat();
    let check = || {
        assert_eq!(accounts.world_lines(second, 0, 9).unwrap(), of_second);
        assert_eq!(accounts.world_lines(second, 1, 2).unwrap(), of_second[1..3]);
        assert_eq!(accounts.world_lines(third, 0, 9).unwrap(), of_second[..3]);
        assert_eq!(accounts.last_world_line(third, u64::MAX).unwrap().as_ref(), Some(&own[0]));
        assert_eq!(accounts.last_world_line(third, 3).unwrap().as_ref(), Some(&lines[1]));
        assert_eq!(accounts.last_world_line_of(third, "created").unwrap().as_ref(), Some(&lines[0]));
        assert_eq!(accounts.last_world_line_of(third, "step").unwrap(), None, "not copied");
        assert_eq!(accounts.world_line_after(third, lines[1].at).unwrap(), Some(3));
        assert_eq!(accounts.world_line_after(third, own[0].at).unwrap(), None);
    };
    check();
    // A reset of each source removes lines that the copies have.
    let again = clock("paused", 5, 1);
    assert!(change(&accounts, first, (&moved, &again), Some(2), &[]));
    assert_eq!(accounts.world_lines(first, 0, 9).unwrap(), lines[..1]);
    check();
    assert!(change(&accounts, third, (&start, &again), Some(2), &[line(2, "reset")]));
    assert_eq!(accounts.world_lines(third, 0, 9).unwrap(), [lines[0].clone(), line(2, "reset")]);
    assert_eq!(accounts.world_lines(second, 0, 9).unwrap(), of_second);
}

#[test]
fn a_line_that_is_too_long_is_refused() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    let (start, first) = (clock("created", 0, 0), clock("paused", 10, 1));
    let lines = [WorldLine { entry: "x".repeat((64 << 10) + 1), ..line(1, "event") }];
    let (before, after, span) = (&start, &first, (SPAN, SPAN));
    let change = WorldChange { before, after, span, settings: "", cut: None, lines: &lines };
    assert!(accounts.change_world(account, &change).is_err());
    assert_eq!(accounts.world_of(account).unwrap().unwrap().clock, start);
}

#[test]
fn a_deleted_world_revokes_its_account_and_frees_its_name() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    assert!(!accounts.remove_world(account, &clock("ended", 0, 0), &note(NOW)).unwrap(), "it is elsewhere");
    assert!(accounts.remove_world(account, &clock("created", 0, 0), &note(NOW)).unwrap());
    assert!(!accounts.remove_world(account, &clock("created", 0, 0), &note(NOW)).unwrap());
    let row = accounts.account(account).unwrap().unwrap();
    assert_eq!((row.name.as_str(), row.revoked_at, row.epoch), ("ann/march~w1", Some(NOW), 1));
    assert!(accounts.world_of(account).unwrap().is_none());
    let (_, added) = create(&accounts, owner, "march", 9).unwrap();
    assert_eq!(added, AddWorldOutcome::Added(WorldId(2)));
    let filter = AuditFilter { account: Some(account), limit: 9, ..AuditFilter::default() };
    let events: Vec<String> = accounts.audit(&filter).unwrap().into_iter().map(|row| row.event).collect();
    assert_eq!(events, ["world.deleted", "world.created"]);
}

#[test]
fn the_worlds_of_a_revoked_owner_are_revoked_with_it() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    let other = add(&accounts, "bob").unwrap();
    assert!(accounts.revoke(owner, &note(NOW)).unwrap());
    let revoked_at = |id| accounts.account(id).unwrap().unwrap().revoked_at;
    assert_eq!((revoked_at(owner), revoked_at(account), revoked_at(other)), (Some(NOW), Some(NOW), None));
}

#[test]
fn the_account_of_a_world_has_no_password_and_no_browser_session() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    assert!(!accounts.set_password(account, Some("hash"), &note(NOW)).unwrap());
    assert!(!accounts.has_password(account).unwrap());
    assert!(accounts.issue_password_link(account, &note(NOW)).unwrap().is_none());
    assert!(accounts.issue_password_link(owner, &note(NOW)).unwrap().is_some());
    let until = Timestamp(NOW.0 + 60);
    let link = NewLink { hash: [7; 32], account, server: "here", next: "/", expires_at: until };
    accounts.add_link(&link, &note(NOW)).unwrap();
    let outcome = accounts.redeem_link(&[7; 32], "here", (&[8; 32], until), &note(NOW)).unwrap();
    assert_eq!(outcome, LinkOutcome::Unknown);
    assert!(accounts.browser(&[8; 32], NOW).unwrap().is_none());
}
