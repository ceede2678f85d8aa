//! Worlds: accounts with their own market clocks. The store does not interpret states and settings;
//! `access` creates the accounts, and the server moves the clocks.

use market::Timestamp;

use super::changes::{WriteLock, count_change};
use super::copied_parts::{self, Numbered, PartKind};
use super::{
    Accounts, AuditNote, Credential, NewAccountRow, audit, check_texts, insert, insert_credential, take,
};
use crate::engine::{Db, Fault, Row, StoreError, natural, signed, small};
use crate::ids::{AccountId, Hash, WorldId};

/// A new world with its account.
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

/// The part of a world that a movement of its clock changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldClock {
    pub state: String,
    pub now: Timestamp,
    /// Number of the last step, or 0 before the first one.
    pub step: u64,
    pub digest: Hash,
}

/// First and last instant of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldSpan {
    pub starts_at: Timestamp,
    pub ends_at: Timestamp,
}

/// A line of a world's log. The store does not interpret its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldLine {
    /// Lines are numbered from 1. Times never decrease.
    pub number: u64,
    /// Market time.
    pub at: Timestamp,
    /// Number of the last step up to the line.
    pub step: u64,
    /// Number of the last journal entry of the account up to the line.
    pub entries: u64,
    pub kind: String,
    pub entry: String,
    pub request: String,
    /// Hash over all lines up to this one.
    pub digest: Hash,
}

/// A change of a world, with the lines for its log.
#[derive(Clone, Copy, Debug)]
pub struct WorldChange<'a> {
    /// The expected clock before the change.
    pub before: &'a WorldClock,
    pub after: &'a WorldClock,
    /// The expected first and last instant before the change, and the first and last instant after
    /// it.
    pub span: (WorldSpan, WorldSpan),
    pub settings: &'a str,
    /// Number of the first line that is removed before the new lines are added.
    pub cut: Option<u64>,
    /// New lines. The next numbers are assigned on write, because another process may have added
    /// notes.
    pub lines: &'a [WorldLine],
}

/// Maximum size of the text of a line, in bytes. Every journal entry is smaller.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Result of adding a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddWorldOutcome {
    Added(WorldId),
    /// The owner has a world or an account with this name.
    NameTaken,
    /// The store has the maximum number of worlds. Nothing was added.
    TooMany,
}

impl Accounts {
    /// Adds a world with its account, its rights and its credentials, unless there are `most`
    /// worlds already.
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
            // Returning an error rolls back the account.
            Err(StoreError::Taken { .. }) => Ok(AddWorldOutcome::NameTaken),
            added => added,
        }
    }

    /// Adds credentials to the account of a world, unless it has `most` already. Returns whether
    /// they were added.
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

    /// Returns the world with this name of an owner.
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

    /// Stores a change of a world together with its log. Returns `false` and changes nothing if the
    /// clock is no longer `before` or the span has changed, because another process has changed the
    /// world.
    ///
    /// Does not increment the accounts version, because no cached account depends on the clock, and
    /// it changes many times per second.
    pub fn change_world(&self, account: AccountId, change: &WorldChange<'_>) -> Result<bool, StoreError> {
        let WorldChange { before, after, span: (span, span_after), settings, cut, lines } = *change;
        check_texts("a world", &[&after.state, settings])?;
        if lines.iter().any(|line| line.entry.len() > LINE_BYTES_MAX || line.request.len() > LINE_BYTES_MAX) {
            return Err(StoreError::unfit("a line of a world's log", "it is too long"));
        }
        let account_only = [account];
        // Before lines are removed, copies may have to store the lines that they share.
        let lock = if cut.is_some() { WriteLock::Everything } else { WriteLock::Of(&account_only) };
        self.within(lock, |db| {
            let values = (
                &after.state,
                after.now.0,
                signed(after.step),
                settings,
                after.digest.as_slice(),
                span_after.starts_at.0,
                span_after.ends_at.0,
                account.0,
                &before.state,
                before.now.0,
                signed(before.step),
                before.digest.as_slice(),
                span.starts_at.0,
                span.ends_at.0,
            );
            if db.run(sql::MOVE, values)? == 0 {
                return Ok(false);
            }
            if let Some(from) = cut {
                copied_parts::release(db, PartKind::Log, account, from.saturating_sub(1))?;
                db.run(sql::CUT_LINES, (account.0, signed(from)))?;
            }
            let mut number = match lines {
                [] => 0,
                _ => last_line(db, account, u64::MAX, None)?.map_or(0, |last| last.number),
            };
            for line in lines {
                let WorldLine { at, step, entries, kind, entry, request, digest, .. } = line;
                number += 1;
                let (number, step, entries) = (signed(number), signed(*step), signed(*entries));
                let digest = digest.as_slice();
                db.run(
                    sql::ADD_LINE,
                    (account.0, number, at.0, step, entries, kind, entry, request, digest),
                )?;
            }
            Ok(true)
        })
    }

    /// Returns the next lines of a world's log after the number `after`, at most `limit`.
    pub fn world_lines(
        &self,
        account: AccountId,
        after: u64,
        limit: u32,
    ) -> Result<Vec<WorldLine>, StoreError> {
        let db = self.read();
        copied_parts::read_parts(after, limit, |after, limit| {
            db.all(sql::LINES, (account.0, signed(after), limit), |row| {
                let line = WorldLine::read(row)?;
                let part_end = row.get::<Option<i64>>(8)?.map(|_| natural(row, 8)).transpose()?;
                Ok(Numbered { number: line.number, part_end, row: line })
            })
        })
    }

    /// Returns the last line of a world's log before the number `before`.
    pub fn last_world_line(&self, account: AccountId, before: u64) -> Result<Option<WorldLine>, StoreError> {
        last_line(&self.read(), account, before, None)
    }

    /// Returns the last line of this kind.
    pub fn last_world_line_of(
        &self,
        account: AccountId,
        kind: &str,
    ) -> Result<Option<WorldLine>, StoreError> {
        last_line(&self.read(), account, u64::MAX, Some(kind))
    }

    /// Returns the number of the first line after an instant.
    pub fn world_line_after(&self, account: AccountId, at: Timestamp) -> Result<Option<u64>, StoreError> {
        let db = self.read();
        let last = last_line(&db, account, u64::MAX, None)?.map_or(0, |last| last.number);
        let early = copied_parts::last_early(
            last,
            |of_line| of_line <= at,
            |number| db.first(sql::INSTANT, (account.0, signed(number)), |row| Ok(Timestamp(row.get(0)?))),
        )?;
        Ok((early < last).then_some(early + 1))
    }

    /// Copies the lines before the number `before` to a world without a log. The copy shares the
    /// lines, so the time does not depend on their number.
    pub fn copy_world_lines(&self, from: AccountId, to: AccountId, before: u64) -> Result<(), StoreError> {
        self.within(WriteLock::Of(&[from, to]), |db| {
            let last = last_line(db, from, before, None)?.map_or(0, |last| last.number);
            copied_parts::share(db, PartKind::Log, (from, to), last)
        })
    }

    /// Records that the worlds in this state have ended, unless that is already recorded. A change
    /// of the state removes the record.
    pub fn note_ended_worlds(&self, state: &str, now: Timestamp) -> Result<(), StoreError> {
        if self.read().first(sql::UNNOTED, [state], |_| Ok(()))?.is_none() {
            return Ok(());
        }
        self.within(WriteLock::Everything, |db| db.run(sql::NOTE_ENDED, (now.0, state)).map(drop))
    }

    /// Returns the worlds that ended up to an instant, oldest end first, at most `limit`.
    pub fn worlds_ended_until(&self, until: Timestamp, limit: u32) -> Result<Vec<WorldRow>, StoreError> {
        self.read().all(sql::ENDED, (until.0, limit), WorldRow::read)
    }

    /// Deletes a world that is still at `clock`, and revokes its account. The account is renamed,
    /// so that its owner can use the name again. Returns whether the world was deleted.
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
            let shared = copied_parts::parts(db, PartKind::Log, account)?;
            copied_parts::remove(db, PartKind::Log, account)?;
            // The lines remain until no copy shares them. The world may have been the last copy of
            // a world that was deleted earlier.
            for stored_by in shared.iter().map(|part| part.source).chain([account]) {
                db.run(sql::REMOVE_LINES, [stored_by.0])?;
            }
            retire(db, account, world.id, note)?;
            Ok(true)
        })
    }
}

/// Returns the last line before the number `before`, of any kind or of `kind`.
fn last_line(
    db: &Db,
    account: AccountId,
    before: u64,
    kind: Option<&str>,
) -> Result<Option<WorldLine>, StoreError> {
    let last_of = |account: AccountId, before: u64| match kind {
        Some(kind) => db.first(sql::LAST_LINE_OF, (account.0, signed(before), kind), WorldLine::read),
        None => db.first(sql::LAST_LINE, (account.0, signed(before)), WorldLine::read),
    };
    let own = last_of(account, before)?;
    if own.is_some() {
        return Ok(own);
    }
    for part in copied_parts::parts(db, PartKind::Log, account)?.iter().rev() {
        let line = last_of(part.source, before.min(part.to.saturating_add(1)))?;
        if let Some(line) = line.filter(|line| line.number >= part.from) {
            return Ok(Some(line));
        }
    }
    Ok(None)
}

fn retire(db: &Db, account: AccountId, world: WorldId, note: &AuditNote<'_>) -> Result<(), StoreError> {
    db.run(sql::RETIRE, (note.at.0, format!("~w{}", world.0), account.0))?;
    audit::write(db, Some(account), "world.deleted", note)?;
    count_change(db, &[account])
}

impl WorldRow {
    pub fn span(&self) -> WorldSpan {
        WorldSpan { starts_at: self.starts_at, ends_at: self.ends_at }
    }

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

impl WorldLine {
    fn read(row: &Row<'_>) -> Result<WorldLine, Fault> {
        let digest: Vec<u8> = row.get(7)?;
        Ok(WorldLine {
            number: natural(row, 0)?,
            at: Timestamp(row.get(1)?),
            step: natural(row, 2)?,
            entries: natural(row, 3)?,
            kind: row.get(4)?,
            entry: row.get(5)?,
            request: row.get(6)?,
            digest: digest.try_into().map_err(|_| Fault::value("digest", "another length"))?,
        })
    }
}

mod sql {
    use crate::accounts::copied_parts::{part_after, stored_by};
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

    macro_rules! select_line {
        ($rest:literal) => {
            concat!(
                "select number, at, step, entries, kind, entry, request, digest from sealed_world_line \
                 where account_id = $1 ",
                $rest
            )
        };
    }

    statements! {
        for crate::engine::migrations::ACCOUNTS;
        LINES: "read the log of a world",
            concat!(
                "select number, at, step, entries, kind, entry, request, digest, ",
                part_after!("to_number", 2),
                " from sealed_world_line where account_id = coalesce(",
                part_after!("source_id", 2),
                ", $1) and number > $2 and number <= coalesce(",
                part_after!("to_number", 2),
                ", 9223372036854775807) order by number limit $3"
            );
        LAST_LINE: "read the last line of a world", select_line!("and number < $2 order by number desc limit 1");
        LAST_LINE_OF: "find a line of a world", select_line!("and number < $2 and kind = $3 order by number desc limit 1");
        INSTANT: "find a place in the log of a world",
            concat!("select at from sealed_world_line where account_id = ", stored_by!(2), " and number = $2");
        ADD_LINE: "write to the log of a world",
            "insert into world_line (account_id, number, at, step, entries, kind, entry, request, digest) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        CUT_LINES: "cut the log of a world", "delete from world_line where account_id = $1 and number >= $2";
        REMOVE_LINES: "delete the log of a world",
            "delete from world_line where account_id = $1 \
             and not exists (select 1 from sealed_world world where world.account_id = $1) \
             and not exists (select 1 from sealed_copied_part part where part.source_id = $1 and part.kind = 2)";
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
        UNNOTED: "find worlds whose end is not noted",
            "select id from sealed_world where state = $1 and ended_at is null limit 1";
        NOTE_ENDED: "note the end of worlds",
            "update world set ended_at = $1 where state = $2 and ended_at is null";
        ENDED: "find ended worlds", select_world!("where ended_at <= $1 order by ended_at, id limit $2");
        MOVE: "move a world",
            "update world set state = $1, now_at = $2, step = $3, settings = $4, digest = $5, starts_at = $6, \
             ends_at = $7, ended_at = case when state = $1 then ended_at end where account_id = $8 and state = $9 and now_at = $10 and step = $11 and digest = $12 \
             and starts_at = $13 and ends_at = $14";
        REMOVE: "delete a world", "delete from world where account_id = $1";
        RETIRE: "retire the account of a world",
            "update account set revoked_at = $1, epoch = epoch + 1, name = name || $2 where id = $3";
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn queries_for_worlds_use_their_indexes() {
            crate::engine::statements::follow_the_keys(
                crate::engine::migrations::ACCOUNTS,
                &[
                    COUNT_KEYS,
                    OF_ACCOUNT,
                    NAMED,
                    OF_OWNER,
                    LINES,
                    LAST_LINE,
                    INSTANT,
                    ADD_LINE,
                    CUT_LINES,
                    REMOVE_LINES,
                ],
            );
        }
    }
}
