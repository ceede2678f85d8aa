//! The round trips of a run, and the time in which positions were held.

use market::{Price, Symbol, Timestamp};
use trading::performance::{Book, Ratio, RoundTrip, Trade};
use trading::{Currency, Facts, Kind, Money, Quantity};

use super::record::{RunRecord, multiplier};

pub(super) struct Found {
    pub(super) trips: Vec<RoundTrip>,
    /// Periods in which a position was held, including open ones.
    pub(super) spans: Vec<(Timestamp, Timestamp)>,
}

/// Combines the fills of each security into round trips, in chronological order.
pub(super) fn of(record: &RunRecord) -> Found {
    let mut book = Book::default();
    for held in &record.held {
        let at = (record.begin, held.quantity, held.price);
        book.trade(&trade(&held.symbol, held.currency, at), Money::ZERO, None);
    }
    let mut charges = record.charges.iter().peekable();
    for fill in &record.fills {
        while let Some(charge) = charges.next_if(|charge| charge.at < fill.at) {
            charge.symbol.iter().for_each(|symbol| book.charge(symbol, charge.at, charge.amount));
        }
        let at = (fill.at, fill.signed(), fill.price);
        book.trade(&trade(&fill.symbol, fill.currency, at), Money::ZERO, None);
    }
    for charge in charges {
        charge.symbol.iter().for_each(|symbol| book.charge(symbol, charge.at, charge.amount));
    }
    let open: Vec<_> = book.open_since().map(|opened_at| (opened_at, record.end)).collect();
    let trips = book.into_closed_trips();
    let closed = trips.iter().map(|trip| (trip.opened_at, trip.closed_at));
    let spans = closed.chain(open).collect();
    Found { trips, spans }
}

fn trade(
    symbol: &Symbol,
    currency: Currency,
    (at, change, price): (Timestamp, Quantity, Price),
) -> Trade<'_> {
    // The kind of the security is not used.
    let facts =
        Facts { kind: Kind::Equity, currency, multiplier: multiplier(symbol), decimals: PRICE_DECIMALS };
    Trade { symbol, facts, at: Some(at), change, price }
}

const PRICE_DECIMALS: u32 = 3;

/// Returns the share of the time from `begin` to `end` in which any position was held.
pub(super) fn time_in_market(
    spans: &[(Timestamp, Timestamp)],
    begin: Timestamp,
    end: Timestamp,
) -> Option<Ratio> {
    let mut spans = spans.to_vec();
    spans.sort_unstable();
    let (mut held, mut until) = (0i128, begin);
    for (from, to) in spans {
        let from = from.max(until);
        held += i128::from((to.0 - from.0).max(0));
        until = until.max(to);
    }
    Ratio::of_counts(held, i128::from(end.0 - begin.0))
}
