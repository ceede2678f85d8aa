//! One account, a year of ten securities, an order every half hour in each: the engine alone, with
//! candles in memory. The same candles and orders are written to files, for the engines that it is
//! compared with.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use market::{Price, Timestamp};
use trading::{
    Account, Command, Currency, Engine, Event, FeePlan, Money, OrderId, Outcome, Quantity, Settings, Tables,
    Touch,
};

use super::Size;
use super::plan::{Plan, Step};
use super::times::Times;
use super::world::World;

/// Minutes between two orders of a security.
const EVERY: usize = 30;
/// Minutes between two orders of a security in a year for a world: two a day, 5,000 in all.
const YEAR_EVERY: usize = 195;
/// Runs of each set of rules, alternating.
const RUNS: usize = 7;
const CENT: i64 = market::PRICE_UNIT / 100;

/// One execution: which order of the plan, from the candle of which minute, at which price.
type Fill = (usize, usize, Price);

/// How entries are processed besides being counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Journal {
    Dropped,
    /// Serialized to the text that a store holds.
    Text,
}

pub(crate) fn run(work: &Path, size: Size) -> anyhow::Result<()> {
    std::fs::create_dir_all(work)?;
    let world = World::new(size.securities, size.days)?;
    let plan = Plan::new(&world, EVERY)?;
    world.write_columns(&work.join("candles.bin"))?;
    plan.write(&work.join("orders.csv"))?;
    let rows = [
        ("chandler, with the rules of the others", same_rules(), Journal::Dropped),
        ("chandler, with its own rules and fees", Settings::default(), Journal::Dropped),
        ("chandler, the same with a journal as text", Settings::default(), Journal::Text),
    ];
    let tables = Tables::built_in()?;
    let mut out = std::io::stdout().lock();
    let mut times = [Times::default(), Times::default(), Times::default()];
    let mut fills: Vec<Vec<Fill>> = vec![Vec::new(); rows.len()];
    for _ in 0..RUNS {
        for (((_, settings, journal), times), fills) in rows.iter().zip(&mut times).zip(&mut fills) {
            let began = Instant::now();
            let life = live(&world, &plan, &tables, settings, *journal)?;
            times.push(began.elapsed());
            *fills = life.fills;
        }
    }
    for (((name, ..), times), fills) in rows.iter().zip(&times).zip(&fills) {
        let (best, median) = (times.at(0), times.median());
        writeln!(out, "engine\t{name}\t{best:.4}\t{median:.4}\t{}\t{}", plan.orders.len(), fills.len())?;
    }
    let first = fills.first().context("no run")?;
    write_fills(&work.join("fills-chandler.csv"), first)
}

/// Writes the candles and orders of a year for a program in a world and for other engines, and the
/// fills of the engine alone with the same rules.
pub(crate) fn year(work: &Path, size: Size) -> anyhow::Result<()> {
    std::fs::create_dir_all(work)?;
    let world = World::new(size.securities, size.days)?;
    let plan = Plan::new(&world, YEAR_EVERY)?;
    world.write_columns(&work.join("candles.bin"))?;
    world.write_csv(&work.join("minutes.csv"))?;
    plan.write(&work.join("orders.csv"))?;
    let life = live(&world, &plan, &Tables::built_in()?, &same_rules(), Journal::Dropped)?;
    write_fills(&work.join("fills-engine.csv"), &life.fills)?;
    let (first, last) = (world.stamp(0)?, world.stamp(world.minutes() - 1)?);
    let (start, end) = (Timestamp(first.0 - 60), Timestamp(last.0 + 60));
    writeln!(std::io::stdout().lock(), "year\t{}\t{start}\t{end}", plan.orders.len())?;
    Ok(())
}

/// The rules of engines without fees, volumes and queues: a limit that is touched is filled
/// completely.
fn same_rules() -> Settings {
    Settings { participation: None, touch: Touch::Touch, fees: FeePlan::None, ..Settings::default() }
}

/// Enough of every security for any plan.
pub(crate) fn shares(world: &World) -> impl Iterator<Item = Command> + '_ {
    let cost = Price(100 * market::PRICE_UNIT);
    world.symbols.iter().map(move |symbol| {
        let (symbol, quantity) = (symbol.clone(), Quantity::whole(1_000_000));
        Command::EnterPosition { symbol, quantity, cost }
    })
}

/// An account that has run through a plan.
#[derive(Debug, Default)]
pub(crate) struct Life {
    pub(crate) account: Account,
    fills: Vec<Fill>,
    /// The account's order ids by planned order, and the inverse.
    ids: Vec<Option<OrderId>>,
    planned: Vec<usize>,
    bytes: usize,
}

impl Life {
    /// A new account with enough money for any plan, and with the given commands applied.
    pub(crate) fn begin(
        engine: &Engine<'_>,
        settings: &Settings,
        number: u64,
        given: impl IntoIterator<Item = Command>,
    ) -> anyhow::Result<Life> {
        let mut life = Life::default();
        let open = Command::Open { account: number, settings: settings.clone() };
        let cash = Command::Deposit { currency: Currency::USD, amount: Money::whole(1_000_000_000) };
        for command in [open, cash].into_iter().chain(given) {
            let outcome = engine.handle(&mut life.account, &command, Timestamp(0));
            ensure!(outcome.refusal.is_none(), "{:?}", outcome.refusal);
        }
        Ok(life)
    }

    /// An existing account without orders.
    pub(crate) fn of(account: Account) -> Life {
        Life { account, ..Life::default() }
    }

    /// Runs one step of a plan. Returns its events.
    pub(crate) fn step(
        &mut self,
        engine: &Engine<'_>,
        world: &World,
        plan: &Plan,
        (minute, step): (usize, Step),
    ) -> anyhow::Result<Outcome> {
        let now = Plan::instant(world, minute, step)?;
        let mut before = Outcome::default();
        let command = match step {
            Step::Submit(order) => plan.command(world, order).context("no such order")?,
            Step::Cancel(order) => {
                // As a strategy would: a finished order is not cancelled.
                before = engine.advance(&mut self.account, now);
                let id = self.ids.get(order).copied().flatten().context("not submitted")?;
                if !self.account.order(id).is_some_and(trading::Order::is_open) {
                    return Ok(before);
                }
                Command::Cancel { id }
            }
        };
        let outcome = engine.handle(&mut self.account, &command, now);
        if let Some(refusal) = &outcome.refusal {
            bail!("{step:?} at {now}: {refusal:?}");
        }
        if let Step::Submit(order) = step {
            let made = outcome.entries.last().map(|entry| &entry.event);
            ensure!(matches!(made, Some(Event::Accepted(_))), "{step:?} at {now}: {made:?}");
            self.ids.resize(self.ids.len().max(order + 1), None);
            let id = outcome.entries.last().and_then(|entry| entry.event.order());
            if let Some(place) = self.ids.get_mut(order) {
                *place = id;
            }
            self.planned.push(order);
        }
        before.entries.extend(outcome.entries);
        Ok(before)
    }

    fn note(&mut self, world: &World, outcome: &Outcome) {
        for entry in &outcome.entries {
            if let Event::Filled(filled) = &entry.event {
                let number = usize::try_from(filled.id.number()).unwrap_or(0);
                let order = number.checked_sub(1).and_then(|place| self.planned.get(place));
                let order = order.copied().unwrap_or(usize::MAX);
                self.fills.push((order, world.minute_of(filled.candle.time), filled.price));
            }
        }
    }
}

fn live(
    world: &World,
    plan: &Plan,
    tables: &Tables,
    settings: &Settings,
    journal: Journal,
) -> anyhow::Result<Life> {
    let engine = Engine::new(world, tables);
    let mut life = Life::begin(&engine, settings, 7, shares(world))?;
    for step in &plan.steps {
        let outcome = life.step(&engine, world, plan, *step)?;
        life.record(world, &outcome, journal)?;
    }
    let end = Timestamp(world.stamp(world.minutes() - 1)?.0 + 60);
    let outcome = engine.advance(&mut life.account, end);
    life.record(world, &outcome, journal)?;
    Ok(life)
}

impl Life {
    fn record(&mut self, world: &World, outcome: &Outcome, journal: Journal) -> anyhow::Result<()> {
        self.note(world, outcome);
        if journal == Journal::Text {
            for entry in &outcome.entries {
                self.bytes += serde_json::to_string(entry)?.len();
            }
        }
        Ok(())
    }
}

fn write_fills(path: &Path, fills: &[Fill]) -> anyhow::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(path)?);
    out.write_all(b"order,minute,cents\n")?;
    let mut sorted = fills.to_vec();
    sorted.sort_unstable();
    for (order, minute, price) in sorted {
        writeln!(out, "{order},{minute},{}", price.0 / CENT)?;
    }
    Ok(out.flush()?)
}
