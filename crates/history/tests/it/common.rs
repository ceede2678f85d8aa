//! A test store in a temporary directory, helpers to fill it, and queries in the specification's
//! notation.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use history::import::{Context, Options, Progress, Report, Sizes, import_sized};
use history::{Adjust, Answer, AsOf, History, HistoryError, Query, Select, Sessions, lane_of};
use market::{
    Action, Candle, Candles, Date, DayKind, Floors, Grain, Market, Period, Price, Session, Symbol, Timestamp,
    Turnover, Venue, Venues,
};
use store::{Access, ImportRecord, Lane, NewBlock, QuarantineOf, Series, Store};

pub(crate) fn venues() -> &'static Venues {
    static VENUES: OnceLock<Venues> = OnceLock::new();
    VENUES.get_or_init(|| Venues::built_in().unwrap())
}

pub(crate) fn venue(market: Market) -> &'static Venue {
    venues().of(market)
}

pub(crate) fn symbol(text: &str) -> Symbol {
    text.parse().unwrap()
}

pub(crate) fn date(text: &str) -> Date {
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no date"))
}

/// Parses `2026-11-15 12:00`, `2026-11-15 12:00:30` or a bare date (midnight) in the market's local
/// time.
pub(crate) fn at(market: Market, local: &str) -> Timestamp {
    let (day, time) = local.split_once(' ').unwrap_or((local, "00:00"));
    let mut parts = time.split(':').map(|part| part.parse::<i64>().unwrap());
    let mut next = || parts.next().unwrap_or(0);
    let seconds = next() * 3600 + next() * 60 + next();
    venue(market).zone().instant(date(day), seconds)
}

pub(crate) fn candle(time: Timestamp, session: Session, price: i64, volume: i64) -> Candle {
    let price = Price(price);
    let turnover = Turnover(i128::from(price.0) * i128::from(volume));
    Candle { time, open: price, high: price, low: price, close: price, volume, turnover, session }
}

/// Returns a one-minute candle, with a volume of one share, for every minute of every trading day
/// in an inclusive date range.
pub(crate) fn minutes(market: Market, from: &str, through: &str) -> Candles {
    let venue = venue(market);
    let days = venue.calendar().days(date(from), date(through)).map(|(day, _)| venue.day(day).unwrap());
    let mut candles = Candles::default();
    for day in days {
        for (time, slot) in day.minutes() {
            candles.push(candle(time, slot.segment.session, 10_000_000, 1));
        }
    }
    candles
}

/// Returns a daily candle, with a volume of one share, for every trading day in an inclusive date
/// range.
pub(crate) fn days(market: Market, from: &str, through: &str) -> Candles {
    let venue = venue(market);
    let dates = venue.calendar().days(date(from), date(through));
    dates.map(|(day, _)| candle(venue.zone().midnight(day), Session::Intraday, 10_000_000, 1)).collect()
}

pub(crate) fn together(parts: &[Candles]) -> Candles {
    let mut all = Candles::default();
    parts.iter().for_each(|part| all.append(part));
    all
}

/// Folds source candles naively: the bucket of each candle is looked up separately.
pub(crate) fn fold_naively(
    venue: &Venue,
    period: Period,
    sources: impl Iterator<Item = Candle>,
) -> Vec<Candle> {
    let mut folded: Vec<Candle> = Vec::new();
    for source in sources {
        let stamp = match period {
            Period::Clock(minutes) => match venue.slot(source.time) {
                Some(slot) => slot.bucket(minutes, source.time).0,
                None => continue,
            },
            Period::Calendar(span) => venue.zone().midnight(span.floor(venue.zone().date(source.time))),
        };
        match folded.last_mut().filter(|last| last.time == stamp) {
            None => folded.push(Candle { time: stamp, ..source }),
            Some(last) => {
                last.high = last.high.max(source.high);
                last.low = last.low.min(source.low);
                last.close = source.close;
                last.volume += source.volume;
                last.turnover = Turnover(last.turnover.0 + source.turnover.0);
            }
        }
    }
    folded
}

/// R3 and A2, reimplemented: returns the minutes after midnight at which the regular hours of a day
/// are over, including the closing tail.
pub(crate) fn day_end(market: Market, kind: DayKind, day: Date) -> i32 {
    match (market, kind) {
        // A5: the earlier trading hours, before the closing auction became permanent.
        (Market::Hk, DayKind::Full) if day < date("2016-07-25") => 16 * 60,
        (Market::Hk, DayKind::Half) if day < date("2011-03-07") => 12 * 60 + 30,
        (Market::Hk, DayKind::Half) if day < date("2016-07-25") => 12 * 60,
        (Market::Hk, DayKind::Full) => 16 * 60 + 10,
        (Market::Hk, DayKind::Half) => 12 * 60 + 10,
        (Market::Cn, _) => 15 * 60 + 10,
        (Market::Us, DayKind::Full) => 16 * 60,
        (Market::Us, DayKind::Half) => 13 * 60,
    }
}

/// Returns today if it is an unfinished trading day, otherwise `None`.
pub(crate) fn unfinished_day(venue: &Venue, now: Timestamp) -> Option<Date> {
    let (today, seconds) = venue.zone().local(now);
    let end = day_end(venue.market(), venue.calendar().kind(today)?, today);
    (seconds < i64::from(end) * 60).then_some(today)
}

/// R1 and R2, reimplemented: returns the one-minute candles that are visible in a replay at `now`.
pub(crate) fn known_minutes(venue: &Venue, minutes: &[Candle], now: Timestamp) -> Vec<Candle> {
    let mut known = Vec::new();
    for minute in minutes.iter().filter(|minute| minute.time <= now) {
        let (day, seconds) = venue.zone().local(minute.time);
        let tail = match (venue.market(), venue.calendar().kind(day)) {
            (Market::Hk, Some(DayKind::Full)) => seconds == 16 * 3600,
            (Market::Hk, Some(DayKind::Half)) => seconds == 12 * 3600,
            (Market::Cn, _) => seconds == 15 * 3600,
            _ => false,
        };
        match now.0 - minute.time.0 {
            ..600 if tail => {}
            ..60 => {
                let Candle { time, open, session, .. } = *minute;
                known.push(Candle {
                    time,
                    open,
                    high: open,
                    low: open,
                    close: open,
                    volume: 0,
                    turnover: Turnover(0),
                    session,
                });
            }
            _ => known.push(*minute),
        }
    }
    known
}

/// Block and page sizes for candles written without the import.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    pub(crate) block_rows: usize,
    pub(crate) page_rows: usize,
}

pub(crate) const COARSE: Cut = Cut { block_rows: 4096, page_rows: 256 };

pub(crate) struct Shop {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) history: History,
}

impl Shop {
    pub(crate) fn new() -> Shop {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Access::Write { now: Timestamp(0) }).unwrap();
        Shop { folder, store, history: History::new(venues().clone()) }
    }

    /// Writes daily candles, one-minute candles and their roll-ups as blocks, without the import.
    pub(crate) fn stock(&self, symbol: &Symbol, minutes: &Candles, days: &Candles, cut: Cut) {
        let mut writer = self.store.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        batch.ensure_security(symbol).unwrap();
        let mut put = |grain, lane, candles: Candles| {
            let series = Series { symbol: symbol.clone(), grain, lane };
            let blocks: Vec<NewBlock> = (0..candles.len())
                .step_by(cut.block_rows)
                .map(|start| {
                    let rows = start..candles.len().min(start + cut.block_rows);
                    let tuning =
                        block::Tuning { page_rows: cut.page_rows, level: 4, ..block::Tuning::default() };
                    NewBlock {
                        first: Timestamp(candles.time[rows.start]),
                        last: Timestamp(candles.time[rows.end - 1]),
                        rows: rows.len() as u32,
                        bytes: block::encode_tuned(&candles, rows, tuning).unwrap(),
                    }
                })
                .collect();
            batch.replace_blocks(&series, &[], &blocks).unwrap();
        };
        put(Grain::Day, Lane::Regular, days.clone());
        let venue = venue(symbol.market());
        for lane in Lane::ALL {
            let own: Vec<Candle> = minutes.iter().filter(|candle| lane_of(candle.session) == lane).collect();
            for grain in Grain::ROLLED_UP {
                let rolled = fold_naively(venue, grain.period(), own.iter().copied());
                put(grain, lane, rolled.into_iter().collect());
            }
            put(Grain::Minute, lane, own.into_iter().collect());
        }
        batch.commit().unwrap();
    }

    pub(crate) fn act(&self, symbol: &Symbol, actions: &[Action]) {
        let mut writer = self.store.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        batch.replace_actions(symbol, actions).unwrap();
        batch.commit().unwrap();
    }

    pub(crate) fn candles(&self, query: &Query, as_of: AsOf) -> Result<Answer, HistoryError> {
        self.history.candles(&mut self.store.reader().unwrap(), query, as_of)
    }

    /// Runs a query such as `700.HK week forward {0, 20231018, -, 2}` or `AAPL.US 60m +all
    /// [20250706, -]` at a local time of the market. Returns the stamps, each with its date if the
    /// date has changed.
    pub(crate) fn ask(&self, now: &str, question: &str) -> String {
        self.ask_with(now, question, |_| String::new())
    }

    /// Like [`Shop::ask`], with a suffix for each candle.
    pub(crate) fn ask_with(&self, now: &str, question: &str, more: impl Fn(&Candle) -> String) -> String {
        self.ask_as_of(AsOf::Live, now, question, more)
    }

    /// Like [`Shop::ask_with`], with either kind of clock.
    pub(crate) fn ask_as_of(
        &self,
        clock: impl Fn(Timestamp) -> AsOf,
        now: &str,
        question: &str,
        more: impl Fn(&Candle) -> String,
    ) -> String {
        let query = match question_of(question) {
            Ok(query) => query,
            Err(bad) => return format!("bad: {bad}"),
        };
        let market = query.symbol.market();
        let candles = match self.candles(&query, clock(at(market, now))) {
            Ok(answer) => answer.candles,
            Err(error) => return format!("error: {error}"),
        };
        assert!(candles.time.is_sorted_by(|a, b| a < b), "{question}: not strictly ascending");
        spell(market, query.period, &candles, more)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn import(&self, files: &[PathBuf]) -> Vec<Report> {
        self.import_with(files, &Options::default(), Sizes::default(), &AtomicBool::new(false))
    }

    pub(crate) fn import_with(
        &self,
        files: &[PathBuf],
        options: &Options,
        sizes: Sizes,
        stop: &AtomicBool,
    ) -> Vec<Report> {
        let context = Context {
            store: &self.store,
            venues: venues(),
            options,
            now: &|| Timestamp(1_800_000_000),
            stop,
            progress: &Progress::default(),
        };
        import_sized(&context, files, sizes).unwrap()
    }

    pub(crate) fn stored(&self, series: &str) -> Candles {
        let series: Series = series.parse().unwrap();
        let mut reader = self.store.reader().unwrap();
        let snapshot = reader.snapshot().unwrap();
        let (mut candles, mut bytes) = (Candles::default(), Vec::new());
        for entry in snapshot.blocks(&series, None, None).unwrap() {
            snapshot.block(&entry, &mut bytes).unwrap();
            block::Block::parse(&bytes).unwrap().read_all(&mut candles).unwrap();
        }
        candles
    }

    /// Lists all blocks with their ids. Equal texts mean that nothing was rewritten.
    pub(crate) fn directory(&self) -> String {
        let mut reader = self.store.reader().unwrap();
        let snapshot = reader.snapshot().unwrap();
        let mut text = format!("version {}\n", snapshot.version().unwrap());
        for info in snapshot.all_series().unwrap() {
            let ids: Vec<i64> =
                snapshot.blocks(&info.series, None, None).unwrap().iter().map(|e| e.id).collect();
            text += &format!("{} rows {} version {} blocks {ids:?}\n", info.series, info.rows, info.version);
        }
        text
    }

    /// Returns the candles of every series, regardless of how they are split into blocks.
    pub(crate) fn content(&self) -> Vec<(String, Candles)> {
        let all = self.store.reader().unwrap().snapshot().unwrap().all_series().unwrap();
        all.iter().map(|info| (info.series.to_string(), self.stored(&info.series.to_string()))).collect()
    }

    pub(crate) fn imports(&self) -> Vec<ImportRecord> {
        self.store.reader().unwrap().snapshot().unwrap().imports().unwrap()
    }

    /// Formats each import as `done read 5 = +3 ~1 =0 !1`: added, replaced, unchanged, quarantined.
    pub(crate) fn ledger(&self) -> Vec<String> {
        let line = |r: &ImportRecord| {
            let state = r.state.as_str();
            format!(
                "{state} read {} = +{} ~{} ={} !{}",
                r.rows_read, r.added, r.replaced, r.unchanged, r.quarantined
            )
        };
        self.imports().iter().map(line).collect()
    }

    /// Formats every quarantined row as `line: reason`.
    pub(crate) fn quarantine(&self) -> Vec<String> {
        let rows =
            self.store.reader().unwrap().snapshot().unwrap().quarantine(QuarantineOf::All, 1000).unwrap();
        rows.iter().map(|entry| format!("{}: {}", entry.row.line, entry.row.reason)).collect()
    }
}

/// Parses a query from text.
pub(crate) fn question_of(text: &str) -> Result<Query, history::BadQuery> {
    let open = text.find(['{', '[']).unwrap();
    let (head, fields) = text.split_at(open);
    let mut words = head.split_whitespace();
    let symbol = symbol(words.next().unwrap());
    let period: Period = words.next().unwrap().parse().unwrap();
    let (mut adjust, mut sessions) = (Adjust::None, Sessions::Intraday);
    let mut floors = Floors::published(symbol.market());
    for word in words {
        match word {
            "forward" => adjust = Adjust::Forward,
            "+ext" => sessions = Sessions::Extended,
            "+all" => sessions = Sessions::All,
            "whole" => floors = Floors::NONE,
            other => panic!("{other:?} in {text:?}"),
        }
    }
    let inner: Vec<&str> = fields[1..fields.len() - 1].split(',').map(str::trim).collect();
    let field = |n: usize| inner.get(n).copied().filter(|text| *text != "-").unwrap_or("");
    let number = |n: usize| field(n).parse().unwrap_or(0);
    let select = if fields.starts_with('{') {
        Select::offset(period, number(0), field(1), field(2), number(3))?
    } else {
        Select::dates(period, floors, field(0), field(1))?
    };
    Ok(Query { symbol, period, adjust, sessions, floors, select })
}

/// Formats up to twelve stamps in full; more are shortened to the first, the last and the count.
pub(crate) fn spell(
    market: Market,
    period: Period,
    candles: &Candles,
    more: impl Fn(&Candle) -> String,
) -> String {
    let stamp = |candle: &Candle, known: Option<Date>| {
        let (date, seconds) = venue(market).zone().local(candle.time);
        let time = format!("{:02}:{:02}", seconds / 3600, seconds / 60 % 60);
        let text = match period {
            Period::Calendar(_) => {
                assert_eq!(seconds, 0);
                date.to_string()
            }
            Period::Clock(_) if known == Some(date) => time,
            Period::Clock(_) => format!("{date} {time}"),
        };
        text + &more(candle)
    };
    let all: Vec<Candle> = candles.iter().collect();
    if all.len() > 12 {
        return format!("{} … {} ({})", stamp(&all[0], None), stamp(&all[all.len() - 1], None), all.len());
    }
    let mut known = None;
    let mut texts = Vec::new();
    for candle in &all {
        texts.push(stamp(candle, known));
        known = Some(venue(market).zone().date(candle.time));
    }
    texts.join(" ")
}

pub(crate) fn volume(candle: &Candle) -> String {
    format!("×{}", candle.volume)
}

/// A deterministic random number generator: the same seed gives the same numbers on every platform.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The store for most tables: 700.HK, AAPL.US and 600519.SH, with all daily candles, and all
/// one-minute candles around the dates used in the tables. The store also has candles below the
/// floors and in the future, which must never be served.
pub(crate) fn full_shop() -> &'static Shop {
    static SHOP: OnceLock<Shop> = OnceLock::new();
    SHOP.get_or_init(|| {
        let shop = Shop::new();
        let of = |market, ranges: &[(&str, &str)]| {
            together(&ranges.iter().map(|(from, through)| minutes(market, from, through)).collect::<Vec<_>>())
        };
        let hk = [
            ("2022-09-26", "2022-10-05"),
            ("2023-01-03", "2023-01-05"),
            ("2025-12-19", "2025-12-24"),
            ("2026-11-10", "2026-11-17"),
        ];
        let hk = of(Market::Hk, &hk);
        shop.stock(&symbol("700.HK"), &hk, &days(Market::Hk, "2003-01-01", "2026-11-30"), COARSE);
        let us = [
            ("2023-11-29", "2023-12-05"),
            ("2025-07-02", "2025-07-09"),
            ("2025-11-26", "2025-11-28"),
            ("2026-11-11", "2026-11-16"),
        ];
        let us = of(Market::Us, &us);
        shop.stock(&symbol("AAPL.US"), &us, &days(Market::Us, "2010-01-04", "2026-11-30"), COARSE);
        let cn = of(Market::Cn, &[("2022-08-23", "2022-08-26"), ("2026-11-10", "2026-11-17")]);
        shop.stock(&symbol("600519.SH"), &cn, &days(Market::Cn, "1999-10-01", "2026-11-30"), COARSE);
        let mut writer = shop.store.writer().unwrap();
        let mut batch = writer.begin().unwrap();
        batch.ensure_security(&symbol("5.HK")).unwrap();
        batch.commit().unwrap();
        drop(writer);
        shop
    })
}
