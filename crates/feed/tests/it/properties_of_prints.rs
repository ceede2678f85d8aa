//! Property tests of prints for random minutes: sums are exact, and clients build the expected
//! candles.

use feed::{Board, Clock, Growth, Minute, PrintPrice, Sequence, Update, opening, prints};
use market::{Candle, Market, Price, Session, Timestamp, TradeEffect, Turnover};
use proptest::prelude::*;

use crate::client::{Built, Client};
use crate::common::{symbol, venue};
use crate::random::{Dice, Exact, exact, growth, markets, random_minute};

/// Checks the sums, price bounds and times of the prints for one update.
fn check_prints(minute: &Minute, published: Option<&Candle>, known: &Candle, clock: Clock) {
    let prints = prints(minute, published, known, clock).expect("a continuation");
    let growth = growth(published, known);
    let (low, high) = (PrintPrice::from(known.low), PrintPrice::from(known.high));
    let moving: Vec<PrintPrice> = prints
        .iter()
        .filter(|print| print.kind.effect(minute.market, minute.session) == TradeEffect::PriceAndVolume)
        .map(|print| print.price)
        .collect();
    assert!(moving.iter().all(|price| (low..=high).contains(price)), "{prints:?}");
    if published.is_none() {
        assert_eq!(moving.first(), Some(&known.open.into()));
    }
    let last = moving.last().copied().or(published.map(|old| old.close.into()));
    assert_eq!(last, Some(known.close.into()));

    let volume: i64 = prints.iter().map(|print| print.volume).sum();
    assert_eq!(volume, growth.volume);
    let value: i128 = prints.iter().map(|print| print.price.0 * i128::from(print.volume)).sum();
    match exact(minute.market, known, growth) {
        Exact::Unit(unit) => assert_eq!(value * unit, growth.turnover.0 * 100),
        Exact::AtClose => assert_eq!(value, PrintPrice::from(known.close).0 * i128::from(volume)),
        Exact::Unprinted => assert_eq!(value, 0),
        Exact::Moved => {}
    }
    let end = minute.acts_at();
    assert!(prints.iter().all(|print| minute.stamp <= print.time && print.time < end), "{prints:?}");
    assert!(prints.is_sorted_by_key(|print| print.time));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn printing_arbitrary_candles_does_not_panic(
        market in markets(),
        seed in any::<u64>(),
        values in prop::array::uniform2((any::<[i64; 5]>(), any::<i128>())),
        now in any::<i64>(),
    ) {
        let venue = venue(market);
        let minute = random_minute(venue, &mut Dice(seed));
        let (time, session) = (minute.stamp, minute.session);
        let [published, known] = values.map(|([open, high, low, close, volume], turnover)| {
            let [open, high, low, close] = [open, high, low, close].map(Price);
            Candle { time, open, high, low, close, volume, turnover: Turnover(turnover), session }
        });
        let name = symbol("700.HK");
        for clock in [Clock::Set, Clock::Machine { now: Timestamp(now) }] {
            for published in [None, Some(&published)] {
                let made = prints(&minute, published, &known, clock);
                prop_assert!(made.is_none() || known.check().is_ok());
            }
            for board in [Board::Security, Board::Index] {
                let (before, published, counted) = (None, None, Growth::default());
                let update = Update { symbol: &name, board, minute, before, published, counted, known, clock };
                let outcome = update.publish(&mut Sequence { quote: i64::MAX, trades: i64::MIN });
                let published = Some(outcome.published);
                Update { published, known: opening(&known), ..update }.publish(&mut Sequence::default());
            }
        }
        prop_assert_eq!(Minute::of(venue, Timestamp(now)).filter(|_| now.unsigned_abs() > 1 << 40), None);
    }

    /// Covers values up to the largest that the store accepts.
    #[test]
    fn prints_of_large_values_add_up(
        market in markets(),
        seed in any::<u64>(),
        prices in prop::array::uniform4(1..=i64::MAX),
        volume in 1..=i64::MAX,
        turnover in 1..=Turnover::MAX.0,
    ) {
        let venue = venue(market);
        let minute = random_minute(venue, &mut Dice(seed));
        let mut prices = prices.map(Price);
        prices.sort_unstable();
        let [low, open, close, high] = prices;
        let (time, session, turnover) = (minute.stamp, minute.session, Turnover(turnover));
        let known = Candle { time, open, high, low, close, volume, turnover, session };
        let made = prints(&minute, None, &known, Clock::Set).unwrap();
        prop_assert_eq!(made.iter().map(|print| i128::from(print.volume)).sum::<i128>(), i128::from(volume));
        if market != Market::Cn {
            let value: i128 = made.iter().map(|print| print.price.0 * i128::from(print.volume)).sum();
            prop_assert_eq!(value, turnover.0 * 100);
        }
    }

    /// After each update of an incomplete minute, the client's candle equals the new state.
    #[test]
    fn partial_updates_bring_clients_to_the_new_state(market in markets(), seed in any::<u64>()) {
        let (venue, name, mut dice) = (venue(market), symbol("700.HK"), Dice(seed));
        let minute = random_minute(venue, &mut dice);
        let mut client = Client::new(venue, Board::Security);
        let mut index = Client::new(venue, Board::Index);
        let mut known = dice.candle(&minute);
        let (mut published, mut published_index) = (None, None);
        let mut expected = 0;
        let mut has_exact_turnover = true;
        for _ in 0..6 {
            let now = Timestamp(minute.stamp.0 - 5 + dice.number(700));
            let clock = if dice.is(2) { Clock::Set } else { Clock::Machine { now } };
            let before = published.map(|published: feed::Published| published.candle);
            check_prints(&minute, before.as_ref(), &known, clock);

            let growth = growth(before.as_ref(), &known);
            match exact(market, &known, growth) {
                Exact::Unit(unit) if unit == 100 || market != Market::Cn => expected += growth.turnover.0 * 100,
                Exact::AtClose if market != Market::Cn => {
                    expected += PrintPrice::from(known.close).0 * i128::from(growth.volume);
                }
                Exact::Unprinted => {}
                _ => has_exact_turnover = false,
            }
            let board = Board::Security;
            let (before, counted) = (None, Growth::default());
            let update = Update { symbol: &name, board, minute, before, published, counted, known, clock };
            let outcome = update.publish(&mut Sequence::default());
            prop_assert!(!outcome.is_correction);
            published = Some(outcome.published);
            outcome.pushes.iter().for_each(|push| client.take(push));
            let built = client.minutes[&(minute.session, minute.stamp)];
            let turnover = if has_exact_turnover { expected } else { built.turnover };
            prop_assert_eq!(built, Built { turnover, ..Built::of(&known) });

            if minute.session == Session::Intraday {
                let update = Update { board: Board::Index, published: published_index, ..update };
                let outcome = update.publish(&mut Sequence::default());
                published_index = Some(outcome.published);
                outcome.pushes.iter().for_each(|push| index.take(push));
                prop_assert_eq!(index.minutes[&(minute.session, minute.stamp)], Built::of(&known));
            }
            known = dice.grown(&known, market);
        }
    }
}
