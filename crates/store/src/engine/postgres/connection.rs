//! What a database of ours holds of a pool: nothing, or the connection of its transaction. A statement outside a transaction borrows a
//! connection for itself.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

use tokio_postgres::Row as ServerRow;

use super::Trouble;
use super::server::{Lease, Server};
use super::session::{Failure, Rows, Session};
use crate::engine::params::Value;
use crate::engine::{Fault, Role, Row};

/// What is done with each row of a question.
pub(crate) type Read<'a> = dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>, Fault> + 'a;
/// The same for one of several questions, with its number.
pub(crate) type ReadOfAll<'a> = dyn FnMut(usize, &Row<'_>) -> Result<ControlFlow<()>, Fault> + 'a;

/// For one thread at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    server: Arc<Server>,
    role: Role,
    turn: RefCell<Option<Turn>>,
}

/// A transaction.
#[derive(Debug)]
struct Turn {
    lease: Lease,
    mode: Mode,
    state: State,
    /// Questions that are being read, each within the reading of the one before. At most the last has rows that have not arrived.
    readings: Vec<Reading>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The server has not been told: its beginning goes along with the first question.
    Begun,
    Open,
    /// A statement failed, and the server takes no more.
    Failed,
    Ended,
}

struct Reading {
    /// `None` once all of it has arrived.
    rows: Option<Rows>,
    arrived: VecDeque<ServerRow>,
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("arrived", &self.arrived.len()).finish_non_exhaustive()
    }
}

/// How many rows are read for nothing after a question was broken off. If more are to come, the connection is closed instead.
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

    /// Runs a statement whose rows are of no interest; answers how many it changed.
    pub(crate) fn run(&self, text: &str, values: &[Value<'_>]) -> Result<usize, Fault> {
        self.check_right(text)?;
        let changed = match &mut *self.turn()? {
            Some(turn) => turn.run(text, values)?,
            None => self.alone(text, |session| session.run(text, values))?.0,
        };
        Ok(usize::try_from(changed).unwrap_or(usize::MAX))
    }

    /// Hands row after row to `read`, until it breaks. Within a transaction `read` may run other statements.
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
            // Let go of before it is read, so that other statements can run meanwhile.
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
        // The first row belongs to what may be tried again: most errors come with it. What changes something is over when its last row is
        // there, and not before: it may still fail. Once there are no more rows, none may be asked for.
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

    /// One statement with many rows of values, without waiting in between: either all of it is stored, or nothing. Answers how many rows it
    /// changed.
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

    /// One question with many rows of values, without waiting in between. `read` is given the number of the row of values along with what was
    /// found for it. All that is found is held in memory before it is read.
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

    /// Several statements in one text, without values.
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

    /// Creates the schema of the pool, if it is not there. Several may try at once. "if not exists" alone asks for the right to create
    /// schemas also where it is there, made by somebody who may.
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

    /// Creates something "if not exists", which the server does not promise to several at once.
    pub(super) fn create(&self, text: &str) -> Result<(), Fault> {
        match self.alone(text, |session| session.script(text)) {
            // Somebody else was a moment faster.
            Err(trouble) if matches!(trouble.code(), Some("23505" | "42710" | "42P06" | "42P07")) => Ok(()),
            created => Ok(created.map(drop)?),
        }
    }

    /// Begins a transaction. Of one that only reads, all questions see the same state: that of the first.
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

    /// Ends the transaction. An error leaves nothing of it behind, unless it says that it does not know.
    pub(crate) fn commit(&self) -> Result<(), Fault> {
        let turn = self.turn()?.take();
        Ok(turn.ok_or(NO_TURN)?.commit()?)
    }

    /// Ends the transaction, if there is one, without a trace.
    pub(crate) fn rollback(&self) -> Result<(), Fault> {
        drop(self.turn()?.take());
        Ok(())
    }

    pub(crate) fn in_transaction(&self) -> bool {
        // Somebody has it in hand right now, so it is there.
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
            true => Err(Trouble::NoRights { reason: "this connection is for reading alone".to_owned() }),
            false => Ok(()),
        }
    }

    /// Runs something on a connection of its own. A connection that turns out to be broken is replaced, and then a statement that was not
    /// sent, or that changes nothing, is tried again, once.
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

/// Whether a statement changes nothing, so that it may be asked twice.
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

    /// Tells the server that the transaction begins, if it has not been told.
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

    /// Asks a question, and answers where it is among those that are being read.
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

    /// Takes in what is still to come of a question that is being read: answers come in the order of the statements.
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

    /// The first thing that the server is told. Nothing can be lost yet: if the connection turns out to be broken, another one is taken.
    fn first<T>(&mut self, mut run: impl FnMut(&mut Session) -> Result<T, Failure>) -> Result<T, Trouble> {
        let mut done = run(self.lease.session()?);
        if let Err(failure) = &done
            && !self.lease.session()?.is_usable()
            && !failure.late
        {
            let server = self.lease.server().clone();
            server.distrust();
            // The broken one counts no more, or a pool that is used up would wait for it.
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
            // Nothing can be lost, so nobody has to wait.
            Mode::Read => {
                session.send_off("commit");
                session.in_transaction = false;
                Ok(())
            }
            Mode::Write => {
                session.begin_request();
                // A server answers the commit of a failed transaction as if nothing had happened; a question before it makes it say so.
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
                            // Whether the transaction is over cannot be seen from here.
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

/// However a reading ends, its rows are forgotten.
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
    fn a_question_is_told_from_a_change() {
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
