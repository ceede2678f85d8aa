//! Tests for coarse days, which have only daily candles.

use trading::{Command, OrderType, Quantity, Setting, Side, Submit, Terms, TimeInForce};

use super::house::{House, Service, at, limit, live, replay};

/// Daily candles used by the tests.
const DAYS: [&str; 2] = ["2026-03-17 297 299 296 298.6 5000000", "2026-03-18 300 310 295 308 9000000"];

fn house(days: &[&str]) -> House {
    let house = House::new(&[]);
    house.import_days("700.HK", days);
    house
}

fn gtc(terms: Terms) -> Terms {
    Terms { time_in_force: TimeInForce::GoodTilCanceled, ..terms }
}

fn mark(service: &Service, id: store::AccountId, moment: crate::Moment) -> String {
    service.read(id, moment, |reading| {
        let mark = reading.view.mark(&"700.HK".parse().unwrap());
        mark.map_or_else(|| "-".to_owned(), |mark| trading::plain_price(mark).to_string())
    })
}

#[test]
fn a_coarse_day_fills_orders_at_the_end_of_the_day() {
    let house = house(&DAYS);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("09:00"), limit(Side::Buy, 500, "296"));
    let late = service.submit(id, replay("09:30"), limit(Side::Buy, 500, "305"));
    assert_eq!(mark(&service, id, replay("16:09:59")), "298.6");
    assert!(service.seen(id, replay("16:09:59"), order).starts_with("NewStatus"));
    assert!(service.seen(id, replay("16:10"), order).starts_with("FilledStatus 500@296.000"));
    assert!(service.seen(id, replay("16:10"), late).starts_with("ExpiredStatus"));
    assert_eq!(mark(&service, id, replay("16:10")), "308");
    let filled =
        service.read(id, replay("17:00"), |reading| reading.account.order(order).unwrap().fills[0].at);
    assert_eq!(filled, at("16:10"));
    let why = service.why(id, replay("17:00"), order);
    assert!(why.contains(&"2026-03-18 16:10:00 HKT: filled: 500 at 296".to_owned()), "{why:#?}");
    let candle = "- daily candle of 2026-03-18: open 300, high 310, low 295, close 308, volume 9000000";
    assert!(why.contains(&candle.to_owned()), "{why:#?}");
    let why = service.why(id, replay("17:00"), late);
    let rule = "- 700.HK had daily candles only on 2026-03-18: a daily candle fills orders accepted or replaced before the \
                opening, 09:30 HKT; the terms of this one are of 2026-03-18 09:30:00 HKT";
    assert_eq!(why.last().unwrap(), rule);
}

#[test]
fn an_open_order_is_explained_with_the_last_coarse_day() {
    let house = house(&DAYS);
    let (id, service) = (house.account("ann"), house.service());
    let text = "700.HK had daily candles only on 2026-03-17; if 2026-03-18 is the same, this order fills once, at the end of \
                the day, against the whole day";
    let terms = limit(Side::Buy, 500, "295");
    let notes = |moment, terms: &Terms| {
        let request = Submit::of(terms.clone());
        service.with_reader(|reader| service.paper.at(id, reader, &moment).preview(&request)).unwrap().notes
    };
    assert_eq!(notes(replay("09:00"), &terms), [text]);
    let order = service.submit(id, replay("09:00"), terms.clone());
    for clock in ["09:00", "12:00", "16:09:59"] {
        let why = service.why(id, replay(clock), order);
        assert_eq!(
            why[why.len() - 2..],
            [format!("2026-03-18 {}: not filled so far", zoned(clock)), format!("- {text}")]
        );
    }
    // The explanation is the same if the current day's candle is not stored.
    let other = House::new(&[]);
    other.import_days("700.HK", &DAYS[..1]);
    let (bob, elsewhere) = (other.account("bob"), other.service());
    let same = elsewhere.submit(bob, replay("09:00"), terms.clone());
    assert_eq!(elsewhere.why(bob, replay("16:09:59"), same), service.why(id, replay("16:09:59"), order));
    // A one-minute candle shows that the current day is not coarse.
    other.import(&["10:00 300 300 299 300 1000"]);
    assert!(elsewhere.why(bob, replay("10:00:59"), same).last().unwrap().ends_with("against the whole day"));
    assert_eq!(elsewhere.why(bob, replay("10:01"), same).len(), 4);
    let late = "700.HK had daily candles only on 2026-03-17; if 2026-03-18 is the same, this order does not fill that day: a \
                daily candle fills orders accepted or replaced before the opening, 09:30 HKT";
    assert_eq!(notes(replay("09:30"), &terms), [late]);
    let next = "700.HK had daily candles only on 2026-03-18; if 2026-03-19 is the same, this order fills once, at the end of \
                the day, against the whole day";
    assert_eq!(notes(replay("16:10"), &terms), [next]);
    service.command(id, replay("16:10"), &Command::Set(Setting::CoarseFills(false))).unwrap();
    let off = "700.HK had daily candles only on 2026-03-18; this account is not filled from daily candles (coarse_fills is off)";
    assert_eq!(notes(replay("16:10"), &terms), [off]);
}

fn zoned(clock: &str) -> String {
    let seconds = if clock.len() == 5 { ":00" } else { "" };
    format!("{clock}{seconds} HKT")
}

#[test]
fn an_account_with_an_open_order_is_due_at_the_end_of_the_day() {
    let house = house(&DAYS);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("15:00"), gtc(limit(Side::Buy, 500, "302")));
    service.with_reader(|reader| service.paper.advance(&[id], reader, &replay("16:00")));
    assert_eq!(service.paper.next_wake().unwrap(), Some(at("16:10")));
    service.with_reader(|reader| service.paper.advance(&[id], reader, &replay("16:10")));
    assert!(service.seen(id, replay("16:10"), order).starts_with("NewStatus"), "accepted after the opening");
}

#[test]
fn a_clock_jump_fills_orders_on_each_skipped_day() {
    let days = [&DAYS[..], &["2026-03-19 294 300 290 296 9000", "2026-03-20 294 310 290 308 9000"]].concat();
    let house = house(&days);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("09:00"), gtc(limit(Side::Buy, 1_000, "295")));
    assert!(service.seen(id, replay("99:00"), order).starts_with("FilledStatus 1000@294.000"));
    let fills = service.read(id, replay("99:00"), |reading| {
        let fills = &reading.account.order(order).unwrap().fills;
        fills.iter().map(|fill| (fill.at, fill.quantity.to_string())).collect::<Vec<_>>()
    });
    assert_eq!(fills, [(at("40:10"), "900".to_owned()), (at("64:10"), "100".to_owned())]);
}

#[test]
fn the_mark_is_the_newest_daily_or_minute_close() {
    // 13 March is a Friday. 14 March is a Saturday, as in a faulty file.
    let house = house(&["2026-03-13 290 291 289 290.4 1000", "2026-03-14 1 1 1 1 1000"]);
    let (id, service) = (house.account("ann"), house.service());
    assert_eq!(mark(&service, id, replay("09:00")), "290.4");
    house.import_days("700.HK", &["2026-03-17 297 299 296 298.6 5000000"]);
    assert_eq!(mark(&service, id, replay("09:01")), "298.6");
    house.import(&["10:00 301 302 300 301.6 1000"]);
    assert_eq!(mark(&service, id, replay("10:00:30")), "301");
    // A daily candle is ignored if its day has one-minute candles.
    house.import_days("700.HK", &["2026-03-18 300 310 295 308 9000000"]);
    assert_eq!(mark(&service, id, replay("16:10")), "301.6");
    assert_eq!(mark(&service, id, replay("33:00")), "301.6");
}

#[test]
fn a_late_daily_candle_takes_effect_on_arrival() {
    let house = house(&DAYS[..1]);
    let (ids, service) = (["ann", "bob"].map(|name| house.account(name)), house.service());
    let day = service.submit(ids[0], live("09:00"), limit(Side::Buy, 100, "302"));
    let orders = ids.map(|id| service.submit(id, live("09:00"), gtc(limit(Side::Buy, 100, "302"))));
    let low = service.submit(ids[0], live("09:00"), gtc(limit(Side::Buy, 100, "294")));
    service.with_reader(|reader| service.paper.advance(&ids, reader, &live("18:30")));
    assert!(service.seen(ids[0], live("18:30"), day).starts_with("ExpiredStatus"));
    house.import_days("700.HK", &DAYS[1..]);
    service.with_reader(|reader| service.paper.advance(&ids[..1], reader, &live("18:30:10")));
    assert!(service.seen(ids[0], live("18:30:20"), orders[0]).starts_with("FilledStatus 100@300.000"));
    // One-minute candles of the same day arrive after the daily candle.
    house.import(&["10:00 293 293 292 292 500000", "15:59 293 293 280 291 500000"]);
    service.with_reader(|reader| service.paper.advance(&ids, reader, &live("18:40")));
    assert!(service.seen(ids[0], live("18:41"), low).starts_with("NewStatus"));
    assert!(service.seen(ids[0], live("57:00"), low).starts_with("NewStatus"));
    let filled = |id, order| {
        service.read(id, live("18:50"), |reading| reading.account.order(order).unwrap().fills[0].at)
    };
    assert_eq!(filled(ids[0], orders[0]), at("18:30:10"));
    assert_eq!(filled(ids[0], orders[0]), filled(ids[1], orders[1]));
}

#[test]
fn minute_candles_that_arrive_after_a_coarse_day_fill_nothing() {
    let house = house(&DAYS);
    let (ids, service) = (["ann", "bob"].map(|name| house.account(name)), house.service());
    let orders = ids.map(|id| service.submit(id, live("09:00"), gtc(limit(Side::Buy, 100, "302"))));
    let low = ids.map(|id| service.submit(id, live("09:00"), gtc(limit(Side::Buy, 100, "294"))));
    // One account is read at the end of the day, and the other after the one-minute candles have
    // arrived.
    assert!(service.seen(ids[0], live("16:10"), orders[0]).starts_with("FilledStatus 100@300.000"));
    house.import(&["10:00 293 293 292 292 500000"]);
    for (id, (order, low)) in ids.into_iter().zip(orders.into_iter().zip(low)) {
        assert!(service.seen(id, live("17:00"), order).starts_with("FilledStatus 100@300.000"));
        assert!(service.seen(id, live("18:00"), low).starts_with("NewStatus"));
    }
}

#[test]
fn a_daily_candle_that_arrives_after_minute_candles_is_ignored() {
    let house = house(&DAYS[..1]);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, live("09:00"), gtc(limit(Side::Buy, 100, "302")));
    service.with_reader(|reader| service.paper.advance(&[id], reader, &live("16:30")));
    house.import(&["09:30 303 304 303 303 500000"]);
    service.with_reader(|reader| service.paper.advance(&[id], reader, &live("16:40")));
    house.import_days("700.HK", &DAYS[1..]);
    service.with_reader(|reader| service.paper.advance(&[id], reader, &live("16:50")));
    assert!(service.seen(id, live("17:00"), order).starts_with("NewStatus"));
}

#[test]
fn a_missing_candle_note_names_the_newest_candle() {
    let house = House::new(&["-8:00 305 305 300 305 50000"]);
    let (id, service) = (house.account("ann"), house.service());
    let order = service.submit(id, replay("09:00"), limit(Side::Buy, 100, "300"));
    assert_eq!(
        service.why(id, replay("09:30:59"), order).last().unwrap(),
        "- 300 for each, and the charges, are held back for it"
    );
    let missing = "- newest candle of 700.HK is 2026-03-17 16:00 HKT; this order can fill once later candles are imported";
    assert_eq!(service.why(id, replay("09:31"), order).last().unwrap(), missing);
    // Candles after the clock are not mentioned.
    house.import(&["10:00 305 305 304 305 50000"]);
    assert_eq!(service.why(id, replay("09:59"), order).last().unwrap(), missing);
    assert!(!service.why(id, replay("10:01"), order).contains(&missing.to_owned()));
}

#[test]
fn options_are_not_filled_from_daily_candles() {
    let house = house(&DAYS);
    house.import_days("AAPL260417C190000.US", &["2026-03-17 3 3 3 3 500"]);
    let (id, service) = (house.account("ann"), house.service());
    let symbol = "AAPL260417C190000.US".parse().unwrap();
    let terms = Terms::new(symbol, Side::Buy, OrderType::Market, Quantity::whole(1));
    let error = service.command(id, replay("23:00"), &Command::submit(terms)).unwrap_err();
    assert!(error.to_string().contains("no quotes"), "{error}");
}
