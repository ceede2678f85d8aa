//! A database handle on top of a connection pool. A statement outside a transaction borrows a
//! connection, and a transaction holds a connection until it ends.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use tokio_postgres::Row as ServerRow;

use super::Trouble;
use super::server::{Lease, Server};
use super::session::{Failure, Rows, Session, together};
use super::value::Column;
use crate::engine::params::Value;
use crate::engine::{Fault, Role, Row};

/// Callback that receives each row of a query.
pub(crate) type Read<'a> = dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>, Fault> + 'a;
/// Callback that receives each row of several queries, with the index of the query.
pub(crate) type ReadOfAll<'a> = dyn FnMut(usize, &Row<'_>) -> Result<ControlFlow<()>, Fault> + 'a;

/// A database handle. Can be used by one thread at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    server: Arc<Server>,
    role: Role,
    turn: RefCell<Option<Turn>>,
}

/// An open transaction.
#[derive(Debug)]
struct Turn {
    lease: Lease,
    mode: Mode,
    state: State,
    /// Queries that are being read, each nested in the previous query. Only the last query may have
    /// rows that have not been received yet.
    readings: Vec<Reading>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// `BEGIN` was not sent yet. It is sent together with the first query.
    Begun,
    Open,
    /// A statement failed, and the server rejects further statements.
    Failed,
    Ended,
}

struct Reading {
    /// The row stream; `None` once all rows were received.
    rows: Option<Rows>,
    arrived: VecDeque<ServerRow>,
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("arrived", &self.arrived.len()).finish_non_exhaustive()
    }
}

/// Maximum number of rows that are read and discarded after a query was stopped early. If more rows
/// are left, the connection is closed instead.
const UNREAD_MAX: usize = 64;
const HAS_SCHEMA: &str = "select 1 from pg_catalog.pg_namespace where nspname = $1";
const NESTED: Trouble = Trouble::Misuse("a statement began within another one that cannot be interrupted");
const NO_TURN: Trouble = Trouble::Misuse("there is no transaction");

impl Connection {
    pub(crate) fn new(server: Arc<Server>, role: Role) -> Connection {
        Connection { server, role, turn: RefCell::new(None) }
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Runs a statement and ignores its result rows. Returns the number of changed rows.
    pub(crate) fn run(&self, text: &str, values: &[Value<'_>]) -> Result<usize, Fault> {
        self.check_right(text)?;
        let changed = match &mut *self.turn()? {
            Some(turn) => turn.run(text, values)?,
            None => self.alone(text, |session| session.run(text, values))?.0,
        };
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Runs a query and passes each row to `read` until `read` returns `Break`. Inside a
    /// transaction `read` may run other statements.
    pub(crate) fn each(&self, text: &str, values: &[Value<'_>], read: &mut Read<'_>) -> Result<(), Fault> {
        self.check_right(text)?;
        match self.in_transaction() {
            true => self.each_in_turn(text, values, read),
            false => self.each_alone(text, values, read),
        }
    }

    fn each_in_turn(&self, text: &str, values: &[Value<'_>], read: &mut Read<'_>) -> Result<(), Fault> {
        let depth = self.turn()?.as_mut().ok_or(NO_TURN)?.read(text, values)?;
        let end = EndOfReading { connection: self, depth };
        loop {
            // The borrow must end before `read` is called, because `read` may run other statements.
            let row = self.turn()?.as_mut().ok_or(NO_TURN)?.next(depth)?;
            let Some(row) = row else { break };
            if read(&Row::Postgres(&row))?.is_break() {
                break;
            }
        }
        drop(end);
        Ok(())
    }

    fn each_alone(&self, text: &str, values: &[Value<'_>], read: &mut Read<'_>) -> Result<(), Fault> {
        let harmless = is_question(text);
        // The first row is received in the retryable step, because most errors arrive with it. A
        // statement with changes may still fail until its last row was received. The stream must
        // not be polled after the last row.
        let ((mut rows, mut arrived), mut lease) = self.alone(text, |session| {
            let mut rows = session.rows(text, values)?;
            let mut arrived = VecDeque::<ServerRow>::new();
            while let Some(row) = session.next(&mut rows)? {
                arrived.push_back(row);
                if harmless {
                    return Ok((Some(rows), arrived));
                }
            }
            Ok((None, arrived))
        })?;
        let session = lease.session()?;
        let mut next = |session: &mut Session, rows: &mut Option<Rows>| {
            if let Some(row) = arrived.pop_front() {
                return Ok(Some(row));
            }
            let Some(some) = rows else { return Ok(None) };
            let row = session.next(some).map_err(|failure| failure.trouble)?;
            if row.is_none() {
                *rows = None;
            }
            Ok::<_, Trouble>(row)
        };
        let mut done = Ok(ControlFlow::Continue(()));
        while matches!(done, Ok(ControlFlow::Continue(()))) {
            match next(session, &mut rows)? {
                Some(row) => done = read(&Row::Postgres(&row)),
                None => return Ok(()),
            }
        }
        let mut unread = 0;
        while let Ok(Some(_)) = next(session, &mut rows) {
            unread += 1;
            if unread > UNREAD_MAX {
                session.give_up();
                break;
            }
        }
        done.map(drop)
    }

    /// Runs one statement with many rows of values in a pipeline, atomically. Returns the number of
    /// changed rows.
    pub(crate) fn run_all(&self, text: &str, all: &[&[Value<'_>]]) -> Result<usize, Fault> {
        self.check_right(text)?;
        if !self.in_transaction() {
            self.begin(true)?;
            let changed = self.run_all(text, all);
            return match changed {
                Ok(changed) => self.commit().map(|()| changed),
                Err(fault) => {
                    self.rollback()?;
                    Err(fault)
                }
            };
        }
        let mut turn = self.turn()?;
        let turn = turn.as_mut().ok_or(NO_TURN)?;
        turn.open()?;
        let changed = turn.attempt(|session| session.run_all(text, all))?;
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Runs one query with many rows of values in a pipeline. Passes each result row to `read`,
    /// with the index of its values. All results are buffered first.
    pub(crate) fn each_of_all(
        &self,
        text: &str,
        all: &[&[Value<'_>]],
        read: &mut ReadOfAll<'_>,
    ) -> Result<(), Fault> {
        self.check_right(text)?;
        let found = match &mut *self.turn()? {
            Some(turn) => {
                turn.open()?;
                turn.attempt(|session| session.rows_of_all(text, all))?
            }
            None => self.alone(text, |session| session.rows_of_all(text, all))?.0,
        };
        for (i, rows) in found.iter().enumerate() {
            for row in rows {
                if read(i, &Row::Postgres(row))?.is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Runs a statement that takes many rows of values as arrays, one for each column. Passes each
    /// result row to `read`, with the index of its values: the first column of the result is their
    /// number, starting at 1. Needs a transaction.
    pub(crate) fn each_together(
        &self,
        text: &str,
        all: &[&[Value<'_>]],
        read: &mut ReadOfAll<'_>,
    ) -> Result<(), Fault> {
        self.check_right(text)?;
        let (mut rest, mut first) = (all, 0);
        while !rest.is_empty() {
            let (portion, after) = rest.split_at(together(rest));
            let columns = Column::all_of(portion);
            let found = {
                let mut turn = self.turn()?;
                let turn = turn.as_mut().ok_or(NO_TURN)?;
                turn.open()?;
                turn.attempt(|session| session.rows_of_columns(text, &columns))?
            };
            for row in &found {
                let number: i64 = Row::Postgres(row).get(0)?;
                let place = usize::try_from(number - 1).unwrap_or(usize::MAX);
                if read(first + place, &Row::Postgres(row))?.is_break() {
                    return Ok(());
                }
            }
            first += portion.len();
            rest = after;
        }
        Ok(())
    }

    /// Runs several statements in one text, without values.
    pub(crate) fn script(&self, text: &str) -> Result<(), Fault> {
        self.check_right(text)?;
        match &mut *self.turn()? {
            Some(turn) => {
                turn.open()?;
                turn.attempt(|session| session.script(text))?;
                turn.lease.session()?.forget_statements();
            }
            None => {
                let ((), mut lease) = self.alone(text, |session| session.script(text))?;
                lease.session()?.forget_statements();
            }
        }
        Ok(())
    }

    /// Creates the pool's schema if it does not exist. Safe to call concurrently. The existence is
    /// checked first, because `create schema if not exists` requires the right to create schemas
    /// even if the schema exists.
    pub(crate) fn create_schema(&self) -> Result<(), Fault> {
        let mut is_there = false;
        self.each(HAS_SCHEMA, &[Value::Text(self.server.schema())], &mut |_| {
            is_there = true;
            Ok(ControlFlow::Continue(()))
        })?;
        if is_there {
            return Ok(());
        }
        self.create(&format!("create schema if not exists \"{}\"", self.server.schema()))
    }

    /// Runs a `create ... if not exists` statement, and ignores errors of concurrent creation,
    /// which PostgreSQL does not prevent.
    pub(super) fn create(&self, text: &str) -> Result<(), Fault> {
        match self.alone(text, |session| session.script(text)) {
            // Another session created the object concurrently.
            Err(trouble) if matches!(trouble.code(), Some("23505" | "42710" | "42P06" | "42P07")) => Ok(()),
            created => Ok(created.map(drop)?),
        }
    }

    /// Begins a transaction. In a read-only transaction, all queries see the snapshot of the first
    /// query.
    pub(crate) fn begin(&self, write: bool) -> Result<(), Fault> {
        let mode = if write { Mode::Write } else { Mode::Read };
        if mode == Mode::Write && self.is_reader() {
            return Err(Trouble::Misuse("a reader began to write").into());
        }
        let mut turn = self.turn()?;
        if turn.is_some() {
            return Err(Trouble::Misuse("a transaction began within another").into());
        }
        let mut lease = self.server.lease()?;
        lease.session()?.begin_request();
        *turn = Some(Turn { lease, mode, state: State::Begun, readings: Vec::new() });
        Ok(())
    }

    /// Commits the transaction. After an error nothing was committed, unless the error says that
    /// the outcome is unknown.
    pub(crate) fn commit(&self) -> Result<(), Fault> {
        let turn = self.turn()?.take();
        Ok(turn.ok_or(NO_TURN)?.commit()?)
    }

    /// Rolls back the transaction. Does nothing if there is no transaction.
    pub(crate) fn rollback(&self) -> Result<(), Fault> {
        drop(self.turn()?.take());
        Ok(())
    }

    pub(crate) fn in_transaction(&self) -> bool {
        // If the cell is currently borrowed, there is a transaction.
        self.turn.try_borrow().map_or(true, |turn| turn.is_some())
    }

    fn turn(&self) -> Result<RefMut<'_, Option<Turn>>, Trouble> {
        self.turn.try_borrow_mut().map_err(|_| NESTED)
    }

    fn is_reader(&self) -> bool {
        matches!(self.role, Role::Reader | Role::Onlooker)
    }

    fn check_right(&self, text: &str) -> Result<(), Trouble> {
        match self.is_reader() && !is_question(text) {
            true => Err(Trouble::NoRights { reason: "this connection is read-only".to_owned() }),
            false => Ok(()),
        }
    }

    /// Runs `run` on a borrowed connection. If the connection is broken, retries once on another
    /// connection, provided that the statement was not sent or is read-only.
    fn alone<T>(
        &self,
        text: &str,
        mut run: impl FnMut(&mut Session) -> Result<T, Failure>,
    ) -> Result<(T, Lease), Trouble> {
        let harmless = is_question(text);
        let mut tried = false;
        loop {
            let mut lease = self.server.lease()?;
            let session = lease.session()?;
            session.begin_request();
            let failure = match run(session) {
                Ok(done) => {
                    return match session.warning().filter(|_| !harmless) {
                        Some(reason) => Err(Trouble::Lost { at: session.at().to_owned(), reason }),
                        None => Ok((done, lease)),
                    };
                }
                Err(failure) => failure,
            };
            let (is_usable, sent, at) = (session.is_usable(), session.sent, session.at().to_owned());
            let is_demoted = matches!(failure.trouble, Trouble::ReadOnly { .. });
            if is_demoted {
                session.give_up();
            }
            if !is_usable || is_demoted {
                self.server.distrust();
            }
            let again = !is_usable && !tried && !failure.late && (harmless || !sent);
            if !again {
                return Err(match failure.doubt && sent && !harmless {
                    true => failure.trouble.lost(&at),
                    false => failure.trouble,
                });
            }
            tried = true;
        }
    }
}

/// Returns whether a statement is read-only, so that it can be retried.
fn is_question(text: &str) -> bool {
    let mut words =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    let is = |word: &str, one_of: &[&str]| one_of.iter().any(|other| word.eq_ignore_ascii_case(other));
    match words.next() {
        Some(word) if is(word, &["select", "values"]) => true,
        Some(word) if is(word, &["with"]) => {
            !words.any(|word| is(word, &["insert", "update", "delete", "merge"]))
        }
        _ => false,
    }
}

impl Turn {
    fn begin(&self) -> &'static str {
        match self.mode {
            Mode::Read => "begin isolation level repeatable read read only",
            Mode::Write => "begin isolation level read committed read write",
        }
    }

    /// Sends `BEGIN` if it was not sent yet.
    fn open(&mut self) -> Result<(), Trouble> {
        self.arrive()?;
        match self.state {
            State::Open => return Ok(()),
            State::Failed | State::Ended => return Err(Trouble::Aborted),
            State::Begun => {}
        }
        let begin = self.begin();
        self.first(|session| {
            session.script(begin)?;
            session.in_transaction = true;
            Ok(())
        })
    }

    fn run(&mut self, text: &str, values: &[Value<'_>]) -> Result<u64, Trouble> {
        if self.state == State::Begun && is_question(text) {
            let depth = self.read(text, values)?;
            let mut count = 0;
            while self.next(depth)?.is_some() {
                count += 1;
            }
            self.readings.truncate(depth);
            return Ok(count);
        }
        self.open()?;
        self.attempt(|session| session.run(text, values))
    }

    /// Starts a query. Returns its nesting depth.
    fn read(&mut self, text: &str, values: &[Value<'_>]) -> Result<usize, Trouble> {
        let rows = if self.state == State::Begun && is_question(text) {
            let begin = self.begin();
            self.first(|session| session.begin_with(begin, text, values))?
        } else {
            self.open()?;
            self.attempt(|session| session.rows(text, values))?
        };
        self.readings.push(Reading { rows: Some(rows), arrived: VecDeque::new() });
        Ok(self.readings.len() - 1)
    }

    fn next(&mut self, depth: usize) -> Result<Option<ServerRow>, Trouble> {
        let reading = self.readings.get_mut(depth).ok_or(NO_TURN)?;
        if let Some(row) = reading.arrived.pop_front() {
            return Ok(Some(row));
        }
        let Some(mut rows) = reading.rows.take() else {
            return Ok(None);
        };
        let row = self.attempt(|session| session.next(&mut rows))?;
        if row.is_some() {
            self.readings.get_mut(depth).ok_or(NO_TURN)?.rows = Some(rows);
        }
        Ok(row)
    }

    /// Buffers the remaining rows of queries that are being read, because results arrive in the
    /// order of the statements.
    fn arrive(&mut self) -> Result<(), Trouble> {
        for depth in 0..self.readings.len() {
            let Some(mut rows) = self.readings.get_mut(depth).and_then(|reading| reading.rows.take()) else {
                continue;
            };
            while let Some(row) = self.attempt(|session| session.next(&mut rows))? {
                self.readings.get_mut(depth).ok_or(NO_TURN)?.arrived.push_back(row);
            }
        }
        Ok(())
    }

    /// Sends the first message of a transaction. A broken connection is replaced, because nothing
    /// can be lost yet.
    fn first<T>(&mut self, mut run: impl FnMut(&mut Session) -> Result<T, Failure>) -> Result<T, Trouble> {
        let mut done = run(self.lease.session()?);
        if let Err(failure) = &done
            && !self.lease.session()?.is_usable()
            && !failure.late
        {
            let server = self.lease.server().clone();
            server.distrust();
            // The broken connection is returned first. Otherwise an exhausted pool would wait for
            // it.
            self.lease.give_back();
            self.lease = server.lease().inspect_err(|_| self.state = State::Failed)?;
            self.lease.session()?.begin_request();
            done = run(self.lease.session()?);
        }
        self.state = State::Open;
        self.ended(done)
    }

    fn attempt<T>(&mut self, run: impl FnOnce(&mut Session) -> Result<T, Failure>) -> Result<T, Trouble> {
        let done = run(self.lease.session()?);
        self.ended(done)
    }

    fn ended<T>(&mut self, done: Result<T, Failure>) -> Result<T, Trouble> {
        done.map_err(|failure| {
            self.state = State::Failed;
            let is_demoted = self.mode == Mode::Write && matches!(failure.trouble, Trouble::ReadOnly { .. });
            if let Ok(session) = self.lease.session() {
                if is_demoted {
                    session.give_up();
                }
                if !session.is_usable() {
                    self.lease.server().distrust();
                }
            }
            failure.trouble
        })
    }

    fn commit(mut self) -> Result<(), Trouble> {
        let state = std::mem::replace(&mut self.state, State::Ended);
        self.readings.clear();
        match state {
            State::Begun => return Ok(()),
            State::Failed | State::Ended => return Err(Trouble::Aborted),
            State::Open => {}
        }
        let session = self.lease.session()?;
        match self.mode {
            // A read-only transaction has no changes to lose, so the response is not awaited.
            Mode::Read => {
                session.send_off("commit");
                session.in_transaction = false;
                Ok(())
            }
            Mode::Write => {
                session.begin_request();
                // PostgreSQL reports success when a failed transaction is committed. The query
                // before the commit returns the error in that case.
                let done = session.script("select 1; commit");
                session.in_transaction = false;
                let (sent, at, warning) = (session.sent, session.at().to_owned(), session.warning());
                match (done, warning) {
                    (Ok(()), None) => Ok(()),
                    (Ok(()), Some(reason)) => Err(Trouble::Lost { at, reason }),
                    (Err(failure), _) => {
                        let doubt = failure.doubt && sent;
                        let trouble = match doubt {
                            true => failure.trouble.lost(&at),
                            false => failure.trouble,
                        };
                        match session.is_usable() {
                            false => self.lease.server().distrust(),
                            true if matches!(trouble, Trouble::Aborted) => session.send_off("rollback"),
                            // It is unknown whether the transaction has ended.
                            true => session.give_up(),
                        }
                        Err(trouble)
                    }
                }
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.readings.clear();
        if let Ok(session) = self.lease.session()
            && std::mem::take(&mut session.in_transaction)
        {
            session.send_off("rollback");
        }
    }
}

/// Discards the remaining rows of a query on drop.
struct EndOfReading<'a> {
    connection: &'a Connection,
    depth: usize,
}

impl Drop for EndOfReading<'_> {
    fn drop(&mut self) {
        if let Ok(mut turn) = self.connection.turn()
            && let Some(turn) = turn.as_mut()
        {
            turn.readings.truncate(self.depth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_changes_are_distinguished() {
        for text in [
            "select 1",
            "\n  Select x from y for update",
            "with a as (select 1) select * from a",
            "values (1)",
        ] {
            assert!(is_question(text), "{text}");
        }
        for text in [
            "insert into a values (1) returning b",
            "with a as (delete from b returning c) select c from a",
            "update a set b = (select 1)",
            "selection",
            "",
            "create table a (b bigint)",
        ] {
            assert!(!is_question(text), "{text}");
        }
    }
}
