//! Compares commands 19 and 27 with direct history queries. Cached, paged and partial responses
//! must contain the same candles.

use access::{RateRule, Terms};
use history::{Adjust, Answer, AsOf, History, Query, Select, Sessions};
use market::{Floors, Period, Timestamp, Venues};
use store::{Reader, Store};
use wire::quote::{
    Candlestick, DateRequest, OffsetRequest, SecurityCandlestickRequest, SecurityCandlestickResponse,
    SecurityHistoryCandlestickRequest,
};

use crate::support::{NOW, OVERNIGHT, Running, TRANSPORTS, TransportLabel, import_files};

const PERIODS: [i32; 18] = [1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 120, 180, 240, 1000, 2000, 3000, 3500, 4000];

/// Queries the history directly, without a server.
struct Direct {
    history: History,
    reader: Reader,
}

impl Direct {
    fn of(server: &Running) -> Direct {
        let store = Store::open(server.dir.path(), store::Access::Read).unwrap();
        Direct { history: History::new(Venues::built_in().unwrap()), reader: store.reader().unwrap() }
    }

    fn ask(
        &mut self,
        request: &SecurityHistoryCandlestickRequest,
        overnight: bool,
    ) -> SecurityCandlestickResponse {
        let symbol: market::Symbol = request.symbol.parse().unwrap();
        let period = period(request.period);
        let floors = Floors::published(symbol.market());
        let select = match (&request.offset_request, &request.date_request) {
            (Some(offset), _) => {
                let OffsetRequest { direction, date, minute, count } = offset;
                Select::offset(period, (*direction).into(), date, minute, (*count).into())
            }
            (_, Some(dates)) => Select::dates(period, floors, &dates.start_date, &dates.end_date),
            (None, None) => panic!("neither by offset nor by date"),
        };
        let query = Query {
            symbol,
            period,
            adjust: if request.adjust_type == 1 { Adjust::Forward } else { Adjust::None },
            sessions: match (request.trade_session, overnight) {
                (0, _) => Sessions::Intraday,
                (_, false) => Sessions::Extended,
                (_, true) => Sessions::All,
            },
            floors,
            select: select.unwrap(),
        };
        response(&self.history.candles(&mut self.reader, &query, AsOf::Replay(NOW)).unwrap())
    }
}

fn period(number: i32) -> Period {
    let of_number = |period: &Period| match (*period, number) {
        (Period::Clock(minutes), number) => i32::from(minutes.get()) == number,
        (Period::Calendar(span), number) => {
            let numbers = [1000, 2000, 3000, 3500, 4000];
            use market::Span::{Day, Month, Quarter, Week, Year};
            [Day, Week, Month, Quarter, Year]
                .iter()
                .zip(numbers)
                .any(|(one, of)| *one == span && of == number)
        }
    };
    Period::all().find(of_number).unwrap()
}

fn response(answer: &Answer) -> SecurityCandlestickResponse {
    let price = |price: market::Price| price.text(answer.decimals).to_string();
    let candlesticks = answer.candles.iter().map(|candle| Candlestick {
        close: price(candle.close),
        open: price(candle.open),
        low: price(candle.low),
        high: price(candle.high),
        volume: candle.volume,
        turnover: candle.turnover.text().to_string(),
        timestamp: candle.time.0,
        trade_session: candle.session.code().into(),
    });
    SecurityCandlestickResponse {
        symbol: answer.symbol.as_str().to_owned(),
        candlesticks: candlesticks.collect(),
    }
}

fn unlimited() -> Terms {
    Terms { rate: Some(RateRule::Unlimited), ..Terms::default() }
}

fn by_offset(symbol: &str, period: i32, offset: OffsetRequest) -> SecurityHistoryCandlestickRequest {
    SecurityHistoryCandlestickRequest {
        symbol: symbol.to_owned(),
        period,
        query_type: 1,
        offset_request: Some(offset),
        ..Default::default()
    }
}

fn by_date(symbol: &str, period: i32, start: &str, end: &str) -> SecurityHistoryCandlestickRequest {
    SecurityHistoryCandlestickRequest {
        symbol: symbol.to_owned(),
        period,
        query_type: 2,
        date_request: Some(DateRequest { start_date: start.to_owned(), end_date: end.to_owned() }),
        ..Default::default()
    }
}

#[tokio::test]
async fn the_last_candles_of_a_day_match_the_imported_ones() {
    let server = Running::start().await;
    let account = server.account("ann", Terms::default());
    for transport in TRANSPORTS {
        let mut client = server.enter(transport, &account, &[]).await;
        let request = by_offset("00700.HK", 1000, OffsetRequest { count: 3, ..Default::default() });
        let answer: SecurityCandlestickResponse = client.ask(27, &request).await.unwrap();
        assert_eq!(answer.symbol, "700.HK");
        let last = answer.candlesticks.last().unwrap();
        assert_eq!(
            (answer.candlesticks.len(), last),
            (
                3,
                &Candlestick {
                    close: "123.500".to_owned(),
                    open: "123.000".to_owned(),
                    low: "122.000".to_owned(),
                    high: "125.000".to_owned(),
                    volume: 1000,
                    turnover: "123000.000".to_owned(),
                    timestamp: 1_794_499_200,
                    trade_session: 0,
                }
            )
        );
        // The second response comes from the cache and must be equal.
        assert_eq!(client.ask::<SecurityCandlestickResponse>(27, &request).await.unwrap(), answer);
        // An omitted count means ten, and the unused sub-message is ignored.
        let mut ten = by_offset("700.HK", 1000, OffsetRequest::default());
        ten.date_request = Some(DateRequest { start_date: "nonsense".to_owned(), end_date: String::new() });
        let answer: SecurityCandlestickResponse = client.ask(27, &ten).await.unwrap();
        assert_eq!(answer.candlesticks.len(), 10);
    }
}

#[tokio::test]
async fn every_kind_of_query_matches_a_direct_query() {
    let server = Running::start().await;
    let account = server.account_with("ann", OVERNIGHT, unlimited());
    let mut direct = Direct::of(&server);
    for overnight in [false, true] {
        let metadata: &[_] = if overnight { &[("need_over_night_quote", "true")] } else { &[] };
        let mut client = server.enter(TransportLabel::WebSocket, &account, metadata).await;
        for symbol in ["700.HK", "AAPL.US", "600519.SH"] {
            for period in PERIODS {
                let manners = if overnight { [(1, 0), (0, 100)] } else { [(0, 0), (1, 100)] };
                for (adjust_type, trade_session) in manners {
                    let offset = OffsetRequest { count: 700, ..Default::default() };
                    let requests =
                        [by_offset(symbol, period, offset), by_date(symbol, period, "", "20261106")];
                    for request in requests {
                        let request =
                            SecurityHistoryCandlestickRequest { adjust_type, trade_session, ..request };
                        let expected = direct.ask(&request, overnight);
                        let answer: SecurityCandlestickResponse = client.ask(27, &request).await.unwrap();
                        assert!(answer == expected, "{request:?}");
                        let has_minutes = period >= 1000 || symbol != "600519.SH";
                        assert_eq!(answer.candlesticks.is_empty(), !has_minutes, "{request:?}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn sessions_are_included_by_right_and_request() {
    let server = Running::start().await;
    let (may, may_not) =
        (server.account_with("may", OVERNIGHT, unlimited()), server.account("may not", Terms::default()));
    let wish: &[_] = &[("need_over_night_quote", "true")];
    let codes = async |account, metadata, trade_session, period| {
        let mut client = server.enter(TransportLabel::Tcp, account, metadata).await;
        let day = by_date("AAPL.US", period, "20261113", "20261113");
        let request = SecurityHistoryCandlestickRequest { trade_session, ..day };
        let answer: SecurityCandlestickResponse = client.ask(27, &request).await.unwrap();
        let mut codes: Vec<i32> = answer.candlesticks.iter().map(|one| one.trade_session).collect();
        codes.sort_unstable();
        codes.dedup();
        codes
    };
    assert_eq!(codes(&may, wish, 100, 60).await, [0, 1, 2, 3]);
    assert_eq!(codes(&may, wish, 0, 60).await, [0]);
    assert_eq!(codes(&may, &[], 100, 60).await, [0, 1, 2]);
    assert_eq!(codes(&may_not, wish, 100, 60).await, [0, 1, 2]);
    assert_eq!(codes(&may, wish, 100, 1000).await, [0]);
}

#[tokio::test]
async fn the_requested_number_of_candles_is_returned() {
    let server = Running::start().await;
    let account = server.account("ann", Terms { quota: Some(0), ..Terms::default() });
    let mut client = server.signed_in(&account).await;
    let request = |count, period| SecurityCandlestickRequest {
        symbol: "00700.HK".to_owned(),
        period,
        count,
        ..Default::default()
    };
    for (count, period, expected) in [(1, 1000, 1), (1000, 1000, 24), (1000, 1, 1000), (7, 5, 7)] {
        // Command 19 costs no quota.
        let answer: SecurityCandlestickResponse = client.ask(19, &request(count, period)).await.unwrap();
        assert_eq!((answer.symbol.as_str(), answer.candlesticks.len()), ("700.HK", expected));
        // The closing auction at 16:00 has a separate candle in every intraday period.
        let last = if period == 1000 { 1_794_499_200 } else { 1_794_556_800 };
        assert_eq!(answer.candlesticks.last().unwrap().timestamp, last);
    }
    for (count, code) in
        [(0, 301_600), (-1, 301_600), (i32::MIN, 301_600), (1001, 301_607), (i32::MAX, 301_607)]
    {
        let refused = client.ask::<SecurityCandlestickResponse>(19, &request(count, 1000)).await.unwrap_err();
        assert_eq!((refused.0, refused.1), (7, code), "count {count}");
    }
}

/// A deterministic pseudo-random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Returns a date near the dates with candles, or an empty string.
    fn date(&mut self) -> String {
        if self.below(6) == 0 {
            return String::new();
        }
        let first: market::Date = "2026-10-01".parse().unwrap();
        let date = first.checked_add(market::DateSpan::new().days(self.below(50) as i64)).unwrap();
        date.strftime("%Y%m%d").to_string()
    }

    fn request(&mut self) -> SecurityHistoryCandlestickRequest {
        let symbol = self.of(&["700.HK", "700.HK", "AAPL.US", "600519.SH"]);
        // Favor periods that are stored directly.
        let period = self.of(&[1, 1, 1, 5, 1000, 1000, 30, 2000]);
        let mut request = if self.below(2) == 0 {
            let minute = match self.below(3) {
                0 => String::new(),
                _ => format!("{:02}{:02}", self.below(24), self.below(60)),
            };
            let offset = OffsetRequest {
                direction: self.below(2) as i32,
                date: self.date(),
                minute,
                count: self.below(1001) as i32,
            };
            by_offset(symbol, period, offset)
        } else {
            let (mut start, mut end) = (self.date(), self.date());
            if !end.is_empty() && start > end {
                std::mem::swap(&mut start, &mut end);
            }
            by_date(symbol, period, &start, &end)
        };
        request.trade_session = self.of(&[0, 0, 100]);
        request
    }
}

#[tokio::test]
async fn random_queries_match_direct_queries() {
    // One of the cache sizes is so small that pages are evicted.
    for cache_bytes in [0, 64 << 10, 16 << 20] {
        let settings = server::Settings { cache_bytes, ..Default::default() };
        let server = Running::start_with(settings).await;
        let account = server.account_with("ann", OVERNIGHT, unlimited());
        let mut client = server.signed_in(&account).await;
        let mut direct = Direct::of(&server);
        let mut dice = Dice(cache_bytes as u64 + 1);
        let questions: Vec<_> = (0..70).map(|_| dice.request()).collect();
        let mut before = Vec::new();
        for request in &questions {
            let answer: SecurityCandlestickResponse = client.ask(27, request).await.unwrap();
            assert!(answer == direct.ask(request, false), "{request:?}");
            before.push(answer);
        }
        import_files(server.dir.path(), &corrections(&server));
        let mut changed = 0;
        for (request, before) in questions.iter().zip(&before) {
            let answer: SecurityCandlestickResponse = client.ask(27, request).await.unwrap();
            assert!(answer == direct.ask(request, false), "{request:?}");
            changed += usize::from(answer != *before);
        }
        assert!(changed > 10, "the import has changed {changed} answers");
    }
}

/// Writes files that change the prices of some days in the middle, in daily and one-minute candles.
fn corrections(server: &Running) -> [std::path::PathBuf; 2] {
    let venues = Venues::built_in().unwrap();
    let head = "symbol,time,open,high,low,close,volume,turnover\n";
    let (mut minutes, mut days) = (head.to_owned(), head.to_owned());
    for symbol in ["700.HK", "AAPL.US"] {
        let symbol: market::Symbol = symbol.parse().unwrap();
        for date in ["2026-10-14", "2026-10-30", "2026-11-10"] {
            days += &format!("{symbol},{date},55.5,56,55,55.25,77,4321\n");
            let day = venues.of(symbol.market()).day(date.parse().unwrap()).unwrap();
            for (Timestamp(at), _) in day.minutes() {
                minutes += &format!("{symbol},{at},55.5,56,55,55.25,77,4321\n");
            }
        }
    }
    [("corrected-minutes.csv", minutes), ("corrected-days.csv", days)].map(|(name, text)| {
        let path = server.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    })
}
