//! Compares the page cache with the slow path: answers sliced from encoded pages must equal those
//! decoded from blocks, for any queries in any order.

use std::ops::Range;
use std::sync::Arc;

use history::{Adjust, AsOf, Encoded, PageCache, Plan, Query, Select, Sessions, Take};
use market::{Candle, Candles, Floors, Market, Timestamp};

use crate::common::{Cut, Rng, Shop, days, minutes, symbol, venue};

/// Test encoding: the candles themselves.
#[derive(Clone)]
pub(crate) struct Plain(Arc<[Candle]>);

impl Encoded for Plain {
    type Piece = Vec<Candle>;

    fn encode(candles: &Candles, rows: Range<usize>, _: u32) -> Plain {
        Plain(candles.iter().skip(rows.start).take(rows.len()).collect())
    }

    fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    fn piece(&self, rows: Range<usize>) -> Vec<Candle> {
        self.0[rows].to_vec()
    }
}

/// Returns a random query, mostly with bounds at or near stored stamps, and sometimes unbounded.
fn question(rng: &mut Rng, times: &[i64]) -> (Range<Timestamp>, Take) {
    let mut edge = |otherwise: i64| match rng.below(5) {
        0 => Timestamp(otherwise),
        _ => Timestamp(times[rng.below(times.len())] + *rng.pick(&[-1, 0, 0, 1, 7_000])),
    };
    let (start, end) = (edge(i64::MIN), edge(i64::MAX));
    let count = *rng.pick(&[1, 2, 5, 63, 64, 65, 300, 1000]);
    let take = if rng.one_in(2) { Take::First(count) } else { Take::Last(count) };
    (start..end, take)
}

#[test]
fn cached_pages_give_the_same_answers_as_blocks() {
    let as_of = AsOf::Live(Timestamp(1_800_000_000));
    for seed in 0..8u64 {
        let mut rng = Rng(seed);
        let (name, market) = *rng.pick(&[("5.HK", Market::Hk), ("A.US", Market::Us)]);
        let security = symbol(name);
        let shop = Shop::new();
        let one_in = *rng.pick(&[2, 10, 1_000]);
        let all = minutes(market, "2025-06-02", "2025-06-20");
        let minutes: Candles = all.iter().filter(|_| !rng.one_in(one_in)).collect();
        let days = days(market, "2023-01-02", "2025-06-20");
        let cut = Cut { block_rows: *rng.pick(&[40, 500, 4096]), page_rows: *rng.pick(&[3, 16, 256]) };
        shop.stock(&security, &minutes, &days, cut);
        // One cache has room for all pages, one evicts pages constantly, and one is disabled.
        let page_caches: [PageCache<Plain>; 3] =
            [PageCache::new(64 << 20), PageCache::new(40 << 10), PageCache::new(0)];
        let mut reader = shop.store.reader().unwrap();
        let version = reader.version().unwrap();
        for turn in 0..200 {
            let period = rng.pick(&["1m", "15m", "60m", "day"]).parse().unwrap();
            let times = if period == market::Period::DAY { &days.time } else { &minutes.time };
            let (stamps, take) = question(&mut rng, times);
            let query = Query {
                symbol: security.clone(),
                period,
                adjust: Adjust::None,
                sessions: Sessions::Intraday,
                floors: Floors::NONE,
                select: Select::Dates { start: None, end: None },
            };
            let plan = Plan::over(&query, venue(market), as_of, stamps, take);
            let expected: Vec<Candle> =
                shop.history.answer(&mut reader, &query, &plan, as_of).unwrap().candles.iter().collect();
            for page_cache in &page_caches {
                let context = format!("seed {seed}, turn {turn}, {cut:?}, {plan}");
                let before = page_cache.slices_in_memory(version, &plan, as_of).unwrap();
                let found = page_cache.slices(&mut reader, &shop.history, &plan, as_of).unwrap().unwrap();
                assert_eq!(found.pieces.concat(), expected, "{context}");
                assert_eq!(found.rows, expected.len(), "{context}");
                assert!(before.is_none_or(|before| before == found), "{context}: in memory");
                let load = page_cache.load();
                assert!(load.bytes <= load.bytes_max, "{load:?}: {context}");
            }
            let [large, _, off] = &page_caches;
            assert!(
                large.slices_in_memory(version, &plan, as_of).unwrap().is_some(),
                "what was read is kept"
            );
            assert_eq!(off.load().pages, 0);
        }
    }
}
