//! Worlds: accounts with a market clock of their own. The store does not interpret states and
//! settings; `access` creates the accounts, and the server moves the clocks.

use market::Timestamp;

use super::changes::{WriteLock, count_change};
use super::{
    Accounts, AuditNote, Credential, NewAccountRow, audit, check_texts, insert, insert_credential, take,
};
use crate::StoreError;
use crate::engine::{Db, Fault, Row, natural, signed, small};
use crate::ids::{AccountId, Hash, WorldId};

/// A world to be added with its account.
#[derive(Clone, Copy, Debug)]
pub struct NewWorldRow<'a> {
    pub owner: AccountId,
    /// Unique among the worlds of the owner.
    pub name: &'a str,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    pub settings: &'a str,
    pub clock: &'a WorldClock,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldRow {
    pub id: WorldId,
    pub account: AccountId,
    pub owner: AccountId,
    pub name: String,
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
    pub settings: String,
    pub clock: WorldClock,
    pub created_at: Timestamp,
}

/// The part of a world that its movements change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldClock {
    pub state: String,
    pub now: Timestamp,
    /// Number of the last step, or 0 before the first one.
    pub step: u64,
    pub digest: Hash,
}

/// Result of adding a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddWorldOutcome {
    Added(WorldId),
    /// The owner has a world or an account with this name.
    NameTaken,
    /// The store has as many worlds as it may have. Nothing was added.
    TooMany,
}

impl Accounts {
    /// Adds a world with its account, its rights and its credential, unless there are `most` worlds
    /// already.
    pub fn add_world(
        &self,
        account: (AccountId, &NewAccountRow, &Credential),
        world: &NewWorldRow<'_>,
        most: u32,
        note: &AuditNote<'_>,
    ) -> Result<AddWorldOutcome, StoreError> {
        let (id, row, credential) = account;
        if credential.account != id {
            return Err(StoreError::unfit("a world", "its credential belongs to another account"));
        }
        let NewWorldRow { owner, name, starts_at, ends_at, settings, clock } = *world;
        row.check()?;
        check_texts(name, &[name, settings, &clock.state])?;
        let added = self.change(|db| {
            if db.one(sql::COUNT, [], |row| small(row, 0))? >= most {
                return Ok(AddWorldOutcome::TooMany);
            }
            insert(db, id, row, credential)?;
            let number = take(db, "world")?;
            let added = db.run(
                sql::ADD,
                (
                    id.0,
                    number,
                    owner.0,
                    name,
                    &clock.state,
                    starts_at.0,
                    ends_at.0,
                    clock.now.0,
                    signed(clock.step),
                    settings,
                    clock.digest.as_slice(),
                    row.created_at.0,
                ),
            )?;
            if added == 0 {
                return Err(StoreError::Taken { name: row.name.clone() });
            }
            audit::write(db, Some(id), "world.created", note)?;
            count_change(db, &[])?;
            Ok(AddWorldOutcome::Added(WorldId(number)))
        });
        match added {
            // An error rolls the account back.
            Err(StoreError::Taken { .. }) => Ok(AddWorldOutcome::NameTaken),
            added => added,
        }
    }

    /// Adds a credential to the account of a world, unless it has `most` already. Returns whether the
    /// credential was added.
    pub fn add_world_key(
        &self,
        credential: &Credential,
        most: u32,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        self.change(|db| {
            if db.one(sql::COUNT_KEYS, [credential.account.0], |row| small(row, 0))? >= most {
                return Ok(false);
            }
            insert_credential(db, credential)?;
            audit::write(db, Some(credential.account), "world.key_created", note)?;
            count_change(db, &[credential.account])?;
            Ok(true)
        })
    }

    /// Returns the world of an account, or `None` if the account has none.
    pub fn world_of(&self, account: AccountId) -> Result<Option<WorldRow>, StoreError> {
        self.read().first(sql::OF_ACCOUNT, [account.0], WorldRow::read)
    }

    /// Returns the world that an owner calls `name`.
    pub fn world_named(&self, owner: AccountId, name: &str) -> Result<Option<WorldRow>, StoreError> {
        self.read().first(sql::NAMED, (owner.0, name), WorldRow::read)
    }

    /// Returns the worlds of an owner, oldest first.
    pub fn worlds_of(&self, owner: AccountId) -> Result<Vec<WorldRow>, StoreError> {
        self.read().all(sql::OF_OWNER, [owner.0], WorldRow::read)
    }

    /// Returns all worlds, oldest first.
    pub fn worlds(&self) -> Result<Vec<WorldRow>, StoreError> {
        self.read().all(sql::ALL, [], WorldRow::read)
    }

    /// Stores a movement of a world's clock, together with its settings. Returns `false` and changes
    /// nothing if the clock is no longer `before`, because another process has moved it.
    ///
    /// Not an account change: no cached account depends on it, and it happens a thousand times a
    /// second.
    pub fn move_world(
        &self,
        account: AccountId,
        before: &WorldClock,
        after: &WorldClock,
        settings: &str,
    ) -> Result<bool, StoreError> {
        check_texts("a world", &[&after.state, settings])?;
        self.within(WriteLock::Of(&[account]), |db| {
            let values = (
                &after.state,
                after.now.0,
                signed(after.step),
                settings,
                after.digest.as_slice(),
                account.0,
                &before.state,
                before.now.0,
                signed(before.step),
                before.digest.as_slice(),
            );
            Ok(db.run(sql::MOVE, values)? > 0)
        })
    }

    /// Deletes a world that is still at `clock`, and revokes its account. The account gets another
    /// name, so that its owner can use the name again. Returns whether the world was deleted.
    pub fn remove_world(
        &self,
        account: AccountId,
        clock: &WorldClock,
        note: &AuditNote<'_>,
    ) -> Result<bool, StoreError> {
        self.change(|db| {
            let world = db.first(sql::OF_ACCOUNT, [account.0], WorldRow::read)?;
            let Some(world) = world.filter(|world| world.clock == *clock) else { return Ok(false) };
            db.run(sql::REMOVE, [account.0])?;
            retire(db, account, world.id, note)?;
            Ok(true)
        })
    }
}

fn retire(db: &Db, account: AccountId, world: WorldId, note: &AuditNote<'_>) -> Result<(), StoreError> {
    db.run(sql::RETIRE, (note.at.0, format!("~w{}", world.0), account.0))?;
    audit::write(db, Some(account), "world.deleted", note)?;
    count_change(db, &[account])
}

impl WorldRow {
    fn read(row: &Row<'_>) -> Result<WorldRow, Fault> {
        let digest: Vec<u8> = row.get(10)?;
        let clock = WorldClock {
            state: row.get(4)?,
            now: Timestamp(row.get(7)?),
            step: natural(row, 8)?,
            digest: digest.try_into().map_err(|_| Fault::value("digest", "another length"))?,
        };
        Ok(WorldRow {
            account: AccountId(row.get(0)?),
            id: WorldId(row.get(1)?),
            owner: AccountId(row.get(2)?),
            name: row.get(3)?,
            starts_at: Timestamp(row.get(5)?),
            ends_at: Timestamp(row.get(6)?),
            settings: row.get(9)?,
            created_at: Timestamp(row.get(11)?),
            clock,
        })
    }
}

mod sql {
    use crate::engine::statements::statements;

    macro_rules! select_world {
        ($rest:literal) => {
            concat!(
                "select account_id, id, owner_id, name, state, starts_at, ends_at, now_at, step, settings, digest, \
                 created_at from sealed_world ",
                $rest
            )
        };
    }

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        COUNT: "count the worlds", "select count(*) from sealed_world";
        ADD: "add a world",
            "insert into world (account_id, id, owner_id, name, state, starts_at, ends_at, now_at, step, settings, \
             digest, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) \
             on conflict (owner_id, name) do nothing";
        COUNT_KEYS: "count the keys of a world",
            "select count(*) from sealed_credential where account_id = $1";
        OF_ACCOUNT: "read a world", select_world!("where account_id = $1");
        NAMED: "find a world", select_world!("where owner_id = $1 and name = $2");
        OF_OWNER: "list the worlds of an account", select_world!("where owner_id = $1 order by id");
        ALL: "list the worlds", select_world!("order by id");
        MOVE: "move a world",
            "update world set state = $1, now_at = $2, step = $3, settings = $4, digest = $5 \
             where account_id = $6 and state = $7 and now_at = $8 and step = $9 and digest = $10";
        REMOVE: "delete a world", "delete from world where account_id = $1";
        RETIRE: "retire the account of a world",
            "update account set revoked_at = $1, epoch = epoch + 1, name = name || $2 where id = $3";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn finding_a_world_uses_its_indexes() {
            crate::engine::statements::follow_the_keys(
                crate::engine::migrations::ACCOUNTS,
                &[COUNT_KEYS, OF_ACCOUNT, NAMED, OF_OWNER],
            );
        }
    }
}
