//! Converts candles to small residuals and back. All arithmetic wraps, so that the conversion is
//! exactly reversible for any candle.

use std::ops::Range;

use market::Candles;

use crate::BlockError;
use crate::unit::{Divisor, common_divisor, common_unit, gcd};

/// Number of columns in a page. The columns are, in order: time, open, close, high, low, volume,
/// turnover, and the upper half of wide turnovers.
pub(crate) const COLUMNS: usize = 8;
/// Number of leading columns needed to decode times.
pub(crate) const TIMES: usize = 1;
/// Number of leading columns needed to decode closes.
pub(crate) const CLOSES: usize = 3;

/// Units of a block: the greatest common divisors of its time steps in seconds, prices, volumes and
/// turnovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) time: u64,
    pub(crate) price: i64,
    pub(crate) volume: i64,
    pub(crate) turnover: i64,
}

/// Prices whose mean is used to estimate the turnover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mean {
    /// No estimate.
    #[default]
    None,
    HighLow,
    All,
    /// No estimate, because a turnover does not fit in 64 bits. The upper halves of the turnovers
    /// are a separate column.
    Wide,
}

impl Mean {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    pub(crate) fn from_code(code: u8) -> Option<Mean> {
        [Mean::None, Mean::HighLow, Mean::All, Mean::Wide].into_iter().find(|mean| mean.code() == code)
    }
}

/// Estimate of a turnover: (sum of prices × volume) × `factor` / 2^`shift`, with all values in
/// units. Uses a fixed-point factor, because a 128-bit division per row is slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guess {
    pub(crate) mean: Mean,
    pub(crate) factor: u64,
    pub(crate) shift: u8,
}

/// Largest valid shift of a 128-bit number.
pub(crate) const SHIFT_MAX: u8 = 127;
/// Possible numbers of shares per unit of volume. Files from mainland China may have volumes in
/// lots of 100 shares.
const SCALES: [u128; 2] = [1, 100];
/// Maximum number of rows sampled to choose an estimate.
const SAMPLE: usize = 256;

impl Guess {
    /// Returns the sum of the prices that this estimate uses.
    #[inline]
    fn sum(self, open: i64, high: i64, low: i64, close: i64) -> i64 {
        match self.mean {
            Mean::None | Mean::Wide => 0,
            Mean::HighLow => high.wrapping_add(low),
            Mean::All => high.wrapping_add(low).wrapping_add(open).wrapping_add(close),
        }
    }

    #[inline]
    fn of(self, sum: i64, volume: i64) -> i64 {
        let product = sum.wrapping_mul(volume) as u64;
        ((u128::from(product) * u128::from(self.factor)) >> self.shift) as i64
    }

    fn new(mean: Mean, scale: u128, units: &Units) -> Option<Guess> {
        let prices = match mean {
            Mean::HighLow => 2,
            Mean::All => 4,
            Mean::None | Mean::Wide => return Some(Guess { mean, ..Guess::default() }),
        };
        let unit = |unit: i64| u128::from(unit.unsigned_abs());
        let numerator = unit(units.price).checked_mul(unit(units.volume))?.checked_mul(scale)?;
        let denominator = unit(units.turnover) * prices;
        let (mut factor, mut rest) = (u64::try_from(numerator / denominator).ok()?, numerator % denominator);
        let mut shift = 0;
        while rest != 0 && factor < 1 << 62 && shift < SHIFT_MAX {
            rest *= 2;
            factor = factor * 2 + u64::from(rest >= denominator);
            rest %= denominator;
            shift += 1;
        }
        Some(Guess { mean, factor, shift })
    }
}

/// Candles as residuals, with the parameters needed to decode them.
#[derive(Debug)]
pub(crate) struct Residuals {
    pub(crate) units: Units,
    pub(crate) guess: Guess,
    pub(crate) columns: [Vec<i64>; COLUMNS],
    /// Close of the row before each page, in price units.
    pub(crate) previous_closes: Vec<i64>,
}

/// Columns of the rows to encode, all of the same length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) time: &'a [i64],
    open: &'a [i64],
    high: &'a [i64],
    low: &'a [i64],
    close: &'a [i64],
    volume: &'a [i64],
    turnover: &'a [i128],
    pub(crate) session: &'a [market::Session],
}

impl<'a> Rows<'a> {
    pub(crate) fn of(candles: &'a Candles, rows: Range<usize>) -> Result<Rows<'a>, BlockError> {
        let len = candles.time.len();
        let lengths =
            [&candles.open, &candles.high, &candles.low, &candles.close, &candles.volume].map(Vec::len);
        if lengths.iter().any(|&other| other != len)
            || candles.turnover.len() != len
            || candles.session.len() != len
        {
            return Err(BlockError::Ragged);
        }
        let no_such = || BlockError::NoSuchRows { start: rows.start, end: rows.end, len };
        let cut = |column: &'a [i64]| column.get(rows.clone()).ok_or_else(no_such);
        Ok(Rows {
            time: cut(&candles.time)?,
            open: cut(&candles.open)?,
            high: cut(&candles.high)?,
            low: cut(&candles.low)?,
            close: cut(&candles.close)?,
            volume: cut(&candles.volume)?,
            turnover: candles.turnover.get(rows.clone()).ok_or_else(no_such)?,
            session: candles.session.get(rows.clone()).ok_or_else(no_such)?,
        })
    }
}

impl Residuals {
    pub(crate) fn of(rows: &Rows<'_>, page_rows: usize) -> Residuals {
        let (time, time_unit) = steps(rows.time);
        let price_unit = common_unit(&[rows.open, rows.high, rows.low, rows.close]);
        let volume_unit = common_unit(&[rows.volume]);
        let open = divided(rows.open, price_unit);
        let high = divided(rows.high, price_unit);
        let low = divided(rows.low, price_unit);
        let close = divided(rows.close, price_unit);
        let volume = divided(rows.volume, volume_unit);

        let (turnover, turnover_unit) = Amounts::of(rows.turnover);
        let units =
            Units { time: time_unit, price: price_unit, volume: volume_unit, turnover: turnover_unit };

        // The first row has no previous close, so its open is used instead.
        let mut before = Vec::with_capacity(close.len());
        before.extend(open.first());
        before.extend(close.iter().take(close.len().saturating_sub(1)));
        let previous_closes = before.iter().copied().step_by(page_rows).collect();
        let open_gap = zipped(&open, before.iter().copied(), |open, before| open.wrapping_sub(before));
        let body = zipped(&close, open.iter().copied(), |close, open| close.wrapping_sub(open));
        let tops = open.iter().zip(&close).map(|(&open, &close)| open.max(close));
        let above = zipped(&high, tops, |high, top| high.wrapping_sub(top));
        let bottoms = open.iter().zip(&close).map(|(&open, &close)| open.min(close));
        let below = zipped(&low, bottoms, |low, bottom| bottom.wrapping_sub(low));

        let ticks = Ticks { open: &open, high: &high, low: &low, close: &close, volume: &volume };
        let (guess, amount, amount_high) = ticks.amounts(turnover, &units);
        let columns = [time, open_gap, body, above, below, volume, amount, amount_high];
        Residuals { units, guess, columns, previous_closes }
    }
}

#[derive(Clone, Copy)]
struct Ticks<'a> {
    open: &'a [i64],
    high: &'a [i64],
    low: &'a [i64],
    close: &'a [i64],
    volume: &'a [i64],
}

impl Ticks<'_> {
    /// Returns the turnover estimate of every `step`-th row, starting with the first row.
    fn guesses(&self, guess: Guess, step: usize) -> impl Iterator<Item = i64> {
        let prices = self.open.iter().zip(self.high).zip(self.low).zip(self.close).zip(self.volume);
        prices.step_by(step).map(move |((((&open, &high), &low), &close), &volume)| {
            guess.of(guess.sum(open, high, low, close), volume)
        })
    }

    fn amounts(&self, turnover: Amounts, units: &Units) -> (Guess, Vec<i64>, Vec<i64>) {
        let mut amounts = match turnover {
            Amounts::Narrow(amounts) => amounts,
            Amounts::Wide { low, high } => {
                return (Guess { mean: Mean::Wide, ..Guess::default() }, low, high);
            }
        };
        let guess = self.best_guess(&amounts, units);
        for (amount, guess) in amounts.iter_mut().zip(self.guesses(guess, 1)) {
            *amount = amount.wrapping_sub(guess);
        }
        let high = vec![0; amounts.len()];
        (guess, amounts, high)
    }

    /// Returns the estimate whose residuals have the fewest bits in a sample of the rows.
    fn best_guess(&self, amounts: &[i64], units: &Units) -> Guess {
        let step = amounts.len().div_ceil(SAMPLE).max(1);
        let cost = |guess: &Guess| -> u32 {
            let pairs = amounts.iter().step_by(step).zip(self.guesses(*guess, step));
            pairs.map(|(amount, guess)| 64 - amount.wrapping_sub(guess).unsigned_abs().leading_zeros()).sum()
        };
        let means = SCALES.into_iter().flat_map(|scale| [(Mean::HighLow, scale), (Mean::All, scale)]);
        let guesses = std::iter::once((Mean::None, 1)).chain(means);
        guesses
            .filter_map(|(mean, scale)| Guess::new(mean, scale, units))
            .min_by_key(cost)
            .unwrap_or_default()
    }
}

fn zipped(values: &[i64], others: impl Iterator<Item = i64>, combine: impl Fn(i64, i64) -> i64) -> Vec<i64> {
    values.iter().zip(others).map(|(&value, other)| combine(value, other)).collect()
}

/// Turnovers divided by their unit.
enum Amounts {
    Narrow(Vec<i64>),
    /// At least one turnover does not fit in 64 bits.
    Wide {
        low: Vec<i64>,
        high: Vec<i64>,
    },
}

impl Amounts {
    fn of(turnover: &[i128]) -> (Amounts, i64) {
        if let Some(narrow) = narrowed(turnover) {
            let unit = common_unit(&[&narrow]);
            return (Amounts::Narrow(divided(&narrow, unit)), unit);
        }
        let unit = common_wide_unit(turnover);
        let divided: Vec<i128> = turnover.iter().map(|value| value / i128::from(unit)).collect();
        let amounts = narrowed(&divided).map_or_else(
            || Amounts::Wide {
                low: divided.iter().map(|&value| value as i64).collect(),
                high: divided.iter().map(|value| (value >> 64) as i64).collect(),
            },
            Amounts::Narrow,
        );
        (amounts, unit)
    }
}

fn narrowed(values: &[i128]) -> Option<Vec<i64>> {
    let fits = |fits: bool, &value: &i128| fits & (value == i128::from(value as i64));
    values.iter().fold(true, fits).then(|| values.iter().map(|&value| value as i64).collect())
}

/// Returns the differences between consecutive times, divided by their greatest common divisor, and
/// that divisor. The first row repeats the difference of the second row, so that evenly spaced
/// candles have a constant column.
fn steps(times: &[i64]) -> (Vec<i64>, u64) {
    let distances = || times.iter().zip(times.iter().skip(1)).map(|(&a, &b)| b.wrapping_sub(a));
    let mut steps = Vec::with_capacity(times.len());
    steps.push(distances().next().unwrap_or(0));
    steps.extend(distances());
    let unit = common_divisor(0, &steps, |distance| distance as u64).max(1);
    let divisor = Divisor::of(unit);
    steps.iter_mut().for_each(|step| *step = divisor.divide(*step as u64) as i64);
    (steps, unit)
}

fn divided(values: &[i64], unit: i64) -> Vec<i64> {
    let divisor = Divisor::of(unit.unsigned_abs());
    values.iter().map(|&value| divisor.divide_signed(value)).collect()
}

fn common_wide_unit(values: &[i128]) -> i64 {
    let mut unit = 0u64;
    for value in values {
        let value = value.unsigned_abs();
        unit = match u64::try_from(value) {
            Ok(narrow) => gcd(unit, narrow),
            // The remainder is smaller than the unit, so the remaining steps of Euclid's algorithm
            // fit in 64 bits.
            Err(_) if unit != 0 => gcd(unit, u64::try_from(value % u128::from(unit)).unwrap_or(1)),
            Err(_) => return 1,
        };
    }
    i64::try_from(unit).unwrap_or(1).max(1)
}

/// A page being decoded. The columns first hold residuals, which are then replaced by values in
/// units.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) rows: usize,
    pub(crate) columns: [Vec<i64>; COLUMNS],
}

impl Page {
    pub(crate) fn new(page_rows: usize) -> Page {
        Page { rows: 0, columns: std::array::from_fn(|_| vec![0; page_rows]) }
    }

    pub(crate) fn undo_times(&mut self, first_time: i64, unit: u64) {
        let [time, ..] = &mut self.columns;
        // The page's first step is relative to the previous page, so start one step before the
        // page's first time.
        let mut at = first_time.wrapping_sub(time.first().map_or(0, |step| step.wrapping_mul(unit as i64)));
        for value in time.iter_mut().take(self.rows) {
            at = at.wrapping_add(value.wrapping_mul(unit as i64));
            *value = at;
        }
    }

    pub(crate) fn undo_closes(&mut self, previous_close: i64) {
        let [_, open, close, ..] = &mut self.columns;
        let mut at = previous_close;
        for (open, close) in open.iter_mut().zip(close).take(self.rows) {
            *open = at.wrapping_add(*open);
            at = open.wrapping_add(*close);
            *close = at;
        }
    }

    /// Decodes the remaining columns of `rows` and appends the candles to `out`. Times and closes
    /// must already be decoded. Uses one pass per column, because the compiler vectorizes loops
    /// over one or two columns.
    pub(crate) fn append(&mut self, rows: Range<usize>, units: &Units, guess: Guess, out: &mut Candles) {
        let [time, open, close, high, low, volume, turnover, turnover_high] =
            self.columns.each_mut().map(|column| column.get_mut(rows.clone()).unwrap_or_default());
        for ((high, low), (open, close)) in
            high.iter_mut().zip(low.iter_mut()).zip(open.iter().zip(close.iter()))
        {
            *high = (*open).max(*close).wrapping_add(*high);
            *low = (*open).min(*close).wrapping_sub(*low);
        }
        out.time.extend_from_slice(time);
        let scaled = |column: &[i64], unit: i64, out: &mut Vec<i64>| match unit {
            1 => out.extend_from_slice(column),
            _ => out.extend(column.iter().map(|value| value.wrapping_mul(unit))),
        };
        scaled(open, units.price, &mut out.open);
        scaled(high, units.price, &mut out.high);
        scaled(low, units.price, &mut out.low);
        scaled(close, units.price, &mut out.close);
        scaled(volume, units.volume, &mut out.volume);

        // The sums of prices overwrite residuals that are no longer needed.
        match guess.mean {
            Mean::None | Mean::Wide => {}
            Mean::HighLow => add(high, low),
            Mean::All => {
                add(high, low);
                add(open, close);
                add(high, open);
            }
        }
        let unit = i128::from(units.turnover);
        match guess.mean {
            Mean::None => out.turnover.extend(turnover.iter().map(|amount| i128::from(*amount) * unit)),
            Mean::Wide => {
                out.turnover.extend(turnover_high.iter().zip(turnover.iter()).map(|(high, low)| {
                    (i128::from(*high) << 64 | i128::from(*low as u64)).wrapping_mul(unit)
                }))
            }
            Mean::HighLow | Mean::All => {
                let guesses = high.iter().zip(volume.iter()).map(|(sum, volume)| guess.of(*sum, *volume));
                let amounts = turnover.iter().zip(guesses).map(|(rest, guess)| rest.wrapping_add(guess));
                out.turnover.extend(amounts.map(|amount| i128::from(amount) * unit));
            }
        }
    }
}

fn add(to: &mut [i64], other: &[i64]) {
    for (to, other) in to.iter_mut().zip(other) {
        *to = to.wrapping_add(*other);
    }
}
