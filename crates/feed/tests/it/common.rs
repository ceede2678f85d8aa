use std::sync::LazyLock;

use feed::{Clock, Minute, Print, Push, prints};
use market::{Candle, Candles, Market, Price, Session, Symbol, Timestamp, Turnover, Venue, Venues};

/// Returns the built-in rules of a market. The rules are parsed only once, because property tests
/// use them thousands of times.
pub(crate) fn venue(market: Market) -> &'static Venue {
    static VENUES: LazyLock<Venues> = LazyLock::new(|| Venues::built_in().unwrap());
    VENUES.of(market)
}

/// Converts a local time such as `2026-03-18 10:01` or `2026-03-18 10:01:30` to an instant.
pub(crate) fn at(venue: &Venue, time: &str) -> Timestamp {
    let (date, time) = time.split_once(' ').unwrap();
    let seconds = time.split(':').zip([3600, 60, 1]).map(|(part, unit)| part.parse::<i64>().unwrap() * unit);
    venue.zone().instant(date.parse().unwrap(), seconds.sum())
}

/// Returns a one-minute candle at a local time. `values` are open, high, low, close, volume and
/// turnover.
pub(crate) fn minute(venue: &Venue, time: &str, values: &str) -> Candle {
    let time = at(venue, time);
    let session = Minute::of(venue, time).unwrap().session;
    candle(time, session, values)
}

/// Returns a daily candle. `values` are open, high, low, close, volume and turnover.
pub(crate) fn day(venue: &Venue, date: &str, values: &str) -> Candle {
    candle(venue.zone().midnight(date.parse().unwrap()), Session::Intraday, values)
}

fn candle(time: Timestamp, session: Session, values: &str) -> Candle {
    let values: Vec<&str> = values.split(' ').collect();
    let [open, high, low, close, volume, turnover] = values.try_into().unwrap();
    let price = |text: &str| Price::parse(text).unwrap();
    Candle {
        time,
        open: price(open),
        high: price(high),
        low: price(low),
        close: price(close),
        volume: volume.parse().unwrap(),
        turnover: Turnover::parse(turnover).unwrap(),
        session,
    }
}

pub(crate) fn symbol(text: &str) -> Symbol {
    text.parse().unwrap()
}

/// Formats the prints between two states of a candle, with times in seconds after the stamp.
pub(crate) fn prints_text(venue: &Venue, published: Option<&Candle>, known: &Candle, clock: Clock) -> String {
    let minute = Minute::of(venue, known.time).unwrap();
    match prints(&minute, published, known, clock) {
        None => "a correction".to_owned(),
        Some(prints) => {
            prints.iter().map(|print| print_text(print, known.time)).collect::<Vec<_>>().join(", ")
        }
    }
}

pub(crate) fn print_text(print: &Print, stamp: Timestamp) -> String {
    let kind = print.kind.to_string();
    let kind = if kind.is_empty() { kind } else { format!(" [{kind}]") };
    format!("{} x {} at +{}{kind}", print.price.text(3), print.volume, print.time.0 - stamp.0)
}

/// Formats a push as one line.
pub(crate) fn push_text(push: &Push) -> String {
    match push {
        Push::Trades(push) => {
            let prints = push.prints.iter().map(|print| print_text(print, Timestamp(0)));
            format!("104 {} {}", push.sequence, prints.collect::<Vec<_>>().join(", "))
        }
        Push::Quote(push) => {
            let figures = &push.figures;
            let [last, open, high, low] = [figures.last, figures.open, figures.high, figures.low]
                .map(|price| price.text(3).to_string());
            format!(
                "101 {} last {last} open {open} high {high} low {low} volume {} turnover {} current {} / {} at {}",
                push.sequence,
                figures.volume,
                figures.turnover.text(),
                push.growth.volume,
                push.growth.turnover.text(),
                push.time.0,
            )
        }
    }
}

pub(crate) fn candles(candles: &[Candle]) -> Candles {
    candles.iter().copied().collect()
}
