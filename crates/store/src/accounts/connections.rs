//! Through what the accounts are asked and changed. A file has one connection for questions and one for changes, each for one thread at a time;
//! a server has a pool, and everybody takes a connection of their own.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::postgres::Server;
use crate::engine::{Db, Role};

#[derive(Debug)]
pub(super) enum Connections {
    File(Box<OfFile>),
    Server {
        server: Arc<Server>,
        /// Of whoever changes something: a reader where they are only looked at.
        writes_as: Role,
    },
}

#[derive(Debug)]
pub(super) struct OfFile {
    reader: Mutex<Db>,
    writer: Mutex<Db>,
}

/// A connection for as long as it is needed.
pub(crate) enum Held<'a> {
    Shared(MutexGuard<'a, Db>),
    Own(Box<Db>),
}

impl Deref for Held<'_> {
    type Target = Db;

    fn deref(&self) -> &Db {
        match self {
            Held::Shared(db) => db,
            Held::Own(db) => db,
        }
    }
}

impl Connections {
    pub(super) fn of_file(reader: Db, writer: Db) -> Connections {
        Connections::File(Box::new(OfFile { reader: Mutex::new(reader), writer: Mutex::new(writer) }))
    }

    // A panic in a question or a change leaves nothing half done in the connection, so poison is no reason to stop.
    pub(super) fn read(&self) -> Held<'_> {
        match self {
            Connections::File(file) => {
                Held::Shared(file.reader.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Connections::Server { server, .. } => Held::Own(Box::new(Db::on_server(server, Role::Reader))),
        }
    }

    pub(super) fn write(&self) -> Held<'_> {
        match self {
            Connections::File(file) => {
                Held::Shared(file.writer.lock().unwrap_or_else(PoisonError::into_inner))
            }
            Connections::Server { server, writes_as } => {
                Held::Own(Box::new(Db::on_server(server, *writes_as)))
            }
        }
    }
}
