use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use expect_test::{Expect, expect};
use jiff::civil::date;
use market::adjust::Amount;
use market::{Adjuster, DayKind, Floors, Market, Region, Symbol};

use super::*;

/// 2026-11-14, a Saturday, when all markets are closed for the week.
const NOW: Timestamp = Timestamp(1_794_700_000);

fn venues() -> &'static Venues {
    static VENUES: OnceLock<Venues> = OnceLock::new();
    VENUES.get_or_init(|| Venues::built_in().unwrap())
}

fn security(symbol: &str) -> &'static DemoSecurity {
    securities().iter().find(|s| s.symbol == symbol).unwrap()
}

fn venue(security: &DemoSecurity) -> &'static Venue {
    venue_of(security, venues())
}

fn all_minutes(security: &DemoSecurity, now: Timestamp) -> Candles {
    minutes(security, venues(), now).fold(Candles::default(), |mut all, batch| {
        all.append(&batch);
        all
    })
}

/// Returns a security's daily and one-minute candles at [`NOW`]. The candles are generated once for
/// all tests.
fn drawn(symbol: &str) -> (&'static Candles, &'static Candles) {
    type Drawn = BTreeMap<&'static str, OnceLock<(Candles, Candles)>>;
    static DRAWN: OnceLock<Drawn> = OnceLock::new();
    let all = DRAWN.get_or_init(|| securities().iter().map(|s| (s.symbol, OnceLock::new())).collect());
    let security = security(symbol);
    let cell = all.get(symbol).unwrap();
    let (days, minutes) = cell.get_or_init(|| (daily(security, venues(), NOW), all_minutes(security, NOW)));
    (days, minutes)
}

/// Groups the one-minute candles of regular hours by trading day.
fn by_day(security: &DemoSecurity, minutes: &Candles) -> BTreeMap<Date, Vec<Candle>> {
    let mut days: BTreeMap<Date, Vec<Candle>> = BTreeMap::new();
    for minute in minutes.iter().filter(|m| m.session == Session::Intraday) {
        days.entry(venue(security).zone().date(minute.time)).or_default().push(minute);
    }
    days
}

fn instant(market: Market, date: Date, hour: i64, minute: i64) -> Timestamp {
    venues().of(market).zone().instant(date, hour * 3600 + minute * 60)
}

fn digest(candles: &Candles) -> u64 {
    candles.iter().fold(0xcbf2_9ce4_8422_2325, |hash, c| {
        let fields = [c.time.0, c.open.0, c.high.0, c.low.0, c.close.0, c.volume, c.turnover.0 as i64];
        let fields = fields.into_iter().chain([i64::from(c.session.code())]);
        fields.fold(hash, |hash, field| (hash ^ field as u64).wrapping_mul(0x0000_0100_0000_01b3))
    })
}

fn row(security: &DemoSecurity, c: &Candle) -> String {
    let price = |p: Price| p.text(security.decimals).to_string();
    let time = venue(security).zone().rfc3339(c.time);
    let prices = [c.open, c.high, c.low, c.close].map(price).join(" ");
    format!("{time} {prices} {} {} {}", c.volume, c.turnover.text(), c.session)
}

fn check_rows(symbol: &str, expected: Expect) {
    let (days, minutes) = drawn(symbol);
    let security = security(symbol);
    let mut text = format!("{symbol}: {} days {:016x}\n", days.len(), digest(days));
    days.iter().take(3).for_each(|c| text += &format!("{}\n", row(security, &c)));
    text += &format!("{} minutes {:016x}\n", minutes.len(), digest(minutes));
    minutes.iter().take(3).for_each(|c| text += &format!("{}\n", row(security, &c)));
    expected.assert_eq(&text);
}

#[test]
fn figures_are_valid_and_sorted_by_date() {
    let columns = FIGURES_COLUMNS.split(',').count();
    for (symbol, row) in FIGURES {
        assert!(securities().iter().any(|security| security.symbol == symbol), "{symbol}");
        assert_eq!(row.split(',').count(), columns, "{row}");
    }
    let days: Vec<(&str, &str)> = FIGURES.iter().map(|(symbol, row)| (*symbol, &row[..10])).collect();
    for pair in days.windows(2).filter(|pair| pair[0].0 == pair[1].0) {
        assert!(pair[0].1 < pair[1].1, "{pair:?}");
    }
    // The share count changes on the ex-date of the split.
    let split = actions(security("CNDL.US"), venues(), NOW)
        .into_iter()
        .rev()
        .find(|action| action.split.to_string() != "1");
    assert!(days.contains(&("CNDL.US", &*split.unwrap().ex_date.to_string())));
}

#[test]
fn generated_data_is_deterministic() {
    check_rows(
        "9002.HK",
        expect![[r#"
            9002.HK: 4837 days a6d3b7d27387f8ed
            2006-11-02T00:00:00+08:00 4.780 4.880 4.760 4.820 8530000 41029300.000 intraday
            2006-11-03T00:00:00+08:00 4.870 4.870 4.790 4.830 7550000 36542000.000 intraday
            2006-11-06T00:00:00+08:00 4.800 4.840 4.660 4.700 16187000 76888250.000 intraday
            151850 minutes 591c5146ee9371fd
            2024-11-15T09:30:00+08:00 7.430 7.440 7.430 7.440 212000 1576220.000 intraday
            2024-11-15T09:31:00+08:00 7.440 7.440 7.430 7.430 50000 371750.000 intraday
            2024-11-15T09:33:00+08:00 7.440 7.440 7.430 7.430 142000 1055770.000 intraday
        "#]],
    );
    check_rows(
        "SNUF.US",
        expect![[r#"
            SNUF.US: 3456 days 99c8a84a433f3b70
            2013-02-20T00:00:00-05:00 1.9100 2.0000 1.8900 1.9700 776919 1509165.157 intraday
            2013-02-21T00:00:00-05:00 1.9700 2.0000 1.9100 1.9200 626181 1221052.950 intraday
            2013-02-22T00:00:00-05:00 1.8700 1.8800 1.7500 1.8000 1136836 2074725.700 intraday
            99373 minutes 98b220c5ca4f776f
            2024-11-14T04:22:00-05:00 0.7437 0.7451 0.7423 0.7434 746 554.744 pre
            2024-11-14T05:11:00-05:00 0.7434 0.7449 0.7418 0.7418 495 367.772 pre
            2024-11-14T05:49:00-05:00 0.7418 0.7439 0.7415 0.7434 59 43.816 pre
        "#]],
    );
    check_rows(
        "309001.SZ",
        expect![[r#"
            309001.SZ: 4139 days 09572543d9a2a95d
            2009-10-30T00:00:00+08:00 30.190 30.770 28.000 28.010 7244100 211835594.250 intraday
            2009-11-02T00:00:00+08:00 27.040 27.050 25.710 25.860 4408300 116445244.500 intraday
            2009-11-03T00:00:00+08:00 25.880 26.050 25.190 25.520 2593300 66544078.000 intraday
            115465 minutes 2ad6c8a4cbe2938d
            2024-11-15T09:30:00+08:00 41.640 41.650 41.500 41.510 484200 20130615.000 intraday
            2024-11-15T09:31:00+08:00 41.510 41.510 41.330 41.390 100400 4160074.000 intraday
            2024-11-15T09:32:00+08:00 41.390 41.400 41.190 41.190 278600 11504090.500 intraday
        "#]],
    );
}

#[test]
fn a_later_now_extends_earlier_data() {
    for symbol in ["9002.HK", "SNUF.US", "309001.SZ"] {
        let security = security(symbol);
        let (days, minutes) = drawn(symbol);
        let earlier = Timestamp(NOW.0 - 100 * 86_400);
        let mut overlap = days.clone();
        let before = daily(security, venues(), earlier);
        overlap.truncate(before.len());
        assert_eq!(before, overlap, "{symbol}");

        let before = all_minutes(security, earlier);
        let shared: Candles = before.iter().filter(|c| c.time.0 >= minutes.time[0]).collect();
        let mut overlap = minutes.clone();
        overlap.truncate(shared.len());
        assert!(!shared.is_empty() && shared == overlap, "{symbol}");
    }
}

#[test]
fn listings_are_valid_and_cover_every_market() {
    let symbols: BTreeSet<_> = securities().iter().map(|s| s.symbol).collect();
    assert_eq!(symbols.len(), securities().len());
    for s in securities() {
        let symbol: Symbol = s.symbol.parse().unwrap();
        assert_eq!((symbol.as_str(), symbol.region()), (s.symbol, s.region));
        assert_eq!(s.currency, symbol.market().currency());
        let boards: &[&str] = match s.region {
            Region::Hk => &["HKEquity"],
            Region::Us => &["USMain", "USSector"],
            Region::Sh => &["SHMainConnect", "SHSTAR"],
            Region::Sz => &["SZMainNonConnect", "SZGEMConnect"],
        };
        assert!(boards.contains(&s.board), "{}", s.symbol);
        assert!(s.lot_size > 0 && !s.name_en.is_empty() && !s.name_cn.is_empty() && !s.name_hk.is_empty());
    }
    for region in Region::ALL {
        assert!(securities().iter().any(|s| s.region == region));
    }
}

#[test]
fn every_trading_day_has_a_valid_candle() {
    for s in securities() {
        let days = daily(s, venues(), NOW);
        let venue = venue(s);
        let dates: Vec<Date> = days.iter().map(|c| venue.zone().date(c.time)).collect();
        let expected: Vec<Date> = venue
            .calendar()
            .days(s.listing_date.max(Floors::published(venue.market()).day.unwrap()), date(2026, 11, 13))
            .map(|(day, _)| day)
            .filter(|day| !s.suspended(*day))
            .collect();
        assert_eq!(dates, expected, "{}", s.symbol);
        for c in days.iter() {
            assert_valid(s, &c);
            assert_eq!(c.time, venue.zone().midnight(venue.zone().date(c.time)));
        }
    }
}

fn assert_valid(s: &DemoSecurity, c: &Candle) {
    let shown = || format!("{} {}", s.symbol, row(s, c));
    assert_eq!(c.check(), Ok(()), "{}", shown());
    for Price(price) in [c.open, c.high, c.low, c.close] {
        assert_eq!(price % s.tick(price), 0, "off the tick: {}", shown());
        assert_eq!(price % 10i64.pow(6 - s.decimals), 0, "too many decimals: {}", shown());
    }
    assert_eq!(c.volume % s.lot_size, 0, "{}", shown());
    assert_eq!(c.volume == 0, s.is_index(), "{}", shown());
    let (low, high) = (i128::from(c.low.0), i128::from(c.high.0));
    let volume = i128::from(c.volume);
    assert!(low * volume <= c.turnover.0 && c.turnover.0 <= high * volume, "{}", shown());
}

#[test]
fn every_one_minute_candle_is_valid_and_in_a_session() {
    for symbol in ["9002.HK", "SNUF.US", "309001.SZ", ".CHDL.US"] {
        let s = security(symbol);
        let (_, minutes) = drawn(symbol);
        let venue = venue(s);
        for c in minutes.iter() {
            assert_valid(s, &c);
            assert_eq!(
                venue.slot(c.time).map(|slot| slot.segment.session),
                Some(c.session),
                "{}",
                row(s, &c)
            );
        }
        assert!(minutes.time.is_sorted_by(|a, b| a < b), "{symbol}");
        let first = venue.zone().date(minutes.get(0).unwrap().time);
        assert!((date(2024, 11, 13)..=date(2024, 11, 15)).contains(&first), "{symbol} {first}");
        assert_eq!(venue.zone().date(minutes.last().unwrap().time), date(2026, 11, 13));
    }
}

#[test]
fn one_minute_candles_match_their_daily_candle() {
    for symbol in ["9002.HK", "9004.HK", "SNUF.US", "309001.SZ", ".CHDL.US"] {
        let s = security(symbol);
        let (days, minutes) = drawn(symbol);
        let mut minutes = by_day(s, minutes);
        let start = *minutes.keys().next().unwrap();
        for day in days.iter() {
            let date = venue(s).zone().date(day.time);
            if date < start {
                continue;
            }
            let of_day = minutes.remove(&date).unwrap_or_default();
            let (first, last) = (of_day.first().unwrap(), of_day.last().unwrap());
            assert_eq!((first.open, last.close), (day.open, day.close), "{symbol} {date}");
            assert_eq!(of_day.iter().map(|m| m.high).max(), Some(day.high), "{symbol} {date}");
            assert_eq!(of_day.iter().map(|m| m.low).min(), Some(day.low), "{symbol} {date}");
            let volume: i64 = of_day.iter().map(|m| m.volume).sum();
            assert!(
                volume <= day.volume && volume * 2 >= day.volume,
                "{symbol} {date} {volume} {}",
                day.volume
            );
        }
        assert!(minutes.is_empty(), "{symbol}: minutes without a day");
    }
}

#[test]
fn adjusted_prices_are_continuous_across_actions() {
    for s in securities() {
        let actions = actions(s, venues(), NOW);
        let zone = venue(s).zone();
        let days: Vec<(Date, Price)> =
            daily(s, venues(), NOW).iter().map(|c| (zone.date(c.time), c.close)).collect();
        let before = |day: Date| days.iter().rfind(|(date, _)| *date < day).map(|(_, close)| *close);
        let (factors, ignored) = market::adjust::factors(&actions, before);
        assert_eq!(ignored, [], "{}", s.symbol);
        let adjuster = Adjuster::new(&factors, date(2026, 11, 14), 6);
        for action in &actions {
            let at = days.partition_point(|(date, _)| *date < action.ex_date);
            let [(day_before, close_before), (ex_date, close)] = [days[at - 1], days[at]];
            assert_eq!(ex_date, action.ex_date, "{}", s.symbol);
            let adjusted =
                |day, Price(price): Price| adjuster.for_day(day).map_or(price, |f| f.apply(price)) as f64;
            let change = adjusted(ex_date, close) / adjusted(day_before, close_before);
            assert!((0.85..1.15).contains(&change), "{} {ex_date}: {change}", s.symbol);
        }
    }
}

#[test]
fn every_kind_of_corporate_action_occurs() {
    let all: Vec<Action> = securities().iter().flat_map(|s| actions(s, venues(), NOW)).collect();
    let one = Amount::one();
    let text = |amount: &Amount| amount.to_string();
    assert!(all.iter().any(|a| !a.cash.is_zero() && a.split == one));
    assert!(all.iter().any(|a| text(&a.split) == "4"));
    assert!(all.iter().any(|a| text(&a.split) == "0.1"));
    assert!(all.iter().any(|a| text(&a.bonus) == "0.3"));
    assert!(all.iter().any(|a| text(&a.rights) == "0.25" && text(&a.rights_price) == "3.2"));
    assert!(all.iter().any(|a| text(&a.cash) == "5"), "a special dividend");
    assert!(all.iter().all(|a| !a.split.is_zero()));
    let quarterly = actions(security("WAX.US"), venues(), NOW);
    assert_eq!(quarterly.iter().filter(|a| a.ex_date.year() == 2025).count(), 4);

    for week in 0..150 {
        let now = Timestamp(NOW.0 - week * 7 * 86_400);
        let today = venues().of(Market::Hk).zone().date(now);
        let recent = today.checked_sub(60.days()).unwrap();
        let found = securities().iter().flat_map(|s| actions(s, venues(), now)).any(|a| a.ex_date > recent);
        assert!(found, "no action in the sixty days before {today}");
    }
    let split = date(2025, 6, 10);
    assert!(
        actions(security("CNDL.US"), venues(), NOW).iter().any(|a| a.ex_date == split),
        "a split in the minutes"
    );
}

#[test]
fn a_suspended_security_has_no_candles_for_two_weeks() {
    let s = security("9002.HK");
    let (days, minutes) = drawn("9002.HK");
    let zone = venue(s).zone();
    let silent = |time: i64| (date(2025, 5, 6)..=date(2025, 5, 19)).contains(&zone.date(Timestamp(time)));
    assert!(!days.time.iter().chain(&minutes.time).any(|time| silent(*time)));
    assert!(minutes.time.iter().any(|time| zone.date(Timestamp(*time)) == date(2025, 5, 20)));
    assert!(!security("9001.HK").suspended(date(2025, 5, 7)));
}

#[test]
fn volatile_days_have_halts_and_quiet_securities_trade_rarely() {
    let wick = security("WICK.US");
    let from = date(2026, 1, 1);
    let plans =
        walk(wick, venue(wick), date(2026, 11, 13)).filter(|plan| plan.date >= from && plan.wildness >= 2.5);
    let mut halts = 0;
    for plan in plans {
        let mut minutes = Candles::default();
        intraday::append(&mut minutes, wick, venue(wick), &plan, NOW);
        let regular: Vec<Candle> = minutes.iter().filter(|m| m.session == Session::Intraday).collect();
        let gap = regular.windows(2).map(|pair| (pair[1].time.0 - pair[0].time.0) / 60).max().unwrap();
        assert!(gap > 5, "{}", plan.date);
        halts += 1;
    }
    assert!(halts > 0);

    let (_, minutes) = drawn("9004.HK");
    let days = by_day(security("9004.HK"), minutes);
    let fullest = days.values().map(Vec::len).max().unwrap();
    assert!(fullest < 120, "{fullest} of 331 minutes");
}

#[test]
fn half_days_end_early_and_auctions_have_a_candle() {
    let hk = security("9002.HK");
    let (_, minutes) = drawn("9002.HK");
    let (mut full, mut half) = (0, 0);
    for (date, of_day) in by_day(hk, minutes) {
        let last = of_day.last().unwrap();
        let volume: i64 = of_day.iter().map(|m| m.volume).sum();
        let (hour, share) = match venue(hk).day(date).unwrap().kind {
            DayKind::Full => (16, 3..30),
            DayKind::Half => (12, 0..30),
        };
        assert_eq!(last.time, instant(Market::Hk, date, hour, 0), "{date}");
        assert!(share.contains(&(last.volume * 100 / volume)), "{date}: {} of {volume}", last.volume);
        *if hour == 16 { &mut full } else { &mut half } += 1;
    }
    assert!(full > 450 && half >= 4, "{full} {half}");

    let (_, minutes) = drawn("309001.SZ");
    for (date, of_day) in by_day(security("309001.SZ"), minutes) {
        assert_eq!(of_day.last().unwrap().time, instant(Market::Cn, date, 15, 0));
    }

    let eve = date(2025, 11, 28);
    let us = by_day(security(".CHDL.US"), drawn(".CHDL.US").1);
    assert_eq!(us[&eve].last().unwrap().time, instant(Market::Us, eve, 12, 59));
}

#[test]
fn us_securities_trade_in_extended_hours() {
    let week = Timestamp(NOW.0 - 7 * 86_400);
    let mut overnight = Vec::new();
    for s in securities().iter().filter(|s| s.region == Region::Us && !s.is_index()) {
        let plan = walk(s, venue(s), venue(s).zone().date(week)).last().unwrap();
        let mut candles = Candles::default();
        intraday::append(&mut candles, s, venue(s), &plan, NOW);
        let count = |session| candles.session.iter().filter(|s| **s == session).count();
        assert!((5..280).contains(&count(Session::Pre)), "{} pre", s.symbol);
        assert!((5..200).contains(&count(Session::Post)), "{} post", s.symbol);
        if count(Session::Overnight) > 0 {
            overnight.push(s.symbol);
            assert!(count(Session::Overnight) < count(Session::Pre));
        }
    }
    assert_eq!(overnight, ["CNDL.US", "WICK.US"]);
}

#[test]
fn prices_below_a_dollar_have_four_decimals() {
    let (days, _) = drawn("SNUF.US");
    assert!(days.close.iter().any(|close| close % 1000 != 0 && *close < 1_000_000));
    assert!(days.close.iter().filter(|close| **close >= 1_000_000).all(|close| close % 10_000 == 0));
}

#[test]
fn the_candle_of_an_open_day_is_folded_from_complete_minutes() {
    let s = security("9001.HK");
    let today = date(2026, 11, 13);
    let day_at = |hour, minute| {
        let now = instant(Market::Hk, today, hour, minute);
        let last = daily(s, venues(), now).last().unwrap();
        let minutes = minutes(s, venues(), now).last().unwrap();
        let of_today: Vec<Candle> =
            minutes.iter().filter(|m| venue(s).zone().date(m.time) == today).collect();
        assert!(of_today.iter().all(|m| m.time.0 + 60 <= now.0));
        (venue(s).zone().date(last.time) == today).then_some((last, of_today))
    };
    assert!(day_at(9, 30).is_none(), "no minute is complete yet");

    let (day, minutes) = day_at(10, 15).unwrap();
    assert_eq!(minutes.last().unwrap().time, instant(Market::Hk, today, 10, 14));
    assert_eq!((day.open, day.close), (minutes[0].open, minutes.last().unwrap().close));
    assert_eq!(Some(day.high), minutes.iter().map(|m| m.high).max());
    assert_eq!(day.volume, minutes.iter().map(|m| m.volume).sum::<i64>());
    assert_eq!(day.turnover.0, minutes.iter().map(|m| m.turnover.0).sum::<i128>());

    let (_, in_auction) = day_at(16, 9).unwrap();
    assert_eq!(in_auction.last().unwrap().time, instant(Market::Hk, today, 15, 59));
    let (closed, whole) = day_at(16, 10).unwrap();
    assert_eq!(whole.last().unwrap().time, instant(Market::Hk, today, 16, 0));
    assert_eq!(closed, drawn_day(s, today));
}

fn drawn_day(s: &DemoSecurity, day: Date) -> Candle {
    daily(s, venues(), NOW).iter().find(|c| venue(s).zone().date(c.time) == day).unwrap()
}

#[test]
fn overnight_minutes_are_generated_before_midnight() {
    let s = security("CNDL.US");
    let now = instant(Market::Us, date(2026, 11, 8), 22, 0);
    let minutes = minutes(s, venues(), now).last().unwrap();
    let last = minutes.last().unwrap();
    assert_eq!(last.session, Session::Overnight);
    assert!(last.time.0 + 60 <= now.0 && last.time >= instant(Market::Us, date(2026, 11, 8), 20, 0));
    let days = daily(s, venues(), now);
    assert_eq!(venue(s).zone().date(days.last().unwrap().time), date(2026, 11, 6));
}

#[test]
fn trades_fold_into_their_one_minute_candles() {
    for symbol in TRADED {
        let security = security(symbol);
        let (_, minutes) = drawn(symbol);
        let trades = trades(security, venues(), NOW);
        let venue = venue(security);
        let mut hours = market::TradeHours::new(venue);
        let mut by_day: BTreeMap<Date, Trades> = BTreeMap::new();
        for trade in trades.iter() {
            trade.check().unwrap();
            by_day.entry(hours.place(trade.time).unwrap().day).or_default().push(trade);
        }
        assert!((20..=TRADE_DAYS).contains(&by_day.len()), "{symbol}: {}", by_day.len());
        assert!(trades.len() < 120_000, "{symbol}: {}", trades.len());
        for (day, trades) in by_day {
            let built = market::TradeCandles::of(venue, day, &trades).unwrap();
            for built in built.minutes.iter() {
                let row = minutes.time.binary_search(&built.time.0).unwrap();
                let drawn = minutes.get(row).unwrap();
                assert_eq!(
                    (built.open, built.volume, built.session),
                    (drawn.open, drawn.volume, drawn.session)
                );
                // A volume of less than four shares cannot be traded at four prices.
                if drawn.volume >= 4 {
                    assert_eq!((built.high, built.low, built.close), (drawn.high, drawn.low, drawn.close));
                }
            }
        }
    }
}

#[test]
fn an_option_is_listed_until_it_is_replaced() {
    let at = |day: Date| instant(Market::Us, day, 20, 0);
    let made = |day: Date| option(venues(), at(day)).unwrap().unwrap();
    let DemoOption { symbol, days, minutes } = made(date(2026, 11, 13));
    let terms = symbol.option().unwrap();
    assert_eq!((terms.underlying.as_str(), terms.expiry), ("CNDL.US", date(2026, 12, 18)));
    for minute in minutes.iter() {
        assert_eq!((minute.check(), minute.session), (Ok(()), Session::Intraday));
        assert!(minute.volume > 0 && minute.low.0 > 0 && minute.open.0 % 10_000 == 0);
    }
    assert!((3_000..20_000).contains(&minutes.len()), "{}", minutes.len());
    // Two weeks later the listed option is the same, and it has more one-minute candles.
    let DemoOption { symbol: later, minutes: more, .. } = made(date(2026, 11, 27));
    assert_eq!((later, days.len() * 390), (symbol, minutes.len()));
    assert!(more.len() > minutes.len() && more.time.starts_with(&minutes.time));
    assert_eq!(made(date(2026, 12, 7)).symbol.option().unwrap().expiry, date(2027, 1, 15));
}

#[test]
fn few_minutes_touch_the_extremes_of_a_day() {
    for symbol in [".CHDL.US", "309001.SZ"] {
        let s = security(symbol);
        let (days, minutes) = drawn(symbol);
        let minutes = by_day(s, minutes);
        let mut touches = 0;
        for (date, of_day) in &minutes {
            let day = days.iter().find(|day| venue(s).zone().date(day.time) == *date).unwrap();
            let ticks = (day.high.0 - day.low.0) / s.tick(day.high.0);
            let highs = of_day.iter().filter(|m| m.high == day.high).count();
            let lows = of_day.iter().filter(|m| m.low == day.low).count();
            // On a day with a narrow price range, many minutes touch both extremes, so such days
            // are exempt.
            assert!(ticks < 50 || highs + lows <= 20, "{symbol} {date}: {highs} {lows}");
            touches += highs + lows;
        }
        assert!(touches <= minutes.len() * 8, "{symbol}: {touches} in {} days", minutes.len());
    }
}

#[test]
fn data_generated_in_regular_hours_ends_at_the_open() {
    let today = date(2026, 11, 13);
    for (symbol, market, open, close) in
        [("9001.HK", Market::Hk, (9, 30), (16, 10)), ("CNDL.US", Market::Us, (9, 30), (16, 0))]
    {
        let s = security(symbol);
        let at = |(hour, minute)| instant(market, today, hour, minute);
        let made = |now| made_until(s, venues(), now);
        assert_eq!(made(at((8, 0))), at((8, 0)), "{symbol}");
        assert_eq!(made(at((12, 30))), at(open), "{symbol}");
        assert_eq!(made(Timestamp(at(close).0 - 1)), at(open), "{symbol}");
        assert_eq!(made(at(close)), at(close), "{symbol}");
        assert_eq!(last_day(s, venues(), Timestamp(at(close).0 - 1)), Some(date(2026, 11, 12)), "{symbol}");
        assert_eq!(last_day(s, venues(), at(close)), Some(today), "{symbol}");
        let days = daily(s, venues(), made(at((12, 30))));
        assert_eq!(venue(s).zone().date(days.last().unwrap().time), date(2026, 11, 12), "{symbol}");
    }
    assert_eq!(made_until(security("9001.HK"), venues(), NOW), NOW, "a Saturday");
    let suspended = instant(Market::Hk, date(2025, 5, 12), 18, 0);
    assert_eq!(last_day(security("9002.HK"), venues(), suspended), Some(date(2025, 5, 2)));
}
