//! Queries PostgreSQL with the driver alone: the baseline for the parts of the bench that go
//! through `store`.

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

/// Which thread drives the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driven {
    /// The querying thread: no other thread has to be woken for an answer. The minimum, for a
    /// program with one thread.
    Here,
    /// A separate thread, as in a server with many clients.
    Elsewhere,
}

/// A connection, and its driver.
#[derive(Debug)]
pub(crate) struct Bare {
    runtime: Runtime,
    client: Client,
}

impl Bare {
    /// Connects by the address of a store.
    pub(crate) fn connect(address: &str, driven: Driven) -> anyhow::Result<Bare> {
        let mut runtime = match driven {
            Driven::Here => Builder::new_current_thread(),
            Driven::Elsewhere => Builder::new_multi_thread(),
        };
        let runtime = runtime.worker_threads(1).enable_all().build()?;
        // The driver does not know our parameters.
        let plain = address.split_once('?').map_or(address, |(plain, _)| plain);
        let config: Config = plain.parse().context("the address of the database")?;
        let (client, connection) = runtime.block_on(config.connect(NoTls))?;
        runtime.spawn(connection);
        let bare = Bare { runtime, client };
        bare.run("set search_path to chandler_candles, chandler_accounts")?;
        Ok(bare)
    }

    pub(crate) fn run(&self, text: &str) -> anyhow::Result<()> {
        Ok(self.runtime.block_on(self.client.batch_execute(text))?)
    }

    pub(crate) fn prepare(&self, text: &str) -> anyhow::Result<Statement> {
        Ok(self.runtime.block_on(self.client.prepare(text))?)
    }

    pub(crate) fn rows(
        &self,
        statement: &Statement,
        values: &[&(dyn ToSql + Sync)],
    ) -> anyhow::Result<Vec<Row>> {
        Ok(self.runtime.block_on(self.client.query(statement, values))?)
    }
}
