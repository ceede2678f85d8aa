//! Property S1: queries at an instant return the state that clients have built from the pushes up
//! to that instant. The pushes are those of `feed::Replay`. A client model builds candles and
//! quotes from them according to the specification (3.1 of the live page, D7 of the candles page),
//! independently of the code under test.

use std::collections::BTreeMap;
use std::fmt::Write;

use feed::{Board, Push, QuotePush, Replay};
use history::{Adjust, AsOf, Query, Select, SessionQuote, Sessions};
use market::{
    Candle, Candles, Date, Floors, Market, Period, Price, Session, Symbol, Timestamp, Trade, TradeCandles,
    TradeDirection, TradeEffect, TradeHours, TradeType, Trades, Turnover, Venue, fold,
};
use store::Security;

use crate::common::{COARSE, Rng, Shop, date, symbol, venue};

/// A candle with prices in hundred-millionths of the currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Built {
    prices: [i128; 4],
    volume: i64,
    turnover: i128,
}

impl Built {
    fn of(candle: &Candle) -> Built {
        let prices =
            [candle.open, candle.high, candle.low, candle.close].map(|price| i128::from(price.0) * 100);
        Built { prices, volume: candle.volume, turnover: candle.turnover.0 * 100 }
    }
}

/// Candles by session and stamp.
type Series = BTreeMap<(Session, Timestamp), Built>;

struct Client<'a> {
    venue: &'a Venue,
    board: Board,
    /// Candles of each period except daily candles.
    periods: Vec<(Period, Series)>,
    /// The last quote of each session.
    quotes: BTreeMap<Session, QuotePush>,
}

impl<'a> Client<'a> {
    fn new(venue: &'a Venue, board: Board) -> Client<'a> {
        let periods = Period::all().filter(|period| *period != Period::DAY);
        let periods = periods.map(|period| (period, Series::new())).collect();
        Client { venue, board, periods, quotes: BTreeMap::new() }
    }

    fn take(&mut self, push: &Push) {
        match push {
            Push::Trades(push) => {
                let market = self.venue.market();
                let unit = if market == Market::Cn { 100 } else { 1 };
                for print in &push.prints {
                    let effect = print.kind.effect(market, push.session);
                    let turnover = print.price.0 * i128::from(print.volume) * unit;
                    self.merge(push.session, print.time, print.price.0, effect, (print.volume, turnover));
                }
            }
            Push::Quote(push) => {
                if self.board == Board::Index {
                    let grown = (push.growth.volume, push.growth.turnover.0 * 100);
                    let price = i128::from(push.figures.last.0) * 100;
                    self.merge(push.session, push.time, price, TradeEffect::PriceAndVolume, grown);
                }
                self.quotes.insert(push.session, push.clone());
            }
        }
    }

    fn merge(
        &mut self,
        session: Session,
        time: Timestamp,
        price: i128,
        effect: TradeEffect,
        (volume, turnover): (i64, i128),
    ) {
        // The time of an end-of-day push is in no minute.
        let Ok(place) = TradeHours::new(self.venue).place(time) else { return };
        let Some(minute) = place.minute.filter(|_| place.session == session) else { return };
        for (period, candles) in &mut self.periods {
            let stamp = match period {
                Period::Clock(length) => self.venue.slot(minute).unwrap().bucket(*length, minute).0,
                Period::Calendar(_) if session != Session::Intraday => continue,
                Period::Calendar(span) => {
                    self.venue.zone().midnight(span.floor(self.venue.zone().date(time)))
                }
            };
            let mut newest = candles.range((session, Timestamp(i64::MIN))..=(session, Timestamp(i64::MAX)));
            let newest = newest.next_back().map(|((_, stamp), built)| (*stamp, *built));
            if effect == TradeEffect::Nothing || newest.is_some_and(|(newest, _)| newest > stamp) {
                continue;
            }
            let flat = |price| Built { prices: [price; 4], volume: 0, turnover: 0 };
            let mut built = match newest {
                Some((newest, built)) if newest == stamp => built,
                Some((_, before)) if effect == TradeEffect::VolumeOnly => flat(before.prices[3]),
                _ => flat(price),
            };
            if effect == TradeEffect::PriceAndVolume {
                let [open, high, low, _] = built.prices;
                built.prices = [open, high.max(price), low.min(price), price];
            }
            built.volume += volume;
            built.turnover += turnover;
            candles.insert((session, stamp), built);
        }
    }
}

/// Days of a random market: full days, half days, with a weekend, and around a holiday.
const DAYS: [(Market, &str, &[&str]); 6] = [
    (Market::Hk, "700.HK", &["2026-03-18", "2026-03-19"]),
    (Market::Hk, "700.HK", &["2026-02-13", "2026-02-16"]),
    (Market::Us, "AAPL.US", &["2026-07-14", "2026-07-15"]),
    (Market::Us, "AAPL.US", &["2025-11-26", "2025-11-28"]),
    (Market::Cn, "600519.SH", &["2026-03-20", "2026-03-23"]),
    (Market::Hk, "HSI.HK", &["2026-02-16", "2026-02-20"]),
];

/// Relation between the stored daily candles and the minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Official {
    None,
    Equal,
    Different,
}

struct World {
    symbol: Symbol,
    venue: &'static Venue,
    board: Board,
    official: Official,
    minutes: Candles,
    days: Candles,
    trades: Trades,
    /// Minutes with trades whose candles are not stored.
    folds: Candles,
}

fn number(rng: &mut Rng, below: usize) -> i64 {
    rng.below(below) as i64
}

/// A price near 100 with two decimals.
fn random_price(rng: &mut Rng) -> Price {
    Price((9_900 + number(rng, 200)) * 10_000)
}

/// Extends the range of a candle, and adds volume at an average within the range.
fn grow(rng: &mut Rng, market: Market, candle: &mut Candle) {
    if rng.one_in(2) {
        candle.high = candle.high.max(random_price(rng));
    }
    if rng.one_in(2) {
        candle.low = candle.low.min(random_price(rng));
    }
    let within = |rng: &mut Rng| {
        let steps = (candle.high.0 - candle.low.0) / 10_000;
        Price(candle.low.0 + number(rng, steps as usize + 1) * 10_000)
    };
    candle.close = within(rng);
    let average = within(rng);
    let volume = if rng.one_in(4) { 0 } else { 1 + number(rng, 5_000) };
    let unit = if market == Market::Cn { 100 } else { 1 };
    candle.volume += volume;
    candle.turnover.0 += i128::from(average.0) * i128::from(volume) * unit;
}

impl World {
    fn random(rng: &mut Rng) -> World {
        let (market, name, dates) = *rng.pick(&DAYS);
        let venue = venue(market);
        let board = if name == "HSI.HK" { Board::Index } else { Board::Security };
        let official = *rng.pick(&[Official::None, Official::Equal, Official::Different]);
        let (has_trades, one_in) = (market != Market::Cn && rng.one_in(2), *rng.pick(&[3, 10]));
        let mut world = World {
            symbol: symbol(name),
            venue,
            board,
            official,
            minutes: Candles::default(),
            days: Candles::default(),
            trades: Trades::default(),
            folds: Candles::default(),
        };
        for date in dates.iter().map(|text| date(text)) {
            for (stamp, slot) in venue.day(date).unwrap().minutes() {
                let session = slot.segment.session;
                if rng.one_in(one_in) && (board == Board::Security || session == Session::Intraday) {
                    let is_traded = has_trades && rng.one_in(2);
                    let seconds = if slot.is_tail(stamp) { 600 } else { 60 };
                    world.add(rng, (date, stamp, session), is_traded.then_some(seconds));
                }
            }
            world.add_day(rng, date);
        }
        world
    }

    /// Adds a minute. If `traded` is set, also adds trades within this number of seconds after its
    /// start.
    fn add(&mut self, rng: &mut Rng, place: (Date, Timestamp, Session), traded: Option<usize>) {
        let (date, time, session) = place;
        let open = random_price(rng);
        let flat = Candle {
            time,
            open,
            high: open,
            low: open,
            close: open,
            volume: 0,
            turnover: Turnover(0),
            session,
        };
        let mut candle = flat;
        if let Some(length) = traded {
            let mut seconds: Vec<i64> = (0..1 + rng.below(6)).map(|_| number(rng, length)).collect();
            seconds.sort_unstable();
            let mut trades = Trades::default();
            for (index, second) in seconds.into_iter().enumerate() {
                // Volume alone does not change the price. The first trade sets the open.
                let letter = if self.venue.market() == Market::Us { b'W' } else { b'M' };
                let is_volume = index > 0 && rng.one_in(4);
                let kind = if is_volume { TradeType::from_code(letter).unwrap() } else { TradeType::BLANK };
                let (price, volume) = (random_price(rng), 1 + number(rng, 900));
                let direction = TradeDirection::Neutral;
                trades.push(Trade { time: Timestamp(time.0 + second), price, volume, direction, kind });
            }
            candle = TradeCandles::of(self.venue, date, &trades).unwrap().minutes.get(0).unwrap();
            self.trades.append(&trades);
            if self.board == Board::Security && self.official != Official::Different && rng.one_in(3) {
                // No candle is stored, so the fold of the trades is the candle.
                self.folds.push(candle);
                return;
            }
        }
        if !rng.one_in(5) {
            grow(rng, self.venue.market(), &mut candle);
        }
        self.minutes.push(candle);
    }

    fn add_day(&mut self, rng: &mut Rng, date: Date) {
        let midnight = self.venue.zone().midnight(date);
        let is_of_day = |candle: &Candle| {
            candle.session == Session::Intraday && self.venue.zone().date(candle.time) == date
        };
        let mut minutes: Vec<Candle> =
            self.minutes.iter().chain(self.folds.iter()).filter(is_of_day).collect();
        minutes.sort_by_key(|candle| candle.time);
        let minutes: Candles = minutes.into_iter().collect();
        let day = fold::fold_whole(midnight, &minutes).unwrap().get(0);
        match (self.official, day) {
            (Official::Equal, Some(day)) => self.days.push(day),
            (Official::Different, Some(mut day)) if rng.one_in(2) => {
                grow(rng, self.venue.market(), &mut day);
                self.days.push(day);
            }
            _ => {}
        }
    }

    fn shop(&self) -> Shop {
        let shop = Shop::new();
        shop.stock(&self.symbol, &self.minutes, &self.days, COARSE);
        if self.board == Board::Index {
            let mut writer = shop.store.writer().unwrap();
            let mut batch = writer.begin().unwrap();
            let board = Some("HKHS".to_owned());
            batch.put_security(&Security { board, ..Security::new(self.symbol.clone()) }).unwrap();
            batch.commit().unwrap();
        }
        if !self.trades.is_empty() {
            let mut text = "symbol,time,price,volume,direction,type\n".to_owned();
            for trade in self.trades.iter() {
                let time = self.venue.zone().rfc3339(trade.time);
                let Trade { price, volume, kind, .. } = trade;
                writeln!(text, "{},{time},{},{volume},neutral,{kind}", self.symbol, price.text(2)).unwrap();
            }
            let report = shop.import(&[shop.file("trades.csv", text)]).remove(0);
            assert_eq!(report.added as usize, self.trades.len(), "{report:?}");
        }
        shop
    }

    /// A random instant, mostly close to one with a push.
    fn instant(&self, rng: &mut Rng) -> Timestamp {
        let near = if !self.trades.is_empty() && rng.one_in(3) {
            *rng.pick(&self.trades.time)
        } else {
            *rng.pick(&self.minutes.time)
        };
        let after = *rng.pick(&[-1, 0, 1, 20, 59, 60, 61, 300, 599, 600, 601, 3_600, 30_000]);
        Timestamp(near + after)
    }

    fn check(&self, shop: &Shop, client: &Client<'_>, now: Timestamp) {
        let context = format!("{} at {}, {:?}", self.symbol, self.venue.zone().rfc3339(now), self.official);
        let today = self.venue.zone().date(now);
        let is_today = client.quotes.get(&Session::Intraday).is_some_and(|push| push.day == today);
        // Longer candles include days without a daily candle only while the last of these days is
        // unfinished. If a daily candle differs from its minutes, clients build another candle.
        let is_built = match self.official {
            Official::None => is_today,
            Official::Equal => true,
            Official::Different => false,
        };
        for (period, built) in &client.periods {
            let mut expected: Vec<_> =
                built.iter().map(|((session, time), built)| (*time, *session, *built)).collect();
            expected.sort_by_key(|(time, ..)| *time);
            let found = self.candles(shop, *period, now);
            let found: Vec<_> = found.iter().map(|one| (one.time, one.session, Built::of(&one))).collect();
            if period.is_clock() {
                let expected = &expected[expected.len().saturating_sub(1_000)..];
                assert_eq!(found, expected, "{period}, {context}");
            } else if is_built {
                assert_eq!(found.last(), expected.last(), "{period}, {context}");
            }
        }
        self.check_others(shop, client, (now, &context));
        let day = self.candles(shop, Period::DAY, now).last();
        let regular = client.quotes.get(&Session::Intraday);
        let of_push = |push: &QuotePush| {
            let feed::Figures { open, high, low, last: close, volume, turnover } = push.figures;
            let time = self.venue.zone().midnight(push.day);
            Candle { time, open, high, low, close, volume, turnover, session: Session::Intraday }
        };
        // A day without a daily candle is shown until midnight.
        if self.official == Official::Equal || is_today {
            assert_eq!(day, regular.map(of_push), "day, {context}");
        }

        let reader = &mut shop.store.reader().unwrap();
        let sessions = Sessions::All;
        let as_of = AsOf::Replay(now);
        let quote = shop.history.quote(reader, &self.symbol, sessions, Floors::NONE, as_of).unwrap();
        let state = |quote: Option<SessionQuote>| {
            quote.map(|quote| (quote.state.day, quote.state.figures, quote.state.time))
        };
        let pushed = |push: &QuotePush| (push.day, push.figures, push.time);
        assert_eq!(state(quote.as_ref().map(|quote| quote.regular)), regular.map(pushed), "{context}");
        let Some((quote, regular)) = quote.zip(regular) else { return };
        let last = shop.history.last_price(reader, &self.symbol, Floors::NONE, as_of).unwrap();
        assert_eq!(last.unwrap().0, regular.figures.last, "{context}");
        for (session, found) in
            [(Session::Pre, quote.pre), (Session::Overnight, quote.overnight), (Session::Post, quote.post)]
        {
            let push = client.quotes.get(&session).filter(|push| push.day >= regular.day);
            assert_eq!(state(found), push.map(pushed), "{session}, {context}");
            let is_later = push.is_some_and(|push| push.day > regular.day) || session == Session::Post;
            let expected = if is_later { regular.figures.last } else { quote.regular.prev_close };
            assert!(found.is_none_or(|found| found.prev_close == expected), "{session}, {context}");
        }
    }

    /// Compares the responses of commands 18 and 27: the line of the newest trading day, and the
    /// candles of a range of dates.
    fn check_others(&self, shop: &Shop, client: &Client<'_>, (now, context): (Timestamp, &str)) {
        let reader = &mut shop.store.reader().unwrap();
        let of_minutes = client.periods.iter().find(|(period, _)| *period == Period::MINUTE);
        let built = &of_minutes.unwrap().1;
        let (all, floors, as_of) = (Sessions::All, Floors::NONE, AsOf::Replay(now));
        let line = shop.history.newest_day_minutes(reader, &self.symbol, all, floors, as_of);
        if let Ok(Some(line)) = line {
            let mut expected: Vec<_> = built
                .iter()
                .filter(|((_, stamp), _)| self.venue.trading_day(*stamp) == Some(line.day))
                .map(|((_, stamp), built)| (*stamp, built.prices[3], built.volume, built.turnover))
                .collect();
            expected.sort_by_key(|(stamp, ..)| *stamp);
            let found = line.line();
            let found =
                found.map(|of| (of.time, i128::from(of.price.0) * 100, of.volume, of.turnover.0 * 100));
            assert_eq!(found.collect::<Vec<_>>(), expected, "line, {context}");
        } else {
            assert!(built.is_empty(), "line, {context}");
        }
        let today = self.venue.zone().date(now);
        let select = Select::Dates { start: Some(today), end: Some(today) };
        let symbol = self.symbol.clone();
        let query =
            Query { symbol, period: Period::MINUTE, adjust: Adjust::None, sessions: all, floors, select };
        let found = shop.candles(&query, as_of).map(|answer| answer.candles).unwrap_or_default();
        let found: Vec<_> = found.iter().map(|one| (one.time, Built::of(&one))).collect();
        let is_today = |stamp: Timestamp| self.venue.zone().date(stamp) == today;
        let mut expected: Vec<_> = built
            .iter()
            .filter(|((_, stamp), _)| is_today(*stamp))
            .map(|((_, stamp), built)| (*stamp, *built))
            .collect();
        expected.sort_by_key(|(stamp, _)| *stamp);
        assert_eq!(found, &expected[expected.len().saturating_sub(1_000)..], "dates, {context}");
    }

    fn candles(&self, shop: &Shop, period: Period, now: Timestamp) -> Candles {
        let query = Query {
            symbol: self.symbol.clone(),
            period,
            adjust: Adjust::None,
            sessions: Sessions::All,
            floors: Floors::NONE,
            select: Select::offset(period, 0, "", "", 1_000).unwrap(),
        };
        shop.candles(&query, AsOf::Replay(now)).map(|answer| answer.candles).unwrap_or_default()
    }
}

#[test]
fn queries_equal_the_state_built_from_pushes() {
    for seed in 0..40u64 {
        let mut rng = Rng(seed ^ 0x51);
        let world = World::random(&mut rng);
        if world.minutes.is_empty() {
            continue;
        }
        let shop = world.shop();
        let World { symbol, board, venue, minutes, days, trades, .. } = &world;
        let replay = Replay {
            symbol,
            board: *board,
            venue,
            minutes,
            days,
            trades: Some(trades),
            statuses: &[],
            last: None,
        };
        let mut client = Client::new(venue, *board);
        let mut instants: Vec<Timestamp> = (0..12).map(|_| world.instant(&mut rng)).collect();
        instants.sort_unstable();
        let mut from = Timestamp(0);
        for now in instants {
            let dues = replay.between(from, now);
            dues.iter().flat_map(|due| &due.pushes).for_each(|push| client.take(push));
            from = now;
            world.check(&shop, &client, now);
        }
    }
}
