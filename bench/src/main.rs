//! Timed queries: the store in process, and the same candles as plain rows in SQLite.
//!
//! `bench query STORE` runs the queries of the bench's table (or only the named lines of it);
//! `bench rows DATABASE ROWS` loads the raw integers that `prepare.py` wrote into a row table and
//! runs the same queries; `bench serve CHANDLER STORE` queries a server over WebSockets, in turn
//! with one that has only prebuilt answers; `bench turns PLAN` and `bench first PLAN` compare
//! servers on different stores; `bench cold` and `bench rate` query PostgreSQL in process; `bench
//! paper PART …` measures the paper account; `bench lists CHANDLER WORK` watchlists and the list of
//! securities; `bench live PART CHANDLER WORK` pushes and ingest; `bench worlds PART CHANDLER WORK` worlds; `bench
//! mirror PART CHANDLER WORK` a mirror of another server. All print the numbers that `measure.py`
//! puts into its tables.

mod bare;
mod cold;
mod contest;
mod floor;
mod lists;
mod live;
mod load;
mod mirror;
mod paper;
mod query;
mod rate;
mod rows;
mod sample;
mod serve;
mod server;
mod turns;
mod worlds;

use std::path::Path;
use std::process::ExitCode;

/// As in the executable.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["query", store, only @ ..] => query::run(Path::new(store), only),
        ["floor", answer_bytes, answers] => floor::run(answer_bytes, answers),
        ["serve", chandler, store, options @ ..] => serve::run(chandler, store, options),
        ["turns", plan] => turns::run(Path::new(plan)),
        ["cold", address, work] => cold::run(address, Path::new(work)),
        ["rate", address] => rate::run(address),
        ["first", plan] => turns::first(Path::new(plan)),
        ["paper", part @ ..] => paper::run(part),
        ["lists", chandler, work] => lists::run(chandler, Path::new(work)),
        ["live", part, chandler, work, store @ ..] => {
            live::run(part, chandler, Path::new(work), store.first().copied())
        }
        ["worlds", part, chandler, work] => worlds::run(part, chandler, Path::new(work)),
        ["mirror", part, chandler, work] => mirror::run(part, chandler, Path::new(work)),
        ["rows", database, source] => rows::run(Path::new(database), Path::new(source)),
        _ => {
            eprintln!(
                "usage: bench query STORE [PERIOD…] | bench rows DATABASE ROWS | \
                 bench serve CHANDLER STORE [CONNECTIONS…] [beside=OTHER_CHANDLER…] [questions=N] | \
                 bench turns PLAN | bench first PLAN | bench cold ADDRESS WORK | bench rate ADDRESS | \
                 bench paper engine|fleet|submit|statements|year WORK | bench paper assets CHANDLER WORK | bench lists CHANDLER WORK | \
                 bench live {} CHANDLER WORK [STORE] | bench worlds {} CHANDLER WORK | \
                 bench mirror {} CHANDLER WORK",
                live::PARTS,
                worlds::PARTS,
                mirror::PARTS
            );
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}
