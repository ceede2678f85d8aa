use market::{Calendar, Date, DayKind, Market};

use super::events::{self, Terms};
use super::securities::DemoSecurity;

/// Prices and volume of one trading day, from which the one-minute candles are generated.
#[derive(Clone, Copy, Debug)]
pub(super) struct DayPlan {
    pub(super) date: Date,
    /// Previous close, adjusted for this day's corporate actions, in millionths.
    pub(super) reference: i64,
    pub(super) open: i64,
    pub(super) high: i64,
    pub(super) low: i64,
    pub(super) close: i64,
    pub(super) volume: i64,
    /// Absolute size of the day's move, in standard deviations.
    pub(super) wildness: f64,
}

/// Iterator over a security's trading days. Prices are a random walk with market-wide regimes,
/// regimes of the security, clustered volatility, occasional jumps, and slow mean reversion to a
/// growing value, so that the price after twenty years is plausible.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    security: &'a DemoSecurity,
    calendar: &'a Calendar,
    next: Date,
    through: Date,
    /// Corporate actions, latest first, so that the next action can be popped.
    events: Vec<(Date, Terms)>,
    state: State,
}

#[derive(Debug)]
struct State {
    close: i64,
    /// Value to which the price reverts.
    value: f64,
    /// Average number of shares traded per day. A split multiplies it.
    shares: f64,
    /// Variance of the security's idiosyncratic moves, relative to an average of 1.
    variance: f64,
    /// Recent trading activity, relative to an average of 1.
    activity: f64,
    drift: f64,
    roughness: f64,
}

/// Market regime: start year and month, yearly drift in percent, and volatility in percent of the
/// average.
type Climate = (i16, i8, f64, f64);

const HK: &[Climate] = &[
    (2004, 1, 14.0, 80.0),
    (2006, 6, 38.0, 115.0),
    (2007, 11, -62.0, 220.0),
    (2009, 3, 65.0, 150.0),
    (2010, 1, 3.0, 100.0),
    (2011, 8, -28.0, 170.0),
    (2012, 1, 9.0, 85.0),
    (2015, 6, -32.0, 170.0),
    (2016, 3, 27.0, 80.0),
    (2018, 2, -8.0, 110.0),
    (2020, 2, -60.0, 260.0),
    (2020, 4, 28.0, 105.0),
    (2021, 3, -25.0, 130.0),
    (2022, 11, 15.0, 130.0),
    (2023, 2, -14.0, 105.0),
    (2024, 2, 20.0, 110.0),
    (2025, 4, 16.0, 120.0),
    (2025, 10, 5.0, 95.0),
];

const US: &[Climate] = &[
    (2010, 1, 14.0, 100.0),
    (2011, 7, -35.0, 190.0),
    (2011, 10, 17.0, 85.0),
    (2015, 8, -12.0, 130.0),
    (2016, 3, 18.0, 70.0),
    (2018, 10, -40.0, 150.0),
    (2019, 1, 24.0, 85.0),
    (2020, 2, -85.0, 330.0),
    (2020, 4, 45.0, 130.0),
    (2022, 1, -24.0, 145.0),
    (2022, 10, 21.0, 95.0),
    (2025, 3, -55.0, 200.0),
    (2025, 5, 22.0, 85.0),
    (2026, 2, 6.0, 100.0),
];

const CN: &[Climate] = &[
    (1999, 1, 28.0, 105.0),
    (2001, 7, -22.0, 110.0),
    (2005, 7, 85.0, 140.0),
    (2007, 11, -68.0, 220.0),
    (2008, 11, 75.0, 160.0),
    (2009, 8, -11.0, 110.0),
    (2014, 7, 95.0, 150.0),
    (2015, 7, -60.0, 310.0),
    (2015, 10, 7.0, 95.0),
    (2018, 2, -27.0, 110.0),
    (2019, 1, 24.0, 105.0),
    (2020, 2, -22.0, 180.0),
    (2020, 4, 25.0, 100.0),
    (2021, 3, -13.0, 95.0),
    (2024, 9, 60.0, 210.0),
    (2024, 11, 10.0, 100.0),
];

const TRADING_DAYS_A_YEAR: f64 = 250.0;
/// Standard deviation of a market's daily move in an average regime.
const MARKET_VOLATILITY: f64 = 0.008;

/// Returns the daily move shared by all securities in a market: the drift of the current regime,
/// and the day's shock.
fn market_move(market: Market, date: Date) -> (f64, f64) {
    let climates = match market {
        Market::Hk => HK,
        Market::Us => US,
        Market::Cn => CN,
    };
    let now = climates.iter().rfind(|(year, month, ..)| (*year, *month) <= (date.year(), date.month()));
    let (_, _, drift, volatility) = now.copied().unwrap_or((0, 0, 5.0, 100.0));
    let noise = Random::keyed(market.as_str(), 1, day_key(date)).normal();
    (drift / 100.0 / TRADING_DAYS_A_YEAR, noise * MARKET_VOLATILITY * volatility / 100.0)
}

/// Returns a number that is unique to each date, as a seed.
pub(super) fn day_key(date: Date) -> i64 {
    i64::from(date.year()) * 372 + i64::from(date.month()) * 31 + i64::from(date.day())
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        security: &'a DemoSecurity,
        calendar: &'a Calendar,
        first: Date,
        through: Date,
    ) -> Walk<'a> {
        let model = &security.model;
        let mut events = events::dated(model.events, calendar, first, through);
        events.reverse();
        let state = State {
            close: model.start,
            value: model.start as f64,
            shares: model.volume,
            variance: 1.0,
            activity: 1.0,
            drift: 0.0,
            roughness: 1.0,
        };
        Walk { security, calendar, next: first, through, events, state }
    }

    /// Applies the corporate actions that have become effective, and returns the day's reference
    /// price.
    fn reference(&mut self, date: Date) -> f64 {
        let mut reference = self.state.close as f64;
        while let Some((_, terms)) = self.events.pop_if(|(ex_date, _)| *ex_date <= date) {
            let after = terms.reference(reference);
            self.state.value *= after / reference;
            self.state.shares *= terms.shares();
            reference = after;
        }
        reference
    }

    fn plan(&mut self, date: Date, kind: DayKind) -> DayPlan {
        let security = self.security;
        let model = &security.model;
        let reference = self.reference(date);
        let mut random = Random::keyed(security.symbol, 2, day_key(date));
        let state = &mut self.state;
        state.value *= 1.0 + model.growth / 100.0 / TRADING_DAYS_A_YEAR;
        if random.chance(1.0 / 90.0) {
            state.drift = (random.unit() - 0.5) * 0.0016;
            state.roughness = 0.55 + random.unit() * random.unit() * 1.5;
        }

        let jump = if random.chance(1.0 / 110.0) { 3.0 } else { 1.0 };
        let shock = random.normal() * jump;
        let deviation = model.volatility / 100.0 * state.roughness * state.variance.sqrt();
        state.variance = (0.05 + 0.09 * shock * shock + 0.86 * state.variance).clamp(0.25, 6.0);
        let pull = 0.0022 * (state.value / reference - 1.0).clamp(-0.6, 1.2);
        let (market_drift, market_shock) = market_move(security.region.market(), date);
        let moved = model.beta * (market_drift + market_shock) + state.drift + pull + deviation * shock;
        let moved = moved.clamp(-0.3, 0.4);

        let usual = (deviation * deviation
            + (model.beta * MARKET_VOLATILITY) * (model.beta * MARKET_VOLATILITY))
            .sqrt();
        let wildness = moved.abs() / usual;
        let close = reference * (1.0 + moved);
        let open = reference * (1.0 + 0.35 * moved + 0.3 * usual * random.normal());
        let high = open.max(close) * (1.0 + 0.45 * usual * random.normal().abs());
        let low = open.min(close) * (1.0 - 0.45 * usual * random.normal().abs());
        let (floor, ceiling) = limits(security, reference);
        let [open, high, low, close] =
            [open, high, low, close].map(|price| security.snap(price).clamp(floor, ceiling));

        state.activity = 0.88 * state.activity + 0.12 * (0.4 + 0.6 * wildness + 0.4 * random.unit());
        let half = if kind == DayKind::Half { 0.45 } else { 1.0 };
        let busy = state.activity * (0.45 + 0.55 * wildness.min(5.0)) * (0.7 + 0.6 * random.unit());
        let lots = (state.shares * busy * half / security.lot_size as f64) as i64;
        let volume = if security.is_index() { 0 } else { lots.max(4) * security.lot_size };
        state.close = close;
        DayPlan { date, reference: security.snap(reference), open, high, low, close, volume, wildness }
    }
}

/// Returns the lowest and highest price allowed on a day, in millionths.
fn limits(security: &DemoSecurity, reference: f64) -> (i64, i64) {
    match security.daily_limit() {
        Some(limit) => (security.snap(reference * (1.0 - limit)), security.snap(reference * (1.0 + limit))),
        // The lower bound prevents an extreme walk from approaching zero.
        None => (20 * security.tick(0), i64::MAX),
    }
}

impl Iterator for Walk<'_> {
    type Item = DayPlan;

    fn next(&mut self) -> Option<DayPlan> {
        while self.next <= self.through {
            let date = self.next;
            self.next = date.tomorrow().ok()?;
            if let Some(kind) = self.calendar.kind(date)
                && !self.security.suspended(date)
            {
                return Some(self.plan(date, kind));
            }
        }
        None
    }
}

/// Small seeded random number generator (splitmix64). Its numbers are processed only with integers
/// and exactly defined floating-point operations (`+ - * /` and square roots), so every machine
/// generates the same market.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Returns a generator with a separate stream for each key. A day's numbers depend on its date,
    /// not on the number of previous days.
    pub(super) fn keyed(name: &str, stream: u64, day: i64) -> Random {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut random = Random(hash ^ stream.wrapping_mul(0xd6e8_feb8_6659_fd93));
        random.0 = random.next() ^ day.cast_unsigned().wrapping_mul(0xa076_1d64_78bd_642f);
        random.next();
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a uniform number in `[0, 1)`.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a uniform integer in `0..below`.
    pub(super) fn below(&mut self, below: usize) -> usize {
        ((u128::from(self.next()) * below as u128) >> 64) as usize
    }

    /// Returns an approximately normal number with mean 0 and standard deviation 1, within ±3.5:
    /// the sum of the four 16-bit parts of one draw.
    pub(super) fn normal(&mut self) -> f64 {
        let bits = self.next();
        let sum = (bits & 0xffff) + ((bits >> 16) & 0xffff) + ((bits >> 32) & 0xffff) + (bits >> 48);
        (sum as f64 - 131_070.0) / 37_837.0
    }
}
