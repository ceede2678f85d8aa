//! Property S1 under the machine clock. After each of many random batches, a client model that has
//! received the pushes has the same candles and quote as the responses of commands 11, 18, 19, 26
//! and 27.

use wire::command::{CALC_INDEXES, HISTORY, INTRADAY};
use wire::quote::{
    CalcIndex, CalcIndexesRequest, CalcIndexesResponse, Candlestick, DateRequest, IntradayRequest,
    IntradayResponse, SecurityHistoryCandlestickRequest,
};

use super::*;

/// Number of decimals of the prices in prints.
const DECIMALS: usize = 8;
/// 2026-07-15 09:30:00 in New York.
const OPEN: i64 = M - 120;
const MINUTES: i64 = 12;
/// Lengths of candles in minutes, which are also the codes of their periods.
const LENGTHS: [i64; 4] = [1, 2, 5, 60];

/// A pseudo-random number generator (xorshift).
struct Rng(u64);

impl Rng {
    fn below(&mut self, below: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        i64::try_from(self.0 % u64::try_from(below).unwrap()).unwrap()
    }

    fn one_in(&mut self, of: i64) -> bool {
        self.below(of) == 0
    }
}

/// A candle with prices in hundred-millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Built {
    stamp: i64,
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
        let turnover = exact(&candle.turnover);
        Built { stamp: candle.timestamp, prices, volume: candle.volume, turnover }
    }

    /// Adds a print. All prints have a type that updates price and volume, or only the volume.
    fn add(&mut self, print: &quote::Trade, minutes: i64) {
        let (stamp, price) = (begin(print.timestamp, minutes), exact(&print.price));
        if stamp < self.stamp {
            return;
        }
        if stamp > self.stamp {
            *self = Built { stamp, prices: [price; 4], volume: 0, turnover: 0 };
        }
        if print.trade_type != "W" {
            let [open, high, low, _] = self.prices;
            self.prices = [open, high.max(price), low.min(price), price];
        }
        self.volume += print.volume;
        self.turnover += price * i128::from(print.volume);
    }
}

/// Returns the timestamp of the candle that contains `time`. Candles are aligned to the open at
/// 09:30.
fn begin(time: i64, minutes: i64) -> i64 {
    time - (time - OPEN).rem_euclid(minutes * 60)
}

/// State of a minute as the feed reports it. Prices and turnover are in cents.
#[derive(Clone, Copy, Debug)]
struct Known {
    prices: [i64; 4],
    volume: i64,
    turnover: i64,
}

impl Known {
    fn flat(price: i64) -> Known {
        Known { prices: [price; 4], volume: 0, turnover: 0 }
    }

    fn add(&mut self, price: i64, volume: i64) {
        let [open, high, low, _] = self.prices;
        self.prices = [open, high.max(price), low.min(price), price];
        self.volume += volume;
        self.turnover += price * volume;
    }

    fn figures(&self) -> String {
        let [open, high, low, close] = self.prices.map(cents);
        format!("{open} {high} {low} {close} {} {}", self.volume, cents(self.turnover))
    }
}

fn cents(value: i64) -> String {
    format!("{}.{:02}", value / 100, value % 100)
}

impl Market {
    async fn candles(&mut self, period: i32) -> Candlestick {
        let symbol = "AAPL.US".to_owned();
        let request = SecurityCandlestickRequest { symbol, period, count: 1, ..Default::default() };
        let answer: SecurityCandlestickResponse = self.far.ask(CANDLESTICKS, &request).await.unwrap();
        answer.candlesticks.last().unwrap().clone()
    }

    /// Asserts that the responses of commands 18, 26 and 27 agree with those of commands 11 and 19.
    async fn others(&mut self, minute: &Candlestick, last: &PushQuote, context: &str) {
        let symbol = "AAPL.US".to_owned();
        let line: IntradayResponse = {
            let request = IntradayRequest { symbol: symbol.clone(), ..Default::default() };
            self.far.ask(INTRADAY, &request).await.unwrap()
        };
        let newest = line.lines.last().unwrap();
        assert_eq!(
            (newest.timestamp, &newest.price, newest.volume, &newest.turnover),
            (minute.timestamp, &minute.close, minute.volume, &minute.turnover),
            "18, {context}"
        );
        assert_eq!(line.lines.iter().map(|line| line.volume).sum::<i64>(), last.volume, "18, {context}");
        let request = CalcIndexesRequest {
            symbols: vec![symbol.clone()],
            calc_index: vec![CalcIndex::LastDone.into(), CalcIndex::Volume.into()],
        };
        let answer: CalcIndexesResponse = self.far.ask(CALC_INDEXES, &request).await.unwrap();
        let index = &answer.security_calc_index[0];
        assert_eq!((&index.last_done, index.volume), (&last.last_done, last.volume), "26, {context}");
        let date = "20260715".to_owned();
        let request = SecurityHistoryCandlestickRequest {
            symbol,
            period: 1,
            query_type: 2,
            date_request: Some(DateRequest { start_date: date.clone(), end_date: date }),
            ..Default::default()
        };
        let answer: SecurityCandlestickResponse = self.far.ask(HISTORY, &request).await.unwrap();
        assert_eq!(answer.candlesticks.last(), Some(minute), "27, {context}");
    }

    /// Takes the queued pushes.
    async fn take(&mut self, built: &mut [Built; LENGTHS.len()], last: &mut PushQuote) {
        // A response is sent before the pushes that are still in the mailbox.
        let mailbox = self.house.mailbox(&self.account);
        while mailbox.quotes_waiting() > 0 {
            tokio::task::yield_now().await;
        }
        self.far.request(SUBSCRIPTIONS, 9, Vec::new()).await;
        loop {
            match self.far.see().await {
                Seen::Packet(Packet::Push { command: 101, body }) => {
                    *last = PushQuote::decode(&*body).unwrap();
                }
                Seen::Packet(Packet::Push { command: 104, body }) => {
                    for print in PushTrades::decode(&*body).unwrap().trade {
                        built.iter_mut().zip(LENGTHS).for_each(|(built, minutes)| built.add(&print, minutes));
                    }
                }
                Seen::Packet(Packet::Response { id: 9, .. }) => return,
                Seen::Ping(_) => {}
                other => panic!("{other:?} instead of a push"),
            }
        }
    }
}

#[tokio::test]
async fn responses_equal_the_state_built_from_pushes_of_random_batches() {
    let mut market = Market::subscribed("AAPL.US").await;
    let mut last = market.quote().await;
    let mut rng = Rng(0x5eed_0001);
    let mut built = [Built::default(); LENGTHS.len()];
    for (built, minutes) in built.iter_mut().zip(LENGTHS) {
        *built = Built::of(&market.candles(minutes.try_into().unwrap()).await);
    }
    // Whether clients can have built the candles of each length so far.
    let mut is_built = [true; LENGTHS.len()];
    let (mut compared, mut without_candle) = (0, 0);
    for minute in 0..MINUTES {
        let (start, stamp) = (minute * 60, M + minute * 60);
        let mut known: Option<Known> = None;
        // Trades of a minute either build its candle, or are sent in addition to its candles.
        let builds = rng.one_in(3);
        for (is_built, minutes) in is_built.iter_mut().zip(LENGTHS) {
            *is_built |= begin(stamp, minutes) == stamp;
        }
        let mut is_correct = true;
        // Whether the responses include all rows so far. They exclude single trades after a candle
        // of the same minute.
        let (mut is_shown, mut has_candle) = (true, false);
        let mut at = start;
        for _ in 0..2 + rng.below(5) {
            at = (at + 1 + rng.below(9)).min(start + 59);
            let unreachable = market.house.core.metrics.pushes.unreachable_minutes();
            is_shown = if rng.one_in(2) {
                let trades: Vec<(i64, i64, i64)> =
                    (0..1 + rng.below(3)).map(|_| (at, 19_000 + rng.below(100), 1 + rng.below(90))).collect();
                for (_, price, volume) in &trades {
                    known.get_or_insert(Known::flat(*price)).add(*price, *volume);
                }
                let texts: Vec<String> = trades.iter().map(|(_, price, _)| cents(*price)).collect();
                let rows = trades.iter().zip(&texts);
                let rows: Vec<_> =
                    rows.map(|((at, _, volume), text)| (*at, text.as_str(), *volume)).collect();
                market.ingest_trades(at, &rows, builds);
                has_candle |= builds;
                builds || !has_candle
            } else {
                let price = 19_000 + rng.below(100);
                let mut row = *known.get_or_insert(Known::flat(price));
                (0..rng.below(4)).for_each(|_| row.add(19_000 + rng.below(100), 1 + rng.below(900)));
                known = Some(row);
                if rng.one_in(8) {
                    // A correction, which clients cannot build.
                    row.prices = row.prices.map(|price| price + 1);
                    is_correct = false;
                }
                let is_final = rng.one_in(6);
                market.ingest(at, "AAPL.US", (Grain::Minute, stamp), &row.figures(), Some(is_final));
                has_candle = true;
                true
            };
            market.take(&mut built, &mut last).await;
            is_correct &= market.house.core.metrics.pushes.unreachable_minutes() == unreachable;
            let context = format!("minute {minute}, second {}, {known:?}", at - start);

            let answer = market.answer("AAPL.US").await;
            let (of_answer, of_push) = (
                (answer.last_done, answer.open, answer.high, answer.low, answer.volume, answer.turnover),
                (&last.last_done, &last.open, &last.high, &last.low, last.volume, &last.turnover),
            );
            let of_push = (
                of_push.0.clone(),
                of_push.1.clone(),
                of_push.2.clone(),
                of_push.3.clone(),
                of_push.4,
                of_push.5.clone(),
            );
            assert_eq!((of_answer, answer.timestamp), (of_push, last.timestamp), "{context}");
            let day = Built::of(&market.candles(1000).await);
            let prices = [&last.open, &last.high, &last.low, &last.last_done].map(|price| exact(price));
            assert_eq!((day.prices, day.volume), (prices, last.volume), "{context}");
            assert_eq!(day.turnover, exact(&last.turnover), "{context}");
            let newest = market.candles(1).await;
            market.others(&newest, &last, &context).await;
            for ((built, minutes), is_built) in built.iter().zip(LENGTHS).zip(is_built) {
                if is_built && is_shown && is_correct {
                    let found = Built::of(&market.candles(minutes.try_into().unwrap()).await);
                    assert_eq!(*built, found, "{minutes} minutes, {context}");
                    compared += 1;
                    without_candle += usize::from(!has_candle);
                }
            }
        }
        if !(is_shown && is_correct) {
            is_built = [false; LENGTHS.len()];
        }
    }
    assert!(compared > 40 && without_candle > 8, "{compared}, {without_candle}");
}
