//! A synthetic market: one-minute candles of American securities, in memory as the engine reads
//! them, and as files for an import and for other engines.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use market::{
    Candle, Date, DayKind, Market, Price, Region, Session, Symbol, Timestamp, Turnover, Venue, Venues,
};
use trading::{
    ActTimes, CorporateAction, Currency, EffectiveCandle, Factors, Feed, Kind, Quantity, Rate, Security,
};

use crate::sample::Random;

pub(crate) const MINUTES_A_DAY: usize = 390;
const CENT: i64 = market::PRICE_UNIT / 100;

#[derive(Debug)]
pub(crate) struct World {
    venues: Venues,
    pub(crate) symbols: Vec<Symbol>,
    /// By symbol. All have the same minutes.
    pub(crate) candles: Vec<Vec<EffectiveCandle>>,
    /// By symbol: how many candles were effective at the last query. The next one is mostly a few
    /// minutes later.
    acted: Vec<AtomicUsize>,
    rate: Rate,
}

/// How many minutes ahead are checked before all of them are.
const NEAR: usize = 64;

impl World {
    /// `securities` on `days` full trading days from the beginning of 2025 on.
    pub(crate) fn new(securities: usize, days: usize) -> anyhow::Result<World> {
        let venues = Venues::built_in()?;
        let stamps = stamps(venues.of(Market::Us), days)?;
        let symbols = (0..securities).map(symbol).collect::<anyhow::Result<Vec<_>>>()?;
        let mut candles = Vec::new();
        for place in 0..securities {
            let mut times = ActTimes::new(venues.of(Market::Us));
            let walk = walk(&stamps, place as u64);
            candles.push(walk.filter_map(|candle| times.of(candle, None)).collect());
        }
        let acted = symbols.iter().map(|_| AtomicUsize::new(0)).collect();
        Ok(World { venues, symbols, candles, acted, rate: Rate::parse("7.8")? })
    }

    pub(crate) fn minutes(&self) -> usize {
        self.candles.first().map_or(0, Vec::len)
    }

    /// A candle by the index of its symbol and of its minute.
    pub(crate) fn candle(&self, symbol: usize, minute: usize) -> anyhow::Result<&Candle> {
        let effective = self.candles.get(symbol).and_then(|candles| candles.get(minute));
        Ok(&effective.context("no such minute")?.candle)
    }

    pub(crate) fn stamp(&self, minute: usize) -> anyhow::Result<Timestamp> {
        Ok(self.candle(0, minute)?.time)
    }

    /// The index of the minute with a stamp.
    pub(crate) fn minute_of(&self, stamp: Timestamp) -> usize {
        let first = self.candles.first().map(Vec::as_slice).unwrap_or_default();
        first.partition_point(|effective| effective.candle.time < stamp)
    }

    /// The candles for an import.
    pub(crate) fn write_csv(&self, path: &Path) -> anyhow::Result<()> {
        let mut out = BufWriter::new(std::fs::File::create(path)?);
        out.write_all(b"symbol,time,open,high,low,close,volume\n")?;
        let mut line = String::new();
        for (symbol, candles) in self.symbols.iter().zip(&self.candles) {
            for EffectiveCandle { candle, .. } in candles {
                line.clear();
                write!(line, "{symbol},{}", candle.time.0)?;
                for price in [candle.open, candle.high, candle.low, candle.close] {
                    write!(line, ",{}", trading::plain_price(price))?;
                }
                writeln!(line, ",{}", candle.volume)?;
                out.write_all(line.as_bytes())?;
            }
        }
        Ok(out.flush()?)
    }

    /// The candles for other engines: a line with the symbols, then for each symbol its columns time, open, high, low, close (in cents)
    /// and volume, as 64-bit integers.
    pub(crate) fn write_columns(&self, path: &Path) -> anyhow::Result<()> {
        let mut out = BufWriter::new(std::fs::File::create(path)?);
        let names: Vec<&str> = self.symbols.iter().map(Symbol::as_str).collect();
        writeln!(out, "{} {}", self.minutes(), names.join(" "))?;
        for candles in &self.candles {
            let columns: [fn(&Candle) -> i64; 6] = [
                |candle| candle.time.0,
                |candle| candle.open.0 / CENT,
                |candle| candle.high.0 / CENT,
                |candle| candle.low.0 / CENT,
                |candle| candle.close.0 / CENT,
                |candle| candle.volume,
            ];
            for column in columns {
                for effective in candles {
                    out.write_all(&column(&effective.candle).to_le_bytes())?;
                }
            }
        }
        Ok(out.flush()?)
    }

    /// The candles of a symbol: those that are effective at an instant, and the others.
    fn split(&self, symbol: &Symbol, at: Timestamp) -> Option<(&[EffectiveCandle], &[EffectiveCandle])> {
        let place = place(symbol)?;
        let (all, acted) = (self.candles.get(place)?, self.acted.get(place)?);
        let has_acted = |effective: &EffectiveCandle| effective.at <= at;
        let known = acted.load(Ordering::Relaxed);
        let is_past = known.checked_sub(1).is_none_or(|last| all.get(last).is_some_and(has_acted));
        let near = all.get(known..).unwrap_or_default().iter().take(NEAR);
        let found = match near.take_while(|effective| has_acted(effective)).count() {
            count if is_past && count < NEAR => known + count,
            _ => all.partition_point(has_acted),
        };
        acted.store(found, Ordering::Relaxed);
        all.split_at_checked(found)
    }
}

/// `AAAA.US`, `AAAB.US` and so on.
fn symbol(place: usize) -> anyhow::Result<Symbol> {
    let letter = |shift: u32| char::from(b'A' + u8::try_from(place / 26usize.pow(shift) % 26).unwrap_or(0));
    let ticker: String = (0..4).rev().map(letter).collect();
    Ok(Symbol::new(&ticker, Region::Us)?)
}

/// The inverse.
fn place(symbol: &Symbol) -> Option<usize> {
    let letters = symbol.as_str().as_bytes().get(..4)?;
    Some(letters.iter().fold(0, |place, letter| place * 26 + usize::from(letter.wrapping_sub(b'A'))))
}

/// The regular minutes of full trading days.
fn stamps(venue: &Venue, days: usize) -> anyhow::Result<Vec<Timestamp>> {
    let from: Date = "2025-01-06".parse()?;
    let through: Date = "2027-12-31".parse()?;
    let full = venue.calendar().days(from, through).filter(|(_, kind)| *kind == DayKind::Full).take(days);
    let mut stamps = Vec::with_capacity(days * MINUTES_A_DAY);
    for (date, _) in full {
        let day = venue.day(date).context("a trading day")?;
        let regular = day.segments.iter().filter(|segment| segment.session == Session::Intraday);
        stamps.extend(regular.flat_map(|segment| segment.start..segment.end).map(|minute| day.at(minute)));
    }
    Ok(stamps)
}

/// A random walk in cents around its first price.
fn walk(stamps: &[Timestamp], seed: u64) -> impl Iterator<Item = Candle> + '_ {
    let mut random = Random::new(seed + 1);
    let start = 5_000 + (random.below(15_000) as i64);
    let mut close = start;
    stamps.iter().map(move |stamp| {
        // The sum of three dice is nearly normal; a pull of a fifth of a per mille holds a year's
        // walk near its start.
        let spread = (close / 400).max(4);
        let dice =
            |random: &mut Random| random.below(usize::try_from(spread).unwrap_or(4)) as i64 - spread / 2;
        let open = (close + dice(&mut random) / 4).max(100);
        let step = dice(&mut random) + dice(&mut random) + dice(&mut random) - (close - start) / 5_000;
        close = (open + step / 2).max(100);
        let (up, down) = (dice(&mut random).abs() / 2, dice(&mut random).abs() / 2);
        let price = |cents: i64| Price(cents * CENT);
        Candle {
            time: *stamp,
            open: price(open),
            high: price(open.max(close) + up),
            low: price((open.min(close) - down).max(1)),
            close: price(close),
            volume: 1_000 + random.below(100_000) as i64,
            turnover: Turnover(0),
            session: Session::Intraday,
        }
    })
}

impl Feed for World {
    fn venue(&self, market: Market) -> &Venue {
        self.venues.of(market)
    }

    fn security(&self, symbol: &Symbol, _: Date) -> Option<Security> {
        self.candles.get(place(symbol)?)?;
        let lot = Quantity::whole(1);
        Some(Security { kind: Kind::Equity, lot, currency: Currency::USD, is_delisted: false })
    }

    fn candles(&self, symbol: &Symbol, after: Timestamp, through: Timestamp, out: &mut Vec<EffectiveCandle>) {
        let Some((_, rest)) = self.split(symbol, after) else { return };
        let count = rest.iter().take_while(|effective| effective.at <= through).count();
        out.extend_from_slice(rest.get(..count).unwrap_or_default());
    }

    fn scan(
        &self,
        symbol: &Symbol,
        after: Timestamp,
        through: Timestamp,
        see: &mut dyn FnMut(&EffectiveCandle),
    ) {
        let Some((_, rest)) = self.split(symbol, after) else { return };
        rest.iter().take_while(|effective| effective.at <= through).for_each(see);
    }

    fn mark(&self, symbol: &Symbol, at: Timestamp) -> Option<Price> {
        let (acted, rest) = self.split(symbol, at)?;
        let running = rest
            .first()
            .filter(|effective| effective.candle.time <= at)
            .map(|effective| effective.candle.open);
        running.or_else(|| acted.last().map(|effective| effective.candle.close))
    }

    fn close_before(&self, _: &Symbol, _: Date) -> Option<Price> {
        None
    }

    fn newest(&self, symbol: &Symbol, at: Timestamp) -> Option<EffectiveCandle> {
        let (acted, rest) = self.split(symbol, at)?;
        rest.first().filter(|effective| effective.candle.time <= at).or_else(|| acted.last()).copied()
    }

    fn intraday_close(&self, _: &Symbol, _: Date) -> Option<Price> {
        None
    }

    fn actions(&self, _: &Symbol, _: Date, _: Date) -> Vec<CorporateAction> {
        Vec::new()
    }

    fn rate(&self, _: Currency, _: Date) -> Option<Rate> {
        Some(self.rate)
    }

    fn factors(&self, _: &Symbol) -> Option<Factors> {
        None
    }
}
