//! PostgreSQL asked with the driver alone: what the parts of the bench that go through `store` are compared with.

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

/// Where the connection is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driven {
    /// By the thread that asks: no other has to be woken for an answer. The least there can be, for a program with one thread.
    Here,
    /// By a thread of its own, as in a server, where many ask.
    Elsewhere,
}

/// A connection, and what drives it.
#[derive(Debug)]
pub(crate) struct Bare {
    runtime: Runtime,
    client: Client,
}

impl Bare {
    /// Connects as the address of a store says.
    pub(crate) fn connect(address: &str, driven: Driven) -> anyhow::Result<Bare> {
        let mut runtime = match driven {
            Driven::Here => Builder::new_current_thread(),
            Driven::Elsewhere => Builder::new_multi_thread(),
        };
        let runtime = runtime.worker_threads(1).enable_all().build()?;
        // Parameters of ours mean nothing to the driver.
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
