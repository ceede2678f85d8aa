//! The closest alternative: the same candles as rows of a SQLite table, queried in process.

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};
use rusqlite::{Connection, Statement};

use crate::sample::{RUNS, Random, Runs};

/// One kind of candle as `prepare.py` wrote it: seven columns for each symbol.
struct Kind {
    name: &'static str,
    symbols: usize,
    times: Vec<i64>,
}

const COLUMNS: usize = 7;
const COUNT: usize = 1000;

pub(crate) fn run(database: &Path, source: &Path) -> anyhow::Result<()> {
    if database.exists() {
        std::fs::remove_file(database)?;
    }
    let mut conn = Connection::open(database)?;
    conn.execute_batch("pragma journal_mode = off; pragma synchronous = off; pragma mmap_size = 68719476736; pragma cache_size = -262144;")?;
    let mut file = BufReader::with_capacity(1 << 20, File::open(source).context("open the rows")?);
    let began = Instant::now();
    let mut kinds = Vec::new();
    for name in ["m1", "d1"] {
        kinds.push(load(&mut conn, name, &mut file)?);
    }
    let rows: usize = kinds.iter().map(|kind| kind.symbols * kind.times.len()).sum();
    let seconds = began.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(database)?.len();
    writeln!(std::io::stdout(), "load\t{rows}\t{seconds:.2}\t{bytes}")?;
    let (mut runs, mut random) = (Runs::default(), Random::new(42));
    for _ in 0..RUNS {
        for (kind, name) in kinds.iter().zip(["Q1", "Q2"]) {
            let mut statement = conn.prepare(&format!(
                "select ts, o, h, l, c, v, t from {} where sym = $1 and ts <= $2 order by ts desc limit {COUNT}",
                kind.name
            ))?;
            let make = |random: &mut Random| {
                let symbol = random.below(kind.symbols) as i64;
                let at = COUNT - 1 + random.below(kind.times.len() - COUNT + 1);
                (symbol, kind.times.get(at).copied().unwrap_or_default())
            };
            runs.run(name, &mut random, make, |(symbol, until)| ask(&mut statement, *symbol, *until))?;
        }
    }
    runs.print()
}

/// Reads a thousand rows into columns, as a client would; nothing is encoded.
fn ask(statement: &mut Statement<'_>, symbol: i64, until: i64) -> anyhow::Result<usize> {
    let mut columns: [Vec<i64>; COLUMNS] = std::array::from_fn(|_| Vec::with_capacity(COUNT));
    let mut rows = statement.query((symbol, until))?;
    while let Some(row) = rows.next()? {
        for (at, column) in columns.iter_mut().enumerate() {
            column.push(row.get(at)?);
        }
    }
    let [times, ..] = &columns;
    ensure!(times.len() == COUNT, "{} rows", times.len());
    ensure!(times.first() == Some(&until), "the first row is another one");
    Ok(COLUMNS * COUNT * 8)
}

fn load(conn: &mut Connection, name: &'static str, file: &mut impl Read) -> anyhow::Result<Kind> {
    let (symbols, rows) = (number(file)? as usize, number(file)? as usize);
    conn.execute_batch(&format!(
        "create table {name} (sym integer not null, ts integer not null, o integer not null, h integer not null,
            l integer not null, c integer not null, v integer not null, t integer not null,
            primary key (sym, ts)) without rowid"
    ))?;
    let mut times = Vec::new();
    for symbol in 0..symbols {
        let mut columns: Vec<Vec<i64>> = Vec::with_capacity(COLUMNS);
        for _ in 0..COLUMNS {
            columns.push(column(file, rows)?);
        }
        let transaction = conn.transaction()?;
        {
            let text = format!("insert into {name} values ($1, $2, $3, $4, $5, $6, $7, $8)");
            let mut insert = transaction.prepare(&text)?;
            for row in 0..rows {
                let value =
                    |column: usize| columns.get(column).and_then(|c| c.get(row)).copied().unwrap_or_default();
                insert.execute((
                    symbol as i64,
                    value(0),
                    value(1),
                    value(2),
                    value(3),
                    value(4),
                    value(5),
                    value(6),
                ))?;
            }
        }
        transaction.commit()?;
        if let Some(first) = columns.into_iter().next() {
            times = first;
        }
    }
    Ok(Kind { name, symbols, times })
}

fn number(file: &mut impl Read) -> anyhow::Result<i64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes).context("read the rows")?;
    Ok(i64::from_le_bytes(bytes))
}

fn column(file: &mut impl Read, rows: usize) -> anyhow::Result<Vec<i64>> {
    (0..rows).map(|_| number(file)).collect()
}
