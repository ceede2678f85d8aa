//! A year of statements of an account with ten thousand trades: everything that is due when the
//! list is requested, built from the journal, written, and listed.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, ensure};
use market::{Date, Timestamp};
use paper::StatementList;
use trading::Event;
use trading::statement::StatementKind;

use super::Size;
use super::accounts::{House, moment};
use super::assets;
use super::times::timed;
use super::world::World;

/// Minutes between two orders of a security: a year of ten of them has at least ten thousand fills.
const EVERY: usize = 60;
const DAY_S: i64 = 86_400;

pub(crate) fn run(work: &Path, size: Size) -> anyhow::Result<()> {
    let world = World::new(10.min(size.securities), size.past_days)?;
    let house = House::build(&work.join("statements"), &world)?;
    let id = house.account(0, Timestamp(world.stamp(0)?.0 - 60))?;
    assets::live(&house, id, &world, EVERY)?;
    let journal = house.paper.journal(id)?;
    let trades = journal.iter().filter(|entry| matches!(entry.event, Event::Filled(_))).count();
    let horizon = house.accounts.journal_head(id)?.context("no journal")?.horizon;
    let clock = moment(Timestamp(horizon.0 + DAY_S));
    let mut reader = house.reader()?;
    let list = StatementList { kind: StatementKind::Daily, from: Date::ZERO, skip: 0, limit: 10_000 };
    let (first, made) = timed(|| house.paper.at(id, &mut reader, &clock).statements(&list));
    let made = made?.len();
    ensure!(made + 2 >= size.past_days, "{made} statements of {} days", size.past_days);
    let (again, listed) = timed(|| house.paper.at(id, &mut reader, &clock).statements(&list));
    ensure!(listed?.len() == made, "the list has changed");
    let [first, again] = [first, again].map(|time| time.as_secs_f64());
    writeln!(
        std::io::stdout().lock(),
        "statements\t{}\t{trades}\t{made}\t{first:.3}\t{again:.4}",
        journal.len()
    )?;
    Ok(())
}
