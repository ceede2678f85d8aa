//! Property tests that apply the pushes of two random trading days to the client model.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use feed::{Board, Due, EncodedPush, Growth, Minute, Outgoing, Push, PushQueue, Replay, opening};
use market::{Candle, Candles, Date, Market, Session, Symbol, Timestamp, Turnover, Venue};
use proptest::prelude::*;

use crate::client::{Built, Client};
use crate::common::{symbol, venue};
use crate::random::{Dice, Exact, exact, markets};

fn boards() -> impl Strategy<Value = Board> {
    prop::sample::select(vec![Board::Security, Board::Index])
}

/// Stored candles of a security for two consecutive trading days, each with or without an official
/// daily candle.
struct Stored {
    venue: &'static Venue,
    symbol: Symbol,
    board: Board,
    minutes: Candles,
    days: Candles,
}

impl Stored {
    fn random(market: Market, board: Board, seed: u64) -> Stored {
        let (venue, mut dice) = (venue(market), Dice(seed));
        let pairs = match market {
            Market::Hk => [["2026-03-18", "2026-03-19"], ["2026-02-16", "2026-02-20"]],
            Market::Us => [["2026-07-14", "2026-07-15"], ["2025-11-26", "2025-11-28"]],
            Market::Cn => [["2026-03-18", "2026-03-19"], ["2026-03-20", "2026-03-23"]],
        };
        let (mut minutes, mut days) = (Candles::default(), Candles::default());
        let of_ten = 1 + dice.roll(5);
        for date in pairs[dice.roll(2) as usize].map(|date| date.parse::<Date>().unwrap()) {
            let day = venue.day(date).unwrap();
            for (stamp, slot) in day.minutes() {
                let minute = Minute::of(venue, stamp).unwrap();
                let is_shown = board == Board::Security || slot.segment.session == Session::Intraday;
                if is_shown && dice.is(of_ten) {
                    minutes.push(dice.candle(&minute));
                }
            }
            if dice.is(5) {
                let open = Minute::of(venue, day.minutes().next().unwrap().0).unwrap();
                let time = venue.zone().midnight(date);
                days.push(Candle { time, session: Session::Intraday, ..dice.candle(&open) });
            }
        }
        Stored { venue, symbol: symbol("700.HK"), board, minutes, days }
    }

    fn replay(&self) -> Replay<'_> {
        let Stored { venue, symbol, board, minutes, days } = self;
        Replay { symbol, board: *board, venue, minutes, days, trades: None, statuses: &[], last: None }
    }

    /// Returns a random time within the two days, usually a full minute.
    fn instant(&self, dice: &mut Dice) -> Timestamp {
        let first = self.minutes.time.first().copied().unwrap_or(1_773_797_400);
        let last = self.minutes.time.last().copied().unwrap_or(first) + 700;
        let any = first - 60 + dice.number(last - first + 120);
        Timestamp(if dice.is(7) { any / 60 * 60 } else { any })
    }

    /// Returns the one-minute candles that are known at an instant. Only the open of the current
    /// minute is known.
    fn known(&self, at: Timestamp) -> Vec<Candle> {
        let known = |candle: Candle| {
            let minute = Minute::of(self.venue, candle.time)?;
            match minute.opens_at() {
                _ if minute.acts_at() <= at => Some(candle),
                Some(opens) if opens <= at => Some(opening(&candle)),
                _ => None,
            }
        };
        self.minutes.iter().filter_map(known).collect()
    }
}

fn pushes(dues: Vec<Due>) -> Vec<Push> {
    dues.into_iter().flat_map(|due| due.pushes).collect()
}

/// Encodes a push as its index in a list, so that tests can decode it.
#[derive(Default)]
struct Codec(RefCell<Vec<Push>>);

impl Codec {
    fn encode(&self, push: &Push) -> Bytes {
        let mut pushes = self.0.borrow_mut();
        pushes.push(push.clone());
        Bytes::from((pushes.len() - 1).to_string())
    }

    fn shared(&self, push: Push) -> Arc<EncodedPush> {
        Arc::new(EncodedPush::new(push, |push| self.encode(push)))
    }

    fn decode(&self, outgoing: Outgoing) -> Push {
        match outgoing {
            Outgoing::Merged(quote) => Push::Quote(quote),
            Outgoing::Shared { bytes, .. } => {
                let place: usize = std::str::from_utf8(&bytes).unwrap().parse().unwrap();
                self.0.borrow()[place].clone()
            }
        }
    }

    fn drain(&self, queue: &mut PushQueue) -> Vec<Push> {
        std::iter::from_fn(|| queue.pop()).map(|push| self.decode(push)).collect()
    }
}

/// Returns the expected and the built candle for comparison. Turnover is zeroed if clients cannot
/// compute it exactly from prints.
fn comparable(market: Market, board: Board, candle: &Candle, built: &Built) -> (Built, Built) {
    let (expected, built) = (Built::of(candle), *built);
    let growth = Growth { volume: candle.volume, turnover: candle.turnover };
    let unit = if market == Market::Cn { 100 } else { 1 };
    match exact(market, candle, growth) {
        Exact::Unit(exact) if exact == unit => (expected, built),
        _ if board == Board::Index => (expected, built),
        _ => (Built { turnover: 0, ..expected }, Built { turnover: 0, ..built }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// At any time, a client that has received all pushes has the same candles as the store.
    #[test]
    fn clients_rebuild_the_stored_candles(market in markets(), board in boards(), seed in any::<u64>()) {
        let stored = Stored::random(market, board, seed);
        let (replay, codec, mut dice) = (stored.replay(), Codec::default(), Dice(seed ^ 1));
        let mut client = Client::new(stored.venue, board);
        let mut queue = PushQueue::default();
        let mut instants: Vec<Timestamp> = (0..12).map(|_| stored.instant(&mut dice)).collect();
        instants.sort_unstable();
        let mut from = Timestamp(0);
        for now in instants {
            for push in pushes(replay.between(from, now)) {
                queue.push(&codec.shared(push)).unwrap();
                codec.drain(&mut queue).iter().for_each(|push| client.take(push));
            }
            from = now;
            let known = stored.known(now);
            prop_assert_eq!(client.minutes.len(), known.len());
            for candle in &known {
                let (expected, built) =
                    comparable(market, board, candle, &client.minutes[&(candle.session, candle.time)]);
                prop_assert_eq!(built, expected, "{}", candle.time);
            }
            prop_assert_eq!(client.day, expected_day(&stored, &known, now));
        }
    }

    /// Two adjacent windows produce the same pushes as one window that covers both, even after
    /// quotes are merged in the queue.
    #[test]
    fn adjacent_windows_push_the_same_as_one_window(market in markets(), board in boards(), seed in any::<u64>()) {
        let stored = Stored::random(market, board, seed);
        let (replay, mut dice) = (stored.replay(), Dice(seed ^ 2));
        let mut instants = [0; 3].map(|_| stored.instant(&mut dice));
        instants.sort_unstable();
        let [a, b, c] = instants;
        let one = replay.between(a, c);
        let mut two = replay.between(a, b);
        two.extend(replay.between(b, c));
        prop_assert_eq!(&one, &two);

        let drained = |steps: &[Vec<Due>]| {
            let (codec, mut queue) = (Codec::default(), PushQueue::default());
            for push in steps.iter().flat_map(|dues| pushes(dues.clone())) {
                queue.push(&codec.shared(push)).unwrap();
            }
            codec.drain(&mut queue)
        };
        prop_assert_eq!(drained(&[one]), drained(&[replay.between(a, b), replay.between(b, c)]));
    }

    /// Candles after an instant do not affect the pushes up to that instant.
    #[test]
    fn later_candles_do_not_change_earlier_pushes(market in markets(), board in boards(), seed in any::<u64>()) {
        let mut stored = Stored::random(market, board, seed);
        let mut dice = Dice(seed ^ 3);
        let now = stored.instant(&mut dice);
        let before = stored.replay().between(Timestamp(0), now);
        let first = stored.replay().latest(now, |_| true);
        let venue = stored.venue;
        let change = |candle: Candle| {
            let minute = Minute::of(venue, candle.time)?;
            match minute.opens_at() {
                _ if minute.acts_at() <= now => Some(candle),
                // Only the open of the current minute has been published.
                Some(opens) if opens <= now => Some(dice.grown(&opening(&candle), market)),
                _ => None,
            }
        };
        stored.minutes = stored.minutes.iter().filter_map(change).collect();
        let is_over = |candle: &Candle| venue.day_end(venue.zone().date(candle.time)) <= now;
        stored.days = stored.days.iter().filter(is_over).collect();
        prop_assert_eq!(&stored.replay().between(Timestamp(0), now), &before);
        prop_assert_eq!(&stored.replay().latest(now, |_| true), &first);

        let quotes = pushes(before).into_iter().filter_map(|push| match push {
            Push::Quote(quote) => Some(quote.first()),
            Push::Trades(_) => None,
        });
        prop_assert_eq!(first, quotes.last());
    }

    #[test]
    fn sequence_numbers_increase_strictly(market in markets(), board in boards(), seed in any::<u64>()) {
        let stored = Stored::random(market, board, seed);
        let (mut quotes, mut trades) = (Vec::new(), Vec::new());
        for push in pushes(stored.replay().between(Timestamp(0), Timestamp(i64::MAX))) {
            match push {
                Push::Quote(quote) => quotes.push(quote.sequence),
                Push::Trades(push) => trades.push(push.sequence),
            }
        }
        prop_assert!(quotes.is_sorted_by(|a, b| a < b) && trades.is_sorted_by(|a, b| a < b));
    }

    /// Merging quotes in the queue changes neither the client's candles nor the total growth.
    #[test]
    fn slow_readers_build_the_same_candles(
        market in markets(), board in boards(), seed in any::<u64>(), taken in 0u64..10,
    ) {
        let stored = Stored::random(market, board, seed);
        let (codec, mut dice) = (Codec::default(), Dice(seed ^ 4));
        let (mut fast, mut slow) = (PushQueue::default(), PushQueue::default());
        let mut clients = [Client::new(stored.venue, board), Client::new(stored.venue, board)];
        let mut sums = [BTreeMap::new(), BTreeMap::new()];
        let mut last_sequence = i64::MIN;
        let mut take = |place: usize, push: Push| {
            clients[place].take(&push);
            if let Push::Quote(quote) = push {
                let sum: &mut i64 = sums[place].entry((quote.day, quote.session)).or_default();
                *sum += quote.growth.volume;
                if place == 1 {
                    assert!(quote.sequence > last_sequence);
                    last_sequence = quote.sequence;
                }
            }
        };
        for push in pushes(stored.replay().between(Timestamp(0), Timestamp(i64::MAX))) {
            let shared = codec.shared(push);
            fast.push(&shared).unwrap();
            slow.push(&shared).unwrap();
            codec.drain(&mut fast).into_iter().for_each(|push| take(0, push));
            if dice.is(taken) {
                slow.pop().into_iter().for_each(|push| take(1, codec.decode(push)));
            }
        }
        codec.drain(&mut slow).into_iter().for_each(|push| take(1, push));
        let [fast, slow] = clients;
        prop_assert_eq!(fast.minutes, slow.minutes);
        prop_assert_eq!(fast.day, slow.day);
        let [fast, slow] = sums;
        prop_assert_eq!(fast, slow);
    }
}

/// Returns the newest daily candle of regular hours and its date. After the end of the day this is
/// the official candle, and before that the fold of the known one-minute candles.
fn expected_day(stored: &Stored, known: &[Candle], now: Timestamp) -> Option<(Date, Built)> {
    let venue = stored.venue;
    let date = |candle: &Candle| venue.zone().date(candle.time);
    let official = stored.days.iter().rfind(|candle| venue.day_end(date(candle)) <= now);
    let regular = || known.iter().filter(|candle| candle.session == Session::Intraday);
    let newest = regular().map(date).max();
    if let Some(official) = official
        && newest.is_none_or(|newest| newest <= date(&official))
    {
        return Some((date(&official), Built::of(&official)));
    }
    let minutes: Vec<&Candle> = regular().filter(|candle| Some(date(candle)) == newest).collect();
    let (first, last) = (minutes.first()?, minutes.last()?);
    let folded = Candle {
        high: minutes.iter().map(|candle| candle.high).max()?,
        low: minutes.iter().map(|candle| candle.low).min()?,
        close: last.close,
        volume: minutes.iter().map(|candle| candle.volume).sum(),
        turnover: Turnover(minutes.iter().map(|candle| candle.turnover.0).sum()),
        ..**first
    };
    Some((newest?, Built::of(&folded)))
}
