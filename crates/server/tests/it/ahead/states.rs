//! Property S1 in a world: at any instant, the responses of commands 11, 18, 19, 26 and 27 equal
//! the state that a client has built from the pushes up to that instant. The client model follows
//! the specification (3.1 of the live page, D7 of the candles page).

use std::collections::BTreeMap;

use market::{Date, Market, Minutes, Symbol, Timestamp, TradeEffect, TradeHours, TradeType, Venue, Venues};
use prost::Message;
use serde_json::{Value, json};
use wire::quote::{
    CalcIndexesRequest, CalcIndexesResponse, Candlestick, IntradayRequest, IntradayResponse, OffsetRequest,
    PushQuote, PushTrades, QuoteResponse, SecurityCandlestickRequest, SecurityCandlestickResponse,
    SecurityHistoryCandlestickRequest, SymbolsRequest, Trade,
};

use super::data::{Data, Rng, SECURITIES};
use super::pushes::Push;
use super::{START, Side, Visit, accepted};
use crate::support::Client;

/// Number of decimals of exact prices.
const DECIMALS: usize = 8;
const ALL_SESSIONS: i32 = 100;
/// Compared periods in minutes, without the day.
const PERIODS: [i32; 5] = [1, 5, 15, 60, 240];

/// A candle with prices in hundred-millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Built {
    prices: [i128; 4],
    volume: i64,
    turnover: i128,
}

fn exact(text: &str) -> i128 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}{part:0<DECIMALS$}").parse().unwrap()
}

impl Built {
    fn of(candle: &Candlestick) -> Built {
        let prices = [&candle.open, &candle.high, &candle.low, &candle.close].map(|price| exact(price));
        Built { prices, volume: candle.volume, turnover: exact(&candle.turnover) }
    }
}

/// A program's state of a security.
struct Model<'a> {
    name: &'static str,
    venue: &'a Venue,
    /// Candles by session and stamp, for each period.
    periods: BTreeMap<i32, BTreeMap<(i32, i64), Built>>,
    /// The last quote of each session.
    quotes: BTreeMap<i32, PushQuote>,
}

impl<'a> Model<'a> {
    fn new(name: &'static str, venues: &'a Venues) -> Model<'a> {
        let symbol: Symbol = name.parse().unwrap();
        let periods = PERIODS.map(|period| (period, BTreeMap::new())).into();
        Model { name, venue: venues.of(symbol.market()), periods, quotes: BTreeMap::new() }
    }

    fn take(&mut self, (command, body): &Push) {
        match command {
            101 => {
                let quote = PushQuote::decode(&**body).unwrap();
                if quote.symbol == self.name {
                    self.quotes.insert(quote.trade_session, quote);
                }
            }
            104 => {
                let push = PushTrades::decode(&**body).unwrap();
                if push.symbol == self.name {
                    push.trade.iter().for_each(|print| self.add(print));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, print: &Trade) {
        let market = self.venue.market();
        let unit = if market == Market::Cn { 100 } else { 1 };
        let place = TradeHours::new(self.venue).place(Timestamp(print.timestamp)).unwrap();
        let (Some(minute), session) = (place.minute, print.trade_session) else { return };
        assert_eq!(i32::from(place.session.code()), session, "{print:?}");
        let kind = TradeType::parse(print.trade_type.as_bytes(), market).unwrap();
        let (effect, price) = (kind.effect(market, place.session), exact(&print.price));
        let slot = self.venue.slot(minute).unwrap();
        for (period, candles) in &mut self.periods {
            let length = Minutes::new(u16::try_from(*period).unwrap()).unwrap();
            let stamp = slot.bucket(length, minute).0.0;
            let newest = candles.range((session, i64::MIN)..=(session, i64::MAX)).next_back();
            let newest = newest.map(|((_, stamp), built)| (*stamp, *built));
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
            built.volume += print.volume;
            built.turnover += price * i128::from(print.volume) * unit;
            candles.insert((session, stamp), built);
        }
    }

    /// Returns the newest candles of all sessions, ordered by time.
    fn candles(&self, period: i32, count: usize) -> Vec<(i64, i32, Built)> {
        let candles = self.periods[&period].iter();
        let mut all: Vec<_> = candles.map(|((session, stamp), built)| (*stamp, *session, *built)).collect();
        all.sort_by_key(|(stamp, ..)| *stamp);
        all.split_off(all.len().saturating_sub(count))
    }

    /// Returns the trading day of a quote.
    fn day(&self, quote: &PushQuote) -> Date {
        let at = Timestamp(quote.timestamp);
        match quote.trade_session {
            0 => self.venue.zone().date(at),
            _ => TradeHours::new(self.venue).place(at).unwrap().day,
        }
    }

    async fn compare(&self, client: &mut Client, context: &str) {
        let name = self.name.to_owned();
        let about = format!("{name}, {context}");
        for (period, count) in [(1, 1_000), (1, 3), (5, 1_000), (15, 1_000), (60, 1_000), (240, 1_000)] {
            let expected = self.candles(period, count);
            let request = SecurityCandlestickRequest {
                symbol: name.clone(),
                period,
                count: count as i32,
                trade_session: ALL_SESSIONS,
                ..Default::default()
            };
            let latest = client.ask::<SecurityCandlestickResponse>(19, &request).await;
            assert_eq!(shown(latest), expected, "19, {period}, {about}");
            let request = SecurityHistoryCandlestickRequest {
                symbol: name.clone(),
                period,
                query_type: 1,
                offset_request: Some(OffsetRequest { count: count as i32, ..Default::default() }),
                trade_session: ALL_SESSIONS,
                ..Default::default()
            };
            let history = client.ask::<SecurityCandlestickResponse>(27, &request).await;
            assert_eq!(shown(history), expected, "27, {period}, {about}");
        }
        let Some(regular) = self.quotes.get(&0) else { return };
        let figures = |quote: &PushQuote| {
            [&quote.last_done, &quote.open, &quote.high, &quote.low, &quote.turnover].map(|text| exact(text))
        };
        let day = SecurityCandlestickRequest {
            symbol: name.clone(),
            period: 1_000,
            count: 1,
            ..Default::default()
        };
        let day: SecurityCandlestickResponse = client.ask(19, &day).await.unwrap();
        let [day] = day.candlesticks.as_slice() else { panic!("{day:?}") };
        let midnight = self.venue.zone().midnight(self.day(regular)).0;
        let built = Built::of(day);
        let [open, high, low, close] = built.prices;
        assert_eq!(
            ([close, open, high, low, built.turnover], built.volume, day.timestamp),
            (figures(regular), regular.volume, midnight),
            "day, {about}"
        );
        let symbols = SymbolsRequest { symbol: vec![name.clone()] };
        let quote: QuoteResponse = client.ask(11, &symbols).await.unwrap();
        let [quote] = quote.secu_quote.as_slice() else { panic!("{quote:?}") };
        let of_quote =
            [&quote.last_done, &quote.open, &quote.high, &quote.low, &quote.turnover].map(|text| exact(text));
        assert_eq!(
            (of_quote, quote.volume, quote.timestamp, quote.trade_status),
            (figures(regular), regular.volume, regular.timestamp, regular.trade_status),
            "11, {about}"
        );
        for (session, found) in
            [(1, &quote.pre_market_quote), (2, &quote.post_market_quote), (3, &quote.over_night_quote)]
        {
            let push = self.quotes.get(&session).filter(|push| self.day(push) >= self.day(regular));
            let found = found.as_ref().map(|found| {
                let prices =
                    [&found.last_done, &found.high, &found.low, &found.turnover].map(|text| exact(text));
                (prices, found.volume, found.timestamp)
            });
            let expected = push.map(|push| {
                let prices = [&push.last_done, &push.high, &push.low, &push.turnover].map(|text| exact(text));
                (prices, push.volume, push.timestamp)
            });
            assert_eq!(found, expected, "session {session} of 11, {about}");
        }
        let indexes = CalcIndexesRequest { symbols: vec![name.clone()], calc_index: (1..=5).collect() };
        let indexes: CalcIndexesResponse = client.ask(26, &indexes).await.unwrap();
        let index = &indexes.security_calc_index[0];
        assert_eq!(
            (exact(&index.last_done), index.volume, exact(&index.turnover)),
            (figures(regular)[0], regular.volume, figures(regular)[4]),
            "26, {about}"
        );
        let change = figures(regular)[0] - exact(&quote.prev_close);
        assert_eq!(index.change_val.parse::<f64>().unwrap(), change as f64 / 1e8, "26, {about}");

        let line = IntradayRequest { symbol: name.clone(), trade_session: 0 };
        let line: IntradayResponse = client.ask(18, &line).await.unwrap();
        let points: Vec<_> = line
            .lines
            .iter()
            .map(|point| (point.timestamp, exact(&point.price), point.volume, exact(&point.turnover)))
            .collect();
        let is_of_day = |stamp: i64| self.venue.zone().date(Timestamp(stamp)) == self.day(regular);
        let minutes: Vec<_> = self.periods[&1]
            .iter()
            .filter(|((session, stamp), _)| *session == 0 && is_of_day(*stamp))
            .map(|((_, stamp), built)| (*stamp, built.prices[3], built.volume, built.turnover))
            .collect();
        assert_eq!(points, minutes, "18, {about}");
    }
}

/// Returns the candles of a response, which may be empty.
fn shown(answer: Result<SecurityCandlestickResponse, (u8, u64, String)>) -> Vec<(i64, i32, Built)> {
    let candles = answer.map(|answer| answer.candlesticks).unwrap_or_default();
    candles.iter().map(|candle| (candle.timestamp, candle.trade_session, Built::of(candle))).collect()
}

/// Compares responses at random instants of one world.
pub(crate) async fn compare(seed: u64, instants: usize) {
    let mut rng = Rng(seed);
    let data = Data::random(&mut rng);
    let side = Side::open(&data, None).await;
    let mut visit = Visit::open(&side, "states").await;
    let venues = Venues::built_in().unwrap();
    let mut models: Vec<Model<'_>> = SECURITIES.iter().map(|(name, ..)| Model::new(name, &venues)).collect();
    let mut instants: Vec<Timestamp> = (0..instants).map(|_| data.instant(&mut rng)).collect();
    instants.sort_unstable();
    instants.dedup();
    let start = START.parse::<jiff::Timestamp>().unwrap().as_second();
    for now in instants.into_iter().filter(|now| now.0 > start) {
        let step = json!({"to": now.to_string()}).to_string();
        let stepped: Value = accepted(&side.server.post("/v1/world/step", &visit.key, &step).await);
        let pushes = visit.pushes.until(stepped["step"].as_i64().unwrap()).await;
        for model in &mut models {
            pushes.iter().for_each(|push| model.take(push));
            model.compare(&mut visit.client, &format!("seed {seed}, {now}")).await;
        }
    }
    // The instants are distributed over all days.
    let built = models.iter().map(|model| model.periods[&1].len()).sum::<usize>();
    assert!(built > 1_000, "{built}");
}
