//! The side of a connection that the runtime has: bytes, and what a server says without being asked.

use std::future::poll_fn;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::{AsyncMessage, Connection};

use super::trouble::{chain, line};

/// What a connection that listens hears.
#[derive(Debug)]
pub(super) enum Signal {
    Notice {
        channel: String,
        payload: String,
    },
    /// Notices came faster than they were read, and some were thrown away.
    Missed,
    Ended,
    Stop,
}

/// What the driving side of a connection has seen.
#[derive(Default)]
pub(super) struct Course {
    warnings: Mutex<(u64, String)>,
    end: Mutex<Option<String>>,
}

impl Course {
    /// How many warnings there were, and the last of them.
    pub(super) fn warnings(&self) -> MutexGuard<'_, (u64, String)> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the connection ended, if it is known.
    pub(super) fn end(&self) -> MutexGuard<'_, Option<String>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Moves bytes until the connection ends, and notes why.
pub(super) async fn drive<S, T>(
    mut connection: Connection<S, T>,
    course: Arc<Course>,
    hear: Option<SyncSender<Signal>>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    let tell = |signal| hear.as_ref().is_none_or(|hear| hear.try_send(signal).is_ok());
    let mut missed = false;
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(notice))) => {
                if missed && tell(Signal::Missed) {
                    missed = false;
                }
                let (channel, payload) = (notice.channel().to_owned(), notice.payload().to_owned());
                missed |= !tell(Signal::Notice { channel, payload });
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
    // Requests under way fail now, and find the reason noted.
    drop(connection);
    tell(Signal::Ended);
}
