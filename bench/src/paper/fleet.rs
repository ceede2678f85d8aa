//! 10,000 open orders of 1,000 accounts over 500 securities, and the market advances by a minute:
//! the engine alone, and the service with its reading of candles and its journals.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, ensure};
use market::{Price, Timestamp};
use store::AccountId;
use trading::{Account, Command, Engine, OrderType, Quantity, Settings, Side, Tables, Terms};

use super::Size;
use super::accounts::{House, moment};
use super::engine::Life;
use super::times::{Times, processor, timed};
use super::world::World;

/// The minute in whose last second the orders come.
const ORDERS_AT: usize = 30;
/// Clients that submit them concurrently, so that they share commits.
const CLIENTS: usize = 16;
const CENT: i64 = market::PRICE_UNIT / 100;

pub(crate) fn run(work: &Path, size: Size) -> anyhow::Result<()> {
    let world = World::new(size.fleet_securities, 1)?;
    engine(&world, size)?;
    service(work, &world, size)
}

/// The securities of an account are spread over all of them. One in ten of its limits is near the
/// market, the rest is far from it.
fn terms(world: &World, account: usize, order: usize) -> anyhow::Result<Terms> {
    let place = (account * 7 + order * 53) % world.symbols.len();
    let symbol = world.symbols.get(place).context("no such symbol")?.clone();
    let cents = world.candle(place, ORDERS_AT)?.close.0 / CENT;
    let away = if order == 0 { cents / 500 } else { cents / 20 };
    let price = Price((cents - away) * CENT);
    Ok(Terms { price: Some(price), ..Terms::new(symbol, Side::Buy, OrderType::Limit, Quantity::whole(100)) })
}

fn end_of(world: &World, minute: usize) -> anyhow::Result<Timestamp> {
    Ok(Timestamp(world.stamp(minute)?.0 + 60))
}

fn engine(world: &World, size: Size) -> anyhow::Result<()> {
    let tables = Tables::built_in()?;
    let engine = Engine::new(world, &tables);
    let submitted = Timestamp(world.stamp(ORDERS_AT)?.0 + 59);
    let mut accounts: Vec<Account> = Vec::new();
    for number in 0..size.accounts {
        let mut account = Life::begin(&engine, &Settings::default(), 1 + number as u64, [])?.account;
        for order in 0..size.orders_each {
            let outcome =
                engine.handle(&mut account, &Command::submit(terms(world, number, order)?), submitted);
            ensure!(outcome.refusal.is_none(), "{:?}", outcome.refusal);
        }
        accounts.push(account);
    }
    let (mut times, mut entries) = (Times::default(), 0);
    for minute in ORDERS_AT..ORDERS_AT + size.minutes {
        let now = end_of(world, minute)?;
        let (time, made) = timed(|| {
            accounts.iter_mut().map(|account| engine.advance(account, now).entries.len()).sum::<usize>()
        });
        times.push(time);
        entries += made;
    }
    print("engine alone", &times, &times, entries)
}

fn service(work: &Path, world: &World, size: Size) -> anyhow::Result<()> {
    let house = House::build(&work.join("fleet"), world)?;
    let ids = submit_all(&house, world, size)?;
    let mut reader = house.reader()?;
    let (mut times, mut busy, mut advanced) = (Times::default(), Times::default(), 0);
    for minute in ORDERS_AT..ORDERS_AT + size.minutes {
        let now = end_of(world, minute)?;
        let before = processor();
        // The work of the server's job at each event.
        let (time, due) = timed(|| -> anyhow::Result<usize> {
            let due = house.paper.due(now, 1_024)?;
            house.paper.advance(&due, &mut reader, &moment(now));
            house.paper.next_wake()?;
            Ok(due.len())
        });
        advanced += due?;
        // The first minute reads the day's candles of all securities.
        if minute > ORDERS_AT {
            times.push(time);
            busy.push(std::time::Duration::from_secs_f64((processor() - before).max(0.0)));
        } else {
            print(
                "service, the first minute",
                &Times::from_iter([time.as_secs_f64()]),
                &Times::default(),
                0,
            )?;
        }
    }
    ensure!(advanced >= ids.len(), "{advanced} advances of {} accounts", ids.len());
    print("service", &times, &busy, advanced)
}

fn submit_all(house: &House, world: &World, size: Size) -> anyhow::Result<Vec<AccountId>> {
    let opened = Timestamp(world.stamp(ORDERS_AT)?.0 + 30);
    let submitted = Timestamp(world.stamp(ORDERS_AT)?.0 + 59);
    let ids =
        (0..size.accounts).map(|number| house.account(number, opened)).collect::<anyhow::Result<Vec<_>>>()?;
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let client = || -> anyhow::Result<()> {
            let mut reader = house.reader()?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(id) = ids.get(number) else { return Ok(()) };
                for order in 0..size.orders_each {
                    let command = Command::submit(terms(world, number, order)?);
                    house.paper.at(*id, &mut reader, &moment(submitted)).command(&command, None, None)?;
                }
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
        clients
            .into_iter()
            .try_for_each(|client| client.join().map_err(|_| anyhow::anyhow!("a client has panicked"))?)
    })?;
    Ok(ids)
}

/// Milliseconds of a minute: median, 90 percent, worst, and processor time.
fn print(name: &str, times: &Times, busy: &Times, count: usize) -> anyhow::Result<()> {
    let ms = |seconds: f64| seconds * 1e3;
    let [median, ninety, worst] = [50, 90, 100].map(|percent| ms(times.at(percent)));
    let line =
        format!("fleet\t{name}\t{median:.2}\t{ninety:.2}\t{worst:.2}\t{:.2}\t{count}", ms(busy.median()));
    Ok(writeln!(std::io::stdout().lock(), "{line}")?)
}
