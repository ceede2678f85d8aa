//! Location of one of a store's two databases.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use market::Timestamp;

use super::postgres::{Found, Need, Pace, Schema, Server};
use super::{ACCOUNTS_FILE, CANDLES_FILE, Db, Fault, Role, StoreError, StoreUrl, migrate, migrations};

/// One of the two databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Candles,
    Accounts,
}

impl Part {
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Part::Candles => CANDLES_FILE,
            Part::Accounts => ACCOUNTS_FILE,
        }
    }

    pub(crate) fn steps(self) -> &'static [migrations::Migration] {
        match self {
            Part::Candles => migrations::ALL,
            Part::Accounts => migrations::ACCOUNTS,
        }
    }

    fn schema(self) -> Schema {
        match self {
            Part::Candles => Schema::Candles,
            Part::Accounts => Schema::Accounts,
        }
    }
}

/// A SQLite file, or a connection pool for a PostgreSQL schema.
#[derive(Clone, Debug)]
pub(crate) enum Home {
    File(PathBuf),
    Server(Arc<Server>),
}

impl Home {
    /// Creates the location. Opens no file and no connection.
    pub(crate) fn of(place: &StoreUrl, part: Part, pace: Pace) -> Result<Home, StoreError> {
        match place {
            StoreUrl::Path(dir) => Ok(Home::File(dir.join(part.file_name()))),
            StoreUrl::Server(address) => {
                let server = Server::open(address, part.schema(), pace);
                server.map(Home::Server).map_err(|trouble| StoreError::of(CONNECT, place, trouble.into()))
            }
        }
    }

    /// Returns the location, for use in error messages.
    pub(crate) fn url(&self) -> StoreUrl {
        match self {
            Home::File(path) => path.into(),
            Home::Server(server) => server.address().into(),
        }
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Home::File(path) => Some(path),
            Home::Server(_) => None,
        }
    }

    pub(crate) fn server(&self) -> Option<&Arc<Server>> {
        match self {
            Home::File(_) => None,
            Home::Server(server) => Some(server),
        }
    }

    pub(crate) fn open(&self, role: Role) -> Result<Db, StoreError> {
        match self {
            Home::File(path) => Db::open(path, role),
            Home::Server(server) => Ok(Db::on_server(server, role)),
        }
    }
}

const CONNECT: &str = "connect to the database";

/// Checks that a database server is suitable. Must be called before any query or creation.
pub(crate) fn check(server: &Arc<Server>, need: Need) -> Result<Found, StoreError> {
    let place = StoreUrl::from(server.address());
    server.check(need).map_err(|trouble| StoreError::of(CONNECT, &place, Fault::from(trouble)))
}

/// Opens a database on PostgreSQL, and migrates it to the newest schema if needed.
pub(crate) fn prepare_on_server(
    place: &StoreUrl,
    part: Part,
    pace: Pace,
    now: Timestamp,
) -> Result<Home, StoreError> {
    let home = Home::of(place, part, pace)?;
    if let Some(server) = home.server() {
        check(server, Need::Write)?;
        let db = home.open(Role::Writer)?;
        if migrate::schema(&db, part.steps())? != migrations::known(part.steps()) {
            // The migration uses a separate pool with long timeouts, because its duration is not
            // limited.
            let patient = Home::of(place, part, Pace::Long)?;
            migrate::migrate(&patient.open(Role::Writer)?, part.steps(), now)?;
        }
    }
    Ok(home)
}
