//! Database connections for the accounts. SQLite uses one read and one write connection, each
//! behind a mutex; PostgreSQL uses a pool, and every caller takes its own connection.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::engine::postgres::Server;
use crate::engine::{Db, Role};

#[derive(Debug)]
pub(super) enum Connections {
    File(Box<OfFile>),
    Server {
        server: Arc<Server>,
        /// Role of write connections: `Onlooker` if the accounts were opened read-only.
        writes_as: Role,
    },
}

#[derive(Debug)]
pub(super) struct OfFile {
    reader: Mutex<Db>,
    writer: Mutex<Db>,
}

/// A connection that is borrowed for one operation.
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

    // A panic leaves no partial state in a connection, so mutex poisoning is ignored.
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
