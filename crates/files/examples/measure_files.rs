//! Benchmarks reading files, in rows per second on one core: `cargo run --release -p files
//! --example measure_files [rows]`.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use files::{CandleSink, Format, ReadOptions, Table};
use market::{Candle, Candles, Market, Price, Session, Symbol, Timestamp, Turnover, Venues};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(2_000_000), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let venues = Venues::built_in()?;
    let days: Vec<i64> = minutes(&venues, rows / SYMBOLS);

    let path = folder.path().join("rfc3339.csv");
    let zone = venues.of(Market::Us).zone();
    let mut sink = CandleSink::create(Format::Csv, std::fs::File::create(&path)?)?;
    let started = Instant::now();
    for symbol in 0..SYMBOLS {
        sink.write(&name(symbol)?, zone, 2, &candles(&days, symbol))?;
    }
    sink.finish()?;
    report("write csv, RFC 3339", rows, started);
    read(&path, &venues, rows)?;

    let path = folder.path().join("unix.csv");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path)?);
    writeln!(out, "symbol,time,open,high,low,close,volume")?;
    for symbol in 0..SYMBOLS {
        let name = name(symbol)?;
        for c in candles(&days, symbol).iter() {
            let [open, high, low, close] = [c.open, c.high, c.low, c.close].map(|price| price.text(2));
            writeln!(out, "{name},{},{open},{high},{low},{close},{}", c.time.0, c.volume)?;
        }
    }
    out.flush()?;
    read(&path, &venues, rows)?;

    let path = folder.path().join("local.csv");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path)?);
    writeln!(out, "symbol,time,open,high,low,close,volume")?;
    for symbol in 0..SYMBOLS {
        let name = name(symbol)?;
        for c in candles(&days, symbol).iter() {
            let [open, high, low, close] = [c.open, c.high, c.low, c.close].map(|price| price.text(2));
            let local: String = zone.rfc3339(c.time).replace('T', " ").chars().take(19).collect();
            writeln!(out, "{name},{local},{open},{high},{low},{close},{}", c.volume)?;
        }
    }
    out.flush()?;
    read(&path, &venues, rows)?;

    let path = folder.path().join("decimal128.parquet");
    let mut sink = CandleSink::create(Format::Parquet, std::fs::File::create(&path)?)?;
    let started = Instant::now();
    for symbol in 0..SYMBOLS {
        sink.write(&name(symbol)?, zone, 2, &candles(&days, symbol))?;
    }
    sink.finish()?;
    report("write parquet", rows, started);
    read(&path, &venues, rows)?;

    let path = folder.path().join("double.parquet");
    write_doubles(&path, &days)?;
    read(&path, &venues, rows)
}

const SYMBOLS: usize = 20;

fn name(symbol: usize) -> Result<Symbol, Box<dyn std::error::Error>> {
    Ok(format!("T{symbol}.US").parse()?)
}

/// Returns the start times, in Unix seconds, of `count` consecutive one-minute candles of regular
/// US trading, starting on 2005-01-03.
fn minutes(venues: &Venues, count: usize) -> Vec<i64> {
    let us = venues.of(Market::Us);
    let mut date = market::Date::constant(2005, 1, 3);
    let mut stamps = Vec::with_capacity(count);
    while stamps.len() < count {
        if let Some(day) = us.day(date) {
            let regular = day.minutes().filter(|(_, slot)| slot.segment.session == Session::Intraday);
            stamps.extend(regular.map(|(at, _)| at.0).take(count - stamps.len()));
        }
        let Ok(next) = date.tomorrow() else { break };
        date = next;
    }
    stamps
}

fn candles(stamps: &[i64], symbol: usize) -> Candles {
    let mut close = 100_000_000 + 7_310_000 * symbol as i64;
    let walk = stamps.iter().enumerate().map(|(row, at)| {
        let open = close;
        close = (close + ((row * 7919 + symbol) % 21) as i64 * 10_000 - 100_000).max(1_000_000);
        let (high, low) = (open.max(close) + 20_000, open.min(close) - 10_000);
        let volume = 100 + (row * 31 % 5000) as i64;
        let turnover = Turnover(i128::from(close) * i128::from(volume));
        let [open, high, low, close] = [open, high, low, close].map(Price);
        Candle { time: Timestamp(*at), open, high, low, close, volume, turnover, session: Session::Intraday }
    });
    walk.collect()
}

fn write_doubles(path: &Path, days: &[i64]) -> Result<(), Box<dyn std::error::Error>> {
    use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
    use std::sync::Arc;
    let mut writer = None;
    for symbol in 0..SYMBOLS {
        let candles = candles(days, symbol);
        let double = |column: &[i64]| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values(column.iter().map(|v| *v as f64 / 1e6)))
        };
        let name = name(symbol)?;
        let symbols: ArrayRef =
            Arc::new(StringArray::from_iter_values(candles.time.iter().map(|_| name.as_str())));
        let batch = RecordBatch::try_from_iter([
            ("symbol", symbols),
            ("time", Arc::new(Int64Array::from(candles.time.clone())) as ArrayRef),
            ("open", double(&candles.open)),
            ("high", double(&candles.high)),
            ("low", double(&candles.low)),
            ("close", double(&candles.close)),
            ("volume", Arc::new(Int64Array::from(candles.volume.clone())) as ArrayRef),
        ])?;
        let writer = match &mut writer {
            Some(writer) => writer,
            None => {
                let file = std::fs::File::create(path)?;
                writer.insert(parquet::arrow::ArrowWriter::try_new(file, batch.schema(), None)?)
            }
        };
        writer.write(&batch)?;
    }
    if let Some(writer) = writer {
        writer.close()?;
    }
    Ok(())
}

fn read(path: &Path, venues: &Venues, rows: usize) -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    let Table::Candles(mut reader) = files::open(path, venues, &ReadOptions::default())? else {
        return Err("not candles".into());
    };
    let mut count = 0;
    while let Some(batch) = reader.next()? {
        count += batch.rows.len();
    }
    assert_eq!(count, rows / SYMBOLS * SYMBOLS, "every row is read");
    let size = std::fs::metadata(path)?.len();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    report(&format!("read {name} ({} MB)", size / 1_000_000), rows, started);
    Ok(())
}

fn report(what: &str, rows: usize, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    eprintln!("{what}: {:.2} M rows/s", rows as f64 / seconds / 1e6);
}
