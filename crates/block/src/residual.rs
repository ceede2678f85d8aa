//! Candles to small numbers and back. Every step wraps, so that each is its own exact inverse for any candle.

use std::ops::Range;

use market::Candles;

use crate::BlockError;

/// The columns of a page, in the order in which they are stored: time, open, close, high, low, volume, turnover and
/// the upper half of wide turnovers.
pub(crate) const COLUMNS: usize = 8;
/// The columns that closes need are the first three.
pub(crate) const CLOSES: usize = 3;

/// What every number of a kind is a multiple of: seconds between candles, tick, lot, cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) time: u64,
    pub(crate) price: i64,
    pub(crate) volume: i64,
    pub(crate) turnover: i64,
}

/// Which prices the turnover is guessed from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mean {
    /// No guess.
    #[default]
    None,
    HighLow,
    All,
    /// No guess, and a turnover is too wide for 64 bits: its upper half is a column of its own.
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

/// The guess at a turnover: (sum of prices x volume) x `factor` / 2^`shift`, all in units. A fixed-point factor
/// instead of a division for each row, because 128-bit divisions are slow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guess {
    pub(crate) mean: Mean,
    pub(crate) factor: u64,
    pub(crate) shift: u8,
}

/// A shift that keeps 128-bit arithmetic in range.
pub(crate) const SHIFT_MAX: u8 = 127;
/// Volume may be counted in shares or, in Chinese files, in hundreds of them.
const SCALES: [u128; 2] = [1, 100];
/// Rows that a guess is judged by.
const SAMPLE: usize = 256;

impl Guess {
    #[inline]
    fn of(self, open: i64, high: i64, low: i64, close: i64, volume: i64) -> i64 {
        let sum = match self.mean {
            Mean::None | Mean::Wide => return 0,
            Mean::HighLow => high.wrapping_add(low),
            Mean::All => high.wrapping_add(low).wrapping_add(open).wrapping_add(close),
        };
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

/// A run of candles as residuals, with all that is needed to undo them.
#[derive(Debug)]
pub(crate) struct Residuals {
    pub(crate) units: Units,
    pub(crate) guess: Guess,
    pub(crate) columns: [Vec<i64>; COLUMNS],
    /// The close of the row before each page, in price units.
    pub(crate) previous_closes: Vec<i64>,
}

/// The columns of the rows to be encoded, all of one length.
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
        let price_unit = common_unit([rows.open, rows.high, rows.low, rows.close].into_iter().flatten());
        let volume_unit = common_unit(rows.volume);
        let open = divided(rows.open, price_unit);
        let high = divided(rows.high, price_unit);
        let low = divided(rows.low, price_unit);
        let close = divided(rows.close, price_unit);
        let volume = divided(rows.volume, volume_unit);

        let turnover_unit = common_turnover_unit(rows.turnover);
        let turnover: Vec<i128> = match turnover_unit {
            1 => rows.turnover.to_vec(),
            unit => rows.turnover.iter().map(|&value| divide_wide(value, unit)).collect(),
        };
        let units =
            Units { time: time_unit, price: price_unit, volume: volume_unit, turnover: turnover_unit };

        let first_open = open.first().copied().unwrap_or_default();
        let before = || std::iter::once(first_open).chain(close.iter().copied());
        let previous_closes = before().take(close.len()).step_by(page_rows).collect();
        let open_gap = zipped(&open, before(), |open, before| open.wrapping_sub(before));
        let body = zipped(&close, open.iter().copied(), |close, open| close.wrapping_sub(open));
        let tops = open.iter().zip(&close).map(|(&open, &close)| open.max(close));
        let above = zipped(&high, tops, |high, top| high.wrapping_sub(top));
        let bottoms = open.iter().zip(&close).map(|(&open, &close)| open.min(close));
        let below = zipped(&low, bottoms, |low, bottom| bottom.wrapping_sub(low));

        let ticks = Ticks { open: &open, high: &high, low: &low, close: &close, volume: &volume };
        let (guess, amount, amount_high) = ticks.amounts(&turnover, &units);
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
    fn guesses(&self, guess: Guess) -> impl Iterator<Item = i64> {
        let prices = self.open.iter().zip(self.high).zip(self.low).zip(self.close).zip(self.volume);
        prices
            .map(move |((((&open, &high), &low), &close), &volume)| guess.of(open, high, low, close, volume))
    }

    fn amounts(&self, turnover: &[i128], units: &Units) -> (Guess, Vec<i64>, Vec<i64>) {
        let narrow: Option<Vec<i64>> = turnover.iter().map(|&value| i64::try_from(value).ok()).collect();
        let Some(mut amounts) = narrow else {
            let guess = Guess { mean: Mean::Wide, ..Guess::default() };
            let high = turnover.iter().map(|value| (value >> 64) as i64).collect();
            return (guess, turnover.iter().map(|&value| value as i64).collect(), high);
        };
        let guess = self.best_guess(&amounts, units);
        for (amount, guess) in amounts.iter_mut().zip(self.guesses(guess)) {
            *amount = amount.wrapping_sub(guess);
        }
        (guess, amounts, vec![0; turnover.len()])
    }

    /// The guess that leaves the fewest bits, judged by a sample of the rows.
    fn best_guess(&self, amounts: &[i64], units: &Units) -> Guess {
        let step = amounts.len().div_ceil(SAMPLE).max(1);
        let cost = |guess: &Guess| -> u32 {
            let pairs = amounts.iter().zip(self.guesses(*guess)).step_by(step);
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

/// Distances between times, in units of their greatest common divisor. The first row has none and repeats the second's,
/// so that evenly spaced candles are a constant.
fn steps(times: &[i64]) -> (Vec<i64>, u64) {
    let distances = || times.iter().zip(times.iter().skip(1)).map(|(&a, &b)| b.wrapping_sub(a) as u64);
    let unit = distances().fold(0, gcd).max(1);
    let first = distances().next().unwrap_or(0);
    (std::iter::once(first).chain(distances()).map(|distance| (distance / unit) as i64).collect(), unit)
}

fn divided(values: &[i64], unit: i64) -> Vec<i64> {
    match unit {
        1 => values.to_vec(),
        unit => values.iter().map(|&value| value / unit).collect(),
    }
}

fn divide_wide(value: i128, unit: i64) -> i128 {
    match i64::try_from(value) {
        Ok(narrow) => i128::from(narrow / unit),
        Err(_) => value / i128::from(unit),
    }
}

fn common_unit<'a>(values: impl IntoIterator<Item = &'a i64>) -> i64 {
    let unit = values.into_iter().fold(0, |unit, &value| gcd(unit, value.unsigned_abs()));
    i64::try_from(unit).unwrap_or(1).max(1)
}

fn common_turnover_unit(values: &[i128]) -> i64 {
    let mut unit = 0u64;
    for value in values {
        let value = value.unsigned_abs();
        unit = match u64::try_from(value) {
            Ok(narrow) => gcd(unit, narrow),
            // The remainder is below the unit, and what is left is an ordinary step of Euclid's.
            Err(_) if unit != 0 => gcd(unit, u64::try_from(value % u128::from(unit)).unwrap_or(1)),
            Err(_) => return 1,
        };
    }
    i64::try_from(unit).unwrap_or(1).max(1)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}

/// One page: residuals as they are decoded, then numbers in their units.
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
        // The first row's distance is that to the page before; the directory has its time.
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

    /// Undoes the rest of `rows`, and appends them; times and closes have been undone before.
    #[expect(clippy::indexing_slicing, reason = "all slices are cut to one length first")]
    pub(crate) fn append(&self, rows: Range<usize>, units: &Units, guess: Guess, out: &mut Candles) {
        if rows.start > rows.end || rows.end > self.rows {
            return;
        }
        let length = rows.len();
        let [time, open, close, high, low, volume, turnover, turnover_high] =
            self.columns.each_ref().map(|column| &column[rows.clone()]);
        out.time.extend_from_slice(time);
        let [open_out, high_out, low_out, close_out, volume_out] =
            [&mut out.open, &mut out.high, &mut out.low, &mut out.close, &mut out.volume].map(|column| {
                let before = column.len();
                column.resize(before + length, 0);
                &mut column[before..][..length]
            });
        let before = out.turnover.len();
        out.turnover.resize(before + length, 0);
        let turnover_out = &mut out.turnover[before..][..length];
        let turnover_unit = i128::from(units.turnover);
        for row in 0..length {
            let (open, close, volume) = (open[row], close[row], volume[row]);
            let high = open.max(close).wrapping_add(high[row]);
            let low = open.min(close).wrapping_sub(low[row]);
            open_out[row] = open.wrapping_mul(units.price);
            high_out[row] = high.wrapping_mul(units.price);
            low_out[row] = low.wrapping_mul(units.price);
            close_out[row] = close.wrapping_mul(units.price);
            volume_out[row] = volume.wrapping_mul(units.volume);
            let amount = turnover[row].wrapping_add(guess.of(open, high, low, close, volume));
            turnover_out[row] = i128::from(amount) * turnover_unit;
        }
        if guess.mean == Mean::Wide {
            for (out, (&high, &low)) in turnover_out.iter_mut().zip(turnover_high.iter().zip(turnover)) {
                *out = (i128::from(high) << 64 | i128::from(low as u64)).wrapping_mul(turnover_unit);
            }
        }
    }
}
