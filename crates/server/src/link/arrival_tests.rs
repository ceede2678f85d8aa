//! Pushes of ingested rows under the machine clock: table 8.5 of the specification, as raw packets.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use history::AsOf;
use history::ingest::{CandleInput, Head, TradeInput};
use market::{Candle, Grain, Price, Session, Timestamp, Trade, TradeDirection, TradeType, Turnover};
use prost::Message;
use wire::Packet;
use wire::command::{SUBSCRIBE, SUBSCRIPTIONS};
use wire::quote::{PushQuote, PushTrades, SubscribeRequest, SubscriptionsResponse};

use super::house::{Far, House, Kind, Seen};
use crate::live;

/// 2026-07-15 09:32:00 in New York.
const M: i64 = 1_784_122_320;
const ROWS: &str = "AAPL.US,2026-07-15T09:30:00-04:00,190,190.4,189.9,190.1,4000,760900\n\
                    AAPL.US,2026-07-15T09:31:00-04:00,190.1,190.4,190.05,190.3,7,1332\n";

struct Market {
    house: House,
    now: Arc<AtomicI64>,
    seq: AtomicI64,
    far: Far,
}

impl Market {
    async fn subscribed(symbol: &str) -> Market {
        let now = Arc::new(AtomicI64::new(M));
        let clock = now.clone();
        let house = House::with_files(&[(Grain::Minute, ROWS)])
            .under(Arc::new(move || AsOf::Live(Timestamp(clock.load(Ordering::Acquire)))));
        let account = house.account("ann", 10);
        let (mut far, _) = house.signed_in(Kind::WebSocket, &account).await;
        let request =
            SubscribeRequest { symbol: vec![symbol.to_owned()], sub_type: vec![1, 4], is_first_push: true };
        far.ask::<SubscriptionsResponse>(SUBSCRIBE, &request).await.unwrap();
        Market { house, now, seq: AtomicI64::new(0), far }
    }

    fn head(&self, build: bool) -> Head<'static> {
        let seq = self.seq.fetch_add(1, Ordering::AcqRel) + 1;
        Head { source: "feed", seq: Some(seq), gap: false, build }
    }

    /// Commits a row at a second after 09:32, merges and publishes it.
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
        let now = self.set(at);
        let ingest = &self.house.core.ingest;
        ingest.candles(&self.head(false), vec![Ok(input)], now, &|_| String::new()).unwrap();
        self.publish(now);
    }

    fn set(&self, at: i64) -> Timestamp {
        self.now.store(M + at, Ordering::Release);
        Timestamp(M + at)
    }

    fn publish(&self, now: Timestamp) {
        let core = &self.house.core;
        core.with_reader(|reader| core.ingest.merge(reader, now)).unwrap();
        live::publish(core).unwrap();
    }

    async fn quote(&mut self) -> PushQuote {
        match self.far.see().await {
            Seen::Packet(Packet::Push { command: 101, body }) => PushQuote::decode(&*body).unwrap(),
            other => panic!("{other:?} instead of a quote"),
        }
    }

    /// Returns the prints of the next push: price, volume, and seconds after 09:32.
    async fn prints(&mut self) -> Vec<(String, i64, i64)> {
        match self.far.see().await {
            Seen::Packet(Packet::Push { command: 104, body }) => {
                let trades = PushTrades::decode(&*body).unwrap().trade;
                trades.into_iter().map(|trade| (trade.price, trade.volume, trade.timestamp - M)).collect()
            }
            other => panic!("{other:?} instead of trades"),
        }
    }

    /// Asserts that nothing is queued: the next packet answers a request sent now.
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
    // I4: an unchanged row pushes nothing.
    market.ingest(42, "AAPL.US", minute, "190.3 190.6 190.1 190.2 2000 380760.5", Some(false));
    market.nothing_more().await;
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
    // I9: an older minute changes the state of the day, too.
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
async fn s9_a_security_that_arrives_begins_with_its_state() {
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
async fn single_trades_are_pushed_as_they_are() {
    let mut market = Market::subscribed("AAPL.US").await;
    market.quote().await;
    let trade = |second: i64, price: &str, volume: i64| {
        let trade = Trade {
            time: Timestamp(M + second),
            price: Price::parse(price).unwrap(),
            volume,
            direction: TradeDirection::Up,
            kind: TradeType::BLANK,
        };
        Ok(TradeInput { symbol: "AAPL.US".parse().unwrap(), trade, id: None })
    };
    let now = market.set(10);
    let rows = vec![trade(3, "190.2", 100), trade(8, "190.4", 50)];
    market.house.core.ingest.trades(&market.head(true), rows, now, &|_| String::new()).unwrap();
    market.publish(now);
    assert_eq!(market.prints().await, prints(&[("190.200", 100, 3)]));
    assert_eq!(market.prints().await, prints(&[("190.400", 50, 8)]));
    let quote = market.quote().await;
    assert_eq!((quote.last_done.as_str(), quote.volume, quote.current_volume), ("190.400", 4157, 150));
    market.nothing_more().await;
}
