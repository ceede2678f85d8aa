//! Tests of worlds: their rows, their movements, and the accounts that belong to them.

use market::Timestamp;
use store::{
    AccountId, Accounts, AddWorldOutcome, AuditFilter, Credential, LinkOutcome, NewAccountRow, NewLink,
    NewWorldRow, WorldClock, WorldId,
};

use crate::accounts::{add, note, terms};
use crate::fixture::{Home, NOW};

const SETTINGS: &str = "speed=0 skip=closed";

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
    let (starts_at, ends_at) = (NOW, Timestamp(NOW.0 + 100));
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
    assert!(!accounts.account(owner).unwrap().unwrap().owner.is_some());
}

#[test]
fn a_name_is_used_once_and_the_number_of_worlds_is_limited() {
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

#[test]
fn a_clock_is_moved_only_from_where_it_is() {
    let (_home, accounts, owner) = fresh();
    let account = create(&accounts, owner, "march", 9).unwrap().0;
    let (start, first, second) = (clock("created", 0, 0), clock("paused", 10, 1), clock("paused", 20, 2));
    let version = accounts.version().unwrap();
    assert!(accounts.move_world(account, &start, &first, "speed=1").unwrap());
    assert!(!accounts.move_world(account, &start, &second, "speed=1").unwrap(), "it has moved");
    let world = accounts.world_of(account).unwrap().unwrap();
    assert_eq!((&world.clock, world.settings.as_str()), (&first, "speed=1"));
    assert_eq!(accounts.version().unwrap(), version, "no account was changed");
    assert!(!accounts.move_world(owner, &start, &first, "").unwrap());
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
