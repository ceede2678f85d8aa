//! G5: tests that paging by the stamps of the last page returns every candle, for any period and
//! direction.

use crate::common::{Cut, Rng, Shop, days, minutes, symbol, venue};
use history::{Adjust, Anchor, AsOf, Direction, Paged, Paging, Plan, Query, Select, Sessions};
use market::{Candles, Floors, Market, Period, Symbol, Timestamp};

/// Collects all stamps page by page, as a client does. The boundary candle is in both adjacent
/// pages and is dropped once.
fn paged(
    shop: &Shop,
    security: &Symbol,
    period: Period,
    direction: Direction,
    count: usize,
    now: Timestamp,
) -> Vec<i64> {
    let zone = venue(security.market()).zone();
    let anchor_of = |stamp: i64| {
        let (date, seconds) = zone.local(Timestamp(stamp));
        if period.is_clock() { Anchor::Minute(date, (seconds / 60) as i32) } else { Anchor::Day(date) }
    };
    let mut anchor = match direction {
        Direction::Past => Anchor::Latest,
        Direction::Present => Anchor::Day("1990-01-01".parse().unwrap()),
    };
    let mut all: Vec<i64> = Vec::new();
    loop {
        let select = Select::Offset { direction, anchor, count };
        let query = Query {
            symbol: security.clone(),
            period,
            adjust: Adjust::None,
            sessions: Sessions::All,
            floors: Floors::published(security.market()),
            select,
        };
        let mut page = shop.candles(&query, AsOf::Live(now)).unwrap().candles.time;
        assert!(page.len() <= count);
        if direction == Direction::Past {
            page.reverse();
        }
        if let Some(boundary) = all.last() {
            assert_eq!(page.first(), Some(boundary), "{period}: the page begins with the boundary candle");
            page.remove(0);
        }
        let Some(last) = page.last() else { break };
        anchor = anchor_of(*last);
        all.extend(page);
    }
    if direction == Direction::Past {
        all.reverse();
    }
    all
}

#[test]
fn paging_has_no_gaps_or_duplicates() {
    let mut rng = Rng(11);
    for market in [Market::Hk, Market::Us, Market::Cn] {
        let security = symbol(match market {
            Market::Hk => "5.HK",
            Market::Us => "A.US",
            Market::Cn => "600000.SH",
        });
        // The range includes a clock change, a half day and a weekend.
        let sparse = |candles: Candles, rng: &mut Rng, one_in: usize| -> Candles {
            candles.iter().filter(|_| rng.one_in(one_in)).collect()
        };
        let stored_minutes = sparse(minutes(market, "2025-10-30", "2025-11-06"), &mut rng, 40);
        let stored_days = sparse(days(market, "2022-01-01", "2026-12-31"), &mut rng, 3);
        let shop = Shop::new();
        shop.stock(&security, &stored_minutes, &stored_days, Cut { block_rows: 23, page_rows: 5 });
        let now = Timestamp(1_800_000_000);
        for period in Period::all() {
            let sources = if period.is_clock() { &stored_minutes } else { &stored_days };
            let expected: Vec<i64> = crate::common::fold_naively(venue(market), period, sources.iter())
                .iter()
                .map(|c| c.time.0)
                .collect();
            for count in [2, 7, 1000] {
                for direction in [Direction::Past, Direction::Present] {
                    let found = paged(&shop, &security, period, direction, count, now);
                    assert_eq!(found, expected, "{security} {period} {direction:?} by {count}");
                }
            }
        }
    }
}

#[test]
fn pages_of_a_plan_never_repeat_a_candle() {
    let security = symbol("A.US");
    let shop = Shop::new();
    let stored = days(Market::Us, "2012-01-01", "2026-11-13");
    shop.stock(&security, &Candles::default(), &stored, Cut { block_rows: 700, page_rows: 50 });
    let now = Timestamp(1_795_000_000);
    for (start, end) in [(None, None), (Some("2012-01-01"), None), (Some("2013-05-05"), Some("2026-01-01"))] {
        let [start, end] = [start, end].map(|day| day.map(|day: &str| day.parse().unwrap()));
        for period in ["day", "week"] {
            let select = Select::Dates { start, end };
            let period: Period = period.parse().unwrap();
            let query = Query {
                symbol: security.clone(),
                period,
                adjust: Adjust::None,
                sessions: Sessions::All,
                floors: Floors::NONE,
                select,
            };
            let plan = Plan::of(&query, venue(Market::Us), AsOf::Live(now));
            let mut reader = shop.store.reader().unwrap();
            let pages: Vec<_> = shop
                .history
                .pages(&mut reader, &query, plan.clone(), AsOf::Live(now))
                .map(Result::unwrap)
                .collect();
            let mut all: Vec<i64> = pages.iter().flat_map(|page| page.candles.time.clone()).collect();
            all.sort_unstable();
            let folded = crate::common::fold_naively(venue(Market::Us), period, stored.iter());
            let inside = |time: &i64| plan.stamps.contains(&Timestamp(*time));
            let mut expected: Vec<i64> = folded.iter().map(|c| c.time.0).filter(inside).collect();
            expected.sort_unstable();
            assert_eq!(all, expected, "{period} {start:?} {end:?}");
        }
    }
}

#[test]
fn a_paged_answer_equals_one_long_answer() {
    let security = symbol("A.US");
    let shop = Shop::new();
    let stored = days(Market::Us, "2012-01-01", "2026-11-13");
    shop.stock(&security, &Candles::default(), &stored, Cut { block_rows: 700, page_rows: 50 });
    let as_of = AsOf::Live(Timestamp(1_795_000_000));
    let first: market::Date = "2012-01-01".parse().unwrap();
    let past = Select::Offset { direction: Direction::Past, anchor: Anchor::Latest, count: 1000 };
    let present = Select::Offset { direction: Direction::Present, anchor: Anchor::Day(first), count: 1000 };
    let range = Select::Dates { start: Some(first), end: Some("2026-01-01".parse().unwrap()) };
    for (select, is_forward) in [(past, false), (present, true), (range, false)] {
        for period in [Period::DAY, "week".parse().unwrap()] {
            let query = Query {
                symbol: security.clone(),
                period,
                adjust: Adjust::None,
                sessions: Sessions::Intraday,
                floors: Floors::NONE,
                select,
            };
            let plan = Plan::of(&query, venue(Market::Us), as_of);
            let all: Vec<i64> = crate::common::fold_naively(venue(Market::Us), period, stored.iter())
                .iter()
                .map(|candle| candle.time.0)
                .filter(|time| plan.stamps.contains(&Timestamp(*time)))
                .collect();
            // The limits are below, at and slightly above the page size, and above the number of
            // candles.
            for limit in [1, 300, 1000, 1001, 2500, 10_000] {
                let (mut found, mut from) = (Vec::new(), None);
                loop {
                    let mut reader = shop.store.reader().unwrap();
                    let paging = Paging { limit, from };
                    let Paged { answer, next } =
                        shop.history.paged(&mut reader, &query, paging, as_of).unwrap();
                    let mut times = answer.candles.time;
                    assert!(times.is_sorted() && times.len() <= limit);
                    assert!(next.is_none() || times.len() == limit, "what is not the last is full");
                    if !is_forward {
                        times.extend(found);
                        found = times;
                    } else {
                        found.extend(times);
                    }
                    from = next;
                    if next.is_none() || limit == 1 && found.len() >= 5 {
                        break;
                    }
                }
                let expected = match (limit, is_forward) {
                    (1, true) => &all[..5],
                    (1, false) => &all[all.len() - 5..],
                    _ => &all[..],
                };
                assert_eq!(found, expected, "{period} {select:?} by {limit}");
            }
        }
    }
}
