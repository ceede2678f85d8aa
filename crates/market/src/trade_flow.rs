//! Capital flow and distribution: classifies trades as inflow or outflow, and by size.
//!
//! Only trades in regular hours are counted, and only if their type moves the price. The source
//! reports the side of a trade; if it does not, the tick rule applies. A trade without a known side
//! is not counted, not even for the size thresholds.

use std::ops::RangeInclusive;

use crate::{
    Date, Session, Timestamp, TradeDirection, TradeEffect, TradeHours, TradeType, Trades, Turnover, Venue,
};

/// A trade that is part of the capital flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowTrade {
    pub time: Timestamp,
    /// Stamp of the one-minute candle that contains the trade.
    pub minute: Timestamp,
    /// Price times volume, in millionths.
    pub amount: i64,
    /// Whether the trade is an inflow; otherwise it is an outflow.
    pub is_inflow: bool,
}

impl FlowTrade {
    /// Calls `each` for every trade of a day that is part of the capital flow, up to and including
    /// `through`.
    pub fn each(
        venue: &Venue,
        day: Date,
        trades: &Trades,
        through: Timestamp,
        mut each: impl FnMut(FlowTrade),
    ) {
        let (mut hours, mut ticks) = (TradeHours::new(venue), TickRule::default());
        let known = trades.within(i64::MIN..through.0.saturating_add(1)).end;
        let mut next = 0;
        // Process whole minutes at a time, because a busy minute has hundreds of trades.
        while let Some(&first) = trades.time.get(next..known).and_then(<[i64]>::first) {
            let begin = next;
            let Ok((place, until)) = hours.place_until(Timestamp(first)) else {
                next += 1;
                continue;
            };
            next = trades.within(i64::MIN..until.0).end.min(known);
            let regular = place.day == day && place.session == Session::Intraday;
            let Some(minute) = place.minute.filter(|_| regular) else { continue };
            let counts =
                |kind: TradeType| kind.effect(venue.market(), place.session) == TradeEffect::PriceAndVolume;
            for trade in trades.iter_rows(begin..next).filter(|trade| counts(trade.kind)) {
                let by_tick = ticks.see(trade.price.0);
                let side = match trade.direction {
                    TradeDirection::Up => Some(true),
                    TradeDirection::Down => Some(false),
                    TradeDirection::Neutral => None,
                    TradeDirection::Untold => by_tick,
                };
                if let Some(is_inflow) = side {
                    each(FlowTrade { time: trade.time, minute, amount: trade.amount(), is_inflow });
                }
            }
        }
    }
}

/// The tick rule: a trade above the last different price is a buy, and a trade below that price is
/// a sell. The side is unknown before the first price change.
#[derive(Clone, Copy, Debug, Default)]
struct TickRule {
    last: Option<i64>,
    side: Option<bool>,
}

impl TickRule {
    fn see(&mut self, price: i64) -> Option<bool> {
        if let Some(last) = self.last.filter(|last| *last != price) {
            self.side = Some(price > last);
        }
        self.last = Some(price);
        self.side
    }
}

/// Shares of total turnover, in percent, that determine the size thresholds. `medium` includes the
/// share of large trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClassShares {
    pub large: u8,
    pub medium: u8,
}

impl Default for ClassShares {
    fn default() -> ClassShares {
        ClassShares { large: 30, medium: 55 }
    }
}

/// Minimum amounts of large and medium trades, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapitalClasses {
    pub large: i64,
    pub medium: i64,
}

/// Number of histogram buckets: 64 per power of two. The bucket sums locate the bucket that
/// contains a threshold, so only the few amounts in that bucket must be sorted.
const BUCKETS: usize = 64 * 64;

/// Amounts of the trades in the capital flow of one or more days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DaySizes {
    amounts: Vec<i64>,
    /// Sum of the amounts in each bucket.
    sums: Vec<i128>,
}

impl DaySizes {
    pub fn of(amounts: Vec<i64>) -> DaySizes {
        let mut sizes = DaySizes { amounts: Vec::new(), sums: vec![0i128; BUCKETS] };
        sizes.count(&amounts);
        sizes.amounts = amounts;
        sizes
    }

    /// Adds the amounts of another day.
    pub fn add(&mut self, amounts: &[i64]) {
        self.count(amounts);
        self.amounts.extend_from_slice(amounts);
    }

    fn count(&mut self, amounts: &[i64]) {
        for amount in amounts {
            if let Some(sum) = self.sums.get_mut(bucket(*amount)) {
                *sum += i128::from(*amount);
            }
        }
    }

    /// Returns the number of trades.
    pub fn len(&self) -> usize {
        self.amounts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.amounts.is_empty()
    }
}

impl CapitalClasses {
    /// Computes the size thresholds from the amounts of several days. Amounts are summed in
    /// descending order, and a threshold is the amount at which the sum reaches its share of the
    /// total. Returns `None` if the total is zero.
    pub fn of(days: &[&DaySizes], shares: ClassShares) -> Option<CapitalClasses> {
        let mut sums = vec![0i128; BUCKETS];
        for day in days {
            sums.iter_mut().zip(&day.sums).for_each(|(sum, of_day)| *sum += of_day);
        }
        let total: i128 = sums.iter().sum();
        (total > 0).then(|| CapitalClasses {
            large: reached(days, &sums, total, shares.large),
            medium: reached(days, &sums, total, shares.medium),
        })
    }
}

fn bucket(amount: i64) -> usize {
    let amount = amount.unsigned_abs().max(1);
    let exponent = amount.ilog2();
    let fraction = if exponent >= 6 { amount >> (exponent - 6) } else { amount << (6 - exponent) };
    (exponent as usize) * 64 + (fraction & 63) as usize
}

/// Returns the range of amounts in a bucket. Callers use the range as a filter, because comparing
/// with two bounds is faster than computing the bucket of each amount.
fn around(place: usize) -> RangeInclusive<i64> {
    let (exponent, fraction) = (place / 64, (place % 64) as u64);
    let (low, step) = match exponent.checked_sub(6) {
        Some(shift) => ((64 | fraction) << shift, 1u64 << shift),
        None => (1 << exponent, 1 << exponent),
    };
    let bound = |bound: u64| i64::try_from(bound).unwrap_or(i64::MAX);
    bound(low)..=bound(low.saturating_add(step - 1))
}

fn reached(days: &[&DaySizes], sums: &[i128], total: i128, percent: u8) -> i64 {
    let enough = |sum: i128| sum * 100 >= total * i128::from(percent);
    let mut sum = 0;
    for (place, of_bucket) in sums.iter().enumerate().rev().filter(|(_, sum)| **sum > 0) {
        if !enough(sum + of_bucket) {
            sum += of_bucket;
            continue;
        }
        let near = around(place);
        let all = days.iter().flat_map(|day| &day.amounts).copied();
        let mut amounts: Vec<i64> =
            all.filter(|amount| near.contains(amount) && bucket(*amount) == place).collect();
        amounts.sort_unstable_by(|a, b| b.cmp(a));
        for amount in amounts {
            sum += i128::from(amount);
            if enough(sum) {
                return amount;
            }
        }
    }
    1
}

/// A day's amounts by trade size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapitalBySize {
    pub large: Turnover,
    pub medium: Turnover,
    pub small: Turnover,
}

impl CapitalBySize {
    /// Adds an amount to its size class. Branchless, because the size of the next trade is
    /// unpredictable.
    fn add(&mut self, classes: CapitalClasses, amount: i64) {
        let large = amount >= classes.large;
        let medium = !large && amount >= classes.medium;
        let part = |counts: bool| i128::from(if counts { amount } else { 0 });
        self.large.0 += part(large);
        self.medium.0 += part(medium);
        self.small.0 += part(!large && !medium);
    }

    pub fn sum(&self) -> Turnover {
        Turnover(self.large.0 + self.medium.0 + self.small.0)
    }
}

/// Inflow and outflow of one day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapitalDay {
    pub capital_in: CapitalBySize,
    pub capital_out: CapitalBySize,
    /// Time of the last counted trade, or `None` before the first.
    pub last: Option<Timestamp>,
}

impl CapitalDay {
    pub fn add(&mut self, classes: CapitalClasses, trade: &FlowTrade) {
        let side = if trade.is_inflow { &mut self.capital_in } else { &mut self.capital_out };
        side.add(classes, trade.amount);
        self.last = Some(trade.time);
    }

    /// Rounds the six sums to thousandths, which is the output format. Each sum is rounded to
    /// nearest, and then as few sums as necessary are rounded the other way, so that total inflow
    /// minus total outflow equals the rounded net flow. Six sums rounded independently may be off
    /// by three thousandths.
    pub fn in_thousandths(&self) -> CapitalDay {
        let CapitalDay { capital_in, capital_out, last } = *self;
        let of = |exact: Turnover, sign: i128| Rounded { exact: exact.0, written: rounded(exact.0), sign };
        let mut sums = [
            of(capital_in.large, 1),
            of(capital_in.medium, 1),
            of(capital_in.small, 1),
            of(capital_out.large, -1),
            of(capital_out.medium, -1),
            of(capital_out.small, -1),
        ];
        let net = rounded(capital_in.sum().0 - capital_out.sum().0);
        let mut missing = net - sums.iter().map(|sum| sum.written * sum.sign).sum::<i128>();
        while missing != 0 {
            let step = THOUSANDTH * missing.signum();
            // Change the sum whose rounding error is largest in the needed direction.
            let farthest = sums.iter_mut().max_by_key(|sum| (sum.exact - sum.written) * sum.sign * step);
            let Some(sum) = farthest else { break };
            sum.written += step * sum.sign;
            missing -= step;
        }
        let [large, medium, small, out_large, out_medium, out_small] = sums.map(|sum| Turnover(sum.written));
        CapitalDay {
            capital_in: CapitalBySize { large, medium, small },
            capital_out: CapitalBySize { large: out_large, medium: out_medium, small: out_small },
            last,
        }
    }
}

/// One thousandth as turnover, which is in millionths.
const THOUSANDTH: i128 = 1_000;

/// A sum and its rounded value.
#[derive(Clone, Copy, Debug)]
struct Rounded {
    exact: i128,
    written: i128,
    /// 1 for inflow, -1 for outflow.
    sign: i128,
}

/// Rounds to thousandths, half away from zero, like [`Turnover::text`].
fn rounded(millionths: i128) -> i128 {
    let whole = (millionths.abs() + THOUSANDTH / 2) / THOUSANDTH * THOUSANDTH;
    whole * millionths.signum()
}
