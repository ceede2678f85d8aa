use market::{Candle, DECIMALS_MAX, Price};

/// Maps prices to half rows, counted from the top. Uses integers only, so axis labels are exact
/// prices.
#[derive(Debug)]
pub(super) struct Scale {
    low: i128,
    high: i128,
    halves: i128,
    /// Smallest price step that can be displayed.
    unit: i128,
}

impl Scale {
    pub(super) fn new(shown: &[Candle], rows: usize, decimals: u32) -> Scale {
        let unit = 10i128.pow(DECIMALS_MAX - decimals.min(DECIMALS_MAX));
        let low = shown.iter().map(|c| i128::from(c.low.0)).min().unwrap_or(0);
        let high = shown.iter().map(|c| i128::from(c.high.0)).max().unwrap_or(0);
        // Equal prices get a margin, so that they are drawn in the middle of the chart.
        let air = if high == low { (high / 100).max(unit) } else { 0 };
        Scale { low: low - air, high: high + air, halves: rows as i128 * 2, unit }
    }

    pub(super) fn half(&self, price: Price) -> usize {
        let below_top = self.high - i128::from(price.0);
        let half = (below_top * self.halves) / (self.high - self.low + 1).max(1);
        usize::try_from(half.clamp(0, self.halves - 1)).unwrap_or(0)
    }

    /// Returns round prices for the axis with their rows, about two rows or more apart.
    pub(super) fn labels(&self, rows: usize) -> Vec<(usize, Price)> {
        let wanted = (rows / 2).max(1) as i128;
        let least = ((self.high - self.low) / wanted).max(self.unit);
        let step = round_step(least, self.unit);
        let first = self.low.div_euclid(step) * step;
        let prices = std::iter::successors(Some(first), |price| Some(price + step));
        prices
            .take_while(|price| *price <= self.high)
            .filter(|price| *price >= self.low && *price >= 0)
            .filter_map(|price| i64::try_from(price).ok().map(Price))
            .map(|price| (self.half(price) / 2, price))
            .collect()
    }
}

/// Returns the smallest of 1, 2, 5, 10, 20, 50 … units that is at least `least`.
fn round_step(least: i128, unit: i128) -> i128 {
    let mut decade = unit;
    loop {
        for step in [decade, 2 * decade, 5 * decade] {
            if step >= least {
                return step;
            }
        }
        decade *= 10;
    }
}

/// Formats the change between two prices in percent, with two decimals, rounded half away from
/// zero.
pub(super) fn percent(from: Price, to: Price) -> String {
    let (from, change) = (i128::from(from.0), i128::from(to.0) - i128::from(from.0));
    if from <= 0 {
        return "-".to_owned();
    }
    let hundredths = (change.abs() * 10_000 + from / 2) / from;
    let sign = match change.signum() * hundredths.signum() {
        1 => "+",
        -1 => "-",
        _ => "",
    };
    format!("{sign}{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// Formats a volume in few characters: `980`, `12.3K`, `4.5M`. Digits are truncated, so the result
/// never overstates the volume.
pub(super) fn short(volume: i64) -> String {
    let units = [(1_000_000_000_000, "T"), (1_000_000_000, "B"), (1_000_000, "M"), (1_000, "K")];
    match units.into_iter().find(|(size, _)| volume >= *size) {
        Some((size, name)) => format!("{}.{}{name}", volume / size, volume % size * 10 / size),
        None => volume.to_string(),
    }
}
