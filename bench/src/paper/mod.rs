//! The cost of the paper account: its engine compared with other engines, a minute of the market
//! for many accounts, durable orders, queries about an account with a long history, and its
//! statements.

mod accounts;
mod assets;
pub(crate) mod client;
mod engine;
mod fleet;
mod plan;
mod statements;
mod submit;
pub(crate) mod times;
mod world;

use std::path::Path;

use anyhow::bail;

/// The size of the data: full, or minimal for a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Securities and trading days of the one account that is compared with other engines.
    pub(crate) securities: usize,
    pub(crate) days: usize,
    /// Accounts, their orders, the securities of these, and minutes that are simulated.
    pub(crate) accounts: usize,
    pub(crate) orders_each: usize,
    pub(crate) fleet_securities: usize,
    pub(crate) minutes: usize,
    /// Orders of a turn, and turns.
    pub(crate) submits: usize,
    pub(crate) turns: usize,
    /// Trading days of the account with a long history, and queries about it.
    pub(crate) past_days: usize,
    pub(crate) questions: usize,
}

const FULL: Size = Size {
    securities: 10,
    days: 250,
    accounts: 1_000,
    orders_each: 10,
    fleet_securities: 500,
    minutes: 60,
    submits: 100,
    turns: 9,
    past_days: 250,
    questions: 1_000,
};

const TINY: Size = Size {
    securities: 2,
    days: 3,
    accounts: 8,
    orders_each: 3,
    fleet_securities: 6,
    minutes: 5,
    submits: 3,
    turns: 2,
    past_days: 3,
    questions: 5,
};

pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let size = if std::env::var_os("TINY").is_some() { TINY } else { FULL };
    match arguments {
        ["engine", work] => engine::run(Path::new(work), size),
        ["year", work] => engine::year(Path::new(work), size),
        ["fleet", work] => fleet::run(Path::new(work), size),
        ["submit", work] => submit::run(Path::new(work), size),
        ["statements", work] => statements::run(Path::new(work), size),
        ["assets", chandler, work] => assets::run(chandler, Path::new(work), size),
        _ => {
            bail!(
                "usage: bench paper engine|fleet|submit|statements|year WORK | bench paper assets CHANDLER WORK"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are for `make bench`; this test checks that all of it runs without errors.
    #[test]
    fn the_bench_of_the_paper_account_runs() {
        let work = tempfile::tempdir().unwrap();
        for part in [engine::run, engine::year, fleet::run, submit::run, statements::run] {
            part(work.path(), TINY).unwrap();
        }
        assert!(assets::prepare(work.path(), TINY).unwrap().entries > 100);
    }
}
