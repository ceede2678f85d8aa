//! Decides whether a file may replace stored candles.
//!
//! Corrections are allowed: a few candles, small differences, or a candle that was stored before
//! its day was completed. A file on a different basis (split-adjusted, in lots, or of another
//! period) replaces many candles with very different ones, and needs an explicit option. The rule
//! is applied to each symbol and to the whole file.

use std::collections::BTreeMap;

use market::{Candle, Grain, PRICE_UNIT, Symbol, Venues};

/// Minimum number of very different candles to refuse a file. A smaller number is treated as a
/// correction, for example of a bad print or a late trade.
const MANY: u64 = 10;
/// Reciprocal of the minimum share of very different candles among the stamps common to the file
/// and the store. A long file that is downloaded again may have some revised volumes and is not
/// refused.
const SHARE: u64 = 10;
/// Minimum length of an uninterrupted run of very different candles to refuse a file regardless of
/// [`SHARE`]. Such a run shows that a part of a long file is on a different basis, such as the
/// years before a split.
const RUN: u64 = 20;
/// Reciprocal of the relative difference above which two prices are very different. Vendors differ
/// by a tick or two; dividends and splits change prices by more.
const PRICE_PART: i128 = 100;
/// Ratio (1.5) above which two volumes or turnovers are very different. Late trades and odd lots
/// add a few per cent; a wrong period or lots instead of shares change far more.
const SIZE_RATIO: (i128, i128) = (3, 2);
/// Maximum number of ratios retained to compute the median.
const RATIOS_MAX: usize = 4_096;
/// Fixed-point unit: ratios are stored in millionths.
const ONE: i128 = 1_000_000;
/// Reciprocal of the relative distance from the median within which ratios count as one common
/// factor. The tolerance covers the rounded prices of penny stocks.
const COMMON_PART: i128 = 50;

/// Differences between the candles of a file and the stored candles with the same stamps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Differences {
    /// Number of stamps common to the file and the store.
    shared: u64,
    /// Number of common stamps whose candles are very different.
    far: u64,
    /// Length of the longest run of very different candles.
    run_longest: u64,
    /// Length of the current run of very different candles.
    run: u64,
    price: Ratios,
    volume: Ratios,
    turnover: Ratios,
    /// First very different pair: the stored and the new candle.
    example: Option<(Candle, Candle)>,
}

/// Ratios of new values to stored values that are very different.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ratios {
    count: u64,
    retained: Vec<i64>,
}

impl Ratios {
    fn add(&mut self, ratio: i128) {
        self.count += 1;
        if self.retained.len() < RATIOS_MAX {
            self.retained.push(i64::try_from(ratio).unwrap_or(i64::MAX));
        }
    }

    fn merge(&mut self, other: &Ratios) {
        self.count += other.count;
        let room = RATIOS_MAX.saturating_sub(self.retained.len());
        self.retained.extend(other.retained.iter().take(room));
    }

    /// Returns the median ratio, and whether at least 80% of the ratios are close to it. Returns
    /// `None` if there are no ratios.
    fn usual(&self) -> Option<(i128, bool)> {
        let mut sorted = self.retained.clone();
        sorted.sort_unstable();
        let middle = i128::from(*sorted.get(sorted.len() / 2)?);
        let near = sorted.iter().filter(|ratio| (i128::from(**ratio) - middle).abs() * COMMON_PART <= middle);
        Some((middle, near.count() * 5 >= sorted.len() * 4))
    }
}

impl Differences {
    /// Counts a stamp whose two candles are equal.
    pub(crate) fn same(&mut self) {
        self.shared += 1;
        self.run = 0;
    }

    /// Compares the stored and the new candle of one stamp, and adds the result to the counts.
    pub(crate) fn see(&mut self, stored: &Candle, new: &Candle) {
        self.shared += 1;
        let [price, volume, turnover] = [
            far_price(stored, new),
            far_size(i128::from(stored.volume), i128::from(new.volume)),
            far_size(stored.turnover.0, new.turnover.0),
        ];
        if price.or(volume).or(turnover).is_none() {
            self.run = 0;
            return;
        }
        price.into_iter().for_each(|ratio| self.price.add(ratio));
        volume.into_iter().for_each(|ratio| self.volume.add(ratio));
        turnover.into_iter().for_each(|ratio| self.turnover.add(ratio));
        self.far += 1;
        self.run += 1;
        self.run_longest = self.run_longest.max(self.run);
        self.example.get_or_insert((*stored, *new));
    }

    /// Adds the differences found in other candles.
    pub(crate) fn merge(&mut self, other: &Differences) {
        self.shared += other.shared;
        self.far += other.far;
        self.run_longest = self.run_longest.max(other.run_longest);
        self.run = 0;
        self.price.merge(&other.price);
        self.volume.merge(&other.volume);
        self.turnover.merge(&other.turnover);
        self.example = self.example.or(other.example);
    }

    fn is_another_basis(&self) -> bool {
        self.far >= MANY && (self.far * SHARE >= self.shared || self.run_longest >= RUN)
    }

    /// Returns a message such as `prices are 0.25 times the stored ones: split-adjusted?`.
    fn reason(&self) -> String {
        if self.price.count * 2 >= self.far
            && let Some((ratio, is_common)) = self.price.usual()
        {
            if is_common {
                return format!("prices are {} times the stored ones{}", factor(ratio), price_hint(ratio));
            }
            return "prices differ by no common factor: another security, or another period?".to_owned();
        }
        let sizes = [("volumes", &self.volume, [100, 1_000]), ("turnovers", &self.turnover, [1_000, 10_000])];
        let most = sizes.into_iter().max_by_key(|(name, ratios, _)| (ratios.count, *name == "volumes"));
        match most.and_then(|(name, ratios, units)| Some((name, ratios.usual()?.0, units))) {
            Some((name, 0, _)) => format!("{name} are 0 where there are some stored"),
            Some((name, ratio, units)) => {
                format!("{name} are {} times the stored ones{}", factor(ratio), size_hint(ratio, units))
            }
            None => "they differ".to_owned(),
        }
    }
}

/// Returns the most extreme price ratio, in millionths, or `None` if no price is very different.
fn far_price(stored: &Candle, new: &Candle) -> Option<i128> {
    let pairs =
        [(stored.open, new.open), (stored.high, new.high), (stored.low, new.low), (stored.close, new.close)];
    let is_far = |(old, new): (market::Price, market::Price)| {
        (i128::from(new.0) - i128::from(old.0)).abs() * PRICE_PART > i128::from(old.0).abs()
    };
    // The most extreme ratio is the most informative: if a weekly candle replaces a daily candle,
    // the closes are equal but other prices differ.
    let ratio =
        |(old, new): (market::Price, market::Price)| i128::from(new.0) * ONE / i128::from(old.0).max(1);
    let ratios = pairs.into_iter().filter(|pair| is_far(*pair)).map(ratio);
    ratios.max_by_key(|ratio| (ratio - ONE).abs())
}

/// Returns the ratio of two volumes or turnovers, in millionths, or `None` if they are similar. A
/// stored zero may be replaced by any value.
fn far_size(stored: i128, new: i128) -> Option<i128> {
    let (above, below) = SIZE_RATIO;
    if stored <= 0 {
        return None;
    }
    let is_far = new.saturating_mul(below) > stored.saturating_mul(above)
        || stored.saturating_mul(below) > new.saturating_mul(above);
    is_far.then(|| new.saturating_mul(ONE) / stored)
}

/// Formats a ratio with a sensible number of digits: `0.25`, `4`, `0.98`.
fn factor(ratio: i128) -> String {
    let decimals = match ratio {
        ..10_000 => 6,
        10_000..1_000_000 => 4,
        1_000_000..10_000_000 => 2,
        _ => 1,
    };
    let step = 10i128.pow(6 - decimals);
    let rounded = (ratio + step / 2) / step * step;
    let text = format!("{}.{:06}", rounded / ONE, rounded % ONE);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn price_hint(ratio: i128) -> &'static str {
    let near = |wanted: i128| (ratio - wanted).abs() * 100 <= wanted;
    let splits =
        || (2..=100).any(|n| near(ONE * n) || near(ONE / n)) || near(ONE * 3 / 2) || near(ONE * 2 / 3);
    match ratio {
        _ if [1_000, 10_000].into_iter().any(|n| near(ONE * n) || near(ONE / n)) => ": another unit?",
        _ if splits() => ": split-adjusted?",
        500_000..1_000_000 => ": adjusted for dividends?",
        _ => "",
    }
}

fn size_hint(ratio: i128, units: [i128; 2]) -> &'static str {
    let near = |wanted: i128| (ratio - wanted).abs() * 20 <= wanted;
    if units.into_iter().any(|n| near(ONE * n) || near(ONE / n)) {
        return ": another unit, such as lots for shares?";
    }
    if ratio > ONE { ": a longer period?" } else { ": a shorter period?" }
}

/// Differences between one file and the store, by symbol and grain.
#[derive(Clone, Debug, Default)]
pub(crate) struct Replacing {
    symbols: BTreeMap<(Symbol, Grain), Differences>,
    all: Differences,
}

impl Replacing {
    pub(crate) fn add(&mut self, symbol: &Symbol, grain: Grain, differences: &Differences) {
        if differences.shared == 0 {
            return;
        }
        self.symbols.entry((symbol.clone(), grain)).or_default().merge(differences);
        self.all.merge(differences);
    }

    pub(crate) fn merge(&mut self, other: &Replacing) {
        other.symbols.iter().for_each(|((symbol, grain), found)| self.add(symbol, *grain, found));
    }

    /// Returns the error message if the file must be refused, otherwise `None`.
    pub(crate) fn refusal(&self, venues: &Venues) -> Option<String> {
        let own = self.symbols.iter().find(|(_, differences)| differences.is_another_basis());
        let worst = || self.worst().filter(|_| self.all.is_another_basis());
        let ((symbol, grain), differences) = own.or_else(worst)?;
        let what = if differences.is_another_basis() {
            let others = self.symbols.values().filter(|other| other.is_another_basis()).count() - 1;
            let others =
                if others > 0 { format!(", and those of {others} other symbols,") } else { String::new() };
            let Differences { far, shared, .. } = differences;
            format!(
                "{far} of the {shared} stored candles of {symbol} ({}) that it has{others}",
                grain.written()
            )
        } else {
            // Many symbols with one candle each: the total is more informative than one example.
            format!("{} of the {} stored candles that it has", self.all.far, self.all.shared)
        };
        Some(format!(
            "would replace {what} by very different ones: {}{}; nothing was imported; pass --replace to \
             replace them",
            differences.reason(),
            example(differences, symbol, venues),
        ))
    }

    /// Returns a note about very different candles that were replaced, or `None` if there were
    /// none.
    pub(crate) fn note(&self, venues: &Venues) -> Option<String> {
        let ((symbol, _), differences) = self.worst()?;
        Some(format!(
            "replaced {} stored candles by very different ones: {}{}",
            self.all.far,
            differences.reason(),
            example(differences, symbol, venues)
        ))
    }

    fn worst(&self) -> Option<(&(Symbol, Grain), &Differences)> {
        let far = self.symbols.iter().filter(|(_, differences)| differences.far > 0);
        far.max_by_key(|(_, differences)| differences.far)
    }
}

/// Formats an example: ` (AAPL.US 2024-01-02: close 400 stored, 100 in the file)`.
fn example(differences: &Differences, symbol: &Symbol, venues: &Venues) -> String {
    let Some((stored, new)) = &differences.example else { return String::new() };
    let zone = venues.of(symbol.market()).zone();
    let (date, seconds) = zone.local(stored.time);
    let clock =
        if seconds == 0 { String::new() } else { format!(" {:02}:{:02}", seconds / 3600, seconds / 60 % 60) };
    let (name, old, now) = if differences.price.count * 2 >= differences.far {
        price_shown(stored, new)
    } else if differences.volume.count >= differences.turnover.count {
        ("volume", stored.volume.to_string(), new.volume.to_string())
    } else {
        ("turnover", stored.turnover.text().to_string(), new.turnover.text().to_string())
    };
    format!(" ({symbol} {date}{clock}: {name} {old} stored, {now} in the file)")
}

/// Returns the name, the stored value and the new value of the price that differs most. The values
/// have no trailing zeros.
fn price_shown(stored: &Candle, new: &Candle) -> (&'static str, String, String) {
    let pairs = [
        ("close", stored.close, new.close),
        ("open", stored.open, new.open),
        ("high", stored.high, new.high),
        ("low", stored.low, new.low),
    ];
    let distance =
        |old: i64, new: i64| i128::from(new.abs_diff(old)) * i128::from(PRICE_UNIT) / i128::from(old).max(1);
    let far = pairs.into_iter().rev().max_by_key(|(_, old, new)| distance(old.0, new.0));
    let text = |price: market::Price| {
        price.text(6).to_string().trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    far.map_or_else(
        || ("close", String::new(), String::new()),
        |(name, old, new)| (name, text(old), text(new)),
    )
}
