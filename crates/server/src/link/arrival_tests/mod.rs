//! Pushes of ingested rows under the machine clock: table 8.5 of the specification, as raw packets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use access::Created;
use history::AsOf;
use history::ingest::{CandleInput, Counts, Head, Parsed, TradeInput};
use market::{Candle, Grain, Price, Session, Symbol, Timestamp, Trade, TradeDirection, TradeType, Turnover};
use prost::Message;
use wire::Packet;
use wire::command::{CANDLESTICKS, QUOTE, SUBSCRIBE, SUBSCRIPTIONS};
use wire::quote::{
    self, PushQuote, PushTrades, QuoteResponse, SecurityCandlestickRequest, SecurityCandlestickResponse,
    SubscribeRequest, SubscriptionsResponse, SymbolsRequest, TradeStatus,
};

use super::house::{Far, House, Kind, Seen};
use crate::pushes;

mod random;

/// 2026-07-15 09:32:00 in New York.
const M: i64 = 1_784_122_320;
const ROWS: &str = "AAPL.US,2026-07-15T09:30:00-04:00,190,190.4,189.9,190.1,4000,760900\n\
                    AAPL.US,2026-07-15T09:31:00-04:00,190.1,190.4,190.05,190.3,7,1332\n";

struct Market {
    house: House,
    now: Arc<AtomicI64>,
    seq: AtomicI64,
    account: Created,
    session: String,
    far: Far,
}

impl Market {
    async fn subscribed(symbol: &str) -> Market {
        Market::subscribed_at(M, ROWS, symbol).await
    }

    async fn subscribed_at(at: i64, rows: &str, symbol: &str) -> Market {
        let mut market = Market::connected_at(at, rows).await;
        market.subscribe(symbol, true).await;
        market
    }

    async fn connected() -> Market {
        Market::connected_at(M, ROWS).await
    }

    async fn connected_at(at: i64, rows: &str) -> Market {
        let now = Arc::new(AtomicI64::new(at));
        let clock = now.clone();
        let house = House::with_files(&[(Grain::Minute, rows)])
            .under(Arc::new(move || AsOf::Live(Timestamp(clock.load(Ordering::Acquire)))));
        let account = house.account("ann", 10);
        let (far, signed_in) = house.signed_in(Kind::WebSocket, &account).await;
        Market { house, now, seq: AtomicI64::new(0), account, session: signed_in.session_id, far }
    }

    async fn subscribe(&mut self, symbol: &str, is_first_push: bool) {
        let request =
            SubscribeRequest { symbol: vec![symbol.to_owned()], sub_type: vec![1, 4], is_first_push };
        self.far.ask::<SubscriptionsResponse>(SUBSCRIBE, &request).await.unwrap();
    }

    /// Moves the clock to `at` seconds after 09:32, and publishes due pushes.
    fn tick(&self, at: i64) {
        self.set(at);
        pushes::publish(&self.house.core).unwrap();
    }

    /// Returns the quote in the response of command 11.
    async fn answer(&mut self, symbol: &str) -> quote::Quote {
        let request = SymbolsRequest { symbol: vec![symbol.to_owned()] };
        let answer: QuoteResponse = self.far.ask(QUOTE, &request).await.unwrap();
        answer.secu_quote[0].clone()
    }

    fn head(&self, build: bool) -> Head<'static> {
        let seq = self.seq.fetch_add(1, Ordering::AcqRel) + 1;
        Head { source: "feed", seq: Some(seq), gap: false, build }
    }

    /// Commits, merges and publishes a row at `at` seconds after 09:32.
    fn ingest(
        &self,
        at: i64,
        symbol: &str,
        (grain, time): (Grain, i64),
        figures: &str,
        is_final: Option<bool>,
    ) {
        let input =
            CandleInput { symbol: symbol.parse().unwrap(), grain, candle: candle(time, figures), is_final };
        self.ingest_all(at, vec![input]);
    }

    /// Commits, merges and publishes a batch of rows.
    fn ingest_all(&self, at: i64, rows: Vec<CandleInput>) {
        let now = self.set(at);
        let ingest = &self.house.core.ingest;
        let rows = rows.into_iter().map(Ok).collect();
        ingest.candles(&self.head(false), rows, now).unwrap();
        self.publish(now);
    }

    /// Commits, merges and publishes trades of AAPL.US, each with its second after 09:32.
    fn ingest_trades(&self, at: i64, trades: &[(i64, &str, i64)], build: bool) {
        self.ingest_trades_of("AAPL.US", at, trades, build);
    }

    fn ingest_trades_of(&self, symbol: &str, at: i64, trades: &[(i64, &str, i64)], build: bool) {
        let now = self.set(at);
        let rows = trades
            .iter()
            .map(|(second, price, volume)| trade(symbol, *second, price, *volume, None))
            .collect();
        self.house.core.ingest.trades(&self.head(build), rows, now).unwrap();
        self.publish(now);
    }

    /// Commits one trade that does not change the price.
    fn ingest_volume(&self, at: i64, (second, price, volume): (i64, &str, i64)) {
        let now = self.set(at);
        let mut row = trade("AAPL.US", second, price, volume, None).unwrap();
        row.trade.kind = TradeType::from_code(b'W').unwrap();
        self.house.core.ingest.trades(&self.head(false), vec![Ok(row)], now).unwrap();
        self.publish(now);
    }

    fn set(&self, at: i64) -> Timestamp {
        self.now.store(M + at, Ordering::Release);
        Timestamp(M + at)
    }

    fn publish(&self, now: Timestamp) {
        let core = &self.house.core;
        core.with_reader(|reader| core.ingest.merge(reader, now)).unwrap();
        pushes::publish(core).unwrap();
    }

    /// Returns the next packet that is not a ping.
    async fn see(&mut self) -> Seen {
        loop {
            match self.far.see().await {
                Seen::Ping(_) => {}
                seen => return seen,
            }
        }
    }

    async fn quote(&mut self) -> PushQuote {
        match self.see().await {
            Seen::Packet(Packet::Push { command: 101, body }) => PushQuote::decode(&*body).unwrap(),
            other => panic!("{other:?} instead of a quote"),
        }
    }

    /// Returns the prints of the next push: price, volume, and seconds after 09:32.
    async fn prints(&mut self) -> Vec<(String, i64, i64)> {
        match self.see().await {
            Seen::Packet(Packet::Push { command: 104, body }) => {
                let trades = PushTrades::decode(&*body).unwrap().trade;
                trades.into_iter().map(|trade| (trade.price, trade.volume, trade.timestamp - M)).collect()
            }
            other => panic!("{other:?} instead of trades"),
        }
    }

    /// Asserts that no push is queued: the next packet is the response to a request sent now.
    async fn nothing_more(&mut self) {
        let list: Result<SubscriptionsResponse, _> =
            self.far.ask(SUBSCRIPTIONS, &SubscribeRequest::default()).await;
        list.unwrap();
    }
}

fn candle(time: i64, figures: &str) -> Candle {
    let figures: Vec<&str> = figures.split(' ').collect();
    let price = |place: usize| Price::parse(figures[place]).unwrap();
    Candle {
        time: Timestamp(time),
        open: price(0),
        high: price(1),
        low: price(2),
        close: price(3),
        volume: figures[4].parse().unwrap(),
        turnover: Turnover::parse(figures[5]).unwrap(),
        session: Session::Intraday,
    }
}

fn trade(symbol: &str, second: i64, price: &str, volume: i64, id: Option<&str>) -> Parsed<TradeInput> {
    let trade = Trade {
        time: Timestamp(M + second),
        price: Price::parse(price).unwrap(),
        volume,
        direction: TradeDirection::Up,
        kind: TradeType::BLANK,
    };
    Ok(TradeInput { symbol: symbol.parse().unwrap(), trade, id: id.map(str::to_owned) })
}

fn prints(of: &[(&str, i64, i64)]) -> Vec<(String, i64, i64)> {
    of.iter().map(|(price, volume, second)| ((*price).to_owned(), *volume, *second)).collect()
}

#[tokio::test]
async fn i1_i2_i3_partial_minutes_are_pushed_as_prints() {
    let mut market = Market::subscribed("AAPL.US").await;
    let first = market.quote().await;
    assert_eq!((first.last_done.as_str(), first.volume, first.current_volume), ("190.300", 4007, 0));
    let minute = (Grain::Minute, M);
    market.ingest(5, "AAPL.US", minute, "190.3 190.3 190.3 190.3 500 95150", Some(false));
    assert_eq!(market.prints().await, prints(&[("190.300", 0, 5), ("190.300", 500, 5)]));
    let quote = market.quote().await;
    assert_eq!((quote.volume, quote.current_volume, quote.timestamp), (4507, 500, M + 5));
    assert!(quote.sequence > first.sequence);
    market.ingest(20, "AAPL.US", minute, "190.3 190.6 190.3 190.5 1200 228500", Some(false));
    assert_eq!(market.prints().await, prints(&[("190.600", 0, 20), ("190.500", 700, 20)]));
    market.quote().await;
    market.ingest(41, "AAPL.US", minute, "190.3 190.6 190.1 190.2 2000 380760.5", Some(false));
    let expected = [("190.100", 0, 41), ("190.325", 300, 41), ("190.326", 500, 41), ("190.200", 0, 41)];
    assert_eq!(market.prints().await, prints(&expected));
    assert_eq!(market.quote().await.current_volume, 800);
    // I4: an unchanged row pushes nothing, whether the number of its batch is new or repeated.
    market.ingest(42, "AAPL.US", minute, "190.3 190.6 190.1 190.2 2000 380760.5", Some(false));
    market.seq.fetch_sub(1, Ordering::AcqRel);
    market.ingest(43, "AAPL.US", minute, "190.3 190.6 190.1 190.2 2000 380760.5", Some(false));
    market.nothing_more().await;
    let core = &market.house.core;
    assert_eq!(core.metrics.pushes.lags(), 3, "of the batches with pushes");
    let Counts { accepted, unchanged, replaced, refused } = core.ingest.rows();
    assert_eq!((accepted, unchanged, replaced, refused), (3, 1, 0, 0));
}

#[tokio::test]
async fn i8_a_corrected_minute_changes_the_quote_without_trades() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    market.ingest(41, "AAPL.US", (Grain::Minute, M), "190.3 190.6 190.1 190.2 2000 380760.5", Some(true));
    market.prints().await;
    assert_eq!(market.quote().await.high, "190.600");
    market.ingest(90, "AAPL.US", (Grain::Minute, M), "190.3 190.5 190.1 190.2 2000 380760.5", Some(true));
    let quote = market.quote().await;
    assert_eq!((quote.high.as_str(), quote.current_volume, quote.tag), ("190.500", 0, 0));
    // I9: an earlier minute also changes the state of the day.
    let late = (Grain::Minute, M - 60);
    market.ingest(95, "AAPL.US", late, "190.1 190.9 190.05 190.3 7 1332", Some(true));
    assert_eq!(market.quote().await.high, "190.900");
    market.nothing_more().await;
}

#[tokio::test]
async fn i10_a_second_version_of_the_daily_candle_is_tagged() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    let (end, midnight) = (1_784_145_600, 1_784_088_000);
    let day = (Grain::Day, midnight);
    market.ingest(end + 1_200 - M, "AAPL.US", day, "190 192 189 191 1000000 190500000", None);
    let quote = market.quote().await;
    assert_eq!((quote.last_done.as_str(), quote.tag, quote.timestamp), ("191.000", 0, end));
    market.ingest(end + 3_600 - M, "AAPL.US", day, "190 192 189 191.5 1000000 190500000", None);
    let quote = market.quote().await;
    assert_eq!((quote.last_done.as_str(), quote.tag), ("191.500", 1));
    market.nothing_more().await;
}

#[tokio::test]
async fn s9_a_new_security_is_pushed_with_its_state() {
    let mut market = Market::subscribed("MSFT.US").await;
    market.ingest(12, "MSFT.US", (Grain::Minute, M), "5 5 5 5 1000 5000", Some(false));
    let quote = market.quote().await;
    assert_eq!((quote.last_done.as_str(), quote.volume, quote.current_volume), ("5.000", 1000, 0));
    market.nothing_more().await;
    market.ingest(20, "MSFT.US", (Grain::Minute, M), "5 5 5 5 1500 7500", Some(false));
    assert_eq!(market.prints().await, prints(&[("5.000", 500, 20)]));
    assert_eq!(market.quote().await.current_volume, 500);
    market.nothing_more().await;
}

#[tokio::test]
async fn single_trades_are_pushed_unchanged() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    market.ingest_trades(10, &[(3, "190.2", 100), (8, "190.4", 50), (3, "190.3", 20)], true);
    // All trades of one second are in one push.
    assert_eq!(market.prints().await, prints(&[("190.200", 100, 3), ("190.300", 20, 3)]));
    assert_eq!(market.prints().await, prints(&[("190.400", 50, 8)]));
    let quote = market.quote().await;
    assert_eq!((quote.last_done.as_str(), quote.volume, quote.current_volume), ("190.400", 4177, 170));
    market.nothing_more().await;
}

#[tokio::test]
async fn a_candle_after_its_single_trades_pushes_only_the_difference() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    // Until a candle arrives, the fold of the trades is the candle.
    market.ingest_trades(4, &[(3, "190.2", 100)], false);
    assert_eq!(market.prints().await, prints(&[("190.200", 100, 3)]));
    let quote = market.quote().await;
    assert_eq!((quote.volume, quote.current_volume, quote.timestamp), (4107, 100, M + 3));
    market.nothing_more().await;
    let minute = (Grain::Minute, M);
    market.ingest(20, "AAPL.US", minute, "190.2 190.6 190.2 190.5 300 57120", Some(false));
    assert_eq!(market.prints().await, prints(&[("190.600", 0, 20), ("190.500", 200, 20)]));
    let quote = market.quote().await;
    assert_eq!((quote.volume, quote.current_volume, quote.timestamp), (4307, 200, M + 20));
    // This trade follows a candle of the same minute.
    market.ingest_trades(31, &[(30, "190.6", 50)], false);
    assert_eq!(market.prints().await, prints(&[("190.600", 50, 30)]));
    market.ingest(40, "AAPL.US", minute, "190.2 190.6 190.2 190.6 350 66650", Some(true));
    // The candle equals the state that clients have built.
    let quote = market.quote().await;
    assert_eq!((quote.last_done.as_str(), quote.volume, quote.current_volume), ("190.600", 4357, 50));
    assert_eq!(quote.timestamp, M + 30);
    market.nothing_more().await;
}

#[tokio::test]
async fn volume_before_the_first_price_is_counted_once() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    market.ingest_volume(5, (3, "190.2", 30));
    assert_eq!(market.prints().await, prints(&[("190.200", 30, 3)]));
    market.nothing_more().await;
    let minute = (Grain::Minute, M);
    market.ingest(20, "AAPL.US", minute, "190.3 190.4 190.3 190.4 100 19030.5", Some(false));
    let expected = [("190.300", 0, 20), ("190.400", 0, 20), ("190.350", 70, 20), ("190.400", 0, 20)];
    assert_eq!(market.prints().await, prints(&expected));
    assert_eq!(market.quote().await.current_volume, 100);
    market.ingest(30, "AAPL.US", minute, "190.3 190.4 190.3 190.4 110 20934.5", Some(false));
    assert_eq!(market.prints().await, prints(&[("190.400", 10, 30)]));
}

#[tokio::test]
async fn candles_and_single_trades_of_a_minute_are_counted_once() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    let minute = (Grain::Minute, M);
    market.ingest(5, "AAPL.US", minute, "190.3 190.3 190.3 190.3 500 95150", Some(false));
    market.prints().await;
    market.quote().await;
    market.ingest_trades(9, &[(8, "190.4", 100)], false);
    assert_eq!(market.prints().await, prints(&[("190.400", 100, 8)]));
    market.ingest(20, "AAPL.US", minute, "190.3 190.6 190.3 190.5 1200 228490", Some(false));
    assert_eq!(market.prints().await, prints(&[("190.600", 0, 20), ("190.500", 600, 20)]));
    assert_eq!(market.quote().await.current_volume, 700);
    market.ingest_trades(25, &[(22, "190.2", 50)], false);
    assert_eq!(market.prints().await, prints(&[("190.200", 50, 22)]));
    // The candle does not include the low of the trade.
    market.ingest(30, "AAPL.US", minute, "190.3 190.6 190.3 190.5 1300 247540", Some(false));
    assert_eq!(market.quote().await.volume, 5307);
    assert_eq!(market.house.core.metrics.pushes.unreachable_minutes(), 1);
    // The next candle continues the state that clients have built.
    market.ingest(40, "AAPL.US", minute, "190.3 190.6 190.2 190.5 1400 266575", Some(true));
    assert_eq!(market.prints().await, prints(&[("190.500", 150, 40)]));
    assert_eq!(market.quote().await.current_volume, 100);
    market.nothing_more().await;
    assert_eq!(market.house.core.metrics.pushes.unreachable_minutes(), 1);
}

#[tokio::test]
async fn a_damaged_security_does_not_stop_the_pushes_of_others() {
    let mut market = Market::connected().await;
    let symbol: Symbol = "A.US".parse().unwrap();
    let series = store::Series { symbol, grain: Grain::Minute, lane: store::Lane::Regular };
    let (first, last) = (Timestamp(M - 120), Timestamp(M - 60));
    let block = store::NewBlock { first, last, rows: 2, bytes: b"no block".to_vec() };
    let store = market.house.writable();
    let mut writer = store.writer().unwrap();
    let mut batch = writer.begin().unwrap();
    batch.ensure_security(&series.symbol).unwrap();
    batch.replace_blocks(&series, &[], &[block]).unwrap();
    batch.commit().unwrap();
    drop((writer, store));
    market.subscribe("A.US", false).await;
    market.subscribe("AAPL.US", false).await;
    let now = market.set(10);
    let rows = ["A.US", "AAPL.US", "A.US"].map(|symbol| trade(symbol, 3, "190.2", 100, None)).into();
    market.house.core.ingest.trades(&market.head(false), rows, now).unwrap();
    market.publish(now);
    assert_eq!(market.prints().await, prints(&[("190.200", 100, 3)]));
    market.quote().await;
    market.nothing_more().await;
    // The daily candle of the other security is pushed, too.
    market.ingest(60, "AAPL.US", (Grain::Day, MIDNIGHT), "190 192 189 191 1000000 190500000", None);
    market.tick(END);
    assert_eq!(market.quote().await.last_done, "191.000");
}

#[tokio::test]
async fn a_candle_of_an_earlier_minute_changes_only_the_quote() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    market.ingest_trades(63, &[(3, "190.2", 100), (62, "190.4", 10)], false);
    assert_eq!(market.prints().await, prints(&[("190.200", 100, 3)]));
    assert_eq!(market.quote().await.volume, 4107);
    assert_eq!(market.prints().await, prints(&[("190.400", 10, 62)]));
    assert_eq!(market.quote().await.volume, 4117);
    // Clients cannot add to a minute before their newest minute, so only the quote includes the
    // difference.
    market.ingest(65, "AAPL.US", (Grain::Minute, M), "190.2 190.2 190.2 190.2 100 19020", Some(true));
    market.nothing_more().await;
    market.ingest(66, "AAPL.US", (Grain::Minute, M), "190.2 190.2 190.2 190.2 110 20922", Some(true));
    let quote = market.quote().await;
    assert_eq!((quote.volume, quote.current_volume, quote.timestamp), (4127, 0, M + 62));
    let next = (Grain::Minute, M + 60);
    market.ingest(70, "AAPL.US", next, "190.4 190.4 190.4 190.4 30 5712", Some(false));
    assert_eq!(market.prints().await, prints(&[("190.400", 20, 70)]));
    assert_eq!(market.quote().await.current_volume, 20);
    market.nothing_more().await;
}

#[tokio::test]
async fn a_late_row_and_a_newer_row_of_one_batch_are_both_pushed() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    let row = |time: i64, figures: &str| CandleInput {
        symbol: "AAPL.US".parse().unwrap(),
        grain: Grain::Minute,
        candle: candle(time, figures),
        is_final: None,
    };
    let late = row(M - 60, "190.1 190.9 190.05 190.3 7 1332");
    market.ingest_all(5, vec![late, row(M, "190.3 190.3 190.3 190.3 500 95150")]);
    let corrected = market.quote().await;
    assert_eq!((corrected.high.as_str(), corrected.volume, corrected.current_volume), ("190.900", 4007, 0));
    assert_eq!(market.prints().await, prints(&[("190.300", 0, 5), ("190.300", 500, 5)]));
    let quote = market.quote().await;
    assert_eq!((quote.high.as_str(), quote.volume, quote.current_volume), ("190.900", 4507, 500));
    assert!(quote.sequence > corrected.sequence);
    market.nothing_more().await;
}

#[tokio::test]
async fn a_late_regular_minute_has_no_prints_during_early_hours() {
    let rows = "AAPL.US,2026-07-14T15:58:00-04:00,190,190.4,189.9,190.1,4000,760900\n\
                AAPL.US,2026-07-14T15:59:00-04:00,190.1,190.4,190.05,190.3,7,1332\n\
                AAPL.US,2026-07-15T05:00:00-04:00,191,191,191,191,10,1910\n";
    let mut market = Market::subscribed_at(M - 4 * 3_600, rows, "AAPL.US").await;
    assert_eq!(market.quote().await.last_done, "191.000");
    let late = M - 24 * 3_600 + 6 * 3_600 + 25 * 60;
    market.ingest(-4 * 3_600, "AAPL.US", (Grain::Minute, late), "190 190 189.8 190 5 950", None);
    let quote = market.quote().await;
    assert_eq!((quote.low.as_str(), quote.volume, quote.current_volume, quote.tag), ("189.800", 4012, 0, 1));
    market.nothing_more().await;
}

#[tokio::test]
async fn a_row_is_pushed_once_and_only_after_it_is_readable() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    let now = market.set(5);
    let row = CandleInput {
        symbol: "AAPL.US".parse().unwrap(),
        grain: Grain::Minute,
        candle: candle(M, "190.3 190.3 190.3 190.3 500 95150"),
        is_final: None,
    };
    let ingest = &market.house.core.ingest;
    ingest.candles(&market.head(false), vec![Ok(row)], now).unwrap();
    pushes::publish(&market.house.core).unwrap();
    market.nothing_more().await;
    market.publish(now);
    market.prints().await;
    market.quote().await;
    market.publish(now);
    market.nothing_more().await;
}

#[tokio::test]
async fn i11_a_trade_with_a_known_id_is_pushed_once() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    for (second, id) in [(10, "7"), (11, "7"), (12, "8")] {
        let now = market.set(second);
        let rows = vec![trade("AAPL.US", 3, "190.2", 100, Some(id))];
        market.house.core.ingest.trades(&market.head(true), rows, now).unwrap();
        market.publish(now);
    }
    for volume in [4107, 4207] {
        assert_eq!(market.prints().await, prints(&[("190.200", 100, 3)]));
        assert_eq!(market.quote().await.volume, volume);
    }
    market.nothing_more().await;
}

#[tokio::test]
async fn trades_of_a_closing_auction_are_pushed() {
    // 2026-07-15 16:00 in Hong Kong.
    const END: i64 = 1_784_102_400;
    let rows = "700.HK,2026-07-15T15:59:00+08:00,300,300,300,300,100,30000\n";
    let mut market = Market::subscribed_at(END, rows, "700.HK").await;
    assert_eq!(market.quote().await.volume, 100);
    let auction = END + 485 - M;
    market.ingest_trades_of("700.HK", auction + 1, &[(auction, "301", 50)], true);
    assert_eq!(market.prints().await, prints(&[("301.000", 50, auction)]));
    let quote = market.quote().await;
    assert_eq!((quote.last_done.as_str(), quote.volume, quote.timestamp), ("301.000", 150, END + 485));
    market.nothing_more().await;
}

/// Number of seconds from 09:32 to the end of the day in New York.
const END: i64 = 1_784_145_600 - M;
const MIDNIGHT: i64 = 1_784_088_000;

#[tokio::test]
async fn a_new_trade_status_is_pushed_at_half_past_nine() {
    let mut market = Market::connected().await;
    market.house.import("symbol,from,to\nAAPL.US,2026-07-16,2026-07-17\n");
    market.subscribe("AAPL.US", true).await;
    let first = market.quote().await;
    assert_eq!(first.trade_status, i32::from(TradeStatus::Normal));
    let half_past = 86_400 - 120;
    market.tick(half_past - 1);
    market.nothing_more().await;
    assert_eq!(market.answer("AAPL.US").await.trade_status, i32::from(TradeStatus::Normal));
    market.tick(half_past);
    let suspended = market.quote().await;
    let expected = PushQuote {
        sequence: suspended.sequence,
        trade_status: TradeStatus::Suspended.into(),
        ..first.clone()
    };
    assert_eq!(suspended, expected);
    assert!(suspended.sequence > first.sequence);
    assert_eq!(market.answer("AAPL.US").await.trade_status, suspended.trade_status);
    // A new subscription begins with this status, and the status is not pushed again.
    market.subscribe("AAPL.US", true).await;
    assert_eq!(market.quote().await, suspended);
    market.tick(half_past + 600);
    market.nothing_more().await;
    // The status ends two days later.
    market.tick(half_past + 2 * 86_400);
    assert_eq!(market.quote().await.trade_status, i32::from(TradeStatus::Normal));
    market.nothing_more().await;
}

#[tokio::test]
async fn pushes_of_ingested_rows_include_the_trade_status() {
    let mut market = Market::connected().await;
    market.house.import("symbol,from,to\nAAPL.US,2026-07-15,2026-07-15\n");
    market.subscribe("AAPL.US", true).await;
    assert_eq!(market.quote().await.trade_status, i32::from(TradeStatus::Suspended));
    market.ingest(5, "AAPL.US", (Grain::Minute, M), "190.3 190.3 190.3 190.3 500 95150", Some(false));
    market.prints().await;
    assert_eq!(market.quote().await.trade_status, i32::from(TradeStatus::Suspended));
}

#[tokio::test]
async fn a_daily_candle_with_minutes_is_pushed_at_the_end_of_its_day() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    let day = (Grain::Day, MIDNIGHT);
    market.ingest(60, "AAPL.US", day, "190 192 189 191 1000000 190500000", None);
    market.nothing_more().await;
    let before = market.answer("AAPL.US").await;
    assert_eq!(before.last_done, "190.300", "minutes decide until the end of the day");
    market.tick(END - 1);
    market.nothing_more().await;
    market.tick(END);
    let quote = market.quote().await;
    assert_eq!(
        (quote.last_done.as_str(), quote.volume, quote.current_volume, quote.timestamp, quote.tag),
        ("191.000", 1_000_000, 0, M + END, 0)
    );
    assert_eq!(market.answer("AAPL.US").await.last_done, "191.000");
    // A subscriber after the end of the day begins with the daily candle, and a second version is
    // tagged.
    market.subscribe("AAPL.US", true).await;
    assert_eq!(market.quote().await, quote);
    market.tick(END + 60);
    market.nothing_more().await;
    market.ingest(END + 120, "AAPL.US", day, "190 192 189 191.5 1000000 190500000", None);
    let second = market.quote().await;
    assert_eq!((second.last_done.as_str(), second.tag), ("191.500", 1));
    // A late minute no longer changes the figures of the day.
    let late = (Grain::Minute, M - 60);
    market.ingest(END + 180, "AAPL.US", late, "190.1 190.9 190.05 190.3 7 1332", Some(true));
    market.nothing_more().await;
}

#[tokio::test]
async fn a_daily_candle_without_minutes_is_the_state_of_its_day() {
    let mut market = Market::subscribed("MSFT.US").await;
    let day = (Grain::Day, MIDNIGHT);
    market.ingest(60, "MSFT.US", day, "50 52 49 51 1000 50500", None);
    let state = market.quote().await;
    assert_eq!((state.last_done.as_str(), state.volume, state.timestamp), ("51.000", 1000, M + 60));
    market.ingest(120, "MSFT.US", day, "50 53 49 52 2000 101500", None);
    let state = market.quote().await;
    assert_eq!((state.last_done.as_str(), state.high.as_str(), state.tag), ("52.000", "53.000", 0));
    let answer = market.answer("MSFT.US").await;
    assert_eq!((answer.last_done, answer.volume), (state.last_done.clone(), state.volume));
    market.tick(END);
    let end = market.quote().await;
    assert_eq!((end.last_done.as_str(), end.timestamp, end.tag), ("52.000", M + END, 0));
    assert!(end.sequence > state.sequence);
    market.nothing_more().await;
}

#[tokio::test]
async fn the_first_push_includes_the_stored_part_of_the_minute() {
    let mut market = Market::connected().await;
    market.ingest(20, "AAPL.US", (Grain::Minute, M), "190.3 190.6 190.3 190.5 1200 228500", Some(false));
    market.subscribe("AAPL.US", true).await;
    let first = market.quote().await;
    let answer = market.answer("AAPL.US").await;
    assert_eq!((first.last_done.as_str(), first.volume), ("190.500", 5207));
    assert_eq!((first.last_done, first.volume), (answer.last_done, answer.volume));
}

#[tokio::test]
async fn responses_have_the_time_of_the_last_push() {
    let mut market = Market::connected().await;
    let minute = (Grain::Minute, M);
    market.ingest(20, "AAPL.US", minute, "190.3 190.6 190.3 190.5 1200 228500", Some(false));
    market.subscribe("AAPL.US", true).await;
    let first = market.quote().await;
    market.set(30);
    assert_eq!(market.answer("AAPL.US").await.timestamp, first.timestamp);
    market.ingest(41, "AAPL.US", minute, "190.3 190.6 190.1 190.2 2000 380760.5", Some(false));
    market.prints().await;
    assert_eq!(market.quote().await.timestamp, M + 41);
    for at in [50, 300] {
        market.tick(at);
        assert_eq!(market.answer("AAPL.US").await.timestamp, M + 41);
    }
}

#[tokio::test]
async fn pushes_between_a_candle_request_and_the_subscription_are_sent() {
    let mut market = Market::connected().await;
    let minute = (Grain::Minute, M);
    market.ingest(5, "AAPL.US", minute, "190.3 190.3 190.3 190.3 500 95150", Some(false));
    let request = SecurityCandlestickRequest {
        symbol: "AAPL.US".to_owned(),
        period: 1,
        count: 1000,
        ..Default::default()
    };
    let pulled: SecurityCandlestickResponse = market.far.ask(CANDLESTICKS, &request).await.unwrap();
    assert_eq!(pulled.candlesticks.last().unwrap().volume, 500);
    market.ingest(20, "AAPL.US", minute, "190.3 190.6 190.3 190.5 1200 228500", Some(false));
    market.ingest(41, "AAPL.US", minute, "190.3 190.6 190.1 190.2 2000 380760.5", Some(false));
    market.subscribe("AAPL.US", true).await;
    assert_eq!(market.prints().await, prints(&[("190.600", 0, 20), ("190.500", 700, 20)]));
    let expected = [("190.100", 0, 41), ("190.325", 300, 41), ("190.326", 500, 41), ("190.200", 0, 41)];
    assert_eq!(market.prints().await, prints(&expected));
    assert_eq!(market.quote().await.volume, 6007);
    market.nothing_more().await;
    // The subscription continues where these pushes end.
    market.ingest(50, "AAPL.US", minute, "190.3 190.6 190.1 190.2 2100 399780.5", Some(false));
    assert_eq!(market.prints().await, prints(&[("190.200", 100, 50)]));
    market.quote().await;
    // A second subscription does not repeat them.
    market.subscribe("AAPL.US", true).await;
    market.quote().await;
    market.nothing_more().await;
}

#[tokio::test]
async fn trades_missed_during_a_disconnection_are_sent_once() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    let minute = (Grain::Minute, M);
    market.ingest(5, "AAPL.US", minute, "190.3 190.3 190.3 190.3 500 95150", Some(false));
    market.prints().await;
    market.quote().await;
    // Another client gets the pushes when they are due, for comparison.
    let bob = market.house.account("bob", 10);
    let (other, _) = market.house.signed_in(Kind::WebSocket, &bob).await;
    let gone = std::mem::replace(&mut market.far, other);
    market.subscribe("AAPL.US", false).await;
    drop(gone);
    while !market.house.hub.links.list(Some(market.account.account_id)).is_empty() {
        tokio::task::yield_now().await;
    }
    market.ingest(20, "AAPL.US", minute, "190.3 190.6 190.3 190.5 1200 228500", Some(false));
    market.ingest_trades(25, &[(21, "190.4", 10)], false);
    let mut expected = Vec::new();
    for _ in 0..3 {
        match market.far.see().await {
            Seen::Packet(Packet::Push { command: 104, body }) => expected.push(body),
            Seen::Packet(Packet::Push { command: 101, .. }) => {}
            other => panic!("{other:?} instead of a push"),
        }
    }
    assert_eq!(expected.len(), 2);
    market.far = market.house.connect(Kind::WebSocket);
    market.far.reconnect(&market.session).await.unwrap();
    market.subscribe("AAPL.US", false).await;
    for expected in expected {
        let Seen::Packet(Packet::Push { command: 104, body }) = market.far.see().await else { panic!() };
        assert_eq!(body, expected, "the same prints and numbers");
    }
    market.nothing_more().await;
    market.subscribe("AAPL.US", false).await;
    market.nothing_more().await;
}

#[tokio::test]
async fn a_candle_that_contradicts_its_trades_counts_as_unreachable() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    market.ingest_trades(10, &[(3, "190.2", 100), (8, "190.4", 50)], false);
    for _ in 0..2 {
        market.prints().await;
        market.quote().await;
    }
    market.nothing_more().await;
    // A candle that continues its trades pushes only the rest of the minute.
    market.ingest(60, "AAPL.US", (Grain::Minute, M), "190.2 190.5 190.2 190.4 250 47590", Some(true));
    assert_eq!(
        market.prints().await,
        prints(&[("190.500", 0, 59), ("190.500", 100, 59), ("190.400", 0, 59)])
    );
    assert_eq!(market.quote().await.volume, 4257);
    let pushes = &market.house.core.metrics.pushes;
    assert_eq!(pushes.unreachable_minutes(), 0);
    market.ingest_trades(70, &[(65, "190.2", 100)], false);
    market.prints().await;
    assert_eq!(market.quote().await.current_volume, 100);
    market.ingest(120, "AAPL.US", (Grain::Minute, M + 60), "190.3 190.5 190.3 190.4 250 47600", Some(true));
    // A candle that does not continue the trades is a correction.
    let quote = market.quote().await;
    assert_eq!((quote.volume, quote.current_volume), (4507, 0));
    market.nothing_more().await;
    assert_eq!(market.house.core.metrics.pushes.unreachable_minutes(), 1);
}

#[tokio::test]
async fn a_minute_without_a_candle_is_shown_as_the_fold_of_its_trades() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    market.ingest_trades(10, &[(3, "190.2", 100), (8, "190.4", 50)], false);
    for volume in [4107, 4157] {
        market.prints().await;
        assert_eq!(market.quote().await.volume, volume);
    }
    let answer = market.answer("AAPL.US").await;
    assert_eq!((answer.last_done.as_str(), answer.volume, answer.timestamp), ("190.400", 4157, M + 8));
    // The same holds after the end of the minute, for a new subscriber, and after a late trade.
    market.tick(70);
    assert_eq!(market.answer("AAPL.US").await.volume, 4157);
    market.ingest_trades(71, &[(65, "190.5", 10)], false);
    market.ingest_trades(72, &[(30, "190.1", 5)], false);
    for volume in [4167, 4172] {
        market.prints().await;
        assert_eq!(market.quote().await.volume, volume);
    }
    market.subscribe("AAPL.US", true).await;
    let first = market.quote().await;
    let answer = market.answer("AAPL.US").await;
    assert_eq!((first.volume, first.timestamp), (answer.volume, answer.timestamp));
    assert_eq!((answer.volume, answer.last_done.as_str()), (4172, "190.500"));
    market.nothing_more().await;
}

#[tokio::test]
async fn sequence_numbers_continue_after_a_restart() {
    let mut market = Market::subscribed("AAPL.US").await;
    let mut last = market.quote().await.sequence;
    let minute = (Grain::Minute, M);
    market.ingest(5, "AAPL.US", minute, "190.3 190.3 190.3 190.3 500 95150", Some(false));
    market.prints().await;
    let pushed = market.quote().await;
    assert!(pushed.sequence > last);
    last = pushed.sequence;
    for round in 0..3_i64 {
        // A restart: a new core opens the same files.
        let clock = market.now.clone();
        let market_clock = Arc::new(move || AsOf::Live(Timestamp(clock.load(Ordering::Acquire))));
        market.house = market.house.under(market_clock);
        market.far = market.house.signed_in(Kind::WebSocket, &market.account).await.0;
        market.set(200 + round * 60);
        market.subscribe("AAPL.US", true).await;
        assert_eq!(market.quote().await.sequence, last, "the number of the last push");
        let stamp = M + 180 + round * 60;
        market.ingest(200 + round * 60, "AAPL.US", (Grain::Minute, stamp), "191 191 191 191 5 955", None);
        market.prints().await;
        let pushed = market.quote().await;
        assert!(pushed.sequence > last);
        last = pushed.sequence;
    }
    // The sequence number of the push at the end of the day is derived from its time.
    market.ingest(300, "AAPL.US", (Grain::Day, MIDNIGHT), "190 192 189 191 1000000 190500000", None);
    market.tick(END);
    let end = market.quote().await.sequence;
    assert!(end > last);
    let clock = market.now.clone();
    let market_clock = Arc::new(move || AsOf::Live(Timestamp(clock.load(Ordering::Acquire))));
    market.house = market.house.under(market_clock);
    market.far = market.house.signed_in(Kind::WebSocket, &market.account).await.0;
    market.subscribe("AAPL.US", true).await;
    assert_eq!(market.quote().await.sequence, end);
}

#[tokio::test]
async fn a_batch_that_is_merged_after_a_subscription_has_higher_sequence_numbers() {
    let mut market = Market::connected().await;
    let minute = (Grain::Minute, M);
    market.ingest(5, "AAPL.US", minute, "190.3 190.3 190.3 190.3 500 95150", Some(false));
    // This batch is committed but not merged yet.
    let now = market.set(20);
    let row = CandleInput {
        symbol: "AAPL.US".parse().unwrap(),
        grain: Grain::Minute,
        candle: candle(M, "190.3 190.6 190.3 190.5 1200 228500"),
        is_final: Some(false),
    };
    market.house.core.ingest.candles(&market.head(false), vec![Ok(row)], now).unwrap();
    market.subscribe("AAPL.US", true).await;
    let first = market.quote().await;
    assert_eq!(first.volume, 4507);
    market.publish(now);
    market.prints().await;
    let pushed = market.quote().await;
    assert_eq!((pushed.volume, pushed.current_volume), (5207, 700));
    assert!(pushed.sequence > first.sequence);
}

#[tokio::test]
async fn trade_pushes_of_a_second_with_many_trades_have_ascending_sequence_numbers() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    // The second has more trades than the first row has sequence numbers for. A trade of another
    // second is in between.
    let mut trades = vec![(3, "190.2", 1); 4_998];
    trades.insert(1, (4, "190.3", 7));
    market.ingest_trades(10, &trades, false);
    let (mut last, mut volume) = (0, 0);
    let mut pushes = 0;
    while volume < 5_005 {
        if let Seen::Packet(Packet::Push { command: 104, body }) = market.far.see().await {
            let push = PushTrades::decode(&*body).unwrap();
            assert!(push.sequence > last, "{} after {last}", push.sequence);
            last = push.sequence;
            volume += push.trade.iter().map(|trade| trade.volume).sum::<i64>();
            pushes += 1;
        }
    }
    assert_eq!(pushes, 11);
}
