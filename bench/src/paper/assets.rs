//! An account with a long history, queried over HTTP: 100,000 journal entries, 50,000 orders.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, ensure};
use market::Timestamp;
use serde_json::Value;
use store::{AccountId, AddOutcome, Addition};
use trading::{Command, Currency, Engine, Entry, Money, Tables};

use super::Size;
use super::accounts::{House, moment};
use super::client::HttpClient;
use super::engine::{Life, shares};
use super::plan::Plan;
use super::times::{Times, timed};
use super::world::World;
use crate::server::{self, Server};

/// Minutes between two orders of a security: a year of ten of them makes 100,000 entries.
const EVERY: usize = 19;
/// Entries written together.
const TOGETHER: usize = 5_000;

/// The account that was created.
pub(crate) struct Past {
    pub(crate) entries: u64,
    symbol: String,
}

pub(crate) fn run(chandler: &str, work: &Path, size: Size) -> anyhow::Result<()> {
    let world = World::new(10.min(size.securities), size.past_days)?;
    let dir = work.join("assets");
    let house = House::build(&dir, &world)?;
    let store = dir.to_str().context("a path that is no text")?;
    let token = server::account(chandler, store, 0)?;
    let account = house.accounts.account_named(&server::account_name(0))?.context("no account")?;
    let past = live(&house, account.id, &world, EVERY)?;
    drop(house);
    let server = Server::start(chandler, store, 64, &token)?;
    let mut client = HttpClient::connect(server.http(), &token)?;
    let order = ask_all(&mut client, &past, size)?;
    writeln!(std::io::stdout().lock(), "entries\t{}\t{order}\t{}", past.entries, server.memory()?)?;
    Ok(())
}

/// The same account without a server, for a test.
#[cfg(test)]
pub(crate) fn prepare(work: &Path, size: Size) -> anyhow::Result<Past> {
    let world = World::new(size.securities, size.past_days)?;
    let house = House::build(&work.join("assets"), &world)?;
    let id = house.account(0, Timestamp(world.stamp(0)?.0 - 60))?;
    live(&house, id, &world, EVERY)
}

/// Runs an account through a plan in memory, and writes its journal as if it had run here. `every`
/// is the number of minutes between two orders of a security.
pub(crate) fn live(house: &House, id: AccountId, world: &World, every: usize) -> anyhow::Result<Past> {
    let (plan, tables) = (Plan::new(world, every)?, Tables::built_in()?);
    let (engine, mut reader) = (Engine::new(world, &tables), house.reader()?);
    let first = moment(Timestamp(world.stamp(0)?.0 - 60));
    let cash = Command::Deposit { currency: Currency::USD, amount: Money::whole(1_000_000_000) };
    for command in std::iter::once(cash).chain(shares(world)) {
        house.paper.at(id, &mut reader, &first).command(&command, None, None)?;
    }
    let mut life = Life::of(house.paper.described(id)?);
    let mut entries: Vec<Entry> = Vec::new();
    for step in &plan.steps {
        entries.extend(life.step(&engine, world, &plan, *step)?.entries);
    }
    write(house, id, &entries)?;
    let symbol = world.symbols.first().context("no symbol")?.to_string();
    Ok(Past { entries: life.account.entries(), symbol })
}

fn write(house: &House, id: AccountId, entries: &[Entry]) -> anyhow::Result<()> {
    let mut head = house.accounts.journal_head(id)?;
    for together in entries.chunks(TOGETHER) {
        let texts = together
            .iter()
            .map(|entry| Ok((entry.at.unwrap_or_default(), serde_json::to_string(entry)?)))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let horizon = texts.last().map(|(at, _)| *at).unwrap_or_default();
        let addition = Addition {
            account: id,
            after: head,
            entries: &texts,
            horizon,
            wake: None,
            request: None,
            audit: None,
        };
        let outcomes = house.accounts.add_to_journals(&[addition])?;
        let Some(AddOutcome::Added(now)) = outcomes.first() else { anyhow::bail!("not added") };
        head = Some(*now);
    }
    Ok(())
}

/// Sends every request that a client sends; prints a line for each with the first answer, p50, p99
/// and the worst. Returns how many orders were submitted.
fn ask_all(client: &mut HttpClient, past: &Past, size: Size) -> anyhow::Result<usize> {
    let order = format!(
        r#"{{"symbol":"{}","order_type":"LO","side":"Buy","submitted_quantity":"100","submitted_price":"10","time_in_force":"Day"}}"#,
        past.symbol
    );
    let submitted: Value = serde_json::from_str(&client.ask("POST", "/v1/trade/order", &order)?)?;
    let id = submitted.pointer("/data/order_id").and_then(Value::as_str).context("no order id")?.to_owned();
    let few = size.questions / 20;
    let questions = [
        ("GET /v1/asset/account", "GET", "/v1/asset/account".to_owned(), "", size.questions),
        ("GET /v1/asset/stock", "GET", "/v1/asset/stock".to_owned(), "", size.questions),
        ("GET /v1/trade/order/today", "GET", "/v1/trade/order/today".to_owned(), "", size.questions),
        ("GET /v1/trade/order", "GET", format!("/v1/trade/order?order_id={id}"), "", size.questions),
        ("GET /v1/trade/order/why", "GET", format!("/v1/trade/order/why?order_id={id}"), "", few),
        ("POST /v1/trade/order/preview", "POST", "/v1/trade/order/preview".to_owned(), &order, few),
        ("POST /v1/trade/order", "POST", "/v1/trade/order".to_owned(), &order, few),
    ];
    let mut out = std::io::stdout().lock();
    for (name, method, path, body, count) in questions {
        let mut times = Times::default();
        let (first, answer) = timed(|| client.ask(method, &path, body));
        let bytes = answer?.len();
        for _ in 0..count {
            let (time, answer) = timed(|| client.ask(method, &path, body));
            ensure!(!answer?.is_empty(), "an empty answer");
            times.push(time);
        }
        let [p50, p99, worst] = [50, 99, 100].map(|percent| times.at(percent) * 1e3);
        let first = first.as_secs_f64() * 1e3;
        writeln!(out, "ask\t{name}\t{p50:.3}\t{p99:.3}\t{worst:.3}\t{first:.1}\t{bytes}")?;
    }
    Ok(few + 2)
}
