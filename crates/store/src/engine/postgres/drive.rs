//! The runtime's side of a connection: I/O, and asynchronous messages from the server.

use std::future::poll_fn;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::{AsyncMessage, Connection};

use super::trouble::{chain, line};

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
    /// Returns the number of warnings, and the last one.
    pub(super) fn warnings(&self) -> MutexGuard<'_, (u64, String)> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns why the connection ended, if known.
    pub(super) fn end(&self) -> MutexGuard<'_, Option<String>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs I/O until the connection ends, and records the reason.
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
    // Pending requests fail now, and find the recorded reason.
    drop(connection);
    notify(Signal::Ended);
}
