//! A random market of four days, and stores with the part of it that is known at an instant.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use market::{Date, Market, Session, Symbol, Timestamp, Venue, Venues};
use serde_json::{Value, json};

use crate::support::import_files;

/// Securities with the first day of their candles and a price in cents. The candles of the last two
/// securities begin on the last day; those of 77.HK on that day are ingested instead of imported.
pub(crate) const SECURITIES: [(&str, &str, i64); 5] = [
    ("9.HK", "2026-11-10", 6_000),
    ("Q.US", "2026-11-10", 19_000),
    ("600001.SH", "2026-11-10", 1_500),
    ("77.HK", "2026-11-12", 800),
    ("LATE.US", "2026-11-13", 4_000),
];
pub(crate) const FIRST: &str = "2026-11-10";
pub(crate) const LAST: &str = "2026-11-13";
const INGESTED: (&str, &str) = ("77.HK", "2026-11-13");

/// A pseudo-random number generator (xorshift).
#[derive(Clone, Copy)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    pub(crate) fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn around(&mut self, price: i64, by: usize) -> i64 {
        price + self.below(2 * by + 1) as i64 - by as i64
    }
}

/// A minute. Prices are in cents.
#[derive(Clone, Copy, Debug)]
struct Minute {
    at: Timestamp,
    /// Whether it has the prices of the closing auction, which become known later.
    is_tail: bool,
    prices: [i64; 4],
    volume: i64,
}

/// A security's candles and trades.
#[derive(Debug)]
struct Stock {
    name: &'static str,
    market: Market,
    minutes: Vec<Minute>,
    /// Daily candles: the date, the end of the regular hours, and the row.
    days: Vec<(Date, Timestamp, String)>,
    /// Time, price and volume.
    trades: Vec<(Timestamp, i64, i64)>,
}

/// All data that is ever stored.
#[derive(Debug)]
pub(crate) struct Data {
    venues: Venues,
    stocks: Vec<Stock>,
    rates: Vec<(Date, &'static str, String)>,
}

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

fn cents(price: i64) -> String {
    format!("{}.{:02}", price / 100, price % 100)
}

/// Returns the end of the regular hours in minutes after midnight, and whether a closing candle is
/// stamped ten minutes earlier.
fn end_of(market: Market) -> (i64, bool) {
    match market {
        Market::Hk => (16 * 60 + 10, true),
        Market::Us => (16 * 60, false),
        Market::Cn => (15 * 60 + 10, true),
    }
}

impl Stock {
    fn random(rng: &mut Rng, venue: &Venue, (name, first, price): (&'static str, &str, i64)) -> Stock {
        let (mut minutes, mut days, mut trades) = (Vec::new(), Vec::new(), Vec::new());
        let (end, has_tail) = end_of(venue.market());
        let mut last = price;
        for (day, _) in venue.calendar().days(date(first), date(LAST)) {
            let midnight = venue.zone().midnight(day).0;
            let mut regular: Vec<Minute> = Vec::new();
            for (at, slot) in venue.day(day).unwrap().minutes() {
                let is_tail = has_tail
                    && slot.segment.session == Session::Intraday
                    && at.0 == midnight + (end - 10) * 60;
                // Sessions without gaps would have too many candles.
                let thins = if slot.segment.session == Session::Intraday { 3 } else { 12 };
                if !is_tail && !rng.one_in(thins) {
                    continue;
                }
                let [open, close] = [rng.around(last, 4), rng.around(last, 4)];
                let (high, low) =
                    (open.max(close) + rng.below(4) as i64, open.min(close) - rng.below(4) as i64);
                let volume = if rng.one_in(9) { 0 } else { 100 * (1 + rng.below(400) as i64) };
                let minute = Minute { at, is_tail, prices: [open, high, low, close], volume };
                if name == "9.HK" && !is_tail && volume > 300 && rng.one_in(3) {
                    // The first trade has the open of the candle.
                    let mut second = 1 + rng.below(20) as i64;
                    for price in [open, high, low] {
                        trades.push((Timestamp(at.0 + second), price, 100));
                        second += 1 + rng.below(12) as i64;
                    }
                }
                last = close;
                minutes.push(minute);
                if slot.segment.session == Session::Intraday {
                    regular.push(minute);
                }
            }
            let (Some(first), Some(end_minute)) = (regular.first(), regular.last()) else { continue };
            let high = regular.iter().map(|minute| minute.prices[1]).max().unwrap() + rng.below(2) as i64;
            let low = regular.iter().map(|minute| minute.prices[2]).min().unwrap() - rng.below(2) as i64;
            let volume: i64 = regular.iter().map(|minute| minute.volume).sum();
            let [open, high, low, close] = [first.prices[0], high, low, end_minute.prices[3]].map(cents);
            let row = format!("{open},{high},{low},{close},{},{}.5", volume + 100, volume * last / 100);
            days.push((day, Timestamp(midnight + end * 60), row));
        }
        Stock { name, market: venue.market(), minutes, days, trades }
    }

    /// Returns the minutes known at `now` as rows.
    fn rows(&self, now: Option<Timestamp>, is_wanted: impl Fn(&Minute) -> bool) -> Vec<(i64, [String; 6])> {
        let row = |minute: &Minute| {
            let is_forming = match now.map(|now| now.0 - minute.at.0) {
                Some(..0) => return None,
                Some(..600) if minute.is_tail => return None,
                Some(passed) => passed < 60,
                None => false,
            };
            let [open, high, low, close] = minute.prices.map(cents);
            // Volumes of A shares are in lots.
            let unit = if self.market == Market::Cn { 100 } else { 1 };
            let turnover = cents(minute.volume * unit * (minute.prices[0] + minute.prices[3]) / 2);
            let row = if is_forming {
                [open.clone(), open.clone(), open.clone(), open, "0".to_owned(), "0".to_owned()]
            } else {
                [open, high, low, close, minute.volume.to_string(), turnover]
            };
            Some((minute.at.0, row))
        };
        self.minutes.iter().filter(|minute| is_wanted(minute)).filter_map(row).collect()
    }
}

impl Data {
    pub(crate) fn random(rng: &mut Rng) -> Data {
        let venues = Venues::built_in().unwrap();
        let stocks = SECURITIES.map(|one| {
            let symbol: Symbol = one.0.parse().unwrap();
            Stock::random(rng, venues.of(symbol.market()), one)
        });
        let rates = ["2026-01-02", FIRST, "2026-11-11", "2026-11-12", LAST];
        let rates = rates.into_iter().flat_map(|day| [(day, "USD", 78), (day, "CNH", 11)]);
        let rates = rates
            .map(|(day, currency, whole)| {
                (date(day), currency, format!("{}.{}{:02}", whole / 10, whole % 10, rng.below(90)))
            })
            .collect();
        Data { venues, stocks: stocks.into(), rates }
    }

    /// Returns an instant of these days, mostly close to one at which data becomes known.
    pub(crate) fn instant(&self, rng: &mut Rng) -> Timestamp {
        let stock = &self.stocks[rng.below(self.stocks.len())];
        let near = if rng.one_in(4) {
            stock.days[rng.below(stock.days.len())].1
        } else {
            stock.minutes[rng.below(stock.minutes.len())].at
        };
        let at = near.0 + rng.pick(&[-1, 0, 1, 20, 59, 60, 61, 300, 599, 600, 601, 3_600, 20_000]);
        // Paper accounts use the open of the current minute from the beginning of the minute, but
        // quotes include it only once the minute has a trade. The partial store includes the open,
        // so if the minute has trades, the instant is moved to the first trade, which has the price
        // of the open.
        let minute = at.div_euclid(60) * 60;
        let of_minute = |(time, ..): &&(Timestamp, i64, i64)| (minute..minute + 60).contains(&time.0);
        let first = self.stocks.iter().filter_map(|stock| stock.trades.iter().find(of_minute));
        Timestamp(first.map(|(time, ..)| time.0).fold(at, i64::max))
    }

    fn today(&self, name: &str, now: Timestamp) -> Date {
        let symbol: Symbol = name.parse().unwrap();
        self.venues.of(symbol.market()).zone().date(now)
    }

    /// Fills the store of a directory with all data, or with the data known at `now`.
    pub(crate) fn fill(&self, dir: &Path, now: Option<Timestamp>) {
        let is_known = |name: &str, day: &str| now.is_none_or(|now| date(day) <= self.today(name, now));
        // A corporate action is applied at the roll of its ex-date, in the United States at 20:00 of
        // the day before.
        let is_applied = |name: &str, day: &str| {
            let venue = self.venues.of(name.parse::<Symbol>().unwrap().market());
            now.is_none_or(|now| venue.rolled(now).is_some_and(|today| date(day) <= today))
        };
        let mut files = BTreeMap::from([
            ("securities", "symbol,name_en,name_cn,lot_size,currency,listing_date,delisted_on\n".to_owned()),
            ("minutes", "symbol,time,open,high,low,close,volume,turnover\n".to_owned()),
            ("days", "symbol,time,open,high,low,close,volume,turnover\n".to_owned()),
            ("trades", "symbol,time,price,volume,direction,type\n".to_owned()),
            ("actions", "symbol,ex_date,cash,split,bonus,rights,rights_price,pay_date\n".to_owned()),
            (
                "figures",
                "symbol,from,total_shares,circulating_shares,eps,eps_ttm,bps,dividend_yield\n".to_owned(),
            ),
            ("suspensions", "symbol,from,to\n".to_owned()),
            ("margins", "symbol,im,mm,fm\n".to_owned()),
        ]);
        let mut add = |file: &str, row: String| writeln!(files.get_mut(file).unwrap(), "{row}").unwrap();
        for stock in &self.stocks {
            let name = stock.name;
            let lot = if stock.market == Market::Us { 1 } else { 100 };
            // Rows about a security have no dates, so they are visible at any time. Only the
            // delisting date has an effect by day.
            let delisted = if is_known(name, "2026-11-14") && name == "77.HK" { "2026-11-14" } else { "" };
            add(
                "securities",
                format!(
                    "{name},Harbour {name},港口{name},{lot},{},2004-06-16,{delisted}",
                    currency(stock.market)
                ),
            );
            add("margins", format!("{name},0.35,0.30,0.25"));
            for (at, row) in stock.rows(now, |minute| !self.is_ingested(stock, minute)) {
                add("minutes", format!("{name},{at},{}", row.join(",")));
            }
            for (day, end, row) in &stock.days {
                if now.is_none_or(|now| *end <= now) {
                    add("days", format!("{name},{day},{row}"));
                }
            }
            for (at, price, volume) in &stock.trades {
                if now.is_none_or(|now| *at <= now) {
                    add("trades", format!("{name},{},{},{volume},neutral,", at.0, cents(*price)));
                }
            }
            for (day, row) in [
                ("2026-11-11", "1.5,,,,,2026-11-13"),
                ("2026-11-12", ",2,,,,"),
                ("2026-11-13", "0.7,,1/10,,,2026-11-16"),
                ("2026-11-20", "3,5,,,,"),
            ] {
                if is_applied(name, day) {
                    add("actions", format!("{name},{day},{row}"));
                }
            }
            for (number, day) in ["", FIRST, "2026-11-12", LAST, "2026-11-20"].into_iter().enumerate() {
                if day.is_empty() || is_known(name, day) {
                    let shares = 1_000_000 * (7 - number);
                    add(
                        "figures",
                        format!("{name},{day},{shares},{shares},{number}.5,{number}.7,1{number},0.{number}"),
                    );
                }
            }
        }
        for (name, from, to) in [
            ("600001.SH", "2026-11-11", "2026-11-11"),
            ("600001.SH", "2026-11-13", ""),
            ("9.HK", "2026-11-12", "2026-11-12"),
            ("Q.US", LAST, "2026-11-16"),
        ] {
            if is_known(name, from) {
                let to = if !to.is_empty() && is_known(name, to) { to } else { "" };
                add("suspensions", format!("{name},{from},{to}"));
            }
        }
        let files = files.into_iter().filter(|(_, text)| text.lines().count() > 1);
        let paths: Vec<_> = files
            .map(|(name, text)| {
                let path = dir.join(format!("{name}.csv"));
                std::fs::write(&path, text).unwrap();
                path
            })
            .collect();
        import_files(dir, &paths);
    }

    fn is_ingested(&self, stock: &Stock, minute: &Minute) -> bool {
        stock.name == INGESTED.0 && self.today(stock.name, minute.at) == date(INGESTED.1)
    }

    /// Returns the rows of a feed that are known at `now`.
    pub(crate) fn ingested(&self, now: Option<Timestamp>) -> Vec<Value> {
        let stock = self.stocks.iter().find(|stock| stock.name == INGESTED.0).unwrap();
        let rows = stock.rows(now, |minute| self.is_ingested(stock, minute)).into_iter();
        let row = |(time, [open, high, low, close, volume, turnover]): (i64, [String; 6])| {
            json!({
                "symbol": stock.name, "period": "1m", "time": time, "open": open, "high": high, "low": low,
                "close": close, "volume": volume.parse::<i64>().unwrap(), "turnover": turnover, "final": true,
            })
        };
        rows.map(row).collect()
    }

    /// Returns the exchange rates known at `now`.
    pub(crate) fn rates(&self, now: Option<Timestamp>) -> Vec<Value> {
        let rows = self.rates.iter();
        let rows = rows.filter(|(day, ..)| now.is_none_or(|now| *day <= self.today("9.HK", now)));
        rows.map(|(day, currency, rate)| json!({"currency": currency, "day": day.to_string(), "rate": rate}))
            .collect()
    }
}

fn currency(market: Market) -> &'static str {
    match market {
        Market::Hk => "HKD",
        Market::Us => "USD",
        Market::Cn => "CNY",
    }
}
