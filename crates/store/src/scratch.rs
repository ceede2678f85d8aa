//! A database that is made for a moment, on the server of another one, and goes away again.

use crate::StoreError;
use crate::engine::postgres::{Address, Pace, Schema, Server};
use crate::engine::{Db, Fault, Place, Role};

/// Dropped with everything in it when this is.
#[derive(Debug)]
pub struct Scratch {
    address: Address,
    maker: Db,
}

impl Scratch {
    /// Makes a database of this name beside the one of the address. Nothing in it differs from one machine to the next: the locale is C.
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
        // What cannot be removed now is there under a name that says what it was for.
        self.maker.script("remove it", &format!("drop database if exists {name} with (force)")).ok();
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
