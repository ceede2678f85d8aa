//! A temporary database on an existing PostgreSQL server.

use crate::StoreError;
use crate::engine::postgres::{Address, Pace, Schema, Server};
use crate::engine::{Db, Fault, Place, Role};

/// A temporary database that is dropped with this value.
#[derive(Debug)]
pub struct Scratch {
    address: Address,
    maker: Db,
}

impl Scratch {
    /// Creates a database of this name on the server of `beside`. Uses the locale C, so that
    /// results are the same on every machine.
    pub fn create(beside: &Address, name: &str) -> Result<Scratch, StoreError> {
        let failed = |trouble| StoreError::of(CREATE, &Place::from(beside), Fault::from(trouble));
        let maker =
            Db::on_server(&Server::open(beside, Schema::Candles, Pace::Long).map_err(failed)?, Role::Writer);
        let terms = "template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C'";
        maker.script(CREATE, &format!("create database {} {terms}", quoted(name)))?;
        Ok(Scratch { address: beside.in_database(name), maker })
    }

    pub fn address(&self) -> &Address {
        &self.address
    }
}

const CREATE: &str = "create a database for a moment";

impl Drop for Scratch {
    fn drop(&mut self) {
        let name = quoted(self.address.database());
        // If the database cannot be dropped, it remains; its name shows that it is temporary.
        self.maker.script("remove it", &format!("drop database if exists {name} with (force)")).ok();
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
