//! A thousand candles that a node has not cached, alternating with the bare fetch of the same
//! bytes.
//!
//! `bench cold ADDRESS WORK` queries a store on PostgreSQL in process: first without a local copy,
//! as a query that misses it is answered, then with one that is emptied before each round, whose
//! thread fills it meanwhile, and last from that copy. The bare fetch reads the bodies of the
//! blocks that the query needs, by their ids, in one prepared statement. Everything is in
//! PostgreSQL's memory.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use history::{Adjust, Anchor, AsOf, COUNT_MAX, Direction, History, Query, Select, Sessions};
use market::{Floors, Grain, Period, Symbol, Timestamp, Venues};
use store::{Access, CopySettings, Lane, Reader, Store, StoreUrl};

use crate::bare::{Bare, Driven};
use crate::contest::{Spread, now};
use crate::query::{NOW, encode};
use crate::sample::Random;

/// The goal: at most this many times the bare fetch, at the median.
const GOAL: f64 = 2.5;
const ROUNDS: usize = 9;
const QUESTIONS: usize = 200;

/// A query, and the bodies that it needs.
struct Probe {
    query: Query,
    ids: Vec<i64>,
}

pub(crate) fn run(address: &str, work: &Path) -> anyhow::Result<()> {
    let place: StoreUrl = address.parse()?;
    let history = History::new(Venues::built_in()?);
    let bare = [Bare::connect(address, Driven::Here)?, Bare::connect(address, Driven::Elsewhere)?];
    let [first, _] = &bare;
    let far = Store::open(&place, Access::Read)?;
    let questions = questions(&far, &history, first)?;
    let (mut times, mut missed, mut warm) = (Vec::new(), Vec::new(), Vec::new());
    let began = now()?;
    for round in 0..ROUNDS {
        let mut reader = far.reader()?;
        times.push(one_round(&questions, &history, &bare, &mut reader, round)?);
        let settings =
            CopySettings { dir: emptied(work)?, bytes_max: 4 << 30, offline_window: Duration::ZERO };
        let near = far.clone().with_copy(&settings)?;
        missed.push(one_round(&questions, &history, &bare, &mut near.reader()?, round)?);
        near.settle_copy();
        // The second pass needs bodies that the first has left to the thread.
        for probe in &questions {
            answer(&history, &mut near.reader()?, &probe.query)?;
        }
        near.settle_copy();
        warm.push(one_round(&questions, &history, &bare, &mut near.reader()?, round)?);
    }
    std::fs::remove_dir_all(work).ok();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| 1000 candles in process, encoded | p50 us: median (least to most) | bare fetch of the same bytes, p50 us, driven by the calling thread \
         | times that | goal | driven by a separate thread, p50 us | times that | goal | measured |\n|---|---|---|---|---|---|---|---|---|"
    )?;
    for (name, rounds, goal) in [
        ("through PostgreSQL, no copy", &times, Some(GOAL)),
        ("the same with an empty copy that is being filled", &missed, Some(GOAL)),
        ("from the copy", &warm, None),
    ] {
        let ours = Spread::of(rounds.iter().map(ours_of));
        write!(out, "| {name} | {:.0} ({:.0} to {:.0}) |", ours.median, ours.least, ours.most)?;
        for which in [0, 1] {
            let of = |round: &[f64; 3]| round.get(which).copied().unwrap_or_default();
            let bare = Spread::of(rounds.iter().map(of));
            let ratio = Spread::of(rounds.iter().map(|round| ours_of(round) / of(round)));
            let verdict = goal
                .map(|goal| format!("{goal}: {}", if ratio.median <= goal { "met" } else { "**missed**" }));
            let (Spread { least, median, most }, verdict) = (ratio, verdict.unwrap_or_default());
            write!(out, " {:.0} | {median:.2} ({least:.2} to {most:.2}) | {verdict} |", bare.median)?;
        }
        writeln!(out, " {began} to {} |", now()?)?;
    }
    Ok(())
}

/// An empty folder.
fn emptied(work: &Path) -> anyhow::Result<std::path::PathBuf> {
    if work.exists() {
        std::fs::remove_dir_all(work)?;
    }
    std::fs::create_dir_all(work)?;
    Ok(work.to_owned())
}

/// The p50 of both bare fetches and of queries, in microseconds, alternating.
fn one_round(
    questions: &[Probe],
    history: &History,
    bare: &[Bare; 2],
    reader: &mut Reader,
    round: usize,
) -> anyhow::Result<[f64; 3]> {
    let [here, elsewhere] = bare;
    let by_id = "select body from block_body where id = any($1)";
    let bodies = [here.prepare(by_id)?, elsewhere.prepare(by_id)?];
    let mut times: [Vec<Duration>; 3] = Default::default();
    for (number, probe) in questions.iter().enumerate() {
        for turn in 0..3 {
            let which = (number + round + turn) % 3;
            let began = Instant::now();
            match (bare.get(which), bodies.get(which)) {
                (Some(bare), Some(bodies)) => {
                    let rows = bare.rows(bodies, &[&probe.ids])?;
                    let bytes: usize = rows.iter().map(|row| row.get::<_, &[u8]>(0).len()).sum();
                    ensure!(rows.len() == probe.ids.len() && bytes > 0, "a body is gone");
                }
                _ => drop(answer(history, reader, &probe.query)?),
            }
            if let Some(times) = times.get_mut(which) {
                times.push(began.elapsed());
            }
        }
    }
    Ok(times.map(p50))
}

fn ours_of([_, _, ours]: &[f64; 3]) -> f64 {
    *ours
}

fn p50(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}

fn answer(history: &History, reader: &mut Reader, query: &Query) -> anyhow::Result<usize> {
    let answer = history.candles(reader, query, AsOf::Live(NOW))?;
    ensure!(answer.candles.len() == COUNT_MAX, "{} candles of {}", answer.candles.len(), query.symbol);
    let mut bytes = Vec::new();
    encode(&answer, &mut bytes);
    Ok(bytes.len())
}

/// A thousand minutes up to a random stamp, of a random security each; every security is equally
/// likely.
fn questions(store: &Store, history: &History, bare: &Bare) -> anyhow::Result<Vec<Probe>> {
    let mut reader = store.reader()?;
    let series = reader.snapshot()?.all_series()?;
    let wanted = |info: &&store::SeriesInfo| {
        info.series.grain == Grain::Minute && info.series.lane == Lane::Regular && info.rows > 50_000
    };
    let series: Vec<_> = series.iter().filter(wanted).collect();
    ensure!(!series.is_empty(), "no security has minutes enough");
    let behind = bare.prepare(
        "select b.body_id, b.row_count from series s join block_index b on b.series_id = s.id \
         where s.symbol = $1 and s.grain = '1m' and s.lane = 'regular' and b.first_at <= $2 order by b.first_at desc limit 8",
    )?;
    let mut random = Random::new(7);
    let mut questions = Vec::with_capacity(QUESTIONS);
    for number in 0..QUESTIONS {
        let info = series.get(number % series.len()).context("no series")?;
        let later = usize::try_from(info.last.0 - info.first.0)? / 4;
        let at = Timestamp(info.last.0 - i64::try_from(random.below(later * 3))?);
        let query = question(history, &info.series.symbol, at);
        let before = store.blocks_read();
        answer(history, &mut reader, &query)?;
        let count = usize::try_from(store.blocks_read() - before)?;
        let rows = bare.rows(&behind, &[&info.series.symbol.as_str(), &at.0])?;
        let ids: Vec<i64> = rows.iter().take(count).map(|row| row.get(0)).collect();
        ensure!(!ids.is_empty() && ids.len() == count, "{count} blocks were read of {}", ids.len());
        questions.push(Probe { query, ids });
    }
    Ok(questions)
}

fn question(history: &History, symbol: &Symbol, at: Timestamp) -> Query {
    let (date, seconds) = history.venue(symbol).zone().local(at);
    let anchor = Anchor::Minute(date, (seconds / 60) as i32);
    Query {
        symbol: symbol.clone(),
        period: Period::MINUTE,
        adjust: Adjust::None,
        sessions: Sessions::Intraday,
        floors: Floors::published(symbol.market()),
        select: Select::Offset { direction: Direction::Past, anchor, count: COUNT_MAX },
    }
}
