use std::ops::Range;

use market::{Candle, Candles, Market, Price, Segment, Session, Timestamp, Turnover, Venue};

use super::course::{Course, bridge};
use super::securities::DemoSecurity;
use super::walk::Random;
use super::walk::{DayPlan, day_key};

/// One minute in which trades occur.
#[derive(Clone, Copy, Debug)]
struct Minute {
    time: i64,
    /// Unix time at which the candle is complete. The closing auction takes several minutes but has
    /// a single timestamp.
    complete: i64,
    session: Session,
    /// Expected share of the day's volume, as a relative weight.
    weight: f64,
}

/// Share of a regular day's volume that is in one-minute candles. The remainder stands for opening
/// auctions and odd lots.
const SHARE_IN_MINUTES: f64 = 0.985;

/// Appends the one-minute candles of one trading day that are complete at `now`, in ascending
/// order. In regular hours the prices go from the plan's open to its close and touch its high and
/// low. Pre-market prices lead from the previous close to the open, and post-market prices continue
/// from the close.
pub(super) fn append(
    out: &mut Candles,
    security: &DemoSecurity,
    venue: &Venue,
    plan: &DayPlan,
    now: Timestamp,
) {
    let minutes = minutes_of(security, venue, plan);
    let core = minutes.iter().position(|m| m.session == Session::Intraday).unwrap_or(minutes.len());
    let (before, rest) = minutes.split_at(core);
    let after = rest.iter().position(|m| m.session != Session::Intraday).unwrap_or(rest.len());
    let (core, after) = rest.split_at(after);

    let mut sink = Sink { out, now };
    extended(&mut sink, security, plan, before, plan.reference, Some(plan.open));
    regular(&mut sink, security, plan, core);
    extended(&mut sink, security, plan, after, plan.close, None);
}

/// Collects the candles that are complete at `now`, and drops later candles.
struct Sink<'a> {
    out: &'a mut Candles,
    now: Timestamp,
}

impl Sink<'_> {
    fn push(&mut self, minute: &Minute, prices: [i64; 4], volume: i64) {
        if minute.complete > self.now.0 {
            return;
        }
        let [open, high, low, close] = prices;
        self.out.push(Candle {
            time: Timestamp(minute.time),
            open: Price(open),
            high: Price(high),
            low: Price(low),
            close: Price(close),
            volume,
            turnover: turnover(prices, volume),
            session: minute.session,
        });
    }
}

/// Returns the volume times an average price between low and high, truncated to three decimals.
/// Never less than the volume times the low.
pub(super) fn turnover([open, high, low, close]: [i64; 4], volume: i64) -> Turnover {
    let exact = i128::from((open + high + low + close) / 4) * i128::from(volume);
    Turnover((exact / 1000 * 1000).max(i128::from(low) * i128::from(volume)))
}

/// Returns the minutes of a day in which the security trades.
fn minutes_of(security: &DemoSecurity, venue: &Venue, plan: &DayPlan) -> Vec<Minute> {
    let Some(day) = venue.day(plan.date) else { return Vec::new() };
    let mut random = Random::keyed(security.symbol, 3, day_key(plan.date));
    let regular: i32 =
        day.segments.iter().filter(|s| s.session == Session::Intraday).map(|s| s.minutes()).sum();
    let halt = halt(security, plan, &mut random, regular);
    // On a day with low volume there are fewer minutes than lots, so that every minute gets a lot.
    // The first and the last minute always have trades.
    let room = ((plan.volume / security.lot_size) as f64 / 2.5 - 2.0).max(0.0) / f64::from(regular.max(1));
    let chance = if security.is_index() { 1.0 } else { security.model.minute_chance.min(room) };

    let mut minutes = Vec::with_capacity(1024);
    let mut elapsed = 0;
    let mut segment_start = i64::MIN;
    let mut segment = None;
    for (Timestamp(time), slot) in day.minutes() {
        if segment != Some(slot.segment) {
            (segment, segment_start) = (Some(slot.segment), time);
        }
        let Segment { session, tail, .. } = slot.segment;
        let draw = random.unit();
        if session == Session::Intraday {
            let (first, last) = (elapsed == 0, elapsed == regular - 1);
            let closing = last && tail > 0;
            // The auctions always have trades, even on a day with low volume. Otherwise a quiet
            // start would look like a file that begins late.
            let traded = first || last || (draw < chance && !halt.contains(&elapsed));
            let weight = profile(elapsed, regular, security.region.market(), closing);
            let complete = time + if closing { i64::from(tail) * 60 } else { 60 };
            elapsed += 1;
            if traded {
                minutes.push(Minute { time, complete, session, weight });
            }
        } else {
            let position = (time - segment_start) as f64 / 60.0 / f64::from(slot.segment.minutes());
            if draw < extended_chance(security, session, position) {
                minutes.push(Minute { time, complete: time + 60, session, weight: 1.0 });
            }
        }
    }
    minutes
}

/// Returns the minutes of a trading halt, counted from the open. Empty on a day without a halt.
fn halt(security: &DemoSecurity, plan: &DayPlan, random: &mut Random, regular: i32) -> Range<i32> {
    let (start, length) = (random.unit(), random.unit());
    if !security.model.quirk.halts() || plan.wildness < 2.5 || regular < 200 {
        return 0..0;
    }
    let start = 15 + (start * f64::from(regular - 120)) as i32;
    start..start + 5 + (length * 70.0) as i32
}

/// Returns a minute's weight in the day's volume. The weight is high at the open, low at noon, and
/// rises towards the close. In Hong Kong the closing auction has a tenth of the volume.
fn profile(elapsed: i32, regular: i32, market: Market, closing: bool) -> f64 {
    let x = 2.0 * f64::from(elapsed) / f64::from(regular) - 1.0;
    let edge = 0.6 + 2.0 * x * x * x * x;
    match (market, closing) {
        (Market::Hk, true) => f64::from(regular) * 0.11,
        (Market::Cn, true) => f64::from(regular) * 0.015,
        _ if elapsed == 0 => edge * 2.5,
        _ => edge,
    }
}

/// Returns the probability of a trade in a minute outside regular hours. The probability is higher
/// near regular hours and low overnight.
fn extended_chance(security: &DemoSecurity, session: Session, position: f64) -> f64 {
    let liquidity = security.model.minute_chance * security.model.minute_chance;
    match session {
        _ if security.is_index() => 0.0,
        Session::Overnight if !security.model.quirk.overnight() => 0.0,
        Session::Overnight => 0.16 * liquidity,
        Session::Pre => (0.12 + 0.6 * position * position) * liquidity,
        Session::Post => (0.15 + 0.6 * (1.0 - position) * (1.0 - position)) * liquidity,
        Session::Intraday => 0.0,
    }
}

/// Appends the candles of regular hours, from the open through both extremes to the close. No price
/// is beyond the extremes.
fn regular(sink: &mut Sink<'_>, security: &DemoSecurity, plan: &DayPlan, minutes: &[Minute]) {
    let DayPlan { open, high, low, close, volume, .. } = *plan;
    let mut random = Random::keyed(security.symbol, 4, day_key(plan.date));
    let count = minutes.len();
    let course = Course::draw(&mut random, plan, count);
    let lots = ((volume as f64 * SHARE_IN_MINUTES) as i64 / security.lot_size - count as i64).max(0);
    let weights: Vec<f64> =
        minutes.iter().map(|m| m.weight * (0.35 + 1.3 * random.unit() * random.unit())).collect();
    let weight: f64 = weights.iter().sum();

    let ends = course.values.windows(2);
    for (index, ((minute, share), ends)) in minutes.iter().zip(&weights).zip(ends).enumerate() {
        let &[before, after] = ends else { continue };
        let start = if index == 0 { open } else { quote(&mut random, security, before).clamp(low, high) };
        let end =
            if index + 1 == count { close } else { quote(&mut random, security, after).clamp(low, high) };
        let (up, down) = wicks_within(&mut random, security, (start, end), course.step, (low, high));
        let top = if index == course.at_high { high } else { up };
        let bottom = if index == course.at_low { low } else { down };
        let traded = if volume == 0 { 0 } else { 1 + (lots as f64 * share / weight) as i64 };
        sink.push(minute, [start, top, bottom, end], traded * security.lot_size);
    }
}

/// Returns a traded price near `value`. Trades bounce between bid and ask.
fn quote(random: &mut Random, security: &DemoSecurity, value: f64) -> i64 {
    let tick = security.tick(value as i64) as f64;
    security.snap(value + (random.unit() - 0.5) * 1.1 * tick)
}

fn wicks(random: &mut Random, security: &DemoSecurity, start: i64, end: i64, step: f64) -> (i64, i64) {
    let (up, down) = (random.unit(), random.unit());
    let step = step.max(0.8 * security.tick(start) as f64);
    let top = security.snap(start.max(end) as f64 + up * up * step);
    let bottom = security.snap(start.min(end) as f64 - down * down * step);
    (top.max(start.max(end)), bottom.min(start.min(end)))
}

/// Returns the high and low of a minute within the day's range. Wicks are shortened near the
/// extremes rather than clamped, because clamped wicks would touch the day's high in a dozen
/// minutes.
fn wicks_within(
    random: &mut Random,
    security: &DemoSecurity,
    (start, end): (i64, i64),
    step: f64,
    (low, high): (i64, i64),
) -> (i64, i64) {
    let (up, down) = (random.unit(), random.unit());
    let step = step.max(0.8 * security.tick(start) as f64);
    let (top, bottom) = (start.max(end), start.min(end));
    let shortened = |wick: f64, room: i64| match room {
        0 => 0.0,
        _ => room as f64 * wick / (room as f64 + wick),
    };
    let highest = security.snap(top as f64 + shortened(up * up * step, high - top));
    let lowest = security.snap(bottom as f64 - shortened(down * down * step, bottom - low));
    (highest.clamp(top, high), lowest.clamp(low, bottom))
}

/// Appends the candles of extended hours as a random walk with small moves, which ends at `target`
/// if it is given.
fn extended(
    sink: &mut Sink<'_>,
    security: &DemoSecurity,
    plan: &DayPlan,
    minutes: &[Minute],
    from: i64,
    target: Option<i64>,
) {
    let Some(head) = minutes.first() else { return };
    // The pre- and post-market use separate random streams.
    let mut random = Random::keyed(security.symbol, 5 + u64::from(head.session.code()), day_key(plan.date));
    let daily = plan.reference as f64 * security.model.volatility / 100.0;
    let step = daily * 0.3 / (minutes.len() as f64).sqrt();
    let mean = plan.volume as f64 * 0.03 / minutes.len() as f64;
    let (mut path, mut price) = (from as f64, from);
    for (index, minute) in minutes.iter().enumerate() {
        path = match target {
            Some(target) => bridge(&mut random, path, target as f64, minutes.len() - index, step),
            None => path + random.normal() * step,
        };
        let end = security.snap(path);
        let (top, bottom) = wicks(&mut random, security, price, end, step);
        let thin = if minute.session == Session::Overnight { 0.3 } else { 1.0 };
        let skew = random.unit() * random.unit();
        let volume = 1 + (mean * thin * 4.0 * skew * random.unit()) as i64;
        sink.push(minute, [price, top, bottom, end], volume);
        price = end;
    }
}
