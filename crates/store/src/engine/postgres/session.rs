//! One connection to a server: its prepared statements and requests with deadlines, and the task on
//! the runtime that performs I/O and receives asynchronous messages from the server.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::Stream;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::{AsyncMessage, Client, Connection, Row, RowStream, Statement};

use super::runtime::{Sent, send_off, wait};
use super::trouble::{chain, line};
use super::value::{Column, Param, fit, fit_columns};
use super::{Pace, Trouble};
use crate::engine::params::Value;
use crate::engine::{patience, sooner};

pub(super) struct Session {
    /// Shared with pending requests, so that further requests can be sent in the meantime.
    client: Arc<Client>,
    statements: Statements,
    course: Arc<Course>,
    task: AbortHandle,
    at: String,
    pace: Pace,
    /// Whether a transaction is open. In a transaction a failed statement cannot be retried alone.
    pub(super) in_transaction: bool,
    /// Whether the current request was sent to the server.
    pub(super) sent: bool,
    warnings_before: u64,
    broken: bool,
    pub(super) idle_since: Instant,
}

/// Error of a failed request.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) trouble: Trouble,
    /// Whether a change that was sent may have been applied.
    pub(super) doubt: bool,
    /// Whether the request timed out.
    pub(super) late: bool,
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        Failure { trouble, doubt: false, late: false }
    }
}

pub(super) struct Rows {
    stream: Pin<Box<RowStream>>,
    /// Set after the last row. The driver reports a later poll as a closed connection.
    is_over: bool,
}

impl From<RowStream> for Rows {
    fn from(stream: RowStream) -> Rows {
        Rows { stream: Box::pin(stream), is_over: false }
    }
}

/// Maximum number of requests in a pipeline. Bounds memory on the client and the server.
const PIPELINE_REQUESTS_MAX: usize = 256;
const PIPELINE_BYTES_MAX: usize = 4 << 20;
/// Maximum number of rows that one statement takes as arrays.
const ROWS_TOGETHER_MAX: usize = 4_096;

impl Session {
    pub(super) fn new(
        client: Client,
        course: Arc<Course>,
        task: AbortHandle,
        at: String,
        pace: Pace,
    ) -> Session {
        Session {
            client: Arc::new(client),
            statements: Statements::default(),
            course,
            task,
            at,
            pace,
            in_transaction: false,
            sent: false,
            warnings_before: 0,
            broken: false,
            idle_since: Instant::now(),
        }
    }

    pub(super) fn at(&self) -> &str {
        &self.at
    }

    pub(super) fn is_usable(&self) -> bool {
        !self.broken && !self.client.is_closed()
    }

    /// Marks the connection as unusable and closes it. The server may detect this later.
    pub(super) fn give_up(&mut self) {
        self.broken = true;
        self.task.abort();
    }

    /// Resets the per-request state. Called at the start of each request of the caller.
    pub(super) fn begin_request(&mut self) {
        self.sent = false;
        self.warnings_before = self.course.warnings().0;
    }

    /// Returns a warning that the server has sent since `begin_request`, or `None` if there was no
    /// warning. A warning at a commit means reduced durability: most likely the wait for a
    /// synchronous standby was cancelled.
    pub(super) fn warning(&self) -> Option<String> {
        let warnings = self.course.warnings();
        (warnings.0 > self.warnings_before).then(|| warnings.1.clone())
    }

    /// Runs several statements in one message, without values.
    pub(super) fn script(&mut self, text: &str) -> Result<(), Failure> {
        self.before_sending()?;
        let answer = wait(self.client.batch_execute(text), self.until());
        self.answered(answer)
    }

    /// Sends a statement and ignores the response. The server runs later statements on this
    /// connection after this statement.
    pub(super) fn send_off(&mut self, text: &str) {
        send_off(self.client.batch_execute(text));
    }

    /// Drops all prepared statements, because they may no longer match the tables.
    pub(super) fn forget_statements(&mut self) {
        self.statements = Statements::default();
    }

    pub(super) fn run(&mut self, text: &str, values: &[Value<'_>]) -> Result<u64, Failure> {
        self.prepared(text, |session, statement| {
            fit(values, statement.params())?;
            session.before_sending()?;
            let answer = wait(session.client.execute_raw(statement, params(values)), session.until());
            session.answered(answer)
        })
    }

    pub(super) fn rows(&mut self, text: &str, values: &[Value<'_>]) -> Result<Rows, Failure> {
        self.prepared(text, |session, statement| {
            fit(values, statement.params())?;
            session.before_sending()?;
            let answer = wait(session.client.query_raw(statement, params(values)), session.until());
            session.answered(answer).map(Rows::from)
        })
    }

    /// Sends the first query of a transaction together with `BEGIN`. The query must be read-only,
    /// because it runs outside a transaction if `BEGIN` fails.
    pub(super) fn begin_with(
        &mut self,
        begin: &str,
        text: &str,
        values: &[Value<'_>],
    ) -> Result<Rows, Failure> {
        self.prepared(text, |session, statement| {
            fit(values, statement.params())?;
            session.before_sending()?;
            let client = session.client.clone();
            let begun = Sent::of(client.batch_execute(begin));
            let rows = Sent::of(client.query_raw(statement, params(values)));
            let answers = wait(async { (begun.answer().await, rows.answer().await) }, session.until());
            let (begun, rows) = answers.map_or((None, None), |(begun, rows)| (Some(begun), Some(rows)));
            if let Err(failure) = session.answered(begun) {
                session.give_up();
                return Err(failure);
            }
            session.in_transaction = true;
            session.answered(rows).map(Rows::from)
        })
    }

    pub(super) fn next(&mut self, rows: &mut Rows) -> Result<Option<Row>, Failure> {
        if rows.is_over {
            return Ok(None);
        }
        let answer = wait(poll_fn(|context| rows.stream.as_mut().poll_next(context)), self.until());
        let row = self.answered(answer.map(Option::transpose))?;
        rows.is_over = row.is_none();
        Ok(row)
    }

    /// Runs one statement with many rows of values in a pipeline. Returns the number of changed
    /// rows.
    pub(super) fn run_all(&mut self, text: &str, all: &[&[Value<'_>]]) -> Result<u64, Failure> {
        self.prepared(text, |session, statement| {
            all.iter().try_for_each(|values| fit(values, statement.params()))?;
            let client = session.client.clone();
            let mut under_way = VecDeque::new();
            let mut bytes = 0;
            let mut changed = 0;
            let mut rest = all.iter();
            loop {
                let has_room = under_way.len() < PIPELINE_REQUESTS_MAX && bytes < PIPELINE_BYTES_MAX;
                if let Some(values) = rest.as_slice().first().filter(|_| has_room) {
                    rest.next();
                    session.before_sending()?;
                    let size = weight(values);
                    bytes += size;
                    let sent = Sent::of(client.execute_raw(statement, params(values)));
                    under_way.push_back((sent, size));
                    continue;
                }
                let Some((sent, size)) = under_way.pop_front() else {
                    return Ok(changed);
                };
                let answer = wait(sent.answer(), session.until());
                bytes -= size;
                changed += session.answered(answer)?;
            }
        })
    }

    /// Runs one query with many rows of values in a pipeline. Returns the result rows for each row
    /// of values.
    pub(super) fn rows_of_all(&mut self, text: &str, all: &[&[Value<'_>]]) -> Result<Vec<Vec<Row>>, Failure> {
        self.prepared(text, |session, statement| {
            all.iter().try_for_each(|values| fit(values, statement.params()))?;
            let mut found = Vec::with_capacity(all.len());
            for portion in all.chunks(PIPELINE_REQUESTS_MAX) {
                session.before_sending()?;
                let client = session.client.clone();
                let sent = portion.iter().map(|values| Sent::of(client.query_raw(statement, params(values))));
                for sent in sent.collect::<Vec<_>>() {
                    let answer = wait(sent.answer(), session.until());
                    let mut rows = Rows::from(session.answered(answer)?);
                    let mut of_one = Vec::new();
                    while let Some(row) = session.next(&mut rows)? {
                        of_one.push(row);
                    }
                    found.push(of_one);
                }
            }
            Ok(found)
        })
    }

    /// Runs one statement that takes many rows of values as arrays, one for each column. Returns the
    /// result rows.
    pub(super) fn rows_of_columns(
        &mut self,
        text: &str,
        columns: &[Column<'_>],
    ) -> Result<Vec<Row>, Failure> {
        self.prepared(text, |session, statement| {
            fit_columns(columns, statement.params())?;
            session.before_sending()?;
            let answer = wait(session.client.query_raw(statement, columns), session.until());
            let mut rows = Rows::from(session.answered(answer)?);
            let mut all = Vec::new();
            while let Some(row) = session.next(&mut rows)? {
                all.push(row);
            }
            Ok(all)
        })
    }

    /// Runs `run` with a cached prepared statement. Outside a transaction, a statement that the
    /// server has dropped, or that no longer matches its tables after a migration, is prepared
    /// again. This is safe because the server has not executed the statement.
    fn prepared<T>(
        &mut self,
        text: &str,
        mut run: impl FnMut(&mut Session, &Statement) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some(statement) = self.statements.get(text) {
            match run(self, &statement) {
                Err(failure) if is_stale(&failure.trouble) => {
                    self.statements.remove(text);
                    if self.in_transaction {
                        return Err(failure);
                    }
                }
                done => return done,
            }
        }
        self.check_open()?;
        let answer = wait(self.client.prepare(text), self.until());
        let statement = self.answered(answer).map_err(|failure| Failure { doubt: false, ..failure })?;
        self.statements.put(text, statement.clone());
        run(self, &statement)
    }

    fn check_open(&self) -> Result<(), Failure> {
        match self.is_usable() {
            true => Ok(()),
            false => Err(Trouble::Away { at: self.at.clone(), reason: self.end() }.into()),
        }
    }

    fn before_sending(&mut self) -> Result<(), Failure> {
        self.check_open()?;
        self.sent = true;
        Ok(())
    }

    fn until(&self) -> Instant {
        sooner(Instant::now() + self.pace.limits().request)
    }

    /// Converts the response to a request. `None` means that the request timed out.
    fn answered<T>(&mut self, answer: Option<Result<T, tokio_postgres::Error>>) -> Result<T, Failure> {
        let Some(answer) = answer else {
            self.give_up();
            let reason = format!("no answer within {} s", patience(self.pace.limits().request).as_secs());
            let trouble = Trouble::Away { at: self.at.clone(), reason };
            return Err(Failure { trouble, doubt: true, late: true });
        };
        answer.map_err(|error| {
            let doubt = Trouble::leaves_doubt(&error);
            if Trouble::ends_connection(&error) {
                self.give_up();
            }
            let trouble = match error.is_closed() {
                true => Trouble::Away { at: self.at.clone(), reason: self.end() },
                false => Trouble::of(error, &self.at),
            };
            Failure { trouble, doubt, late: false }
        })
    }

    fn end(&self) -> String {
        self.course.end().clone().unwrap_or_else(|| "the connection was closed".to_owned())
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("at", &self.at).field("broken", &self.broken).finish_non_exhaustive()
    }
}

fn params<'a>(values: &'a [Value<'a>]) -> impl ExactSizeIterator<Item = Param<'a>> {
    values.iter().map(|value| Param(*value))
}

/// Returns how many of the first rows fit into the arrays of one statement, which is at least one.
pub(super) fn together(rows: &[&[Value<'_>]]) -> usize {
    let mut bytes = 0;
    let fits = rows.iter().take(ROWS_TOGETHER_MAX).take_while(|row| {
        bytes += weight(row);
        bytes <= PIPELINE_BYTES_MAX
    });
    fits.count().max(1).min(rows.len())
}

/// Returns the approximate encoded size of values, in bytes.
fn weight(values: &[Value<'_>]) -> usize {
    let of = |value: &Value<'_>| match value {
        Value::Null | Value::Int(_) => 12,
        Value::Text(text) => text.len() + 4,
        Value::Blob(bytes) => bytes.len() + 4,
    };
    values.iter().map(of).sum()
}

fn is_stale(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Server(error) => {
            let changed = error.code() == &SqlState::FEATURE_NOT_SUPPORTED
                && error.routine() == Some("RevalidateCachedQuery");
            changed || error.code() == &SqlState::INVALID_SQL_STATEMENT_NAME
        }
        _ => false,
    }
}

/// LRU cache of prepared statements, by text.
#[derive(Default)]
struct Statements {
    held: HashMap<Box<str>, (Statement, u64)>,
    uses: u64,
}

/// Capacity of the statement cache. Larger than the number of statements for one schema.
const STATEMENTS_MAX: usize = 256;

impl Statements {
    fn get(&mut self, text: &str) -> Option<Statement> {
        self.uses += 1;
        let (statement, used) = self.held.get_mut(text)?;
        *used = self.uses;
        Some(statement.clone())
    }

    fn put(&mut self, text: &str, statement: Statement) {
        if self.held.len() >= STATEMENTS_MAX {
            let oldest = self.held.iter().min_by_key(|(_, (_, used))| *used).map(|(text, _)| text.clone());
            oldest.map(|text| self.held.remove(&text));
        }
        self.uses += 1;
        self.held.insert(text.into(), (statement, self.uses));
    }

    fn remove(&mut self, text: &str) {
        self.held.remove(text);
    }
}

/// Events of a listening connection.
#[derive(Debug)]
pub(super) enum Signal {
    Notice {
        channel: String,
        payload: String,
    },
    /// Notifications were dropped because they arrived faster than they were read.
    Missed,
    Ended,
    Stop,
}

/// Warnings and the end of a connection, as seen by the task that drives it.
#[derive(Default)]
pub(super) struct Course {
    warnings: Mutex<(u64, String)>,
    end: Mutex<Option<String>>,
}

impl Course {
    /// Returns the number of warnings, and the text of the last warning.
    pub(super) fn warnings(&self) -> MutexGuard<'_, (u64, String)> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reason why the connection ended, or `None` if it is open or the reason is
    /// unknown.
    pub(super) fn end(&self) -> MutexGuard<'_, Option<String>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs I/O until the connection ends, and records the reason for the end.
pub(super) async fn drive<S, T>(
    mut connection: Connection<S, T>,
    course: Arc<Course>,
    hear: Option<SyncSender<Signal>>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let notify = |signal| hear.as_ref().is_none_or(|hear| hear.try_send(signal).is_ok());
    let mut missed = false;
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(notice))) => {
                if missed && notify(Signal::Missed) {
                    missed = false;
                }
                let (channel, payload) = (notice.channel().to_owned(), notice.payload().to_owned());
                missed |= !notify(Signal::Notice { channel, payload });
            }
            Some(Ok(AsyncMessage::Notice(notice))) => {
                let of_standby = [SqlState::WARNING, SqlState::ADMIN_SHUTDOWN].contains(notice.code());
                if notice.parsed_severity() == Some(Severity::Warning) && of_standby {
                    let mut warnings = course.warnings();
                    *warnings = (warnings.0 + 1, line(&notice));
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                *course.end() = Some(chain(&error));
                break;
            }
            None => break,
        }
    }
    // Pending requests now fail, and can read the recorded reason.
    drop(connection);
    notify(Signal::Ended);
}
