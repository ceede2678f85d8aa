//! Timed questions: the store in process, and the same candles as plain rows in SQLite.
//!
//! `bench query STORE` asks a store what the bench's table reports (or only the named lines of it); `bench rows DATABASE ROWS` loads the raw integers that
//! `prepare.py` wrote into a row table and asks it the same; `bench serve CHANDLER STORE` asks a server over WebSockets, in turn with
//! one that knows nothing but one answer; `bench turns PLAN` and `bench first PLAN` compare servers on different stores; `bench cold` and `bench rate` ask PostgreSQL in process; `bench paper PART …` is about the paper account; `bench lists CHANDLER WORK` about watchlists and the list of securities. All print what `measure.py` puts into its tables.

mod bare;
mod cold;
mod contest;
mod floor;
mod lists;
mod load;
mod paper;
mod query;
mod rate;
mod rows;
mod sample;
mod serve;
mod server;
mod turns;

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
        ["rows", database, source] => rows::run(Path::new(database), Path::new(source)),
        _ => {
            eprintln!(
                "usage: bench query STORE [PERIOD…] | bench rows DATABASE ROWS | \
                 bench serve CHANDLER STORE [CONNECTIONS…] [beside=OTHER_CHANDLER…] [questions=N] | \
                 bench turns PLAN | bench first PLAN | bench cold ADDRESS WORK | bench rate ADDRESS | \
                 bench paper engine|fleet|submit|statements WORK | bench paper assets CHANDLER WORK | bench lists CHANDLER WORK"
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
