//! Orders that are on disk when they are answered, compared with one bare committed insert into the
//! same database; and many concurrent clients, which share commits.

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use market::{Price, Timestamp};
use rusqlite::Connection;
use store::{AccountId, Reader};
use trading::{Command, OrderType, Quantity, Side, Terms};

use super::Size;
use super::accounts::{House, moment};
use super::times::{Times, timed};
use super::world::World;

const CLIENTS: usize = 16;
/// The minute of the day at which the clock is fixed.
const MINUTE: usize = 60;
/// As long as a journal entry.
const ROW_BYTES: usize = 600;

pub(crate) fn run(work: &Path, size: Size) -> anyhow::Result<()> {
    let world = World::new(1, 1)?;
    let dir = work.join("submit");
    let house = House::build(&dir, &world)?;
    let now = Timestamp(world.stamp(MINUTE)?.0 + 30);
    let clients = (0..CLIENTS)
        .map(|number| Client::new(&house, &world, number, now))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let bare = BareTable::open(&dir)?;
    one_client(clients.first().context("no client")?, &bare, size)?;
    many_clients(&clients, size)
}

/// A separate table in the database of the accounts, with the same durability.
struct BareTable(Connection);

impl BareTable {
    fn open(dir: &Path) -> anyhow::Result<BareTable> {
        let connection = Connection::open(dir.join("accounts.db"))?;
        connection.execute_batch(
            "pragma synchronous = full; create table bare (id integer primary key, entry text not null);",
        )?;
        Ok(BareTable(connection))
    }

    fn insert(&self) -> anyhow::Result<()> {
        let text = "x".repeat(ROW_BYTES);
        self.0.prepare_cached("insert into bare (entry) values ($1)")?.execute([text])?;
        Ok(())
    }
}

/// A client with an account and an order to submit, and to cancel again so that the account stays
/// unchanged.
struct Client<'a> {
    house: &'a House,
    id: AccountId,
    submit: Command,
    now: Timestamp,
}

impl<'a> Client<'a> {
    fn new(house: &'a House, world: &World, number: usize, now: Timestamp) -> anyhow::Result<Client<'a>> {
        let symbol = world.symbols.first().context("no symbol")?.clone();
        let close = world.candle(0, MINUTE)?.close;
        let price = Price(close.0 / 2 / market::PRICE_UNIT * market::PRICE_UNIT);
        let plain = Terms::new(symbol, Side::Buy, OrderType::Limit, Quantity::whole(100));
        let submit = Command::submit(Terms { price: Some(price), ..plain });
        Ok(Client { house, id: house.account(number, now)?, submit, now })
    }

    /// Times of `count` submits, and of as many cancellations.
    fn work(&self, count: usize, reader: &mut Reader) -> anyhow::Result<(Times, Times)> {
        let (mut submits, mut cancels) = (Times::default(), Times::default());
        for _ in 0..count {
            let (time, done) = timed(|| self.command(&self.submit, reader));
            submits.push(time);
            let id = done?.context("no order")?;
            let (time, done) = timed(|| self.command(&Command::Cancel { id }, reader));
            cancels.push(time);
            done?;
        }
        Ok((submits, cancels))
    }

    fn command(&self, command: &Command, reader: &mut Reader) -> anyhow::Result<Option<trading::OrderId>> {
        let done = self.house.paper.at(self.id, reader, &moment(self.now)).command(command, None, None)?;
        Ok(done.order)
    }
}

fn one_client(client: &Client<'_>, bare: &BareTable, size: Size) -> anyhow::Result<()> {
    let mut reader = client.house.reader()?;
    let (mut inserts, mut submits, mut ratios) = (Times::default(), Times::default(), Vec::new());
    client.work(size.submits, &mut reader)?;
    for _ in 0..size.turns {
        let (mut bares, mut owns) = (Times::default(), Times::default());
        // Alternating: the speed of the disk varies.
        for _ in 0..size.submits {
            let (time, done) = timed(|| bare.insert());
            done?;
            bares.push(time);
            owns.extend(client.work(1, &mut reader)?.0);
        }
        ratios.push(owns.median() / bares.median());
        inserts.extend(bares);
        submits.extend(owns);
    }
    let ratios = Times::from_iter(ratios);
    let us = |times: &Times| [50, 99].map(|percent| format!("{:.0}", times.at(percent) * 1e6)).join("\t");
    let mut out = std::io::stdout().lock();
    writeln!(out, "submit\tbare committed insert\t{}", us(&inserts))?;
    writeln!(out, "submit\tsubmit, one client\t{}", us(&submits))?;
    let [least, median, most] = [0, 50, 100].map(|percent| ratios.at(percent));
    Ok(writeln!(out, "submit-ratio\tsubmit against insert\t{median:.2}\t{least:.2}\t{most:.2}")?)
}

/// Commands a second: of one client, of sixteen with an account each, and of sixteen with one account.
fn many_clients(clients: &[Client<'_>], size: Size) -> anyhow::Result<()> {
    let one = clients.get(..1).context("no client")?;
    let shared: Vec<&Client<'_>> = clients.first().map(|client| vec![client; CLIENTS]).unwrap_or_default();
    let (one, each): (Vec<_>, Vec<_>) = (one.iter().collect(), clients.iter().collect());
    let mut rates: [Vec<f64>; 3] = Default::default();
    for _ in 0..size.turns {
        for (rates, group) in rates.iter_mut().zip([&one, &each, &shared]) {
            rates.push(rate(group, size.submits)?);
        }
    }
    let [one, each, shared] = rates;
    let against =
        |many: &[f64]| Times::from_iter(many.iter().zip(&one).map(|(many, one)| many / one)).median();
    let (each_times, shared_times) = (against(&each), against(&shared));
    let rows = [
        ("one client", &one, 1.0),
        ("16 clients, an account each", &each, each_times),
        ("16 clients, one account", &shared, shared_times),
    ];
    let mut out = std::io::stdout().lock();
    for (name, rates, times) in rows {
        let median = Times::from_iter(rates.iter().copied()).median();
        writeln!(out, "throughput\t{name}\t{median:.0}\t{times:.2}")?;
    }
    Ok(())
}

fn rate(clients: &[&Client<'_>], count: usize) -> anyhow::Result<f64> {
    let began = Instant::now();
    std::thread::scope(|scope| {
        let work = |client: &Client<'_>| -> anyhow::Result<()> {
            client.work(count, &mut client.house.reader()?)?;
            Ok(())
        };
        let clients: Vec<_> = clients.iter().map(|client| scope.spawn(move || work(client))).collect();
        clients
            .into_iter()
            .try_for_each(|client| client.join().map_err(|_| anyhow::anyhow!("a client has panicked"))?)
    })?;
    // A submit and a cancellation.
    Ok((clients.len() * count * 2) as f64 / began.elapsed().as_secs_f64())
}
