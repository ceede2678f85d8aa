//! The list of orders for every engine: one for each security at regular intervals, and the
//! previous one is cancelled first if it is still open. Half of them fill immediately, half wait
//! for a better price.

use std::io::{BufWriter, Write};
use std::path::Path;

use market::{Price, Timestamp};
use trading::{Command, OrderType, Quantity, Side, Terms, TimeInForce};

use super::world::{MINUTES_A_DAY, World};

const QUANTITY: i64 = 100;
const CENT: i64 = market::PRICE_UNIT / 100;
/// The distance of limits from the close of their minute, in hundredths of a percent: buys and
/// sells that fill immediately, buys below and sells above the market.
const AWAY: [(Side, i64); 4] = [(Side::Buy, 50), (Side::Sell, -50), (Side::Buy, -12), (Side::Sell, 12)];

#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedOrder {
    pub(crate) symbol: usize,
    pub(crate) side: Side,
    pub(crate) price: Price,
}

/// A step at the end of a minute, before the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Submit(usize),
    Cancel(usize),
}

#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) orders: Vec<PlannedOrder>,
    /// By minute.
    pub(crate) steps: Vec<(usize, Step)>,
}

impl Plan {
    /// An order every `every` minutes in each security; the securities are staggered.
    pub(crate) fn new(world: &World, every: usize) -> anyhow::Result<Plan> {
        let (mut orders, mut steps) = (Vec::new(), Vec::new());
        for symbol in 0..world.symbols.len() {
            let first = 1 + symbol * every / world.symbols.len();
            let mut before: Option<usize> = None;
            for day in 0..world.minutes() / MINUTES_A_DAY {
                // The last minute of a day is for fills.
                for minute in (first..MINUTES_A_DAY - 1).step_by(every) {
                    let minute = day * MINUTES_A_DAY + minute;
                    let order = orders.len();
                    let Some((side, away)) = AWAY.get((symbol + order) % AWAY.len()).copied() else {
                        continue;
                    };
                    let close = world.candle(symbol, minute)?.close;
                    let cents = close.0 / CENT;
                    let price = Price((cents + cents * away / 10_000) * CENT);
                    orders.push(PlannedOrder { symbol, side, price });
                    steps.extend(before.map(|before| (minute - 1, Step::Cancel(before))));
                    steps.push((minute, Step::Submit(order)));
                    before = Some(order);
                }
            }
        }
        // A stable sort: steps of one minute are in the order of the securities.
        steps.sort_by_key(|(minute, step)| (*minute, matches!(step, Step::Cancel(_))));
        Ok(Plan { orders, steps })
    }

    /// The time of a step. An order comes in the last second of its minute, so that the next candle
    /// is the first to fill it, as in engines without anything shorter than a candle; a
    /// cancellation comes when the candle has taken effect.
    pub(crate) fn instant(world: &World, minute: usize, step: Step) -> anyhow::Result<Timestamp> {
        let stamp = world.stamp(minute)?.0;
        Ok(Timestamp(match step {
            Step::Submit(_) => stamp + 59,
            Step::Cancel(_) => stamp + 60,
        }))
    }

    pub(crate) fn command(&self, world: &World, order: usize) -> Option<Command> {
        let PlannedOrder { symbol, side, price } = *self.orders.get(order)?;
        let symbol = world.symbols.get(symbol)?.clone();
        Some(Command::submit(Terms {
            price: Some(price),
            time_in_force: TimeInForce::GoodTilCanceled,
            ..Terms::new(symbol, side, OrderType::Limit, Quantity::whole(QUANTITY))
        }))
    }

    /// For other engines: `minute,step,order,symbol,side,quantity,price` with the price in cents.
    pub(crate) fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut out = BufWriter::new(std::fs::File::create(path)?);
        out.write_all(b"minute,step,order,symbol,side,quantity,cents\n")?;
        for (minute, step) in &self.steps {
            let (word, order) = match step {
                Step::Submit(order) => ("submit", *order),
                Step::Cancel(order) => ("cancel", *order),
            };
            let Some(PlannedOrder { symbol, side, price }) = self.orders.get(order) else { continue };
            let (side, cents) = (if side.is_buy() { "buy" } else { "sell" }, price.0 / CENT);
            writeln!(out, "{minute},{word},{order},{symbol},{side},{QUANTITY},{cents}")?;
        }
        Ok(out.flush()?)
    }
}
